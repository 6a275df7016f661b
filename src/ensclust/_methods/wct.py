"""WCT: weighted connected triples."""

from numbers import Real

import numpy as np

from ensclust import similarity
from ensclust._ensemble.flow import Counts
from ensclust._methods.families import Agglomeration, ClusterWeighted, Weighted
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import CoAssociation
from ensclust.similarity._measures import cluster_mass, triples


class WCT(Weighted, ClusterWeighted, Agglomeration):
    """Weighted connected triples: base clusters that share neighbours are similar.

    A cheap refinement of :class:`EAC` for clusterings with many small clusters: two
    objects in different clusters still count as similar if those clusters overlap with
    the same clusters elsewhere.

    Parameters
    ----------
    $parameters
    decay : float, default=0.8
        Similarity of the two most similar clusters of one clustering.

    Attributes
    ----------
    $attributes

    Notes
    -----
    Time N M^2 for counting, Nc sum(k_m^2) for the triples, F^2 M for the linkage of F
    distinct label rows; memory 4 F^2 bytes, or F M where that exceeds ``max_memory``.
    Triples are normalised by their largest sum within clusterings, as LinkCluE does;
    implementations that take the largest over all pairs of clusters give smaller
    similarities. Without any triple the similarity is the identity, and WCT is EAC.
    With ``weights`` a shared neighbour counts as much as its clustering, and the mean
    is weighted; ``cluster_weights`` count for shared neighbours and scale the
    similarities, so that objects whose clusters all weigh little are far from all
    others.

    References
    ----------
    N. Iam-On, T. Boongoen, S. Garrett, C. Price. A Link-Based Approach to the Cluster
    Ensemble Problem. IEEE Transactions on Pattern Analysis and Machine Intelligence,
    2011. doi:10.1109/TPAMI.2011.84

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import WCT
    >>> WCT(3, random_state=0).fit(load_iris().data).n_clusters_
    3
    """

    info = MethodInfo(
        "Weighted connected triples",
        doi="10.1109/TPAMI.2011.84",
        level="object",
        time="N M^2 + Nc sum(k_m^2) + F^2 M",
        memory="min(4 F^2, budget) + N M",
        family="tree",
    )
    _pair_bytes = 4 * 8

    decay: float = parameter(Interval(Real, 0, 1, closed="right"), default=0.8)

    def _coassociation(self, counts: Counts, weights) -> CoAssociation:
        W = similarity.jaccard(counts, n_jobs=self.n_jobs)
        np.fill_diagonal(W, 0)
        own = self._find_cluster_weights(counts, weights)
        mass = cluster_mass(counts, weights, own)
        S = triples(W, counts.cluster_counts, self.decay, mass)
        return CoAssociation(counts, S, weights=weights, cluster_weights=own)
