"""From single runs to medians, and from medians to verdicts."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.table import Bar, Measurement

TOLERANCE = 1e-5  # relative difference of digests of equal results


@dataclass(frozen=True)
class Result:
    """The result of one side: medians, spread, and the error of a failed run."""

    seconds: float = math.nan
    fastest: float = math.nan
    slowest: float = math.nan
    n_runs: int = 0
    peak_mb: float = math.nan
    work_mb: float = math.nan
    digest: float = math.nan
    error: str = ""


@dataclass(frozen=True)
class Verdict:
    """A bar with the numbers on both sides; ``met`` is None if they are missing."""

    measurement: Measurement
    bar: Bar
    ours: Result
    theirs: Result | None
    value: float
    met: bool | None


def collect(lines: Iterable[dict]) -> dict[tuple[str, str], Result]:
    """Return the result of each (measurement, side)."""
    groups: dict[tuple[str, str], list[dict]] = {}
    for line in lines:
        groups.setdefault((line["measurement"], line["side"]), []).append(line)
    return {key: summarise(group) for key, group in groups.items()}


def summarise(lines: list[dict]) -> Result:
    times = [line["seconds"] for line in lines if "seconds" in line]
    found = {}
    for line in lines:
        names = ("peak_mb", "work_mb", "digest", "error")
        found.update({name: line[name] for name in names if line.get(name) is not None})
    if not times:
        return Result(**found)
    return Result(
        seconds=statistics.median(times),
        fastest=min(times),
        slowest=max(times),
        n_runs=len(times),
        **found,
    )


def judge(
    measurement: Measurement, results: dict[tuple[str, str], Result]
) -> list[Verdict]:
    """Compare the sides of a measurement with its bars."""
    verdicts = []
    for bar in measurement.bars:
        ours = results.get((measurement.name, bar.side), Result())
        theirs = None
        if bar.against is not None:
            name, _, side = bar.against.rpartition(":")
            theirs = results.get((name or measurement.name, side), Result())
        value = reached(bar, ours, theirs)
        met = value >= bar.limit if bar.kind == "faster" else value <= bar.limit
        verdicts.append(
            Verdict(
                measurement,
                bar,
                ours,
                theirs,
                value,
                None if math.isnan(value) else met,
            )
        )
    return verdicts


def reached(bar: Bar, ours: Result, theirs: Result | None) -> float:
    """Return the number that is compared with the limit."""
    own = getattr(ours, bar.quantity)
    if theirs is None:
        return own
    other = getattr(theirs, bar.quantity)
    return ratio(other, own) if bar.kind == "faster" else ratio(own, other)


def ratio(a: float, b: float) -> float:
    return a / b if b else math.nan


def differing(
    measurement: Measurement, results: dict[tuple[str, str], Result]
) -> list[str]:
    """Return the sides whose result should equal the first, but does not."""
    digests = {
        side: results[measurement.name, side].digest
        for side in measurement.same
        if (measurement.name, side) in results
    }
    known = {side: x for side, x in digests.items() if not math.isnan(x)}
    first = next(iter(known.values()), math.nan)
    return [
        side
        for side, digest in known.items()
        if not math.isclose(digest, first, rel_tol=TOLERANCE)
    ]
