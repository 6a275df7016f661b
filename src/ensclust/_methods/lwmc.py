"""LWMC: locally weighted meta-clustering."""

from collections.abc import Callable
from numbers import Real

import numpy as np

from ensclust import similarity
from ensclust._ensemble.flow import Counts
from ensclust._methods.families import MetaClustering
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval
from ensclust._support.documentation import MethodInfo


class LWMC(MetaClustering):
    """Locally weighted meta-clustering: base clusters that others split count less.

    Choose it for large data if one base clustering may have both good and bad clusters.
    As fast as :class:`ECPCSMC`, without its walks.

    Parameters
    ----------
    $parameters
    theta : float, default=0.4
        Above 0. The smaller it is, the less a base cluster that others split counts;
        see :func:`ensclust.similarity.eci`.

    Attributes
    ----------
    $attributes
    cluster_similarity_ : ndarray of shape (Nc, Nc)
        Jaccard coefficients of the base clusters.
    cluster_weights_ : ndarray of shape (Nc,)
        Weight of each base cluster in the vote, from 0 to 1 (ECI).
    meta_labels_ : ndarray of shape (Nc,)
        Consensus cluster of each base cluster; -1 if its meta-cluster won no object.

    Notes
    -----
    Time N M^2 / 2 for counting, Nc^3 for the cut, N M for the vote; memory N M bytes
    and up to four Nc x Nc matrices. Base clusters are partitioned by a normalised cut
    of their Jaccard coefficients, without the diagonal. An object goes to the
    meta-cluster with the largest mean, over its base clusters, of weight times
    membership.

    No published code is known. What the paper leaves open is settled as in
    :class:`ECPCSMC`: the discretisation of the cut starts from many rows and the
    smallest normalised cut is kept; ties in the vote, which are rare, are decided by a
    hash of the seed and the label row; labels are numbered without gaps. Missing
    labels: the entropy of a base cluster counts the members that a clustering contains,
    and the clusterings that contain some. ``weights`` count in the entropies, in the
    cut and in the vote.

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai. LWMC: A Locally Weighted Meta-Clustering Algorithm
    for Ensemble Clustering. International Conference on Neural Information Processing,
    2017. doi:10.1007/978-3-319-70139-4_17

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import LWMC
    >>> X = load_iris().data
    >>> model = LWMC(3, random_state=0).fit(X)
    >>> bool((model.predict(X[:5]) == model.labels_[:5]).all())
    True
    """

    info = MethodInfo(
        "Locally weighted meta-clustering",
        doi="10.1007/978-3-319-70139-4_17",
        level="cluster",
        time="N M^2 + Nc^3",
        memory="N M + Nc^2",
        family="cluster graph",
        is_soft=True,
    )
    _pair_bytes = 4 * 8

    theta: float = parameter(Interval(Real, 0, None, closed="neither"), default=0.4)

    def _find_cluster_weights(self, counts: Counts, weights) -> np.ndarray:
        own = {"theta": self.theta, "weights": weights, "n_jobs": self.n_jobs}
        return similarity.eci(counts, **own)

    def _similarity(self, counts: Counts, weights) -> np.ndarray:
        return similarity.jaccard(counts, n_jobs=self.n_jobs)

    def _partitioner(self, similarity, counts, weights, seed: int) -> Callable:
        graph = similarity.copy()
        np.fill_diagonal(graph, 0)
        return super()._partitioner(graph, counts, weights, seed)
