"""Where the nodes of a graph are drawn: springs along edges, all nodes repel."""

from __future__ import annotations

import numpy as np

from ensclust._support import parallel

_ROUNDS = 100
_CLOSEST = 1e-3  # distance below which repulsion grows no more


def spring_layout(weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Place nodes so that those with heavy edges are near (Fruchterman, Reingold).

    Parameters
    ----------
    weights : ndarray of shape (n, n)
        Symmetric weights of the edges, 0 for none.
    groups : ndarray of shape (n,)
        Nodes of one group begin side by side on a circle; no other use is made of it.

    Returns
    -------
    ndarray of shape (n, 2)
        Always the same for the same input. Time 100 n^2, memory 3 n^2 numbers.
    """
    n = len(weights)
    place = np.empty((n, 2))
    angle = 2 * np.pi * np.arange(n) / n
    place[np.argsort(groups, kind="stable")] = np.stack(
        [np.cos(angle), np.sin(angle)], axis=1
    )
    spacing = 1 / np.sqrt(n)
    spring = weights / ((weights.max(initial=0) or 1.0) * spacing)
    push, pull = np.empty((n, n)), np.empty((n, n))
    with parallel.one_blas_thread():  # the matrices are small
        for step in np.linspace(0.3, 0.005, _ROUNDS):
            norms = (place**2).sum(axis=1)
            np.matmul(-2 * place, place.T, out=push)
            push += norms[:, None]
            push += norms
            np.maximum(push, _CLOSEST**2, out=push)  # squared distances, so far
            np.sqrt(push, out=pull)
            pull *= spring
            np.divide(spacing**2, push, out=push)
            push -= pull
            force = push.sum(axis=1, keepdims=True) * place - push @ place - place / 2
            size = np.sqrt((force**2).sum(axis=1, keepdims=True))
            place += force * np.minimum(1.0, step / np.maximum(size, 1e-12))
    return place - place.mean(axis=0)
