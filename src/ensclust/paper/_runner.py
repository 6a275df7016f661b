"""Run jobs in turn or in processes, yielding each result as soon as it is done."""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import TypeVar

from ensclust._support.parallel import thread_count
from ensclust._support.progress import progress

Job = TypeVar("Job")
Found = TypeVar("Found")


def run(
    jobs: Sequence[Job],
    do: Callable[[Job], Found],
    *,
    title: str,
    cost: Callable[[Job], float] = lambda _: 1.0,
    n_jobs: int | None = 1,
    quiet: bool = False,
) -> Iterator[tuple[Job, Found]]:
    """Run jobs in order; yield each with its result when it is done.

    Parameters
    ----------
    jobs : sequence
        The jobs; the caller leaves out those done before. Progress shows them as
        text.
    do : callable
        Runs one job; with several processes, it and the jobs must be picklable.
    title : str
        Description of the work, for the progress.
    cost : callable
        Relative duration of a job, to estimate the time left.
    n_jobs : int or None
        Number of processes; None means one per core.
    quiet : bool
        Show no progress.
    """
    done = 0.0
    with progress(title, total=sum(map(cost, jobs)), quiet=quiet) as say:
        for number, (job, found) in enumerate(_outcomes(jobs, do, n_jobs), 1):
            done += cost(job)
            say(f"{number} of {len(jobs)}, {job} done", done)
            yield job, found


def _outcomes(
    jobs: Sequence[Job], do: Callable[[Job], Found], n_jobs: int | None
) -> Iterator[tuple[Job, Found]]:
    n_processes = min(thread_count(n_jobs), len(jobs))
    if n_processes <= 1:
        for job in jobs:
            yield job, do(job)
        return
    # Not forked: OpenMP state of the parent does not survive a fork.
    with ProcessPoolExecutor(
        n_processes, get_context("spawn"), initializer=_obey_parent
    ) as pool:
        try:
            with _interrupts_blocked():
                waiting = {pool.submit(do, job): job for job in jobs}
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in active_children():  # their current jobs may take hours
                worker.kill()
            raise


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C for processes started here, even while they start.

    It reaches this process when the block ends.
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
    """Make a worker leave Ctrl-C to its parent process, and end with it.

    If the parent is killed, a worker would wait for work forever. Its current job need
    not be finished, as files are written whole or not at all.
    """

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
