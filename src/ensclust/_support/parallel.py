"""Threads over blocks of work; the result never depends on their number."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from numbers import Integral

import joblib
from threadpoolctl import OpenBLASController, ThreadpoolController

from ensclust._support.progress import tell
from ensclust._support.shared import Shared

_alone = ContextVar("whether to use one thread only", default=False)


def thread_count(n_jobs: int | None = None) -> int:
    """Return the number of threads that ``n_jobs`` means.

    ``None`` means one per core, as in scikit-learn's own OpenMP loops; negative
    values count back from the number of cores, as joblib does. Always 1 inside
    :func:`alone`.
    """
    if _alone.get():
        return 1
    if n_jobs is None:
        return joblib.cpu_count()
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        msg = (
            f"n_jobs={n_jobs!r} is not supported. Use None or -1 for all cores, 1 for "
            "no threads, or another nonzero integer."
        )
        raise ValueError(msg)
    return n_jobs if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + n_jobs)


@contextmanager
def alone() -> Iterator[None]:
    """Run the work inside with one thread, as other threads already use the cores."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def blocks(n_items: int, n_blocks: int) -> list[tuple[int, int]]:
    """Split ``range(n_items)`` into at most ``n_blocks`` ranges of about equal size."""
    n_blocks = max(1, min(n_blocks, n_items))
    return list(pairwise([n_items * b // n_blocks for b in range(n_blocks + 1)]))


def strips(n_items: int, height: int) -> list[tuple[int, int]]:
    """Split ``range(n_items)`` into ranges of ``height``; the last may be shorter."""
    return [(a, min(a + height, n_items)) for a in range(0, n_items, height)]


def run_spans(
    work: Callable,
    spans: Iterable[tuple[int, int]],
    shared: tuple,
    *,
    n_jobs: int | None = None,
) -> list:
    """Call ``work(*shared, first, last)`` for each span, as :func:`run` does."""
    return run(work, [(*shared, *span) for span in spans], n_jobs=n_jobs)


def run(
    work: Callable,
    tasks: Iterable[tuple],
    *,
    n_jobs: int | None = None,
    phase: str | None = None,
) -> list:
    """Call ``work(*task)`` for each task, in threads; return the results in order.

    ``work`` must release the GIL (a kernel) to gain anything. After an error no further
    task is started, and running ones are waited for. With a ``phase``, progress is
    reported.
    """
    tasks = list(tasks)
    threads = min(thread_count(n_jobs), len(tasks))
    results: list = [None] * len(tasks)
    left, done = deque(range(len(tasks))), []

    def take() -> None:
        while left:
            try:
                i = left.popleft()
            except IndexError:  # another thread was faster
                return
            results[i] = work(*tasks[i])
            done.append(i)
            if phase is not None:  # only the calling thread reports
                tell(len(done), len(tasks), phase)

    others = [_pool(threads - 1).submit(take) for _ in range(threads - 1)]
    try:
        take()
    finally:
        left.clear()
        # Tasks not yet started may wait for a thread that waits for this one.
        begun = [other for other in others if not other.cancel()]
        wait(begun)
    for other in begun:
        other.result()
    return results


def openmp() -> ThreadpoolController:
    """Return the OpenMP libraries loaded so far; limits are those of a thread.

    A limit of all libraries would, when it ends, also set the threads of BLAS.
    """
    return ThreadpoolController().select(user_api="openmp")


@cache
def _blas() -> ThreadpoolController:
    """Return the BLAS libraries, cached: finding them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


def _limit_blas() -> Callable[[], None]:
    _let_this_thread_limit()
    limit = _blas().limit(limits=1)

    def undo() -> None:
        _let_this_thread_limit()
        limit.restore_original_limits()
        _let_this_thread_limit()  # and then any other

    return undo


def _let_this_thread_limit() -> None:
    """Forget which thread was the first to set the number of threads of OpenBLAS.

    Since threadpoolctl 3.8, all others are ignored.
    """
    forget = getattr(OpenBLASController, "clear_controlling_thread", None)
    if forget is not None:
        forget(force=True)


one_blas_thread = Shared(_limit_blas)  # one_blas_thread(): BLAS with one thread


def one_blas_thread_if(is_small: bool) -> AbstractContextManager[None]:  # noqa: FBT001
    """Return :func:`one_blas_thread` for small work, for which threads only wait."""
    return one_blas_thread() if is_small else nullcontext()


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return the pool for this number of threads, cached: starting one takes 0.1 ms."""
    return ThreadPoolExecutor(threads, thread_name_prefix="ensclust")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)
