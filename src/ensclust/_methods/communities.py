"""Communities: the number of clusters is what the base clusters themselves suggest."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ensclust import similarity
from ensclust._cuts.communities import CommunityGraph
from ensclust._cuts.voting import MetaClusters
from ensclust._ensemble.flow import Counts, Cut
from ensclust._methods.base import positive
from ensclust._methods.ecpcs import ECPCSMC
from ensclust._methods.families import MetaClustering
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval, StrOptions
from ensclust._support.documentation import MethodInfo
from ensclust.similarity._measures import weigh


class Communities(MetaClustering):
    """Find communities of base clusters by modularity, and let objects vote.

    Choose it if the number of clusters is not known: the method finds it, and
    ``resolution`` makes it larger or smaller. Fast, and linear in the number of
    objects.

    Parameters
    ----------
    n_clusters : int, "auto" or None, default=None
        None leaves the number of clusters to the method. Given a number, the resolution
        that gives that many communities is searched for, see Notes. "auto" uses what
        :func:`ensclust.select_k` suggests for the base clusterings.
    $parameters
    similarity : "jaccard" or "propagated", default="jaccard"
        Weights of the graph of base clusters: Jaccard coefficients, or those propagated
        by random walks of 20 steps, as in :class:`ECPCSMC`.
    resolution : float, default=1.0
        Above 0. Larger values give more communities. If a number of clusters is given,
        the search starts here.
    n_init : int, default=10
        Random orders of the base clusters to start from; the communities with the
        largest modularity are kept.

    Attributes
    ----------
    $attributes
    cluster_similarity_ : ndarray of shape (Nc, Nc)
        Weights of the graph.
    meta_labels_ : ndarray of shape (Nc,)
        Consensus cluster of each base cluster; -1 if its community won no object.
    modularity_ : float
        Modularity of the communities, at ``resolution_``.
    resolution_ : float
        The resolution that was used.

    Notes
    -----
    Time N M^2 / 2 for counting, the number of pairs of overlapping base clusters per
    round and start (Nc^3 once for "propagated"), N M for the vote; memory N M bytes and
    about four Nc x Nc matrices.

    Modularity is the sum, over communities, of their share in the weights of all edges,
    minus ``resolution`` times what would be there by chance. It is raised by Louvain's
    moves of nodes; before nodes are joined, communities are refined as in the Leiden
    algorithm, so that each is connected. Deviations from the latter: a node joins the
    best part of its community, not a random one, and parts need not be well connected;
    every start is continued from its own result until that is the best it can do, and
    the best of ``n_init`` starts is kept.
    An object goes to the community with the largest mean membership over its base
    clusters, as in :class:`ECPCSMC`; ties are decided by a hash of the seed and the
    label row.

    For a given number of clusters, the smallest resolution, in steps of a factor of
    2^(1/4), is used that gives at least that many communities; surplus ones are merged,
    starting with the pair that costs the least modularity (pairs without an edge come
    last). Missing labels are ignored. ``weights`` count in the graph and in the vote.

    References
    ----------
    V. D. Blondel, J.-L. Guillaume, R. Lambiotte, E. Lefebvre. Fast unfolding of
    communities in large networks. Journal of Statistical Mechanics, 2008.
    doi:10.1088/1742-5468/2008/10/P10008

    V. A. Traag, L. Waltman, N. J. van Eck. From Louvain to Leiden: guaranteeing
    well-connected communities. Scientific Reports 9, 2019.
    doi:10.1038/s41598-019-41695-z

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ensclust import Communities
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=0)
    >>> Communities(base_k=(3, 6), random_state=0).fit(X).n_clusters_
    4
    """

    info = MethodInfo(
        "Communities of base clusters",
        doi="10.1038/s41598-019-41695-z",
        level="cluster",
        time="N M^2 + Nc^2",
        memory="N M + Nc^2",
        family="cluster graph",
        is_soft=True,
        free_k=True,
    )
    n_clusters: Any = parameter(
        positive(), StrOptions({"auto"}), None, default=None, kw_only=False
    )
    similarity: str = parameter(
        StrOptions({"jaccard", "propagated"}), default="jaccard"
    )
    resolution: float = parameter(
        Interval(Real, 0, None, closed="neither"), default=1.0
    )
    n_init: int = parameter(positive(), default=10)

    def _needed_memory(self, counts: Counts) -> int:
        is_weighted = self.weights is not None
        return (40 if is_weighted else 32) * counts.n_base_clusters**2

    def _solve(self, counts, *, weights, seed) -> VotedCommunities:  # type: ignore[override]
        graph = self._similarity(counts, weights)
        communities = CommunityGraph(
            weigh(graph, self._mass(counts, weights)),
            resolution=self.resolution,
            n_init=self.n_init,
            seed=seed,
        )
        fitted = {"cluster_similarity_": graph}
        return VotedCommunities(communities, seed, weights, fitted, self.n_jobs)

    def _similarity(self, counts: Counts, weights) -> np.ndarray:
        if self.similarity == "propagated":
            return ECPCSMC(exact=True, n_jobs=self.n_jobs)._similarity(counts, weights)
        return similarity.jaccard(counts, n_jobs=self.n_jobs)


@dataclass(frozen=True, eq=False)
class VotedCommunities:
    """A Solution: communities of base clusters, which the objects vote for.

    Attributes
    ----------
    graph : CommunityGraph
        The graph to partition.
    seed, weights, fitted, n_jobs
        As those of :class:`MetaClusters`.
    """

    graph: CommunityGraph
    seed: int
    weights: np.ndarray | None
    fitted: dict[str, Any]
    n_jobs: int | None

    def cut(self, n_clusters: int | None, counts: Counts) -> Cut:
        """Partition the base clusters into communities, and let objects vote."""
        most = counts.n_base_clusters
        found = self.graph.part(None if n_clusters is None else min(n_clusters, most))
        own = {"modularity_": found.modularity, "resolution_": found.resolution}
        votes = MetaClusters(
            lambda _: [found.labels],
            self.seed,
            self.weights,
            self.fitted | own,
            self.n_jobs,
        )
        return votes.cut(n_clusters, counts)
