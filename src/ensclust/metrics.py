"""Agreement of two clusterings, as the paper measures it, and with an ensemble."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ensclust.agreement import agreement

if TYPE_CHECKING:
    import numpy.typing as npt

    from ensclust.ensemble import Ensemble


def nmi(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the mutual information divided by the geometric mean of the entropies.

    This is the paper's NMI; scikit-learn's default divides by the arithmetic mean.

    Examples
    --------
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8165
    """
    from sklearn.metrics import normalized_mutual_info_score  # noqa: PLC0415

    return float(normalized_mutual_info_score(a, b, average_method="geometric"))


def ari(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the adjusted Rand index (scikit-learn's).

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

    return float(adjusted_rand_score(a, b))


def mean_nmi(
    ensemble: Ensemble, labels: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Return the mean over base clusterings of the NMI (geometric) with ``labels``.

    Known as ANMI. Each over the objects that both contain, 0 if there are none;
    negative labels mean "not clustered". Time N M. A clustering of one cluster shares
    nothing, unless all labels are equal too.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 1], [1, 2], [1, 2]])
    >>> round(mean_nmi(ensemble, np.array([0, 0, 1, 1])), 4)
    0.9082
    """
    scores = np.nan_to_num(agreement(ensemble, labels).nmi)
    return float(np.average(scores, weights=weights))
