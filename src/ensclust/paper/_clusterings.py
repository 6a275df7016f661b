"""Base clusterings of the protocol: scikit-learn's k-means on float32.

The committed results depend on every bit of these ensembles, so they do not use
:func:`ensclust.generate`, whose random numbers and rounding differ.
"""

import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from ensclust import Ensemble, _kernels
from ensclust._generate.generation import draw_base_k
from ensclust.paper._protocol import Protocol, base_k


def cluster(
    X: np.ndarray, n_classes: int, n_clusterings: int, *, rules: Protocol, seed: int
) -> Ensemble:
    """Return base clusterings of the rows of ``X``."""
    from sklearn.cluster import KMeans  # noqa: PLC0415  import time
    from sklearn.exceptions import ConvergenceWarning  # noqa: PLC0415

    init = {"k-means++": _one_candidate, "greedy-k-means++": "k-means++"}
    rng = np.random.RandomState(seed)
    ks = draw_base_k(base_k(len(X), n_classes), len(X), n_clusterings, rng)
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_clusterings)
    small, labels = _small(X), []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k, own in zip(ks, seeds, strict=True):
            model = KMeans(
                k,
                init=init.get(rules.init, rules.init),
                n_init=1,
                max_iter=rules.max_iter,
                random_state=int(own),
            )
            labels.append(_nearest(small, model.fit(small).cluster_centers_))
    return Ensemble.from_clusterings(labels)


def _small(X: np.ndarray) -> np.ndarray:
    """Return features as float32: centred, and divided by a power of two."""
    centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    return (centred / 2.0 ** np.frexp(np.abs(centred).max())[1]).astype(np.float32)


def _nearest(X: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Return the nearest centre of each row."""
    half = ((centres.astype(np.float64) ** 2).sum(axis=1) / 2).astype(np.float32)
    labels = np.empty(len(X), np.int32)
    columns = np.ascontiguousarray(centres.T)
    _kernels.assignment.nearest_centre(X, columns, half, labels, 0, len(X))
    return labels


def _one_candidate(X, n_clusters, random_state):
    """Return k-means++ starts without scikit-learn's choice among candidates."""
    from sklearn.cluster import kmeans_plusplus  # noqa: PLC0415

    return kmeans_plusplus(X, n_clusters, random_state=random_state, n_local_trials=1)[
        0
    ]
