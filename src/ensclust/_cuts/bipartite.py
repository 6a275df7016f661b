"""Cuts of the graph of objects and base clusters, without a matrix of objects.

The edges are B = H R: H holds the memberships of N objects in Nc base clusters, R is a
matrix of base clusters. By the transfer cut (Li, Wu and Chang 2012) the eigenvectors of
the whole graph follow from those of W = B' Dx^-1 B, which is R' (H' Dx^-1 H) R: inside
is a count of shared objects, each with the weight 1 / dx. The point of an object in the
space of eigenvectors is the sum of a table over its M labels, scaled to unit length. So
objects are only passed over. "Not clustered" is one more label of each clustering, with
its own edges.

Neither blocks nor threads nor their order change a bit of the labels. Counts are sums
of integers: weights in fixed point. K-means of the points converges on at most SAMPLE
objects, drawn by their ranks and sorted by their label rows; if there are more objects,
passes over all of them refine the centres, which are means of sums in fixed point. An
object's point, and so the nearest centre, depends only on its label row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import combinations_with_replacement, pairwise
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ensclust import _kernels
from ensclust._cuts import kmeans
from ensclust._cuts.spectrum import Spectrum
from ensclust._ensemble.contents import check_array, check_same
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts, Cut
from ensclust._support import parallel

SAMPLE = 20_000  # objects on which k-means converges
_STARTS = 3
_ROUNDS = 100
_PASSES = 10  # over all objects, if there are more
_SETTLED = 1e-4  # squared moves of centres that end them, as a share of the variance
_LEAST = 2.0**-30  # share of the largest degree below which degrees are ignored
_CELLS = 2**18  # coordinates of points that are processed at a time
_NEAR = 1e-12  # squared distance below which points coincide


@dataclass(frozen=True, eq=False)
class Embedding:
    """Points of label rows: unit vectors in the space of some eigenvectors.

    Attributes
    ----------
    start : ndarray of shape (M + 1,)
        First label of each clustering; its last is "not clustered".
    table : ndarray of shape (Nc + M, d)
        What each label contributes to the points of its objects.
    total : ndarray of shape (Nc + M,)
        What it contributes to their degrees.
    """

    start: np.ndarray
    table: np.ndarray
    total: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self.table.nbytes + self.total.nbytes

    def check(self, counts: Counts) -> None:
        """Raise unless there is an entry for each label of the base clusterings."""
        n = counts.n_base_clusters + counts.n_clusterings
        first = np.append(0, np.cumsum(counts.cluster_counts + 1))
        check_same("first labels", self.start, first)
        check_array("table", self.table, (n, self.table.shape[-1]), kinds="f")
        check_array("total", self.total, (n,), kinds="f", low=0)

    def points(self, rows: Ensemble, a: int = 0, b: int | None = None) -> np.ndarray:
        """Return the points of rows a..b-1, (b - a, d)."""
        b = rows.n_objects if b is None else b
        points = np.empty((b - a, self.table.shape[1]))
        shared = (rows.columns, self.start, self.table, self.total, points)
        _kernels.embedding.embed(*shared, a, b)
        return points

    def pass_over(
        self, work: Callable[[int, int], Any], rows: Ensemble, n_jobs: int | None
    ) -> list:
        """Return ``work(a, b)`` of some rows at a time, in order."""
        height = max(512, _CELLS // self.table.shape[1])
        return parallel.run(work, parallel.strips(len(rows), height), n_jobs=n_jobs)


@dataclass(frozen=True, eq=False)
class NearestCentres:
    """An Assignment: the centre nearest to the point of a label row.

    Attributes
    ----------
    embedding : Embedding
        Points of label rows.
    centres : ndarray of shape (k, d)
        Points of the clusters.
    names : ndarray of shape (k,)
        The label of each.

    Notes
    -----
    Time M d + k d per row. Memberships are proportional to 1 / squared distance to the
    centres, as in fuzzy c-means: the label has the largest.
    """

    fitted: ClassVar[dict[str, Any]] = {}

    embedding: Embedding
    centres: np.ndarray
    names: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return self.embedding.nbytes + self.centres.nbytes + self.names.nbytes

    def renumbered(self, rank: np.ndarray) -> NearestCentres:
        """Return the same with other numbers; a centre without a number is left out."""
        names = rank[self.names]
        used = names >= 0
        return replace(self, centres=self.centres[used], names=names[used])

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless label rows have points, and centres fit them."""
        self.embedding.check(counts)
        k, d = len(self.names), self.embedding.table.shape[1]
        check_array("centres", self.centres, (k, d), kinds="f")
        check_array("names", self.names, (k,), low=0, stop=n_clusters)

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the label of the nearest centre, -1 for a row in no known cluster."""
        labels = np.empty(len(rows), np.int32)

        def work(a: int, b: int) -> None:
            points = self.embedding.points(rows, a, b)
            labels[a:b] = self.names[nearest(points, self.centres)]

        self.embedding.pass_over(work, rows, n_jobs)
        if rows.has_missing:
            labels[rows.absent()] = -1
        return labels

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the share of each cluster in each row, 0 without a known cluster."""
        shares = np.zeros((len(rows), int(self.names.max()) + 1))

        def work(a: int, b: int) -> None:
            points = self.embedding.points(rows, a, b)
            for name, centre in zip(self.names, self.centres, strict=True):
                square = ((points - centre) ** 2).sum(axis=1)
                shares[a:b, name] = 1 / (square + _NEAR)
            shares[a:b] /= shares[a:b].sum(axis=1, keepdims=True)

        self.embedding.pass_over(work, rows, n_jobs)
        if rows.has_missing:
            shares[rows.absent()] = 0
        return shares


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """A Solution: objects and base clusters, cut by k-means of their eigenvectors.

    Attributes
    ----------
    R : csr_array of shape (Nc + M, Nc)
        Edges of the objects of each label, see :func:`label_edges`.
    total : ndarray of shape (Nc + M,)
        Its row sums: what a label contributes to the degree of its objects.
    start : ndarray of shape (M + 1,)
        First label of each clustering.
    spectrum : Spectrum
        That of the base clusters' graph, normalised.
    root : ndarray of shape (Nc,)
        One over the root of the degree of each base cluster.
    sample : Ensemble
        The objects that k-means starts from, sorted by their label rows.
    n_objects : int
        The number of all objects.
    seed : int
        Determines its starts.
    starts : str
        "k-means++", or "farthest": each start is the farthest from those before it.
    n_jobs : int or None
        Number of threads; None means one per core. Never changes the result.
    """

    R: sparse.csr_array
    total: np.ndarray
    start: np.ndarray
    spectrum: Spectrum
    root: np.ndarray
    sample: Ensemble
    n_objects: int
    seed: int
    starts: str = "k-means++"
    n_jobs: int | None = field(default=None, kw_only=True)

    @classmethod
    def of(
        cls,
        counts: Counts,
        R: sparse.csr_array,
        further: np.ndarray | None = None,
        *,
        seed: int = 0,
        starts: str = "k-means++",
        n_jobs: int | None = None,
    ) -> BipartiteGraph:
        """Count what the cut needs, in two passes over the objects.

        ``R`` are the edges of each label, (Nc + M, Nc), ``further`` those of nodes that
        are not objects, (m, Nc).

        Time N M^2 / 2 and the products with R, memory 16 bytes per object and about
        six Nc x Nc matrices.
        """
        total = np.asarray(R.sum(axis=1)).ravel()
        total[total > 0] = np.maximum(total[total > 0], _LEAST * total.max())
        start = counts.offsets + np.arange(counts.n_clusterings + 1)
        labels: dict[str, Any] = {"start": start, "total": total, "n_jobs": n_jobs}
        mass, lengths = counts.fold(partial(_survey, **labels), _join)
        n_objects, scale = sum(lengths.values()), kmeans.fixed_point(mass, 1)
        work = partial(
            _count,
            scale=scale,
            begins=_begins(lengths),
            ranks=_draw(n_objects, seed),
            **labels,
        )
        overlap, chosen = counts.fold(work, _join)
        columns = np.concatenate([chosen[first] for first in sorted(chosen)], axis=1)
        columns = np.ascontiguousarray(columns[:, np.lexsort(columns[::-1])])
        sample = Ensemble.from_codes(columns, counts.categories)
        W = R.T @ (overlap / (total.max() * scale)) @ R
        if further is not None:
            own = further.sum(axis=1, keepdims=True)
            scaled = further / np.sqrt(np.where(own > 0, own, 1))
            W += scaled.T @ scaled
        root = normalise(W)
        known = (R, total, start, Spectrum(W), root, sample, n_objects, seed, starts)
        return cls(*known, n_jobs=n_jobs)

    def embedding(self, d: int) -> tuple[np.ndarray, Embedding]:
        """Return the d leading eigenvalues, and the space of their vectors."""
        eigenvalues, vectors = self.spectrum.leading(min(d, len(self.root)))
        table = np.ascontiguousarray(self.R @ (self.root[:, None] * vectors[:, ::-1]))
        return eigenvalues[::-1], Embedding(self.start, table, self.total)

    def cut(self, n_clusters: int, counts: Counts) -> Cut:
        """Cluster the objects' points by k-means, the best of three starts."""
        eigenvalues, embedding = self.embedding(n_clusters)
        rows = kmeans.Rows.of(embedding.points(self.sample))
        centres = best_centres(rows, n_clusters, self.seed, self.starts, self.n_jobs)
        if self.n_objects > len(self.sample):
            scale = kmeans.fixed_point(1.0, self.n_objects)
            (centres,), _ = kmeans.improve(
                [centres],
                partial(self._add_up, counts, embedding, scale),
                n_passes=_PASSES,
                scale=scale,
                least=[_SETTLED * rows.spread()],
            )
        names = np.arange(len(centres), dtype=np.int32)
        fitted = {"eigenvalues_": eigenvalues}
        return Cut(NearestCentres(embedding, centres, names), len(centres), fitted)

    def _add_up(self, counts: Counts, embedding, scale, _, centres: list) -> list:
        work = partial(
            _add_points,
            embedding=embedding,
            centres=centres[0],
            scale=scale,
            n_jobs=self.n_jobs,
        )
        return [counts.fold(work, _add)]


