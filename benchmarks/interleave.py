"""Compare two checkouts in turn: ``python -m benchmarks.interleave``.

    python -m benchmarks.interleave --source DIR --repeats 5 [NAMES]

Runs our side of the quick benchmark alternately with the package in DIR (old) and with
that of this checkout (new), each time in a separate process. Prints the ratio of the
medians, new to old, and the spread: the sum of the median absolute deviations of both,
relative to the old median. A ratio that exceeds 1 by more than 5 % plus the spread is
marked.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from benchmarks import sources, table
from benchmarks.__main__ import choose
from benchmarks.inputs import CACHE
from benchmarks.runner import spawn
from benchmarks.works import is_ours
from ensclust._support.json_files import write_lines
from ensclust.paper._layout import grid
from ensclust.paper._runner import run

WORSE = 0.05  # of the old median, beyond the spread
FLOORS = {"seconds": 1e-4, "peak_mb": 1.0}  # smaller differences are ignored
SIDES = ("old", "new")


class Turn(NamedTuple):
    """One process: a side of a measurement with one of the sources."""

    measurement: table.Measurement
    side: table.Side
    repeat: int
    source: str

    def __str__(self) -> str:
        return f"{self.work} {self.source}"

    @property
    def work(self) -> str:
        """Return what the compared turns have in common."""
        return f"{self.measurement.name}, {self.side.name}"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--source", type=click.Path(path_type=Path), required=True,
              help="The old checkout.")  # fmt: skip
@click.option("--repeats", default=5, show_default=True, help="Processes per checkout.")
@click.option("--size", default="quick", type=click.Choice(list(table.SIZES)))
@click.option("--out", type=click.Path(path_type=Path), help="JSON lines of all runs.")
def main(names, source, repeats, size, out):
    """Compare the package of another checkout with that of this one."""
    environments = {"old": sources.environment(source), "new": sources.environment()}
    turns = [
        Turn(m, side, repeat, name)
        for m in choose(table.measurements(size), names)
        for side in m.sides
        if is_ours(side.work, side.params)
        for repeat in range(repeats)
        for name in (SIDES if repeat % 2 == 0 else SIDES[::-1])
    ]
    with tempfile.TemporaryDirectory(prefix="ensclust-bench-") as folder:
        lines = []
        for turn, line in run(
            turns, partial(take, environments, folder), title="turns"
        ):
            lines.append({**line, "work": turn.work, "source": turn.source})
            if out:
                write_lines(out, lines)
    click.echo(report(lines))


def take(environments: dict[str, dict], folder: str, turn: Turn) -> dict:
    """Measure one side with one source; return its line."""
    environment = {**environments[turn.source], CACHE: folder}
    return spawn(turn.side, {"measure": "both"}, environment)


def report(lines: list[dict]) -> str:
    """Return the table of ratios."""
    head = ["work", "old s", "new s", "time", "old MB", "new MB", "memory", "worse"]
    rows = []
    for work in dict.fromkeys(line["work"] for line in lines):
        own = [line for line in lines if line["work"] == work]
        if errors := [line["error"] for line in own if "error" in line]:
            rows.append([work, *[""] * 6, f"failed: {errors[0]}"])
            continue
        cells, marks = [], []
        for quantity, title in (("seconds", "time"), ("peak_mb", "memory")):
            old, new = (
                [max(x[quantity], FLOORS[quantity]) for x in own if x["source"] == side]
                for side in SIDES
            )
            ratio, spread = compare(old, new)
            cells += [f"{statistics.median(old):.4g}", f"{statistics.median(new):.4g}"]
            cells.append(f"{ratio:.3f} ±{spread:.3f}")
            marks += [title] * (ratio > 1 + WORSE + spread)
        rows.append([work, *cells, " and ".join(marks)])
    return grid([head, *rows])


def compare(old: list[float], new: list[float]) -> tuple[float, float]:
    """Return the ratio of the medians, and the spread as a part of the old median."""
    before, after = statistics.median(old), statistics.median(new)
    away = [[abs(x - m) for x in xs] for xs, m in ((old, before), (new, after))]
    return after / before, sum(map(statistics.median, away)) / before


if __name__ == "__main__":
    main()
