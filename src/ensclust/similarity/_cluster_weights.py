"""Weights of base clusters: how far the other clusterings keep each together."""

import numpy as np
from scipy.special import entr

from ensclust._ensemble.agreement import spans
from ensclust._ensemble.ensemble import as_counts
from ensclust._ensemble.flow import Counts
from ensclust._support import validation

_LEAST = 1e-100  # above 0 even if theta is tiny


def eci(
    ensemble: Counts,
    *,
    theta: float = 0.4,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Ensemble-driven cluster index: 1 for a cluster that no clustering splits.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings.
    theta : float, default=0.4
        Above 0. The smaller, the less a cluster that others split counts.
    weights : ndarray of shape (M,) or None
        How much each clustering counts; None means all equally.
    n_jobs : int or None
        Number of threads for counting; None means one per core.

    Returns
    -------
    ndarray of shape (Nc,)
        ``exp(-E / theta)`` in (0, 1]; E is the mean, over the clusterings, of the
        entropy (base 2) of the cluster's members over that clustering's clusters. Only
        members that a clustering contains count, and only clusterings that contain
        some. Time N M^2 / 2 for counting, memory Nc^2 numbers.

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai. Locally Weighted Ensemble Clustering. IEEE
    Transactions on Cybernetics 48(5), 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> eci(Ensemble([[0, 0], [0, 0], [0, 1], [1, 1]])).round(3)
    array([0.317, 1.   , 1.   , 0.287])
    """
    ensemble, theta = as_counts(ensemble), validation.check_theta(theta)
    overlap = ensemble.intersections(n_jobs=n_jobs)
    weight = np.ones(ensemble.n_clusterings)
    if weights is not None:
        weight = validation.check_weights(weights, ensemble.n_clusterings)
    entropy, heard = np.zeros(len(overlap)), np.zeros(len(overlap))
    for w, (first, last) in zip(weight, spans(ensemble), strict=True):
        members = overlap[:, first:last]
        present = members.sum(axis=1)
        shares = members / np.maximum(present, 1)[:, None]
        entropy += w * entr(shares).sum(axis=1) / np.log(2)
        heard += w * (present > 0)
    mean = np.divide(entropy, heard, out=np.zeros_like(entropy), where=heard > 0)
    return np.maximum(np.exp(-mean / theta), _LEAST)
