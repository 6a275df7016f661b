"""The top of a dendrogram: few enough branches to draw, any k to cut it at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensclust._view.report.plain import rounded

if TYPE_CHECKING:
    from ensclust._methods.base import BaseConsensus
    from ensclust._trees.dendrogram import Dendrogram

_FEWEST, _MOST = 30, 200  # branches drawn; between them, twice the clusters


class Top(NamedTuple):
    """The last merges of a dendrogram.

    Attributes
    ----------
    facts : dict
        "sizes" and "heights" of the branches, numbered by first appearance; "merges",
        of which merge j joins two nodes into node L + j; "merged", their heights;
        "order" of the branches from left to right; "k", the clusters of the result;
        "leaves" of the whole tree.
    group : ndarray of shape (N,)
        The branch of each object, -1 for none.
    """

    facts: dict[str, Any]
    group: np.ndarray


def top(model: BaseConsensus, labels: np.ndarray) -> Top | None:
    """Return the last merges of a model's dendrogram, None if it has none.

    Time N + L for L leaves of the tree.
    """
    dendrogram = getattr(model, "dendrogram_", None)
    if dendrogram is None:
        return None
    k = int(labels.max()) + 1
    n_branches = min(dendrogram.n_leaves, _MOST, max(_FEWEST, 2 * k))
    branch = dendrogram.cut(n_branches)
    nodes = _branch_nodes(dendrogram, n_branches, branch)
    n, first = dendrogram.n_leaves, dendrogram.n_leaves - n_branches
    merges = [
        [nodes[a] if a in nodes else int(a) - n - first + n_branches for a in pair]
        for pair in dendrogram.merges[first:].tolist()
    ]
    own = np.zeros(n_branches)
    for node, number in nodes.items():
        inner = node >= n
        heights = dendrogram.heights if inner else dendrogram.leaf_heights
        own[number] = heights[node - n if inner else node]
    group = np.full(len(labels), -1)
    group[labels >= 0] = branch
    facts = {
        "sizes": np.bincount(branch).tolist(),
        "heights": rounded(own, 6),
        "merges": merges,
        "merged": rounded(dendrogram.heights[first:], 6),
        "order": _order(merges, n_branches),
        "k": k,
        "leaves": n,
    }
    return Top(facts, group)


def _branch_nodes(
    dendrogram: Dendrogram, n_branches: int, branch: np.ndarray
) -> dict[int, int]:
    """Return the number of each branch by the node of the tree that it hangs from."""
    n = dendrogram.n_leaves
    first = n - n_branches  # merges below are inside of branches
    below = [a for a in dendrogram.merges[first:].ravel().tolist() if a < n + first]
    of_leaf = np.empty(n, np.int64)
    of_leaf[dendrogram.leaf_of_object] = branch
    nodes = {}
    for node in below or [0]:
        leaf = node
        while leaf >= n:
            leaf = int(dendrogram.merges[leaf - n, 0])
        nodes[node] = int(of_leaf[leaf])
    return nodes


def _order(merges: list[list[int]], n_branches: int) -> list[int]:
    """Return the branches from left to right: that with the first object is left."""
    least = list(range(n_branches))
    for a, b in merges:
        least.append(min(least[a], least[b]))
    order, stack = [], [len(least) - 1]
    while stack:
        node = stack.pop()
        if node < n_branches:
            order.append(node)
        else:
            pair = merges[node - n_branches]
            stack += sorted(pair, key=lambda child: -least[child])
    return order
