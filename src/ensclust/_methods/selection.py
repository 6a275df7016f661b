"""How many clusters: all k from one preparation, judged by several criteria."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from math import isqrt
from numbers import Integral
from typing import Any

import numpy as np

from ensclust._ensemble.agreement import mean_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods import driver
from ensclust._methods.base import Method, any_cut_is_fine
from ensclust._methods.table import name_of, settle
from ensclust._quality import criteria as criteria_
from ensclust._quality.criteria import CRITERIA, stands_out, suggest
from ensclust._quality.k_selection import DEFAULT_CRITERION, KSelection
from ensclust._support.validation import (
    check_choices,
    check_n_clusters,
    check_random_state,
    warn,
)

_LARGEST = 50  # most clusters tried unless a range is given
_OF_ALL_K = ("lifetime", "eigengap")  # the others judge one clustering at a time


def select_k(
    ensemble: Any,
    k_range: Iterable[int] | None = None,
    method: Any = "ecpcs-hc",
    *,
    criteria: Sequence[str] | None = None,
    n_sample: int | None = 5000,
    random_state=None,
    **params,
) -> KSelection:
    """Judge many numbers of clusters, from one preparation of a consensus method.

    Parameters
    ----------
    ensemble : Ensemble, array-like or DataFrame of shape (n_objects, n_clusterings)
        The base clusterings.
    k_range : iterable of int or None, default=None
        Numbers of clusters to try. None is 2 to the square root of the number of
        objects, at most 50.
    method : str, class or estimator, default="ecpcs-hc"
        As in :func:`ensclust.consensus`. A tree gives all k at once; other methods
        work once per k.
    criteria : sequence of str or None, default=None
        Any of "anmi", "cdf_area", "pac", "silhouette", "lifetime" and "eigengap";
        None is all. "lifetime" is undefined for methods without a dendrogram.
    n_sample : int or None, default=5000
        From more objects than this, so many are drawn by ``random_state`` and all is
        judged on them; None takes all.
    random_state : int, RandomState instance or None
        Decides random choices of the method, and the sample.
    **params
        Parameters of the method's estimator, such as ``steps=20``.

    Returns
    -------
    KSelection
        With ``best_k``, ``suggested``, ``table``, ``to_pandas()`` and ``plot()``.

    Notes
    -----
    - "anmi": mean NMI of the consensus with the base clusterings; knee.
    - "cdf_area": area under Monti's consensus CDF; knee. The ensemble is given, not run
      anew for each k, so the consensus matrix for k is made of the base clusterings
      reduced to k clusters: every base cluster takes the consensus label of most of its
      objects. "delta_area" in the table is the relative growth of the area.
    - "pac": share of pairs with consensus in (0.1, 0.9]; smallest.
    - "silhouette": mean silhouette, distance 1 - co-association; knee.
    - "lifetime": gap of the dendrogram's heights over which k clusters last; largest.
    - "eigengap": gap after the k-th eigenvalue of the Jaccard graph of the base
      clusters, as normalised cut sees it; largest. Does not depend on the method.

    Three of them grow while the consensus is coarser than its inputs, whatever the
    data, hence the knee, see ``_quality.criteria.suggest``. Where a criterion grows
    steadily to the end of the range, as of noise, the largest k is suggested. A warning
    is given where no k stands out by "anmi", "pac" and "eigengap", see
    ``_quality.criteria.stands_out``; of noise of a single feature, or of skewed ones,
    it may not be.

    With n objects judged, F of them distinct, per k: time n M for "anmi", F M k for
    "silhouette", R^2 M / 2 for "cdf_area" and "pac" together, where R <= F is the
    number of distinct rows of reduced labels. "eigengap" takes n M^2 / 2 + Nc^3 once.
    Nothing of size n x n exists but what the method needs (``max_memory`` of the
    trees).

    References
    ----------
    S. Monti, P. Tamayo, J. Mesirov, T. Golub. Consensus Clustering: A Resampling-Based
    Method for Class Discovery. Machine Learning, 2003. doi:10.1023/A:1023949509487

    Y. Senbabaoglu, G. Michailidis, J. Z. Li. Critical Limitations of Consensus
    Clustering in Class Discovery. Scientific Reports, 2014. doi:10.1038/srep06207

    Examples
    --------
    >>> import ensclust
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=1)
    >>> found = ensclust.select_k(ensclust.generate(X, random_state=0), range(2, 11))
    >>> found.best_k
    4
    """
    _check_sample(n_sample)
    names = _check_criteria(criteria)
    rng = check_random_state(random_state)
    whole = Ensemble(ensemble)
    sample, objects = _sampled(whole, n_sample, rng)
    ks = (
        default_range(whole, sample)
        if k_range is None
        else _check_range(k_range, sample.n_objects)
    )
    seed = rng.randint(2**31 - 1)
    model = settle(method, {"base": "precomputed"}, random_state=seed, **params)
    scores, labels = _scores(model, sample, ks, names)
    suggested = {name: suggest(name, ks, values) for name, values in scores.items()}
    found = KSelection(
        name_of(method),
        tuple(ks),
        {name: tuple(values.tolist()) for name, values in scores.items()},
        {name: k for name, k in suggested.items() if k is not None},
        sample.n_objects,
        labels,
        objects,
    )
    if found.decisive == DEFAULT_CRITERION:
        _warn_of_noise(found, sample, labels, model.n_jobs)
    return found


def _warn_of_noise(found: KSelection, sample: Ensemble, labels: dict, n_jobs) -> None:
    """Warn where no number of clusters stands out."""

    def pac(k: int) -> float:
        pairs = criteria_.consensus_pairs(sample, labels[k], n_jobs=n_jobs)
        return criteria_.pac(pairs)

    anmi = np.array(found.scores[found.decisive])
    between = list(range(found.ks[0], found.ks[-1] + 1))
    gaps = partial(criteria_.eigengaps, sample, between, n_jobs=n_jobs)
    if not stands_out(found.ks, anmi, found.best_k, pac, gaps):
        warn(
            f"no number of clusters from {found.ks[0]} to {found.ks[-1]} stands out, "
            f"as of noise; best_k = {found.best_k} is the best of them, and may mean "
            "nothing. There may be no clusters, or more than that."
        )


def default_range(whole: Ensemble, sample: Ensemble) -> list[int]:
    """Return 2 to the square root of N, at most 50 and the sample's distinct rows."""
    n_distinct = len(sample.fragments().counts)
    highest = min(isqrt(whole.n_objects), n_distinct, _LARGEST)
    return list(range(2, highest + 1)) or [1]


