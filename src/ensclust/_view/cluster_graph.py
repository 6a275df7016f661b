"""The base clusters as a graph: which are shown, their edges and positions."""

from typing import NamedTuple

import numpy as np
from scipy.sparse.csgraph import minimum_spanning_tree

from ensclust._ensemble.agreement import contingency
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support import parallel

_N_NEAREST = 3  # edges that each node has at least
_DIGITS = 6  # of similarities; what follows may depend on threads
_ROUNDS = 100
_CLOSEST = 1e-3  # distance below which repulsion no longer grows


class ClusterGraph(NamedTuple):
    """Base clusters, laid out.

    Attributes
    ----------
    nodes : ndarray of shape (s,)
        The base clusters that are shown, ascending.
    places : ndarray of shape (s, 2)
        Their positions.
    edges : ndarray of shape (e, 2)
        Positions in ``nodes`` of those joined by a line.
    """

    nodes: np.ndarray
    places: np.ndarray
    edges: np.ndarray


def cluster_graph(
    similarity: np.ndarray, sizes: np.ndarray, meta: np.ndarray, max_nodes: int
) -> ClusterGraph:
    """Lay out the largest base clusters, those of one meta-cluster close together.

    Parameters
    ----------
    similarity : ndarray of shape (Nc, Nc)
        Similarity of the base clusters.
    sizes, meta : ndarray of shape (Nc,)
        Objects and meta-cluster of each, -1 for none.
    max_nodes : int
        Base clusters shown; those without objects are not.

    Returns
    -------
    ClusterGraph
        Time 100 s^2, memory a few s^2 numbers for s nodes.
    """
    largest = np.argsort(-sizes, kind="stable")[:max_nodes]
    nodes = np.sort(largest[sizes[largest] > 0])
    near = np.round(similarity[np.ix_(nodes, nodes)], _DIGITS)
    weights = _strongest(near, meta[nodes])
    return ClusterGraph(
        nodes,
        spring_layout(weights, meta[nodes]),
        np.argwhere(np.triu(weights, 1) > 0),
    )


def majority(ensemble: Ensemble, labels: np.ndarray) -> np.ndarray:
    """Return the cluster that most objects of each base cluster are in, -1 for none."""
    counts = contingency(ensemble, labels)
    shared = counts.max(axis=0, initial=0)
    return np.where(shared > 0, (counts == shared).argmax(axis=0), -1)


def spring_layout(weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Place nodes so that those with heavy edges are near (Fruchterman, Reingold).

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Symmetric weights of the edges, 0 for none.
    groups : ndarray of shape (n,)
        Nodes of one group start side by side on a circle; it has no other effect.

    Returns
    -------
    ndarray of shape (n, 2)
        Always the same for the same input. Time 100 n^2, memory about 5 n^2 numbers.
    """
    n = len(weights)
    place = np.empty((n, 2))
    angle = 2 * np.pi * np.arange(n) / n
    place[np.argsort(groups, kind="stable")] = np.stack(
        [np.cos(angle), np.sin(angle)], axis=1
    )
    spacing = 1 / np.sqrt(n)
    spring = weights / ((weights.max(initial=0) or 1.0) * spacing)
    with parallel.one_blas_thread():  # the matrices are small
        for step in np.linspace(0.3, 0.005, _ROUNDS):
            norms = (place**2).sum(axis=1)
            squared = (-2 * place) @ place.T + norms[:, None] + norms
            np.maximum(squared, _CLOSEST**2, out=squared)
            push = spacing**2 / squared - np.sqrt(squared) * spring
            force = push.sum(axis=1, keepdims=True) * place - push @ place - place / 2
            size = np.sqrt((force**2).sum(axis=1, keepdims=True))
            place += force * np.minimum(1.0, step / np.maximum(size, 1e-12))
    return place - place.mean(axis=0)


def _strongest(similarity: np.ndarray, meta: np.ndarray) -> np.ndarray:
    """Keep the similarities to the nearest few and those that connect the graph.

    The latter are two trees of the largest similarities: one within each meta-cluster,
    and one over all nodes. 0 elsewhere.
    """
    n = len(similarity)
    weights = similarity.copy()
    np.fill_diagonal(weights, 0)
    nearest = np.argsort(-weights, axis=1, kind="stable")[:, : min(_N_NEAREST, n - 1)]
    is_kept = np.zeros((n, n), dtype=bool)
    np.put_along_axis(is_kept, nearest, values=True, axis=1)
    lengths = np.where(weights > 0, 2 - weights / (weights.max(initial=0) or 1.0), 0)
    for inside in (np.equal.outer(meta, meta), True):
        is_kept |= minimum_spanning_tree(np.where(inside, lengths, 0)).toarray() > 0
    return np.where(is_kept | is_kept.T, weights, 0)
