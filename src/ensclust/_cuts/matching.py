"""Clusterings matched to a consensus of k columns, which is their mean, alternately.

The consensus is U = (sum of w_m H_m P_m) / (sum of w_m), where H_m (N, k_m) says which
cluster of clustering m an object is in, and P_m (k_m, k) which columns that cluster
counts for; an object that clusterings leave out has the mean over the others. Matching
needs only the overlaps H_m' U, which follow from the objects that base clusters share:
for the soft consensus nothing of size N k exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ensclust import _kernels
from ensclust._cuts.shares import Shares, steady
from ensclust._ensemble.agreement import contingency, spans
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts, Cut

_SAME = 1e-12  # relative difference of distances that counts as rounding


class Matched(NamedTuple):
    """The result of a start.

    Attributes
    ----------
    mapping : ndarray of shape (Nc, k)
        P: how far each base cluster counts for each column; rows sum to 1.
    distance : float
        Mean over the clusterings of their squared distances to the consensus.
    n_iter : int
        Rounds.
    """

    mapping: np.ndarray
    distance: float
    n_iter: int


@dataclass(frozen=True, eq=False)
class Matching:
    """A Solution: a consensus that clusterings are matched to, for each k from scratch.

    Attributes
    ----------
    overlaps : Overlaps
        What is known about the clusterings.
    hard : bool
        Whether the best soft consensus is continued as a hard one, in which each object
        counts for one column only.
    n_init, max_iter : int
        Starts, and rounds per start.
    seed : int
        Determines the starts.
    n_jobs : int or None
        Number of threads; None means one per core.
    """

    overlaps: Overlaps
    hard: bool
    n_init: int
    max_iter: int
    seed: int
    n_jobs: int | None = None

    def cut(self, n_clusters: int, counts: Counts) -> Cut:
        """Descend from several starts; the smallest distance is kept."""
        overlaps = self.overlaps
        k = min(n_clusters, counts.n_base_clusters)
        rng = np.random.default_rng(self.seed)
        found = []
        for _ in range(self.n_init):
            mapping, _ = overlaps.match(overlaps.start(k, rng))
            found.append(descend(overlaps, mapping, overlaps.soft, self.max_iter))
        best = min(found, key=lambda matched: round(matched.distance, 6))
        if self.hard:
            consensus = partial(overlaps.hard, counts=counts, n_jobs=self.n_jobs)
            best = descend(overlaps, best.mapping, consensus, self.max_iter)
        fitted = {"inertia_": best.distance, "n_iter_": best.n_iter}
        return Cut(overlaps.shares(best.mapping), k, fitted)


@dataclass(frozen=True, eq=False)
class Overlaps:
    """What clusterings share, and how they are matched to a consensus by it.

    Attributes
    ----------
    shared : ndarray of shape (Nc, Nc)
        Objects of each pair of base clusters; with missing labels, an object that some
        clusterings leave out counts more, to make up for that.
    sizes : ndarray of shape (Nc,)
        Objects per base cluster.
    spans : list of (int, int)
        First and last base clusters of each clustering.
    weights : ndarray of shape (M,)
        Weights of the clusterings.
    unmatched : "nearest" or "spread"
        Which columns clusters count for if a clustering has more than k.
    """

    shared: np.ndarray
    sizes: np.ndarray
    spans: list[tuple[int, int]]
    weights: np.ndarray
    unmatched: str
    mass: np.ndarray = field(init=False)

    @classmethod
    def of(
        cls, counts: Counts, weights: np.ndarray | None, unmatched: str, *, n_jobs=None
    ) -> Overlaps:
        """Return what the clusterings share; one more pass if labels are missing."""
        if weights is None:
            weights = np.ones(counts.n_clusterings)
        weights = weights / weights.mean()
        shared = _shared(counts, weights, n_jobs)
        return cls(shared, counts.sizes, list(spans(counts)), weights, unmatched)

    def __post_init__(self) -> None:
        own = np.repeat(self.weights, [last - first for first, last in self.spans])
        object.__setattr__(self, "mass", own[:, None])

    def start(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return overlaps with k random base clusters, from few clusterings.

        These clusters are the first columns. Every base cluster counts for them
        according to the objects that it shares with them.
        """
        chosen: list[int] = []
        for m in rng.permutation(len(self.spans)):
            own = rng.permutation(np.arange(*self.spans[m]))
            chosen += own[: k - len(chosen)].tolist()
        seen = self.shared[:, chosen]
        total = seen.sum(axis=1, keepdims=True)
        seen = np.divide(seen, total, out=np.zeros_like(seen), where=total > 0)
        return self.shared @ (self.mass * seen)

    def match(self, overlaps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Match every clustering to columns, given the overlaps (Nc, k).

        Returns the mapping, (Nc, k), and the part of it that distances count.
        """
        overlaps, k = steady(overlaps), overlaps.shape[1]
        mapping = np.zeros_like(overlaps)
        left = np.ones(len(overlaps), bool)
        for first, last in self.spans:
            own = overlaps[first:last]
            if self.unmatched == "nearest" and last - first > k:
                # What is lost if a cluster does not count for its nearest column.
                own = own - own.max(axis=1, keepdims=True)
            rows, columns = linear_sum_assignment(own, maximize=True)
            mapping[first + rows, columns] = 1
            left[first + rows] = False
        if self.unmatched == "nearest":
            mapping[left, overlaps[left].argmax(axis=1)] = 1
            return mapping, mapping
        matched = mapping.copy()
        mapping[left] = 1 / k
        return mapping, matched

    def soft(self, mapping: np.ndarray) -> tuple[np.ndarray, float]:
        """Return overlaps with the mean, (Nc, k), and the sum of its squares."""
        weighted = self.mass * mapping
        overlaps = (self.shared @ weighted) / self.weights.sum()
        return overlaps, float((weighted * overlaps).sum())

    def hard(
        self, mapping: np.ndarray, *, counts: Counts, n_jobs: int | None = None
    ) -> tuple[np.ndarray, float]:
        """Return the same for a mean in which each object has only its largest share.

        One pass over the label rows.
        """
        work = partial(_table, assignment=self.shares(mapping), n_jobs=n_jobs)
        squares = float((self.mass[:, 0] * self.sizes).sum())
        return counts.fold(work, np.add).T.astype(np.float64), squares

    def distance(self, overlaps, squares: float, matched: np.ndarray) -> float:
        """Return the mean squared distance of the clusterings to the consensus."""
        own = (self.mass[:, 0] * self.sizes).sum()
        both = (self.mass * matched * overlaps).sum()
        return max(0.0, float(own + squares - 2 * both) / self.weights.sum())

    def shares(self, mapping: np.ndarray) -> Shares:
        """Return the Assignment of the mean."""
        return Shares.of(self.mass * mapping)


def descend(
    overlaps: Overlaps, mapping: np.ndarray, consensus: Callable, max_iter: int
) -> Matched:
    """Average and match alternately until the distance no longer falls.

    ``consensus`` is ``overlaps.soft`` or ``overlaps.hard``. Neither averaging nor
    matching increases the distance.
    """
    nearest = Matched(mapping, np.inf, 0)
    for n_iter in range(1, max_iter + 1):
        own, squares = consensus(mapping)
        following, counted = overlaps.match(own)
        distance = overlaps.distance(own, squares, counted)
        if distance >= nearest.distance * (1 - _SAME):
            break
        nearest = Matched(mapping, distance, n_iter)
        mapping = following
    return nearest


def _shared(counts: Counts, weights: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return the objects of each pair of base clusters, weighted for missing labels.

    The mean of an object is over the clusterings that contain it: it counts W / W_i
    times, with W_i their weight and W that of all. That is rounded so that sums over
    objects and base clusters are exact and do not depend on blocks.
    """
    if not counts.has_missing:
        return counts.intersections(n_jobs=n_jobs).astype(np.float64)
    most = float(counts.sizes.max()) * len(weights) * weights.sum() / weights.min()
    scale = 2.0 ** np.floor(52 - np.log2(most))
    return counts.fold(partial(_weigh, weights=weights, scale=scale), np.add) / scale


def _weigh(rows: Ensemble, start: int, *, weights: np.ndarray, scale) -> np.ndarray:
    there = np.zeros(rows.n_objects)
    for column, weight in zip(rows.columns, weights, strict=True):
        there += np.where(column == rows.missing, 0.0, weight)
    total = weights.sum()
    times = np.divide(total, there, out=np.zeros_like(there), where=there > 0)
    times = np.rint(times * scale)
    if rows.multiplicity is not None:
        times *= rows.multiplicity
    shared = np.zeros((rows.n_base_clusters, rows.n_base_clusters))
    codes = np.ascontiguousarray(rows.columns.T)
    _kernels.bipartite.weighted_overlap(codes, rows.offsets, times, shared)
    return shared


def _table(rows: Ensemble, start: int, *, assignment: Shares, n_jobs) -> np.ndarray:
    """Count the objects that each column shares with each base cluster, (k, Nc)."""
    table = np.zeros((len(assignment.names), rows.n_base_clusters), np.int64)
    counted = contingency(rows, assignment.label(rows, n_jobs=n_jobs))
    table[: len(counted)] = counted
    return table
