"""Is this the dataset it claims to be? Shape, class counts, values, checksum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ensclust._support.digests import digest

if TYPE_CHECKING:
    import numpy.typing as npt

    from ensclust.datasets._registry import DatasetInfo


def content_checksum(X: npt.ArrayLike, y: npt.ArrayLike) -> str:
    """Return the checksum of the labelled rows, whatever their order and stored type.

    Parameters
    ----------
    X : array-like of shape (n_objects, n_features)
        Features.
    y : array-like of shape (n_objects,)
        Labels.

    Returns
    -------
    str
        64 hexadecimal digits, as defined in :class:`DatasetInfo`.

    Examples
    --------
    >>> a = content_checksum([[1, 2], [3, 4]], [0, 1])
    >>> a == content_checksum([[3.0, 4.0], [1.0, 2.0]], [1, 0])
    True
    >>> a == content_checksum([[1, 2], [3, 4]], [1, 0])
    False
    """
    features = np.asarray(X, dtype="<f8")
    labels = np.asarray(y, dtype="<i8")
    # Adding 0.0 turns -0.0 into 0.0: equal numbers must give equal bytes.
    digests = sorted(
        digest((row + 0.0).tobytes(), label.tobytes())
        for row, label in zip(features, labels, strict=True)
    )
    return digest(bytes.fromhex("".join(digests)))


def verify(
    X: npt.ArrayLike, y: npt.ArrayLike, *, entry: DatasetInfo, origin: str, remedy: str
) -> tuple[np.ndarray, np.ndarray, str]:
    """Check arrays against the registry and return them as float64 and int64.

    Parameters
    ----------
    X : array-like of shape (n_objects, n_features)
        Features as they came in.
    y : array-like of shape (n_objects,)
        Labels as they came in.
    entry : DatasetInfo
        What is expected.
    origin : str
        Where the arrays came from; the message starts with it.
    remedy : str
        What to do if they are wrong; the message ends with it.

    Returns
    -------
    X : ndarray of shape (n_objects, n_features)
        Features as float64.
    y : ndarray of shape (n_objects,)
        Labels as int64.
    checksum : str
        The content checksum found.
    """
    try:
        _check_form(np.asarray(X), np.asarray(y), entry)
        features = np.array(X, dtype=np.float64, order="C")
        labels = np.array(y, dtype=np.int64)
        _check_values(features, labels, entry)
        checksum = content_checksum(features, labels)
        _check_checksum(checksum, entry)
    except _Mismatch as mismatch:
        msg = f"{origin} is not the dataset {entry.name!r}: {mismatch}. {remedy}"
        raise ValueError(msg) from None
    return features, labels, checksum


class _Mismatch(Exception):  # noqa: N818 - never leaves this file
    """What came in and what is expected; verify adds where and what to do."""


def _check_form(X: np.ndarray, y: np.ndarray, entry: DatasetInfo) -> None:
    if X.dtype.kind not in "biuf" or y.dtype.kind not in "iu":
        msg = (
            f"X has dtype {X.dtype} and y has dtype {y.dtype}, expected numbers in X "
            "and integers in y"
        )
        raise _Mismatch(msg)
    shape = (entry.n_objects, entry.n_features)
    if X.shape != shape or y.shape != shape[:1]:
        msg = (
            f"X has shape {X.shape} and y has shape {y.shape}, expected {shape} and "
            f"{shape[:1]}"
        )
        raise _Mismatch(msg)


def _check_values(X: np.ndarray, y: np.ndarray, entry: DatasetInfo) -> None:
    labels, counts = np.unique(y, return_counts=True)
    found = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    expected = dict(enumerate(entry.class_counts))
    if found != expected:
        msg = f"objects per label are {found}, expected {expected}"
        raise _Mismatch(msg)
    n_bad = int(np.count_nonzero(~np.isfinite(X)))
    if n_bad:
        msg = f"{n_bad} values of X are NaN or infinite, expected none"
        raise _Mismatch(msg)
    if entry.value_range is not None:
        low, high = entry.value_range
        if X.min() < low or X.max() > high or np.any(np.rint(X) != X):
            msg = (
                f"the values of X lie in [{X.min():g}, {X.max():g}], expected integers "
                f"in [{low}, {high}], unscaled"
            )
            raise _Mismatch(msg)


def _check_checksum(checksum: str, entry: DatasetInfo) -> None:
    if entry.checksum is not None and checksum != entry.checksum:
        msg = (
            "shape and class counts are right, but some values or labels differ: the "
            f"content has checksum {checksum}, expected {entry.checksum}"
        )
        raise _Mismatch(msg)
