"""Check a built site: ``python -m docs.check_site docs/_build/html``.

Every link within the site leads to a file and an anchor that exist, and no page loads
anything from outside, so that it works offline and reveals nothing about its reader.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that make a browser fetch something without being asked.
LOADING = {"src", "srcset", "poster", "data"}
LOADING_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect"}
OUTSIDE = re.compile(r"^(?:https?:)?//", re.IGNORECASE)
STYLE_LOADS = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')\s]+)")


class Page(HTMLParser):
    """What a page links to, loads, and can be linked at."""

    def __init__(self, text: str):
        super().__init__()
        self.links: set[str] = set()
        self.loads: set[str] = set(STYLE_LOADS.findall(text))
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record how one element refers to other files."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.loads |= {given[name] for name in LOADING & given.keys()}
        if tag == "link" and LOADING_LINKS & set(given.get("rel", "").split()):
            self.loads.add(given.get("href", ""))
        elif tag == "a" and "href" in given:
            self.links.add(given["href"])


def problems(site: Path) -> list[str]:
    """Return what is wrong, one line each."""
    pages = {path: Page(path.read_text()) for path in written(site)}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        outside = sorted(x for x in page.loads if OUTSIDE.match(x))
        found += [f"{name} loads {x}" for x in outside]
        inside = (page.links | page.loads) - set(outside)
        found += [
            f"{name}: {x} does not exist"
            for x in sorted(inside)
            if not leads_somewhere(path, x, pages)
        ]
    for path in sorted(site.rglob("*.css")):
        loads = STYLE_LOADS.findall(path.read_text())
        found += [f"{path.relative_to(site)} loads {x}" for x in loads]
    return found


def written(site: Path) -> list[Path]:
    """Return the pages, without templates that the theme leaves among its files."""
    found = sorted(site.rglob("*.html"))
    return [path for path in found if path.parent.name != "_static"]


def leads_somewhere(path: Path, link: str, pages: dict[Path, Page]) -> bool:
    """Return whether a link leads out of the site or to something that exists."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target not in pages:
        return target.is_file()
    return unquote(parts.fragment) in pages[target].anchors


def main() -> None:
    """Print what is wrong with a site, and fail if anything is."""
    site = Path(sys.argv[1]).resolve()
    found = problems(site)
    n_pages = len(written(site))
    print(
        "\n".join(found)
        or f"{n_pages} pages: every link works, nothing is loaded from outside"
    )
    sys.exit(bool(found or not n_pages))


if __name__ == "__main__":
    main()
