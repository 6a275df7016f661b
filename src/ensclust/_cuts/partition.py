"""Partitions of graphs: normalised cut, METIS, transfer cut of a bipartite graph."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ensclust import _kernels
from ensclust._cuts import discretise
from ensclust._cuts.spectrum import Spectrum
from ensclust._ensemble.agreement import agreement_of
from ensclust._ensemble.flow import Counts, Cut
from ensclust._support import parallel
from ensclust._support.quiet import ignoring
from ensclust._support.validation import (
    check_n_clusters,
    check_random_state,
    check_square,
    import_optional,
)
from ensclust._trees.known_rows import Affinity, KnownRows, histogram

_OFFSET = 0.5  # added to the diagonal; twice it is added to every degree
_WEAKEST = 1e-6  # weights up to this are dropped
_MAX_WORK = 2e7  # starts times n k^2: all starts of 400 nodes and 30 parts
_MAX_EXACT_WORK = 5e8

_METIS_TOTAL = 1e8  # METIS takes integers: weights are scaled to sum to this
_SPARSE_TOTAL = 1e9  # with millions of edges, in 32 bits
_METIS_LOCK = Lock()  # METIS draws from the C library's generator, one per process


class NormalisedCut:
    """Normalised cuts of a graph: spectral relaxation, then rotation.

    Parameters
    ----------
    W : array-like of shape (n, n)
        Symmetric, non-negative weights, diagonal included.
    mass : ndarray of shape (n,) or None
        How many nodes each one represents, above 0; None means one each.
    exact : bool, default=False
        Whether LAPACK computes the eigenvectors for any number of nodes, and 50 starts
        are tried up to n k^2 = 10^7.

    Notes
    -----
    Offset-regularised normalised cut of Cour, Yu and Shi with the discretisation of
    Yu and Shi (2003). Rows to start from are drawn from the nodes in order of degree,
    so that the result does not depend on the numbering of nodes. Time n^3 once for the
    eigenvectors (n^2 k above 1,000 nodes, where they are found by iteration), then for
    each number of parts n k^2 per round and start. Memory n^2, and n^2 more for LAPACK.

    Examples
    --------
    >>> W = [[1, 1, 0, 0], [1, 1, 0.1, 0], [0, 0.1, 1, 1], [0, 0, 1, 1]]
    >>> NormalisedCut(W).labels(2, random_state=0)
    array([0, 0, 1, 1])
    """

    def __init__(
        self,
        W: npt.ArrayLike,
        *,
        mass: np.ndarray | None = None,
        exact: bool = False,
    ):
        self._graph, self._degree = _regularised(check_square(W, "W"), mass)
        self._spectrum = Spectrum(self._graph, np.sqrt(self._degree), exact=exact)
        self._max_work = _MAX_EXACT_WORK if exact else _MAX_WORK

    def __len__(self) -> int:
        return len(self._graph)

    def embedding(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues of D^-1/2 W D^-1/2 and D^-1/2 v of each.

        Columns are scaled to norm sqrt(n).
        """
        eigenvalues, vectors = self._spectrum.leading(k)
        vectors = vectors[:, ::-1] / np.sqrt(self._degree)[:, None]
        vectors *= np.sqrt(len(self)) / np.linalg.norm(vectors, axis=0)
        return eigenvalues[::-1], vectors

    def labels(
        self, n_clusters: int, *, random_state=None, n_starts: int = 50
    ) -> np.ndarray:
        """Cut the graph into parts.

        Parameters
        ----------
        n_clusters : int
            Number of parts.
        random_state : int, RandomState instance or None
            Determines the rows at which the discretisation starts.
        n_starts : int, default=50
            Number of starts, fewer (but at least 5) if n k^2 is above 4 * 10^5; the
            partition with the smallest :func:`ncut_value` is kept.

        Returns
        -------
        ndarray of shape (n,)
            Part of each node; parts may be empty.
        """
        n = len(self)
        k = check_n_clusters(n_clusters, n)
        if k in {1, n}:
            return np.arange(n) if k > 1 else np.zeros(n, np.int64)
        rows = self.embedding(k)[1]
        # A node that none of the k vectors reaches (more components than k) stays at 0.
        length = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, length, out=rows, where=length > 0)
        by_degree = np.argsort(-self._degree, kind="stable")
        rng = check_random_state(random_state)
        n_starts = min(n_starts, max(5, int(self._max_work / (n * k**2))))
        starts = by_degree[rng.permutation(n)[:n_starts]]
        with parallel.one_blas_thread():  # the matrices are too small for more
            found = discretise.partitions(rows, starts)
            values = _values(self._graph, self._degree, found, k)
        # Of values that are equal up to rounding, the first is used.
        return found[int(np.argmax(values <= values.min() + 1e-12))]


