"""Validate features, and place them so that k-means loses no precision."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ensclust._support.quiet import kept_filters
from ensclust._support.validation import check_magnitude

_ROWS = 8192  # rows placed at a time
_PLAIN = 2.0**16  # spreads from its inverse up to this keep unit 1
_LARGEST = 2.0**60  # its square still fits in float32
_CENTRES, _TRIED = 64, 512  # rows that test whether float32 suffices
_LOSS = 0.01  # by how much a centre may be farther than the nearest
_NOTHING = 1e-4  # negligible share of a typical squared distance
_UNEVEN = 10.0  # ratio of standard deviations from which small columns are negligible
_DECIDING = 0.99  # largest share of squared distances due to few objects
_FEWEST = 20  # fewest objects for which "a few" makes sense
_LOST = 0.002  # share of rows that may get such a centre


class Frame(NamedTuple):
    """How features are placed for k-means: ``(X - origin) / unit``, as ``dtype``.

    Attributes
    ----------
    origin : ndarray of shape (n_features,) or None
        The median of each feature; None if 0 is close enough and X is not shifted.
    unit : float
        A power of two, which loses no digits; 1 unless the spread is far from 1.
    dtype : str
        "float32", unless some objects would get a different centre than in "float64".
    """

    origin: np.ndarray | None
    unit: float
    dtype: str

    @classmethod
    def of(cls, sample: Any, low: np.ndarray, high: np.ndarray) -> Frame:
        """Return the frame for objects, given a sample and the range of all of them.

        Unlike a mean, a median is not pulled away from the bulk of the objects by a few
        outliers, so differences within the bulk keep their digits.
        """
        median, spread = _middle(sample)
        unit = 1.0
        if spread > 0 and not 1 / _PLAIN <= spread <= _PLAIN:
            unit = 2.0 ** int(np.frexp(spread)[1])
        size, origin = float(np.linalg.norm(median / unit)), None
        if size > spread / unit:
            origin = median
        wide = cls(origin, unit, "float64")
        if wide.largest(low, high) * np.sqrt(len(low)) > _LARGEST:
            return wide
        narrow = cls(origin, unit, "float32")
        return wide if _loses(narrow, wide, sample) else narrow

    def place(self, X: Any) -> Any:
        """Return features in this frame; X itself if nothing changes."""
        if self.origin is None and self.unit == 1.0:
            return X.astype(self.dtype, copy=False)
        if sparse.issparse(X):
            return self._place_sparse(X)
        placed = np.empty(X.shape, self.dtype)
        for i in range(0, len(X), _ROWS):
            part = X[i : i + _ROWS].astype(np.float64)
            part = part if self.origin is None else part - self.origin
            placed[i : i + _ROWS] = part / self.unit
        return placed

    def largest(self, low: np.ndarray, high: np.ndarray) -> float:
        """Return the largest absolute value that features of this range become."""
        ends = np.array([low, high], np.float64)
        ends = ends if self.origin is None else ends - self.origin
        return float(np.abs(ends / self.unit).max())

    def _place_sparse(self, X: Any) -> Any:
        """Subtract the nonzero medians.

        More than half of such a feature is stored, so the result stores at most twice
        as many numbers.
        """
        X = X.astype(np.float64)
        if self.origin is not None and self.origin.any():
            columns, n = np.flatnonzero(self.origin), X.shape[0]
            origin = sparse.csr_array(
                (
                    np.tile(self.origin[columns], n),
                    np.tile(columns, n),
                    np.arange(n + 1) * len(columns),
                ),
                shape=X.shape,
            )
            X = sparse.csr_array(X - origin)
        return (X / self.unit).astype(self.dtype)


def extent(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of each feature."""
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0), X.max(axis=0)


def uneven(sample: Any, rows: np.ndarray | None = None) -> tuple[str, str] | None:
    """Describe features whose distances are dominated by few columns or few objects.

    Returns a diagnosis and a remedy, None if all is well. A column is large if its
    standard deviation is; if its interquartile range is not, few objects are the cause.
    ``rows`` are the row numbers of the sample, for messages.
    """
    few = "a few outliers" + _far_rows(sample, rows)
    cure = "Remove or clip them, unless they should form separate clusters."
    if not sparse.issparse(sample) and sample.shape[1] > 1:
        ratio = _ratio(sample.std(axis=0, dtype=np.float64))
        said = f"The largest standard deviation of a column is {ratio:,.0f} times the "
        low, high = np.quantile(sample, [0.25, 0.75], axis=0)
        if ratio >= _UNEVEN and _ratio(high - low) >= _UNEVEN:
            return f"{said}median: few columns dominate the distances.", ""
        if ratio >= _UNEVEN:
            return f"{said}median because of {few}.", cure
    if few.endswith(")"):
        return f"Nearly all of the squared distances are due to {few}.", cure
    return None


