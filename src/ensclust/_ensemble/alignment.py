"""align(): name the clusters of one clustering after those of another."""

from itertools import count
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._support.kinds import pandas_index
from ensclust._support.validation import check_labelling


def align(labels: Any, reference: Any) -> Any:
    """Name clusters after the reference clusters that they overlap most.

    This makes results comparable by eye: yesterday's cluster 3 is cluster 3 today.

    Parameters
    ----------
    labels : array-like of shape (n_objects,)
        The clustering to rename; negative, NaN or None means "not clustered".
    reference : array-like of shape (n_objects,)
        A clustering of the same objects, integers or strings; "not clustered" for
        objects that it does not contain.

    Returns
    -------
    ndarray of shape (n_objects,)
        ``labels`` with clusters renamed one to one to those of ``reference``, such that
        as many objects as possible have the same name in both. A cluster without a
        counterpart gets a new name, the next number above those of the reference or
        "new 1", "new 2", ...; objects that are not clustered are -1 (None among
        strings). A Series if ``labels`` is one.

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
    """Return the one-to-one matching of rows and columns with the largest overlap.

    Pairs that share nothing are left out; rows ascend.
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
            f"reference has {coded.n_objects} labels for {n_objects} objects. Pass one "
            "label per object, -1 or NaN for those that it does not contain."
        )
        raise ValueError(msg)
    values = coded.categories[0]
    if values.dtype.kind == "U":
        msg = (
            f"reference holds strings, such as {values[0].item()!r}; here clusters are "
            "numbers. Pass integers, or call ensclust.align(labels, reference) later."
        )
        raise TypeError(msg)
    numbers = np.append(values, -1)[np.minimum(coded.columns[0], len(values))]
    return check_labelling(numbers, n_objects, "reference")


def _fresh_texts(names: list[str]):
    return (text for i in count(1) if (text := f"new {i}") not in names)
