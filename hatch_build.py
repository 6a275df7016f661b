"""Metadata for hatchling: the project's URLs, and a README for package indexes.

Addresses are in pyproject.toml, below ``[tool.hatch.metadata.hooks.custom.urls]``. On a
package index relative links lead nowhere: with the address of a repository they become
absolute, without one links become plain text and pictures are left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(
    r"<picture>.*?<img alt=\"([^\"]+)\" src=\"([^\"]+)\">\s*</picture>", re.DOTALL
)
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->\n", re.DOTALL)


class Metadata(MetadataHookInterface):
    """Fills in the fields that pyproject.toml calls dynamic."""

    def update(self, metadata: dict) -> None:
        """Add the known URLs, and a README that a package index can show."""
        urls = {name: url for name, url in self.config["urls"].items() if url}
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["urls"] = urls
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": portable(text, urls.get("Repository", "")),
        }


def portable(text: str, repository: str = "") -> str:
    """Return a README whose links and pictures work outside the repository."""
    text = COMMENT.sub("", PICTURE.sub(r"![\1](\2)", text))
    parts = CODE.split(text)  # every second part is code
    parts[::2] = [LINK.sub(lambda m: link(m, repository), x) for x in parts[::2]]
    return "".join(parts)


def link(found: re.Match, repository: str) -> str:
    """Return a link with an absolute address, or its text if there is none."""
    mark, words, target = found.groups()
    if re.match(r"[a-z]+:|#", target):
        return found.group()
    if not repository:
        return "" if mark else words
    kind = "raw" if mark else "blob"
    return f"{mark}[{words}]({repository.rstrip('/')}/{kind}/HEAD/{target})"
