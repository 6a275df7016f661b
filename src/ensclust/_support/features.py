"""Features: validated, and as float32 without losing digits that matter."""

import os

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ensclust._support.validation import check_magnitude

_ROWS = 8192  # rows centred at a time


def scaled(X, mean: np.ndarray | None = None, unit: float | None = None):
    """Return the mean of the rows, a unit and ``(X - mean) / unit`` in float32.

    Centred in float64, block by block. The unit is a power of two, which costs no
    digits, near the largest deviation, so that no number is too large for float32.
    To stay sparse, sparse rows are not centred, unless others were before.
    """
    if sparse.issparse(X) and (mean is None or not mean.any()):
        unit = unit or 2.0 ** np.frexp(np.abs(X.data).max(initial=0.0))[1]
        return np.zeros(X.shape[1]), unit, (X / unit).astype(np.float32)
    blocks = [slice(i, i + _ROWS) for i in range(0, X.shape[0], _ROWS)]
    if mean is None or unit is None:
        mean = X.mean(axis=0, dtype=np.float64)
        unit = 2.0 ** np.frexp(max(np.abs(X[rows] - mean).max() for rows in blocks))[1]
    small = np.empty(X.shape, np.float32)
    for rows in blocks:
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        small[rows] = (block.astype(np.float64) - mean) / unit
    return mean, unit, small


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
        with np.errstate(invalid="ignore"):  # of sums of what is too large
            return check_magnitude(validate_data(estimator, X, **options, reset=reset))
    except ValueError as error:
        if "X" in str(error):
            raise
        msg = f"X is no table of numbers: {error}"
        raise ValueError(msg) from error
