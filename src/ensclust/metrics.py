"""Agreement of two clusterings, as the paper measures it, and with an ensemble."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ensclust._validation import check_classes, check_weights
from ensclust.agreement import agreement
from ensclust.ensemble import as_ensemble

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

    a, b = _pair(a, b)
    return float(normalized_mutual_info_score(a, b, average_method="geometric"))


def ari(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the adjusted Rand index (scikit-learn's).

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

    return float(adjusted_rand_score(*_pair(a, b)))


def _pair(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return two clusterings of the same objects, or raise."""
    one, other = check_classes(a, "a"), check_classes(b, "b")
    if len(one) != len(other):
        msg = f"a has {len(one)} labels, b has {len(other)}. Give the same objects."
        raise ValueError(msg)
    return one, other


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
    ensemble = as_ensemble(ensemble)
    if weights is not None:
        weights = check_weights(weights, ensemble.n_clusterings)
    scores = np.nan_to_num(agreement(ensemble, labels).nmi)
    return float(np.average(scores, weights=weights))
