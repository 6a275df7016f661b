"""CoAssociation: a similarity of base clusters lifted to objects, as an operator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from numbers import Integral

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ensclust import _kernels
from ensclust._ensemble.contents import check_array, check_ensemble
from ensclust._ensemble.ensemble import Fragments, as_counts
from ensclust._ensemble.flow import Counts
from ensclust._support import memory, parallel
from ensclust._support.quiet import ignoring
from ensclust._support.validation import (
    check_choice,
    check_cluster_weights,
    check_decay,
    check_integer,
    check_square,
    check_threshold,
    check_weights,
    gibibytes,
)
from ensclust._trees.known_rows import Affinity

DEFAULT_MEMORY = 2**31  # bytes that a matrix may take by default
_ROWS = 512  # rows that a thread processes at a time


class CoAssociation:
    """How similar objects are, by the base clusters that they are in.

    Parameters
    ----------
    ensemble : Ensemble, array-like, DataFrame or path
        The base clusterings.
    similarity : ndarray of shape (Nc, Nc) or None
        Symmetric similarity of base clusters. None means the identity: the share of
        clusterings that put two objects together (EAC). With
        :func:`ensclust.similarity.propagate` this is the enhanced co-association.
    pairs : "same" or "all", default="same"
        "same" averages the similarity of the two objects' clusters over the
        clusterings that contain both (0 if none does). "all" sums it over all pairs of
        clusterings, one for each object, divided by the number of pairs; an object's
        similarity to itself is then set to 1.
    decay : float, default=1.0
        Factor of the values with ``pairs="all"``.
    weights : array-like of shape (M,) or None
        Weights of the clusterings in the means of ``pairs="same"``; stored with a mean
        of 1, and as factors of ``similarity``.
    cluster_weights : array-like of shape (Nc,) or None
        Weights of the base clusters, above 0 and up to 1, for ``pairs="same"``: the
        similarity of two is multiplied by the square root of the product of their
        weights, that of one with itself by its weight. An object's similarity to itself
        is then set to 1.

    Notes
    -----
    Nothing of size N x N exists until :meth:`dense` is called; :meth:`sparse` stores
    only the large similarities. A row costs F M look-ups for F distinct label rows.

    Examples
    --------
    >>> from ensclust import CoAssociation, Ensemble
    >>> coassociation = CoAssociation(Ensemble([[0, 0], [0, 1], [1, 1]]))
    >>> coassociation.row(1)
    array([0.5, 1. , 0.5])
    >>> coassociation.dense()
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    def __init__(
        self,
        ensemble: Counts,
        similarity: np.ndarray | None = None,
        *,
        pairs: str = "same",
        decay: float = 1.0,
        weights: npt.ArrayLike | None = None,
        cluster_weights: npt.ArrayLike | None = None,
    ):
        self.ensemble = ensemble = as_counts(ensemble)
        self.pairs = check_choice(pairs, "pairs", ("same", "all"))
        self.decay = check_decay(decay)
        if similarity is not None:
            similarity = check_square(similarity, "similarity")
            if len(similarity) != ensemble.n_base_clusters:
                msg = (
                    f"similarity has shape {similarity.shape}; the ensemble has "
                    f"{ensemble.n_base_clusters} base clusters. Pass one row and "
                    "column per base cluster."
                )
                raise ValueError(msg)
        self.similarity = similarity
        self.weights: np.ndarray | None = None
        self.cluster_weights: np.ndarray | None = None
        if weights is not None:
            self._weigh(check_weights(weights, ensemble.n_clusterings))
        if cluster_weights is not None:
            self._weigh_clusters(cluster_weights)
        self._leaves: Fragments | None = None
        self.affinity = Affinity(
            ensemble.offsets,
            self.similarity,
            self.weights,
            self.pairs,
            self.decay,
            is_scaled=cluster_weights is not None,
        )

    def _weigh(self, weights: np.ndarray) -> None:
        """Scale the similarities within each clustering; others are not used."""
        if self.pairs == "all":
            msg = 'weights have no meaning with pairs="all". Leave them out.'
            raise ValueError(msg)
        self.weights = weights / weights.mean()
        self.similarity = self._blocks(self._similarity(), self.weights)

    def _weigh_clusters(self, weights: npt.ArrayLike) -> None:
        """Scale the similarities of base clusters by their own weights."""
        if self.pairs == "all":
            msg = 'cluster_weights have no meaning with pairs="all". Leave them out.'
            raise ValueError(msg)
        n = self.ensemble.n_base_clusters
        self.cluster_weights = check_cluster_weights(weights, n)
        if self.similarity is None:
            self.similarity = np.diag(self.cluster_weights)
            return
        root = np.sqrt(self.cluster_weights)
        self.similarity = self.similarity * np.multiply.outer(root, root)

    def _blocks(self, S: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return S within clusterings, times their weights."""
        blocks = np.zeros(S.shape)
        for m, (a, b) in enumerate(pairwise(self.ensemble.offsets)):
            blocks[a:b, a:b] = S[a:b, a:b] * weights[m]
        return blocks

    def _check_loaded(self) -> None:
        """Raise ValueError if arrays loaded from a file do not fit together."""
        check_ensemble(self.ensemble)
        self.affinity.check(self.ensemble)
        replace(self.affinity, similarity=self.similarity, weights=self.weights).check(
            self.ensemble
        )
        if self._leaves is not None:
            n = len(self._leaves.counts)
            shape = (self.ensemble.n_objects,)
            check_array("leaves", self._leaves.inverse, shape, low=0, stop=n)

    @property
    def shape(self) -> tuple[int, int]:
        """(N, N)."""
        return self.ensemble.n_objects, self.ensemble.n_objects

    @property
    def n_terms(self) -> int:
        """Number of similarities of base clusters that make up that of two objects."""
        return self.ensemble.n_clusterings ** (2 if self.pairs == "all" else 1)

    @property
    def codes(self) -> np.ndarray:
        """Label rows of the leaves, (L, M) unsigned; n_m means not clustered."""
        codes = self.ensemble.fragment_codes()
        if self._leaves is None:
            return codes
        first = np.unique(self._leaves.inverse, return_index=True)[1]
        return codes[self.ensemble.fragments().inverse[first]]

    @property
    def leaves(self) -> Fragments:
        """What agglomeration starts from: fragments, or single objects (expand)."""
        return self.ensemble.fragments() if self._leaves is None else self._leaves

    def expand(self, is_split: np.ndarray) -> CoAssociation:
        """Return this co-association with some fragments split into single objects.

        Parameters
        ----------
        is_split : ndarray of shape (F,), bool
            The fragments to split.
        """
        fragments = self.ensemble.fragments()
        alone = is_split[fragments.inverse]
        if fragments.counts[is_split].sum() > alone.sum():  # a stream has only rows
            msg = (
                "SimRank makes some objects with equal label rows less similar to each "
                "other than to others, so they need separate labels, which neither a "
                "stream of blocks nor sample_weight supports. Use ecpcs-hc, or labels "
                "in memory, with rows repeated by their weights."
            )
            raise ValueError(msg)
        # Leaves in order of fragment, then of object; other objects share place -1.
        place = np.where(alone, np.arange(len(alone)), -1)
        _, first, inverse, counts = np.unique(
            np.stack([fragments.inverse, place], axis=1),
            axis=0,
            return_index=True,
            return_inverse=True,
            return_counts=True,
        )
        other = CoAssociation(
            self.ensemble, self.similarity, pairs=self.pairs, decay=self.decay
        )
        other._leaves = Fragments(
            fragments.labels[fragments.inverse[first]], inverse.reshape(-1), counts
        )
        return other

    def row(self, i: int) -> np.ndarray:
        """Return the similarity of object ``i`` to all objects, (N,) float64."""
        n = self.ensemble.n_objects
        if not isinstance(i, Integral) or not -n <= i < n:
            msg = f"object {i!r} does not exist; the ensemble has objects 0 to {n - 1}."
            raise IndexError(msg)
        inverse, codes = self.leaves.inverse, self.codes
        # The kernel writes one triangle, so the requested fragment comes first.
        codes = np.concatenate([codes[inverse[i]][None], codes])
        row = self._strip(codes, 1)[0, 1:][inverse]
        if self._differs_from_itself:
            row[i] = 1.0
        return row

    def of_leaves(self, who: str, pair_bytes: int, max_memory: int) -> sparse.csr_array:
        """Return the similarities of leaves above 0, (L, L) sparse.

        Raises MemoryError if the graph that ``who`` builds from them, ``pair_bytes``
        bytes for each, would take more than ``max_memory`` bytes.
        """
        parts, n_entries = [], 0
        for rows in self._upper_strips(np.finfo(np.float64).tiny):
            n_entries += 2 * rows.nnz
            require_matrix(who, len(self.codes), pair_bytes * n_entries, max_memory)
            parts.append(rows)
        return _symmetric(parts)

    def _upper_strips(self, threshold: float) -> Iterator[sparse.csr_array]:
        """Yield rows of the leaves' similarities above the threshold, upper half."""
        codes = self.codes
        for first, last in parallel.strips(len(codes), _ROWS):
            rows = np.triu(self._strip(codes[first:], last - first))
            rows[rows < threshold] = 0
            left = sparse.csr_array((last - first, first))
            yield sparse.hstack([left, sparse.csr_array(rows)], format="csr")

    def sparse(
        self, threshold: float = 0.5, *, max_memory: int = DEFAULT_MEMORY
    ) -> sparse.csr_array:
        """Return the similarities of at least ``threshold``, (N, N) sparse.

        Parameters
        ----------
        threshold : float, default=0.5
            Above 0 and up to 1; smaller similarities are left out.
        max_memory : int, default=2 GiB
            Raises MemoryError if the result would take more bytes.

        Returns
        -------
        scipy.sparse.csr_array of shape (N, N), float64
            Time F^2 M for F distinct label rows; memory 12 bytes per entry.

        Examples
        --------
        >>> from ensclust import CoAssociation
        >>> CoAssociation([[0, 0], [0, 0], [0, 1], [1, 1]]).sparse(0.6).toarray()
        array([[1., 1., 0., 0.],
               [1., 1., 0., 0.],
               [0., 0., 1., 0.],
               [0., 0., 0., 1.]])
        """
        check_threshold(threshold)
        counts, inverse = self.leaves.counts, self.leaves.inverse
        parts, n_entries, first = [], 0, 0
        for rows in self._upper_strips(threshold):
            last = first + rows.shape[0]
            n_entries += 2 * int(counts[first:last] @ ((rows > 0) @ counts))
            _require_entries(n_entries, max_memory, threshold)
            parts.append(rows)
            first = last
        matrix = _symmetric(parts)[inverse][:, inverse]
        if self._differs_from_itself:
            with ignoring(sparse.SparseEfficiencyWarning):  # of SciPy 1.12
                matrix.setdiag(1.0)
        return sparse.csr_array(matrix)

    def _strip(self, codes: np.ndarray, n: int) -> np.ndarray:
        """Return the similarities of the first n label rows to all; the upper half."""
        out = np.zeros((n, len(codes)))
        self._lift(codes, self._similarity(), out, [(0, n)])
        if (weight := self._weight_of_both()) is not None:
            both = np.zeros_like(out)
            self._lift(codes, weight, both, [(0, n)])
            np.divide(out, both, out=out, where=both > 0)
        return out

    def dense(self, *, max_memory: int = DEFAULT_MEMORY) -> np.ndarray:
        """Return all similarities of objects, (N, N) float64.

        Raises MemoryError if the matrix would take more than ``max_memory`` bytes.
        """
        n = self.ensemble.n_objects
        needed = 8 * n * n
        if needed > check_integer(max_memory, "max_memory"):
            msg = (
                f"a dense co-association of {n:,} objects needs {gibibytes(needed)}; "
                f"the budget is {gibibytes(max_memory)}. Use row(i) or fit with "
                "average linkage, which need no matrix, or raise max_memory."
            )
            raise MemoryError(msg)
        square = self._square(self._similarity(), np.float64)
        if (weight := self._weight_of_both()) is not None:
            both = self._square(weight, np.float64)
            np.divide(square, both, out=square, where=both > 0)
        inverse = self.leaves.inverse
        matrix = square[np.ix_(inverse, inverse)]
        if self._differs_from_itself:
            np.fill_diagonal(matrix, 1.0)
        return matrix

    def pair_sums(
        self,
        dtype: npt.DTypeLike,
        regions: np.ndarray | None = None,
        *,
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Return (R, R) integers: clusterings that agree, over all pairs of objects.

        An entry sums, over the pairs of objects of two regions, the clusterings that
        put the two together. For the identity similarity. The caller ensures that
        memory and the type suffice.
        """
        return self._between(
            regions,
            np.eye(self.ensemble.n_base_clusters, dtype=dtype),
            _kernels.square.PAIR_SUMS,
            n_jobs,
        )

    def fixed_point(
        self,
        regions: np.ndarray | None = None,
        kind: int = 0,
        *,
        n_jobs: int | None = None,
    ) -> tuple[np.ndarray, float]:
        """Return the (R, R) similarities of regions as uint32, and their unit.

        Parameters
        ----------
        regions : ndarray of shape (L,) or None
            The region of each leaf, numbered from 0; a region has one or two leaves.
            None means that each leaf is a region. Ignored with missing labels.
        kind : int
            How similarities of leaves are combined, see _kernels.square.

        Notes
        -----
        The diagonal is not used. Finer than float32 in the same space:
        similarity = entry * unit to 1e-8. The caller ensures that memory suffices.
        """
        if self._weight_of_both() is not None:
            msg = (
                "single and complete linkage do not support weights with missing "
                'labels. Use linkage="average", or no weights.'
            )
            raise ValueError(msg)
        if self.ensemble.has_missing:
            S = self._similarity()
            unit = (float(S.max(initial=0)) or 1.0) * self.decay / (2**31 - 1)
            return self._square(S, np.uint32, factor=1 / unit, n_jobs=n_jobs), unit
        entries, unit = self.contributions()
        return self._between(regions, entries, kind, n_jobs), unit

    def contributions(self, largest: int = 2**31 - 1) -> tuple[np.ndarray, float]:
        """Return the contributions of base clusters, (Nc, Nc) uint32, and their unit.

        The sum over the clusterings (``pairs="all"``: over their pairs) times the unit
        is the similarity of two objects; no sum exceeds ``largest``.
        """
        decay = self.decay if self.pairs == "all" else 1.0
        S, n_terms = self.similarity, self.n_terms
        if S is None:  # the identity is exact
            return np.eye(
                self.ensemble.n_base_clusters, dtype=np.uint32
            ), decay / n_terms
        most = float(S.max(initial=0)) or 1.0
        # Every term may be rounded up by a half.
        scale = max(largest - n_terms, n_terms) / (most * n_terms)
        return np.rint(S * scale).astype(np.uint32), decay / (scale * n_terms)

    def mean_terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what two base clusters add to a mean similarity, and to its divisor.

        (Nc, Nc) float64 each; the second is (0, 0) if the divisor is always 1.
        """
        S, none = self._similarity(), np.zeros((0, 0))
        if self.pairs == "all":
            return S * self.decay, none
        if not self.ensemble.has_missing:
            return S / self.n_terms, none
        weights = np.ones(self.n_terms) if self.weights is None else self.weights
        return S, self._blocks(np.ones(S.shape), weights)

    def within(self) -> np.ndarray:
        """Return the similarity of two objects of the same leaf, (L,); at most 1."""
        codes = self.codes
        if self.pairs == "same":
            return self._own_means(codes)
        total = np.empty(len(codes))
        _kernels.bipartite.quadratic(
            codes, self.ensemble.offsets, self._similarity(), total, 0, len(codes)
        )
        n_present = (codes < self.ensemble.cluster_counts).sum(axis=1)
        return np.minimum(1, total * self.decay / np.maximum(n_present, 1) ** 2)

    def _own_means(self, codes: np.ndarray) -> np.ndarray:
        """Return the mean similarity of each row's clusters to themselves, (L,)."""
        if self.cluster_weights is None:
            return np.ones(len(codes))
        own = self._similarity().diagonal()
        weight = np.ones(codes.shape[1]) if self.weights is None else self.weights
        total, divisor = np.zeros(len(codes)), np.zeros(len(codes))
        for m, (a, b) in enumerate(pairwise(self.ensemble.offsets)):
            there = np.flatnonzero(codes[:, m] < b - a)
            total[there] += own[a + codes[there, m].astype(np.int64)]
            divisor[there] += weight[m]
        return total / divisor

    def expand_strangers(self, *, n_jobs: int | None = None) -> CoAssociation:
        """Split the fragments whose objects are closer to others than to each other.

        Only for ``pairs="all"``; otherwise equal objects are merged first. (Their
        similarity is 1 or, with weights of base clusters and complete labels, the
        largest that either has.)
        """
        counts = self.leaves.counts
        rows = np.flatnonzero(counts > 1)
        if self.pairs == "same" or not len(rows):
            return self
        is_near = np.ones(len(counts), dtype=bool)
        shared = (self.codes, self.ensemble.offsets, self._similarity(), rows, is_near)
        parallel.run_spans(
            _kernels.bipartite.is_nearest_to_itself,
            parallel.blocks(len(rows), parallel.thread_count(n_jobs)),
            shared,
            n_jobs=n_jobs,
        )
        return self if is_near.all() else self.expand(~is_near)

    def _weight_of_both(self) -> np.ndarray | None:
        """Return a similarity whose mean is the clusterings' mean weight, or None.

        None if all pairs of objects share the same clusterings.
        """
        if self.weights is None or not self.ensemble.has_missing:
            return None
        n = self.ensemble.n_base_clusters
        return self._blocks(np.ones((n, n)), self.weights)

    @property
    def _differs_from_itself(self) -> bool:
        """Whether objects with equal label rows may have a similarity below 1."""
        return self.pairs == "all" or self.cluster_weights is not None

    def _similarity(self) -> np.ndarray:
        own = self.similarity
        return np.eye(self.ensemble.n_base_clusters) if own is None else own

    def _square(self, S, dtype, *, factor=1.0, n_jobs=None) -> np.ndarray:
        """Return the (L, L) similarities of leaves times a factor."""
        codes = self.codes
        square = np.empty((len(codes), len(codes)), dtype)
        spans = parallel.strips(len(codes), _ROWS)
        self._lift(codes, S, square, spans, factor=factor, n_jobs=n_jobs)
        return mirrored(square, n_jobs)

    def _lift(self, codes, S, out, spans, *, factor=1.0, n_jobs=1) -> None:
        all_pairs = self.pairs == "all"
        present = (codes < self.ensemble.cluster_counts).sum(axis=1)
        factor *= self.decay if all_pairs else 1.0
        shared = (codes, self.ensemble.offsets, S, all_pairs, present, factor, out)
        parallel.run_spans(_kernels.lifting.lift, spans, shared, n_jobs=n_jobs)

    def _between(self, regions, entries, kind, n_jobs) -> np.ndarray:
        """Return the (R, R) similarities of regions in the type of ``entries``."""
        codes, weight = self.codes, self.leaves.counts.astype(np.int64)
        edge = np.arange(len(codes) + 1)
        if regions is not None:
            order = np.argsort(regions, kind="stable")
            codes, weight = codes[order], weight[order]
            edge = np.concatenate([[0], np.cumsum(np.bincount(regions))])
        n = len(edge) - 1
        share = weight[edge[:-1]] / np.add.reduceat(weight, edge[:-1])
        square = np.empty((n, n), entries.dtype)
        shared = (codes, self.ensemble.offsets, entries, self.pairs == "all")
        parallel.run_spans(
            _kernels.pairing.gather,
            parallel.strips(n, _ROWS),
            (*shared, weight, edge, share, kind, square),
            n_jobs=n_jobs,
        )
        return mirrored(square, n_jobs)

    def __repr__(self) -> str:
        kind = "identity" if self.similarity is None else "lifted"
        return f"CoAssociation(shape={self.shape}, similarity={kind})"


def _symmetric(parts: list[sparse.csr_array]) -> sparse.csr_array:
    """Return a matrix from strips of rows of its upper half."""
    upper = sparse.csr_array(sparse.vstack(parts))
    return sparse.csr_array(upper + sparse.triu(upper, 1).T)


def _require_entries(n_entries: int, max_memory: int, threshold: float) -> None:
    """Raise if a sparse matrix takes more than the budget."""
    needed = 12 * n_entries
    if needed > check_integer(max_memory, "max_memory"):
        msg = (
            f"a sparse co-association with more than {n_entries:,} similarities of at "
            f"least {threshold:g} needs over {gibibytes(needed)}; the budget is "
            f"{gibibytes(max_memory)}. Raise threshold or max_memory."
        )
        raise MemoryError(msg)


def require_matrix(who: str, n_rows: int, needed: int, max_memory: int) -> None:
    """Raise if the budget does not allow a matrix of distinct label rows."""
    what = f"{who} of {n_rows:,} distinct label rows"
    instead = "use a method that needs no matrix of them, such as ecpcs-mc."
    if needed > max_memory:
        msg = (
            f"{what} needs a matrix of over {gibibytes(needed)}; max_memory allows "
            f"{gibibytes(max_memory)}. Raise max_memory, or {instead}"
        )
        raise MemoryError(msg)
    memory.require(needed, what, instead.capitalize())


def mirrored(square: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Copy the upper triangle to the lower, in place."""
    spans = reversed(parallel.strips(len(square), _ROWS))
    parallel.run_spans(_kernels.lifting.mirror, spans, (square,), n_jobs=n_jobs)
    return square
