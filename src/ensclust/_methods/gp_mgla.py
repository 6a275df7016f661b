"""GP-MGLA: crowd agreement and multi-granularity link analysis."""

from numbers import Real

import numpy as np

from ensclust import similarity
from ensclust._ensemble.agreement import crowd_agreement
from ensclust._ensemble.flow import Counts
from ensclust._methods.families import BipartiteCut
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval
from ensclust._support.documentation import MethodInfo
from ensclust.similarity._measures import cluster_mass, shared_neighbors


class GPMGLA(BipartiteCut):
    """Cut a graph with links of objects to base clusters and between base clusters.

    Good where some base clusterings are poor as a whole: each counts according to how
    well it agrees with the others, and base clusters are also joined by the neighbours
    that they share.

    Parameters
    ----------
    $parameters
    alpha : float, default=0.5
        Weight of the links of objects, relative to those between base clusters.
    beta : float, default=2.0
        The weight of a clustering is its agreement with the others to this power; 0
        gives all the same weight.

    Attributes
    ----------
    $attributes
    $eigenvalues_

    Notes
    -----
    An object is joined to its base clusters by edges of weight alpha w, where w is the
    crowd agreement of the clustering (the mean NMI with the others, divided by the
    larger entropy, over the largest such mean) to the power of beta. Each base cluster
    is also a second node, joined to all base clusters by T: the sum, over all clusters,
    of w times the smaller of the two Jaccard coefficients, divided by the largest such
    sum; 1 to itself. Time Nc^3 / 2 at most for T. A missing label means one edge fewer.
    ``weights``, if given, replace the method's own weights (the crowd agreement), and
    its parameter ``beta`` is not used.

    $cut

    As published, k-means starts from objects each of which is the farthest from those
    before it. The first is drawn at random, three times, and the best run is kept; the
    published code starts once, from the first object.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang. Combining Multiple Clusterings via Crowd Agreement
    Estimation and Multi-Granularity Link Analysis. Neurocomputing 170, 2015.
    doi:10.1016/j.neucom.2014.05.094

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import GPMGLA
    >>> model = GPMGLA(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Crowd agreement, link analysis, spectral cut",
        doi="10.1016/j.neucom.2014.05.094",
        level="object",
        time="N M^2 + Nc^3 + N k^2",
        memory="N M + Nc^2",
        family="bipartite graph",
        is_soft=True,
    )
    _starts = "farthest"

    alpha: float = parameter(Interval(Real, 0, None, closed="neither"), default=0.5)
    beta: float = parameter(Interval(Real, 0, None, closed="left"), default=2.0)

    def _edges(self, counts: Counts, weights) -> tuple[np.ndarray, np.ndarray]:
        mass = cluster_mass(counts, weights)
        if mass is not None:  # by which the edges of objects are multiplied
            edges = np.full(len(mass), self.alpha / mass.max())
            return edges, links_between(counts, mass, self.n_jobs)
        agreement = crowd_agreement(counts, n_jobs=self.n_jobs) ** self.beta
        mass = np.repeat(agreement, counts.cluster_counts)
        return self.alpha * mass, links_between(counts, mass, self.n_jobs)


def links_between(
    counts: Counts, weights: np.ndarray, n_jobs: int | None = None
) -> np.ndarray:
    """Return how far base clusters share neighbours, at most 1, (Nc, Nc)."""
    W = similarity.jaccard(counts, n_jobs=n_jobs)
    links = shared_neighbors(W, weights, n_jobs=n_jobs)
    links /= links.max()
    np.fill_diagonal(links, 1)
    return links