def normalise(W: np.ndarray) -> np.ndarray:
    """Divide a graph by the roots of its degrees, in place; return one over these."""
    degree = W.sum(axis=1)
    root = np.divide(1, np.sqrt(degree), out=np.zeros(len(W)), where=degree > 0)
    W *= root[:, None]
    W *= root
    return root


def label_edges(R: sparse.csr_array, counts: Counts, *, fill: bool) -> sparse.csr_array:
    """Return the edges of each label, (Nc + M, Nc), with those of "not clustered".

    An object that a clustering leaves out has no edges to its clusters or, with
    ``fill``, those of the average object that it contains.
    """
    rows = []
    for first, last in pairwise(counts.offsets.tolist()):
        own, sizes = R[first:last], counts.sizes[first:last]
        share = sizes / max(sizes.sum(), 1) * fill
        rows += [own, sparse.csr_array((share @ own)[None])]
    return sparse.csr_array(sparse.vstack(rows))


def best_centres(
    rows: kmeans.Rows, k: int, seed: int, starts: str, n_jobs: int | None
) -> np.ndarray:
    """Return the centres, (k, d), of the best of three runs of k-means."""
    rng = np.random.default_rng(seed)
    seeds = rng.integers(2**31, size=_STARTS).tolist()
    init: Any = starts
    if starts == "farthest":
        first = (rng.random(_STARTS) * rows.shape[0]).astype(np.int64)
        init = [farthest_first(rows.X, one, k) for one in first]
    found, _ = kmeans.converge(
        rows, [k] * _STARTS, seeds, init=init, max_iter=_ROUNDS, tol=0, n_jobs=n_jobs
    )
    inertia = [((rows.X - own[nearest(rows.X, own)]) ** 2).sum() for own in found]
    return found[int(np.argmin(inertia))]


