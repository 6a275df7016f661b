"""Agglomeration by nearest-neighbour chains: in a square matrix, or without one.

Average linkage is reducible: reciprocal nearest neighbours may be merged in any order
and give one tree. A few chains are followed at a time, the nearest neighbours of their
tips are found together, and all reciprocal pairs are merged. Both routes answer the
same question in the same order (of equally near regions the lowest), over the distinct
label rows in lexicographic order with their numbers of objects as weights.
"""

from __future__ import annotations

import os
import time
from contextlib import nullcontext
from itertools import pairwise

import numpy as np

from ensclust import _kernels
from ensclust._files.checkpoint import Checkpoint
from ensclust._support import memory, parallel
from ensclust._support.progress import in_words, tell
from ensclust._support.validation import check_choice, check_integer, gibibytes, warn
from ensclust._trees.coarsening import Coarsening
from ensclust._trees.coassociation import DEFAULT_MEMORY, CoAssociation
from ensclust._trees.dendrogram import Dendrogram
from ensclust._trees.kept_merges import KeptMerges, held_interrupts

LINKAGES = ("average", "single", "complete")
FULL = 2**31 - 1  # a similarity of 1 in fixed point
_CHAINS = 64  # chains followed at a time; more batch better, fewer look less ahead
_EXACT_WEIGHT = 2**10  # objects of a leaf up to which its sums are exact in float64
_SMALL = 2**20  # entries looked at below which waking a second thread costs more
_MANY = 20_000  # label rows from which linkage without a matrix may take minutes
_QUESTIONS = 4  # per label row, the first search included: 3 for counts, 4 for others
_MAX_LOOKUPS = 2**32  # per round of threads: about a second


