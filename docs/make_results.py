"""Bring what lies outside docs/ into the site: results, and links to them.

On GitHub a page links to files in ``benchmarks/results`` and ``examples``. In the site,
results are pages and examples are a gallery; :func:`turn_links` points there.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
TARGET = Path(__file__).parent / "results"
PARENTS = {
    "reproduction": [
        "summary",
        *(f"table{n}" for n in range(1, 6)),
        "table2-max",
        "table4-max",
    ],
    "performance": ["speed/report", "pce/pce"],
    "guide/which-method": ["methods/methods"],
    "evidence": ["evidence/evidence"],
}


def write() -> None:
    """Copy the reports that are below a page, and all figures."""
    shutil.rmtree(TARGET, ignore_errors=True)
    reports = [SOURCE / f"{name}.md" for names in PARENTS.values() for name in names]
    for path in [*reports, *SOURCE.rglob("*.png")]:
        if path.exists():
            target = TARGET / path.relative_to(SOURCE)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def turn_links(_app, name: str, source: list[str]) -> None:
    """Point a page's links to other pages, and list the results below it."""
    up = "../" * name.count("/")
    text = re.sub(r"\((?:\.\./)+benchmarks/results/", f"({up}results/", source[0])
    text = re.sub(r"\((?:\.\./)+examples/(\w+)\.py", rf"({up}gallery/\1.rst", text)
    below = [x for x in PARENTS.get(name, ()) if (TARGET / f"{x}.md").exists()]
    if below:
        listed = "\n".join(f"/results/{x}" for x in below)
        text += f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    source[0] = text
