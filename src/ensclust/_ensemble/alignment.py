"""align(): the clusters of one clustering by the names of another's."""

from itertools import count
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._support.kinds import pandas_index
from ensclust._support.validation import check_labelling


def align(labels: Any, reference: Any) -> Any:
    """Name clusters as those of a reference that they share most objects with.

    So results can be compared by eye, and cluster 3 of yesterday is cluster 3 today.

    Parameters
    ----------
    labels : array-like of shape (n_objects,)
        The clustering to rename; negative, NaN or None means "not clustered".
    reference : array-like of shape (n_objects,)
        A clustering of the same objects, integers or texts; "not clustered" for
        objects that it does not know.

    Returns
    -------
    ndarray of shape (n_objects,)
        ``labels``, in which each cluster has the name of a cluster of ``reference``:
        one each, so that as many objects as possible have the same name in both. A
        cluster that has no counterpart gets a new name, the next number above those of
        the reference or "new 1", "new 2", ...; -1 (None among texts) for objects that
        are not clustered. A Series where ``labels`` is one.

    Examples
    --------
    >>> from ensclust import align
    >>> align([0, 0, 1, 1, 2, 2], [7, 7, 3, 3, 3, 3])
    array([7, 7, 3, 3, 8, 8])
    >>> align([1, 1, 0, 0], ["B", "B", "T", "T"]).tolist()
    ['B', 'B', 'T', 'T']
    """
    both = Ensemble.from_clusterings([labels, reference])
    names = both.categories[1].tolist()
    k = int(both.cluster_counts[0])
    own, other = match(both.intersections()[:k, k:])
    new: list[Any] = [None] * k
    for cluster, place in zip(own.tolist(), other.tolist(), strict=True):
        new[cluster] = names[place]
    is_text = both.categories[1].dtype.kind == "U"
    fresh = _fresh_texts(names) if is_text else count(max(names, default=-1) + 1)
    new = [next(fresh) if name is None else name for name in new]
    table = np.array([*new, None if is_text else -1], object if is_text else np.int64)
    found = table[np.minimum(both.columns[0], k)]
    if hasattr(labels, "iloc"):
        return type(labels)(found, index=pandas_index(labels), name=labels.name)
    return found


def match(overlap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of a table, one each, that share most; none shares 0.

    Rows ascend.
    """
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415  import time

    rows, columns = linear_sum_assignment(overlap, maximize=True)
    shares = overlap[rows, columns] > 0
    return rows[shares], columns[shares]


def check_reference(reference: Any, n_objects: int) -> np.ndarray:
    """Return the cluster numbers of a reference, -1 for none, or raise."""
    coded = Ensemble.from_clusterings([reference])
    if coded.n_objects != n_objects:
        msg = (
            f"reference has {coded.n_objects} labels for {n_objects} objects. Give one "
            "per object, -1 or NaN for those that it does not know."
        )
        raise ValueError(msg)
    values = coded.categories[0]
    if values.dtype.kind == "U":
        msg = (
            f"reference holds texts, such as {values[0].item()!r}; here clusters are "
            "numbers. Give integers, or call ensclust.align(labels, reference) later."
        )
        raise TypeError(msg)
    numbers = np.append(values, -1)[np.minimum(coded.columns[0], len(values))]
    return check_labelling(numbers, n_objects, "reference")


def _fresh_texts(names: list[str]):
    return (text for i in count(1) if (text := f"new {i}") not in names)
