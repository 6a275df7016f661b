"""Which checkout of the package is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def environment(source: Path = ROOT) -> dict[str, str]:
    """Return the variables of a process that imports the package in ``source``/src."""
    folder = source.resolve() / "src"
    if not (folder / "ensclust" / "__init__.py").exists():
        sys.exit(f"{source} has no src/ensclust")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def commit(source: Path = ROOT) -> dict[str, Any]:
    """Return which commit a checkout is at, and whether its package is changed."""

    def git(*arguments: str) -> str | None:
        command = ["git", "-C", str(source), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):  # not from a repository
            return None
        return done.stdout.strip()

    return {
        "commit": git("rev-parse", "--short=7", "HEAD"),
        "is_changed": bool(git("status", "--porcelain", "--", "src")),
    }
