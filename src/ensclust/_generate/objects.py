"""The objects to cluster: in memory, or in blocks.

Both provide selected rows, the range of all features, and passes over all rows in
pieces. The result of a pass is the same for both, and for any size of the pieces.
"""

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ensclust._stream.blocks import Blocks, as_blocks
from ensclust._stream.counting import check_widths
from ensclust._stream.engines import fold
from ensclust._support import parallel, progress
from ensclust._support.digests import check_unchanged, checksum
from ensclust._support.features import extent
from ensclust._support.validation import check_magnitude

_CELLS = 2**22  # of an array in memory, processed at a time


class InMemory:
    """Rows of an array or CSR matrix, scaled on access.

    ``scaling`` has a method ``of`` that scales rows; None means no scaling.
    """

    def __init__(self, X: Any, scaling: Any = None):
        self.X = X
        self.n_objects = X.shape[0]
        self._scaling = scaling
        ends = np.array(extent(X))
        ends = sparse.csr_array(ends) if sparse.issparse(X) else ends
        ends = _scaled(ends, scaling)
        self.low, self.high = ends.toarray() if sparse.issparse(X) else ends

    def take(self, rows: np.ndarray) -> Any:
        """Return some rows, by index, in order; X itself if nothing changes."""
        taken = self.X if len(rows) == self.n_objects else self.X[rows]
        return _scaled(taken, self._scaling)

    def fold(self, work: Callable, combine: Callable, phase: str) -> Any:
        """Return ``work(rows)`` of all pieces, combined."""
        return reduce(combine, (work(X) for _, X in self.pieces(phase)))

    def pieces(self, phase: str) -> Iterator[tuple[int, Any]]:
        """Yield the rows in pieces, with the index of the first row of each."""
        spans = parallel.strips(self.n_objects, max(1, _CELLS // self.X.shape[1]))
        for done, (a, b) in enumerate(spans):
            progress.tell(done, len(spans), phase)
            yield a, _scaled(self.X[a:b], self._scaling)


class Survey(NamedTuple):
    """The range of features, and the identity of blocks, found in one pass.

    ``known`` has the number of rows and a checksum of each block, by its index.
    """

    known: dict[int, tuple[int, int]]
    low: np.ndarray
    high: np.ndarray

    @property
    def n_objects(self) -> int:
        """The number of rows."""
        return sum(rows for rows, _ in self.known.values())


class InBlocks:
    """Rows of surveyed Blocks, scaled on access.

    Every pass checks that the rows have not changed since the survey.
    """

    def __init__(self, blocks: Blocks, known: Survey, scaling: Any = None):
        self.blocks, self.n_objects = blocks, known.n_objects
        self._known, self._scaling = known.known, scaling
        self.low, self.high = _scaled(np.array([known.low, known.high]), scaling)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows, by index, in order."""
        lengths = [self._known.get(i, (0,))[0] for i in range(max(self._known) + 1)]
        wanted = {
            i: rows[(rows >= a) & (rows < b)] - a
            for i, (a, b) in enumerate(pairwise(np.cumsum([0, *lengths])))
        }
        work = partial(_rows, wanted=wanted, known=self._known)
        found = fold(self.blocks, work, operator.or_)
        taken = np.concatenate([found[number] for number in sorted(found)])
        return _scaled(taken, self._scaling)

    def fold(self, work: Callable, combine: Callable, phase: str) -> Any:
        """Return ``work(rows)`` of all blocks, combined."""
        with progress.phase(phase):
            checked = {"known": self._known, "scaling": self._scaling}
            on_table = partial(_on_table, work=work, **checked)
            return fold(self.blocks, on_table, combine)


def survey(X: Any) -> Survey:
    """Pass over features once; raise for anything but finite numbers."""
    found = fold(as_blocks(X, "features"), _survey, _join)
    if found is None:
        msg = "X holds no objects. Pass at least one block with a row."
        raise ValueError(msg)
    return found


def _survey(columns: Sequence[np.ndarray], number: int) -> Survey:
    rows = table(columns)
    low, high = extent(rows)
    check_magnitude(np.array([low, high]))  # here, so that the error can name the rows
    return Survey({number: (len(rows), checksum(columns))}, low, high)


def _join(one: Survey, other: Survey) -> Survey:
    check_widths(one.known, len(one.low), other.known, len(other.low))
    return Survey(
        one.known | other.known,
        np.minimum(one.low, other.low),
        np.maximum(one.high, other.high),
    )


def table(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return a block of features as float64, or as float32 if all columns are."""
    check_numbers(columns)
    narrow = all(column.dtype == np.float32 for column in columns)
    return np.column_stack(columns).astype(
        np.float32 if narrow else np.float64, copy=False
    )


def check_numbers(columns: Sequence[np.ndarray]) -> None:
    """Raise unless the columns of a block hold finite numbers."""
    for m, column in enumerate(columns):
        if column.dtype.kind not in "biuf" or not np.isfinite(column).all():
            where = (
                int(np.argmin(np.isfinite(column)))
                if column.dtype.kind in "biuf"
                else 0
            )
            msg = (
                f"X[{where}, {m}] = {column[where]!r} in this block; features are "
                "finite numbers."
            )
            raise ValueError(msg)


def check_known(columns: Sequence[np.ndarray], number: int, known: dict) -> None:
    """Raise if a block has changed since the survey."""
    check_unchanged(number, (len(columns[0]), checksum(columns)), known)


def _scaled(rows: Any, scaling: Any) -> Any:
    return rows if scaling is None else scaling.of(rows)


def _rows(columns, number: int, *, wanted: dict[int, np.ndarray], known: dict) -> dict:
    check_known(columns, number, known)
    return {number: table([column[wanted[number]] for column in columns])}


def _on_table(columns, number: int, *, work: Callable, known: dict, scaling) -> Any:
    check_known(columns, number, known)
    return work(_scaled(table(columns), scaling))
