"""The report of a run: tables as data, written as Markdown and to the terminal."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import results as outcome
from benchmarks.table import FASTCLUSTER, PRODUCT

if TYPE_CHECKING:
    from benchmarks.results import Result, Verdict
    from benchmarks.table import Measurement, Side

HOW = (
    "Every side runs in its own process with default threads, in turn with the others;"
    " seconds are medians over processes, short works being run up to seven times in"
    " each. Kernels are compiled and inputs prepared before the clock starts. So that"
    " neither side pays for the first touch of memory, which on virtual machines can"
    " cost more than the work, timed processes use an allocator that keeps freed memory"
    " and touch what they will need beforehand. Peak memory is taken in a process of"
    " its own with the default allocator, as the largest resident set during the work"
    " ({memory_by}) above that of the warmed-up process; the input in the form that a"
    " call takes (labels, a condensed vector) is counted, except for intersections."
    " A side that takes more than 100 s is timed once. MB are 10^6 bytes."
)


@dataclass(frozen=True)
class Table:
    """A title, the names of the columns, and rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def tables(measurements: list[Measurement], lines: list[dict]) -> list[Table]:
    """Return the tables of a report."""
    results = outcome.collect(lines)
    is_full = all(line["size"] == "full" for line in lines)
    ran = [m for m in measurements if any(name == m.name for name, _ in results)]
    verdicts = [verdict for m in ran for verdict in outcome.judge(m, results)]
    found = [
        Table(
            "What was to be reached",
            ("work", "against", "ours", "theirs", "ratio", "reach", "met"),
            [verdict_row(verdict, is_full=is_full) for verdict in verdicts],
        )
    ]
    for m in ran:
        row = method_row if m.name.startswith("methods") else side_row
        columns = ("side", "seconds", "runs", "peak memory")
        if row is method_row:
            columns += ("to the product", "to fastcluster")
        rows = [row(m, side, results) for side in m.sides]
        found.append(Table(f"{m.name}: {m.title}", columns, rows))
    return [table for table in found if table.rows]


def main_tables(found: list[Table]) -> list[Table]:
    """Return the tables for the terminal: the bars, and the methods."""
    return [table for table in found if table.title.startswith(("What", "methods"))]


def notes(measurements: list[Measurement], lines: list[dict]) -> list[str]:
    """Return what a reader has to know beside the tables."""
    if not lines:
        return ["Nothing was measured."]
    results = outcome.collect(lines)
    first = lines[0]
    loads = sorted(line["load"] for line in lines)
    others = statistics.median([x["others"] for x in lines if "others" in x] or [0])
    by = next((line["memory_by"] for line in lines if "memory_by" in line), "none")
    versions = ", ".join(f"{name} {x}" for name, x in first["versions"].items())
    found = [
        f"{first['cores']} cores, {first['processor']}, {first['system']}; {versions}."
        f" Load of the machine before each process: {loads[0]:.1f} to {loads[-1]:.1f},"
        f" median {loads[len(loads) // 2]:.1f}; other processes took {others:.0%} of"
        " the cores while time was taken (median).",
        HOW.format(memory_by=by),
    ]
    if any(line["size"] != "full" for line in lines):
        found.append("Sizes are reduced: the bars are printed, but not judged.")
    for m in measurements:
        wrong = outcome.differing(m, results)
        if wrong:
            found.append(f"{m.name}: the result of {', '.join(wrong)} differs.")
    for (name, side), result in results.items():
        if result.error:
            found.append(f"{name}, {side} failed: {result.error}")
    return found


def markdown(found: list[Table], remarks: list[str], pictures: list[str]) -> str:
    """Return the report as Markdown."""
    parts = ["# Benchmark", *remarks]
    for table in found:
        rule = ["---"] * len(table.columns)
        rows = [table.columns, rule, *table.rows]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        parts += [f"## {table.title}", "\n".join(lines)]
    parts += [f"![{name}]({name})" for name in pictures]
    return "\n\n".join(parts) + "\n"


def show(console, found: list[Table], remarks: list[str]) -> None:
    """Print the report to a rich console."""
    from rich.table import Table as RichTable

    for table in found:
        grid = RichTable(title=table.title, title_justify="left")
        for i, column in enumerate(table.columns):
            grid.add_column(column, justify="left" if i == 0 else "right")
        for row in table.rows:
            grid.add_row(*row)
        console.print(grid)
    for remark in remarks:
        console.print(remark, highlight=False, markup=False)


def verdict_row(verdict: Verdict, *, is_full: bool) -> tuple[str, ...]:
    bar, measurement = verdict.bar, verdict.measurement
    work = measurement.title
    if bar.side != "ensclust":
        work = f"{bar.side}: {work}"
    if bar.quantity.endswith("_mb"):
        work += ", memory"
    if bar.quantity == "digest" and bar.against is not None:
        work += f", {bar.unit}"
    met = {True: "yes", False: "NO", None: "-"}[verdict.met if is_full else None]
    theirs = verdict.theirs
    return (
        work,
        bar.note if bar.against is None else bar.against,
        amount(verdict.ours, bar.quantity),
        "" if theirs is None else amount(theirs, bar.quantity),
        "" if theirs is None else f"{verdict.value:.2f}",
        reach(verdict),
        met,
    )


def reach(verdict: Verdict) -> str:
    bar = verdict.bar
    if bar.kind == "faster":
        return f"{bar.limit:g}x faster"
    if bar.kind == "share":
        return f"at most {bar.limit:g}x"
    return f"at most {bar.limit:g} {bar.unit}"


def side_row(m: Measurement, side: Side, results: dict) -> tuple[str, ...]:
    result = results.get((m.name, side.name), outcome.Result())
    return (
        side.name,
        spread(result),
        str(result.n_runs),
        amount(result, "peak_mb"),
    )


def method_row(m: Measurement, side: Side, results: dict) -> tuple[str, ...]:
    """Return the row of a side, and its time as a multiple of the yardsticks."""
    own = results.get((m.name, side.name), outcome.Result()).seconds
    multiples = []
    for yardstick in (PRODUCT, FASTCLUSTER):
        other = results.get((m.name, yardstick), outcome.Result()).seconds
        value = outcome.ratio(own, other)
        multiples.append("-" if math.isnan(value) else f"{value:.2f}")
    return (*side_row(m, side, results), *multiples)


def amount(result: Result, quantity: str) -> str:
    """Return a number with its unit, or a dash."""
    value = getattr(result, quantity)
    if math.isnan(value):
        return "failed" if result.error else "-"
    if quantity == "seconds":
        return duration(value)
    return f"{value:,.0f} MB" if quantity.endswith("_mb") else f"{value:g}"


def spread(result: Result) -> str:
    """Return the median time and, of several runs, the fastest and the slowest."""
    text = amount(result, "seconds")
    if result.n_runs > 1:
        text += f" ({duration(result.fastest)} to {duration(result.slowest)})"
    return text


def duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
