"""The graph of base clusters of a method that partitions them, laid out to be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust._view.report.plain import rounded, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust._methods.base import BaseConsensus

_NODES = 300  # base clusters drawn, the largest
_EDGES = 3  # strongest edges of each
_ROUNDS = 120
_PULL = 0.15  # of the strongest edge, beside the push of two nodes
_GOLDEN = np.pi * (3 - np.sqrt(5))


def graph(model: BaseConsensus, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the base clusters with their meta-clusters, None if there are none.

    At most 300 nodes, the largest base clusters, each with its three strongest edges.
    Positions come from springs: nodes repel one another, edges pull. Time 300^2 per
    round, 120 rounds.
    """
    similarity = getattr(model, "cluster_similarity_", None)
    if similarity is None:
        return None
    ensemble = model._prepared
    nodes = np.sort(np.argsort(-ensemble.sizes, kind="stable")[:_NODES])
    meta = model.meta_labels_[nodes]
    W = np.round(np.asarray(similarity)[np.ix_(nodes, nodes)], 6)
    np.fill_diagonal(W, 0)
    edges = _strongest(W)
    place = _springs(W, edges, _start(meta))
    clustering = np.searchsorted(ensemble.offsets, nodes, side="right") - 1
    inner = nodes - ensemble.offsets[clustering]
    if model.weights_ is not None:
        names = [name for name, w in zip(names, model.weights_, strict=True) if w > 0]
    return {
        "n": ensemble.n_base_clusters,
        "x": rounded(place[:, 0], 3),
        "y": rounded(place[:, 1], 3),
        "size": ensemble.sizes[nodes].tolist(),
        "meta": meta.tolist(),
        "clustering": [shortened(names[m]) for m in clustering],
        "cluster": [
            shortened(ensemble.categories[m][j])
            for m, j in zip(clustering, inner, strict=True)
        ],
        "edges": edges.tolist(),
        "weights": rounded(W[edges[:, 0], edges[:, 1]], 3),
    }


def _strongest(W: np.ndarray) -> np.ndarray:
    """Return the strongest edges of each node, each pair once, (E, 2)."""
    nearest = np.argsort(-W, axis=1, kind="stable")[:, :_EDGES]
    rows = np.repeat(np.arange(len(W)), nearest.shape[1])
    pairs = np.column_stack([rows, nearest.ravel()])
    pairs = pairs[W[pairs[:, 0], pairs[:, 1]] > 0]
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _start(meta: np.ndarray) -> np.ndarray:
    """Return first positions: meta-clusters on a circle, their nodes as in a flower."""
    n_meta = int(meta.max(initial=0)) + 1
    angle = 2 * np.pi * np.maximum(meta, 0) / n_meta
    rank = np.zeros(len(meta))
    for j in np.unique(meta):
        rank[meta == j] = np.arange((meta == j).sum())
    radius, turn = 0.06 * np.sqrt(rank + 1), _GOLDEN * rank
    x = np.cos(angle) + radius * np.cos(turn)
    y = np.sin(angle) + radius * np.sin(turn)
    return np.column_stack([x, y])


def _springs(W: np.ndarray, edges: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Return positions after Fruchterman and Reingold (1991), in steps that shrink.

    Sums only, no products of matrices, whose last digits depend on threads.
    """
    a, b = edges.T
    strength = _PULL * W[a, b][:, None] / W.max(initial=1e-12)
    length = 2.2 / np.sqrt(len(place))
    for step in np.linspace(0.08, 0.002, _ROUNDS):
        gap = place[:, None] - place[None]
        squared = (gap**2).sum(axis=2) + 1e-6
        force = (gap * (length**2 / squared)[:, :, None]).sum(axis=1)
        pull = place[b] - place[a]
        pull *= strength * np.sqrt((pull**2).sum(axis=1, keepdims=True)) / length
        np.add.at(force, a, pull)
        np.add.at(force, b, -pull)
        force -= 0.3 * place  # parts without edges between them stay in sight
        norm = np.sqrt((force**2).sum(axis=1, keepdims=True)) + 1e-12
        place = place + force / norm * np.minimum(norm, step)
    place -= place.mean(axis=0)
    return place / (np.abs(place).max() or 1.0)