def ncut_value(W: npt.ArrayLike, labels: npt.ArrayLike, n_clusters: int) -> float:
    """Normalised cut of a partition on the regularised graph; an empty part counts 1.

    Examples
    --------
    >>> round(ncut_value([[1, 0], [0, 1]], [0, 1], 2), 3)
    0.5
    """
    graph, degree = _regularised(check_square(W, "W"))
    return _value(graph, degree, np.asarray(labels), n_clusters)


def metis(
    W: Any,
    sizes: npt.ArrayLike,
    n_clusters: int,
    *,
    seeds: Sequence[int] = (0,),
) -> np.ndarray:
    """Partition a graph into parts of about equal size with METIS, cutting little.

    Parameters
    ----------
    W : array-like or sparse array of shape (n, n)
        Symmetric, non-negative weights; the diagonal is ignored.
    sizes : array-like of shape (n,)
        Weight of each node; parts are balanced by their sum.
    n_clusters : int
        Number of parts.
    seeds : sequence of int, default=(0,)
        METIS is run once with each; from 0 to 2^31 - 1.

    Returns
    -------
    ndarray of shape (n_seeds, n)
        Part of each node, one row per run; parts may be empty.

    Notes
    -----
    Multilevel recursive bisection. Edge weights are scaled to sum to 1e8 (1e9 in a
    sparse array) and rounded, node weights too; an edge that rounds to 0 is dropped. A
    node heavier than a part should be counts as one part: otherwise METIS would leave
    parts empty and complain on stdout. METIS uses the random numbers of the C library,
    so a seed gives the same parts on one platform only. Needs pymetis: ``pip install
    "ensclust[metis]"``. Time about proportional to the number of edges.

    Examples
    --------
    >>> W = [[1, 1, 0, 0], [1, 1, 0.1, 0], [0, 0.1, 1, 1], [0, 0, 1, 1]]
    >>> parts = metis(W, [1, 1, 1, 1], 2)[0]
    >>> bool(parts[0] == parts[1] != parts[2] == parts[3])
    True
    """
    if not sparse.issparse(W):
        W = check_square(W, "W")
    n = W.shape[0]
    k = check_n_clusters(n_clusters, n)
    pymetis = import_metis()
    runs = np.zeros((len(seeds), n), np.int64)
    if k in {1, n}:
        return runs + (np.arange(n) if k > 1 else 0)
    graph = _metis_graph(pymetis, W, _capped(sizes, k))
    for run, seed in zip(runs, seeds, strict=True):
        options = pymetis.Options(seed=int(seed))
        with _METIS_LOCK:
            run[:] = pymetis.part_graph(k, recursive=True, options=options, **graph)[1]
    return runs


def metis_runs(
    W: Any, sizes: npt.ArrayLike, seed: int, n_init: int
) -> Callable[[int], list[np.ndarray]]:
    """Return a function that partitions a graph by several runs of METIS."""
    seeds = check_random_state(seed).randint(2**31 - 1, size=n_init).tolist()

    def distinct(k: int) -> list[np.ndarray]:
        runs = metis(W, sizes, k, seeds=seeds)
        return list({parts.tobytes(): parts for parts in runs}.values())

    return distinct


