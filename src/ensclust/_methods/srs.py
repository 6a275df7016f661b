"""SRS: SimRank similarity."""

from numbers import Real

from ensclust import similarity
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import positive
from ensclust._methods.families import Agglomeration
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import CoAssociation


class SRS(Agglomeration):
    """SimRank: objects are similar in similar clusters, clusters with similar objects.

    The most thorough of the link-based refinements of :class:`EAC`: every pair of
    clusters counts, even across clusterings. The slowest method by far in other
    packages, here it is as fast as the others.

    Parameters
    ----------
    $parameters
    decay : float, default=0.8
        Similarity that is passed on per step.
    n_updates : int, default=4
        Updates of the object similarities (R = 5 in LinkCluE means 4).

    Attributes
    ----------
    $attributes

    Notes
    -----
    The recursion runs at the level of clusters, exactly: time N M^2 + Nc^3 per update
    instead of N^2 M^2, then F^2 M for the linkage of F distinct label rows; memory
    4 F^2 bytes, or F M where that exceeds ``max_memory``. Objects with equal label
    rows start as one group unless another object is closer to them than they are to
    each other; such rows are split. Unlike in the published code, a group of equal
    rows is never separated.

    References
    ----------
    N. Iam-On, S. Garrett. LinkCluE: A MATLAB Package for Link-Based Cluster Ensembles.
    Journal of Statistical Software, 2010. doi:10.18637/jss.v036.i09

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import SRS
    >>> SRS(3, random_state=0).fit(load_iris().data).n_clusters_
    3
    """

    info = MethodInfo(
        "SimRank similarity",
        doi="10.18637/jss.v036.i09",
        level="object",
        time="N M^2 + Nc^3 + F^2 M",
        memory="min(4 F^2, budget) + N M",
        family="tree",
        lacks={"weights": "the definition of SimRank has no weights of clusterings"},
    )
    _pair_bytes = 5 * 8

    decay: float = parameter(Interval(Real, 0, 1, closed="right"), default=0.8)
    n_updates: int = parameter(positive(), default=4)

    def _coassociation(self, counts: Counts, weights) -> CoAssociation:
        C = similarity.simrank(
            counts,
            decay=self.decay,
            updates=self.n_updates - 1,
            n_jobs=self.n_jobs,
        )
        return CoAssociation(counts, C, pairs="all", decay=self.decay)
