"""Agreement of two clusterings, as the paper measures it, and with an ensemble."""

import numpy as np
import numpy.typing as npt

from ensclust._ensemble.agreement import agreement, mean_nmi, pairwise_nmi
from ensclust._support.quiet import kept_filters
from ensclust._support.validation import check_classes

__all__ = ["agreement", "ari", "mean_nmi", "nmi", "pairwise_nmi"]


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
    with kept_filters():
        return float(normalized_mutual_info_score(a, b, average_method="geometric"))


def ari(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Return the adjusted Rand index (scikit-learn's).

    Examples
    --------
    >>> ari([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    """
    from sklearn.metrics import adjusted_rand_score  # noqa: PLC0415

    with kept_filters():
        return float(adjusted_rand_score(*_pair(a, b)))


def _pair(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return two clusterings of the same objects, or raise."""
    one, other = check_classes(a, "a"), check_classes(b, "b")
    if len(one) != len(other):
        msg = f"a has {len(one)} labels, b has {len(other)}. Give the same objects."
        raise ValueError(msg)
    return one, other
