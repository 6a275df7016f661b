"""LWGP: locally weighted graph partitioning."""

from numbers import Real

import numpy as np

from ensclust import similarity
from ensclust._ensemble.flow import Counts
from ensclust._methods.families import BipartiteCut
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval
from ensclust._support.documentation import MethodInfo

_LEAST = 1e-12  # ECI of a base cluster that counts for nothing


class LWGP(BipartiteCut):
    """Cut the graph of objects and base clusters, reliable clusters weighing more.

    Good if base clusterings have clusters of mixed quality: a base cluster that the
    other clusterings split counts less. Fast for any number of objects.

    Parameters
    ----------
    $parameters
    theta : float, default=0.4
        The smaller it is, the less a base cluster that others split counts.

    Attributes
    ----------
    $attributes
    $eigenvalues_

    Notes
    -----
    As :class:`USENC`, with the edges of a base cluster weighted by its index ECI, see
    :func:`ensclust.similarity.eci`; values below 1e-12 are raised to it. A missing
    label means one edge fewer. ``weights`` also count in the cluster index (ECI).

    $cut

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai. Locally Weighted Ensemble Clustering. IEEE
    Transactions on Cybernetics 48(5), 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import LWGP
    >>> model = LWGP(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Locally weighted clusters, spectral cut",
        doi="10.1109/TCYB.2017.2702343",
        level="object",
        time="N M^2 + Nc^3 + N k^2",
        memory="N M + Nc^2",
        family="bipartite graph",
        is_soft=True,
    )
    _pair_bytes = 4 * 8

    theta: float = parameter(Interval(Real, 0, None, closed="neither"), default=0.4)

    def _edges(self, counts: Counts, weights) -> np.ndarray:
        index = similarity.eci(
            counts, theta=self.theta, weights=weights, n_jobs=self.n_jobs
        )
        return np.maximum(index, _LEAST)  # which a small theta may make 0
