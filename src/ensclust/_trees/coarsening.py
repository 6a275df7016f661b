"""Coarsening: agglomerate many label rows into fewer regions, comparing near ones only.

Average linkage is reducible: two regions that are nearest to each other may be merged
at once. The nearest one shares nearly all clusters, so it is searched for among few:
the regions are sorted by their labels, starting with each clustering in turn, and
compared within windows of each order. The merges are those of exact linkage, unless a
nearest neighbour shares no window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ensclust import _kernels
from ensclust._support import parallel
from ensclust._trees.coassociation import CoAssociation

WINDOW = 512  # regions in a window, which are compared with each other
_ORDERS = 20  # maximum number of sorted orders
_NEIGHBOURS = 16  # neighbours kept per region between two searches
_MANY_NEIGHBOURS = 64  # the same for the search among all pairs of the last regions
_ROUNDING = 1e-5  # bound on the relative error of sums in float32
_LARGEST = 2**31 - 2  # of the fixed point; one less than 31 bits, for rounding
_ROWS = 256  # rows of the matrix that a thread writes at a time
_STRIP = 2**14  # regions whose shares are computed at a time


@dataclass
class Regions:
    """Groups of objects, by the base clusters that they are in.

    Attributes
    ----------
    leaf : ndarray of shape (R,)
        The lowest leaf of each region, ascending.
    edge : ndarray of shape (R + 1,)
        The entries of region r are ``edge[r]`` to ``edge[r + 1] - 1``.
    cluster, count : ndarray of shape (E,), int32
        Base cluster of each entry, ascending in a region, and the region's objects in
        it.
    size : ndarray of shape (R,), float64
        Objects of each region; with ``pairs="all"`` their memberships.
    codes : ndarray of shape (R, M), unsigned
        The most frequent label of each clustering; n_m if none is clustered.
    """

    leaf: np.ndarray
    edge: np.ndarray
    cluster: np.ndarray
    count: np.ndarray
    size: np.ndarray
    codes: np.ndarray

    @classmethod
    def of_leaves(cls, coassociation: CoAssociation) -> Regions:
        """Return each leaf as a region."""
        ensemble, codes = coassociation.ensemble, coassociation.codes
        counts = coassociation.leaves.counts
        is_present = codes < ensemble.cluster_counts
        n_present = is_present.sum(axis=1)
        cluster = (codes + ensemble.offsets[:-1].astype(np.int32))[is_present]
        size = counts * (n_present if coassociation.pairs == "all" else 1)
        return cls(
            np.arange(len(codes)),
            np.concatenate([[0], np.cumsum(n_present)]),
            cluster.astype(np.int32, copy=False),
            np.repeat(counts.astype(np.int32), n_present),
            size.astype(np.float64),
            codes,
        )

    def __len__(self) -> int:
        return len(self.leaf)

    def shares(self, dtype: type = np.float64) -> np.ndarray:
        """Return the share of the region's objects in each entry, (E,)."""
        shares: np.ndarray = np.empty(len(self.count), dtype)
        for a, b in parallel.strips(len(self), _STRIP):
            own = slice(self.edge[a], self.edge[b])
            sizes = np.repeat(self.size[a:b], np.diff(self.edge[a : b + 1]))
            shares[own] = self.count[own] / sizes
        return shares


