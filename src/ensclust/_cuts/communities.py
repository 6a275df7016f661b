"""Communities of a graph: parts with more weight inside than chance would put there."""

from bisect import bisect_left
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from ensclust import _kernels

_EXACT = 2.0**52  # sums of integers up to this are exact in double precision
_STEPS = range(-64, 65)  # of resolutions that are tried, four to a factor of 2


class Parting(NamedTuple):
    """A way to part the nodes of a graph.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        Community of each node: 0, 1, ...
    modularity : float
        Its modularity at this resolution.
    resolution : float
        The resolution.
    """

    labels: np.ndarray
    modularity: float
    resolution: float

    @property
    def n_communities(self) -> int:
        """Number of communities."""
        return int(self.labels.max()) + 1


class CommunityGraph:
    """Communities of a graph by modularity.

    Parameters
    ----------
    W : ndarray of shape (n, n)
        Symmetric, non-negative weights; the diagonal is ignored.
    resolution : float
        Above 0. The larger, the more communities.
    n_init : int
        Orders of the nodes to start from; the largest modularity is kept.
    seed : int
        Decides the orders.

    Notes
    -----
    Louvain's moves of nodes, with a refinement as in Leiden before nodes are joined:
    each community is built anew from nodes that merge along edges, and these parts are
    the nodes of the next, smaller graph. So communities are connected. Weights are
    scaled to integers, and all sums are exact. Nodes are numbered by strength, so that
    the result does not depend on how they were numbered, but for equal strengths. Time
    the number of edges for each round of moves, memory that of the edges.

    Examples
    --------
    >>> W = np.array([[0, 9, 0, 0], [9, 0, 1, 0], [0, 1, 0, 9], [0, 0, 9, 0]])
    >>> graph = CommunityGraph(W, resolution=1.0, n_init=1, seed=0)
    >>> graph.part(None).labels
    array([0, 0, 1, 1])
    """

    def __init__(self, W: np.ndarray, *, resolution: float, n_init: int, seed: int):
        weights = np.array(W, np.float64)
        np.fill_diagonal(weights, 0)
        total = weights.sum()
        scale = np.floor(np.log2(_EXACT / total)) if total > 0 else 0.0
        weights = np.rint(np.ldexp(weights, int(scale)))
        strength = weights.sum(axis=1)
        self._by_strength = np.argsort(-strength, kind="stable")
        rows = weights[np.ix_(self._by_strength, self._by_strength)]
        self._edges = sparse.csr_array(rows)
        self._strength = strength[self._by_strength]
        self._total = float(strength.sum()) or 1.0
        self._resolution, self._n_init, self._seed = resolution, n_init, seed
        self._tried = cache(self._at)

    def part(self, n_communities: int | None) -> Parting:
        """Return the communities: as many as come out, or a number of them, at most n.

        For a number, the resolution is lowered or raised, as little as gives at least
        so many; those too many are merged, the pair first that costs least modularity.
        """
        found = self._tried(0)
        if n_communities not in (None, found.n_communities):
            found = self._of(n_communities)
        labels = np.empty_like(found.labels)
        labels[self._by_strength] = found.labels
        return found._replace(labels=labels)

    def _of(self, n_communities: int) -> Parting:
        at = bisect_left(
            _STEPS, n_communities, key=lambda step: self._tried(step).n_communities
        )
        if at < len(_STEPS):
            found = self._tried(_STEPS[at])
        else:  # where the resolution is large enough, every node is on its own
            found = self._tried(_STEPS[-1])
            found = self._judged(np.arange(len(self._strength)), found.resolution)
        return self._merged(found, n_communities)

    def _at(self, step: int) -> Parting:
        """Return the best of all starts at a resolution so many steps from the own."""
        resolution = self._resolution * 2.0 ** (step / 4)
        rng = check_random_state(self._seed)
        found = [
            self._judged(self._one_start(resolution, rng), resolution)
            for _ in range(self._n_init)
        ]
        return max(found, key=lambda parting: parting.modularity)

    def _one_start(self, resolution: float, rng) -> np.ndarray:
        """Move nodes, refine, join, until nothing moves."""
        edges, strength = self._edges, self._strength
        pull = resolution / self._total
        owner = community = np.arange(len(strength))  # of the nodes of all levels
        while True:
            graph = (edges.indptr, edges.indices, edges.data, strength, pull)
            community = community.copy()
            order = rng.permutation(len(strength))
            _kernels.communities.move_nodes(*graph, order, community)
            part = np.empty_like(community)
            _kernels.communities.merge_nodes(*graph, order, community, part)
            roots, part = np.unique(part, return_inverse=True)
            if len(roots) == len(part):  # a community is a node, or gains nothing
                return owner
            edges = _joined(edges, part)
            strength = np.bincount(part, strength)
            owner = part[owner]
            community = np.unique(community[roots], return_inverse=True)[1]

    def _judged(self, labels: np.ndarray, resolution: float) -> Parting:
        edges = self._edges.tocoo()
        is_inside = labels[edges.row] == labels[edges.col]
        shares = np.bincount(labels, self._strength) / self._total
        inside = edges.data[is_inside].sum() / self._total
        modularity = float(inside - resolution * (shares**2).sum())
        return Parting(labels, modularity, resolution)

    def _merged(self, found: Parting, n_communities: int) -> Parting:
        """Merge communities until so many are left, where there are edges first."""
        labels = found.labels.copy()
        between = _joined(self._edges, labels).toarray()
        strength = np.bincount(labels, self._strength)
        pull = found.resolution / self._total
        while len(strength) > n_communities:
            gain = between - pull * np.multiply.outer(strength, strength)
            allowed = between > 0 if between.any() else ~np.eye(len(gain), dtype=bool)
            gain[~allowed] = -np.inf
            a, b = sorted(np.unravel_index(gain.argmax(), gain.shape))
            between[a] += between[b]
            between[:, a] += between[:, b]
            between[a, a] = 0
            strength[a] += strength[b]
            between = np.delete(np.delete(between, b, axis=0), b, axis=1)
            strength = np.delete(strength, b)
            labels[labels == b] = a
            labels -= labels > b
        return self._judged(labels, found.resolution)


def _joined(edges: sparse.csr_array, part: np.ndarray) -> sparse.csr_array:
    """Return the edges between parts of the nodes."""
    old = edges.tocoo()
    ends = part[old.row], part[old.col]
    between = ends[0] != ends[1]
    n = int(part.max()) + 1
    ends = ends[0][between], ends[1][between]
    return sparse.csr_array((old.data[between], ends), shape=(n, n))
