"""Passes over blocks: work on each, and what comes of it combined."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from ensclust._stream.blocks import Block, Blocks, columns_of
from ensclust._support.progress import tell
from ensclust._support.whole_files import NotWrittenError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np


class Engine(Protocol):
    """Who makes passes over blocks."""

    n_jobs: int | None  # threads inside the work on one block
    wave: int  # blocks that are worked on at a time

    def fold(self, blocks: Iterable[tuple[int, Block]], work, combine) -> Any:
        """Return ``work(columns, number)`` of all blocks, combined; None for none."""


class Local:
    """One block after the other, in this process."""

    n_jobs: int | None = None
    wave = 1

    def fold(self, blocks: Iterable[tuple[int, Block]], work, combine) -> Any:
        """Return ``work(columns, number)`` of all blocks, combined; None for none."""
        total = None
        for number, block in blocks:
            result = call(work, block.load, number, block.name)
            with _naming(block.name):  # of other columns than those before it
                total = either(combine, total, result)
        return total


def engine_of(blocks: Blocks) -> Engine:
    """Return who passes over some blocks."""
    if blocks.engine == "blocks":
        return Local()
    from ensclust._stream.distributed import Dask  # noqa: PLC0415  a layer above

    return Dask()


def call(work: Callable, source: Any, number: int, name: str) -> Any:
    """Return ``work(columns, number)``; an error says which block it was.

    ``source`` is a block's rows, or the function that reads them.
    """
    with _naming(name):
        value = source() if callable(source) else source
        columns = value if isinstance(value, list) else _columns(value)
        return work(columns, number) if columns else None


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let errors say which block it was."""
    try:
        yield
    except (TooManyRowsError, NotWrittenError):
        raise
    except (ValueError, TypeError, OSError, MemoryError) as error:
        kind = type(error) if type(error) in (TypeError, MemoryError) else ValueError
        said = str(error)
        msg = said if said.startswith(name) else f"{name}: {said}"
        raise kind(msg) from error


def _columns(value: Any) -> list[np.ndarray]:
    return [] if getattr(value, "shape", (1,))[0] == 0 else columns_of(value)


def either(combine: Callable, one: Any, other: Any) -> Any:
    """Combine what is there."""
    if one is None or other is None:
        return other if one is None else one
    return combine(one, other)


class TooManyRowsError(MemoryError):
    """There are more distinct label rows than the memory budget holds."""


def numbered(blocks: Blocks) -> Iterator[tuple[int, Block]]:
    """Yield the blocks with their numbers, telling how far they are."""
    for number, block in enumerate(blocks):
        if len(blocks) and blocks.engine == "blocks":
            tell(number, len(blocks))
        yield number, block
