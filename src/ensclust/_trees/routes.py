"""What finds nearest neighbours and merges regions: a square matrix, or no matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ensclust import _kernels
from ensclust._support import parallel

if TYPE_CHECKING:
    from ensclust._trees.coassociation import CoAssociation

LINKAGES = ("average", "single", "complete")
_EXACT_WEIGHT = 2**10  # objects of a leaf up to which its sums are exact in float64
_SMALL = 2**20  # entries looked at below which waking a second thread costs more
_MAX_LOOKUPS = 2**32  # per round of threads: about a second


class Engine(Protocol):
    """What finds nearest neighbours and merges regions."""

    unit: float  # similarity = what is written to ``best`` times this

    def survey(self, near: np.ndarray, best: np.ndarray) -> None:
        """Write the nearest neighbour of every leaf, and how near it is."""

    def nearest(self, queue: np.ndarray, near: np.ndarray, best: np.ndarray) -> None:
        """Write the nearest neighbour of every queued region, and how near it is."""

    def join(self, merged: np.ndarray) -> None:
        """Merge pairs of regions."""


class Square:
    """A matrix of all pairs of regions, packed whenever half of them are gone.

    It is made after the first merges, where it takes half the space.
    """

    def __init__(
        self, coassociation: CoAssociation, linkage, dtype, n_jobs, coarse=None
    ):
        self.coassociation, self.coarse = coassociation, coarse
        self.dtype, self.n_jobs = dtype, n_jobs
        self.kind = LINKAGES.index(linkage)
        if coassociation.similarity is None and linkage == "average" and not coarse:
            self.kind = _kernels.square.PAIR_SUMS
        self.entries, self.unit = coassociation.contributions()
        self.square: np.ndarray = np.zeros(0)
        self.now = 0

    def survey(self, near, best):
        """Write the nearest neighbour of every leaf, and how near it is."""
        n = len(near)
        if self.coassociation.ensemble.has_missing:
            self._make(np.arange(n))
            self.nearest(np.arange(n), near, best)
        else:
            near[:], best[:] = closest(
                self.coassociation, self.entries, n_jobs=self.n_jobs
            )

    def _make(self, region):
        """Make the matrix; ``region`` is the lowest leaf of each leaf's region."""
        self.slot, regions = np.unique(region, return_inverse=True)
        if self.coarse:
            square, self.unit = self.coarse.fixed_point()
        elif self.kind == _kernels.square.PAIR_SUMS:
            square = self.coassociation.pair_sums(
                self.dtype, regions, n_jobs=self.n_jobs
            )
        else:
            square, self.unit = self.coassociation.fixed_point(
                regions, self.kind, n_jobs=self.n_jobs
            )
        self.square = square.reshape(-1)
        counts = self.coassociation.leaves.counts
        n, n_leaves = len(square), len(counts)
        self.size = np.bincount(regions, counts).astype(np.int64)
        self.place = np.full(n_leaves, n)
        self.place[self.slot] = np.arange(n)
        self.born, self.updated = np.zeros(n, np.int64), np.full(n, self.now)
        self.made = np.zeros(n_leaves, np.int64)
        self._count()

    def _count(self):
        self.alive = np.where(self.size > 0, np.uint32(2**32 - 1), np.uint32(0))
        self.mass = np.where(self.size > 0, self.size, np.inf)

    def nearest(self, queue, near, best):
        """Write the nearest neighbour of every queued region, and how near it is."""
        state = (self.slot, self.place, self.alive, self.mass)
        times = (self.born, self.updated, self.made, self.now)
        threads = self.n_jobs if len(self.size) * len(queue) > _SMALL else 1
        tasks = [
            (self.square, *state, *times, self.kind, queue, near, best, a, b)
            for a, b in parallel.blocks(len(queue), parallel.thread_count(threads))
        ]
        parallel.run(_kernels.square.scan, tasks, n_jobs=threads)

    def join(self, merged):
        """Merge pairs of regions."""
        if not len(self.square):
            region = np.arange(len(self.coassociation.leaves.counts))
            region[merged[:, 1]] = merged[:, 0]
            while (region != region[region]).any():  # regions of regions
                region = region[region]
            self.now = len(merged)
            self._make(region)
            return
        state = (self.size, self.born, self.updated)
        self.now = _kernels.square.join(
            self.square, self.place, *state, self.made, self.now, self.kind, merged
        )
        if 2 * np.count_nonzero(self.size) <= len(self.size):
            n = _kernels.square.pack(self.square, self.slot, self.place, *state)
            self.square, self.slot = self.square[: n**2], self.slot[:n]
            self.size, self.born, self.updated = (array[:n] for array in state)
        self._count()


