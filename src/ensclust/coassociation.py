"""CoAssociation: a similarity of base clusters lifted to objects, as an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ensclust import _kernels, _parallel
from ensclust._validation import check_choice, check_square, gibibytes

if TYPE_CHECKING:
    from ensclust.ensemble import Ensemble

DEFAULT_MEMORY = 2**31  # bytes that a matrix may take unless the caller says otherwise
_ROWS = 512  # rows that a thread lifts at a time


class CoAssociation:
    """How similar objects are, by the base clusters that they are in.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings.
    similarity : ndarray of shape (Nc, Nc) or None
        Symmetric similarity of base clusters. None is the identity: the share of
        clusterings that put two objects together (EAC). With
        :func:`ensclust.similarity.propagate` this is the enhanced co-association.
    pairs : "same" or "all", default="same"
        "same" averages the similarity of the two objects' clusters over the
        clusterings that contain both (0 if none does). "all" sums it over all pairs of
        clusterings, one for each object, divided by the number of pairs; an object's
        similarity to itself is then set to 1.
    decay : float, default=1.0
        Factor of the values with ``pairs="all"``.

    Notes
    -----
    Nothing of size N x N exists until :meth:`dense` is called. A row costs F M
    look-ups for F distinct label rows.

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
        ensemble: Ensemble,
        similarity: np.ndarray | None = None,
        *,
        pairs: str = "same",
        decay: float = 1.0,
    ):
        self.ensemble = ensemble
        self.pairs = check_choice(pairs, "pairs", ("same", "all"))
        self.decay = decay
        if similarity is not None:
            similarity = check_square(similarity, "similarity")
            if len(similarity) != ensemble.n_base_clusters:
                msg = (
                    f"similarity has shape {similarity.shape}; the ensemble has "
                    f"{ensemble.n_base_clusters} base clusters. Give one row and "
                    "column per base cluster."
                )
                raise ValueError(msg)
        self.similarity = similarity

    @property
    def shape(self) -> tuple[int, int]:
        """(N, N)."""
        return self.ensemble.n_objects, self.ensemble.n_objects

    @property
    def codes(self) -> np.ndarray:
        """Label rows of the fragments, (F, M) unsigned; n_m where not clustered."""
        counts = self.ensemble.cluster_counts
        labels = self.ensemble.fragments().labels
        dtype = np.min_scalar_type(int(counts.max()))
        return np.where(labels < 0, counts, labels).astype(dtype)

    def row(self, i: int) -> np.ndarray:
        """Return the similarity of object ``i`` to all objects, (N,) float64."""
        n = self.ensemble.n_objects
        if not -n <= i < n:
            msg = f"object {i} does not exist; the ensemble has objects 0 to {n - 1}."
            raise IndexError(msg)
        fragments = self.ensemble.fragments()
        f = fragments.inverse[i]
        # The kernel writes one triangle: put the wanted fragment first.
        codes = self.codes
        order = np.concatenate([[f], np.arange(len(codes))])
        out = np.empty((len(order), 1))
        self._lift(codes[order], self._similarity(), out, spans=[(0, 1)])
        row = out[1:, 0][fragments.inverse]
        if self.pairs == "all":
            row[i] = 1.0
        return row

    def dense(self, *, max_memory: int = DEFAULT_MEMORY) -> np.ndarray:
        """Return all similarities of objects, (N, N) float64.

        Raises MemoryError when the matrix would take more than ``max_memory`` bytes.
        """
        n = self.ensemble.n_objects
        needed = 8 * n * n
        if needed > max_memory:
            msg = (
                f"a dense co-association of {n:,} objects needs {gibibytes(needed)}; "
                f"the budget is {gibibytes(max_memory)}. Use row(i) or fit with "
                "average linkage, which need no matrix, or raise max_memory."
            )
            raise MemoryError(msg)
        square = self._square(self._similarity(), np.float64)
        inverse = self.ensemble.fragments().inverse
        matrix = square[np.ix_(inverse, inverse)]
        if self.pairs == "all":
            np.fill_diagonal(matrix, 1.0)
        return matrix

    def pair_sums(self, dtype: type, *, n_jobs: int | None = None) -> np.ndarray:
        """Return (F, F) integers: for all pairs of objects of two fragments together,
        the number of clusterings that put them into one cluster.

        For the identity similarity. The caller answers for memory and overflow.
        """
        identity = np.eye(self.ensemble.n_base_clusters, dtype=dtype)
        weight = self.ensemble.fragments().counts.astype(dtype)
        return self._square(identity, dtype, weight=weight, n_jobs=n_jobs)

    def fixed_point(self, *, n_jobs: int | None = None) -> tuple[np.ndarray, float]:
        """Return the (F, F) similarities of fragments as uint32, and their unit.

        The diagonal is the value between two objects of a fragment. Finer than float32
        in the same space: similarity = entry * unit to 1e-8. The caller answers for
        memory.
        """
        S = self._similarity()
        n_terms = self.ensemble.n_clusterings
        top = float(S.max(initial=0)) or 1.0
        unit = top * (self.decay if self.pairs == "all" else 1.0) / (2**32 - 2**12)
        if self.ensemble.has_missing:
            return self._square(S, np.uint32, factor=1 / unit, n_jobs=n_jobs), unit
        if self.pairs == "all":
            n_terms **= 2
            S = S * self.decay
        entries = np.rint(S / (unit * n_terms)).astype(np.uint32)
        weight = np.ones(len(self.ensemble.fragments().counts), np.uint32)
        return self._square(entries, np.uint32, weight=weight, n_jobs=n_jobs), unit

    def _similarity(self) -> np.ndarray:
        if self.similarity is None:
            return np.eye(self.ensemble.n_base_clusters)
        return self.similarity

    def _square(self, S, dtype, *, weight=None, factor=1.0, n_jobs=None) -> np.ndarray:
        codes = self.codes
        n = len(codes)
        square = np.empty((n, n), dtype)
        spans = [(i, min(i + _ROWS, n)) for i in range(0, n, _ROWS)]
        self._lift(
            codes, S, square, spans=spans, weight=weight, factor=factor, n_jobs=n_jobs
        )
        tasks = [(square, a, b) for a, b in reversed(spans)]
        _parallel.run(_kernels.lifting.mirror, tasks, n_jobs=n_jobs)
        return square

    def _lift(self, codes, S, out, *, spans, weight=None, factor=1.0, n_jobs=1):
        """Run the kernel: sums times weights where given, else means or products."""
        lifting = _kernels.lifting
        all_pairs = self.pairs == "all"
        mode = lifting.PRODUCTS if all_pairs else lifting.MEANS
        if weight is not None:
            mode = lifting.SUMS
        else:
            weight = np.zeros(0, out.dtype)
        present = (codes < self.ensemble.cluster_counts).sum(axis=1)
        shared = (codes, self.ensemble.offsets, S, all_pairs, present, weight, mode)
        factor *= self.decay if all_pairs else 1.0
        tasks = [(*shared, factor, out, a, b) for a, b in spans]
        _parallel.run(lifting.lift, tasks, n_jobs=n_jobs)

    def __repr__(self) -> str:
        kind = "identity" if self.similarity is None else "lifted"
        return f"CoAssociation(shape={self.shape}, similarity={kind})"
