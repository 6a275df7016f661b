"""Known label rows with their labels; other rows take the label of the nearest.

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
from ensclust._ensemble.contents import check_array, check_same
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts
from ensclust._support import parallel
from ensclust._support.validation import check_choice, check_decay

_CELLS = 2**17  # numbers in a block of rows by clusters


@dataclass(frozen=True, eq=False)
class Affinity:
    """The similarity of any two label rows: a co-association without rows.

    Attributes
    ----------
    offsets : ndarray of shape (M + 1,)
        First base cluster of each clustering.
    similarity, weights, pairs, decay
        As those of a :class:`ensclust.CoAssociation`.
    is_scaled : bool
        Whether weights of base clusters scale the similarity, so that rows may be less
        similar to themselves than 1.
    """

    offsets: np.ndarray
    similarity: np.ndarray | None = None
    weights: np.ndarray | None = None
    pairs: str = "same"
    decay: float = 1.0
    is_scaled: bool = False

    @classmethod
    def plain(cls, offsets: np.ndarray, weights: np.ndarray | None) -> Affinity:
        """Return the affinity by the (weighted) share of clusterings that agree."""
        if weights is None:
            return cls(offsets)
        weights = weights / weights.mean()
        return cls(offsets, np.diag(np.repeat(weights, np.diff(offsets))), weights)

    @property
    def nbytes(self) -> int:
        """Bytes of the similarity."""
        return 0 if self.similarity is None else self.similarity.nbytes

    def memberships(
        self, histogram: np.ndarray, rows: Ensemble, own: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the mean similarity of rows to each cluster, scaled to sum to 1.

        Parameters
        ----------
        histogram : ndarray of shape (k, Nc)
            Objects of each cluster in each base cluster.
        rows : Ensemble
            The requested rows, coded by the same base clusters.
        own : ndarray of shape (F,) or None
            The cluster that each distinct row is an object of, -1 if none; its
            similarity to itself is 1.

        Returns
        -------
        ndarray of shape (n, k), float64
            A row is 0 if it is similar to nothing. Missing labels: sums over pairs
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
        lacking = None if own is None else self._lacking_to_one(rows)
        for block in row_blocks(*scores.shape):
            some = fragments.labels[block]
            sums = sum_table(some, self.offsets, table)
            if own is not None and lacking is not None:
                there = np.flatnonzero(own[block] >= 0)
                sums[there, own[block][there]] += lacking[block][there]
            scores[block] = ratio(sums, (some >= 0) @ present)
        total = scores.sum(axis=1, keepdims=True)
        np.divide(scores, total, out=scores, where=total > 0)
        return scores[fragments.inverse]

    def _lacking_to_one(self, rows: Ensemble) -> np.ndarray | None:
        """Return by how much the sums of rows with themselves fall short of 1, (F,).

        None unless ``pairs="all"`` or with weights of base clusters, where they can.
        """
        if self.similarity is None or not (self.pairs == "all" or self.is_scaled):
            return None
        codes = rows.fragment_codes()
        if self.pairs == "same":
            n_clusters = np.diff(self.offsets)
            weights = 1.0 if self.weights is None else self.weights
            full = np.repeat(np.broadcast_to(weights, n_clusters.shape), n_clusters)
            lacking = full - self.similarity.diagonal()
            return sum_table(rows.fragments().labels, self.offsets, lacking[:, None])[
                :, 0
            ]
        total = np.empty(len(codes))
        shared = codes, self.offsets, self.similarity, total
        _kernels.bipartite.quadratic(*shared, 0, len(codes))
        n_present = (codes < np.diff(self.offsets)).sum(axis=1)
        return n_present**2 - self.decay * total

    def check(self, counts: Counts) -> None:
        """Raise ValueError unless it compares rows of these base clusters."""
        n_clusterings, n = counts.n_clusterings, counts.n_base_clusters
        check_same("offsets", self.offsets, counts.offsets)
        check_choice(self.pairs, "pairs", ("same", "all"))
        check_decay(self.decay)
        if not isinstance(self.is_scaled, bool):
            msg = f"is_scaled is {self.is_scaled!r}; expected True or False."
            raise TypeError(msg)
        if self.similarity is not None:
            check_array("similarity", self.similarity, (n, n), kinds="f")
        if self.weights is not None:
            check_array("weights", self.weights, (n_clusterings,), kinds="f", low=0)

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
    """An Assignment: known rows keep their label, others take that of the nearest.

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
        The similarity to other rows.

    Notes
    -----
    Among equally near rows, the cluster with most objects wins, then the lowest; -1 if
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

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless these are rows of the base clusters, each with a label."""
        n = len(self.rows)
        self.affinity.check(counts)
        check_array("rows", self.rows, (n, counts.n_clusterings), low=-1)
        if (self.rows >= counts.cluster_counts).any():
            msg = "rows hold labels that the base clusterings do not have."
            raise ValueError(msg)
        check_array("counts", self.counts, (n,), low=0)
        check_array("labels", self.labels, (n,), low=0, stop=n_clusters)

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the cluster of each row, (n,) int32."""
        new = rows.fragment_codes()
        codes, found = self._known(new)
        if len(unknown := np.flatnonzero(found < 0)):
            found[unknown] = self._nearest(codes, new[unknown], n_jobs)
        return found[rows.fragments().inverse]

    def _known(self, new: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes of the known rows, and labels of others, -1 if unknown."""
        n_clusters = np.diff(self.affinity.offsets)
        codes = np.where(self.rows < 0, n_clusters, self.rows).astype(new.dtype)
        place = np.empty(len(new), np.int64)
        _kernels.nearest.find_rows(codes, new, place)
        return codes, np.where(place < 0, -1, self.labels[place]).astype(np.int32)

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
        """Return the mean similarity to each cluster, scaled to sum to 1.

        A row that is known is an object of its cluster, as similar to itself as in
        :meth:`ensclust.CoAssociation.dense`.
        """
        own = (self.rows, self.counts, self.labels, self.affinity.offsets)
        found = histogram(*own, int(self.labels.max()) + 1)
        labels = self._known(rows.fragment_codes())[1]
        return self.affinity.memberships(found, rows, labels)


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
    """Divide; 0 if nothing was counted."""
    zero = np.zeros(np.shape(denominator))
    return np.divide(numerator, denominator, out=zero, where=denominator > 0)


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows whose tables are small."""
    height = max(1, _CELLS // max(width, 1))
    for first in range(0, n_rows, height):
        yield slice(first, min(first + height, n_rows))
