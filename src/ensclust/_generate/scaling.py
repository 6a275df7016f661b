"""Features of one size: standard or robust scaling, in memory or in blocks.

Sums of standard scaling are exact, so neither the size of blocks nor their order
changes a bit.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

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


class Scaling(NamedTuple):
    """How features are scaled: ``(X - centre) / scale``, sparse ones not centred."""

    centre: np.ndarray
    scale: np.ndarray

    def of(self, X: Any) -> Any:
        """Return features scaled, as float32 where they are, else as float64."""
        if sparse.issparse(X):
            return (X @ sparse.diags_array(1 / self.scale)).tocsr().astype(X.dtype)
        return ((X - self.centre) / self.scale).astype(_float(X), copy=False)


def standard_scaling(X: Any) -> Scaling:
    """Return what gives each column of an array or Blocks mean 0 and deviation 1.

    A constant column becomes 0. Two passes over blocks.
    """
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X.astype(np.float64), axis=0)
    else:

        def add_up(work: Callable) -> _Sums:
            return fold(X, work, _join) if is_stream(X) else work(list(X.T), 0)

        mean = add_up(_sums).means()
        variance = add_up(partial(_squares, mean=mean)).means()
    return Scaling(mean, np.sqrt(np.where(variance > 0, variance, 1.0)))


def robust_scaling(sample: Any) -> Scaling:
    """Return what gives each column median 0 and distance 1 between its quartiles.

    Where the quartiles are equal, the standard deviation is taken instead.
    """
    n_columns = sample.shape[1]
    centre, scale = np.zeros(n_columns), np.ones(n_columns)
    step = max(1, 2**22 // sample.shape[0])
    for a in range(0, n_columns, step):
        part = sample[:, a : a + step]
        part = (part.toarray() if sparse.issparse(part) else part).astype(np.float64)
        low, middle, high = np.quantile(part, [0.25, 0.5, 0.75], axis=0)
        spread = np.where(high > low, high - low, part.std(axis=0))
        centre[a : a + step] = middle
        scale[a : a + step] = np.where(spread > 0, spread, 1.0)
    return Scaling(centre, scale)


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


def _float(values: np.ndarray) -> type:
    return np.float32 if values.dtype == np.float32 else np.float64