def farthest_first(points: np.ndarray, first: int, k: int) -> np.ndarray:
    """Return the numbers of k points, (k,): each the farthest from those before it.

    Ties go to the first.
    """
    chosen = np.full(k, first)
    distance = np.full(len(points), np.inf)
    for j in range(1, k):
        last = ((points - points[chosen[j - 1]]) ** 2).sum(axis=1)
        distance = np.minimum(distance, last)
        chosen[j] = np.argmax(distance)
    return chosen


def nearest(points: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the centre nearest to each point, (n,) unsigned; ties go to the lowest."""
    labels = np.empty((1, len(points)), np.min_scalar_type(len(centres)))
    halves = [kmeans.half_norms(centres)]
    kmeans.label(kmeans.Rows.of(points), [centres], halves, labels, n_jobs=1)
    return labels[0]


def _times(rows: Ensemble) -> np.ndarray:
    """Return how many objects each row counts as."""
    there = np.where(rows.absent(), 0, 1) if rows.has_missing else np.ones(len(rows))
    times = there.astype(np.int64)
    return times if rows.multiplicity is None else times * rows.multiplicity


def _weights(rows: Ensemble, start, total, n_jobs: int | None) -> np.ndarray:
    """Return the largest degree of a label divided by the degree of each row."""
    degree = np.empty(len(rows))
    spans = parallel.blocks(len(rows), parallel.thread_count(n_jobs))
    shared = (rows.columns, start, total, degree)
    parallel.run_spans(_kernels.embedding.sum_up, spans, shared, n_jobs=n_jobs)
    return total.max() / np.where(degree > 0, degree, np.inf)


def _survey(rows: Ensemble, first: int, *, start, total, n_jobs) -> tuple[int, dict]:
    """Return a bound on the summed weights, and the number of objects."""
    times = _times(rows)
    mass = times @ np.ceil(_weights(rows, start, total, n_jobs)).astype(np.int64)
    return int(mass), {first: int(times.sum())} if len(rows) else {}


def _join(one: tuple, other: tuple) -> tuple:
    return one[0] + other[0], one[1] | other[1]


def _begins(lengths: dict[int, int]) -> dict[int, int]:
    """Return the rank of the first object of each block."""
    begin, begins = 0, {}
    for first in sorted(lengths):
        begins[first] = begin
        begin += lengths[first]
    return begins


def _draw(n_objects: int, seed: int) -> np.ndarray:
    """Draw the ranks of at most SAMPLE objects, ascending."""
    if n_objects <= SAMPLE:
        return np.arange(n_objects)
    rng = np.random.default_rng(seed)
    return np.sort(rng.choice(n_objects, SAMPLE, replace=False))


def _count(
    rows: Ensemble, first: int, *, start, total, scale, begins, ranks, n_jobs
) -> tuple[np.ndarray, dict]:
    """Return the weighted overlaps in fixed point, and the drawn objects."""
    times = _times(rows)
    weight = np.rint(scale * _weights(rows, start, total, n_jobs)).astype(np.int64)
    weight *= times
    overlap = np.zeros((start[-1], start[-1]), np.int64)
    pairs = list(combinations_with_replacement(range(rows.n_clusterings), 2))
    spans = parallel.blocks(len(pairs), parallel.thread_count(n_jobs))
    left, right = np.array(pairs).T
    parallel.run(
        _kernels.counting.add_weights,
        [
            (rows.columns, start, left[a:b], right[a:b], weight, overlap)
            for a, b in spans
        ],
        n_jobs=n_jobs,
    )
    if not len(rows):
        return overlap, {}
    ends = begins[first] + np.cumsum(times)
    own = ranks[(ranks >= begins[first]) & (ranks < ends[-1])]
    chosen = np.searchsorted(ends, own, side="right")
    return overlap, {first: rows.columns[:, chosen]}


def _add_points(
    rows: Ensemble, first: int, *, embedding: Embedding, centres, scale, n_jobs
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of the points nearest to each centre, and their numbers."""
    times = _times(rows)
    nothing = np.zeros(centres.shape, np.int64), np.zeros(len(centres), np.int64)

    def work(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        points = embedding.points(rows, a, b)
        own = nearest(points, centres)
        sums, counts = np.zeros_like(nothing[0]), np.zeros_like(nothing[1])
        _kernels.embedding.add_points(points, own, times[a:b], scale, sums, counts)
        return sums, counts

    return reduce(_add, embedding.pass_over(work, rows, n_jobs), nothing)


def _add(one: tuple, other: tuple) -> tuple:
    return one[0] + other[0], one[1] + other[1]
