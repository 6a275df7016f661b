"""Fill the generated parts of README.md: ``python -m docs.make_readme``.

A part is between ``<!-- name: generated -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import report, results, table
from benchmarks.large import DISTANCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "README.md"
REPRODUCTION = ROOT / "benchmarks" / "results" / "summary.json"
_BUSY = 0.25  # share of the cores from which a figure is rough
SPEED = ROOT / "benchmarks" / "results" / "speed" / "measurements.jsonl"
# Works that the README shows, each with our side and the other's; docs/performance.md
# has all of them.
SHOWN = [
    ("resampling", "ensclust", "consensusclustering"),
    ("resampling", "ensclust", "pyckmeans"),
    ("resampling", "ensclust", "kemlglearn"),
    ("eac", "ensclust", "AgglomerativeClustering"),
    ("ecpcs-mc", "ensclust", "literal NumPy"),
    ("ecpcs-hc", "ensclust", "fastcluster linkage alone"),
    ("linkage", "square", "SciPy linkage"),
    ("intersections", "ensclust", "scipy.sparse H^T H"),
    ("generate-20000-16", "ensclust", "scikit-learn loop"),
    ("generate-100000-50", "ensclust", "scikit-learn loop"),
    ("kmeans-20000", "ensclust", "faiss"),
]
COLUMNS = ("nmi true-k", "nmi best-k", "ari true-k", "ari best-k")


def render(text: str) -> str:
    """Return the README with its parts updated."""
    return fill(TARGET.name, text, {"reproduction": reproduction, "speed": speed})


def fill(page: str, text: str, parts: dict[str, Callable[[], str]]) -> str:
    """Return a page with the given parts regenerated."""
    for name, make in parts.items():
        part = rf"(<!-- {name}: generated -->\n).*?(<!-- end -->)"
        text, found = re.subn(part, rf"\g<1>{make()}\g<2>", text, flags=re.DOTALL)
        if not found:
            msg = f"{page} has no part <!-- {name}: generated --> ... <!-- end -->"
            raise ValueError(msg)
    return text


def reproduction() -> str:
    """Return how our results compare with the published ones."""
    found = json.loads(REPRODUCTION.read_text())
    cells, other = found["ecpcs"], found["ecpcs with nmi-max"]
    averages = found["averages"]
    asked = [column for column in COLUMNS if averages.get(column)]
    rows = [
        (
            "method",
            *(column.replace("nmi", "NMI").replace("ari", "ARI") for column in asked),
        )
    ]
    for method in found["methods"]:
        scores = [cell(averages[column], method) for column in asked]
        rows.append((method, *scores))
    return (
        f"{found['n_runs']} runs on {len(found['datasets'])} of the paper's datasets; "
        "average scores, with the paper's in parentheses. Of the "
        f"{cells['cells']} true-k results of ECPCS-HC and ECPCS-MC, {cells['inside']} "
        f"lie within the paper's spread, {len(cells['above'])} above and "
        f"{len(cells['below'])} below; with the normalisation of NMI that the paper "
        f"seems to use, {other['inside']}, {len(other['above'])} and "
        f"{len(other['below'])}."
        f"{' Empty: not yet run on all of them.' * any('' in row for row in rows)}\n\n"
        f"{markdown(rows)}\n"
    )


def cell(average: dict, method: str) -> str:
    """Return our score and the paper's, empty if we have none."""
    if method not in average["score"]:
        return ""
    return f"{average['score'][method]:.2f} ({average['paper score'][method]:.2f})"


def speed() -> str:
    """Return a short table of speed: the works of ``SHOWN``, in that order."""
    lines = measurements()
    found = [row for row in compare(lines) if row.key in SHOWN]
    return compared(lines, sorted(found, key=lambda row: SHOWN.index(row.key)))


def measurements() -> list[dict]:
    """Return what ``make bench`` wrote."""
    return [json.loads(line) for line in SPEED.read_text().splitlines()]


def compared(lines: list[dict], rows: list[Row] | None = None) -> str:
    """Return a table of our time or memory and that of others, with one ratio."""
    busy = {line["measurement"] for line in lines if line.get("others", 0) > _BUSY}
    everything = list(compare(lines))
    looseness = [1 / row.ratio for row in everything if row.work.endswith(DISTANCE)]
    cells = [("work", "ensclust", "compared with", "which takes", "ratio")]
    above = "-"
    for row in rows or everything:
        if not row.work.endswith(DISTANCE):
            ratio = f"{row.ratio:,.{1 if row.ratio < 100 else 0}f}"
            mark = " \\*" * (row.key[0] in busy)
            repeats = row.work.startswith(above)
            work = "the same" + row.work.removeprefix(above) if repeats else row.work
            above = above if repeats else row.work
            cells.append((work, row.ours, row.key[2], row.theirs, ratio + mark))
    text = (
        f"{lines[0]['cores']} cores, medians of up to three runs. The ratio is the "
        "other's time (or memory) divided by ours: above 1, ensclust needs less.\n\n"
        f"{markdown(cells, left=(0, 2))}\n\n"
        "The clusters of `generate` are as tight as those of scikit-learn: "
        f"{DISTANCE} at most {max(looseness):.2f} times theirs.\n"
    )
    if any("*" in cell[-1] for cell in cells):
        text += "\\* Rough: other processes used more than a quarter of the cores.\n"
    return text


class Row(NamedTuple):
    """One work of ours and the same work of another package."""

    key: tuple[str, str, str]  # measurement, our side, the other's
    work: str
    ours: str
    theirs: str
    ratio: float


def compare(lines: list[dict]) -> Iterator[Row]:
    """Yield the works that have a rival in the same measurement."""
    measured = results.collect(lines)
    for measurement in table.measurements("full"):
        for verdict in results.judge(measurement, measured):
            bar, theirs = verdict.bar, verdict.theirs
            if theirs is None or ":" in bar.against or math.isnan(verdict.value):
                continue
            work, other, ours, takes = report.verdict_row(verdict, is_full=True)[:4]
            ratio = verdict.value if bar.kind == "faster" else 1 / verdict.value
            key = (measurement.name, bar.side, other)
            yield Row(key, work, ours, takes, ratio)


def markdown(rows: list[tuple[str, ...]], left: tuple[int, ...] = (0,)) -> str:
    """Return a table with its first row as head; columns but ``left`` align right."""
    head, *body = rows
    rule = tuple("---" if i in left else "---:" for i in range(len(head)))
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *body))


if __name__ == "__main__":
    TARGET.write_text(render(TARGET.read_text()))
