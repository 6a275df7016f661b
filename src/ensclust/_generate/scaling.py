"""Features with mean 0 and standard deviation 1, in memory or in blocks.

Sums are exact, so neither the size of blocks nor their order changes a bit.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ensclust._generate.objects import check_numbers
from ensclust._stream.counting import check_widths
from ensclust._stream.engines import fold
from ensclust._support.kinds import is_stream
from ensclust._support.validation import check_magnitude

_BITS = 26  # that are added up at a time


class _Sums(NamedTuple):
    """Rows of each block, and the sum of each column."""

    lengths: dict[int, int]
    sums: list[Fraction]

    def means(self) -> np.ndarray:
        """Return the mean of each column."""
        n = sum(self.lengths.values())
        return np.array([float(total / n) for total in self.sums])


def standardized(X: Any) -> Any:
    """Return features, an array or Blocks, with mean 0 and deviation 1 in each column.

    A constant column becomes 0. Two passes over blocks, whose rows are scaled anew in
    each pass over what is returned.
    """

    def add_up(work: Callable) -> _Sums:
        return fold(X, work, _join) if is_stream(X) else work(list(X.T), 0)

    mean = add_up(_sums).means()
    variance = add_up(partial(_squares, mean=mean)).means()
    scaled = partial(
        _scaled, mean=mean, scale=np.sqrt(np.where(variance > 0, variance, 1.0))
    )
    return X.map(scaled) if is_stream(X) else np.column_stack(scaled(list(X.T)))


def exact_sum(values: np.ndarray) -> Fraction:
    """Return the sum of finite numbers without any rounding.

    Whole numbers of 26 bits are split off and added up as integers, until nothing is
    left: some three rounds, more where numbers differ in size by many powers of two.
    """
    unit = 2.0 ** np.frexp(np.abs(values).max(initial=0.0))[1]
    left, total, n_rounds = values / unit, 0, 0
    while left.any():
        left = left * 2.0**_BITS
        whole = np.rint(left)
        total = (total << _BITS) + int(whole.astype(np.int64).sum())
        left -= whole
        n_rounds += 1
    return Fraction(total, 1 << (_BITS * n_rounds)) * Fraction(unit)


def _sums(columns: Sequence[np.ndarray], number: int) -> _Sums:
    check_numbers(columns)
    own = (check_magnitude(column).astype(np.float64) for column in columns)
    return _Sums({number: len(columns[0])}, [exact_sum(column) for column in own])


def _squares(columns, number: int, *, mean: np.ndarray) -> _Sums:
    squares = (_minus(column, m) ** 2 for column, m in zip(columns, mean, strict=True))
    return _Sums({number: len(columns[0])}, [exact_sum(own) for own in squares])


def _minus(column: np.ndarray, mean: float) -> np.ndarray:
    return np.subtract(column, mean, dtype=np.float64)


def _join(one: _Sums, other: _Sums) -> _Sums:
    check_widths(one.lengths, len(one.sums), other.lengths, len(other.sums))
    both = zip(one.sums, other.sums, strict=True)
    return _Sums({**one.lengths, **other.lengths}, [a + b for a, b in both])


def _scaled(columns, *, mean: np.ndarray, scale: np.ndarray) -> list[np.ndarray]:
    """Return the columns of a block, scaled; as float32 where they are."""
    return [
        (_minus(column, m) / s).astype(
            np.float32 if column.dtype == np.float32 else np.float64, copy=False
        )
        for column, m, s in zip(columns, mean, scale, strict=True)
    ]
