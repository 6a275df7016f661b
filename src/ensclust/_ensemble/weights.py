"""Weights of base clusterings that follow from the ensemble itself."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ensclust._ensemble.agreement import agreement_weights, entropy, spans
from ensclust._ensemble.ensemble import as_counts

_MOST = 3  # times the mean: the largest weight of a clustering


def size_weights(ensemble: Any) -> np.ndarray:
    """Derive weights of the base clusterings from how finely they divide the objects.

    A clustering with few clusters cannot separate more groups than it has clusters; one
    with many can, and objects that it keeps together more surely belong together. Use
    it if the base clusterings have very different numbers of clusters, above all if
    some have fewer than you want.

    Parameters
    ----------
    ensemble : Ensemble, array-like, DataFrame or path
        The base clusterings, as in :func:`ensclust.consensus`.

    Returns
    -------
    ndarray of shape (M,)
        The effective number of clusters of each clustering, scaled to a mean of 1; each
        is at most 3, and at most as large as all others together.

    Notes
    -----
    The effective number of clusters is exp(H), with H the entropy of the cluster sizes:
    k for k clusters of equal size, and little more than 1 if nearly all objects are in
    one of them, so that a few singletons do not make a clustering fine. The limits keep
    a single column with very many clusters, such as a column of names or a run of tiny
    clusters, from dominating the vote; if there are only two clusterings, they count
    equally. The weights depend only on the sizes of the base clusters, not on the
    requested number of clusters. Time N M, or Nc for the counts of a stream.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> halves, quarters = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]
    >>> uneven, names = [0, 0, 0, 0, 0, 0, 0, 1], list("abcdefgh")
    >>> runs = [halves, halves, quarters, uneven]
    >>> size_weights(Ensemble.from_clusterings(runs)).round(2)
    array([0.85, 0.85, 1.69, 0.62])
    >>> size_weights(Ensemble.from_clusterings([*runs, names])).round(2)
    array([0.57, 0.57, 1.15, 0.42, 2.29])
    """
    counts = as_counts(ensemble)
    # Sorted, so that the names of clusters do not affect rounding.
    sizes = [np.sort(counts.sizes[first:last]) for first, last in spans(counts)]
    effective = np.array([np.exp(entropy(own)) for own in sizes])
    weights = _limited(effective, min(_MOST, max(len(effective) / 2, 1)))
    return weights / weights.mean()


def _limited(weights: np.ndarray, most: float) -> np.ndarray:
    """Return the weights, clipped at ``most`` times the mean of all."""
    falling = np.sort(weights)[::-1]
    for n_cut, largest in enumerate(falling):
        limit = most * falling[n_cut:].sum() / (len(weights) - most * n_cut)
        if largest <= limit:
            break
    return np.minimum(weights, limit)


# Named values of ``weights``, and how to derive the weights from Counts.
DERIVED_WEIGHTS: dict[str, Callable[[Any], np.ndarray]] = {
    "agreement": agreement_weights,
    "size": size_weights,
}