def import_metis(
    what: str = 'partitioner="metis"', instead: str = 'partitioner="ncut"'
):
    """Import pymetis, or raise with the install line and an alternative."""
    try:
        return import_optional("pymetis", what, "metis")
    except ImportError as error:
        msg = f"{error}, or use {instead}, which does not need it."
        raise ImportError(msg, name=error.name) from error


class TransferCut:
    """Normalised cut of the left nodes of a bipartite graph, by its smaller side.

    Parameters
    ----------
    B : ndarray of shape (n, m)
        Non-negative weights of the edges between n left and m right nodes, float64 or
        float32, which are overwritten.

    Notes
    -----
    With degrees D_x and D_y the eigenvectors of the right nodes' graph B^T D_x^-1 B,
    sent back through B, are those of the whole graph (Li, Wu and Chang 2012). So are
    the singular vectors of D_x^-1/2 B D_y^-1/2, which are found here from the smaller
    of its two Gram matrices, in the precision of B. Time n m min(n, m), memory that of
    the Gram matrix.

    Examples
    --------
    >>> B = np.array([[1, 0, 0], [1, 0.1, 0], [0, 1, 1], [0, 0, 1]])
    >>> cut = TransferCut(B)
    >>> labels = cut.labels(2, random_state=0)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    def __init__(self, B: np.ndarray):
        roots = [
            np.sqrt(B.sum(axis=axis, keepdims=True, dtype=np.float64)).astype(B.dtype)
            for axis in (1, 0)
        ]
        for root in roots:
            # A node without edges has a zero row or column, whatever it is divided by.
            B /= np.where(root > 0, root, 1)
        self._scaled = B
        n, m = B.shape
        gram = B.T @ B if m <= n else B @ B.T
        self._spectrum = Spectrum(gram.astype(np.float64, copy=False))

    def __len__(self) -> int:
        return len(self._scaled)

    def embedding(self, n_clusters: int) -> np.ndarray:
        """Return unit rows for the left nodes, (n, k) float64; k at most min(n, m).

        A node outside the k leading eigenvectors has a row of zeros.
        """
        n, m = self._scaled.shape
        eigenvalues, vectors = self._spectrum.leading(
            min(n_clusters, len(self._spectrum))
        )
        if m <= n:
            rows = (self._scaled @ vectors.astype(self._scaled.dtype)).astype(
                np.float64
            )
        else:
            rows = vectors * np.sqrt(np.maximum(eigenvalues, 0))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 1e-10)

    def labels(self, n_clusters: int, *, random_state=None) -> np.ndarray:
        """Cut the left nodes into parts: k-means of the embedding, best of 3 starts.

        Returns
        -------
        ndarray of shape (n,)
            Part of each left node; fewer parts than ``n_clusters`` if fewer rows of the
            embedding differ.
        """
        from sklearn.cluster import KMeans  # noqa: PLC0415  a second to import
        from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415

        n = len(self)
        k = check_n_clusters(n_clusters, n)
        if k in {1, n}:
            return np.arange(n) if k > 1 else np.zeros(n, np.int64)
        model = KMeans(k, n_init=3, max_iter=100, tol=0, random_state=random_state)
        # One thread: scikit-learn adds the threads' sums in the order they finish.
        with parallel.openmp().limit(limits=1), ignoring(ConvergenceWarning):
            return model.fit_predict(self.embedding(k))


@dataclass(frozen=True, eq=False)
class RowCut:
    """A Solution: a graph of the distinct label rows, whose parts are the clusters.

    Attributes
    ----------
    partitions : callable
        ``partitions(k)`` gives one or more partitions of the rows, (F,) each; the one
        with most parts is kept, then the one whose labels share most with the inputs.
    fitted : dict
        Fitted attributes of every cut.
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings; None means all equal.
    """

    partitions: Callable[[int], list[np.ndarray]]
    fitted: dict[str, Any]
    weights: np.ndarray | None = None

    def cut(self, n_clusters: int, counts: Counts) -> Cut:
        """Partition the rows; others get the label of the nearest by co-association."""
        fragments = counts.fragments()
        n_parts = min(n_clusters, len(fragments.counts))
        found = self.partitions(n_parts)
        best = found[0]
        if len(found) > 1:
            best = max(found, key=lambda parts: self._quality(parts, counts))
        parts = best.astype(np.int32)
        near = Affinity.plain(counts.offsets, self.weights)
        known = KnownRows(fragments.labels, fragments.counts, parts, near)
        return Cut(known, n_parts, self.fitted, parts[fragments.inverse])

    def _quality(self, parts: np.ndarray, counts: Counts) -> tuple[int, float]:
        """Return the number of parts, and what they share with the inputs."""
        rows, k = counts.fragments(), int(parts.max()) + 1
        table = histogram(rows.labels, rows.counts, parts, counts.offsets, k)
        nmi = np.nan_to_num(agreement_of(counts, table).nmi)
        return len(np.unique(parts)), float(np.average(nmi, weights=self.weights))


def _regularised(
    W: np.ndarray, mass: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the graph that is cut, and its degrees."""
    graph = np.where(W > _WEAKEST, W, 0.0)
    offset: np.ndarray | float = _OFFSET
    if mass is not None:
        graph *= np.multiply.outer(mass, mass)
        offset = _OFFSET * mass
    degree = graph.sum(axis=1) + 2 * offset
    graph.flat[:: len(W) + 1] += offset
    return graph, degree


