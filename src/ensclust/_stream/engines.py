"""Engines: who passes over blocks of rows, and combines what comes of each.

Locally one block follows the other. With Dask, work on blocks becomes tasks of a graph,
and what they give is combined in a tree, by whatever scheduler is active: threads, a
``distributed.Client`` of a LocalCluster or of a cluster.
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
_TASKS = 4  # per thread and pass, where tasks read blocks themselves
_LARGE = 2**22  # bytes from which shared data is kept out of the graph


class Local:
    """One block after the other, in this process."""

    wave = 1  # blocks that are worked on at a time

    def fold(self, blocks: Iterable[tuple[int, Block]], work, combine) -> Any:
        """Return ``work(columns, number)`` of all blocks, combined; None for none."""
        total = None
        for number, block in blocks:
            result = call(work, block.load, number, block.name)
            with _naming(block.name):  # of other columns than those before it
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
        else:  # blocks that a task reads itself: one after the other, adding as it goes
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
        """Compute a value, telling how many of the leaves are done."""
        client = _client()
        if client is None:
            return root.compute()
        distributed = import_optional("distributed", "the dask engine", "dask")
        # Small values that follow the leaves, so that these need not be kept.
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
    """Pass over blocks by their engine; None where there are none.

    With ``until``, some blocks at a time, then twice as many, as long as it is not true
    of what came out so far. ``skip`` has the numbers of blocks to leave out.
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
    """Yield the blocks with their numbers, telling how far they are."""
    known = blocks.n_blocks if blocks.engine == "blocks" else None
    for number, block in enumerate(blocks):
        if number in skip:
            continue
        if known:
            tell(number, known)
        yield number, block


def call(work: Callable, source: Any, number: int, name: str) -> Any:
    """Return ``work(columns, number)``; an error says which block it was.

    ``source`` is a block's rows, or the function that reads them.
    """
    with _naming(name):
        value = source() if callable(source) else source
        columns = value if isinstance(value, list) else _columns(value)
        return work(columns, number) if columns else None


def _call_alone(work: Callable, source: Any, number: int, name: str) -> Any:
    with parallel.alone():  # the scheduler's threads are enough
        return call(work, source, number, name)


def _fold(work: Callable, combine: Callable, parts: list[tuple[int, Block]]) -> Any:
    with parallel.alone():
        return Local().fold(parts, work, combine)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let errors say which block it was."""
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
    """Combine what is there."""
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
    """Return the client of a cluster that is active, or None."""
    distributed = import_optional("distributed", "the dask engine", "dask")
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _share(value: Any) -> Any:
    """Return something that tasks share, once in the graph or once on each worker."""
    dask = import_optional("dask", "the dask engine", "dask")
    client = _client()
    if client is not None and _nbytes(value) > _LARGE:
        return client.scatter(value, broadcast=True, hash=False)
    return dask.delayed(value, traverse=False)


def _nbytes(value: Any) -> int:
    """Return the bytes of what a partial function brings along, at any depth."""
    if isinstance(value, partial):
        return sum(map(_nbytes, value.keywords.values()))
    if isinstance(value, list | tuple):
        return sum(map(_nbytes, value))
    return getattr(value, "nbytes", 0)
