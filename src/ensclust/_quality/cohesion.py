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
from typing import TYPE_CHECKING

import numpy as np

from ensclust._ensemble.agreement import contingency, spans
from ensclust._support.validation import check_labelling

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from ensclust._ensemble.ensemble import Ensemble
    from ensclust._trees.coassociation import CoAssociation

_CELLS = 2**20  # numbers in a block of rows by clusters


@dataclass(frozen=True)
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
        return self.per_clustering(self.counts)

    def per_clustering(self, values: np.ndarray) -> np.ndarray:
        """Sum values of base clusters over each clustering, (k, Nc) to (M, k)."""
        parts = [values[:, a:b].sum(axis=1) for a, b in spans(self.ensemble)]
        return np.array(parts)


def cluster_consensus(
    histograms: Histograms, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean co-association of the pairs of objects within each cluster.

    Returns
    -------
    ndarray of shape (k,)
        NaN for a cluster of one object, 0 where no clustering contains two of them.
        Time and memory Nc k.
    """
    w = _weights(histograms, weights)
    counts, present = histograms.counts, histograms.present
    together = histograms.per_clustering(counts * (counts - 1))
    consensus = _ratio(w @ together, w @ (present * (present - 1)))
    consensus[histograms.sizes == 1] = np.nan
    return consensus


def mutual_consensus(
    histograms: Histograms, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the mean co-association of the objects of each two clusters.

    Returns
    -------
    ndarray of shape (k, k)
        Symmetric. Within a cluster an object is also paired with itself, so that a
        cluster of one object has 1. Time Nc k^2, memory Nc k + k^2 numbers.
    """
    w = _weights(histograms, weights)
    counts = histograms.counts.astype(np.float64)
    together = (counts * np.repeat(w, histograms.ensemble.cluster_counts)) @ counts.T
    present = histograms.present.astype(np.float64)
    return _ratio(together, (present.T * w) @ present)


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
        That mean, or 0. Time F M k for F distinct label rows, some 200 N bytes.
    """
    w = _weights(histograms, weights)
    ensemble, labels, k = histograms.ensemble, histograms.labels, len(histograms.counts)
    fragments = ensemble.fragments()
    # Objects with equal label rows may be in different clusters: these are told apart.
    items, inverse = np.unique(
        fragments.inverse * (k + 1) + labels + 1, return_inverse=True
    )
    cluster = items % (k + 1) - 1
    table = histograms.counts.T * np.repeat(w, ensemble.cluster_counts)[:, None]
    own, other = np.full(len(items), np.nan), np.zeros(len(items))
    best = np.full(len(items), -1)
    for block in _blocks(len(items), max(k, ensemble.n_clusterings)):
        rows, mine = fragments.labels[items[block] // (k + 1)], cluster[block]
        pairs = (rows >= 0) @ (histograms.present * w[:, None])
        means = _ratio(_look_up(rows, ensemble.offsets, table), pairs)
        i = np.flatnonzero(mine >= 0)
        own[block][i] = _with_others(histograms, rows[i], mine[i], w)
        means[i, mine[i]] = 0
        other[block] = means.max(axis=1, initial=0)
        if k:
            best[block] = np.where(other[block] > 0, means.argmax(axis=1), -1)
    return own[inverse], best[inverse], other[inverse]


def memberships(
    coassociation: CoAssociation,
    labels: npt.ArrayLike,
    objects: Ensemble | None = None,
) -> np.ndarray:
    """Return the mean similarity of objects to each cluster, scaled to sum to 1.

    Parameters
    ----------
    coassociation : CoAssociation
        Similarity of the objects of ``labels``.
    labels : array-like of shape (N,)
        Cluster of each of them, negative for none.
    objects : Ensemble or None
        The objects asked for, numbered as ``coassociation.ensemble`` (its ``recode``);
        None is that ensemble itself.

    Returns
    -------
    ndarray of shape (n_objects, k), float64
        Columns numbered as ``labels``; a row depends on nothing but its label row. It
        is 0 for an object that is similar to nothing. Time Nc^2 k + F M k, memory 8 k
        bytes per object.

    Examples
    --------
    >>> from ensclust import CoAssociation, Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 1], [1, 1]])
    >>> memberships(CoAssociation(ensemble), [0, 0, 1]).round(2)
    array([[1. , 0. ],
           [0.6, 0.4],
           [0.2, 0.8]])
    """
    ensemble = coassociation.ensemble
    histograms = Histograms.of(ensemble, labels)
    table = _similarities(coassociation, histograms.counts)
    present = histograms.present.astype(np.float64)
    if coassociation.pairs == "all":
        present[:] = present.sum(axis=0)
    if coassociation.weights is not None:
        present *= coassociation.weights[:, None]
    fragments = (ensemble if objects is None else objects).fragments()
    scores = np.empty((len(fragments.counts), len(histograms.counts)))
    for block in _blocks(*scores.shape):
        rows = fragments.labels[block]
        sums = _look_up(rows, ensemble.offsets, table)
        scores[block] = _ratio(sums, (rows >= 0) @ present)
    total = scores.sum(axis=1, keepdims=True)
    np.divide(scores, total, out=scores, where=total > 0)
    return scores[fragments.inverse]


def _weights(histograms: Histograms, weights: np.ndarray | None) -> np.ndarray:
    return np.ones(histograms.ensemble.n_clusterings) if weights is None else weights


def _with_others(
    histograms: Histograms, rows: np.ndarray, cluster: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the mean co-association of rows with the others of their cluster.

    An object is not compared with itself; NaN where nothing else is there.
    """
    is_present = rows >= 0
    i, m = np.nonzero(is_present)
    base_cluster = histograms.ensemble.offsets[m] + rows[i, m]
    together = np.zeros(rows.shape, np.int64)
    together[i, m] = histograms.counts[cluster[i], base_cluster] - 1
    pairs = (histograms.present.T[cluster] - 1) * is_present
    means = _ratio(together @ weights, pairs @ weights)
    return np.where(histograms.sizes[cluster] > 1, means, np.nan)


def _similarities(coassociation: CoAssociation, counts: np.ndarray) -> np.ndarray:
    """Return the summed similarity of each base cluster to each cluster's, (Nc, k)."""
    S, sums = coassociation.similarity, counts.T.astype(np.float64)
    if S is None:
        return sums
    if coassociation.pairs == "all":
        return coassociation.decay * (S @ sums)
    for a, b in spans(coassociation.ensemble):
        sums[a:b] = S[a:b, a:b] @ sums[a:b]
    return sums


def _look_up(rows: np.ndarray, start: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Sum a table of base clusters over the clusters of each row, (R, M) to (R, k)."""
    sums = np.zeros((len(rows), table.shape[1]))
    for m, column in enumerate(rows.T):
        there = np.flatnonzero(column >= 0)
        if len(there) == len(column):
            sums += table[start[m] + column]
        else:
            sums[there] += table[start[m] + column[there]]
    return sums


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide; 0 where nothing was counted."""
    zero = np.zeros(np.shape(denominator))
    return np.divide(numerator, denominator, out=zero, where=denominator > 0)


def _blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows whose tables are small."""
    height = max(1, _CELLS // max(width, 1))
    for first in range(0, n_rows, height):
        yield slice(first, min(first + height, n_rows))
