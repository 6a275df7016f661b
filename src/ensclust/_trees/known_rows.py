"""Label rows that are known, with the labels they got; others take the nearest one's.

The mean co-association of a row with a cluster is, per base clustering, the share of
the cluster's objects that have the row's label. So the histograms of the clusters over
base clusters are enough: M look-ups per row and cluster, never a matrix of objects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ensclust import _kernels
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support import parallel

_CELLS = 2**17  # numbers in a block of rows by clusters


@dataclass(frozen=True, eq=False)
class Affinity:
    """How similar label rows are, whichever they are: a co-association without rows.

    Attributes
    ----------
    offsets : ndarray of shape (M + 1,)
        First base cluster of each clustering.
    similarity, weights, pairs, decay
        As those of a :class:`ensclust.CoAssociation`.
    """

    offsets: np.ndarray
    similarity: np.ndarray | None = None
    weights: np.ndarray | None = None
    pairs: str = "same"
    decay: float = 1.0

    @classmethod
    def plain(cls, offsets: np.ndarray, weights: np.ndarray | None) -> Affinity:
        """Return that of the (weighted) share of clusterings that put rows together."""
        if weights is None:
            return cls(offsets)
        weights = weights / weights.mean()
        return cls(offsets, np.diag(np.repeat(weights, np.diff(offsets))), weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the similarity."""
        return 0 if self.similarity is None else self.similarity.nbytes

    def memberships(self, histogram: np.ndarray, rows: Ensemble) -> np.ndarray:
        """Return the mean similarity of rows to each cluster, scaled to sum to 1.

        Parameters
        ----------
        histogram : ndarray of shape (k, Nc)
            Objects of each cluster in each base cluster.
        rows : Ensemble
            The rows asked for, coded by the same base clusters.

        Returns
        -------
        ndarray of shape (n, k), float64
            A row is 0 where it is similar to nothing. Missing labels: sums over pairs
            of objects are pooled, numerator and denominator, over the clusterings that
            contain both. Time Nc^2 k + F M k, memory 8 k bytes per row and per distinct
            row.
        """
        table = self._summed(histogram)
        present = per_clustering(histogram, self.offsets).astype(np.float64)
        if self.pairs == "all":
            present[:] = present.sum(axis=0)
        if self.weights is not None:
            present *= self.weights[:, None]
        fragments = rows.fragments()
        scores = np.empty((len(fragments.counts), len(histogram)))
        for block in row_blocks(*scores.shape):
            some = fragments.labels[block]
            scores[block] = ratio(
                sum_table(some, self.offsets, table), (some >= 0) @ present
            )
        total = scores.sum(axis=1, keepdims=True)
        np.divide(scores, total, out=scores, where=total > 0)
        return scores[fragments.inverse]

    def _summed(self, histogram: np.ndarray) -> np.ndarray:
        """Return the summed similarity of base clusters to each cluster's, (Nc, k)."""
        S, sums = self.similarity, histogram.T.astype(np.float64)
        if S is None:
            return sums
        if self.pairs == "all":
            return self.decay * (S @ sums)
        for a, b in pairwise(self.offsets):
            sums[a:b] = S[a:b, a:b] @ sums[a:b]
        return sums


