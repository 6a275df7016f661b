"""Engines: what reads blocks of rows, and combines the results.

Locally, blocks are read one after the other. With Dask, the work on blocks becomes
tasks of a graph, whose results are combined in a tree by the active scheduler: threads,
or the ``distributed.Client`` of a local or remote cluster.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from itertools import islice
from typing import Any

import numpy as np

from ensclust._ensemble.flow import TooManyRowsError
from ensclust._stream.blocks import Block, Blocks, columns_of
from ensclust._support import parallel
from ensclust._support.progress import tell
from ensclust._support.validation import import_optional
from ensclust._support.whole_files import NotWrittenError

_FAN_IN = 8  # results that one task combines
_TASKS = 4  # per thread and pass, if tasks read blocks themselves
_LARGE = 2**22  # bytes above which shared data is kept out of the graph


class Local:
    """One block after the other, in this process."""

    wave = 1  # blocks processed at a time

    def fold(self, blocks: Iterable[tuple[int, Block]], work, combine) -> Any:
        """Return ``work(columns, number)`` of all blocks, combined; None for none."""
        total = None
        for number, block in blocks:
            result = call(work, block.load, number, block.name)
            with _naming(block.name):  # its columns may differ from earlier ones
                total = either(combine, total, result)
        return total


class Dask:
    """Tasks of a Dask graph, combined in a tree."""

    wave = 4

    def __init__(self) -> None:
        self.delayed = import_optional("dask", "the dask engine", "dask").delayed

    def fold(self, blocks: Iterable[tuple[int, Block]], work, combine) -> Any:
        """Return ``work(columns, number)`` of all blocks, combined; None for none."""
        parts, share = list(blocks), _share(combine)
        if not parts:
            return None
        if any(hasattr(block.load, "dask") for _, block in parts):
            leaves = self.tasks(parts, work)
        else:  # a task reads several blocks, adding as it goes
            run, shared = self.delayed(_fold), _share(work)
            spans = parallel.blocks(len(parts), _TASKS * _n_threads())
            leaves = [run(shared, share, parts[a:b]) for a, b in spans]
        level, join = leaves, self.delayed(_combine)
        while len(level) > 1:
            level = [
                join(share, level[i : i + _FAN_IN])
                for i in range(0, len(level), _FAN_IN)
            ]
        return self._compute(level[0], leaves)

    def tasks(self, blocks: Iterable[tuple[int, Block]], work: Callable) -> list:
        """Return a delayed value for each block."""
        run, share = self.delayed(_call_alone), _share(work)
        return [run(share, block.load, i, block.name) for i, block in blocks]

    def _compute(self, root: Any, leaves: list) -> Any:
        """Compute a value, reporting how many of the leaves are done."""
        client = _client()
        if client is None:
            return root.compute()
        distributed = import_optional("distributed", "the dask engine", "dask")
        # Small values that depend on the leaves, which need not be kept.
        marks = [self.delayed(_mark)(leaf) for leaf in leaves]
        future, *marks = client.compute([root, *marks])
        for done, mark in enumerate(distributed.as_completed(marks)):
            if mark.status == "error":
                break
            tell(done + 1, len(marks))
        return future.result()


def fold(
    blocks: Blocks,
    work: Callable,
    combine: Callable,
    *,
    until: Any = None,
    skip: Container[int] = (),
) -> Any:
    """Fold over blocks with their engine; None if there are none.

    With ``until``, blocks are processed in batches of doubling size until it is true of
    the result so far. ``skip`` has the numbers of blocks to leave out.
    """
    engine = Local() if blocks.engine == "blocks" else Dask()
    if until is None:
        return engine.fold(with_numbers(blocks, skip), work, combine)
    total, left, size = None, with_numbers(blocks, skip), engine.wave
    while wave := list(islice(left, size)):
        total = either(combine, total, engine.fold(wave, work, combine))
        if total is not None and until(total):
            break
        size *= 2
    return total


def with_numbers(
    blocks: Blocks, skip: Container[int] = ()
) -> Iterator[tuple[int, Block]]:
    """Yield the blocks with their numbers, reporting progress."""
    known = blocks.n_blocks if blocks.engine == "blocks" else None
    for number, block in enumerate(blocks):
        if number in skip:
            continue
        if known:
            tell(number, known)
        yield number, block


def call(work: Callable, source: Any, number: int, name: str) -> Any:
    """Return ``work(columns, number)``; errors name the block.

    ``source`` is the rows of a block, or the function that reads them.
    """
    with _naming(name):
        value = source() if callable(source) else source
        columns = value if isinstance(value, list) else _columns(value)
        return work(columns, number) if columns else None


def _call_alone(work: Callable, source: Any, number: int, name: str) -> Any:
    with parallel.alone():  # the scheduler already uses threads
        return call(work, source, number, name)


def _fold(work: Callable, combine: Callable, parts: list[tuple[int, Block]]) -> Any:
    with parallel.alone():
        return Local().fold(parts, work, combine)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Name the block in errors."""
    try:
        yield
    except (TooManyRowsError, NotWrittenError):
        raise
    except (ValueError, TypeError, OSError, MemoryError) as error:
        kind = type(error) if type(error) in (TypeError, MemoryError) else ValueError
        msg = str(error) if str(error).startswith(name) else f"{name}: {error}"
        raise kind(msg) from error


def _columns(value: Any) -> list[np.ndarray]:
    return [] if getattr(value, "shape", (1,))[0] == 0 else columns_of(value)


def either(combine: Callable, one: Any, other: Any) -> Any:
    """Combine two results, either of which may be None."""
    if one is None or other is None:
        return other if one is None else one
    return combine(one, other)


def _combine(combine: Callable, parts: list) -> Any:
    return reduce(partial(either, combine), parts)


def _mark(_: Any) -> None:
    return None


def _n_threads() -> int:
    client = _client()
    return sum(client.nthreads().values()) if client else parallel.thread_count()


def _client() -> Any:
    """Return the client of the active cluster, or None."""
    distributed = import_optional("distributed", "the dask engine", "dask")
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _share(value: Any) -> Any:
    """Return a value for tasks to share, once in the graph or once per worker."""
    dask = import_optional("dask", "the dask engine", "dask")
    client = _client()
    if client is not None and _nbytes(value) > _LARGE:
        return client.scatter(value, broadcast=True, hash=False)
    return dask.delayed(value, traverse=False)


def _nbytes(value: Any) -> int:
    """Return the bytes of the arguments of a partial function, at any depth."""
    if isinstance(value, partial):
        return sum(map(_nbytes, value.keywords.values()))
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    return getattr(value, "nbytes", 0)
