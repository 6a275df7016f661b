"""LCE-BG: connected triples, and a cut of objects and base clusters."""

from numbers import Real

import numpy as np

from ensclust import similarity
from ensclust._ensemble.flow import Counts
from ensclust._methods.families import BipartiteCut
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval, StrOptions
from ensclust._support.documentation import MethodInfo
from ensclust.similarity._measures import (
    cluster_mass,
    shared_neighbors,
    within_clusterings,
)


class LCEBG(BipartiteCut):
    """Weighted connected triples, then a cut of the graph of objects and base clusters.

    The similarity of :class:`WCT` with a cut that is linear in the number of objects:
    good for clusterings with many small clusters, where :class:`USENC` finds little
    that objects have in common.

    Parameters
    ----------
    $parameters
    decay : float, default=0.8
        Similarity of the two most similar clusters.
    normalizer : "within" or "all", default="within"
        What similarities are divided by before the decay: the largest between two
        clusters of one clustering, or between any two clusters.

    Attributes
    ----------
    $attributes
    $eigenvalues_

    Notes
    -----
    An object is joined to its base clusters by edges of weight 1, and to the others of
    the same clusterings by edges of their similarity to its own: the connected triples
    of :func:`ensclust.similarity.connected_triples`. If its label is missing, it has
    the edges of the average object of that clustering; without them, the pattern of
    missing labels would decide the cut. With ``weights`` a shared neighbour counts as
    much as its clustering.

    $cut

    Published variants of LCE differ: decay 0.8 or 0.9, and either ``normalizer``.

    References
    ----------
    N. Iam-On, T. Boongoen, S. Garrett, C. Price. A Link-Based Approach to the Cluster
    Ensemble Problem. IEEE Transactions on Pattern Analysis and Machine Intelligence,
    2011. doi:10.1109/TPAMI.2011.84

    N. Iam-On, T. Boongoen, S. Garrett, C. Price. A Link-Based Cluster Ensemble Approach
    for Categorical Data Clustering. IEEE Transactions on Knowledge and Data
    Engineering, 2012. doi:10.1109/TKDE.2010.268

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import LCEBG
    >>> model = LCEBG(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Connected triples, spectral cut",
        doi="10.1109/TPAMI.2011.84",
        level="object",
        time="N M^2 + Nc^3 + N k^2",
        memory="N M + Nc^2",
        family="bipartite graph",
        is_soft=True,
    )

    decay: float = parameter(Interval(Real, 0, 1, closed="right"), default=0.8)
    normalizer: str = parameter(StrOptions({"within", "all"}), default="within")

    def _edges(self, counts: Counts, weights) -> np.ndarray:
        W = similarity.jaccard(counts, n_jobs=self.n_jobs)
        if self.normalizer == "within":
            return similarity.connected_triples(
                W, counts.cluster_counts, decay=self.decay, weights=weights
            )
        np.fill_diagonal(W, 0)
        mass = cluster_mass(counts, weights)
        shared = shared_neighbors(
            W, np.ones(len(W)) if mass is None else mass, n_jobs=self.n_jobs
        )
        np.fill_diagonal(shared, 0)
        return within_clusterings(shared * (self.decay / (shared.max() or 1)), counts)
