"""Routes of an agglomeration: a matrix of all pairs of regions, or the labels alone.

A route finds the nearest region of each of some regions, and merges regions. Among
equally near regions the lowest counts. Values in ``best`` times ``unit`` are
similarities.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ensclust import _kernels
from ensclust._support import parallel
from ensclust._support.progress import tell
from ensclust._support.validation import gibibytes
from ensclust._trees.coassociation import CoAssociation, mirrored

LINKAGES = ("average", "single", "complete")
_EXACT_WEIGHT = 2**10  # objects of a leaf up to which its sums are exact in float64
_SMALL = 2**20  # entries below which a second thread does not pay off
_MAX_LOOKUPS = 2**32  # per round of threads: about a second
_ROWS = 512  # rows of the matrix that a thread writes at a time
# Of similarities of complete labels: regions of up to 16 objects, which most searches
# are for, then have tables of 32 bits.
_COMPLETE_BITS = 28
_PACK = 0.95  # share of living regions at which each becomes one row
_SAMPLE = 4  # runs of neighbouring leaves that tell whether bounds save comparisons
_FEW = 0.25  # share of comparisons below which they do
_SLICE = 2**14  # leaves searched for at a time: Ctrl-C does not wait for long
CHAINS = 64  # chains followed at a time; more batch better, fewer waste fewer searches
# Where neighbours are looked for in few places, chains that begin near each other share
# these. Plain co-associations have many ties, which the order of merges breaks.
_LOCAL_CHAINS = 2**12
FEW_BYTES = 2**26  # of a matrix that is filled sooner than its regions are merged


class Matrix:
    """A matrix of all pairs of regions, packed whenever half of them are gone.

    Parameters
    ----------
    kind : int
        What the matrix holds and how two rows become one, see ``_kernels.square``.
    unit : float
        Unit of the similarities.
    n_jobs : int or None
        Threads.
    """

    def __init__(self, kind: int, unit: float, n_jobs: int | None):
        self.kind, self.unit, self.n_jobs = kind, unit, n_jobs
        self.n_chains = CHAINS
        self.square, self.now = np.zeros(0), 0

    def hold(self, square, slot, size, n_leaves) -> None:
        """Set the matrix; ``slot`` is the region of each row, ``size`` its objects."""
        n = len(square)
        self.square, self.slot, self.size = square.reshape(-1), slot, size
        self.now = n_leaves - n  # merges up to now
        self.place = np.full(n_leaves, n)
        self.place[slot] = np.arange(n)
        self.born, self.updated = np.zeros(n, np.int64), np.full(n, self.now)
        self.made = np.zeros(n_leaves, np.int64)
        self._count()

    def _count(self):
        self.alive = np.where(self.size > 0, np.uint32(2**32 - 1), np.uint32(0))
        self.mass = np.where(self.size > 0, self.size, np.inf)

    def survey(self, near, best):
        """Write the nearest neighbour of every leaf, and how near it is."""
        self.nearest(np.arange(len(near)), near, best)

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
        state = (self.size, self.born, self.updated)
        self.now = _kernels.square.join(
            self.square, self.place, *state, self.made, self.now, self.kind, merged
        )
        if 2 * np.count_nonzero(self.size) <= len(self.size):
            n = _kernels.square.pack(self.square, self.slot, self.place, *state)
            self.square, self.slot = self.square[: n**2], self.slot[:n]
            self.size, self.born, self.updated = (array[:n] for array in state)
        self._count()


class Square(Matrix):
    """The matrix of a co-association, made after the first merges.

    It then takes half the space that a matrix of the leaves would.
    """

    def __init__(
        self,
        coassociation: CoAssociation,
        linkage,
        dtype,
        n_jobs,
        coarse=None,
        *,
        max_memory: int | None = None,
    ):
        are_sums = coassociation.similarity is None and linkage == "average"
        kind = LINKAGES.index(linkage)
        if are_sums and not coarse:
            kind = _kernels.square.PAIR_SUMS
        self.entries, unit = coassociation.contributions()
        super().__init__(kind, unit, n_jobs)
        self.coassociation, self.coarse, self.dtype = coassociation, coarse, dtype
        self.linkage, self.max_memory = linkage, max_memory

    def survey(self, near, best):
        """Write the nearest neighbour of every leaf, and how near it is."""
        n = len(near)
        if self.coassociation.ensemble.has_missing:
            self._make(np.arange(n))
            super().survey(near, best)
        else:
            near[:], best[:] = closest(
                self.coassociation, self.entries, n_jobs=self.n_jobs
            )

    def _make(self, region):
        """Make the matrix; ``region`` is the lowest leaf of each leaf's region."""
        slot, regions = np.unique(region, return_inverse=True)
        if self.max_memory is not None:
            needed = np.dtype(self.dtype).itemsize * len(slot) ** 2
            require_budget(needed, self.linkage, len(region), self.max_memory)
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
        counts = self.coassociation.leaves.counts
        size = np.bincount(regions, counts).astype(np.int64)
        self.hold(square, slot, size, len(counts))

    def join(self, merged):
        """Merge pairs of regions, the first time by making the matrix."""
        if len(self.square):
            super().join(merged)
            return
        region = np.arange(len(self.coassociation.leaves.counts))
        region[merged[:, 1]] = merged[:, 0]
        while (region != region[region]).any():  # regions of regions
            region = region[region]
        self._make(region)


