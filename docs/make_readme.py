"""Fill the generated parts of README.md: ``python -m docs.make_readme``.

A part stands between ``<!-- name: generated -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report, table
from benchmarks.large import DISTANCE

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "README.md"
REPRODUCTION = ROOT / "benchmarks" / "results" / "summary.json"
_BUSY = 0.25  # share of the cores that makes a figure a rough one
SPEED = ROOT / "benchmarks" / "results" / "speed" / "measurements.jsonl"
COLUMNS = ("nmi true-k", "nmi best-k", "ari true-k", "ari best-k")


def render(text: str) -> str:
    """Return the README with its parts brought up to date."""
    return fill(TARGET.name, text, {"reproduction": reproduction, "speed": speed})


def fill(page: str, text: str, parts: dict[str, Callable[[], str]]) -> str:
    """Return a page with the given parts made anew."""
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
        "average scores, in parentheses the paper's over the same datasets. Of the "
        f"{cells['cells']} true-k cells of ECPCS-HC and ECPCS-MC {cells['inside']} are "
        f"within the paper's spread, {len(cells['above'])} above, "
        f"{len(cells['below'])} below ({other['inside']}, {len(other['above'])} and "
        f"{len(other['below'])} with NMI as the paper seems to have divided it)."
        f"{' Empty: not yet run on all of them.' * any('' in row for row in rows)}\n\n"
        f"{markdown(rows)}\n"
    )


def cell(average: dict, method: str) -> str:
    """Return our score and the paper's, empty where we have none."""
    if method not in average["score"]:
        return ""
    return f"{average['score'][method]:.2f} ({average['paper score'][method]:.2f})"


def speed() -> str:
    """Return the bars of the benchmark that have a rival."""
    lines = [json.loads(line) for line in SPEED.read_text().splitlines()]
    bars = report.tables(table.measurements("full"), lines)[0]
    busy = {line["measurement"] for line in lines if line.get("others", 0) > _BUSY}
    titles = tuple(m.title for m in table.measurements("full") if m.name in busy)
    rows = [("work", "ensclust", "against", "", "so")]
    widths = []
    for work, against, ours, theirs, ratio, reach, _ in bars.rows:
        if work.endswith(DISTANCE) and theirs != "-":
            widths.append(float(ratio))
        elif theirs not in ("", "-", "failed") and ":" not in against:
            unit = "space" if work.endswith("memory") else "time"
            so = f"{ratio}x faster" if "faster" in reach else f"{ratio}x the {unit}"
            mark = " *" * (work in titles)
            rows.append((work + mark, ours, against, theirs, so + mark))
    cores = lines[0]["cores"]
    return (
        f"{cores} cores, medians of up to three runs each.\n\n{markdown(rows)}\n\n"
        f"Clusters of `generate` have at most {max(widths):.2f} times the {DISTANCE} "
        "of those of the loops. \\* While time was taken, other processes used more "
        "than a quarter of the cores: a rough figure.\n"
    )


def markdown(rows: list[tuple[str, ...]]) -> str:
    """Return a table, its first row the head."""
    head, *body = rows
    rule = ("---", *["---:"] * (len(head) - 1))
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, rule, *body))


if __name__ == "__main__":
    TARGET.write_text(render(TARGET.read_text()))
