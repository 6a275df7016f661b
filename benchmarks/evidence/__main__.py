"""The evidence behind defaults: ``python -m benchmarks.evidence [question ...]``.

Runs that are in benchmarks/results/evidence are not repeated, so it can be interrupted
at any time. ``--half confirming`` requires a committed choice, and records the run in
confirming.jsonl.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.evidence.questions import QUESTIONS, n_classes
from benchmarks.evidence.report import write_reports
from benchmarks.evidence.sets import CHOOSING, CONFIRMING, HALVES, Dataset, datasets
from ensclust._support.json_files import read_lines, write_lines
from ensclust._support.parallel import one_blas_thread
from ensclust.paper._runner import run

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "evidence"
CHOICE = RESULTS / "choice.json"
LISTED = RESULTS / "confirming.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("questions", nargs="*", help=", ".join(QUESTIONS))
    parser.add_argument("--data", type=Path, action="append", default=[], help="NPZ")
    parser.add_argument("--half", choices=HALVES, default=CHOOSING)
    parser.add_argument("--runs", type=int, help="maximum number per dataset")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    chosen = options.questions or list(QUESTIONS)
    if unknown := set(chosen) - set(QUESTIONS):
        parser.error(f"unknown question {sorted(unknown)}; use {sorted(QUESTIONS)}")
    if not options.report_only:
        if options.half == CONFIRMING:
            enlist(chosen)
        for name in chosen:
            take(name, options)
    write_reports(RESULTS)


def take(question: str, options: argparse.Namespace) -> None:
    """Measure what is missing for a question."""
    path = RESULTS / f"{question}-{options.half}.jsonl.gz"
    rows = read_lines(path) if path.exists() else []
    done = {(row["set"], row["run"]) for row in rows}
    runs = QUESTIONS[question].runs
    runs = min(runs, options.runs or runs)
    every = product(range(runs), datasets(options.data, options.half))
    jobs = [
        Job(one, number)
        for number, one in every
        if (one.name, number) not in done
        and (one.kind != "noise" or QUESTIONS[question].has_noise)
    ]
    do = partial(measure, question)
    for _, row in run(jobs, do, title=question, n_jobs=options.n_jobs):
        rows.append(row)
        rows.sort(key=lambda row: (row["set"], row["run"]))
        write_lines(path, rows)


class Job(NamedTuple):
    """A dataset and the number of a run."""

    one: Dataset
    number: int

    def __str__(self) -> str:
        return f"{self.one.name} {self.number}"


def measure(question: str, job: Job) -> dict[str, Any]:
    """Return one line: the scores of all variants on one run of one dataset."""
    one, number = job
    X, y = one.load(number)
    with one_blas_thread():
        scores = QUESTIONS[question].measure(X, y, number)
    return {
        "set": one.name,
        "kind": one.kind,
        "run": number,
        "n": len(X),
        "d": X.shape[1],
        "k": n_classes(y),
        "scores": scores,
    }


def enlist(questions: list[str]) -> None:
    """Record a confirming run, or exit if no choice is committed."""
    git = partial(subprocess.run, cwd=ROOT, capture_output=True, text=True, check=False)
    place = CHOICE.relative_to(ROOT).as_posix()
    commit = git(["git", "log", "-1", "--format=%H", "--", place]).stdout.strip()
    changed = git(["git", "status", "--porcelain", "--", place]).stdout
    if not commit or changed:
        sys.exit(f"{place} is not committed: choose before you confirm.")
    rows = read_lines(LISTED) if LISTED.exists() else []
    at = datetime.now(UTC).isoformat(timespec="seconds")
    rows.append({"at": at, "choice": commit, "questions": questions})
    write_lines(LISTED, rows)


if __name__ == "__main__":
    main()