class Coarsening:
    """The merges of the leaves of a co-association into regions, and these regions.

    Parameters
    ----------
    coassociation : CoAssociation
        The similarities.
    max_regions : int
        Maximum number of regions, at least 1.
    n_jobs : int or None
        Number of threads; None means one per core. Never changes the result.

    Attributes
    ----------
    merged : ndarray of shape (L - R, 2)
        Pairs of regions, each named by its lowest leaf; the lower one is kept.
    similarity : ndarray of shape (L - R,)
        Mean similarity of the objects of each pair.
    regions : Regions
        The R = min(L, max_regions) regions that are left.

    Notes
    -----
    Takes several searches, the first of which leaves less than half of the regions:
    about 2 L 256 min(M, 20) M look-ups in total. Memory about L (22 M + 350) bytes, and
    three Nc x Nc matrices. Similarities of regions are exact means over their objects,
    with the rounding of a float32 similarity of base clusters.
    """

    def __init__(
        self,
        coassociation: CoAssociation,
        max_regions: int,
        *,
        n_jobs: int | None = None,
    ):
        ensemble = coassociation.ensemble
        self.n_jobs = n_jobs
        self.start, self.n_labels = ensemble.offsets, ensemble.cluster_counts
        self.clustering = np.repeat(
            np.arange(len(self.n_labels), dtype=np.int32), self.n_labels
        )
        self.all_pairs = coassociation.pairs == "all"
        self.contributions, both = coassociation.mean_terms()
        self.rule = (self.contributions.astype(np.float32), both.astype(np.float32))
        self.regions = Regions.of_leaves(coassociation)
        parts = [(np.empty((0, 2), np.int64), np.empty(0))]
        while len(self.regions) > max_regions:
            near, best = self._search(len(parts) - 1)
            parts.append(self._merge(near, best, len(self.regions) - max_regions))
        self.merged, self.similarity = map(np.concatenate, zip(*parts, strict=True))

    def _search(self, n_searches: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest regions of each region, and their similarity."""
        n, n_orders = len(self.regions), min(len(self.n_labels), _ORDERS)
        shared, near, best = self._lists(_NEIGHBOURS)
        windows = parallel.blocks(n, -(-n // WINDOW))
        begin = np.array([a for a, _ in windows] + [n])
        spans = parallel.blocks(len(windows), 4 * parallel.thread_count(self.n_jobs))
        for i in range(n_orders if len(windows) > 1 else 1):
            order = self._order(n_searches * n_orders + i)
            for a, b in windows:
                order[a:b].sort()
            parallel.run_spans(
                _kernels.regions.neighbours,
                spans,
                (*shared, order, begin, near, best),
                n_jobs=self.n_jobs,
            )
        return near, best

    def _lists(self, k: int) -> tuple[tuple, np.ndarray, np.ndarray]:
        """Return what a search compares, and empty lists of k neighbours."""
        regions, shape = self.regions, (len(self.regions), k)
        shared = (
            regions.edge,
            regions.cluster,
            regions.shares(np.float32),
            self.start,
            *self.rule,
            self.all_pairs,
        )
        return shared, np.full(shape, -1, np.int32), np.full(shape, -1, np.float32)

    def merge_exactly(self) -> None:
        """Begin exact linkage of the regions: merge those nearest to each other.

        All pairs are compared, but without a matrix, which then takes about a quarter
        of the space.
        """
        n = len(self.regions)
        shared, near, best = self._lists(_MANY_NEIGHBOURS)
        everyone = (np.arange(n), np.array([0, n]))
        _kernels.regions.neighbours(*shared, *everyone, near, best, 0, 1)
        merged, similarity = self._merge(near, best, n - 1)
        self.merged = np.concatenate([self.merged, merged])
        self.similarity = np.concatenate([self.similarity, similarity])

    def _order(self, turn: int) -> np.ndarray:
        """Return the regions sorted by labels, starting with clustering ``turn``."""
        codes = self.regions.codes
        key, n_keys = np.zeros(len(codes), np.int64), 1
        for m in np.roll(np.arange(len(self.n_labels)), -turn):
            n_keys *= int(self.n_labels[m]) + 1
            if n_keys >= 2**62:
                break
            key = key * (self.n_labels[m] + 1) + codes[:, m]
        return np.argsort(key, kind="stable")

    def _merge(self, near, best, n_merges: int) -> tuple[np.ndarray, np.ndarray]:
        """Merge regions that are nearest to each other, at most ``n_merges`` pairs."""
        old, n_entries = self.regions, len(self.regions.cluster)
        low, high = old.edge[:-1].copy(), old.edge[1:].copy()
        cluster, count = np.empty((2, 2 * n_entries), np.int32)
        cluster[:n_entries], count[:n_entries] = old.cluster, old.count
        old.cluster = old.count = np.empty(0, np.int32)  # space for merged regions
        merged, similarity = np.empty((n_merges, 2), np.int64), np.empty(n_merges)
        entries = (low, high, cluster, count)
        limit = (best[:, -1] * (1 - _ROUNDING)).astype(np.float64)
        bounds = best.astype(np.float64) * (1 + _ROUNDING)
        n_merged = _kernels.merging.merge(
            *entries, n_entries, old.size, self.clustering, *self.rule, self.all_pairs,
            near, bounds, limit, merged, similarity,
        )  # fmt: skip
        merged, similarity = merged[:n_merged], similarity[:n_merged]
        kept = np.delete(np.arange(len(old)), merged[:, 1])
        edge = np.concatenate([[0], np.cumsum((high - low)[kept])])
        packed = np.empty((2, edge[-1]), np.int32)
        codes = np.empty((len(kept), len(self.n_labels)), old.codes.dtype)
        _kernels.merging.pack(
            kept, *entries, self.clustering, self.start, edge, *packed, codes
        )
        self.regions = Regions(
            old.leaf[kept], edge, packed[0], packed[1], old.size[kept], codes
        )
        return old.leaf[merged], similarity

    def fixed_point(self) -> tuple[np.ndarray, float]:
        """Return the (R, R) similarities of regions as uint32, and their unit.

        For complete labels. The diagonal is not used. The caller ensures that there is
        enough memory, 4 R^2 bytes.
        """
        regions, n = self.regions, len(self.regions)
        terms = 1 if self.all_pairs else len(self.n_labels)
        scale = _LARGEST / (terms * float(self.contributions.max(initial=0)) or 1.0)
        square = np.empty((n, n), np.uint32)
        shared = (
            regions.edge,
            regions.cluster,
            regions.shares(),
            self.start,
            self.contributions * scale,
            self.all_pairs,
            square,
        )
        spans = parallel.strips(n, _ROWS)
        parallel.run_spans(_kernels.regions.gather, spans, shared, n_jobs=self.n_jobs)
        parallel.run_spans(
            _kernels.lifting.mirror, spans[::-1], (square,), n_jobs=self.n_jobs
        )
        return square, 1 / scale
