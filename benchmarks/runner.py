"""Run measurements, every side in its own process, in turn; one JSON line per run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.inputs import CACHE
from benchmarks.sources import ROOT, commit, environment
from ensclust.paper import _runner as jobs
from ensclust.paper._work import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.table import Measurement, Side

SLOW = 100.0  # seconds above which a side is timed once
PATIENCE = 3600  # seconds after which a side is given up
SPARE = 1.2  # touched beforehand, as a multiple of the observed peak

# Time is measured with an allocator that keeps freed memory, so that it is touched once
# and before the clock starts: on virtual machines the first touch of a page can cost
# more than the work. Memory is measured with the default allocator.
KEEPING = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": str(2**46),
    "MALLOC_TOP_PAD_": str(2**26),
    "MALLOC_ARENA_MAX": "1",
}


def run(
    table: list[Measurement],
    *,
    repeats: int = 3,
    size: str = "full",
    source: Path = ROOT,
) -> Iterator[list[dict]]:
    """Measure everything; yield the lines of each measurement when it is done.

    ``source`` is the checkout whose package is measured.
    """
    shared = {"size": size, **conditions(), **commit(source)}
    with tempfile.TemporaryDirectory(prefix="ensclust-bench-") as folder:
        do = partial(measure, repeats, {**environment(source), CACHE: folder})
        for _, lines in jobs.run(table, do, title="measuring"):
            yield [{**line, **shared} for line in lines]


def measure(repeats: int, variables: dict, measurement: Measurement) -> list[dict]:
    """Return one line per run: memory of each side first, then times in turn.

    Without repeats, both come from one process.
    """
    lines: list[dict] = []

    def take(side: Side, job: dict, more: dict | None = None) -> dict:
        names = {"measurement": measurement.name, "side": side.name}
        lines.append({**names, **spawn(side, job, {**variables, **(more or {})})})
        return lines[-1]

    touch, left = {}, {}
    for side in measurement.sides:
        line = take(side, {"measure": "memory" if repeats else "both"})
        if "error" not in line:
            touch[side.name] = int(SPARE * line["peak_mb"] * 1e6) + 2**26
            left[side.name] = 1 if line["cold_seconds"] > SLOW else repeats
    for repeat in range(repeats):
        for side in measurement.sides:
            if left.get(side.name, 0) > repeat:
                job = {"measure": "time", "touch": touch[side.name], "repeat": repeat}
                take(side, job, KEEPING)
    return lines


def spawn(side: Side, job: dict, variables: dict) -> dict:
    """Run a side in a new process; return its line, with the error if it failed."""
    job = {**job, "work": side.work, "params": side.params}
    line = {**job, "load": os.getloadavg()[0]}
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(job)]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {**line, "error": f"no result after {PATIENCE} s"}
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {**line, "error": reason[-1]}
    return {**line, **json.loads(done.stdout.splitlines()[-1])}


def conditions() -> dict:
    """Return what the numbers depend on besides the code."""
    return {
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "processor": processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {**versions(), "fastcluster": version_of("fastcluster")},
    }


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def processor() -> str:
    """Return the name of the processor, if the system reports it."""
    path = Path("/proc/cpuinfo")
    names = path.read_text().splitlines() if path.exists() else []
    found = [x.partition(":")[2].strip() for x in names if x.startswith("model name")]
    return found[0] if found else platform.processor()
