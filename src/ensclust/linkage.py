"""Agglomeration by nearest-neighbour chains: in a square matrix, or without one.

Average linkage is reducible: reciprocal nearest neighbours may be merged in any order
and give one tree. A few chains are followed at a time, the nearest neighbours of their
tips are found together, and all reciprocal pairs are merged. Both engines answer the
same question in the same order (of equally near regions the lowest), over the distinct
label rows in lexicographic order with their numbers of objects as weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from ensclust import _kernels, _parallel
from ensclust._validation import check_choice, gibibytes
from ensclust.coassociation import DEFAULT_MEMORY
from ensclust.dendrogram import Dendrogram

if TYPE_CHECKING:
    from ensclust.coassociation import CoAssociation

LINKAGES = ("average", "single", "complete")
_CHAINS = 64  # chains followed at a time; more batch better, fewer look less ahead
_MAX_SCALE_BITS = 30  # fixed point of similarities in label space
_SMALL = 2**20  # entries looked at below which waking a second thread costs more


def link(
    coassociation: CoAssociation,
    linkage: str = "average",
    *,
    max_memory: int = DEFAULT_MEMORY,
    n_jobs: int | None = None,
) -> Dendrogram:
    """Agglomerate the objects of a co-association.

    Parameters
    ----------
    coassociation : CoAssociation
        The similarities.
    linkage : "average", "single" or "complete", default="average"
        Similarity of two groups.
    max_memory : int, default=2**31
        Bytes that a matrix of the F distinct label rows may take: 4 F^2, or 8 F^2 for
        the plain co-association of so many objects that pair counts need int64.
        Above it, and always with missing labels, average linkage works in label
        space, without a matrix; single and complete linkage raise MemoryError.
    n_jobs : int or None
        Threads; None is one per core. Never changes the result.

    Returns
    -------
    Dendrogram
        Over the original objects.

    Notes
    -----
    Square matrix: F^2 M / 2 look-ups and F^2 updates, 4 F^2 bytes. Label space: about
    3 F^2 M look-ups, about F (M + 200) bytes. The plain co-association is kept as
    integer sums over pairs in both, so both break ties alike. Other similarities are
    32-bit fixed point in the matrix (finer than float32, in the same space) and 64-bit
    fixed point in label space; the heights agree to 1e-6.
    """
    check_choice(linkage, "linkage", LINKAGES)
    coassociation = coassociation.expand_strangers(n_jobs=n_jobs)
    n_leaves = len(coassociation.leaves.counts)
    dtype = _square_dtype(coassociation, linkage)
    needed = np.dtype(dtype).itemsize * n_leaves**2
    pooled = coassociation.ensemble.has_missing and linkage == "average"
    engine: _Engine
    if needed <= max_memory and not pooled:
        engine = _Square(coassociation, linkage, dtype, n_jobs)
    elif linkage == "average":
        engine = _LabelSpace(coassociation, n_jobs)
    else:
        msg = (
            f"linkage={linkage!r} of {n_leaves:,} distinct label rows needs a matrix "
            f"of {gibibytes(needed)}; max_memory allows {gibibytes(max_memory)}. Raise "
            'max_memory, or use linkage="average", which needs no matrix.'
        )
        raise MemoryError(msg)
    merged, similarity = _agglomerate(engine, n_leaves)
    return _dendrogram(coassociation, merged, similarity * engine.unit)


def _square_dtype(coassociation: CoAssociation, linkage: str) -> type:
    """Return uint32, or int64 where sums over pairs of objects need it."""
    ensemble = coassociation.ensemble
    largest = ensemble.n_objects**2 * ensemble.n_clusterings / 4
    sums = coassociation.similarity is None and linkage == "average"
    return np.int64 if sums and largest >= 2**32 else np.uint32


class _Engine(Protocol):
    """What finds nearest neighbours and merges regions."""

    unit: float  # similarity = what ``nearest`` writes to ``best`` times this

    def nearest(self, queue: np.ndarray, near: np.ndarray, best: np.ndarray) -> None:
        """Write the nearest neighbour of every queued region, and how near it is."""

    def join(self, merged: np.ndarray) -> None:
        """Merge pairs of regions."""


def _agglomerate(engine: _Engine, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the merged regions and their similarity, children before parents."""
    chain = _kernels.chain
    near, best = np.zeros(n, np.int64), np.zeros(n)
    asked, born = np.full(n, -1), np.zeros(n, np.int64)
    alive, queued = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    queue = np.empty(_CHAINS, np.int64)
    merged, similarity = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    n_merged = first = 0
    while n_merged < n - 1:
        first += int(np.argmax(alive[first:]))
        length = chain.plan(near, asked, born, alive, queued, queue, first)
        if length < 1:
            msg = (
                f"the nearest-neighbour chains stopped after {n_merged} of {n - 1} "
                "merges: the similarity is not symmetric. Please report this ensemble."
            )
            raise RuntimeError(msg)
        tips = queue[:length]
        engine.nearest(tips, near, best)
        before, n_merged = (
            n_merged,
            chain.reciprocal(
                tips, near, best, asked, born, alive, merged, similarity, n_merged
            ),
        )
        engine.join(merged[before:n_merged])
    return merged, similarity


