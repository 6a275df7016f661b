"""split_half(): how well the consensus of two halves of an ensemble agrees."""

from typing import Any

import numpy as np

from ensclust._ensemble.agreement import agreement, element_shares
from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods.consensus import consensus
from ensclust._methods.table import name_of
from ensclust._quality.halves import SplitHalf
from ensclust._support.progress import phase
from ensclust._support.quiet import muted
from ensclust._support.validation import (
    check_integer,
    check_random_state,
    check_weights,
)


def split_half(
    labels: Any,
    n_clusters: Any,
    method: Any = "ecpcs-mc",
    *,
    n: int = 20,
    random_state=None,
    n_jobs: int | None = None,
    **params,
) -> SplitHalf:
    """Split the base clusterings into halves, and compare the consensus of each half.

    If two halves give the same consensus, more base clusterings would hardly change it;
    if they do not, there are too few, or there are no such clusters.

    Parameters
    ----------
    labels : Ensemble, array-like, DataFrame or path
        At least two base clusterings, as in :func:`ensclust.consensus`.
    n_clusters : int, "auto" or None
        Number of consensus clusters, as in :func:`ensclust.consensus`.
    method : str, class or estimator, default="ecpcs-mc"
        The method, as in :func:`ensclust.consensus`.
    n : int, default=20
        Number of random splits. If the number of base clusterings is odd, one half has
        one more.
    random_state : int, RandomState instance or None
        Determines the splits and the random choices of the method.
    n_jobs : int or None
        Number of threads; None means one per core. Never changes the result.
    **params
        Parameters of the method. An array of ``weights``, one per base clustering, is
        split with them; those of weight 0 are left out.

    Returns
    -------
    SplitHalf
        NMI, ARI and element-centric similarity of each pair of halves, and how well
        they agree about each object. Time is that of 2 n runs of the method with half
        of the clusterings, memory that of one run.

    Examples
    --------
    >>> import ensclust
    >>> from sklearn.datasets import load_iris
    >>> runs = ensclust.generate(load_iris().data, base_k=(3, 8), random_state=0)
    >>> found = ensclust.split_half(runs, 3, n=5, random_state=0)
    >>> found.ecs.shape, found.objects.shape
    ((5,), (150,))
    >>> bool(found.mean["ecs"] > 0.8)
    True
    """
    if np.ndim(n_clusters):
        msg = f"n_clusters={n_clusters!r}; expected one number of clusters, or a word."
        raise TypeError(msg)
    ensemble, own = _used(Ensemble(labels), method, params)
    check_integer(n, "n")
    seeds = check_random_state(random_state).randint(2**31 - 1, size=n).tolist()
    scores, total = [], np.zeros(ensemble.n_objects)
    n_known = np.zeros(ensemble.n_objects, np.int64)
    for i, seed in enumerate(seeds, 1):
        draw = np.random.default_rng(seed)
        halves = np.array_split(draw.permutation(ensemble.n_clusterings), 2)
        with phase(f"split {i} of {n}"), muted(r"\w+ (formed|put) |\d+ of \d+ objects"):
            one, other = (
                consensus(
                    ensemble.select(np.sort(half)),
                    n_clusters,
                    method,
                    random_state=int(draw.integers(2**31 - 1)),
                    n_jobs=n_jobs,
                    **params | {name: w[np.sort(half)] for name, w in own.items()},
                )
                for half in halves
            )
        found = agreement(Ensemble.from_clusterings([one]), other)
        scores.append([float(score[0]) for score in found])
        shares = element_shares(one, other)
        total += np.nan_to_num(shares)
        n_known += np.isfinite(shares)
    objects = np.full(len(total), np.nan)
    np.divide(total, n_known, out=objects, where=n_known > 0)
    nmi, ari, ecs = np.array(scores).T
    name = name_of(method)
    return SplitHalf(name, ensemble.n_clusterings, nmi, ari, ecs, objects)


def _used(
    ensemble: Ensemble, method: Any, params: dict
) -> tuple[Ensemble, dict[str, np.ndarray]]:
    """Return the clusterings that have a weight, and the weights if given."""
    weights, of_clusters = (
        params.get(name, getattr(method, name, None))
        for name in ("weights", "cluster_weights")
    )
    own = {}
    if of_clusters is not None and not isinstance(of_clusters, str):
        msg = 'an array of cluster_weights cannot be split. Use "eci", or None.'
        raise ValueError(msg)
    if weights is not None and not isinstance(weights, str):
        weights = check_weights(weights, ensemble.n_clusterings)
        ensemble, own = ensemble.select(weights > 0), {"weights": weights[weights > 0]}
    if ensemble.n_clusterings < 2:
        msg = (
            f"labels has {ensemble.n_clusterings} base clustering"
            f"{' of a weight above 0' if own else ''}, which cannot be split into "
            "halves. Pass at least two."
        )
        raise ValueError(msg)
    return ensemble, own
