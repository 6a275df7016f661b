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
# Tasks that the README shows, each with our side and the other one: what a user would
# otherwise do with another package. docs/performance.md has all of them.
SHOWN = [
    ("resampling", "ensclust", "consensusclustering"),
    ("resampling", "ensclust", "pyckmeans"),
    ("eac", "ensclust", "AgglomerativeClustering"),
    ("linkage", "ensclust", "SciPy linkage"),
    ("generate-100000-50", "ensclust", "scikit-learn loop"),
]
# Sides of the benchmark whose names say too little outside of it.
WORDS = {
    "AgglomerativeClustering": "scikit-learn AgglomerativeClustering",
    "MiniBatchKMeans loop": "loop over scikit-learn MiniBatchKMeans",
    "fastcluster linkage alone": "fastcluster, the linkage alone",
    "literal NumPy": "the paper's formulas in NumPy",
    "literal loop": "plain loop over t",
    "matrix product alone": "the matrix product alone",
    "scikit-learn loop": "loop over scikit-learn KMeans",
    "scipy.sparse H^T H": "product of SciPy sparse matrices",
}
COLUMNS = ("nmi true-k", "nmi best-k", "ari true-k", "ari best-k")


def render(text: str) -> str:
    """Return the README with its parts updated."""
    return fill(TARGET.name, text, {"reproduction": agreement, "speed": speed})


def fill(page: str, text: str, parts: dict[str, Callable[[], str]]) -> str:
    """Return a page with the given parts regenerated."""
    for name, make in parts.items():
        part = rf"(<!-- {name}: generated -->\n).*?(<!-- end -->)"
        text, found = re.subn(part, rf"\g<1>{make()}\g<2>", text, flags=re.DOTALL)
        if not found:
            msg = f"{page} has no part <!-- {name}: generated --> ... <!-- end -->"
            raise ValueError(msg)
    return text


def agreement() -> str:
    """Return how our results agree with the published ones, in two sentences."""
    found = json.loads(REPRODUCTION.read_text())
    cells, other = found["ecpcs"], found["ecpcs with nmi-max"]
    above, below = len(cells["above"]), len(cells["below"])
    inside = (
        f"all {other['cells']}"
        if other["inside"] == other["cells"]
        else f"{other['inside']} of {other['cells']}"
    )
    return (
        "`ensclust reproduce` repeats the experiments of the ECPCS paper on "
        f"{len(found['datasets'])} of its datasets, {found['n_runs']} runs each. It "
        f"compares {cells['cells']} mean scores with the published ones: NMI and ARI "
        "of ECPCS-HC and ECPCS-MC on each dataset, with the true number of clusters. "
        f"{cells['inside']} are close, that is, within two published standard "
        "deviations or two percentage points, whichever is larger; of the others, "
        f"{above or 'none'} {'is' if above < 2 else 'are'} higher and "
        f"{below or 'none'} {'is' if below < 2 else 'are'} lower. If NMI is normalised "
        f"as it seems to have been in the paper, {inside} are close.\n"
    )


def reproduction() -> str:
    """Return the mean scores of all methods beside the published ones."""
    found = json.loads(REPRODUCTION.read_text())
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
        f"{agreement()}\nMean scores in percent over these datasets, with the paper's "
        "in parentheses: with the true number of clusters (true-k), and with the best "
        "of several numbers (best-k)."
        f"{' Empty: not yet run on all of them.' * any('' in row for row in rows)}\n\n"
        f"{markdown(rows)}\n"
    )


def cell(average: dict, method: str) -> str:
    """Return our score and the paper's, empty if we have none."""
    if method not in average["score"]:
        return ""
    return f"{average['score'][method]:.2f} ({average['paper score'][method]:.2f})"


def speed() -> str:
    """Return a short table of speed: the tasks of ``SHOWN``, in that order."""
    lines = measurements()
    found = [row for row in compare(lines) if row.key in SHOWN]
    return compared(lines, sorted(found, key=lambda row: SHOWN.index(row.key)))


def measurements() -> list[dict]:
    """Return what ``make bench`` wrote."""
    return [json.loads(line) for line in SPEED.read_text().splitlines()]


def compared(lines: list[dict], rows: list[Row], other: str = "other package") -> str:
    """Return a table of our time or memory and that of others, with one ratio."""
    everything = list(compare(lines))
    looser = max(1 / row.ratio for row in everything if row.work.endswith(DISTANCE))
    percent = math.ceil(1000 * max(looser - 1, 0)) / 10
    text = (
        f"The times are medians of up to three runs on {lines[0]['cores']} cores; what "
        "takes more than 100 s is timed once. The ratio is the time (or memory) of the "
        f"{other} divided by that of ensclust: above 1, ensclust needs less. N, d, M "
        "and k are the numbers of objects, features, base clusterings (the inputs) and "
        "clusters.\n\n"
        f"{compared_with(other, lines, rows)}\n\n"
        "The clusters that `generate` finds are about as tight as those of the "
        "k-means packages that we compared it with: the mean squared distance of "
        f"objects to their centres is at most {percent:g}% larger.\n"
    )
    if " \\* |" in text:
        text += "\\* Rough: other processes used more than a quarter of the cores.\n"
    return text


def compared_with(other: str, lines: list[dict], rows: list[Row]) -> str:
    """Return a table of the given rows."""
    busy = {line["measurement"] for line in lines if line.get("others", 0) > _BUSY}
    cells = [("task", "ensclust", other, "its time or memory", "ratio")]
    above = "-"
    for row in rows:
        if not row.work.endswith(DISTANCE):
            ratio = f"{row.ratio:,.{1 if row.ratio < 100 else 0}f}"
            mark = " \\*" * (row.key[0] in busy)
            repeats = row.work.startswith(above)
            work = "the same" + row.work.removeprefix(above) if repeats else row.work
            above = above if repeats else row.work
            name = WORDS.get(row.key[2], row.key[2])
            cells.append((work, row.ours, name, row.theirs, ratio + mark))
    return markdown(cells, left=(0, 2))


class Row(NamedTuple):
    """One task, done by ensclust and in another way."""

    key: tuple[str, str, str]  # measurement, our side, the other one
    work: str
    ours: str
    theirs: str
    ratio: float


def compare(lines: list[dict]) -> Iterator[Row]:
    """Yield the tasks that have a rival in the same measurement."""
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