def _metis_graph(pymetis, W: Any, sizes: np.ndarray) -> dict:
    """Return the arguments of pymetis that describe a graph."""
    if sparse.issparse(W):
        graph = sparse.csr_array(W - sparse.diags_array(W.diagonal()))
        graph.data = _integers(graph.data, _SPARSE_TOTAL)
        graph.eliminate_zeros()
    else:
        graph = sparse.csr_array(_integers(W * (1 - np.eye(len(W)))))
    begin, neighbors = graph.indptr, graph.indices
    return {
        **(
            {"adjacency": pymetis.CSRAdjacency(begin, neighbors)}
            if hasattr(pymetis, "CSRAdjacency")
            else {"xadj": begin, "adjncy": neighbors}  # before 2025.2
        ),
        "eweights": graph.data,
        "vweights": np.maximum(_integers(sizes), 1),
    }


def _integers(weights: np.ndarray, total: float = _METIS_TOTAL) -> np.ndarray:
    """Return weights as integers of 32 bits that sum to about ``total``."""
    return np.rint(weights * (total / (weights.sum() or 1))).astype(np.int32)


def _capped(sizes: npt.ArrayLike, k: int) -> np.ndarray:
    """Return node weights, none above the mean weight of k parts."""
    capped = np.maximum(np.asarray(sizes, np.float64), 1)
    while capped.max() > capped.sum() / k * (1 + 1e-6):
        capped = np.minimum(capped, capped.sum() / k)
    return capped


def _values(graph, degree, found: list[np.ndarray], k: int) -> np.ndarray:
    """Return the value of each partition, computed once for equal ones."""
    known: dict[bytes, float] = {}
    keys = [labels.tobytes() for labels in found]
    for key, labels in zip(keys, found, strict=True):
        if key not in known:
            known[key] = _value(graph, degree, labels, k)
    return np.array([known[key] for key in keys])


def _value(graph: np.ndarray, degree: np.ndarray, labels: np.ndarray, k: int) -> float:
    members, inside = np.argsort(labels, kind="stable"), np.empty(k)
    begin = np.concatenate([[0], np.cumsum(np.bincount(labels, minlength=k))])
    _kernels.parts.sum_within(graph, members, begin, inside)
    total = np.bincount(labels, degree, minlength=k)
    return k - float(np.divide(inside, total, where=total > 0, out=np.zeros(k)).sum())
