"""From eigenvectors to parts: rotations that bring each row near to one axis.

Discretisation of Yu and Shi (2003). A rotation gives each unit row the axis that it is
nearest to; these axes give the next rotation, until they no longer change. It starts
from many rows, and most of these starts reach partitions that others have reached
before: from there on their path is known and not followed again.
"""

import numpy as np

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
    n, k = rows.shape
    known: dict[bytes, tuple[np.ndarray, int]] = {}
    indicator = np.zeros((n, k))
    chosen = first_axes(rows, starts)
    return [_rotate(rows, rows[own].T, indicator, known) for own in chosen]


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


def _rotate(
    rows: np.ndarray, rotation: np.ndarray, indicator: np.ndarray, known: dict
) -> np.ndarray:
    """Rotate until the nearest axis of each row is stable; return the parts.

    ``indicator`` holds zeros, before and after. ``known`` has the partitions that were
    reached before, with where they lead and in how many rounds.
    """
    everyone = np.arange(len(rows))
    axis = np.full(len(rows), -1)
    trail: list[bytes] = []
    for done in range(MAX_ROUNDS):
        nearest = np.argmax(rows @ rotation, axis=1)
        if np.array_equal(nearest, axis):
            break
        axis = nearest
        parts, n_parts = numbered(axis, rows.shape[1])
        key = parts.tobytes()
        # With an empty part the rotation is not unique: rounding decides.
        if n_parts == rows.shape[1] and key in known:
            end, n_rounds = known[key]
            if done + n_rounds <= MAX_ROUNDS:
                _remember(known, trail, end, n_rounds)
                return end
        trail.append(key)
        indicator[everyone, axis] = 1
        left, _, right = np.linalg.svd(indicator.T @ rows)
        indicator[everyone, axis] = 0
        rotation = right.T @ left.T
    _remember(known, trail, parts, 1)
    return parts


def _remember(known: dict, trail: list[bytes], end: np.ndarray, n_rounds: int) -> None:
    for further, key in enumerate(reversed(trail), start=1):
        known.setdefault(key, (end, n_rounds + further))


def numbered(axis: np.ndarray, k: int) -> tuple[np.ndarray, int]:
    """Return parts numbered by first appearance, and how many there are."""
    n = len(axis)
    first = np.full(k, n)
    first[axis[::-1]] = np.arange(n - 1, -1, -1)  # the last of equal indices counts
    rank = np.empty(k, np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(k)
    return rank[axis], int((first < n).sum())
