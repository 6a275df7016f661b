"""ECPCS-BG: propagated similarities, and a cut of objects and base clusters."""

import numpy as np

from ensclust import similarity
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import positive
from ensclust._methods.families import BipartiteCut
from ensclust._methods.parameters import parameter
from ensclust._support.documentation import MethodInfo
from ensclust.similarity._measures import (
    cluster_mass,
    propagation_bytes,
    weigh,
    within_clusterings,
)


class ECPCSBG(BipartiteCut):
    """Propagate similarities of base clusters, then cut objects and base clusters.

    For data with too many objects for the tree of :class:`ECPCSHC`: the same similarity
    of base clusters with a cut that is linear in the number of objects. Unpublished:
    our own combination of two published parts.

    Parameters
    ----------
    $parameters
    steps : int, default=20
        Length of the random walks that carry similarity between base clusters.

    Attributes
    ----------
    $attributes
    $eigenvalues_

    Notes
    -----
    An object is joined to its base clusters by edges of weight 1, and to the others of
    the same clusterings by edges of their propagated similarity to its own. If its
    label is missing, it has the edges of the average object of that clustering; without
    them, the pattern of missing labels would decide the cut. Base clusters whose walks
    are equal cannot be distinguished, nor can objects that differ only in these.
    ``weights`` also steer the walks towards clusters of heavier clusterings.

    $cut

    References
    ----------
    No paper describes this method. The similarity: D. Huang, C.-D. Wang, H. Peng,
    J. Lai, C.-K. Kwoh. Enhanced Ensemble Clustering via Fast Propagation of
    Cluster-Wise Similarities. IEEE Transactions on Systems, Man, and Cybernetics:
    Systems, 2021. doi:10.1109/TSMC.2018.2876202

    The cut: Z. Li, X.-M. Wu, S.-F. Chang. Segmentation Using Superpixels: A Bipartite
    Graph Partitioning Approach. CVPR 2012. doi:10.1109/CVPR.2012.6247750

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECPCSBG
    >>> model = ECPCSBG(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Propagated cluster similarities, spectral cut",
        doi="10.1109/TSMC.2018.2876202",
        level="object",
        time="N M^2 + Nc^3 + N k^2",
        memory="N M + Nc^2",
        family="bipartite graph",
        is_soft=True,
    )

    steps: int = parameter(positive(), default=20)
    exact: bool = parameter("boolean", default=False)

    def _needed_memory(self, counts: Counts) -> int:
        n = counts.n_base_clusters
        propagation = propagation_bytes(n, self.steps, exact=self.exact)
        return max(propagation, self._pair_bytes * n**2)

    def _edges(self, counts: Counts, weights) -> np.ndarray:
        mass = cluster_mass(counts, weights)
        Z = similarity.propagate(
            weigh(similarity.jaccard(counts, n_jobs=self.n_jobs), mass),
            self.steps,
            exact=self.exact,
        )
        return within_clusterings(Z, counts)
