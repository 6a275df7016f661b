"""K-means on one-hot rows under a divergence, with weights.

An object is a row of M ones, one per clustering that contains it; a centroid is a
weighted mean of rows, per clustering a distribution over base clusters. Whatever the
divergence, the distance to a centroid is M look-ups in a table of base clusters. It
runs on the distinct label rows with their numbers of objects, which is exact: objects
with equal rows are always nearest to the same centre. All sums over rows are sums of
integers, so threads and blocks cannot change a bit of the result.

One descent serves both ways of passing over the rows: in memory each start by itself,
with bounds that show which rows cannot have changed; if there are too many distinct
rows to keep, all starts together, one pass over the label rows per round. Only the
starting rows are drawn differently in that case: every object has a clock, a hash of
the seed and its number, and those that ring first are used, so that a row is drawn with
a probability proportional to its number of objects, as in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ensclust import _kernels
from ensclust._ensemble.contents import check_array
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts, Cut, TooManyRowsError
from ensclust._support import parallel
from ensclust._trees.known_rows import Affinity, histogram

_NEVER = 1e300  # score of a centre that no row may join
_SMALL = 2**20  # look-ups below which a second thread does not pay off


@dataclass(frozen=True, eq=False)
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
    def of(cls, counts: Counts) -> Rows:
        """Return the distinct rows."""
        fragments = counts.fragments()
        return cls(fragments.labels, fragments.counts, counts.offsets, counts.sizes)

    @classmethod
    def single(cls, labels: np.ndarray, start: np.ndarray, sizes: np.ndarray) -> Rows:
        """Return rows of one object each."""
        labels = np.ascontiguousarray(labels, np.int32)
        return cls(labels, np.ones(len(labels), np.int64), start, sizes)

    def empty(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return zero members (Nc, k) and mass (M, k) of centres."""
        return (
            np.zeros((len(self.sizes), k), np.int64),
            np.zeros((self.labels.shape[1], k), np.int64),
        )

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

    def largest_constant(self, n_objects: int) -> float:
        """Return a bound on it, for when the rows are not available."""


class Unweighted:
    """The part of a Divergence if objects count once and tables are complete."""

    def weights(self, rows: Rows) -> np.ndarray:
        """Every object counts once."""
        return np.ones(len(rows.labels), np.int64)

    def constant(self, rows: Rows, weights: np.ndarray) -> float:
        """Nothing is left out of the tables."""
        return 0.0

    def largest_constant(self, n_objects: int) -> float:
        """Nothing is left out of the tables."""
        return 0.0


