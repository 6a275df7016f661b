"""ECPCS-HC and ECPCS-MC: propagation of cluster-wise similarities."""

import numpy as np

from ensclust import similarity
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import positive
from ensclust._methods.families import (
    Agglomeration,
    ClusterWeighted,
    MetaClustering,
    Weighted,
)
from ensclust._methods.parameters import parameter
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import CoAssociation
from ensclust.similarity._measures import cluster_mass, propagation_bytes, weigh


class ECPCSHC(Weighted, ClusterWeighted, Agglomeration):
    """Propagate similarities of base clusters, then agglomerate the objects.

    The best choice for a tree, or for several numbers of clusters from one run;
    deterministic given the base clusterings. For more than about 10^5 distinct label
    rows use :class:`ECPCSMC`, which is linear in the number of objects, or an
    approximate tree by ``max_regions``.

    Parameters
    ----------
    $parameters
    steps : int, default=20
        Length of the random walks that carry similarity between base clusters.

    Attributes
    ----------
    $attributes

    Notes
    -----
    Time N M^2 for counting, Nc^3 for propagation, F^2 M for the linkage of F distinct
    label rows; memory 4 F^2 bytes, or F M where that exceeds ``max_memory``. A cluster
    without neighbours is similar only to itself (in the published code, not even to
    itself). Cuts give exactly k clusters, by merge order. ``weights`` steer the walks
    towards clusters of heavier clusterings, and count in the mean similarity;
    ``cluster_weights`` steer the walks too, and scale Z: objects whose clusters all
    weigh little are then far from all others.

    References
    ----------
    D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh. Enhanced Ensemble Clustering via
    Fast Propagation of Cluster-Wise Similarities. IEEE Transactions on Systems, Man,
    and Cybernetics: Systems, 2021. doi:10.1109/TSMC.2018.2876202

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECPCSHC
    >>> model = ECPCSHC(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Propagated cluster similarities, hierarchical",
        doi="10.1109/TSMC.2018.2876202",
        level="object",
        time="N M^2 + Nc^3 + F^2 M",
        memory="min(4 F^2, budget) + N M",
        family="tree",
    )
    steps: int = parameter(positive(), default=20)
    exact: bool = parameter("boolean", default=False)

    def _needed_memory(self, counts: Counts) -> int:
        n = counts.n_base_clusters
        return propagation_bytes(n, self.steps, exact=self.exact)

    def _coassociation(self, counts: Counts, weights) -> CoAssociation:
        own = self._find_cluster_weights(counts, weights)
        mass = cluster_mass(counts, weights, own)
        Z = similarity.propagate(
            weigh(similarity.jaccard(counts, n_jobs=self.n_jobs), mass),
            self.steps,
            exact=self.exact,
        )
        return CoAssociation(counts, Z, weights=weights, cluster_weights=own)


class ECPCSMC(ClusterWeighted, MetaClustering):
    """Propagate similarities of base clusters, partition them, and let objects vote.

    The choice for large data: everything but a count and a vote happens at the level of
    base clusters. New objects can be labelled with :meth:`predict`.

    Parameters
    ----------
    $parameters
    steps : int, default=20
        Length of the random walks that carry similarity between base clusters.

    Attributes
    ----------
    $attributes
    cluster_similarity_ : ndarray of shape (Nc, Nc)
        Propagated similarity Z of the base clusters.
    meta_labels_ : ndarray of shape (Nc,)
        Consensus cluster of each base cluster; -1 if its meta-cluster won no object.

    Notes
    -----
    Time N M^2 / 2 for counting, Nc^3 for propagation and cut, N M for the vote; memory
    N M bytes and about seven Nc x Nc matrices, or half as many from 700 base clusters
    on, unless ``exact``. Ties in the vote are decided by a hash of the seed and the
    label row. Deviations from the published code: the discretisation of the cut starts
    from up to 50 rows (fewer where Nc k^2 is above 400,000, unless ``exact``) and the
    smallest normalised cut is kept; labels are numbered without gaps; a single base
    clustering (M = 1) works if k is its number of clusters; between the clusters of two
    clusterings (M = 2), whose walks never meet, the Jaccard coefficient is used instead
    of Z. ``weights`` steer the walks towards
    clusters of heavier clusterings, and count in the cut and in the vote;
    ``cluster_weights`` do so for single clusters.

    References
    ----------
    D. Huang, C.-D. Wang, H. Peng, J. Lai, C.-K. Kwoh. Enhanced Ensemble Clustering via
    Fast Propagation of Cluster-Wise Similarities. IEEE Transactions on Systems, Man,
    and Cybernetics: Systems, 2021. doi:10.1109/TSMC.2018.2876202

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECPCSMC
    >>> X = load_iris().data
    >>> model = ECPCSMC(3, random_state=0).fit(X)
    >>> bool((model.predict(X[:5]) == model.labels_[:5]).all())
    True
    """

    info = MethodInfo(
        "Propagated cluster similarities, meta-clustering",
        doi="10.1109/TSMC.2018.2876202",
        level="cluster",
        time="N M^2 + Nc^3",
        memory="N M + Nc^2",
        family="cluster graph",
        is_soft=True,
    )
    steps: int = parameter(positive(), default=20)
    exact: bool = parameter("boolean", default=False)

    def _needed_memory(self, counts: Counts) -> int:
        n = counts.n_base_clusters
        return propagation_bytes(n, self.steps, exact=self.exact)

    def _is_exact(self) -> bool:
        return self.exact

    def _similarity(self, counts: Counts, weights) -> np.ndarray:
        mass = self._mass(counts, weights)
        Z = similarity.propagate(
            weigh(similarity.jaccard(counts, n_jobs=self.n_jobs), mass),
            self.steps,
            exact=self.exact,
        )
        if counts.n_clusterings > 2:
            return Z
        # The graph of two clusterings is bipartite: walks that start on different
        # sides never meet, and Z is 0 between them.
        return np.maximum(Z, similarity.jaccard(counts, n_jobs=self.n_jobs))
