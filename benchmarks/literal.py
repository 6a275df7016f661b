"""The straightforward implementation to compete with: NumPy and SciPy, no tricks."""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

OFFSET = 0.5  # of the regularised normalised cut
WEAKEST = 1e-6
MAX_ROUNDS = 21


def membership(labels: np.ndarray) -> sparse.csr_matrix:
    """Return H, (N, Nc) float32 in CSR form, M ones per row."""
    n, m = labels.shape
    start = np.concatenate([[0], np.cumsum(labels.max(axis=0) + 1)])
    indices = (labels + start[:-1]).astype(np.int32).reshape(-1)
    indptr = np.arange(0, n * m + 1, m, dtype=np.int32)
    ones = np.ones(n * m, np.float32)
    return sparse.csr_matrix((ones, indices, indptr), shape=(n, int(start[-1])))


def intersections(H: sparse.csr_matrix) -> np.ndarray:
    """H^T H."""
    return (H.T @ H).toarray()


def jaccard(overlap: np.ndarray) -> np.ndarray:
    sizes = overlap.diagonal().astype(np.float64)
    return overlap / (sizes[:, None] + sizes - overlap)


def propagate(W: np.ndarray, steps: int) -> np.ndarray:
    """Compute Z by a loop of 2 t products."""
    P = W * (1 - np.eye(len(W)))
    P /= P.sum(axis=1, keepdims=True)
    Q, S = np.eye(len(W)), np.zeros_like(W)
    for _ in range(steps):
        Q = Q @ P
        S += Q @ Q.T
    norm = np.sqrt(S.diagonal())
    return S / norm / norm[:, None]


def ncut(W: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Normalised cut by k eigenvectors and one Yu-Shi discretisation."""
    graph = np.where(W > WEAKEST, W, 0.0)
    root = np.sqrt(graph.sum(axis=1) + 2 * OFFSET)
    graph[np.diag_indices_from(graph)] += OFFSET
    n = len(W)
    vectors = linalg.eigh(graph / root[:, None] / root, subset_by_index=[n - k, n - 1])[
        1
    ]
    vectors /= root[:, None]
    vectors *= np.sqrt(n) / np.linalg.norm(vectors, axis=0)
    return discretise(vectors, rng)


def discretise(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    n, k = rows.shape
    rotation = np.zeros((k, k))
    rotation[:, 0] = rows[rng.integers(n)]
    closeness = np.zeros(n)
    for j in range(1, k):
        closeness += np.abs(rows @ rotation[:, j - 1])
        rotation[:, j] = rows[np.argmin(closeness)]
    last = np.inf
    for _ in range(MAX_ROUNDS):
        labels = np.argmax(rows @ rotation, axis=1)
        left, values, right = linalg.svd(np.eye(k)[labels].T @ rows)
        objective = 2 * (n - values.sum())
        if abs(objective - last) < np.finfo(np.float64).eps:
            break
        last = objective
        rotation = right.T @ left.T
    return labels


def vote(H: sparse.csr_matrix, meta_labels: np.ndarray, k: int) -> np.ndarray:
    """Give each object the meta-cluster with the highest mean membership, densely."""
    indicator = np.eye(k, dtype=np.float32)[meta_labels]
    indicator /= np.maximum(indicator.sum(axis=0), 1)
    return np.argmax(H.toarray() @ indicator, axis=1)


def ecpcs_mc(labels: np.ndarray, k: int, steps: int = 20) -> np.ndarray:
    """ECPCS-MC from a label matrix."""
    H = membership(labels)
    Z = propagate(jaccard(intersections(H)), steps)
    meta_labels = ncut(Z, k, np.random.default_rng(0))
    return vote(H, meta_labels, k)
