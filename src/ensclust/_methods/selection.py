"""How many clusters: all k from one preparation, judged by several criteria."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from math import isqrt
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from ensclust._ensemble.agreement import each_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._generate.generation import EnsembleGenerator
from ensclust._methods import driver
from ensclust._methods.base import BaseConsensus, any_cut_is_fine
from ensclust._methods.noise_test import NoiseTest, agree_by_chance, noise_test
from ensclust._methods.table import make, name_of
from ensclust._quality import criteria as criteria_
from ensclust._quality.criteria import (
    CORRECTED,
    CORRECTS,
    CRITERIA,
    also_suggested,
    stands_out,
    suggest,
)
from ensclust._quality.k_selection import (
    DEFAULT_CRITERION,
    LEVEL,
    WITH_FEATURES,
    KSelection,
)
from ensclust._support.features import validate_features
from ensclust._support.validation import (
    check_choices,
    check_integer,
    check_n_clusters,
    check_random_state,
    warn,
)

_LARGEST = 50  # most clusters tried unless a range is given
_FEWEST_DRAWS = 19  # with which p can be 0.05
_OF_ALL_K = ("lifetime", "eigengap")  # the others judge one clustering at a time


def select_k(
    ensemble: Any = None,
    k_range: Iterable[int] | None = None,
    method: Any = "ecpcs-hc",
    *,
    X: Any = None,
    generator: EnsembleGenerator | None = None,
    criteria: Sequence[str] | None = None,
    n_sample: int | None = 5000,
    n_null: int = 19,
    random_state=None,
    **params,
) -> KSelection:
    """Judge many numbers of clusters, from one preparation of a consensus method.

    Parameters
    ----------
    ensemble : Ensemble, array-like, DataFrame or None
        The base clusterings, (n_objects, n_clusterings). None makes them of ``X``.
    k_range : iterable of int or None, default=None
        Numbers of clusters to try. None is 2 to the square root of the number of
        objects, at most 50.
    method : str, class or estimator, default="ecpcs-hc"
        As in :func:`ensclust.consensus`. A tree gives all k at once; other methods
        work once per k.
    X : array-like or sparse matrix of shape (n_objects, n_features), optional
        The features that the base clusterings were made of. Only with them can
        structure be told from noise, see Notes.
    generator : EnsembleGenerator or None, default=None
        How base clusterings of ``X`` and of noise are made. None is k-means, with the
        numbers of clusters of ``ensemble``.
    criteria : sequence of str or None, default=None
        Any of "anmi", "cdf_area", "pac", "silhouette", "lifetime" and "eigengap", with
        ``X`` also "anmi_excess", "rcsi" and "area_excess"; None is all. "lifetime" is
        undefined for methods without a dendrogram.
    n_sample : int or None, default=5000
        From more objects than this, so many are drawn by ``random_state`` and all is
        judged on them; None takes all.
    n_null : int, default=19
        Draws of each kind of noise, or of permuted labels; 0 compares with no noise.
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

    - "anmi_excess", "rcsi" (M3C's), "area_excess": "anmi", the log of "pac" and
      "cdf_area" against their means in noise, the least over kinds of noise; largest.

    Three of them grow while the consensus is coarser than its inputs, whatever the
    data, hence the knee, see ``_quality.criteria.suggest``.

    With ``X``, noise of three kinds is drawn with the principal axes, the marginals or
    the radii of the data, all unimodal, see ``_quality.null_model``, and clustered as
    the data are. ``p`` is (b + 1) / (B + 1), where in b of B draws the base clusterings
    agree with each other as much as those of the data (mean NMI of all pairs); the
    largest p of the three kinds counts. Above 0.05, ``best_k`` is 1, with a warning;
    else it is that of "eigengap".

    With labels alone, permuted labels tell whether the clusterings agree more than by
    chance; if not, ``best_k`` is 1, with a warning. If they do, ``best_k`` is that of
    "anmi" and ``p`` is None: clusterings of noise agree too. A warning is given where
    no k stands out, see ``_quality.criteria.stands_out``; if "anmi" then grows to the
    last k, ``best_k`` is 1.

    The test takes 3 B + 1 ensembles of at most 500 objects, 50 features (principal axes
    of more) and 20 clusterings, whatever N: some seconds; memory 3 x 500 d numbers.

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

    C. R. John et al. M3C: Monte Carlo reference-based consensus clustering. Scientific
    Reports, 2020. doi:10.1038/s41598-020-58766-1

    Examples
    --------
    >>> import ensclust
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=1)
    >>> found = ensclust.select_k(ensclust.generate(X, random_state=0), range(2, 11))
    >>> found.best_k
    4

    With features it can be told from noise:

    >>> found = ensclust.select_k(X=X, criteria=["eigengap"], random_state=0)
    >>> found.best_k, found.p
    (4, 0.05)
    """
    _check_sample(n_sample)
    _check_draws(n_null)
    names = _check_criteria(criteria, has_null=X is not None and n_null > 0)
    rng = check_random_state(random_state)
    n_jobs = params.get("n_jobs")
    if X is not None:
        X, ensemble, generator = _features(X, ensemble, generator, rng, n_jobs)
    elif ensemble is None or generator is not None:
        msg = "select_k got no X. Give base clusterings, features X=..., or both."
        raise TypeError(msg)
    whole = Ensemble(ensemble)
    sample = _sampled(whole, n_sample, rng)
    ks = (
        default_range(whole, sample)
        if k_range is None
        else _check_range(k_range, sample.n_objects)
    )
    seed = rng.randint(2**31 - 1)
    model = make(method, {"base": "precomputed"}, random_state=seed, **params)
    of_labels = [name for name in names if name in CRITERIA]
    scores, labels = _scores(model, sample, ks, of_labels)
    noise = None
    if X is not None and generator is not None and n_null and ks != [1]:
        noise = noise_test(
            X,
            generator,
            model,
            ks,
            names=(WITH_FEATURES, *(CORRECTS[n] for n in names if n in CORRECTS)),
            n_draws=n_null,
            seed=rng.randint(2**31 - 1),
        )
        scores |= {n: noise.excess(CORRECTS[n]) for n in names if n in CORRECTS}
    suggested = {name: suggest(name, ks, values) for name, values in scores.items()}
    found = KSelection(
        name_of(method),
        tuple(ks),
        {name: tuple(values.tolist()) for name, values in scores.items()},
        {name: k for name, k in suggested.items() if k is not None},
        sample.n_objects,
        has_features=noise is not None,
    )
    if ks == [1]:
        return replace(found, best_k_range=(1,))
    if noise is not None:
        return _tested(found, noise, n_null)
    return _untested(found, sample, labels, model.n_jobs, n_null, seed)


def _features(X, ensemble, generator, rng, n_jobs) -> tuple:
    """Return validated features, their base clusterings, and how to make more."""
    if generator is None:
        generator = EnsembleGenerator(n_jobs=n_jobs)
        if ensemble is not None:
            ensemble = Ensemble(ensemble)
            counts = np.maximum(ensemble.cluster_counts, 1).tolist()
            generator.set_params(n_clusterings=len(counts), base_k=counts)
    if not isinstance(generator, EnsembleGenerator):
        msg = f"generator={generator!r} is no EnsembleGenerator. Give one, or None."
        raise TypeError(msg)
    generator = clone(generator)
    X = validate_features(generator, X)
    if ensemble is None:
        generator.set_params(random_state=rng.randint(2**31 - 1))
        ensemble = generator.fit_checked(X).ensemble_
    else:
        ensemble = Ensemble(ensemble)
    if ensemble.n_objects != X.shape[0]:
        msg = (
            f"X has {X.shape[0]} rows, the base clusterings {ensemble.n_objects}. Give "
            "the features that they were made of."
        )
        raise ValueError(msg)
    return X, ensemble, generator


def _tested(found: KSelection, noise: NoiseTest, n_null: int) -> KSelection:
    """Return what was found with what noise would have given."""
    p, null = noise.p, f"{n_null} draws of each of {len(noise.drawn)} kinds of noise"
    if p > LEVEL:
        warn(
            f"no number of clusters from {found.ks[0]} to {found.ks[-1]} is clearer "
            f"than in noise (p = {p:.2g}), so best_k = 1: there may be no clusters."
        )
        return replace(found, p=p, null=null, best_k_range=(1,), is_noise=True)
    near = [found.best_k]
    if found.decisive in noise.observed:
        best = found.ks.index(found.best_k)
        near = np.array(found.ks)[noise.near(found.decisive, best)].tolist()
    return replace(found, p=p, null=null, best_k_range=tuple(near))


def _untested(
    found: KSelection, sample: Ensemble, labels: dict, n_jobs, n_null: int, seed: int
) -> KSelection:
    """Return what labels alone can tell: whether they agree, and how firmly on k."""
    n_draws = n_null or _FEWEST_DRAWS
    p = agree_by_chance(sample, n_draws=n_draws, seed=seed)
    if p > LEVEL:
        warn(
            f"the base clusterings agree no more than by chance (p = {p:.2g}), so "
            "best_k = 1: they have nothing in common."
        )
        null = f"{n_draws} draws of permuted labels"
        return replace(found, p=p, null=null, best_k_range=(1,), is_noise=True)
    if found.decisive != DEFAULT_CRITERION:
        return replace(found, best_k_range=(found.best_k,))
    found = _doubted(found, sample, labels, n_jobs)
    if found.is_noise:
        return replace(found, best_k_range=(1,))
    each = np.full((sample.n_clusterings, len(found.ks)), np.nan)
    for i, k in enumerate(found.ks):
        if k in labels:
            each[:, i] = np.nan_to_num(each_nmi(sample, labels[k]))
    near = also_suggested(DEFAULT_CRITERION, found.ks, each, seed)
    return replace(found, best_k_range=tuple(sorted({found.best_k, *near})))


def _doubted(found: KSelection, sample, labels: dict, n_jobs) -> KSelection:
    """Warn where no number of clusters stands out, and do not answer the last one."""

    def pac(k: int) -> float:
        pairs = criteria_.consensus_pairs(sample, labels[k], n_jobs=n_jobs)
        return criteria_.pac(pairs)

    anmi = np.array(found.scores[found.decisive])
    between = list(range(found.ks[0], found.ks[-1] + 1))
    gaps = partial(criteria_.eigengaps, sample, between, n_jobs=n_jobs)
    best, tried = found.best_k, f"from {found.ks[0]} to {found.ks[-1]}"
    if stands_out(found.ks, anmi, best, pac, gaps):
        return found
    if best == found.ks[-1]:
        warn(
            f"no number of clusters {tried} stands out, as of noise: the agreement "
            "grows steadily, so best_k = 1. There may be no clusters, or more than "
            "that."
        )
        return replace(found, is_noise=True)
    warn(
        f"no number of clusters {tried} stands out, "
        f"as of noise; best_k = {best} is the best of them, and may mean "
        "nothing. There may be no clusters, or more than that."
    )
    return found


def default_range(whole: Ensemble, sample: Ensemble) -> list[int]:
    """Return 2 to the square root of N, at most 50 and the sample's distinct rows."""
    n_distinct = len(sample.fragments().counts)
    highest = min(isqrt(whole.n_objects), n_distinct, _LARGEST)
    return list(range(2, highest + 1)) or [1]


