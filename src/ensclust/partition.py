"""Partitions of the graph of base clusters: normalised cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg
from sklearn.utils import check_random_state

from ensclust import _parallel
from ensclust._validation import check_n_clusters, check_square

if TYPE_CHECKING:
    import numpy.typing as npt

_OFFSET = 0.5  # added to the diagonal; twice it is added to every degree
_WEAKEST = 1e-6  # weights up to this are dropped
_MAX_ROUNDS = 21


def ncut(
    W: npt.ArrayLike, n_clusters: int, *, random_state=None, n_starts: int = 50
) -> np.ndarray:
    """Partition a graph by normalised cut: spectral relaxation, then rotation.

    Parameters
    ----------
    W : array-like of shape (n, n)
        Symmetric, non-negative weights, diagonal included.
    n_clusters : int
        Number of parts.
    random_state : int, RandomState instance or None
        Draws the rows at which the discretisation starts.
    n_starts : int, default=50
        Number of starts; the partition with the least :func:`ncut_value` is kept.

    Returns
    -------
    ndarray of shape (n,)
        Part of each node; some part may stay empty.

    Notes
    -----
    Offset-regularised normalised cut of Cour, Yu and Shi with the discretisation of
    Yu and Shi (2003). Rows to start from are drawn from the nodes in order of degree,
    so that the result does not hang on the numbering of nodes. Time n^3 for the
    eigenvectors and n k^2 per round and start, memory 2 n^2.

    Examples
    --------
    >>> W = [[1, 1, 0, 0], [1, 1, 0.1, 0], [0, 0.1, 1, 1], [0, 0, 1, 1]]
    >>> ncut(W, 2, random_state=0)
    array([0, 0, 1, 1])
    """
    W = check_square(W, "W")
    k = check_n_clusters(n_clusters, len(W))
    if k == 1 or k == len(W):
        return np.arange(len(W)) if k > 1 else np.zeros(len(W), np.int64)
    graph, degree = regularised(W)
    rows = ncut_embedding(graph, degree, k)[1]
    # A node that none of the k vectors reaches (more components than k) stays at 0.
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, length, out=rows, where=length > 0)
    by_degree = np.argsort(-degree, kind="stable")
    rng = check_random_state(random_state)
    starts = by_degree[rng.permutation(len(W))[:n_starts]]
    best, best_value = np.zeros(len(W), np.int64), np.inf
    with _parallel.one_blas_thread():  # the matrices are too small for more
        for start in starts:
            labels = _discretise(rows, start)
            value = _value(graph, degree, labels, k)
            if value < best_value - 1e-12:
                best, best_value = labels, value
    return best


def ncut_value(W: npt.ArrayLike, labels: npt.ArrayLike, n_clusters: int) -> float:
    """Normalised cut of a partition on the regularised graph; an empty part counts 1.

    Examples
    --------
    >>> round(ncut_value([[1, 0], [0, 1]], [0, 1], 2), 3)
    0.5
    """
    graph, degree = regularised(check_square(W, "W"))
    return _value(graph, degree, np.asarray(labels), n_clusters)


def regularised(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the graph that is cut, and its degrees."""
    graph = np.where(W > _WEAKEST, W, 0.0)
    degree = graph.sum(axis=1) + 2 * _OFFSET
    graph.flat[:: len(W) + 1] += _OFFSET
    return graph, degree


def ncut_embedding(
    graph: np.ndarray, degree: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues of D^-1/2 W D^-1/2 and D^-1/2 times its vectors.

    Columns are scaled to norm sqrt(n).
    """
    root = np.sqrt(degree)
    n = len(graph)
    eigenvalues, vectors = linalg.eigh(
        graph / root[:, None] / root,
        subset_by_index=[n - k, n - 1],
        overwrite_a=True,
        check_finite=False,
    )
    vectors = vectors[:, ::-1] / root[:, None]
    vectors *= np.sqrt(n) / np.linalg.norm(vectors, axis=0)
    return eigenvalues[::-1], vectors


def _discretise(rows: np.ndarray, start: int) -> np.ndarray:
    """Rotate unit rows until the nearest axis of each is stable; return that axis."""
    k = rows.shape[1]
    rotation = np.empty((k, k))
    rotation[:, 0] = rows[start]
    closeness = np.zeros(len(rows))
    for j in range(1, k):
        closeness += np.abs(rows @ rotation[:, j - 1])
        rotation[:, j] = rows[np.argmin(closeness)]
    labels = np.full(len(rows), -1)
    for _ in range(_MAX_ROUNDS):
        axis = np.argmax(rows @ rotation, axis=1)
        if np.array_equal(axis, labels):
            break
        labels = axis
        left, _, right = np.linalg.svd(_part_sums(rows, labels, k))
        rotation = right.T @ left.T
    return labels


def _part_sums(rows: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray:
    indicator = np.zeros((len(rows), k))
    indicator[np.arange(len(rows)), labels] = 1
    return indicator.T @ rows


def _value(graph: np.ndarray, degree: np.ndarray, labels: np.ndarray, k: int) -> float:
    indicator = np.zeros((len(labels), k))
    indicator[np.arange(len(labels)), labels] = 1
    inside = np.einsum("ij,ij->j", indicator, graph @ indicator)
    total = indicator.T @ degree
    return float(k - np.divide(inside, total, where=total > 0, out=np.zeros(k)).sum())