def _sampled(
    ensemble: Ensemble, n_sample: int | None, rng
) -> tuple[Ensemble, np.ndarray]:
    """Return the ensemble of the objects that are judged, and their numbers.

    It has the base clusters that they are in.
    """
    rows = np.flatnonzero(~ensemble.absent())
    if not len(rows):
        msg = f"none of the {ensemble.n_objects} objects is in any base clustering."
        raise ValueError(msg)
    if n_sample is not None and len(rows) > n_sample:
        rows = np.sort(rng.choice(rows, n_sample, replace=False))
    elif len(rows) == ensemble.n_objects:
        return ensemble, rows
    return Ensemble.from_clusterings(list(ensemble.take(rows).labels.T)), rows


def _scores(
    model: Method, ensemble: Ensemble, ks: list[int], names: list[str]
) -> tuple[dict[str, np.ndarray], dict[int, np.ndarray]]:
    """Return the value of each criterion for each k, and labels by their k."""
    labels: dict[int, np.ndarray] = {}
    scores = {name: np.full(len(ks), np.nan) for name in names}
    of_labels = [name for name in names if name not in _OF_ALL_K]
    if of_labels or "lifetime" in names:
        model._validate_params()
        with any_cut_is_fine():
            cuts = driver.solve(model, ensemble, ks, model._seeds()[1]).cuts
        for i, (k, found) in enumerate(zip(ks, cuts, strict=True)):
            if found.n_clusters == k:  # else the method cannot form so many
                labels[k] = found.labels
                values = _judged(ensemble, found.labels, of_labels, model.n_jobs)
                for name in of_labels:
                    scores[name][i] = values[name]
        dendrogram = cuts[0].fitted.get("dendrogram_")
        if "lifetime" in names and dendrogram is not None:
            scores["lifetime"] = criteria_.lifetimes(dendrogram, ks)
    if "eigengap" in names:
        scores["eigengap"] = criteria_.eigengaps(ensemble, ks, n_jobs=model.n_jobs)
    return scores, labels


def _judged(ensemble, labels, names, n_jobs) -> dict[str, float]:
    """Return the criteria of one clustering."""
    pairs = cache(partial(criteria_.consensus_pairs, ensemble, labels, n_jobs=n_jobs))
    known: dict[str, Callable[[], float]] = {
        "cdf_area": lambda: criteria_.cdf_area(pairs()),
        "pac": lambda: criteria_.pac(pairs()),
        "anmi": lambda: mean_nmi(ensemble, labels),
        "silhouette": lambda: criteria_.silhouette(ensemble, labels),
    }
    return {name: known[name]() for name in names}


def _check_criteria(names: Sequence[str] | None) -> list[str]:
    if names is None:
        return list(CRITERIA)
    return check_choices(
        [names] if isinstance(names, str) else names, "criteria", tuple(CRITERIA)
    )


def _check_range(k_range: Any, n_objects: int) -> list[int]:
    if isinstance(k_range, str) or not hasattr(k_range, "__iter__"):
        msg = (
            f"k_range={k_range!r} is no list of numbers of clusters. Use, for "
            "instance, range(2, 11), or None."
        )
        raise TypeError(msg)
    ks = sorted({check_n_clusters(k, n_objects) for k in k_range})
    if not ks:
        msg = f"k_range={k_range!r} is empty. Use, for instance, range(2, 11)."
        raise ValueError(msg)
    return ks


def _check_sample(n_sample: Any) -> None:
    if n_sample is None or (isinstance(n_sample, Integral) and int(n_sample) >= 2):
        return
    msg = (
        f"n_sample={n_sample!r}; expected an integer of at least 2, or None for all "
        "objects."
    )
    raise ValueError(msg)