class _Square:
    """A matrix of all pairs of regions, packed whenever half of them are gone."""

    def __init__(self, coassociation: CoAssociation, linkage, dtype, n_jobs):
        self.n_jobs = n_jobs
        self.kind = LINKAGES.index(linkage)
        if coassociation.similarity is None and linkage == "average":
            self.kind = _kernels.square.PAIR_SUMS
            square = coassociation.pair_sums(dtype, n_jobs=n_jobs)
            self.unit = 1 / coassociation.ensemble.n_clusterings
        else:
            square, self.unit = coassociation.fixed_point(n_jobs=n_jobs)
        self.square = square.reshape(-1)
        self.size = coassociation.leaves.counts.astype(np.int64)
        n = len(self.size)
        self.slot, self.place = np.arange(n), np.arange(n)
        self.born, self.updated = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.made, self.now = np.zeros(n, np.int64), 0

    def nearest(self, queue, near, best):
        state = (self.slot, self.place, self.size, self.born, self.updated, self.made)
        threads = self.n_jobs if len(self.size) * len(queue) > _SMALL else 1
        tasks = [
            (self.square, *state, self.now, self.kind, queue, near, best, a, b)
            for a, b in _parallel.blocks(len(queue), _parallel.thread_count(threads))
        ]
        _parallel.run(_kernels.square.scan, tasks, n_jobs=threads)

    def join(self, merged):
        state = (self.size, self.born, self.updated)
        self.now = _kernels.square.join(
            self.square, self.place, *state, self.made, self.now, self.kind, merged
        )
        if 2 * np.count_nonzero(self.size) <= len(self.size):
            n = _kernels.square.pack(self.square, self.slot, self.place, *state)
            self.square, self.slot = self.square[: n**2], self.slot[:n]
            self.size, self.born, self.updated = (array[:n] for array in state)


class _LabelSpace:
    """No matrix: similarities of a few regions to all are summed from the labels."""

    def __init__(self, coassociation: CoAssociation, n_jobs):
        ensemble = coassociation.ensemble
        n_clusterings = ensemble.n_clusterings
        self.n_jobs = n_jobs
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
        self.unit = 1.0 / n_clusterings
        if self.all_pairs:
            self.size = present.sum(axis=1)
            self.unit = coassociation.decay
        elif ensemble.has_missing:
            self.present, self.unit = present, 1.0
            if coassociation.weights is not None:  # products of two have the weight
                self.present = present * np.sqrt(coassociation.weights)
        self.similarity = np.zeros((0, 0), np.int64)
        if coassociation.similarity is not None:
            n_terms = n_clusterings ** (2 if self.all_pairs else 1)
            bits = _scale_bits(ensemble.n_objects, n_terms)
            scaled = np.ldexp(coassociation.similarity, bits)
            self.similarity = np.rint(scaled).astype(np.int64)
            self.unit = np.ldexp(self.unit, -bits)
        self.widest = int(ensemble.cluster_counts.max()) + 1
        self.scratch: list[tuple[np.ndarray, np.ndarray]] = []

    def nearest(self, queue, near, best):
        threads = self.n_jobs if self.codes.size * len(queue) > _SMALL else 1
        spans = _parallel.blocks(len(queue), _parallel.thread_count(threads))
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
        _parallel.run(_kernels.labelspace.nearest, tasks, n_jobs=threads)

    def join(self, merged):
        _kernels.labelspace.join(
            self.region,
            self.next_member,
            self.last_member,
            self.size,
            self.present,
            merged,
        )


def _scale_bits(n_objects: int, n_terms: int) -> int:
    """Return the bits of a fixed point that no sum over pairs of objects overflows."""
    most = max(1, n_objects**2 * n_terms // 4)
    return min(_MAX_SCALE_BITS, 62 - most.bit_length())


def _dendrogram(coassociation, merged, similarity) -> Dendrogram:
    """Sort the merges of a chain by height and number the nodes."""
    leaves = coassociation.leaves
    n = len(leaves.counts)
    last = np.full(n, np.inf)
    for i, (a, b) in enumerate(merged):  # rounding may lift a parent over its child
        similarity[i] = last[a] = min(similarity[i], last[a], last[b])
    order = np.argsort(-similarity, kind="stable")
    node = np.arange(n)
    merges = np.empty((n - 1, 2), np.int64)
    for i, (a, b) in enumerate(merged[order]):
        merges[i] = sorted((node[a], node[b]))
        node[a] = n + i
    heights = 1 - similarity[order]
    return Dendrogram(leaves.inverse, merges, heights, 1 - coassociation.within())
