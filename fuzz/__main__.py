"""Fuzz all targets, each in a separate process, and print a table.

They share a quarter of an hour, or ``--minutes``. With ``--write`` the table goes into
docs/trust.md. :mod:`fuzz.one` fuzzes one target. Needs ``make .venv/fuzz``.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import fill

from fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "trust.md"
COMMAND = "python -m fuzz"


class Outcome(NamedTuple):
    """The result of fuzzing one target."""

    target: str
    seconds: int
    n_inputs: int
    n_branches: int  # branches and calls that some input reached
    status: int  # 0 unless an input is a bug


def main() -> int:
    """Fuzz all targets one after the other; return 1 if an input is a bug."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=15, help="for all together")
    parser.add_argument("--write", action="store_true", help="into docs/trust.md")
    given = parser.parse_args()
    seconds = max(1, round(60 * given.minutes / len(TARGETS)))
    outcomes = [run_apart(name, seconds) for name in TARGETS]
    text = report(outcomes, given.minutes)
    print(text)
    if given.write:
        fill(PAGE, f"{COMMAND} --write", text)
    return int(any(outcome.status for outcome in outcomes))


def run_apart(name: str, seconds: int) -> Outcome:
    """Fuzz a target in a separate process, which may crash."""
    options = [f"-max_total_time={seconds}", "-print_final_stats=1"]
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.one", name, *options],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    outcome = read_outcome(name, seconds, done.stderr, done.returncode)
    print(outcome, flush=True)
    if done.returncode:
        print(done.stderr[-4000:], file=sys.stderr, flush=True)
    return outcome


def read_outcome(name: str, seconds: int, log: str, status: int) -> Outcome:
    """Return what libFuzzer's log says."""
    n_inputs = re.findall(r"^stat::number_of_executed_units: *(\d+)", log, re.MULTILINE)
    reached = re.findall(r"^#(\d+)\s.* cov: (\d+) ", log, re.MULTILINE) or [("0", "0")]
    last = n_inputs or [reached[-1][0]]  # a process that crashed prints no figures
    return Outcome(name, seconds, int(last[-1]), int(reached[-1][1]), status)


def report(outcomes: list[Outcome], minutes: float) -> str:
    """Return the figures as Markdown."""
    date, version = datetime.now(UTC).date(), platform.python_version()
    lines = [
        f"`{COMMAND} --minutes {minutes:g} --write`, {date}, Python {version}, "
        f"{os.cpu_count()} cores.",
        "",
        "| target | inputs | per second | branches and calls reached | crashed |",
        "| --- | ---: | ---: | ---: | --- |",
    ]
    for name, seconds, n_inputs, n_branches, status in outcomes:
        lines.append(
            f"| {name} | {n_inputs:,} | {n_inputs / seconds:,.0f} | {n_branches:,} | "
            f"{'yes' if status else 'no'} |"
        )
    total = sum(outcome.n_inputs for outcome in outcomes)
    return "\n".join([*lines, f"| all | {total:,} | | | |"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
