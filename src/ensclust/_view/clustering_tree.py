"""How clusters split from one clustering to the next: nodes in rows, and overlaps."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ensclust._ensemble.agreement import spans
from ensclust._ensemble.ensemble import Ensemble

_SWEEPS = 8  # down and up, to reduce crossings
_STRAIGHTENED = 30  # down and up, to shorten lines


class ClusteringTree(NamedTuple):
    """Clusterings as rows of nodes, laid out.

    Attributes
    ----------
    places : ndarray of shape (Nc, 2)
        Position of each cluster, between 0 and 1 from left to right; the first
        clustering is at height 0, the next at -1, and so on.
    edges : ndarray of shape (e, 2)
        Clusters of consecutive clusterings that share objects, the upper one first.
    overlaps : ndarray of shape (e,)
        Number of objects that they share.
    shares : ndarray of shape (e,)
        The same as a share of the lower cluster.
    """

    places: np.ndarray
    edges: np.ndarray
    overlaps: np.ndarray
    shares: np.ndarray


def clustering_tree(ensemble: Ensemble) -> ClusteringTree:
    """Lay out the clusterings of an ensemble below each other, in their order.

    Clusters are ordered within their rows to reduce crossings, by the mean positions of
    their neighbours, and then moved towards these as far as the order allows. Time
    N M^2 / 2, memory Nc^2 numbers.
    """
    shared = ensemble.intersections()
    edges, overlaps, shares = [], [], []
    for upper, lower in pairwise(spans(ensemble)):
        counts = shared[slice(*upper), slice(*lower)]
        joined = np.argwhere(counts)
        edges.append(np.add(joined, [upper[0], lower[0]]))
        overlaps.append(counts[*joined.T])
        shares.append((counts / np.maximum(counts.sum(axis=0), 1))[*joined.T])
    return ClusteringTree(
        _places(ensemble, shared),
        np.concatenate([np.empty((0, 2), int), *edges]),
        np.concatenate([np.empty(0, int), *overlaps]),
        np.concatenate([np.empty(0), *shares]),
    )


def _places(ensemble: Ensemble, shared: np.ndarray) -> np.ndarray:
    rows = [slice(*row) for row in spans(ensemble)]
    x = np.concatenate([_even(np.arange(row.stop - row.start)) for row in rows])
    down = list(pairwise(rows))
    up = [(row, above) for above, row in reversed(down)]
    for _ in range(_SWEEPS):
        for fixed, moved in down + up:
            x[moved] = _even(_means(x, shared, fixed, moved))
    gap = 1 / max(ensemble.cluster_counts.max(initial=1), 1)
    order = [np.argsort(x[row], kind="stable") for row in rows]
    for _ in range(_STRAIGHTENED):
        for i, row in enumerate(rows):
            wanted = [_means(x, shared, rows[j], row) for j in (i - 1, i + 1)
                      if 0 <= j < len(rows)]  # fmt: skip
            if wanted:
                x[row][order[i]] = _apart(np.mean(wanted, axis=0)[order[i]], gap)
    y = np.repeat(-np.arange(len(rows)), ensemble.cluster_counts)
    return np.column_stack([_within(_closed(x, 1.5 * gap), gap), y])


def _means(x: np.ndarray, shared: np.ndarray, fixed: slice, moved: slice) -> np.ndarray:
    """Return the mean position of the neighbours of each cluster in another row."""
    weights = shared[moved, fixed]
    total = weights.sum(axis=1)
    return np.where(total > 0, weights @ x[fixed] / np.maximum(total, 1), x[moved])


def _even(keys: np.ndarray) -> np.ndarray:
    """Return places between 0 and 1, evenly apart, in the order of the keys."""
    rank = np.argsort(np.argsort(keys, kind="stable"), kind="stable")
    return (rank + 0.5) / max(len(keys), 1)


def _apart(wanted: np.ndarray, gap: float) -> np.ndarray:
    """Return the places nearest to the wanted ones that ascend by at least ``gap``.

    Least squares: isotonic regression, by pooling adjacent violators.
    """
    if not len(wanted):
        return wanted
    blocks: list[tuple[float, int]] = []
    for value in wanted - gap * np.arange(len(wanted)):
        mean, size = float(value), 1
        while blocks and blocks[-1][0] > mean:
            before, n = blocks.pop()
            mean, size = (before * n + mean * size) / (n + size), n + size
        blocks.append((mean, size))
    means, sizes = zip(*blocks, strict=True)
    return np.repeat(means, sizes) + gap * np.arange(len(wanted))


def _closed(x: np.ndarray, most: float) -> np.ndarray:
    """Return places moved together where a band without any is wider than ``most``."""
    order = np.argsort(x, kind="stable")
    steps = np.minimum(np.diff(x[order], prepend=x[order[:1]]), most)
    moved = np.empty_like(x)
    moved[order] = np.cumsum(steps)
    return moved


def _within(x: np.ndarray, gap: float) -> np.ndarray:
    """Scale places so that half a gap is left on both sides of 0 to 1."""
    width = np.ptp(x)
    return 0.5 + (x - (x.max() + x.min()) / 2) * ((1 - gap) / width if width else 0)
