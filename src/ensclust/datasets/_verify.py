"""Verify a dataset: shape, class counts, values, checksum."""

import numpy as np
import numpy.typing as npt

from ensclust._support.digests import digest
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
    # Adding 0.0 turns -0.0 into 0.0: equal numbers must give equal bytes.
    digests = sorted(
        digest((row + 0.0).tobytes(), label.tobytes())
        for row, label in zip(features, np.asarray(y, dtype="<i8"), strict=True)
    )
    return digest(bytes.fromhex("".join(digests)))


def verify(
    X: npt.ArrayLike, y: npt.ArrayLike, *, entry: DatasetInfo, origin: str, remedy: str
) -> tuple[np.ndarray, np.ndarray, str]:
    """Check arrays against the registry and return them as float64 and int64.

    Parameters
    ----------
    X : array-like of shape (n_objects, n_features)
        Features as loaded.
    y : array-like of shape (n_objects,)
        Labels as loaded.
    entry : DatasetInfo
        The expected dataset.
    origin : str
        Where the arrays came from, the beginning of the message.
    remedy : str
        What to do if they are wrong, the end of the message.

    Returns
    -------
    X : ndarray of shape (n_objects, n_features)
        Features as float64.
    y : ndarray of shape (n_objects,)
        Labels as int64.
    checksum : str
        The content checksum found.
    """
    given, classes = np.asarray(X), np.asarray(y)
    mismatch = _wrong_form(given, classes, entry)
    if not mismatch:
        features = np.array(given, dtype=np.float64, order="C")
        labels = np.array(classes, dtype=np.int64)
        checksum = content_checksum(features, labels)
        mismatch = _wrong_values(features, labels, checksum, entry)
    if mismatch:
        msg = f"{origin} is not the dataset {entry.name!r}: {mismatch}. {remedy}"
        raise ValueError(msg)
    return features, labels, checksum


def _wrong_form(X: np.ndarray, y: np.ndarray, entry: DatasetInfo) -> str:
    """Return what was found and what is expected, if types or shapes differ."""
    shape = (entry.n_objects, entry.n_features)
    if X.dtype.kind not in "biuf" or y.dtype.kind not in "iu":
        return (
            f"X has dtype {X.dtype} and y has dtype {y.dtype}, expected numbers in X "
            "and integers in y"
        )
    if X.shape != shape or y.shape != shape[:1]:
        return (
            f"X has shape {X.shape} and y has shape {y.shape}, expected {shape} and "
            f"{shape[:1]}"
        )
    return ""


def _wrong_values(
    X: np.ndarray, y: np.ndarray, checksum: str, entry: DatasetInfo
) -> str:
    """Return what was found and what is expected, if the content differs."""
    labels, counts = np.unique(y, return_counts=True)
    found = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    expected = dict(enumerate(entry.class_counts))
    if found != expected:
        return f"objects per label are {found}, expected {expected}"
    if n_bad := int(np.count_nonzero(~np.isfinite(X))):
        return f"{n_bad} values of X are NaN or infinite, expected none"
    low, high = entry.value_range or (-np.inf, np.inf)
    is_whole = entry.value_range is None or bool(np.all(np.rint(X) == X))
    if X.min() < low or X.max() > high or not is_whole:
        return (
            f"the values of X lie in [{X.min():g}, {X.max():g}], expected integers "
            f"in [{low}, {high}], unscaled"
        )
    if checksum != (entry.checksum or checksum):
        return (
            "shape and class counts are right, but some values or labels differ: the "
            f"content has checksum {checksum}, expected {entry.checksum}"
        )
    return ""
