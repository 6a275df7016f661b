"""K-means on one-hot rows under a divergence, with weights.

An object is a row of M ones, one per clustering that contains it; a centroid is a
weighted mean of rows, per clustering a distribution over base clusters. Whatever the
divergence, the distance to a centroid is M look-ups in a table of base clusters. It
runs on the distinct label rows with their numbers of objects, which is exact: objects
with equal rows are always nearest to the same centre. All that is summed over rows is
an integer, so threads and blocks cannot change a bit of the result.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ensclust import _kernels
from ensclust._support import parallel

if TYPE_CHECKING:
    from ensclust._ensemble.ensemble import Ensemble

_NEVER = 1e300  # score of a centre that nobody may join
_SMALL = 2**20  # look-ups below which waking a second thread costs more


@dataclass(frozen=True)
class Rows:
    """The distinct label rows of an ensemble, ready for look-ups.

    Attributes
    ----------
    labels : ndarray of shape (F, M)
        The rows in lexicographic order, -1 for "not clustered".
    counts : ndarray of shape (F,)
        Objects per row.
    start : ndarray of shape (M + 1,)
        First global index of each clustering's base clusters.
    sizes : ndarray of shape (Nc,)
        Objects per base cluster.
    """

    labels: np.ndarray
    counts: np.ndarray
    start: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, ensemble: Ensemble) -> Rows:
        """Return the rows of an ensemble."""
        fragments = ensemble.fragments()
        return cls(fragments.labels, fragments.counts, ensemble.offsets, ensemble.sizes)

    @cached_property
    def clustering(self) -> np.ndarray:
        """The clustering of each base cluster, shape (Nc,)."""
        return np.repeat(np.arange(self.labels.shape[1]), np.diff(self.start))

    def per_clustering(self, values: np.ndarray, ufunc=np.add) -> np.ndarray:
        """Sum values of base clusters over each clustering, (Nc, ...) to (M, ...)."""
        sums = np.zeros((self.labels.shape[1], *values.shape[1:]), values.dtype)
        used = np.diff(self.start) > 0
        sums[used] = ufunc.reduceat(values, self.start[:-1][used], axis=0)
        return sums

    def per_row(self, values: np.ndarray) -> np.ndarray:
        """Sum values of base clusters over the clusters of each row, (Nc,) to (F,)."""
        sums = np.zeros(len(self.labels), values.dtype)
        for m, first in enumerate(self.start[:-1]):
            there = self.labels[:, m] >= 0
            sums[there] += values[first + self.labels[there, m]]
        return sums

    def per_cluster(self, values: np.ndarray) -> np.ndarray:
        """Sum values of rows over the rows of each base cluster, (F,) to (Nc,)."""
        sums = np.zeros(len(self.sizes), values.dtype)
        for m, first in enumerate(self.start[:-1]):
            there = self.labels[:, m] >= 0
            np.add.at(sums, first + self.labels[there, m], values[there])
        return sums


class Divergence(Protocol):
    """What a method adds to k-means: weights, and distances as tables of look-ups."""

    def weights(self, rows: Rows) -> np.ndarray:
        """Return the weight w of one object of each row, (F,) int64.

        The centroid of a cluster has the entries n / W: n members in a base cluster,
        W the weight of the members that the clustering contains.
        """

    def tables(self, centroids: np.ndarray, rows: Rows) -> tuple:
        """Return ``table`` (Nc, k) and ``slope`` (M, k), or (0, k) for none.

        The distance of a row to a centre, up to a constant of the row, is the sum of
        ``table[c] + w * slope[m]`` over the clusterings m that contain it.
        """

    def constant(self, rows: Rows, weights: np.ndarray) -> float:
        """Return what the tables leave out of the objective."""


@dataclass(frozen=True)
class Solution:
    """The best of several starts.

    Attributes
    ----------
    labels : ndarray of shape (N,)
        Centre of each object; a centre may be without objects.
    trace : ndarray of shape (rounds,)
        Objective of each round: the distances to the centroids of the round before.
    """

    labels: np.ndarray
    trace: np.ndarray


def onehot_kmeans(
    ensemble: Ensemble,
    n_clusters: int,
    *,
    divergence: Divergence,
    init: Any = "random",
    n_init: int = 10,
    max_iter: int = 40,
    tol: float = 1e-5,
    repair: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Solution:
    """Cluster the label rows of an ensemble by k-means.

    Parameters
    ----------
    ensemble : Ensemble
        The objects; each must be in some clustering.
    n_clusters : int
        Number of centres; at most one per distinct row is used.
    divergence : Divergence
        Weights and distances.
    init : "random" or array-like of shape (n_clusters,) or (n_starts, n_clusters)
        The objects whose rows are the first centroids. "random" draws ``n_init`` times
        distinct rows, each with a chance proportional to its number of objects.
    n_init, max_iter : int
        Random starts, and rounds per start.
    tol : float
        A round that improves the objective by less is undone and ends the start; so
        does a round in which no row moves.
    repair : bool
        Whether a random row becomes the centroid of an empty cluster, drawn like the
        starts among the rows that differ from their own centroid; else it vanishes.
    seed : int
        Decides random choices.
    n_jobs : int or None
        Threads; None is one per core. Never changes the result.

    Returns
    -------
    Solution
        Of the start with the least objective. Time F M k look-ups per round for F
        distinct rows, less where bounds show that a row stays; memory F M labels, 20 F
        bytes per thread and a few Nc x k tables.

    Notes
    -----
    A clustering that does not contain an object is left out of its distance and of the
    centroids. A centroid of which no member is in a clustering takes that of a random
    base cluster there, drawn once per start. The objective never rises.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> from ensclust._methods.kcc import Utility
    >>> ensemble = Ensemble([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]])
    >>> onehot_kmeans(ensemble, 2, divergence=Utility("u_c"), init=[0, 4]).labels
    array([0, 0, 0, 1, 1], dtype=int32)
    """
    rows = Rows.of(ensemble)
    inverse = ensemble.fragments().inverse
    given = check_init(init, n_clusters, ensemble.n_objects)
    starts: deque = deque()
    for s in range(n_init if given is None else len(given)):
        rng = np.random.default_rng((seed, s))
        first = (
            _draw(rng, rows.counts, n_clusters) if given is None else inverse[given[s]]
        )
        starts.append((s, first, rng))
    threads = parallel.thread_count(n_jobs)
    outer = threads if len(starts) >= threads else 1
    problem = Problem(rows, divergence, max_iter, tol, repair, threads // outer)
    found = parallel.run(problem.best, [(starts,)] * outer, n_jobs=outer)
    _, _, labels, trace = min(found, key=lambda best: best[:2])
    return Solution(labels[inverse], np.array(trace))


def check_init(init: Any, n_clusters: int, n_objects: int) -> np.ndarray | None:
    """Return given objects as (n_starts, n_clusters), None for "random", or raise."""
    rule = (
        'init must be "random" or objects (rows of the label matrix) of shape '
        f"({n_clusters},) or (n_starts, {n_clusters})"
    )
    if isinstance(init, str):
        if init != "random":
            msg = f"init={init!r}; {rule}."
            raise ValueError(msg)
        return None
    given = np.asarray(init)
    if given.dtype.kind not in "iu" or given.ndim not in (1, 2) or not given.size:
        msg = f"init has shape {given.shape} and type {given.dtype}; {rule}."
        raise ValueError(msg)
    if given.shape[-1] != n_clusters:
        msg = f"init has shape {given.shape}; {rule}."
        raise ValueError(msg)
    if given.min() < 0 or given.max() >= n_objects:
        worst = given.min() if given.min() < 0 else given.max()
        msg = f"init contains {worst}; use objects 0 to {n_objects - 1}."
        raise ValueError(msg)
    return np.atleast_2d(given)


def _draw(rng: np.random.Generator, counts: np.ndarray, n: int) -> np.ndarray:
    """Draw at most n distinct rows, each draw with chances proportional to counts.

    The row whose clock of rate ``counts`` rings first is drawn first.
    """
    n = min(n, len(counts))
    rings = rng.exponential(size=len(counts)) / counts
    first = np.argpartition(rings, n - 1)[:n]
    return first[np.argsort(rings[first], kind="stable")]


class Problem:
    """The rows with their weights and distances, and how to descend from a start."""

    def __init__(self, rows, divergence, max_iter, tol, repair, threads):
        self.rows = rows
        self.divergence = divergence
        self.max_iter = max_iter
        self.tol = tol
        self.repair = repair
        self.threads = threads
        self.weights = divergence.weights(rows)
        self.constant = divergence.constant(rows, self.weights)
        self.cluster_mass = rows.per_cluster(rows.counts * self.weights)

    def best(self, starts: deque) -> tuple[float, int, np.ndarray, list[float]]:
        """Take starts from the queue until it is empty; return the best of them.

        Threads share the queue. Of equal objectives the first start wins, so it does
        not matter who took which.
        """
        best: tuple = (np.inf, -1, None, None)
        while True:
            try:
                number, first, rng = starts.popleft()
            except IndexError:
                return best
            labels, trace = self.descend(first, rng)
            best = min(best, (trace[-1], number, labels, trace), key=lambda b: b[:2])

    def descend(
        self, first: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, list[float]]:
        """Return the centre of each row and the objective of each round."""
        n_rows, n_clusterings = self.rows.labels.shape
        n_base = np.diff(self.rows.start)[:, None]
        spare = (rng.random((n_clusterings, len(first))) * n_base).astype(np.int64)
        centres, totals = self._empty(len(first)), self._empty(len(first))
        for j, row in enumerate(first):
            self._put(*centres, j, row)
        labels = np.full(n_rows, -1, np.int32)
        other = np.empty(n_rows, np.int32)
        lead = np.empty(n_rows)
        trace: list[float] = []
        tables, repaired = None, False
        for _ in range(self.max_iter):
            before, tables = tables, self._tables(*centres, spare)
            bounds = self._bounds(tables, before or tables)
            moved = self._assign(*tables, *bounds, labels, other, lead, *totals)
            objective = self._objective(*tables, *totals)
            if trace and not repaired and trace[-1] - objective < self.tol:
                break
            trace.append(objective)
            labels, other = other, labels
            centres = (totals[0].copy(), totals[1].copy())
            repaired = self.repair and self._repair(*centres, labels, rng)
            if not moved and not repaired:
                break
        return labels, trace

    def _empty(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return zero members (Nc, k) and mass (M, k)."""
        shapes = (len(self.rows.sizes), k), (self.rows.labels.shape[1], k)
        return np.zeros(shapes[0], np.int64), np.zeros(shapes[1], np.int64)

    def _put(self, members, mass, j, row) -> None:
        """Make one row the only member of centre j."""
        there = self.rows.labels[row] >= 0
        clusters = self.rows.start[:-1] + self.rows.labels[row]
        members[clusters[there], j] = self.rows.counts[row]
        mass[there, j] = self.rows.counts[row] * self.weights[row]

    def _tables(self, members, mass, spare) -> tuple[np.ndarray, np.ndarray]:
        """Return the look-up tables of the centroids; members and mass are used up."""
        vanished = ~mass.any(axis=0)
        m, j = np.nonzero((mass == 0) & (np.diff(self.rows.start)[:, None] > 0))
        clusters = self.rows.start[m] + spare[m, j]
        members[clusters, j] = np.maximum(self.rows.sizes[clusters], 1)
        mass[m, j] = np.maximum(self.cluster_mass[clusters], 1)
        centroids = members / mass[self.rows.clustering]
        table, slope = self.divergence.tables(centroids, self.rows)
        table[:, vanished] = _NEVER
        slope[:, vanished] = 0
        nothing = np.zeros((1, table.shape[1]))  # what "not clustered" adds
        return np.concatenate([table, nothing]), slope

    def _bounds(self, tables, before) -> tuple[np.ndarray, float]:
        """Return how far any other centre may have come nearer to a row of each centre.

        A distance changes at most by the largest change of each clustering's look-ups,
        whatever the divergence; a nearest centre with a larger lead stays nearest. The
        second row is the part that goes with the weight. Also returns the lead beyond
        which rounding of the distances cannot matter.
        """
        largest = partial(self.rows.per_clustering, ufunc=np.maximum)
        (table, slope), (old_table, old_slope) = tables, before
        change = largest(np.abs(table - old_table)[:-1]), np.abs(slope - old_slope)
        drift = np.array([part.sum(axis=0) for part in change])
        two = np.partition(np.pad(drift, ((0, 0), (0, 1))), -2)[:, -2:]
        others = np.where(drift == two[:, 1:], two[:, :1], two[:, 1:])
        height = largest(np.abs(table)[:-1])
        total = height.sum(axis=0) + self.weights.max() * np.abs(slope).sum(axis=0)
        alive = height.max(axis=0) < _NEVER
        return drift + others, 1e-10 * total[alive].max()

    def _assign(
        self, table, slope, drift, margin, previous, nearest, lead, members, mass
    ) -> int:
        """Find the nearest centres, count members over, return how many rows moved."""
        rows = self.rows
        small = rows.labels.size * table.shape[1] < _SMALL
        spans = parallel.blocks(len(rows.labels), 1 if small else self.threads)
        more = [self._empty(table.shape[1]) for _ in spans[1:]]
        fixed = (rows.labels, rows.start, rows.counts, self.weights, table, slope)
        tasks = [
            (*fixed, drift, margin, previous, nearest, lead, *own, *span)
            for own, span in zip([(members, mass), *more], spans, strict=True)
        ]
        moved = parallel.run(_kernels.onehot.assign, tasks, n_jobs=self.threads)
        for more_members, more_mass in more:
            members += more_members
            mass += more_mass
        return sum(moved)

    def _objective(self, table, slope, members, mass) -> float:
        total = self.constant + (members * table[:-1]).sum()
        if len(slope):
            total += (mass * slope).sum()
        return max(0.0, float(total))

    def _repair(self, members, mass, labels, rng) -> bool:
        """Make a random row the only member of each empty centre, if one can help."""
        empty = np.flatnonzero(~mass.any(axis=0))
        if not len(empty):
            return False
        rows = self.rows
        differs = np.zeros(len(labels), bool)
        for m, first in enumerate(rows.start[:-1]):
            there = np.flatnonzero(rows.labels[:, m] >= 0)
            own = labels[there]
            share = members[first + rows.labels[there, m], own] * self.weights[there]
            differs[there] |= share != mass[m, own]
        candidates = np.flatnonzero(differs)
        if not len(candidates):
            return False
        chosen = candidates[_draw(rng, rows.counts[candidates], len(empty))]
        for j, row in zip(empty, chosen, strict=False):
            self._put(members, mass, j, row)
        return True