def link(
    coassociation: CoAssociation,
    linkage: str = "average",
    *,
    max_memory: int = DEFAULT_MEMORY,
    max_regions: int | None = None,
    checkpoint: str | os.PathLike | None = None,
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
    max_regions : int or None
        None is exact. A number below F makes the tree approximate: the label rows are
        merged to so many regions by near ones only, see
        ``Coarsening``, and these are linked exactly. For
        average linkage. There is no checkpoint then.
    checkpoint : path or None
        Directory that label space keeps the merges in, every few seconds and when it is
        interrupted. If it holds some, the work goes on from there; in the end they are
        deleted. A matrix, whose linkage takes little longer than making it, keeps none.
    n_jobs : int or None
        Threads; None is one per core. Never changes the result.

    Returns
    -------
    Dendrogram
        Over the original objects.

    Notes
    -----
    The nearest other row of each is found first, F^2 M / 2 look-ups, and all pairs
    that are nearest to each other are merged. Square matrix: as many look-ups again
    and F^2 updates; 4 bytes per pair of what is left, at most 4 F^2 and usually half
    of it. Label space: about 3 F^2 M look-ups, about F (M + 200) bytes.

    The plain co-association is kept as integer sums over pairs in both, so both break
    ties alike. Other similarities are 31-bit fixed point in the matrix (finer than
    float32, in the same space) and 64-bit sums of such in label space; the heights
    agree to 1e-6.
    """
    _check(coassociation, linkage, max_memory, max_regions)
    folder = None if checkpoint is None else Checkpoint.make_folder(checkpoint)
    n_leaves = len(coassociation.leaves.counts)
    if max_regions is not None and max_regions < n_leaves:
        return _link_regions(coassociation, linkage, max_regions, max_memory, n_jobs)
    coassociation = coassociation.expand_strangers(n_jobs=n_jobs)
    n_leaves = len(coassociation.leaves.counts)
    dtype = _square_dtype(coassociation, linkage)
    needed = np.dtype(dtype).itemsize * n_leaves**2
    pooled = coassociation.ensemble.has_missing and linkage == "average"
    route: Square | LabelSpace
    kept = None
    if needed <= max_memory and not pooled:
        _require_square(needed, n_leaves)
        route = Square(coassociation, linkage, dtype, n_jobs)
    elif linkage == "average":
        route = LabelSpace(coassociation, n_jobs)
        if n_leaves >= _MANY:
            warn_of_time(route)
        if folder is not None:
            kept = KeptMerges(folder, route.inputs)
    else:
        msg = (
            f"linkage={linkage!r} of {n_leaves:,} distinct label rows needs a matrix "
            f"of {gibibytes(needed)}; max_memory allows {gibibytes(max_memory)}. Raise "
            'max_memory, or use linkage="average", which needs no matrix.'
        )
        raise MemoryError(msg)
    merged, similarity = _agglomerate(route, n_leaves, kept)
    return _dendrogram(coassociation, merged, similarity * route.unit)


def link_matrix(
    square: np.ndarray, linkage: str, leaf_of_object: np.ndarray, *, n_jobs=None
) -> Dendrogram:
    """Agglomerate leaves by a matrix of their similarities, each counting once.

    Parameters
    ----------
    square : ndarray of shape (L, L), uint32
        Symmetric similarities in units of 1 / (2^31 - 1), which are overwritten.
    linkage : "average", "single" or "complete"
        Similarity of two groups of leaves.
    leaf_of_object : ndarray of shape (N,)
        The leaf of each object.
    n_jobs : int or None
        Threads; None is one per core. Never changes the result.
    """
    route = Given(square, 1 / FULL, linkage, n_jobs)
    merged, similarity = _agglomerate(route, len(square))
    merges, similarity = _in_order(merged, similarity * route.unit)
    return Dendrogram(leaf_of_object, merges, 1 - similarity)


def _check(coassociation, linkage, max_memory, max_regions) -> None:
    """Raise for what linkage cannot begin with."""
    if not isinstance(coassociation, CoAssociation):
        msg = (
            f"coassociation is of type {type(coassociation).__name__}; expected "
            "ensclust.CoAssociation(ensemble)."
        )
        raise TypeError(msg)
    check_choice(linkage, "linkage", LINKAGES)
    check_integer(max_memory, "max_memory", 0)
    if max_regions is not None:
        check_integer(max_regions, "max_regions")


def _link_regions(
    coassociation: CoAssociation,
    linkage: str,
    max_regions: int,
    max_memory: int,
    n_jobs,
) -> Dendrogram:
    """Coarsen the label rows to some regions, and link these exactly."""
    if linkage != "average":
        msg = (
            f"max_regions={max_regions} with linkage={linkage!r}: regions have a mean "
            'similarity, but no largest or smallest. Use linkage="average", or leave '
            "out max_regions."
        )
        raise ValueError(msg)
    coarse = Coarsening(coassociation, max_regions, n_jobs=n_jobs)
    route: Square | LabelSpace
    if 4 * max_regions**2 <= max_memory and not coassociation.ensemble.has_missing:
        _require_square(4 * max_regions**2, max_regions)
        route = Square(coassociation, linkage, np.uint32, n_jobs, coarse)
    else:
        route = LabelSpace(coassociation, n_jobs)
    merged, similarity = _agglomerate(
        route, len(coassociation.leaves.counts), coarse=coarse
    )
    return _dendrogram(coassociation, merged, similarity * route.unit)


def _require_square(needed: int, n_regions: int) -> None:
    """Refuse a matrix that the budget allows and the machine does not.

    Half of it is what is usually left after the first merges.
    """
    memory.require(
        needed / 2,
        f"a matrix of {n_regions:,} distinct label rows",
        'Lower max_memory, with linkage="average".',
    )


def _square_dtype(coassociation: CoAssociation, linkage: str) -> type:
    """Return uint32, or int64 where sums over pairs of objects need it."""
    ensemble = coassociation.ensemble
    n_objects = int(coassociation.leaves.counts.sum())
    largest = n_objects**2 * ensemble.n_clusterings / 4
    sums = coassociation.similarity is None and linkage == "average"
    return np.int64 if sums and largest >= 2**32 else np.uint32


def _agglomerate(
    route: Square | LabelSpace, n: int, kept: KeptMerges | None = None, coarse=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the merged regions and their similarity, children before parents."""
    chain = _kernels.chain
    state = {
        "near": np.zeros(n, np.int64),
        "best": np.zeros(n),
        "asked": np.full(n, -1),
        "born": np.zeros(n, np.int64),
        "alive": np.ones(n, dtype=bool),
        "merged": np.empty((n - 1, 2), np.int64),
        "similarity": np.empty(n - 1),
    }
    near, best, asked, born, alive, merged, similarity = state.values()
    queued, queue = np.zeros(n, dtype=bool), np.empty(_CHAINS, np.int64)
    n_merged = first = 0
    is_restored = kept is not None and kept.restore(state)
    if is_restored:
        n_merged = n - int(np.count_nonzero(alive))
    elif coarse:
        n_merged = len(coarse.merged)
        merged[:n_merged] = coarse.merged
        alive[coarse.merged[:, 1]] = False
    elif n > 1:
        route.survey(near, best)
        n_merged = chain.reciprocal(np.arange(n), *state.values(), n_merged)
    if n_merged:
        route.join(merged[:n_merged])
    if coarse:
        similarity[:n_merged] = coarse.similarity / route.unit
    n_before = n_merged
    with held_interrupts() if kept else nullcontext(lambda: False) as is_pressed:
        while n_merged < n - 1:
            first += int(np.argmax(alive[first:]))
            length = chain.plan(near, asked, born, alive, queued, queue, first)
            if length < 1 and is_restored:
                assert kept is not None
                raise kept.damaged()
            if length < 1:
                msg = (
                    f"the nearest-neighbour chains stopped after {n_merged} of {n - 1} "
                    "merges: the similarity is not symmetric. Please report this "
                    "ensemble."
                )
                raise RuntimeError(msg)
            tips, n_known = queue[:length], n_merged
            route.nearest(tips, near, best)
            n_merged = chain.reciprocal(tips, *state.values(), n_merged)
            route.join(merged[n_known:n_merged])
            tell(n_merged - n_before, n - 1 - n_before, "merges")
            if not kept:
                continue
            kept.save(state, at_once=is_pressed())
            if is_pressed():
                msg = f"the merges so far are in {kept.path}"
                raise KeyboardInterrupt(msg)
    if kept:
        kept.remove()
    return merged, similarity


def _dendrogram(coassociation, merged, similarity) -> Dendrogram:
    """Return the tree of the merges of a chain."""
    merges, similarity = _in_order(merged, similarity)
    leaf_of_object, heights = coassociation.leaves.inverse, 1 - similarity
    return Dendrogram(
        leaf_of_object, merges, heights, _leaf_heights(coassociation, merges, heights)
    )


def _in_order(merged, similarity) -> tuple[np.ndarray, np.ndarray]:
    """Return merges of nodes and their similarity, descending."""
    n = len(merged) + 1
    _kernels.chain.settle(merged, similarity, np.full(n, np.inf))
    order = np.argsort(-similarity, kind="stable")
    merges = merged[order]
    _kernels.chain.number(merges, np.arange(n))
    return merges, similarity[order]


def _leaf_heights(coassociation, merges, heights) -> np.ndarray:
    """Return the distances within the leaves, none above that of the first merge.

    With weights of base clusters and missing labels, objects with equal rows may be
    closer to others than to each other.
    """
    found = 1 - coassociation.within()
    if coassociation.cluster_weights is not None and len(heights):
        first = np.empty(2 * len(found) - 1)
        first[merges] = heights[:, None]
        np.minimum(found, first[: len(found)], out=found)
    return found


class Square:
    """A matrix of all pairs of regions, packed whenever half of them are gone.

    It is made after the first merges, where it takes half the space. A similarity is
    what is written to ``best`` times ``unit``, here as in :class:`LabelSpace`.
    """

    def __init__(
        self, coassociation: CoAssociation, linkage, dtype, n_jobs, coarse=None
    ):
        self.coassociation, self.coarse = coassociation, coarse
        self.dtype, self.n_jobs = dtype, n_jobs
        are_sums = coassociation.similarity is None and linkage == "average"
        self.kind = (
            _kernels.square.PAIR_SUMS
            if are_sums and not coarse
            else LINKAGES.index(linkage)
        )
        self.entries, self.unit = coassociation.contributions()
        self.square, self.now = np.zeros(0), 0

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
        self._hold(square, regions, self.coassociation.leaves.counts)

    def _hold(self, square, regions, counts):
        """Take a matrix of regions; ``counts`` are the objects of each leaf."""
        self.square = square.reshape(-1)
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
        parallel.run_spans(
            _kernels.square.scan,
            parallel.blocks(len(queue), parallel.thread_count(threads)),
            (self.square, *state, *times, self.kind, queue, near, best),
            n_jobs=threads,
        )

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


class Given(Square):
    """A matrix of leaves that count once each, (n, n) uint32; it is overwritten."""

    def __init__(self, square: np.ndarray, unit: float, linkage: str, n_jobs):
        self.kind, self.unit, self.n_jobs = LINKAGES.index(linkage), unit, n_jobs
        self.given, self.now = square, 0

    def survey(self, near, best):
        """Write the nearest neighbour of every leaf, and how near it is."""
        leaves = np.arange(len(near))
        self.slot = leaves.copy()
        self._hold(self.given, leaves, np.ones(len(near), np.int64))
        self.nearest(leaves, near, best)


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
        size = self.weight.astype(np.float64)
        present = (self.codes < ensemble.cluster_counts) * size[:, None]
        self.size = present.sum(axis=1) if self.all_pairs else size
        self.present = np.zeros((0, 0))
        if ensemble.has_missing and not self.all_pairs:
            weights = coassociation.weights  # which products of two have
            self.present = present * (1 if weights is None else np.sqrt(weights))
        self.entries, self.unit = coassociation.contributions(
            largest(int(self.weight.sum()))
        )
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
        best[:] = (
            total * (self.weight * self.weight[near]) / (self.size * self.size[near])
        )

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


def warn_of_time(route: LabelSpace) -> None:
    """Say how long linkage without a matrix takes, where that is a minute or more."""
    seconds, n = expected_seconds(route), len(route.weight)
    if seconds >= 60:
        warn(
            f"exact linkage of {n:,} distinct label rows takes about "
            f"{in_words(seconds)} with {parallel.thread_count(route.n_jobs)} threads, "
            "by the time of its first steps; checkpoint=DIRECTORY keeps what is done. "
            "max_regions=20000 gives an approximate tree sooner."
        )


def expected_seconds(route: LabelSpace) -> float:
    """Return how long all merges take, if every step takes as long as the first.

    Rounds of chains are timed for half a second.
    """
    n = len(route.weight)
    tips, near, best = np.arange(min(n, _CHAINS)), np.zeros(n, np.int64), np.zeros(n)
    route.nearest(tips[:1], near, best)  # compiles, and makes the tables
    n_rounds, begin, elapsed = 0, time.perf_counter(), 0.0
    while elapsed < 0.5:
        route.nearest(tips, near, best)
        n_rounds, elapsed = n_rounds + 1, time.perf_counter() - begin
    return elapsed / n_rounds * _QUESTIONS * n / len(tips)


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
    shared = (
        codes,
        coassociation.ensemble.offsets,
        entries,
        coassociation.pairs == "all",
    )
    for i in range(0, n_spans, n_threads):
        tell(i, n_spans, "nearest label rows")
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
