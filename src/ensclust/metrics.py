"""Agreement of two clusterings, as the paper measures it, and with an ensemble."""

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.agreement import (
    agreement,
    counts_ari,
    counts_nmi,
    element_shares,
    mean_nmi,
    pairwise_nmi,
)
from ensclust._support.validation import check_classes

__all__ = [
    "agreement",
    "ari",
    "ecs",
    "element_similarity",
    "mean_nmi",
    "nmi",
    "pairwise_nmi",
]


def nmi(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the mutual information divided by the geometric mean of the entropies.

    This is the paper's NMI; scikit-learn's default divides by the arithmetic mean.

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8165
    """
    return min(max(counts_nmi(*_counts(a, b)), 0.0), 1.0)  # but for rounding


def ari(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the adjusted Rand index, as scikit-learn defines it.

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    return counts_ari(*_counts(a, b))


def ecs(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the element-centric similarity of two clusterings, from 0 to 1.

    The mean of :func:`element_similarity` over the objects: 1 for the same clusters.
    It is not corrected for chance.

    Examples
    --------
    >>> ecs([0, 0, 1, 1], [0, 0, 1, 2])
    0.75
    """
    return float(element_similarity(a, b).mean())


def element_similarity(a: npt.ArrayLike, b: npt.ArrayLike) -> np.ndarray:
    """Return how well two clusterings agree about each object, from 0 to 1.

    An object counts as the share of the larger of its two clusters that is in both of
    them, so the result shows where two clusterings differ.

    Parameters
    ----------
    a, b : array-like of shape (N,)
        Labels, integers or strings, none missing; a negative number is a cluster like
        any other.

    Returns
    -------
    ndarray of shape (N,)
        1 for an object whose two clusters hold the same objects. Time is that of
        sorting N numbers, memory about 115 N bytes.

    Notes
    -----
    Gates et al. compare the personalised PageRank vectors of each object in the two
    clusterings by a corrected L1 distance. If every object is in one cluster of
    each, the probability alpha of going on cancels out, and what is left is the share.

    References
    ----------
    A. J. Gates, I. B. Wood, W. P. Hetrick, Y.-Y. Ahn. Element-centric clustering
    comparison unifies overlaps and hierarchy. Scientific Reports 9, 2019.
    doi:10.1038/s41598-019-44892-y

    Examples
    --------
    >>> element_similarity([0, 0, 1, 1], [0, 0, 1, 2])
    array([1. , 1. , 0.5, 0.5])
    """
    return element_shares(*_pair(a, b))


def _counts(
    a: npt.ArrayLike, b: npt.ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the objects that pairs of clusters share, if any, and the clusters' sizes.

    The table of all pairs may have N x N cells.
    """
    one, other = _pair(a, b)
    cells = one * (other.max() + 1) + other
    shared = np.unique(cells, return_counts=True)[1]
    return shared, np.bincount(one), np.bincount(other)


def _pair(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return two clusterings of the same objects as numbers 0, 1, ..., or raise."""
    one, other = check_classes(a, "a"), check_classes(b, "b")
    if len(one) != len(other):
        msg = f"a has {len(one)} labels, b has {len(other)}. Give the same objects."
        raise ValueError(msg)
    one, other = (np.unique(x, return_inverse=True)[1] for x in (one, other))
    return one, other
