"""How closely clusters hold objects, by mean co-association.

The mean co-association of an object with a cluster is, per base clustering, the share
of the cluster's objects that have the object's label. So the histograms of the clusters
over base clusters are enough: M look-ups per object and cluster, never a matrix of
objects. Missing labels: sums over pairs of objects are pooled, numerator and
denominator, over the clusterings that contain both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.agreement import contingency
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support.validation import check_labelling
from ensclust._trees.known_rows import per_clustering, ratio, row_blocks, sum_table


@dataclass(frozen=True, eq=False)
class Histograms:
    """A clustering of an ensemble's objects, counted over base clusters.

    Attributes
    ----------
    ensemble : Ensemble
        The base clusterings.
    labels : ndarray of shape (N,)
        The clustering, -1 for an object without a cluster.
    counts : ndarray of shape (k, Nc)
        Objects of each cluster in each base cluster.
    """

    ensemble: Ensemble
    labels: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, ensemble: Ensemble, labels: npt.ArrayLike) -> Histograms:
        """Count a clustering; time N M, memory Nc k."""
        labels = check_labelling(labels, ensemble.n_objects)
        return cls(ensemble, labels, contingency(ensemble, labels))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Objects of each cluster, (k,)."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.counts))

    @cached_property
    def present(self) -> np.ndarray:
        """Objects of each cluster that each clustering contains, (M, k)."""
        return per_clustering(self.counts, self.ensemble.offsets)


def cluster_consensus(
    histograms: Histograms, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean co-association of the pairs of objects within each cluster.

    Returns
    -------
    ndarray of shape (k,)
        NaN for a cluster of one object, 0 if no clustering contains two of them.
        Time and memory Nc k.
    """
    w = _weights(histograms, weights)
    counts, present = histograms.counts, histograms.present
    together = per_clustering(counts * (counts - 1), histograms.ensemble.offsets)
    consensus = ratio(w @ together, w @ (present * (present - 1)))
    consensus[histograms.sizes == 1] = np.nan
    return consensus


def mutual_consensus(
    histograms: Histograms, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean co-association of the objects of each two clusters.

    Returns
    -------
    ndarray of shape (k, k)
        Symmetric. Within a cluster, an object is also paired with itself, so that a
        cluster of one object has 1. Time Nc k^2, memory Nc k + k^2 numbers.
    """
    w = _weights(histograms, weights)
    counts = histograms.counts.astype(np.float64)
    together = (counts * np.repeat(w, histograms.ensemble.cluster_counts)) @ counts.T
    present = histograms.present.astype(np.float64)
    return ratio(together, (present.T * w) @ present)


def item_consensus(
    histograms: Histograms, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return how closely each object is held by its own and by another cluster.

    Returns
    -------
    own : ndarray of shape (N,)
        Mean co-association with the others of its cluster; NaN without a cluster or
        without others in it.
    best : ndarray of shape (N,)
        The other cluster with the largest mean, -1 if all are 0.
    other : ndarray of shape (N,)
        That mean, or 0. Time F M k for F distinct label rows, memory at most about 90 N
        bytes in addition to those rows.
    """
    w = _weights(histograms, weights)
    ensemble, labels, k = histograms.ensemble, histograms.labels, len(histograms.counts)
    fragments = ensemble.fragments()
    # Objects with equal label rows may be in different clusters, and are kept apart.
    items, inverse = np.unique(
        fragments.inverse * (k + 1) + labels + 1, return_inverse=True
    )
    cluster = items % (k + 1) - 1
    table = histograms.counts.T * np.repeat(w, ensemble.cluster_counts)[:, None]
    own, other = np.full(len(items), np.nan), np.zeros(len(items))
    best = np.full(len(items), -1)
    for block in row_blocks(len(items), max(k, ensemble.n_clusterings)):
        rows, mine = fragments.labels[items[block] // (k + 1)], cluster[block]
        pairs = (rows >= 0) @ (histograms.present * w[:, None])
        means = ratio(sum_table(rows, ensemble.offsets, table), pairs)
        i = np.flatnonzero(mine >= 0)
        own[block][i] = _with_others(histograms, rows[i], mine[i], w)
        means[i, mine[i]] = 0
        other[block] = means.max(axis=1, initial=0)
        if k:
            best[block] = np.where(other[block] > 0, means.argmax(axis=1), -1)
    return own[inverse], best[inverse], other[inverse]


def _weights(histograms: Histograms, weights: np.ndarray | None) -> np.ndarray:
    return np.ones(histograms.ensemble.n_clusterings) if weights is None else weights


def _with_others(
    histograms: Histograms, rows: np.ndarray, cluster: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the mean co-association of rows with the others of their cluster.

    An object is not compared with itself; NaN if it is alone.
    """
    is_present = rows >= 0
    i, m = np.nonzero(is_present)
    base_cluster = histograms.ensemble.offsets[m] + rows[i, m]
    together = np.zeros(rows.shape, np.int64)
    together[i, m] = histograms.counts[cluster[i], base_cluster] - 1
    means = ratio(
        together @ weights, ((histograms.present.T[cluster] - 1) * is_present) @ weights
    )
    return np.where(histograms.sizes[cluster] > 1, means, np.nan)
