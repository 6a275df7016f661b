"""Agreement of two clusterings, as the paper measures it, and with an ensemble."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ensclust.ensemble import Ensemble


def nmi(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the mutual information divided by the geometric mean of the entropies.

    This is the paper's NMI; scikit-learn's default divides by the arithmetic mean.

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8165
    """
    from sklearn.metrics import normalized_mutual_info_score  # noqa: PLC0415

    return float(normalized_mutual_info_score(a, b, average_method="geometric"))


def ari(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the adjusted Rand index (scikit-learn's).

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

    return float(adjusted_rand_score(a, b))


def mean_nmi(ensemble: Ensemble, labels: np.ndarray) -> float:
    """Return the mean over base clusterings of the NMI (geometric) with ``labels``.

    Known as ANMI. Each over the objects that the clustering contains; ``labels`` are
    0, 1, ... Time N M. A clustering of one cluster shares nothing, unless all labels
    are equal too.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 1], [1, 2], [1, 2]])
    >>> round(mean_nmi(ensemble, np.array([0, 0, 1, 1])), 4)
    0.9082
    """
    table = contingency(ensemble, labels)
    edges = pairwise(ensemble.offsets)
    return float(np.mean([_nmi(table[:, a:b]) for a, b in edges]))


def contingency(ensemble: Ensemble, labels: np.ndarray) -> np.ndarray:
    """Count the objects of each label in each base cluster, (k, Nc) int64.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> contingency(Ensemble([[0, 0], [0, 1], [1, 1]]), np.array([0, 0, 1]))
    array([[2, 0, 1, 1],
           [0, 1, 0, 1]])
    """
    n_labels = int(labels.max()) + 1
    table = np.empty((n_labels, ensemble.n_base_clusters), np.int64)
    edges = pairwise(ensemble.offsets)
    for column, (a, b) in zip(ensemble.columns, edges, strict=True):
        width = b - a + 1  # the last cell of a line is "not clustered"
        cells = labels.astype(np.int64) * width + np.minimum(column, b - a)
        counts = np.bincount(cells, minlength=n_labels * width)
        table[:, a:b] = counts.reshape(n_labels, width)[:, :-1]
    return table


def _nmi(table: np.ndarray) -> float:
    """Return the NMI of a contingency table, 1 if it has one cell, 0 if one line."""
    joint = _entropy(table)
    rows, columns = _entropy(table.sum(axis=1)), _entropy(table.sum(axis=0))
    if rows == 0 or columns == 0:
        return float(joint == 0)
    return float((rows + columns - joint) / np.sqrt(rows * columns))


def _entropy(counts: np.ndarray) -> float:
    """Return the entropy of counts, exactly 0 if only one is positive."""
    share = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(share * np.log(share)).sum()) + 0.0