def _far_rows(sample: Any, rows: np.ndarray | None) -> str:
    """Return ": row 7 (1e+08 in column 2)" for objects that dominate, or "".

    These are at most one in 1,000 objects, or one in 100 if that is at most ten, that
    account for nearly all of the squared distances from the median.
    """
    n = sample.shape[0]
    if n < _FEWEST:
        return ""
    if sparse.issparse(sample):
        away = sample.astype(np.float64)
        square = np.asarray(away.multiply(away).sum(axis=1)).ravel()
    else:
        away = sample - np.median(sample, axis=0)
        square = np.einsum("ij,ij->i", away, away, dtype=np.float64)
    most = max(1, min(n // 100, 10), n // 1000)
    far = np.argsort(-square, kind="stable")[:most]
    enough = np.cumsum(square[far]) > _DECIDING * square.sum()
    if not enough.any():
        return ""
    far = far[: int(np.argmax(enough)) + 1]
    own = away[far[:1]].toarray() if sparse.issparse(away) else away[far[:1]]
    column = int(np.abs(own[0]).argmax())
    numbers = (far if rows is None else rows[far])[:5].tolist()
    value = float(sample[far[0], column])
    more = ", ..." * (len(far) > 5)
    return (
        f": row{'s' * (len(far) > 1)} {', '.join(map(str, numbers))}{more} "
        f"({value:.6g} in column {column})"
    )


def _ratio(spread: np.ndarray) -> float:
    """Return the largest of the positive numbers divided by their median."""
    spread = np.sort(spread[spread > 0])
    return float(spread[-1] / spread[(len(spread) - 1) // 2]) if len(spread) else 1.0


def _middle(sample: Any) -> tuple[np.ndarray, float]:
    """Return the median of each feature, and the joint spread of all features.

    The spread is the root of the sum of squared median absolute deviations, or, if more
    than half of the values of every feature are equal, of squared mean deviations.
    """
    n, d = sample.shape
    median, typical, average = np.zeros((3, d))
    step = max(1, 2**22 // n)
    for a in range(0, d, step):
        part = sample[:, a : a + step]
        part = (part.toarray() if sparse.issparse(part) else part).astype(np.float64)
        median[a : a + step] = np.median(part, axis=0)
        part = np.abs(part - median[a : a + step])
        typical[a : a + step] = np.median(part, axis=0)
        average[a : a + step] = part.mean(axis=0)
    spread = float(np.linalg.norm(typical))
    return median, spread if spread > 0 else float(np.linalg.norm(average))


def _loses(narrow: Frame, wide: Frame, sample: Any) -> bool:
    """Test on a sample whether float32 assigns objects to other centres."""
    n = sample.shape[0]
    tried, centres = (
        np.unique(np.linspace(0, n - 1, min(n, size)).astype(int))
        for size in (_TRIED, _CENTRES)
    )

    def scores(frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        X, C = (frame.place(sample[rows]) for rows in (tried, centres))
        X, C = (a.toarray() if sparse.issparse(a) else a for a in (X, C))
        half = ((C.astype(np.float64) ** 2).sum(axis=1) / 2).astype(frame.dtype)
        return X @ C.T - half, (X.astype(np.float64) ** 2).sum(axis=1)

    exact, norms = scores(wide)
    distance = np.maximum(norms[:, None] - 2 * exact, 0)
    best = distance.min(axis=1)
    found = distance[np.arange(len(tried)), scores(narrow)[0].argmax(axis=1)]
    enough = best * (1 + _LOSS) + _NOTHING * np.median(best)
    return bool((found > enough).mean() > _LOST)


def validate_features(estimator: BaseEstimator, X, *, reset: bool = True):
    """Return ``X`` as a float array or CSR matrix that fits the estimator."""
    is_ensemble = hasattr(X, "intersections")
    if is_ensemble or isinstance(X, str | os.PathLike):
        what = repr(X) if is_ensemble else f"the path {os.fspath(X)!r}"
        msg = (
            f"X is {what}; expected numbers. Read features with ensclust.io."
            'read_features(path).values, or pass base="precomputed" for labels.'
        )
        raise TypeError(msg)
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    try:
        # errstate: sums of numbers that are too large
        with np.errstate(invalid="ignore"), kept_filters():
            return check_magnitude(validate_data(estimator, X, **options, reset=reset))
    except ValueError as error:
        if "X" in str(error):
            raise
        msg = f"X is not a table of numbers: {error}"
        raise ValueError(msg) from error
