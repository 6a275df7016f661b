"""The consensus matrix: objects ordered by cluster, neighbours in groups if many."""

from typing import NamedTuple

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.mean_coassociation import (
    Histograms,
    cluster_consensus,
    mutual_consensus,
)


class Blocks(NamedTuple):
    """A consensus matrix of groups of objects.

    Attributes
    ----------
    matrix : ndarray of shape (R, R)
        Mean co-association of the objects of each pair of rows.
    labels : ndarray of shape (R,)
        Cluster of each row, ascending.
    rows : ndarray of shape (N,)
        Row of each object, -1 for one without a cluster.
    """

    matrix: np.ndarray
    labels: np.ndarray
    rows: np.ndarray


def consensus_blocks(
    ensemble: Ensemble,
    labels: np.ndarray,
    max_rows: int,
    *,
    place: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    with_itself: bool = True,
) -> Blocks:
    """Return how often the objects of a clustering are together.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings.
    labels : ndarray of shape (N,)
        Cluster of each object, negative for none.
    max_rows : int
        Rows, and up to one more for each cluster; if there are more objects, neighbours
        within a cluster share a row.
    place : ndarray of shape (N,) or None
        Order of the objects within their clusters; None puts similar rows side by side.
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings.
    with_itself : bool, default=True
        Whether an object counts as together with itself if it shares a row.

    Returns
    -------
    Blocks
        Exact means over all pairs of objects, from the histograms of the rows over
        base clusters: time N M + Nc R^2, memory R^2 + Nc R numbers.
    """
    near = ensemble.fragments().inverse if place is None else place
    rows = _rows(labels, near, max_rows)
    matrix = _means(Histograms.of(ensemble, rows), weights, with_itself=with_itself)
    label_of_row = np.empty(len(matrix), np.int64)
    label_of_row[rows[rows >= 0]] = labels[rows >= 0]
    if place is None:
        order = _alike(matrix, label_of_row)
        matrix = matrix[np.ix_(order, order)]
        rows = np.append(np.argsort(order), -1)[rows]
    return Blocks(matrix, label_of_row, rows)


def _rows(labels: np.ndarray, place: np.ndarray, max_rows: int) -> np.ndarray:
    """Return the row of each object: by cluster, then place; -1 without a cluster.

    Clusters have rows in proportion to their objects, and at least one.
    """
    order = np.lexsort((place, labels))
    order = order[labels[order] >= 0]
    label = labels[order]
    sizes = np.bincount(label)
    share = np.minimum(len(order), max_rows)
    n_rows = np.where(sizes, np.maximum(1, sizes * share // len(order)), 0)
    rank = np.arange(len(order)) - (np.cumsum(sizes) - sizes)[label]
    rows = np.full(len(labels), -1)
    first_row = np.cumsum(n_rows) - n_rows
    rows[order] = first_row[label] + rank * n_rows[label] // sizes[label]
    return rows


def _means(
    histograms: Histograms, weights: np.ndarray | None, *, with_itself: bool
) -> np.ndarray:
    """Return the mean co-association of pairs of rows, (R, R); 1 for a lone object."""
    means = mutual_consensus(histograms, weights)
    if not with_itself:
        own = cluster_consensus(histograms, weights)
        np.fill_diagonal(means, np.nan_to_num(own, nan=1.0))
    return means


def _alike(matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the rows, within each cluster in the order of average linkage."""
    order = np.arange(len(matrix))
    for j in np.unique(labels):
        own = np.flatnonzero(labels == j)
        if len(own) > 2:
            distance = np.maximum(1 - matrix[np.ix_(own, own)], 0)
            tree = hierarchy.average(squareform(distance, checks=False))
            order[own] = own[hierarchy.leaves_list(tree)]
    return order
