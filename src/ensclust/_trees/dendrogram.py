"""Dendrogram: the tree of an agglomeration, cut at any number of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensclust._ensemble.contents import check_array
from ensclust._ensemble.flow import Counts, Cut
from ensclust._support import notebook
from ensclust._support.encoding import first_places, look_up, ranks
from ensclust._support.validation import check_n_clusters, import_optional
from ensclust._trees.coassociation import CoAssociation
from ensclust._trees.known_rows import KnownRows


class Dendrogram:
    """The merges of an agglomeration of fragments, in order of height.

    Parameters
    ----------
    leaf_of_object : ndarray of shape (N,)
        Leaf of each object; the objects of a leaf are never separated.
    merges : ndarray of shape (L - 1, 2)
        Nodes joined by each merge: leaves are 0..L-1, merge i creates node L + i.
    heights : ndarray of shape (L - 1,)
        Distance (1 - similarity) of each merge, ascending.
    leaf_heights : ndarray of shape (L,) or None
        Distance between the objects of one leaf; None means 0.

    Attributes
    ----------
    n_objects, n_leaves : int
        Number of objects and of leaves.

    Examples
    --------
    >>> import numpy as np
    >>> tree = Dendrogram(np.array([0, 0, 1, 2]), np.array([[0, 1], [3, 2]]),
    ...                   np.array([0.25, 0.5]))
    >>> tree.cut(2)
    array([0, 0, 0, 1])
    """

    def __init__(
        self,
        leaf_of_object: np.ndarray,
        merges: np.ndarray,
        heights: np.ndarray,
        leaf_heights: np.ndarray | None = None,
    ):
        self.leaf_of_object = np.asarray(leaf_of_object)
        self.merges = np.asarray(merges)
        self.heights = np.asarray(heights)
        _check_tree(self.leaf_of_object, self.merges, self.heights)
        self.leaf_heights = (
            np.zeros(self.n_leaves) if leaf_heights is None else (leaf_heights)
        )

    def _check_loaded(self) -> None:
        """Raise ValueError if arrays loaded from a file do not fit together."""
        _check_tree(self.leaf_of_object, self.merges, self.heights)
        check_array("leaf_heights", self.leaf_heights, (self.n_leaves,), kinds="f")

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.leaf_of_object)

    @property
    def n_leaves(self) -> int:
        """Number of leaves, the maximum number of clusters."""
        return len(self.merges) + 1

    def cut(self, n_clusters: int) -> np.ndarray:
        """Return the clusters that remain when the last merges are undone.

        Parameters
        ----------
        n_clusters : int
            Exact number of clusters, even with ties; at most ``n_leaves`` are returned.

        Returns
        -------
        ndarray of shape (N,)
            Cluster of each object, numbered by first appearance. Time N + L.
        """
        k = min(check_n_clusters(n_clusters, self.n_objects), self.n_leaves)
        labels = np.unique(self._roots(k), return_inverse=True)[1][self.leaf_of_object]
        rank = ranks(first_places(labels, k))[0].astype(labels.dtype)
        return look_up(rank, labels, labels)

    def _roots(self, k: int) -> np.ndarray:
        """Return the node of each leaf, (L,), when k nodes are left."""
        n = self.n_leaves
        # From the last kept merge down, every node takes its parent's root.
        root = np.arange(2 * n - k)
        for i in range(n - k - 1, -1, -1):
            root[self.merges[i]] = root[n + i]
        return root[:n]

    def lifetime(self) -> int:
        """Return the number of clusters with the longest lifetime.

        The lifetime of k clusters is the gap between the height at which they appear
        and the height at which two of them merge; ties go to the smaller k. A tree with
        one leaf gives 1.
        """
        if self.n_leaves == 1:
            return 1
        gaps = np.diff(self.heights, prepend=self.leaf_heights.min())
        return int(self.n_leaves - np.flatnonzero(gaps >= gaps.max() - 1e-12)[-1])

    def to_scipy(self) -> np.ndarray:
        """Return SciPy's linkage matrix over the original objects, (N - 1, 4).

        The objects of a leaf are merged at the leaf's height.
        """
        n = self.n_objects
        order = np.argsort(self.leaf_of_object, kind="stable")
        sizes = np.bincount(self.leaf_of_object, minlength=self.n_leaves)
        ends = np.cumsum(sizes)
        # (height, left, right) with nodes as ("leaf" or "merge", ...) resolved below.
        steps: list[tuple[float, int, int]] = []
        handle = np.empty(2 * self.n_leaves - 1, np.int64)
        for leaf, (size, end) in enumerate(zip(sizes, ends, strict=True)):
            members = order[end - size : end]
            handle[leaf] = members[0]
            height = float(self.leaf_heights[leaf])
            steps += [(height, int(members[0]), int(other)) for other in members[1:]]
        for i, (a, b) in enumerate(self.merges):
            handle[self.n_leaves + i] = min(handle[a], handle[b])
            steps.append((float(self.heights[i]), int(handle[a]), int(handle[b])))
        steps.sort(key=lambda step: step[0])  # stable: a leaf fills before it merges
        node, size_of = np.arange(n), np.ones(n, np.int64)
        matrix = np.empty((n - 1, 4))
        for i, (height, a, b) in enumerate(steps):
            low, high = sorted((node[a], node[b]))
            total = size_of[a] + size_of[b]
            matrix[i] = low, high, height, total
            keep = min(a, b)
            node[keep], size_of[keep] = n + i, total
        return matrix

    def to_pandas(self):
        """Return the merges of leaves as a pandas DataFrame, one row per merge."""
        pandas = import_optional("pandas", "Dendrogram.to_pandas", "pandas")
        sizes = np.bincount(self.leaf_of_object, minlength=self.n_leaves).tolist()
        for a, b in self.merges.tolist():
            sizes.append(sizes[a] + sizes[b])
        return pandas.DataFrame(
            {
                "left": self.merges[:, 0],
                "right": self.merges[:, 1],
                "node": np.arange(self.n_leaves, 2 * self.n_leaves - 1),
                "height": self.heights,
                "size": np.array(sizes[self.n_leaves :], np.int64),
            }
        )

    def top(self, n_groups: int) -> Dendrogram:
        """Return only the last merges, of at most ``n_groups`` groups of leaves.

        Returns
        -------
        Dendrogram
            Its leaves are the groups, numbered by when they are complete; its cuts are
            those of this tree. Time N + L.
        """
        n = self.n_leaves
        n_groups = min(check_n_clusters(n_groups, self.n_objects), n)
        n_kept = n - n_groups
        root = self._roots(n_groups)
        # Numbers of the nodes that are left: groups first, then merges in their order.
        groups = np.unique(root)
        number = np.empty(2 * n - 1, np.int64)
        number[groups] = np.arange(n_groups)
        number[n + n_kept :] = np.arange(n_groups, 2 * n_groups - 1)
        return Dendrogram(
            number[root[self.leaf_of_object]],
            number[self.merges[n_kept:]],
            self.heights[n_kept:],
            np.concatenate([self.leaf_heights, self.heights])[groups],
        )

    def leaf_order(self) -> np.ndarray:
        """Return the leaves from left to right as the tree is drawn, (L,).

        The two parts of every merge are neighbours, so every cut is a run of leaves.
        Time L.
        """
        n = self.n_leaves
        merges = self.merges.tolist()
        sizes = [1] * n
        for a, b in merges:
            sizes.append(sizes[a] + sizes[b])
        first = [0] * (2 * n - 1)
        for node in range(2 * n - 2, n - 1, -1):
            a, b = merges[node - n]
            first[a] = first[node]
            first[b] = first[node] + sizes[a]
        return np.argsort(first[:n])

    def plot(self, ax=None, *, n_clusters: int | None = None, max_leaves: int = 50):
        """Draw the top of the tree with matplotlib and return the axes.

        Parameters
        ----------
        ax : matplotlib Axes or None
            Where to draw; None creates a figure.
        n_clusters : int or None
            If given, the clusters of this cut are coloured, and a line marks it.
        max_leaves : int, default=50
            Groups shown; each represents the objects merged below it.

        See Also
        --------
        ensclust.DendrogramDisplay : The same, with access to the drawn data.
        """
        from ensclust._view.displays.dendrogram import DendrogramDisplay  # noqa: PLC0415  drawing is above

        return DendrogramDisplay.from_dendrogram(
            self, n_clusters, max_leaves=max_leaves, ax=ax
        ).ax_

    def __repr__(self) -> str:
        return f"Dendrogram(n_objects={self.n_objects}, n_leaves={self.n_leaves})"

    def _repr_html_(self) -> str:
        # k clusters appear at one height and two of them merge at the next.
        heights = np.append(self.leaf_heights.min(), self.heights)
        lives = [
            (k, float(heights[-k]), float(heights[1 - k]))
            for k in range(2, min(self.n_leaves, notebook.SHOWN) + 1)
        ]
        return notebook.table(
            f"Dendrogram: {self.n_objects:,} objects, {self.n_leaves:,} leaves",
            ("clusters", "appear at", "merge at", "lifetime"),
            [(k, low, high, high - low) for k, low, high in lives],
            f"longest lifetime: {self.lifetime():,} clusters",
        )


@dataclass(frozen=True, eq=False)
class Tree:
    """The Solution of an agglomeration: a dendrogram, cut at any number of clusters.

    Attributes
    ----------
    coassociation : CoAssociation
        What was linked.
    dendrogram : Dendrogram
        The tree.
    fitted : dict
        Fitted attributes of every cut.
    """

    coassociation: CoAssociation
    dendrogram: Dendrogram
    fitted: dict[str, Any]

    def cut(self, n_clusters: int, counts: Counts) -> Cut:
        """Undo the last merges; rows get the clusters of their leaves."""
        tree, fragments = self.dendrogram, counts.fragments()
        k = min(n_clusters, tree.n_leaves)
        labels = tree.cut(k)
        of_leaf = np.empty(tree.n_leaves, np.int32)
        of_leaf[tree.leaf_of_object] = labels
        rows, n_objects = fragments.labels, fragments.counts
        if tree.n_leaves > len(rows):  # SimRank separates some equal rows
            fragment = np.empty(tree.n_leaves, np.int64)
            fragment[tree.leaf_of_object] = fragments.inverse
            rows, n_objects = rows[fragment], np.bincount(tree.leaf_of_object)
        known = KnownRows(rows, n_objects, of_leaf, self.coassociation.affinity)
        return Cut(known, k, self.fitted, labels)


def _check_tree(leaves, merges, heights) -> None:
    """Raise unless merges join nodes that exist, each once, and objects are leaves."""
    if merges.ndim != 2 or merges.shape[1] != 2 or merges.dtype.kind not in "iu":
        msg = f"merges has shape {merges.shape}; expected (L - 1, 2) integers."
        raise ValueError(msg)
    n = len(merges) + 1
    is_made = (merges >= 0) & (merges < np.arange(n, 2 * n - 1)[:, None])
    if not is_made.all() or len(np.unique(merges)) < merges.size:
        msg = (
            f"merges must join each of the {n} leaves, and each node after it has been "
            "created, exactly once."
        )
        raise ValueError(msg)
    if heights.shape != (n - 1,):
        msg = f"heights has shape {heights.shape}; expected ({n - 1},), one per merge."
        raise ValueError(msg)
    is_vector = leaves.ndim == 1 and len(leaves) and leaves.dtype.kind in "iu"
    if not is_vector or leaves.min() < 0 or leaves.max() >= n:
        msg = f"leaf_of_object must hold a leaf, 0 to {n - 1}, for each object."
        raise ValueError(msg)