def _sampled(ensemble: Ensemble, n_sample: int | None, rng) -> Ensemble:
    """Return the objects that are judged, with the base clusters that they are in."""
    rows = np.flatnonzero(~ensemble.absent())
    if not len(rows):
        msg = f"none of the {ensemble.n_objects} objects is in any base clustering."
        raise ValueError(msg)
    if n_sample is not None and len(rows) > n_sample:
        rows = np.sort(rng.choice(rows, n_sample, replace=False))
    elif len(rows) == ensemble.n_objects:
        return ensemble
    return Ensemble.from_clusterings(list(ensemble.take(rows).labels.T))


def _scores(
    model: BaseConsensus, ensemble: Ensemble, ks: list[int], names: list[str]
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
                values = criteria_.judge(
                    ensemble, found.labels, of_labels, n_jobs=model.n_jobs
                )
                for name in of_labels:
                    scores[name][i] = values[name]
        dendrogram = cuts[0].fitted.get("dendrogram_")
        if "lifetime" in names and dendrogram is not None:
            scores["lifetime"] = criteria_.lifetimes(dendrogram, ks)
    if "eigengap" in names:
        scores["eigengap"] = criteria_.eigengaps(ensemble, ks, n_jobs=model.n_jobs)
    return scores, labels


def _check_criteria(names: Sequence[str] | None, *, has_null: bool) -> list[str]:
    known = tuple(CRITERIA | CORRECTED if has_null else CRITERIA)
    if names is None:
        return list(known)
    given = [names] if isinstance(names, str) else names
    for name in given if isinstance(given, list | tuple) else ():
        if isinstance(name, str) and name in CORRECTED and not has_null:
            msg = f"criteria={name!r} compares with noise, which needs features: X=..."
            raise ValueError(msg)
    return check_choices(given, "criteria", known)


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


def _check_draws(n_null: Any) -> None:
    check_integer(n_null, "n_null", lowest=0)
    if 0 < n_null < _FEWEST_DRAWS:
        msg = (
            f"n_null={n_null} draws cannot tell anything at the level of {LEVEL}. Use "
            f"at least {_FEWEST_DRAWS}, or 0 for none."
        )
        raise ValueError(msg)
