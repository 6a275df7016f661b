"""WEAC: weighted evidence accumulation."""

from numbers import Real

import numpy as np

from ensclust._ensemble.agreement import crowd_agreement
from ensclust._ensemble.flow import Counts
from ensclust._methods.families import Agglomeration
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import CoAssociation

_LEAST = 1e-9  # weight of a clustering that agrees with no other


class WEAC(Agglomeration):
    """Evidence accumulation weighted by how well a clustering agrees with the others.

    Choose it over :class:`EAC` if some base clusterings may be bad and it is not known
    which. :class:`LWEA` weights single clusters instead, and ``weights="agreement"`` of
    other methods does much the same as this one.

    Parameters
    ----------
    $parameters
    beta : float, default=2.0
        The weight is the crowd agreement to this power; 0 gives :class:`EAC`.

    Attributes
    ----------
    $attributes
    weights_ : ndarray of shape (M,)
        The weights: the normalised crowd agreement (NCAI) of each clustering to the
        power ``beta``. NCAI is the mean of normalised mutual information with the
        others, divided by the larger entropy, over the largest such mean.

    Notes
    -----
    Time N M^2 / 2 for counting, F^2 M for the linkage of F distinct label rows; memory
    4 F^2 bytes, or F M where that exceeds ``max_memory``, and about four Nc x Nc
    matrices. The similarity of two objects is the weighted share of clusterings that
    put them together, in fixed point; the published code does the same in floating
    point. Two clusterings are compared on the objects that both contain. A weight is at
    least 1e-9, so that no object is lost whose only clustering agrees with no other; if
    nothing agrees, all count equally. With missing labels, the similarity of two groups
    is the weighted share of agreements among all pairs of objects and the clusterings
    that contain both, and linkage must be "average". Cuts give exactly k clusters, by
    merge order.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang. Combining multiple clusterings via crowd agreement
    estimation and multi-granularity link analysis. Neurocomputing 170, 2015.
    doi:10.1016/j.neucom.2014.05.094

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import WEAC
    >>> model = WEAC(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Weighted evidence accumulation",
        doi="10.1016/j.neucom.2014.05.094",
        level="object",
        time="N M^2 + F^2 M",
        memory="min(4 F^2, budget) + N M",
        family="tree",
        lacks={
            "weights": "it computes its own weights, from the agreement of each "
            "clustering with the others"
        },
    )
    _pair_bytes = 4 * 8

    beta: float = parameter(Interval(Real, 0, None, closed="left"), default=2.0)

    def _find_weights(self, counts) -> np.ndarray:
        agreement = crowd_agreement(counts, n_jobs=self.n_jobs)
        return np.maximum(agreement**self.beta, _LEAST)

    def _coassociation(self, counts: Counts, weights) -> CoAssociation:
        return CoAssociation(counts, weights=weights)
