"""From eigenvectors to parts: rotations that bring each row near to one axis.

Discretisation of Yu and Shi (2003). A rotation gives each unit row the axis that it is
nearest to; these axes give the next rotation, until they no longer change. It starts
from many rows, and most of these starts reach partitions that others have reached
before: from there on their path is known and not followed again.
"""

import numpy as np

from ensclust import _kernels

MAX_ROUNDS = 21
_WELL_CONDITIONED = 1e-6  # smallest square of a singular value, of the largest


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
    return [_rotate(rows, axis, known) for axis in first_partitions(rows, starts)]


def first_partitions(rows: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return for each start the axis that each row is nearest to, (s, n).

    The axes are k of the rows: the start, then always the farthest from those before.
    """
    n, k = rows.shape
    last, closeness = starts.astype(np.int64), np.zeros((len(starts), n))
    highest = np.full((len(starts), n), -np.inf)
    nearest = np.zeros((len(starts), n), np.int64)
    for j in range(k):
        distinct, which = np.unique(last, return_inverse=True)
        products = rows[distinct] @ rows.T
        _kernels.parts.add_axis(products, which, j, closeness, highest, nearest, last)
    return nearest


def _rotate(rows: np.ndarray, axis: np.ndarray, known: dict) -> np.ndarray:
    """Rotate until the nearest axis of each row is stable; return the parts.

    ``known`` has the partitions that were reached before, with where they lead and in
    how many rounds.
    """
    n, k = rows.shape
    trail: list[bytes] = []
    for done in range(MAX_ROUNDS):
        parts, sums = np.empty(n, np.int64), np.zeros((k, k))
        n_parts = _kernels.parts.sum_rows(rows, axis, np.full(k, -1), parts, sums)
        key = parts.tobytes()
        # With an empty part the rotation is not unique: rounding decides.
        if n_parts == k and key in known:
            end, n_rounds = known[key]
            if done + n_rounds <= MAX_ROUNDS:
                _remember(known, trail, end, n_rounds)
                return end
        trail.append(key)
        nearest = np.argmax(rows @ _rotation(sums), axis=1)
        if np.array_equal(nearest, axis):
            break
        axis = nearest
    _remember(known, trail, parts, 1)
    return parts


def _rotation(sums: np.ndarray) -> np.ndarray:
    """Return the rotation of rows that brings the sum of each part nearest its axis.

    It is V U^T of the singular value decomposition U S V^T, found from the smaller
    problem of V and S^2 alone unless squares would lose too many digits.
    """
    squares, vectors = np.linalg.eigh(sums.T @ sums)
    if squares[0] > _WELL_CONDITIONED * squares[-1]:
        return (vectors / np.sqrt(squares)) @ (sums @ vectors).T
    left, _, right = np.linalg.svd(sums)
    return right.T @ left.T


def _remember(known: dict, trail: list[bytes], end: np.ndarray, n_rounds: int) -> None:
    for further, key in enumerate(reversed(trail), start=1):
        known.setdefault(key, (end, n_rounds + further))
