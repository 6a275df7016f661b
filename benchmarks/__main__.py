"""``python -m benchmarks [names...]``: measure, write results, report and plots."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from benchmarks import plots, report, runner, table
from benchmarks.sources import ROOT
from ensclust._support.json_files import read_lines, write_lines

WIDTH = 150  # characters of tables in files
LINES, REPORT = "measurements.jsonl", "report.md"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", "size", flag_value="quick", help="Small sizes, no repeats.")
@click.option("--size", default="full", type=click.Choice(list(table.SIZES)))
@click.option("--repeats", type=click.IntRange(0), help="Timed processes per side.")
@click.option("--source", type=click.Path(path_type=Path), default=ROOT,
              help="A checkout whose package is measured, instead of this one.",
              show_default="this one")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default="benchmarks/reports")
@click.option("--only-report", is_flag=True, help="Only report on the results in OUT.")
def main(names, size, repeats, source, out, only_report):
    """Measure speed and memory, compared with what people use.

    NAMES are measurements, or prefixes of their names; by default all are run.
    """
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    chosen = choose(table.measurements(size), names)
    out.mkdir(parents=True, exist_ok=True)
    if not only_report:
        if repeats is None:
            repeats = 3 if size == "full" else 0
        lines = []
        for found in runner.run(chosen, repeats=repeats, size=size, source=source):
            lines += found
            write_lines(out / LINES, lines)
            for line in found:
                console.print(progress(line), highlight=False, markup=False)
    lines = read_lines(out / LINES)
    found, remarks = report.tables(chosen, lines), report.notes(chosen, lines)
    pictures = plots.draw(chosen, lines, out)
    (out / REPORT).write_text(report.markdown(found, remarks, pictures))
    report.show(console, report.main_tables(found), remarks)
    console.print(f"{out / REPORT}, {out / LINES}")


def choose(measurements, names):
    """Return the measurements whose names begin with one of ``names``."""
    known = [m.name for m in measurements]
    for name in names:
        if not any(other.startswith(name) for other in known):
            msg = f"no measurement is called {name!r}; use one of {', '.join(known)}."
            raise click.BadParameter(msg, param_hint="NAMES")
    return [m for m in measurements if not names or m.name.startswith(tuple(names))]


def progress(line: dict) -> str:
    """Return one line for the terminal about one run."""
    head = f"{line['measurement']}, {line['side']}: "
    if "error" in line:
        return head + line["error"]
    parts = []
    if "seconds" in line:
        parts.append(report.duration(line["seconds"]))
    if "peak_mb" in line:
        parts.append(f"{line['peak_mb']:,.0f} MB")
    return head + ", ".join(parts)


if __name__ == "__main__":
    main()
