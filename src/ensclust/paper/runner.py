"""Run units of work in processes; each is on disk as soon as it is done."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import TYPE_CHECKING

from ensclust._support.parallel import thread_count
from ensclust._support.progress import progress
from ensclust.paper import work

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ensclust.paper.plan import Unit
    from ensclust.paper.store import Store


def run(
    store: Store, units: list[Unit], *, n_jobs: int | None = 1, quiet: bool = False
) -> list[str]:
    """Do the units, first ones first; return what went wrong.

    Parameters
    ----------
    store : Store
        Where results are kept. What it has already is not done again.
    units : list of Unit
        From :func:`ensclust.paper.plan.plan`.
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
            left = (time.monotonic() - start) * max(0, total - done) / done
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
    spawn = get_context("spawn")
    with ProcessPoolExecutor(n_processes, spawn, initializer=_obey_parent) as pool:
        try:
            with _interrupts_blocked():
                waiting = {pool.submit(work.do, store, unit): unit for unit in units}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():  # what they have in hand may take hours
                worker.kill()
            raise


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Keep Ctrl-C from processes that are started here, also while they start.

    It comes to this process when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _obey_parent() -> None:
    """Let a worker leave Ctrl-C to the process that started it, and end with that.

    If that is killed, it would wait for work for ever. What it has in hand need not be
    finished: files are written whole or not at all.
    """

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()


def _in_words(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
