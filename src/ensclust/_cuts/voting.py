"""From meta-clusters to objects: every object goes where most of its clusters went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ensclust import _kernels
from ensclust._support import parallel
from ensclust._support.encoding import pieces

if TYPE_CHECKING:
    from ensclust._ensemble.ensemble import Ensemble


def vote(
    ensemble: Ensemble,
    meta_labels: np.ndarray,
    *,
    seed: int,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Label each object with the meta-cluster whose base clusters hold it most often.

    The score of a meta-cluster is the mean, over its base clusters, of the object's
    membership, weighted by the clusterings that they come from. Ties are drawn at
    random by a hash of ``seed`` and the label row: equal rows get equal labels,
    wherever they stand.

    Parameters
    ----------
    ensemble : Ensemble
        The objects.
    meta_labels : ndarray of shape (Nc,)
        Meta-cluster of each base cluster, -1 for none.
    seed : int
        Decides ties.
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings; None is all alike.
    n_jobs : int or None
        Threads; None is one per core.

    Returns
    -------
    ndarray of shape (N,)
        Meta-cluster of each object, -1 where it has no vote. Time N M, memory 4 N.
    """
    winner = np.empty(ensemble.n_objects, np.int32)
    votes = _votes(ensemble, meta_labels, weights)
    arguments = (ensemble.columns, ensemble.offsets, *votes, np.uint64(seed))
    spans = parallel.blocks(ensemble.n_objects, parallel.thread_count(n_jobs))
    tasks = [(*arguments, winner, a, b) for a, b in spans]
    parallel.run(_kernels.voting.vote, tasks, n_jobs=n_jobs)
    return winner


def settle(
    ensemble: Ensemble,
    meta_labels: np.ndarray,
    *,
    seed: int,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Vote until every meta-cluster has an object.

    Base clusters of a meta-cluster that wins no object lose their vote (meta label -1),
    so that new objects cannot fall into it either.

    Returns
    -------
    labels : ndarray of shape (N,)
        Meta-cluster of each object.
    meta_labels : ndarray of shape (Nc,)
        The meta-clusters that are left, numbered without gaps.
    """
    while True:
        labels = vote(ensemble, meta_labels, seed=seed, weights=weights, n_jobs=n_jobs)
        is_used = np.zeros(meta_labels.max() + 2, bool)  # the last is that of -1
        for piece in pieces(labels):
            is_used[piece] = True
        if is_used[:-1].all():
            return labels, meta_labels
        meta_labels = without_losers(meta_labels, np.flatnonzero(is_used[:-1]))


def without_losers(meta_labels: np.ndarray, used: np.ndarray) -> np.ndarray:
    """Return meta labels, numbered without gaps, -1 for those that are not used."""
    rank = np.full(meta_labels.max() + 2, -1)
    rank[used] = np.arange(len(used))
    return rank[meta_labels]


def memberships(
    ensemble: Ensemble,
    meta_labels: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return the scores of :func:`vote` scaled to sum to 1, (N, k) float64.

    A row is zero for an object without any vote. Memory 8 N k.
    """
    votes = _votes(ensemble, meta_labels, weights)
    scores = np.empty((ensemble.n_objects, len(votes[-1])))
    spans = parallel.blocks(ensemble.n_objects, parallel.thread_count(n_jobs))
    shared = (ensemble.columns, ensemble.offsets, *votes, scores)
    tasks = [(*shared, a, b) for a, b in spans]
    parallel.run(_kernels.voting.score, tasks, n_jobs=n_jobs)
    total = scores.sum(axis=1, keepdims=True)
    return np.divide(scores, total, out=scores, where=total > 0)


def _votes(
    ensemble: Ensemble, meta_labels: np.ndarray, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return meta labels (Nc,), weights (M,), and the weight of each meta-cluster."""
    meta = np.asarray(meta_labels, np.int64)
    if weights is None:
        weights = np.ones(ensemble.n_clusterings)
    per_cluster = np.repeat(weights, ensemble.cluster_counts)
    return meta, weights, np.bincount(meta[meta >= 0], per_cluster[meta >= 0])
