"""A map of objects from their base clusters alone: t-SNE of the label rows."""

import numpy as np
from scipy import sparse

from ensclust._support import parallel

_LANDMARKS = 500  # distinct label rows that are laid out; the others join them
_PERPLEXITY = 30
_NEAREST = 3  # landmarks between which another row is placed
_ROUNDS, _EARLY = 400, 100  # steps of descent, and how many of them exaggerate
_EXAGGERATION = 12.0
_LEAST_RATE = 10.0  # with the usual 50, some layouts of few rows tear groups apart
_DIGITS = 6  # of similarities; what follows may depend on threads
_DOT = 0.006  # radius that an object takes up, as a share of the map's width


def ensemble_map(rows: sparse.csr_array, start: np.ndarray) -> np.ndarray:
    """Place objects so that those with similar label rows are neighbours.

    Parameters
    ----------
    rows : csr_array of shape (n, Nc)
        Unit rows with an entry for each base cluster of an object; the product of two
        is their co-association.
    start : ndarray of shape (n, 2)
        Initial positions, such as principal components.

    Returns
    -------
    ndarray of shape (n, 2)
        Always the same for the same input. Objects with equal rows form a disc.
        t-SNE of at most 500 distinct rows, the most frequent first; any other row is
        placed between the three of them that it is most similar to. Time 400 L^2 + n L,
        memory a few L^2 numbers for L rows laid out.
    """
    first, place, counts = _distinct(rows)
    order = np.random.default_rng(0).permutation(len(first))
    order = order[np.argsort(-counts[order], kind="stable")]
    chosen = np.sort(order[:_LANDMARKS])
    landmarks = rows[first[chosen]]
    with parallel.one_blas_thread():  # the matrices are small
        similarity = np.round((landmarks @ landmarks.T).toarray(), _DIGITS)
        at = _descend(_neighbours(1 - similarity), start[first[chosen]])
    placed = np.empty((len(first), 2))
    placed[chosen] = at
    others = np.setdiff1d(np.arange(len(first)), chosen)
    if len(others):
        near = np.round((rows[first[others]] @ landmarks.T).toarray(), _DIGITS)
        best = np.argsort(-near, axis=1, kind="stable")[:, :_NEAREST]
        weight = np.take_along_axis(near, best, axis=1) ** 4 + 1e-12
        weight /= weight.sum(axis=1, keepdims=True)
        placed[others] = np.einsum("ij,ijk->ik", weight, at[best])
    return placed[place] + _discs(place, np.ptp(placed, axis=0).max())


def _distinct(rows: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first object of each distinct row, each object's row, and counts."""
    keys = [row.tobytes() for row in np.split(rows.indices, rows.indptr[1:-1])]
    number: dict[bytes, int] = {}
    place = np.array([number.setdefault(key, len(number)) for key in keys])
    first = np.unique(place, return_index=True)[1]
    return first, place, np.bincount(place)


def _neighbours(distances: np.ndarray) -> np.ndarray:
    """Return t-SNE's joint probabilities of squared distances, (n, n).

    Each row's bandwidth gives it the same perplexity, found by bisection.
    """
    n = len(distances)
    wanted = np.log(min(_PERPLEXITY, max((n - 1) / 3, 1.0)))
    low, high = np.zeros((n, 1)), np.full((n, 1), np.inf)
    beta = np.ones((n, 1))
    off = ~np.eye(n, dtype=bool)
    for _ in range(50):
        weight = np.exp(-beta * distances) * off
        total = np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
        mean = (distances * weight).sum(axis=1, keepdims=True) / total
        is_wide = np.log(total) + beta * mean > wanted  # the entropy
        low, high = np.where(is_wide, beta, low), np.where(is_wide, high, beta)
        beta = np.where(np.isinf(high), 2 * beta, (low + high) / 2)
    joint = weight / total
    return np.maximum((joint + joint.T) / max(2 * n, 1), 1e-12)


def _descend(joint: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return places whose Student-t neighbourhoods match ``joint`` (van der Maaten)."""
    n = len(joint)
    at = 1e-2 * (start - start.mean(axis=0)) / (np.abs(start).max(initial=0) or 1.0)
    # Rows with equal components would never part.
    at += 1e-4 * np.random.default_rng(0).standard_normal(at.shape)
    rate = max(n / _EXAGGERATION / 4, _LEAST_RATE)
    speed, gain = np.zeros_like(at), np.ones_like(at)
    for step in range(_ROUNDS):
        pull, momentum = (_EXAGGERATION, 0.5) if step < _EARLY else (1.0, 0.8)
        norms = (at**2).sum(axis=1)
        kernel = 1 / (1 + np.maximum(norms[:, None] + norms - 2 * at @ at.T, 0))
        np.fill_diagonal(kernel, 0)
        force = (pull * joint - kernel / max(kernel.sum(), 1e-300)) * kernel
        gradient = 4 * (force.sum(axis=1, keepdims=True) * at - force @ at)
        same = np.sign(gradient) == np.sign(speed)
        gain = np.maximum(np.where(same, 0.8 * gain, gain + 0.2), 0.01)
        speed = momentum * speed - rate * gain * gradient
        at = at + speed
        at -= at.mean(axis=0)
    return at


def _discs(place: np.ndarray, width: float) -> np.ndarray:
    """Return offsets that spread objects at the same place over a disc, (n, 2)."""
    order = np.argsort(place, kind="stable")
    rank = np.empty(len(place))
    rank[order] = np.arange(len(place)) - np.searchsorted(place[order], place[order])
    radius = _DOT * (width or 1.0) * np.sqrt(rank)
    angle = np.pi * (3 - np.sqrt(5)) * rank
    return radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
