"""Communities of a graph: parts with more weight inside than expected by chance."""

from bisect import bisect_left
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ensclust import _kernels
from ensclust._support.validation import check_random_state

_EXACT = 2.0**52  # sums of integers up to this are exact in double precision
_LEAST = 1e-12  # gain in modularity below which climbing ends
_STEPS = range(-64, 65)  # between the resolutions that are tried, four per factor of 2


class Parting(NamedTuple):
    """A partition of the nodes of a graph.

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
        Number of orders of the nodes to start from; the largest modularity is kept.
    seed : int
        Determines the orders.

    Notes
    -----
    Louvain's moves of nodes, with a refinement as in Leiden before nodes are joined:
    each community is rebuilt from nodes that merge along edges, and these parts are the
    nodes of the next, smaller graph. So communities are connected. Weights are scaled
    to integers, and all sums are exact. Nodes are numbered by strength, so the result
    does not depend on how they were numbered, except for equal strengths. Time is
    proportional to the number of edges for each round of moves, memory to that of the
    edges.

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
        self._resolution = resolution
        seeds = check_random_state(seed).randint(2**31 - 1, size=n_init)
        self._seeds = [int(own) for own in seeds]
        self._tried = cache(self._one_start)

    def part(self, n_communities: int | None) -> Parting:
        """Return the communities: as many as result, or a given number, at most n.

        For a given number, the first start looks for the smallest resolution that gives
        at least that many; all starts use it. Surplus communities are merged, starting
        with the pair that costs the least modularity.
        """
        found = self._best(0)
        if n_communities not in (None, found.n_communities):
            found = self._merged(self._at_least(n_communities), n_communities)
        labels = np.empty_like(found.labels)
        labels[self._by_strength] = found.labels
        return found._replace(labels=labels)

    def _best(self, step: int, least: int = 1) -> Parting:
        """Return the best start with at least ``least`` communities."""
        starts = [self._tried(step, seed) for seed in self._seeds]
        enough = [found for found in starts if found.n_communities >= least]
        return max(enough, key=lambda found: found.modularity)

    def _at_least(self, n_communities: int) -> Parting:
        at = bisect_left(
            _STEPS,
            n_communities,
            key=lambda step: self._tried(step, self._seeds[0]).n_communities,
        )
        if at < len(_STEPS):
            return self._best(_STEPS[at], n_communities)
        # If the resolution is large enough, every node is alone.
        return self._single(self._tried(_STEPS[-1], self._seeds[0]).resolution)

    def _one_start(self, step: int, seed: int) -> Parting:
        """Climb until nothing is gained, at the resolution of a step."""
        resolution = self._resolution * 2.0 ** (step / 4)
        rng = check_random_state(seed)
        found = self._single(resolution)
        while True:
            last, found = found, self._climb(found.labels, resolution, rng)
            if found.modularity <= last.modularity + _LEAST:
                return last

    def _climb(self, community: np.ndarray, resolution: float, rng) -> Parting:
        """Move nodes, refine, join, until nothing moves."""
        edges, strength = self._edges, self._strength
        pull = resolution / self._total
        owner = np.arange(len(strength))  # node of this level that each node is in
        while True:
            graph = (edges.indptr, edges.indices, edges.data, strength, pull)
            community = community.copy()
            order = rng.permutation(len(strength))
            _kernels.communities.move_nodes(*graph, order, community)
            part = np.empty_like(community)
            _kernels.communities.merge_nodes(*graph, order, community, part)
            roots, part = np.unique(part, return_inverse=True)
            if len(roots) == len(part):  # a community is a node, or gains nothing
                return self._judged(owner, edges, strength, resolution)
            edges = _joined(edges, part)
            strength = np.bincount(part, strength)
            owner = part[owner]
            community = np.unique(community[roots], return_inverse=True)[1]

    def _single(self, resolution: float) -> Parting:
        """Return every node as a community."""
        labels = np.arange(len(self._strength))
        return self._judged(labels, self._edges, self._strength, resolution)

    def _judged(self, labels, between, strength, resolution: float) -> Parting:
        """Return communities with their modularity, by the edges between them."""
        inside = self._strength.sum() - between.sum()
        chance = resolution * (strength**2).sum() / self._total
        return Parting(labels, float((inside - chance) / self._total), resolution)

    def _merged(self, found: Parting, n_communities: int) -> Parting:
        """Merge communities until ``n_communities`` are left, connected ones first."""
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
        return self._judged(labels, between, strength, found.resolution)


def _joined(edges: sparse.csr_array, part: np.ndarray) -> sparse.csr_array:
    """Return the edges between parts of the nodes."""
    old = edges.tocoo()
    ends = part[old.row], part[old.col]
    between = ends[0] != ends[1]
    n = int(part.max()) + 1
    ends = ends[0][between], ends[1][between]
    return sparse.csr_array((old.data[between], ends), shape=(n, n))
