"""Agreement of two clusterings, as the paper measures it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy.typing as npt


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
