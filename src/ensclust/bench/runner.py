"""Run units of work in processes; each is on disk as soon as it is done."""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import TYPE_CHECKING

from ensclust._parallel import thread_count
from ensclust._progress import progress
from ensclust.bench import work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ensclust.bench.plan import Unit
    from ensclust.bench.store import Store


def run(
    store: Store, units: list[Unit], *, n_jobs: int | None = 1, quiet: bool = False
) -> list[str]:
    """Do the units, first ones first; return what went wrong.

    Parameters
    ----------
    store : Store
        Where results are kept. What it has already is not done again.
    units : list of Unit
        From :func:`ensclust.bench.plan.plan`.
    n_jobs : int or None
        Processes, each with one thread; None is one per core.
    quiet : bool
        Show no progress.
    """
    failures: list[str] = []
    total = sum(unit.cost for unit in units)
    start, done = time.monotonic(), 0.0
    with progress("reproducing", total=len(units), quiet=quiet) as say:
        for number, (unit, failed) in enumerate(_outcomes(store, units, n_jobs), 1):
            failures += failed
            done += unit.cost
            left = (time.monotonic() - start) * (total - done) / done
            say(f"{number} of {len(units)}, {_in_words(left)} left, {unit} done")
    return failures


def _outcomes(
    store: Store, units: list[Unit], n_jobs: int | None
) -> Iterator[tuple[Unit, list[str]]]:
    """Yield each unit with its failures when it is done."""
    n_processes = min(thread_count(n_jobs), len(units))
    if n_processes <= 1:
        for unit in units:
            yield unit, work.do(store, unit)
        return
    # Forked children would share the parent's OpenMP state, which does not survive.
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(work.do, store, unit): unit for unit in units}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _in_words(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