class Given(Matrix):
    """A matrix of leaves that each count once, (n, n) uint32; it is overwritten."""

    def __init__(self, square: np.ndarray, unit: float, linkage: str, n_jobs):
        super().__init__(LINKAGES.index(linkage), unit, n_jobs)
        n = len(square)
        self.hold(square, np.arange(n), np.ones(n, np.int64), n)


class LabelSpace:
    """No matrix: similarities of a few regions to all are summed from the labels.

    A row is a histogram over the base clusters, at first of the objects of one leaf;
    whenever a twentieth of the regions are gone, each remaining region becomes one row.
    It has few more entries than a leaf, since regions that merge early are similar.
    Leaves are in lexicographic order, so that neighbouring rows share clusters, and a
    bound on the similarity of a block of rows often tells that none of them is nearest.
    Once a matrix of the remaining regions fits ``max_memory`` bytes, or if bounds save
    most comparisons, ``FEW_BYTES``, :meth:`to_matrix` creates one.

    Parameters
    ----------
    coassociation : CoAssociation
        The similarities.
    n_jobs : int or None
        Threads.
    max_memory : int
        Bytes that a matrix may take. With missing labels there is never one.
    dtype : type
        Type of its entries.

    Attributes
    ----------
    is_local : bool
        Whether bounds save most comparisons, as those of a few leaves tell.
    n_chains : int
        Chains to follow at a time.
    error : float
        How much a similarity may be off, because sums over all pairs fit 64 bits.
    """

    def __init__(
        self,
        coassociation: CoAssociation,
        n_jobs: int | None,
        max_memory: int = 0,
        dtype: type = np.uint32,
    ):
        ensemble = coassociation.ensemble
        self.coassociation, self.n_jobs, self.dtype = coassociation, n_jobs, dtype
        self.all_pairs = coassociation.pairs == "all"
        self.start = ensemble.offsets
        self.widest = int(ensemble.cluster_counts.max())
        self.weight = coassociation.leaves.counts.astype(np.int64)
        self.size, self.present = self.weight.astype(np.float64), np.zeros((0, 0))
        self._make_rows(coassociation.codes)
        n_bits = 31 if ensemble.has_missing else _COMPLETE_BITS
        self.most = largest(int(self.weight.sum()), n_bits)
        self.entries, self.unit = coassociation.contributions(self.most)
        if ensemble.has_missing:
            self._count_present()
        # Entries are rounded by at most a half.
        n_terms = 1 if ensemble.has_missing else coassociation.n_terms
        is_plain = coassociation.similarity is None
        self.error = 0.0 if is_plain else n_terms * self.unit / 2
        self.similarity = self.entries.astype(np.uint64)
        if coassociation.similarity is None:
            self.similarity = np.zeros((0, 0), np.uint64)
            self.most = coassociation.n_terms
        self.max_memory = 0 if ensemble.has_missing else max_memory
        self.is_local, self.n_chains = self._are_bounds_near(), CHAINS
        if self.is_local and coassociation.similarity is not None:
            self.n_chains = _LOCAL_CHAINS
            self.max_memory = min(max_memory, FEW_BYTES)

    def _make_rows(self, codes: np.ndarray) -> None:
        """Make each leaf a row, and a region."""
        n, n_clusterings = codes.shape
        self.slot, self.place = np.arange(n), np.arange(n)
        self.last_member, self.next_member = np.arange(n), np.full(n, -1)
        is_present = codes < self.coassociation.ensemble.cluster_counts
        n_present = is_present.sum(axis=1)
        first = np.arange(n_clusterings, dtype=np.int32) * self.widest
        self.edge = np.concatenate([[0], np.cumsum(n_present)])
        self.slots = (codes + first)[is_present].astype(np.int32)
        is_few = self.weight.sum() < 2**32
        own = self.weight.astype(np.uint32 if is_few else np.uint64)
        self.count = np.repeat(own, n_present)
        self._summarise()

    def _count_present(self) -> None:
        """Count the objects, or the memberships, that two regions are compared by."""
        codes = self.coassociation.codes
        is_present = codes < self.coassociation.ensemble.cluster_counts
        self.unit *= self.coassociation.n_terms  # means, not sums
        if self.all_pairs:
            self.size *= is_present.sum(axis=1)
            return
        weights = self.coassociation.weights  # products of two roots are weights
        root = np.ones(1) if weights is None else np.sqrt(weights)
        self.present = is_present * self.size[:, None] * root

    @property
    def n_slots(self) -> int:
        """Slots of a histogram: as many for each clustering as the widest one has."""
        return self.widest * (len(self.start) - 1)

    def inputs(self) -> tuple[np.ndarray, ...]:
        """Return what the merges depend on, before the first of them."""
        labels = (self.coassociation.codes, self.start, self.weight)
        sizes = (self.size, self.present)
        return *labels, *sizes, self.entries, np.array(self.all_pairs)

    def survey(self, near, best):
        """Write the nearest neighbour of every leaf, and how near it is."""
        heaviest = int(self.weight.max())
        if self.coassociation.ensemble.has_missing or heaviest > _EXACT_WEIGHT:
            self.nearest(np.arange(len(near)), near, best)
            return
        if self.is_local:
            for a, b in parallel.strips(len(near), _SLICE):
                tell(a, len(near), "nearest label rows")
                self.nearest(np.arange(a, b), near, best)
            return
        near[:], total = closest(self.coassociation, self.entries, n_jobs=self.n_jobs)
        best[:] = (
            total * (self.weight * self.weight[near]) / (self.size * self.size[near])
        )

    def _are_bounds_near(self) -> bool:
        """Return whether bounds save most comparisons of a sample of leaves."""
        n, lanes = len(self.weight), 2 * _kernels.labelspace.LANES
        if self.coassociation.ensemble.has_missing:
            return False
        near, best = np.zeros(n, np.int64), np.zeros(n)
        n_compared = n_asked = 0
        for first, last in parallel.blocks(n, _SAMPLE):
            queue = np.arange(first, min(first + lanes, last))
            n_compared += len(queue) * self._nearest(
                queue, near, best, np.uint64, len(queue), n_jobs=1
            )
            n_asked += len(queue)
        return n_compared < _FEW * n * n_asked

    def nearest(self, queue, near, best):
        """Write the nearest neighbour of every queued region, and how near it is."""
        # The largest sum over the objects of a region determines the type of its
        # tables.
        queue = np.sort(queue)  # neighbours are searched for together
        is_narrow = self.size[self.place[queue]] * self.most < 2**32
        lanes = _kernels.labelspace.LANES
        n_jobs = self.n_jobs if len(self.slots) * len(queue) > _SMALL else 1
        self._nearest(queue[is_narrow], near, best, np.uint32, 2 * lanes, n_jobs)
        self._nearest(queue[~is_narrow], near, best, np.uint64, lanes, n_jobs)

    def _nearest(self, queue, near, best, dtype, most_lanes, n_jobs) -> int:
        """Search with tables of a type; return the number of compared regions."""
        if not len(queue):
            return 0
        spans = parallel.blocks(len(queue), parallel.thread_count(n_jobs))
        # Whole vectors of lanes, no more than there are regions to search for.
        lanes = min(most_lanes, -(-len(queue) // (8 * len(spans))) * 8)
        rows = (self.edge, self.slots, self.count)
        shared = (self.start, self.similarity, self.all_pairs, *rows)
        state = (self.slot, self.place, self.next_member, self.size, self.present)
        blocks = (*self.blocks, np.flatnonzero(self.is_far))
        given = (*shared, *state, *blocks, queue, near, best)
        tasks = [
            (*given, np.empty((self.n_slots, lanes), dtype), *span) for span in spans
        ]
        return sum(parallel.run(_kernels.labelspace.nearest, tasks, n_jobs=n_jobs))

    def _summarise(self) -> None:
        """Record the slots that the rows of each block use."""
        kernels, n, self.blocks = _kernels.labelspace, len(self.edge) - 1, []
        for height in kernels.BLOCK * kernels.WIDE ** np.arange(3):
            used = np.empty(len(self.slots), np.int32)
            edge = np.empty((-(-n // height), len(self.start)), np.int64)
            last = kernels.summarise(
                self.edge, self.slots, self.widest, height, edge, used
            )
            self.blocks.append((edge, used[:last].copy()))
        self.is_far = np.zeros(n, dtype=bool)

    def join(self, merged):
        """Merge pairs of regions."""
        _kernels.labelspace.join(
            self.is_far,
            self.place,
            self.next_member,
            self.last_member,
            self.size,
            self.present,
            merged,
        )
        if np.count_nonzero(self.size) <= _PACK * len(self.size):
            self._pack()

    def _pack(self) -> None:
        """Make each region one row, the histogram of its objects."""
        kept = np.flatnonzero(self.size)
        edge, slots = np.empty(len(kept) + 1, np.int64), np.empty(0, np.int32)
        count = np.empty(0, self.count.dtype)
        rows = (self.edge, self.slots, self.count, self.next_member)
        own = (*rows, kept, self.n_slots, edge)
        n = _kernels.labelspace.pack(*own, slots, count)
        slots, count = np.empty(n, np.int32), np.empty(n, self.count.dtype)
        _kernels.labelspace.pack(*own, slots, count)
        self.edge, self.slots, self.count = edge, slots, count
        self.slot, self.size = self.slot[kept], self.size[kept]
        self.present = self.present[kept] if len(self.present) else self.present
        self.place[self.slot] = np.arange(len(kept))
        self.last_member = np.arange(len(kept))
        self.next_member = np.full(len(kept), -1)
        self._summarise()

    def fits(self, n_regions: int) -> bool:
        """Return whether a matrix of ``n_regions`` regions fits ``max_memory``."""
        return np.dtype(self.dtype).itemsize * n_regions**2 <= self.max_memory

    def to_matrix(self, best) -> Matrix:
        """Return the matrix of the remaining regions.

        If it holds rounded means, the recorded similarities, ``best``, are rounded in
        the same way, so that nearest neighbours stay nearest.
        """
        self._pack()
        kind, n = LINKAGES.index("average"), len(self.slot)
        if self.coassociation.similarity is None:
            kind = _kernels.square.PAIR_SUMS
        else:
            best[:] = np.floor(best + 0.5)
        square: np.ndarray = np.empty((n, n), self.dtype)
        shared = (self.start, self.similarity, self.all_pairs, self.widest)
        rows = (self.edge, self.slots, self.count, self.size)
        parallel.run_spans(
            _kernels.labelspace.gather,
            parallel.strips(n, _ROWS),
            (*shared, *rows, kind, square),
            n_jobs=self.n_jobs,
        )
        matrix = Matrix(kind, self.unit, self.n_jobs)
        matrix.hold(
            mirrored(square, self.n_jobs),
            self.slot,
            self.size.astype(np.int64),
            len(self.place),
        )
        return matrix


def closest(
    coassociation: CoAssociation, entries: np.ndarray, *, n_jobs: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the most similar other leaf of each, lowest first, and its similarity.

    For complete labels and at least two leaves; ``entries`` are contributions, and
    similarities are in their unit. L^2 M / 2 look-ups, no matrix.
    """
    codes = coassociation.codes
    n, n_threads = len(codes), parallel.thread_count(n_jobs)
    found = [(np.zeros(n, np.int64), np.zeros(n, np.uint32)) for _ in range(n_threads)]
    for near, _ in found:
        near[0] = 1  # the lowest other one, if all similarities are 0
    # Later rows are compared with fewer others: spans of equal area, short enough
    # that Ctrl-C does not wait for long.
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


def largest(n_objects: int, n_bits: int = 31) -> int:
    """Return the largest similarity whose sum over pairs of objects fits int64."""
    return min(2**n_bits - 1, (2**63 - 1) // max(1, n_objects**2 // 4))


def require_budget(needed: int, linkage: str, n_leaves: int, max_memory: int) -> None:
    """Raise MemoryError if the matrix that a linkage needs is too large."""
    if needed > max_memory:
        msg = (
            f"linkage={linkage!r} of {n_leaves:,} distinct label rows needs a matrix "
            f"of at least {gibibytes(needed)}; max_memory allows "
            f'{gibibytes(max_memory)}. Raise max_memory, or use linkage="average", '
            "which needs no matrix."
        )
        raise MemoryError(msg)
