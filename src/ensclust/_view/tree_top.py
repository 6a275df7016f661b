"""The top of a dendrogram: few enough branches to draw, and their positions."""

import numpy as np

from ensclust._support.encoding import first_places, ranks
from ensclust._trees.dendrogram import Dendrogram


def tree_top(dendrogram: Dendrogram, n_branches: int) -> Dendrogram:
    """Return the last merges of a tree, its leaves numbered by their first objects.

    So the clusters of a cut are numbered by their first branches, too. At most
    ``n_branches`` leaves; time N + L for L leaves of the whole tree.
    """
    top = dendrogram.top(min(n_branches, dendrogram.n_leaves))
    rank = ranks(first_places(top.leaf_of_object, top.n_leaves))[0]
    number = np.arange(2 * top.n_leaves - 1)
    number[: top.n_leaves] = rank
    return Dendrogram(
        number[top.leaf_of_object],
        number[top.merges],
        top.heights,
        top.leaf_heights[np.argsort(rank)],
    )


def node_places(top: Dendrogram) -> np.ndarray:
    """Return the horizontal position of each node, between its parts, (2 L - 1,).

    Leaves are at 0, 1, ... in the order of ``top.leaf_order()``.
    """
    n = top.n_leaves
    place = np.empty(2 * n - 1)
    place[top.leaf_order()] = np.arange(n)
    for i, parts in enumerate(top.merges, start=n):
        place[i] = place[parts].mean()
    return place


def spread(values: np.ndarray, is_in: np.ndarray) -> np.ndarray:
    """Return values of the objects in the tree for all objects, -1 for the others."""
    all_values = np.full(len(is_in), -1)
    all_values[is_in] = values
    return all_values


def object_places(dendrogram: Dendrogram) -> np.ndarray:
    """Return the position of each object's leaf in the drawn tree, (N,)."""
    return np.argsort(dendrogram.leaf_order())[dendrogram.leaf_of_object]