class LabelSpace:
    """No matrix: similarities of a few regions to all are summed from the labels."""

    def __init__(self, coassociation: CoAssociation, n_jobs):
        ensemble = coassociation.ensemble
        self.coassociation, self.n_jobs = coassociation, n_jobs
        self.codes = coassociation.codes
        self.start = ensemble.offsets
        self.all_pairs = coassociation.pairs == "all"
        self.weight = coassociation.leaves.counts.astype(np.int64)
        n = len(self.weight)
        self.region, self.last_member = np.arange(n), np.arange(n)
        self.next_member = np.full(n, -1)
        is_present = self.codes < ensemble.cluster_counts
        present = is_present * self.weight[:, None].astype(np.float64)
        self.size = self.weight.astype(np.float64)
        self.present: np.ndarray = np.zeros((0, 0))
        if self.all_pairs:
            self.size = present.sum(axis=1)
        elif ensemble.has_missing:
            self.present = present
            if coassociation.weights is not None:  # products of two have the weight
                self.present = present * np.sqrt(coassociation.weights)
        most = largest(ensemble.n_objects)
        self.entries, self.unit = coassociation.contributions(most)
        if self.all_pairs or ensemble.has_missing:  # means, where others are sums
            self.unit *= coassociation.n_terms
        self.similarity = self.entries.astype(np.int64)
        if coassociation.similarity is None:
            self.similarity = np.zeros((0, 0), np.int64)
        self.widest = int(ensemble.cluster_counts.max()) + 1
        self.scratch: list[tuple[np.ndarray, np.ndarray]] = []

    @property
    def inputs(self) -> tuple[np.ndarray, ...]:
        """What the merges depend on, before the first of them."""
        labels = (self.codes, self.start, self.weight, self.size, self.present)
        return *labels, self.entries, np.array(self.all_pairs)

    def survey(self, near, best):
        """Write the nearest neighbour of every leaf, and how near it is."""
        heaviest = int(self.weight.max())
        if self.coassociation.ensemble.has_missing or heaviest > _EXACT_WEIGHT:
            self.nearest(np.arange(len(near)), near, best)
            return
        near[:], total = closest(self.coassociation, self.entries, n_jobs=self.n_jobs)
        pairs = self.weight * self.weight[near]
        best[:] = total * pairs / (self.size * self.size[near])

    def nearest(self, queue, near, best):
        """Write the nearest neighbour of every queued region, and how near it is."""
        threads = self.n_jobs if self.codes.size * len(queue) > _SMALL else 1
        spans = parallel.blocks(len(queue), parallel.thread_count(threads))
        n, n_clusterings = self.codes.shape
        lanes = _kernels.labelspace.LANES
        while len(self.scratch) < len(spans):
            tables = np.empty((n_clusterings, self.widest, lanes), np.int64)
            self.scratch.append((tables, np.empty((n, lanes), np.int64)))
        shared = (self.codes, self.start, self.similarity, self.all_pairs, self.weight)
        state = (self.region, self.next_member, self.size, self.present)
        tasks = [
            (*shared, *state, queue, near, best, *scratch, a, b)
            for scratch, (a, b) in zip(self.scratch, spans, strict=False)
        ]
        parallel.run(_kernels.labelspace.nearest, tasks, n_jobs=threads)

    def join(self, merged):
        """Merge pairs of regions."""
        _kernels.labelspace.join(
            self.region,
            self.next_member,
            self.last_member,
            self.size,
            self.present,
            merged,
        )


def closest(
    coassociation: CoAssociation, entries: np.ndarray, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the most similar other leaf of each, lowest first, and how similar.

    For complete labels and at least two leaves; ``entries`` are contributions, and
    similarities are in their unit. L^2 M / 2 look-ups, no matrix.
    """
    codes = coassociation.codes
    n, n_threads = len(codes), parallel.thread_count(n_jobs)
    found = [(np.zeros(n, np.int64), np.zeros(n, np.uint32)) for _ in range(n_threads)]
    for near, _ in found:
        near[0] = 1  # the lowest other, should all similarities be 0
    # Later rows have fewer left to be compared with: spans of equal area, short
    # enough that Ctrl-C need not wait for long.
    n_spans = n_threads * (2 + n * codes.size // _MAX_LOOKUPS)
    share = np.linspace(0, 1, n_spans + 1)
    edges = np.rint(n * (1 - np.sqrt(1 - share))).astype(int).tolist()
    start, all_pairs = coassociation.ensemble.offsets, coassociation.pairs == "all"
    shared = (codes, start, entries, all_pairs)
    for i in range(0, n_spans, n_threads):
        spans = zip(found, pairwise(edges[i : i + n_threads + 1]), strict=True)
        tasks = [(*shared, *mine, i0, i1) for mine, (i0, i1) in spans]
        parallel.run(_kernels.pairing.closest, tasks, n_jobs=n_jobs)
    best = np.max([value for _, value in found], axis=0)
    near = np.full(n, n)
    for place, value in found:
        np.minimum(near, np.where(value == best, place, n), out=near)
    return near, best


def largest(n_objects: int) -> int:
    """Return the largest similarity whose sum over pairs of objects fits int64."""
    return min(2**31 - 1, (2**63 - 1) // max(1, n_objects**2 // 4))