@dataclass(frozen=True, eq=False)
class Centres:
    """An Assignment: the nearest centre, by tables of look-ups.

    Attributes
    ----------
    divergence : Divergence
        Weights of the rows.
    sizes : ndarray of shape (Nc,)
        Objects per base cluster.
    tables : tuple of ndarray
        The look-ups of the centres, (Nc + 1, k) and (M, k) or (0, k).
    members : ndarray of shape (Nc, k)
        Objects of each base cluster and centre.
    names : ndarray of shape (k,)
        The label of each centre, -1 for one that no row may join.
    affinity : Affinity
        Determines memberships.
    """

    fitted: ClassVar[dict[str, Any]] = {}

    divergence: Divergence
    sizes: np.ndarray
    tables: tuple[np.ndarray, np.ndarray]
    members: np.ndarray
    names: np.ndarray
    affinity: Affinity

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self.members.nbytes + sum(table.nbytes for table in self.tables)

    def renumbered(self, rank: np.ndarray) -> Centres:
        """Return the same with other numbers; ties still go to the first centre."""
        names = rank[self.names]
        table, slope = (part.copy() for part in self.tables)
        table[:-1, names < 0] = _NEVER
        slope[:, names < 0] = 0
        return replace(self, names=names, tables=(table, slope))

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless there is an entry for each base cluster and centre."""
        n, k = counts.n_base_clusters, len(self.names)
        table, slope = self.tables
        self.affinity.check(counts)
        check_array("sizes", self.sizes, (n,), low=0)
        check_array("tables", table, (n + 1, k), kinds="f")
        n_slopes = counts.n_clusterings if len(slope) else 0
        check_array("tables", slope, (n_slopes, k), kinds="f")
        check_array("members", self.members, (n, k), low=0)
        check_array("names", self.names, (k,), low=-1, stop=n_clusters)

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the label of the nearest centre, -1 for a row in no clustering."""
        own = Rows.single(rows.labels, self.affinity.offsets, self.sizes)
        shared = (own, self.divergence.weights(own), self.tables)
        spans = parallel.blocks(len(own.labels), parallel.thread_count(n_jobs))
        found = parallel.run_spans(_nearest, spans, shared, n_jobs=n_jobs)
        labels = self.names[np.concatenate([nearest for nearest, _, _ in found])]
        labels[(own.labels < 0).all(axis=1)] = -1
        return labels

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the mean similarity to each cluster, scaled to sum to 1."""
        used = self.names >= 0
        histogram = np.zeros((self.names.max() + 1, len(self.members)), np.int64)
        histogram[self.names[used]] = self.members.T[used]
        return self.affinity.memberships(histogram, rows)


@dataclass(frozen=True, eq=False)
class OneHotKMeans:
    """A Solution: k-means of the label rows, from scratch for each number of clusters.

    Attributes
    ----------
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings, for memberships.
    settings : dict
        The parameters of :func:`onehot_kmeans`.
    """

    weights: np.ndarray | None
    settings: dict[str, Any]

    def cut(self, n_clusters: int, counts: Counts) -> Cut:
        """Descend from several starts; the smallest objective is kept."""
        found = onehot_kmeans(counts, n_clusters, **self.settings)
        k = found.members.shape[1]
        assignment = Centres(
            self.settings["divergence"],
            counts.sizes,
            found.tables,
            found.members,
            np.arange(k, dtype=np.int32),
            Affinity.plain(counts.offsets, self.weights),
        )
        fitted = {"inertia_": float(found.trace[-1]), "n_iter_": len(found.trace)}
        return Cut(assignment, k, fitted, found.labels)


class Descent(NamedTuple):
    """The result of one start, or the best of several.

    Attributes
    ----------
    tables : tuple of ndarray
        The look-ups of the last round that improved.
    members : ndarray of shape (Nc, k)
        Objects of each base cluster and centre in that round.
    trace : ndarray of shape (rounds,)
        Objective of each round: the distances to the centroids of the previous round.
    labels : ndarray of shape (N,) or None
        Centre of each object; a centre may be without objects. None if there are too
        many rows to keep.
    """

    tables: tuple[np.ndarray, np.ndarray]
    members: np.ndarray
    trace: np.ndarray
    labels: np.ndarray | None = None


def onehot_kmeans(
    counts: Counts,
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
) -> Descent:
    """Cluster label rows by k-means.

    Parameters
    ----------
    counts : Counts
        The objects; each must be in some clustering.
    n_clusters : int
        Number of centres; at most one per distinct row is used.
    divergence : Divergence
        Weights and distances.
    init : "random" or array-like of shape (n_clusters,) or (n_starts, n_clusters)
        The objects whose rows are the first centroids. "random" draws distinct rows
        ``n_init`` times, each with a probability proportional to its number of objects.
    n_init, max_iter : int
        Random starts, and rounds per start.
    tol : float
        A round that improves the objective by less is undone and ends the start; so
        does a round in which no row moves.
    repair : bool
        Whether a random row becomes the centroid of an empty cluster, drawn like the
        starts among the rows that differ from their own centroid; otherwise it
        vanishes.
    seed : int
        Determines random choices.
    n_jobs : int or None
        Number of threads; None means one per core. Never changes the result.

    Returns
    -------
    Descent
        From the start with the smallest objective. Time F M k look-ups per round for F
        distinct rows, less if bounds show that a row stays; memory F M labels, 20 F
        bytes per thread and a few Nc x k tables.

    Notes
    -----
    A clustering that does not contain an object is left out of its distance and of the
    centroids. If no member of a centroid is in a clustering, it is that of a random
    base cluster there, drawn once per start. The objective never rises.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> from ensclust._methods.kcc import Utility
    >>> ensemble = Ensemble([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]])
    >>> onehot_kmeans(ensemble, 2, divergence=Utility("u_c"), init=[0, 4]).labels
    array([0, 0, 0, 1, 1], dtype=int32)
    """
    try:
        rows = Rows.of(counts)
    except TooManyRowsError:
        return _over_blocks(
            counts, n_clusters, divergence, n_init, (max_iter, tol, repair), seed
        )
    inverse = counts.fragments().inverse
    given = check_init(init, n_clusters, counts.n_objects)
    numbers = range(n_init if given is None else len(given))
    rngs = [np.random.default_rng((seed, s)) for s in numbers]
    drawn = (draw_rows(rng, rows.counts, n_clusters) for rng in rngs)
    firsts = drawn if given is None else inverse[given]
    starts = deque(zip(numbers, firsts, rngs, strict=True))
    threads = parallel.thread_count(n_jobs)
    outer = threads if len(starts) >= threads else 1
    settings = (max_iter, tol, repair, threads // outer)
    start = partial(_from_rows, Problem.of(rows, divergence), *settings)
    found = parallel.run(_best_of, [(starts, start)] * outer, n_jobs=outer)
    best = min(found, key=lambda one: one[:2])[-1]
    k = best.members.shape[1]
    members = histogram(rows.labels, rows.counts, best.labels, rows.start, k).T
    return best._replace(labels=best.labels[inverse], members=members)


def check_init(init: Any, n_clusters: int, n_objects: int) -> np.ndarray | None:
    """Return given objects as (n_starts, n_clusters), None for "random", or raise."""
    rule = (
        'init must be "random" or objects (rows of the label matrix) of shape '
        f"({n_clusters},) or (n_starts, {n_clusters})"
    )
    if isinstance(init, str) and init == "random":
        return None
    given = np.asarray(init)
    if isinstance(init, str):
        msg = f"init={init!r}; {rule}."
    elif given.dtype.kind not in "iu" or given.ndim not in (1, 2) or not given.size:
        msg = f"init has shape {given.shape} and type {given.dtype}; {rule}."
    elif given.shape[-1] != n_clusters:
        msg = f"init has shape {given.shape}; {rule}."
    elif given.min() < 0 or given.max() >= n_objects:
        worst = given.min() if given.min() < 0 else given.max()
        msg = f"init contains {worst}; use objects 0 to {n_objects - 1}."
    else:
        return np.atleast_2d(given)
    raise ValueError(msg)


def draw_rows(rng: np.random.Generator, counts: np.ndarray, n: int) -> np.ndarray:
    """Draw at most n distinct rows, with probabilities proportional to counts.

    The row whose clock of rate ``counts`` rings first is drawn first.
    """
    n = min(n, len(counts))
    rings = rng.exponential(size=len(counts)) / counts
    first = np.argpartition(rings, n - 1)[:n]
    return first[np.argsort(rings[first], kind="stable")]


@dataclass(frozen=True, eq=False)
class Problem:
    """The rows with their weights and distances: tables, bounds and objectives.

    Attributes
    ----------
    rows : Rows
        The distinct rows; none if there are too many to keep.
    divergence : Divergence
        Weights and distances.
    weights : ndarray of shape (F,)
        Weight of one object of each row.
    cluster_mass : ndarray of shape (Nc,)
        Weights of the objects of each base cluster, summed.
    constant : float
        What the tables leave out of the objective.
    """

    rows: Rows
    divergence: Divergence
    weights: np.ndarray
    cluster_mass: np.ndarray
    constant: float

    @classmethod
    def of(cls, rows: Rows, divergence: Divergence) -> Problem:
        """Return the problem of rows that are all available."""
        weights = divergence.weights(rows)
        mass = rows.per_cluster(rows.counts * weights)
        return cls(rows, divergence, weights, mass, divergence.constant(rows, weights))

    def spare(self, rng: np.random.Generator, k: int) -> np.ndarray:
        """Draw the base cluster that is used if a centre has no member."""
        n_base = np.diff(self.rows.start)[:, None]
        return (rng.random((len(n_base), k)) * n_base).astype(np.int64)

    def tables(self, members, mass, spare) -> tuple[np.ndarray, np.ndarray]:
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

    def objective(self, table, slope, members, mass) -> float:
        """Return the distances of all objects, summed."""
        total = self.constant + (members * table[:-1]).sum()
        if len(slope):
            total += (mass * slope).sum()
        return max(0.0, float(total))

    def bounds(self, tables, before) -> tuple[np.ndarray, float]:
        """Return how much nearer other centres may be to the rows of each centre.

        A distance changes at most by the largest change of each clustering's look-ups,
        whatever the divergence; a nearest centre with a larger lead stays nearest. The
        second row is the part that is multiplied by the weight. Also returns the lead
        beyond which rounding of the distances cannot matter.
        """
        largest = partial(self.rows.per_clustering, ufunc=np.maximum)
        (table, slope), (old_table, old_slope) = tables, before
        change = largest(np.abs(table - old_table)[:-1]), np.abs(slope - old_slope)
        drift = np.array([part.sum(axis=0) for part in change])
        two = np.partition(np.pad(drift, ((0, 0), (0, 1))), -2)[:, -2:]
        others = np.where(drift == two[:, 1:], two[:, :1], two[:, 1:])
        height = largest(np.abs(table)[:-1])
        total = height.sum(axis=0) + self.weights.max() * np.abs(slope).sum(axis=0)
        return drift + others, 1e-10 * total[height.max(axis=0) < _NEVER].max()


def descend(
    problem: Problem,
    centres: tuple[np.ndarray, np.ndarray],
    spare: np.ndarray,
    *,
    accepted: Callable,
    max_iter: int,
    tol: float,
) -> Generator[tuple, tuple, Descent]:
    """Move centres until nothing improves, however rows are passed over.

    Parameters
    ----------
    problem, spare : Problem, ndarray
        What tables are made from.
    centres : tuple of ndarray
        Members and mass of the first centres.
    accepted : callable
        ``accepted(centres, tables, totals)`` is called for each round that counts, may
        put a row into empty centres, and returns whether it did.
    max_iter, tol
        As in :func:`onehot_kmeans`.

    Yields
    ------
    tables
        Of each round. Expects ``totals``, the members and mass of the nearest centres,
        and whether any row moved, to be sent back.
    """
    trace: list[float] = []
    kept: Any = None
    repaired = False
    for _ in range(max_iter):
        tables = problem.tables(*centres, spare)
        totals, moved = yield tables
        objective = problem.objective(*tables, *totals)
        if trace and not repaired and trace[-1] - objective < tol:
            break
        trace.append(objective)
        kept = tables, totals[0]
        centres = (totals[0].copy(), totals[1].copy())
        repaired = accepted(centres, tables, totals)
        if not moved and not repaired:
            break
    tables, members = kept
    return Descent(tables, members, np.array(trace))


def _best_of(starts: deque, descent: Callable) -> tuple[float, int, Descent | None]:
    """Take starts from the queue until it is empty; return the best of them.

    Threads share the queue. Of equal objectives the first start wins, so it does not
    matter which thread took which.
    """
    best: Any = (np.inf, -1, None)
    while True:
        try:
            number, first, rng = starts.popleft()
        except IndexError:
            return best
        found = descent(first, rng)
        best = min(best, (found.trace[-1], number, found), key=lambda b: b[:2])


def _from_rows(
    problem: Problem,
    max_iter: int,
    tol: float,
    repair: bool,  # noqa: FBT001  bound by partial
    threads: int,
    first: np.ndarray,
    rng: np.random.Generator,
) -> Descent:
    """Descend from some of the distinct rows, re-examining only doubtful ones."""
    rows, k = problem.rows, len(first)
    spare, centres = problem.spare(rng, k), rows.empty(k)
    _put(centres, range(k), rows, problem.weights, first)
    labels = np.full(len(rows.labels), -1, np.int32)
    other, lead = np.empty_like(labels), np.empty(len(labels))

    def accepted(centres, tables, totals) -> bool:
        nonlocal labels, other
        labels, other = other, labels
        return repair and _repair(problem, centres, labels, rng)

    run = descend(
        problem, centres, spare, accepted=accepted, max_iter=max_iter, tol=tol
    )
    totals = rows.empty(k)
    before = tables = next(run)
    try:
        while True:
            state = (*problem.bounds(tables, before), labels, other, lead)
            moved = _assign(problem, tables, state, totals, threads)
            before, tables = tables, run.send((totals, moved))
    except StopIteration as end:
        return end.value._replace(labels=labels)


def _assign(problem: Problem, tables, state: tuple, totals: tuple, threads) -> int:
    """Find the nearest centres, update members, return how many rows moved."""
    rows, k = problem.rows, tables[0].shape[1]
    small = rows.labels.size * k < _SMALL
    spans = parallel.blocks(len(rows.labels), 1 if small else threads)
    more = [rows.empty(k) for _ in spans[1:]]
    fixed = (rows.labels, rows.start, rows.counts, problem.weights, *tables, *state)
    tasks = [
        (*fixed, *own, *span) for own, span in zip([totals, *more], spans, strict=True)
    ]
    moved = parallel.run(_kernels.onehot.assign, tasks, n_jobs=threads)
    for members, mass in more:
        totals[0][:] += members
        totals[1][:] += mass
    return sum(moved)


def _repair(problem: Problem, centres, labels, rng) -> bool:
    """Make a random row the only member of each empty centre, if that helps."""
    empty = np.flatnonzero(~centres[1].any(axis=0))
    rows, weights = problem.rows, problem.weights
    candidates = np.flatnonzero(len(empty) and _differ(rows, weights, labels, *centres))
    if len(candidates):
        chosen = candidates[draw_rows(rng, rows.counts[candidates], len(empty))]
        _put(centres, empty, rows, weights, chosen)
    return bool(len(candidates))


def _put(centres, places, rows: Rows, weights: np.ndarray, chosen) -> None:
    """Make each of the chosen rows the only member of a centre, while there are any."""
    members, mass = centres
    for j, row in zip(places, chosen, strict=False):
        there = rows.labels[row] >= 0
        clusters = rows.start[:-1] + rows.labels[row]
        members[clusters[there], j] = rows.counts[row]
        mass[there, j] = rows.counts[row] * weights[row]


def _differ(rows: Rows, weights, labels, members, mass) -> np.ndarray:
    """Return which rows are not all that their centre consists of."""
    differs = np.zeros(len(labels), bool)
    for m, first in enumerate(rows.start[:-1]):
        there = np.flatnonzero(rows.labels[:, m] >= 0)
        own = labels[there]
        share = members[first + rows.labels[there, m], own] * weights[there]
        differs[there] |= share != mass[m, own]
    return differs


class Drawn(NamedTuple):
    """Rows whose clocks ring first, in that order, and the numbers of their objects."""

    clocks: np.ndarray
    labels: np.ndarray
    objects: np.ndarray


def _over_blocks(
    counts: Counts, k: int, divergence: Divergence, n_init: int, rule: tuple, seed: int
) -> Descent:
    """Descend from all starts at once, one pass over the label rows per round.

    The constant of the objective is only bounded: a sum of fractions would depend on
    the blocks.
    """
    max_iter, tol, repair = rule
    nothing = np.zeros((0, counts.n_clusterings), np.int32)
    known = Rows.single(nothing, counts.offsets, counts.sizes)
    drawn, mass = draw(counts, known, divergence, seed, n_init, k)
    problem = Problem(
        known,
        divergence,
        divergence.weights(known),
        mass,
        divergence.largest_constant(counts.n_objects),
    )

    def begin(rng: np.random.Generator, first: Drawn) -> Any:
        def accepted(centres, tables, totals) -> bool:
            empty = np.flatnonzero(~centres[1].any(axis=0))
            if not repair or not len(empty):
                return False
            mixed = partial(_mixed, tables=tables, totals=totals)
            again, n = int(rng.integers(2**62)), len(empty)
            (chosen,), _ = draw(counts, known, divergence, again, 1, n, mixed)
            put(centres, empty, chosen)
            return bool(len(chosen.labels))

        n = len(first.labels)
        spare, centres = problem.spare(rng, n), known.empty(n)
        put(centres, range(n), first)
        rule = {"accepted": accepted, "max_iter": max_iter, "tol": tol}
        return descend(problem, centres, spare, **rule)

    def put(centres, places, rows: Drawn) -> None:
        own = Rows.single(rows.labels, known.start, known.sizes)
        _put(centres, places, own, divergence.weights(own), range(len(own.labels)))

    runs = [
        begin(np.random.default_rng((seed, s)), first) for s, first in enumerate(drawn)
    ]
    going = [(run, next(run), None) for run in runs]
    done: dict[int, Descent] = {}
    while going:
        tables = [table for _, table, _ in going]
        work = partial(_nearest_all, known=known, divergence=divergence, tables=tables)
        found = zip(going, counts.fold(work, _add), strict=True)
        going = []
        for (run, _, last), totals in found:
            moved = last is None or not all(map(np.array_equal, last, totals))
            try:
                going.append((run, run.send((totals, moved)), totals))
            except StopIteration as end:
                done[runs.index(run)] = end.value
    return min((done[s] for s in sorted(done)), key=lambda found: found.trace[-1])


def draw(
    counts: Counts,
    known: Rows,
    divergence: Divergence | Unweighted,
    seed: int,
    n_init: int,
    k: int,
    among: Callable | None = None,
) -> tuple[list[Drawn], np.ndarray]:
    """Draw k distinct rows for each start, in one pass; also sum weights, (Nc,)."""
    return counts.fold(
        partial(
            _ring,
            known=known,
            divergence=divergence,
            seed=seed,
            n_init=n_init,
            k=k,
            among=among,
        ),
        partial(_earliest, k=k),
    )


def _ring(rows: Ensemble, start: int, *, known, divergence, seed, n_init, k, among):
    own = Rows.single(rows.labels, known.start, known.sizes)
    weights = divergence.weights(own)
    allowed = (own.labels >= 0).any(axis=1)
    if among is not None:
        allowed &= among(own, weights)
    objects = np.flatnonzero(allowed) + start
    labels = own.labels[allowed]
    drawn = [
        _distinct(_clocks(seed, s, objects), labels, objects, k=k)
        for s in range(n_init)
    ]
    return drawn, own.per_cluster(weights)


def _clocks(seed: int, start: int, objects: np.ndarray) -> np.ndarray:
    """Return an exponential time for each object, a hash of the seed and its number."""
    h = objects.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    h += np.uint64((seed * 0xD1B54A32D192ED03 + start) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = (h ^ (h >> np.uint64(shift))) * np.uint64(factor)
    h ^= h >> np.uint64(31)
    return -np.log(((h >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53)


def _distinct(clocks, labels, objects, *, k: int) -> Drawn:
    """Return the first k rows that differ, in the order of their clocks."""
    order = np.lexsort((objects, clocks))
    reach = 4 * k
    while True:
        _, first = np.unique(labels[order[:reach]], axis=0, return_index=True)
        first = order[np.sort(first)[:k]]
        if len(first) == k or reach >= len(labels):
            return Drawn(clocks[first], labels[first], objects[first])
        reach *= 4


def _earliest(one, other, *, k: int):
    (left, mass), (right, more) = one, other
    drawn = [
        _distinct(*map(np.concatenate, zip(*pair, strict=True)), k=k)
        for pair in zip(left, right, strict=True)
    ]
    return drawn, mass + more


def _nearest(rows: Rows, weights: np.ndarray, tables, a: int, b: int) -> tuple:
    """Return the nearest centres of some rows, and members and mass of each centre."""
    k = tables[0].shape[1]
    totals = rows.empty(k)
    nobody = np.full(len(rows.labels), -1, np.int32)
    nearest, lead = np.empty_like(nobody), np.empty(len(nobody))
    fixed = (rows.labels, rows.start, rows.counts, weights, *tables)
    state = (np.zeros((2, k)), 0.0, nobody, nearest, lead)
    _kernels.onehot.assign(*fixed, *state, *totals, a, b)
    return nearest[a:b], *totals


def _nearest_all(rows: Ensemble, start: int, *, known, divergence, tables) -> list:
    own = Rows.single(rows.labels, known.start, known.sizes)
    weights, n = divergence.weights(own), len(own.labels)
    return [_nearest(own, weights, table, 0, n)[1:] for table in tables]


def _add(one: list, other: list) -> list:
    return [(a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True)]


def _mixed(rows: Rows, weights: np.ndarray, *, tables, totals) -> np.ndarray:
    """Return which rows are not all that their centre consists of."""
    return _differ(
        rows, weights, _nearest(rows, weights, tables, 0, len(rows.labels))[0], *totals
    )