@dataclass(frozen=True, eq=False)
class KnownRows:
    """An Assignment: rows that are known, and for others the nearest of them.

    Attributes
    ----------
    rows : ndarray of shape (F, M)
        The known rows in lexicographic order, -1 for "not clustered"; those of the
        ensemble's fragments, not a copy.
    counts : ndarray of shape (F,)
        Objects of each.
    labels : ndarray of shape (F,)
        The cluster of each.
    affinity : Affinity
        By which others are compared.

    Notes
    -----
    Of equally near rows the cluster with most objects wins, then the lowest; -1 where
    every similarity is 0. Time F M look-ups for each distinct row that is not known.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 1], [1, 2]])
    >>> fragments = ensemble.fragments()
    >>> known = KnownRows(fragments.labels, fragments.counts, np.array([0, 0, 1]),
    ...                   Affinity(ensemble.offsets))
    >>> known.label(ensemble.recode([[1, 2], [0, 2], [9, 1], [9, 9]]))
    array([ 1,  0,  0, -1], dtype=int32)
    """

    fitted: ClassVar[dict[str, Any]] = {}

    rows: np.ndarray
    counts: np.ndarray
    labels: np.ndarray
    affinity: Affinity

    @property
    def nbytes(self) -> int:
        """Bytes of the rows and of what compares them."""
        return sum(
            part.nbytes for part in (self.rows, self.counts, self.labels, self.affinity)
        )

    def renumbered(self, rank: np.ndarray) -> KnownRows:
        """Return the same with other numbers of clusters."""
        return replace(self, labels=rank[self.labels].astype(np.int32))

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the cluster of each row, (n,) int32."""
        fragments, new = rows.fragments(), rows.fragment_codes()
        codes = np.where(
            self.rows < 0, np.diff(self.affinity.offsets), self.rows
        ).astype(new.dtype)
        place = np.empty(len(new), np.int64)
        _kernels.nearest.find_rows(codes, new, place)
        found = self.labels[place].astype(np.int32)
        if len(unknown := np.flatnonzero(place < 0)):
            found[unknown] = self._nearest(codes, new[unknown], n_jobs)
        return found[fragments.inverse]

    def _nearest(self, codes: np.ndarray, new: np.ndarray, n_jobs) -> np.ndarray:
        """Return the cluster of the nearest known row of each new one."""
        own = self.affinity
        shared = (
            codes,
            own.offsets,
            np.eye(own.offsets[-1]) if own.similarity is None else own.similarity,
            np.ones(codes.shape[1]) if own.weights is None else own.weights,
            own.pairs == "all",
            self.labels.astype(np.int64),
            self.counts,
            new,
        )
        winner = np.empty(len(new), np.int32)
        parallel.run_spans(
            _kernels.nearest.nearest_label,
            parallel.blocks(len(new), 4 * parallel.thread_count(n_jobs)),
            (*shared, winner),
            n_jobs=n_jobs,
        )
        return winner

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the mean similarity to each cluster, scaled to sum to 1."""
        own = (self.rows, self.counts, self.labels, self.affinity.offsets)
        found = histogram(*own, int(self.labels.max()) + 1)
        return self.affinity.memberships(found, rows)


def histogram(
    rows: np.ndarray, counts: np.ndarray, labels: np.ndarray, offsets, k: int
) -> np.ndarray:
    """Return the objects of each label in each base cluster, (k, Nc)."""
    found = np.zeros((k, offsets[-1]), np.int64)
    for first, column in zip(offsets, rows.T, strict=False):
        there = column >= 0
        np.add.at(found, (labels[there], first + column[there]), counts[there])
    return found


def per_clustering(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Sum values of base clusters over each clustering, (k, Nc) to (M, k)."""
    return np.array([values[:, a:b].sum(axis=1) for a, b in pairwise(offsets)])


def sum_table(rows: np.ndarray, start: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Sum a table of base clusters over the clusters of each row, (R, M) to (R, k)."""
    sums = np.zeros((len(rows), table.shape[1]))
    for m, column in enumerate(rows.T):
        there = np.flatnonzero(column >= 0)
        if len(there) == len(column):
            sums += table[start[m] + column]
        else:
            sums[there] += table[start[m] + column[there]]
    return sums


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """Divide; 0 where nothing was counted."""
    zero = np.zeros(np.shape(denominator))
    return np.divide(numerator, denominator, out=zero, where=denominator > 0)


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows whose tables are small."""
    height = max(1, _CELLS // max(width, 1))
    for first in range(0, n_rows, height):
        yield slice(first, min(first + height, n_rows))
