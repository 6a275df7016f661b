"""Features: validated, and as numbers that k-means can work with and lose nothing."""

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
_PLAIN = 2.0**16  # spreads up to this, and down to its inverse, need no other unit
_LARGEST = 2.0**60  # whose square float32 still holds
_CENTRES, _TRIED = 64, 512  # rows by which it is tried whether float32 will do
_LOSS = 0.01  # share by which a centre may be farther than the nearest
_NOTHING = 1e-4  # share of a usual squared distance that does not count
_UNEVEN = 10.0  # ratio of standard deviations from which small columns are drowned
_DECIDING = 0.99  # share of squared distances that a few objects may not have
_FEWEST = 20  # objects of which a few can be told
_LOST = 0.002  # share of rows that may get such a centre


class Frame(NamedTuple):
    """How features become what k-means works on: ``(X - origin) / unit``, as ``dtype``.

    Attributes
    ----------
    origin : ndarray of shape (n_features,) or None
        The median of each feature; None where 0 is near enough, and X is not changed.
    unit : float
        A power of two, which costs no digits; 1 unless the spread is far from it.
    dtype : str
        "float32", unless some objects would get another centre than with "float64".
    """

    origin: np.ndarray | None
    unit: float
    dtype: str

    @classmethod
    def of(cls, sample: Any, low: np.ndarray, high: np.ndarray) -> Frame:
        """Return the frame of objects, given a sample, and the range of all of them.

        A median, unlike a mean, is not drawn away from the bulk of the objects by a few
        that are far out, so that differences in the bulk keep their digits.
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
        """Return features in this frame, X itself where nothing changes."""
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
        """Return the largest number that features of this range become."""
        ends = np.array([low, high], np.float64)
        ends = ends if self.origin is None else ends - self.origin
        return float(np.abs(ends / self.unit).max())

    def _place_sparse(self, X: Any) -> Any:
        """Subtract medians that are not 0: more than half of such a feature is stored.

        So there are at most twice as many numbers as before.
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
    """Return the least and the largest value of each feature."""
    if sparse.issparse(X):
        return X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return X.min(axis=0), X.max(axis=0)


def uneven(sample: Any, rows: np.ndarray | None = None) -> tuple[str, str] | None:
    """Say that few columns, or few objects, decide all distances, and what helps.

    Returns two sentences, None if all is well. A column counts as large if its standard
    deviation is; where its quartiles are not, few objects make it so. ``rows`` are the
    numbers of the sample's rows, for messages.
    """
    few = "a few objects that are far out" + _far_rows(sample, rows)
    cure = "Remove or clip them, unless they are to be clusters of their own."
    if not sparse.issparse(sample) and sample.shape[1] > 1:
        ratio = _ratio(sample.std(axis=0, dtype=np.float64))
        said = f"The largest standard deviation of a column is {ratio:,.0f} times the "
        low, high = np.quantile(sample, [0.25, 0.75], axis=0)
        if ratio >= _UNEVEN and _ratio(high - low) >= _UNEVEN:
            return f"{said}median one: few columns decide alone.", ""
        if ratio >= _UNEVEN:
            return f"{said}median one because of {few}.", cure
    if few.endswith(")"):
        return f"Nearly all of the squared distances are those of {few}.", cure
    return None


def _far_rows(sample: Any, rows: np.ndarray | None) -> str:
    """Return ": row 7 (1e+08 in column 2)" of objects that decide alone, or nothing.

    These are at most one of 1,000 objects, or a single one, and have nearly all of the
    squared distances from the median.
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
    far = np.argsort(-square, kind="stable")[: max(1, n // 1000)]
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
    """Return the largest of the numbers above 0, divided by their median."""
    spread = np.sort(spread[spread > 0])
    return float(spread[-1] / spread[(len(spread) - 1) // 2]) if len(spread) else 1.0


def _middle(sample: Any) -> tuple[np.ndarray, float]:
    """Return the median of each feature, and the spread of all of them together.

    The spread is the root of the sum of squared median deviations, or where more than
    half of each feature is one number, of squared mean deviations.
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
    """Whether float32 gives other centres to objects than float64, by trying it."""
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
            'read_features(path).values, or say base="precomputed" for labels.'
        )
        raise TypeError(msg)
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    try:
        # errstate: of sums of what is too large
        with np.errstate(invalid="ignore"), kept_filters():
            return check_magnitude(validate_data(estimator, X, **options, reset=reset))
    except ValueError as error:
        if "X" in str(error):
            raise
        msg = f"X is no table of numbers: {error}"
        raise ValueError(msg) from error
