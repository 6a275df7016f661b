"""LWEA: locally weighted evidence accumulation."""

from numbers import Real

from ensclust._ensemble.flow import Counts
from ensclust._methods.families import Agglomeration, Weighted
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import CoAssociation
from ensclust.similarity import eci


class LWEA(Weighted, Agglomeration):
    """Evidence accumulation that gives less weight to base clusters that others split.

    A cheap improvement of :class:`EAC` if base clusterings are good in one region
    and bad in another: a cluster that the other clusterings split says little about its
    objects, whatever the rest of its clustering is worth.

    Parameters
    ----------
    $parameters
    theta : float, default=0.4
        Above 0. The smaller it is, the less a cluster that others split counts.

    Attributes
    ----------
    $attributes
    cluster_weights_ : ndarray of shape (Nc,)
        The index of each base cluster (ECI), see :func:`ensclust.similarity.eci`.

    Notes
    -----
    Two objects are as similar as the mean, over the clusterings, of the index of the
    cluster that they share, 0 where they share none. It is :class:`EAC` with
    ``cluster_weights="eci"``, which other methods accept too.

    Time N M^2 / 2 for counting, F^2 M for the linkage of F distinct label rows; memory
    4 F^2 bytes, or F M where that exceeds ``max_memory``, and about four Nc x Nc
    matrices. Objects with equal label rows are merged first, at 1 minus the mean index
    of their clusters; the published code does so too, since nothing is closer to them.
    Missing labels, which the published code does not support: entropies and
    similarities are means over the clusterings that contain the objects (of two groups:
    over all pairs of objects and the clusterings that contain both); equal rows are
    then merged first even if others are closer. ``weights`` count in the entropies and
    in the mean. Cuts give exactly k clusters, by merge order.

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai. Locally Weighted Ensemble Clustering. IEEE
    Transactions on Cybernetics 48(5), 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import LWEA
    >>> model = LWEA(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Locally weighted evidence accumulation",
        doi="10.1109/TCYB.2017.2702343",
        level="object",
        time="N M^2 + F^2 M",
        memory="min(4 F^2, budget) + N M",
        family="tree",
    )
    _pair_bytes = 4 * 8

    theta: float = parameter(Interval(Real, 0, None, closed="neither"), default=0.4)

    def _coassociation(self, counts: Counts, weights) -> CoAssociation:
        index = eci(counts, theta=self.theta, weights=weights, n_jobs=self.n_jobs)
        return CoAssociation(counts, weights=weights, cluster_weights=index)
