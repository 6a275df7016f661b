"""From eigenvectors to parts: rotations that bring each row near to one axis.

Discretisation of Yu and Shi (2003). A rotation gives each unit row the axis that it is
nearest to; these axes give the next rotation, until they no longer change. It starts
from many rows, and most of these starts reach partitions that others have reached
before: from there on their path is known and not followed again.
"""

import numpy as np

from ensclust import _kernels

MAX_ROUNDS = 21


def partitions(rows: np.ndarray, starts: np.ndarray) -> list[np.ndarray]:
    """Return the partition of unit rows that each start ends in.

    Parameters
    ----------
    rows : ndarray of shape (n, k)
        Unit vectors, or zeros.
    starts : ndarray of shape (s,)
        Rows that are the first axis.

    Returns
    -------
    list of ndarray of shape (n,)
        Part of each row, 0, 1, ... by first appearance; at most k parts. Time n k^2 per
        start and n k^2 + k^3 per round.
    """
    known: dict[bytes, tuple[np.ndarray, int]] = {}
    return [_rotate(rows, rows[own].T, known) for own in first_axes(rows, starts)]


def first_axes(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return k rows for each start, (s, k), each the farthest from those before it."""
    k = rows.shape[1]
    chosen = np.empty((len(starts), k), np.int64)
    chosen[:, 0] = starts
    closeness = np.zeros((len(starts), len(rows)))
    for j in range(1, k):
        products = rows[chosen[:, j - 1]] @ rows.T
        closeness += np.abs(products, out=products)
        chosen[:, j] = closeness.argmin(axis=1)
    return chosen


def _rotate(rows: np.ndarray, rotation: np.ndarray, known: dict) -> np.ndarray:
    """Rotate until the nearest axis of each row is stable; return the parts.

    ``known`` has the partitions that were reached before, with where they lead and in
    how many rounds.
    """
    n, k = rows.shape
    axis = np.full(n, -1)
    trail: list[bytes] = []
    for done in range(MAX_ROUNDS):
        nearest = np.argmax(rows @ rotation, axis=1)
        if np.array_equal(nearest, axis):
            break
        axis, parts, sums = nearest, np.empty(n, np.int64), np.zeros((k, k))
        n_parts = _kernels.parts.sum_rows(rows, axis, np.full(k, -1), parts, sums)
        key = parts.tobytes()
        # With an empty part the rotation is not unique: rounding decides.
        if n_parts == k and key in known:
            end, n_rounds = known[key]
            if done + n_rounds <= MAX_ROUNDS:
                _remember(known, trail, end, n_rounds)
                return end
        trail.append(key)
        left, _, right = np.linalg.svd(sums)
        rotation = right.T @ left.T
    _remember(known, trail, parts, 1)
    return parts


def _remember(known: dict, trail: list[bytes], end: np.ndarray, n_rounds: int) -> None:
    for further, key in enumerate(reversed(trail), start=1):
        known.setdefault(key, (end, n_rounds + further))
