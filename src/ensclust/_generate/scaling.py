"""Standard and robust scaling of features, in memory or in blocks.

The sums for standard scaling are exact, so the result depends neither on the size of
blocks nor on their order.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from ensclust._generate.objects import InBlocks, InMemory

_BITS = 26  # summed at a time


class Scaling(NamedTuple):
    """Scaling of features, ``(X - centre) / scale``; sparse ones are not centred."""

    centre: np.ndarray
    scale: np.ndarray

    def of(self, X: Any) -> Any:
        """Return scaled features, as float32 if X is float32, otherwise as float64."""
        if sparse.issparse(X):
            return (X @ sparse.diags_array(1 / self.scale)).tocsr().astype(X.dtype)
        return ((X - self.centre) / self.scale).astype(_float(X), copy=False)


def standard_scaling(objects: InMemory | InBlocks) -> Scaling:
    """Return the scaling to mean 0 and standard deviation 1.

    A constant column becomes 0. Takes two passes over blocks.
    """
    if isinstance(objects, InMemory) and sparse.issparse(objects.X):
        mean, variance = mean_variance_axis(objects.X.astype(np.float64), axis=0)
    else:

        def means(work: Callable, phase: str) -> np.ndarray:
            totals = objects.fold(work, _add, phase)
            return np.array([float(total / objects.n_objects) for total in totals])

        mean = means(_sums, "means")
        variance = means(partial(_squares, mean=mean), "deviations")
    return Scaling(mean, np.sqrt(np.where(variance > 0, variance, 1.0)))


def robust_scaling(sample: Any) -> Scaling:
    """Return the scaling to median 0 and interquartile range 1.

    If the quartiles are equal, the standard deviation is used instead.
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

    Splits off integers of 26 bits and adds these, until nothing is left: about three
    rounds, more if numbers differ in size by many powers of two.
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


def _sums(X: np.ndarray) -> list[Fraction]:
    return [exact_sum(column.astype(np.float64)) for column in X.T]


def _squares(X: np.ndarray, *, mean: np.ndarray) -> list[Fraction]:
    own = zip(X.T, mean, strict=True)
    return [exact_sum(np.subtract(x, m, dtype=np.float64) ** 2) for x, m in own]


def _add(one: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    return [a + b for a, b in zip(one, other, strict=True)]


def _float(values: np.ndarray) -> type:
    return np.float32 if values.dtype == np.float32 else np.float64
