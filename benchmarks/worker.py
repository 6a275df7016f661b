"""Measure one work in this process and print one JSON line.

``python -m benchmarks.worker JSON`` with ``work``, ``params``, ``measure`` ("memory",
"time" or "both") and ``touch``, the bytes of memory to touch before taking the time.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import psutil

from benchmarks.works import WORKS, Work

MAX_RUNS = 7
LONG_ENOUGH = 2.0  # seconds after which short work is not repeated
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Linux reports the peak since a reset; elsewhere it is that of the whole process.
MEMORY_BY = "VmHWM" if CLEAR.exists() else "ru_maxrss"


def main(job: dict) -> dict:
    """Warm up, measure, and return the results."""
    work, params = WORKS[job["work"]], job["params"]
    work.run(*work.prepare(**{**params, **work.small}))
    found = {}
    if job["measure"] != "time":
        found |= memory(work, params)
    if job["measure"] != "memory":
        touch(int(job.get("touch", 0)))
        found |= seconds(work, params)
    return found


def memory(work: Work, params: dict) -> dict:
    """Run once; return megabytes above the warmed-up process and above the input."""
    warm = current()
    arguments = work.prepare(**params)
    prepared = current()
    reset_peak()
    begin = time.perf_counter()
    result = work.run(*arguments)
    cold = time.perf_counter() - begin
    extra = max(0, peak() - prepared)
    return {
        "cold_seconds": cold,
        "peak_mb": (prepared - warm + extra) / 1e6,
        "work_mb": extra / 1e6,
        "memory_by": MEMORY_BY,
        "digest": digest(work, result),
    }


def seconds(work: Work, params: dict) -> dict:
    """Run long work once, short work up to seven times; return the median.

    ``others`` is the share of the machine used by other processes meanwhile.
    """
    times: list[float] = []
    own = machine = 0.0
    start = time.perf_counter()
    while not times or (
        len(times) < MAX_RUNS and time.perf_counter() - start < LONG_ENOUGH
    ):
        arguments = work.prepare(**params)
        begin, begin_own, begin_machine = clocks()
        result = work.run(*arguments)
        end, end_own, end_machine = clocks()
        times.append(result[0] if work.is_self_timed else end - begin)
        own += end_own - begin_own
        machine += end_machine - begin_machine
        del arguments
    capacity = sum(times) * psutil.cpu_count()
    return {
        "seconds": statistics.median(times),
        "cpu_seconds": own / len(times),
        "others": max(0.0, machine - own) / capacity,
        "runs": len(times),
        "digest": digest(work, result),
    }


def clocks() -> tuple[float, float, float]:
    """Return the time, and the CPU times of this process, its children and all."""
    idle = ("idle", "iowait", "guest", "guest_nice")
    machine = psutil.cpu_times()._asdict().items()
    process = psutil.Process()
    own = [process.cpu_times()]
    for child in process.children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            own.append(child.cpu_times())
    return (
        time.perf_counter(),
        sum(x.user + x.system + x.children_user + x.children_system for x in own),
        sum(value for name, value in machine if name not in idle),
    )


def digest(work: Work, result) -> float | None:
    if work.is_self_timed:
        return result[1]
    return None if work.digest is None else float(work.digest(result))


def touch(n_bytes: int) -> None:
    """Write to memory and free it: the allocator keeps it, so later use is fast."""
    block = np.empty(n_bytes, np.uint8)
    block[::4096] = 1


def current() -> int:
    """Return the current resident bytes, without freed memory that is kept."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
    return status("VmRSS") if STATUS.exists() else peak()


def peak() -> int:
    """Return the largest resident bytes since the reset."""
    if MEMORY_BY == "VmHWM":
        return status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak() -> None:
    if MEMORY_BY == "VmHWM":
        CLEAR.write_text("5")


def status(name: str) -> int:
    lines = STATUS.read_text().splitlines()
    return 1024 * next(int(x.split()[1]) for x in lines if x.startswith(f"{name}:"))


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
