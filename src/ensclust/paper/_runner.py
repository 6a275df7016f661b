"""Do jobs in turn or in processes; what a job finds is there as soon as it is done."""

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
    """Do jobs, first ones first; yield each with what it found when it is done.

    Parameters
    ----------
    jobs : sequence
        What is to be done; what was done before is left out by the caller. Progress
        shows them as text.
    do : callable
        Does one job; with several processes it must be picklable, as jobs are.
    title : str
        What is being done, for the progress.
    cost : callable
        About how long a job takes beside others, for the estimate of the time left.
    n_jobs : int or None
        Processes; None is one per core.
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
    # Forked children would share the parent's OpenMP state, which does not survive.
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
