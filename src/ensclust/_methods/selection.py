"""How many clusters: every k from one solution, judged by several criteria."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from math import isqrt
from numbers import Integral
from typing import Any

import numpy as np

from ensclust import similarity
from ensclust._ensemble.agreement import agreement, mean_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods import driver
from ensclust._methods.base import Method, any_cut_is_fine
from ensclust._methods.table import name_of, settle
from ensclust._quality import criteria as criteria_
from ensclust._quality.criteria import CRITERIA, stands_out, suggest, suggest_gap
from ensclust._quality.k_selection import LEVEL, KSelection
from ensclust._quality.noise_test import (
    agree_by_chance,
    noise_test,
    principal_axes,
    sample_rows,
)
from ensclust._quality.null_model import NULL_KINDS
from ensclust._support.quiet import muted
from ensclust._support.validation import (
    check_choices,
    check_integer,
    check_n_clusters,
    check_random_state,
    warn,
)

_LARGEST = 50  # most clusters tried by default
_FEWEST_DRAWS = 39  # with which p can be as low as LEVEL
_OF_ALL_K = ("lifetime", "eigengap")  # the others judge one clustering at a time
_HALVES, _OFTEN = 20, 2  # halves of the clusterings, and how many must suggest a k
_IN_HALF = 20  # clusterings of a half, at most


def select_k(
    ensemble: Any = None,
    k_range: Iterable[int] | None = None,
    method: Any = "ecpcs-hc",
    *,
    X: Any = None,
    scale: str | None = None,
    criteria: Sequence[str] | None = None,
    n_sample: int | None = 5000,
    n_null: int = 39,
    random_state=None,
    **params,
) -> KSelection:
    """Judge many numbers of clusters, and test whether there are clusters at all.

    Parameters
    ----------
    ensemble : Ensemble, array-like, DataFrame or None
        The base clusterings, of shape (n_objects, n_clusterings). None generates them
        from ``X``.
    k_range : iterable of int or None, default=None
        Numbers of clusters to try. None tries 2 to the square root of the number of
        objects, at most 50.
    method : str, class or estimator, default="ecpcs-hc"
        As in :func:`ensclust.consensus`. A tree gives all k at once; other methods
        run once per k.
    X : array-like or sparse matrix of shape (n_objects, n_features), optional
        The features that the base clusterings were made from. Without them, clusters
        cannot be distinguished from noise, see Notes.
    scale : "auto", "standard", "robust" or None, default=None
        How ``X`` is scaled, as in :func:`ensclust.generate`; use what the base
        clusterings were generated with.
    criteria : sequence of str or None, default=None
        Any of "anmi", "cdf_area", "pac", "silhouette", "lifetime" and "eigengap";
        None means all. "lifetime" is undefined for methods without a dendrogram.
    n_sample : int or None, default=5000
        If there are more objects, this many are drawn by ``random_state`` and judged;
        None uses all.
    n_null : int, default=39
        Draws from each null model, or of permuted labels, at least 39. 0 skips the
        test against noise.
    random_state : int, RandomState instance or None
        Determines random choices of the method, the sample and the draws.
    **params
        Parameters of the method's estimator, such as ``steps=20``.

    Returns
    -------
    KSelection
        With ``best_k``, ``best_k_range``, ``p``, ``suggested``, ``table``,
        ``to_pandas()`` and ``plot()``.

    Notes
    -----
    - "anmi": mean NMI of the consensus with the base clusterings; knee.
    - "cdf_area": area under Monti's consensus CDF; knee. The ensemble is given, not run
      again for each k, so the consensus matrix for k is made from the base clusterings
      reduced to k clusters: every base cluster takes the consensus label of most of its
      objects. "delta_area" in the table is the relative growth of the area.
    - "pac": share of pairs with consensus in (0.1, 0.9]; smallest.
    - "silhouette": mean silhouette, distance 1 - co-association; knee.
    - "lifetime": gap of the dendrogram's heights over which k clusters last; largest.
    - "eigengap": gap after the k-th eigenvalue of the Jaccard graph of the base
      clusters, as normalised cut sees it; largest. The last k is suggested only if the
      next gap is smaller. Does not depend on the method.

    ``best_k`` follows "eigengap" if the base clusterings are generated from ``X``, as
    estimators do for "auto", and "anmi" if they are given; see the page "Evidence". If
    that is not among ``criteria``, it follows the first of them.

    Three of the criteria grow while the consensus is coarser than its inputs, whatever
    the data, hence the knee, see ``_quality.criteria.suggest``.

    With ``X``, the gaps between k-means clusters and their compactness are compared
    with those in data drawn from five null models, all without clusters, see
    ``_quality.null_model`` and ``_quality.noise_test``. For each of the two measures, p
    is (b + 1) / (B + 1) if b of B draws are at least as extreme as the data, and the
    largest p of the five null models counts; ``p`` is twice the smaller of the two.
    Above 0.05, ``best_k`` is 1, with a warning. The test uses at most 1,000 objects and
    20 features (the first principal axes if there are more), so its time does not
    depend on N: a few seconds at most. Memory 3 x 1,000 d numbers.

    With labels alone, permuted labels show whether the clusterings agree more than by
    chance; if not, ``best_k`` is 1, with a warning. If they do, ``p`` is None:
    clusterings of noise agree, too. A warning is issued if no k stands out, see
    ``_quality.criteria.stands_out``; if ``best_k`` would then be the last k, it is 1.
    With "eigengap" alone there is no consensus to judge, and no such warning.

    ``best_k_range`` has ``best_k`` and every k that the criterion suggests for at least
    2 of 20 random halves of the base clusterings ("eigengap" and "anmi" only).

    With n objects judged, F of them distinct, per k: time n M for "anmi", F M k for
    "silhouette", R^2 M / 2 for "cdf_area" and "pac" together, where R <= F is the
    number of distinct rows of reduced labels. "eigengap" takes n M^2 / 2 + Nc^3 once.
    Nothing of size n x n exists except what the method needs (``max_memory`` of the
    trees).

    References
    ----------
    S. Monti, P. Tamayo, J. Mesirov, T. Golub. Consensus Clustering: A Resampling-Based
    Method for Class Discovery. Machine Learning, 2003. doi:10.1023/A:1023949509487

    Y. Senbabaoglu, G. Michailidis, J. Z. Li. Critical Limitations of Consensus
    Clustering in Class Discovery. Scientific Reports, 2014. doi:10.1038/srep06207

    J. A. Hartigan, P. M. Hartigan. The Dip Test of Unimodality. The Annals of
    Statistics, 1985. doi:10.1214/aos/1176346577

    R. Tibshirani, G. Walther, T. Hastie. Estimating the number of clusters in a data
    set via the gap statistic. JRSS B, 2001. doi:10.1111/1467-9868.00293

    Examples
    --------
    >>> import ensclust
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=1)
    >>> found = ensclust.select_k(ensclust.generate(X, random_state=0), range(2, 11))
    >>> found.best_k
    4

    With features, clusters can be distinguished from noise:

    >>> found = ensclust.select_k(X=X, criteria=["eigengap"], random_state=0)
    >>> found.best_k, found.p
    (4, 0.05)
    """
    _check_sample(n_sample)
    _check_draws(n_null)
    names = _check_criteria(criteria)
    rng = check_random_state(random_state)
    is_generated = X is not None and ensemble is None
    if X is not None:
        X, ensemble = _features(X, ensemble, scale, rng, params.get("n_jobs"))
    elif ensemble is None:
        msg = (
            "select_k got neither base clusterings nor features. Pass ensemble, X=..., "
            "or both."
        )
        raise TypeError(msg)
    whole = Ensemble(ensemble)
    sample, objects = _sampled(whole, n_sample, rng)
    ks = (
        default_range(whole, sample)
        if k_range is None
        else _check_range(k_range, sample.n_objects)
    )
    seed = rng.randint(2**31 - 1)
    model = settle(method, {"base": "precomputed"}, random_state=seed, **params)
    judged = _Judged(model, sample, ks, names)
    found = KSelection(
        name_of(method),
        tuple(ks),
        {name: tuple(values.tolist()) for name, values in judged.scores.items()},
        judged.suggested(),
        sample.n_objects,
        judged.labels,
        objects,
        is_generated=is_generated and n_null > 0,
    )
    if ks == [1]:
        return replace(found, best_k_range=(1,))
    if X is None or not n_null:
        return _of_labels(found, judged, n_null or _FEWEST_DRAWS, seed)
    return _of_features(found, judged, _rows(X, scale, seed), n_null, seed)


def _features(X, ensemble, scale, rng, n_jobs) -> tuple[Any, Ensemble]:
    """Return validated features and their base clusterings, generated if not given."""
    from ensclust._generate.generation import EnsembleGenerator  # noqa: PLC0415  slow
    from ensclust._support.features import validate_features  # noqa: PLC0415

    generator = EnsembleGenerator(scale=scale, n_jobs=n_jobs)
    X = validate_features(generator, X)
    if ensemble is None:
        generator.set_params(random_state=rng.randint(2**31 - 1))
        return X, generator.fit_checked(X).ensemble_
    ensemble = Ensemble(ensemble)
    if ensemble.n_objects != X.shape[0]:
        msg = (
            f"X has {X.shape[0]} rows, but the base clusterings have "
            f"{ensemble.n_objects}. Pass the features they were made from."
        )
        raise ValueError(msg)
    return X, ensemble


def _rows(X: Any, scale: str | None, seed: int) -> np.ndarray:
    """Return the rows that are tested against noise, scaled."""
    from ensclust._generate.generation import EnsembleGenerator  # noqa: PLC0415  slow
    from ensclust._generate.objects import InMemory  # noqa: PLC0415

    rows = sample_rows(X, np.random.default_rng(seed))
    with muted():  # generate() warned already
        scaling = EnsembleGenerator(scale=scale)._scaling(
            InMemory(rows), rows, np.arange(len(rows))
        )
    return principal_axes(rows if scaling is None else scaling.of(rows))


def _of_features(
    found: KSelection, judged: "_Judged", rows: np.ndarray, n_null: int, seed: int
) -> KSelection:
    """Return what was found, with the outcome of the test against noise."""
    test = noise_test(rows, n_draws=n_null, seed=seed, n_jobs=judged.model.n_jobs)
    null = f"{test.n_draws} draws from each of {len(NULL_KINDS)} null models"
    if test.p > LEVEL:
        warn(
            f"the features cannot be told from noise (p = {test.p:.2g}), so best_k = "
            "1: there may be no clusters."
        )
        return replace(found, p=test.p, null=null, best_k_range=(1,), is_noise=True)
    return replace(
        found, p=test.p, null=null, best_k_range=judged.also(found.decisive, seed)
    )


def _of_labels(
    found: KSelection, judged: "_Judged", n_draws: int, seed: int
) -> KSelection:
    """Return what labels alone show: whether they agree, and how clearly on k."""
    p = agree_by_chance(judged.ensemble, n_draws=n_draws, seed=seed)
    if p > LEVEL:
        warn(
            f"the base clusterings agree no more than by chance (p = {p:.2g}), so "
            "best_k = 1: they have nothing in common."
        )
        null = f"{n_draws} permutations of the labels"
        return replace(found, p=p, null=null, best_k_range=(1,), is_noise=True)
    if judged.labels and not judged.stands_out():
        return _doubtful(found)
    return replace(found, best_k_range=judged.also(found.decisive, seed))


def _doubtful(found: KSelection) -> KSelection:
    """Warn that no number of clusters stands out, and do not suggest the last one."""
    tried = f"no number of clusters from {found.ks[0]} to {found.ks[-1]} stands out"
    if found.best_k == found.ks[-1]:
        warn(
            f"{tried}, as is typical of noise, and the last is no better than those "
            "before it, so best_k = 1. There may be no clusters, or more than that."
        )
        return replace(found, best_k_range=(1,), is_noise=True)
    warn(
        f"{tried}, as is typical of noise; best_k = {found.best_k} is the best of them "
        "and may mean nothing. There may be no clusters, or more than that."
    )
    return replace(found, best_k_range=found.ks)


class _Judged:
    """The criteria of an ensemble for several numbers of clusters.

    Attributes
    ----------
    scores : dict of str to ndarray of shape (len(ks),)
        Value of each criterion for each k; NaN where it is not defined.
    labels : dict of int to ndarray
        The consensus by its k, where the method could form k clusters.
    """

    def __init__(
        self, model: Method, ensemble: Ensemble, ks: list[int], names: list[str]
    ):
        self.model, self.ensemble, self.ks = model, ensemble, ks
        self.labels: dict[int, np.ndarray] = {}
        self.scores = {name: np.full(len(ks), np.nan) for name in names}
        of_labels = [name for name in names if name not in _OF_ALL_K]
        if of_labels or "lifetime" in names:
            self._cut(of_labels)
        if "eigengap" in names:
            self.scores["eigengap"] = self.gaps[:-1]

    def _cut(self, names: list[str]) -> None:
        """Cut a consensus for each k and judge it."""
        model, ks = self.model, self.ks
        model._validate_params()
        with any_cut_is_fine():
            cuts = driver.solve(model, self.ensemble, ks, model._seeds()[1]).cuts
        for i, (k, found) in enumerate(zip(ks, cuts, strict=True)):
            if found.n_clusters == k:  # else the method cannot form that many
                self.labels[k] = found.labels
                values = _judge(self.ensemble, found.labels, names, model.n_jobs)
                for name in names:
                    self.scores[name][i] = values[name]
        dendrogram = cuts[0].fitted.get("dendrogram_")
        if "lifetime" in self.scores and dendrogram is not None:
            self.scores["lifetime"] = criteria_.lifetimes(dendrogram, ks)

    @cached_property
    def jaccard(self) -> np.ndarray:
        """Jaccard coefficients of the base clusters."""
        return similarity.jaccard(self.ensemble, n_jobs=self.model.n_jobs)

    @cached_property
    def gaps(self) -> np.ndarray:
        """The criterion "eigengap" for each k, and for the one after the last."""
        return criteria_.eigengaps(self.jaccard, [*self.ks, self.ks[-1] + 1])

    def suggested(self) -> dict[str, int]:
        """Return the number of clusters that each criterion suggests."""
        found = {
            name: suggest_gap(self.ks, self.gaps)
            if name == "eigengap"
            else suggest(name, self.ks, values)
            for name, values in self.scores.items()
        }
        return {name: k for name, k in found.items() if k is not None}

    def stands_out(self) -> bool:
        """Whether some number of clusters is better than the others."""

        def pac(k: int) -> float:
            pairs = criteria_.consensus_pairs(
                self.ensemble, self.labels[k], n_jobs=self.model.n_jobs
            )
            return criteria_.pac(pairs)

        def gaps() -> np.ndarray:
            between = list(range(self.ks[0], self.ks[-1] + 1))
            return criteria_.eigengaps(self.jaccard, between)

        anmi = self.scores.get("anmi")
        anmi = self._nmi.mean(axis=0) if anmi is None else anmi
        best = suggest("anmi", self.ks, anmi)
        return best is None or stands_out(self.ks, anmi, best, pac, gaps)

    def also(self, name: str, seed: int) -> tuple[int, ...]:
        """Return what a criterion suggests for all inputs, and often for half."""
        m = self.ensemble.n_clusterings
        best = self.suggested().get(name, self.ks[0])
        rng = np.random.default_rng(seed)
        size = min(m // 2, _IN_HALF)
        halves = [rng.choice(m, size, replace=False) for _ in range(_HALVES)]
        if size < 2 or name not in ("eigengap", "anmi"):
            return (best,)
        of_half = self._gap_of_half if name == "eigengap" else self._knee_of_half
        with muted():
            found = [of_half(np.sort(half)) for half in halves]
        ks, times = np.unique([k for k in found if k is not None], return_counts=True)
        return tuple(sorted({best, *ks[times >= _OFTEN].tolist()}))

    def _gap_of_half(self, half: np.ndarray) -> int | None:
        used = np.isin(np.arange(self.ensemble.n_clusterings), half)
        nodes = np.repeat(used, self.ensemble.cluster_counts)
        graph = self.jaccard[np.ix_(nodes, nodes)]
        gaps = criteria_.eigengaps(graph, [*self.ks, self.ks[-1] + 1])
        return suggest_gap(self.ks, gaps)

    def _knee_of_half(self, half: np.ndarray) -> int | None:
        return suggest("anmi", self.ks, self._nmi[half].mean(axis=0))

    @cached_property
    def _nmi(self) -> np.ndarray:
        """NMI of each base clustering, a row, with the consensus of each k, a column.

        NaN where there is none.
        """
        nmi = np.full((self.ensemble.n_clusterings, len(self.ks)), np.nan)
        for i, k in enumerate(self.ks):
            if k in self.labels:
                nmi[:, i] = np.nan_to_num(agreement(self.ensemble, self.labels[k]).nmi)
        return nmi


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


def _judge(ensemble, labels, names, n_jobs) -> dict[str, float]:
    """Return criteria of one clustering, of those that judge one at a time."""
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
            f"k_range={k_range!r} is not a list of numbers of clusters. Use, for "
            "example, range(2, 11), or None."
        )
        raise TypeError(msg)
    ks = sorted({check_n_clusters(k, n_objects) for k in k_range})
    if not ks:
        msg = f"k_range={k_range!r} is empty. Use, for example, range(2, 11)."
        raise ValueError(msg)
    return ks


def _check_draws(n_null: Any) -> None:
    check_integer(n_null, "n_null", lowest=0)
    if 0 < n_null < _FEWEST_DRAWS:
        msg = (
            f"n_null={n_null} draws cannot give a p of {LEVEL}. Use at least "
            f"{_FEWEST_DRAWS}, or 0 to skip the test."
        )
        raise ValueError(msg)


def _check_sample(n_sample: Any) -> None:
    if n_sample is None or (isinstance(n_sample, Integral) and int(n_sample) >= 2):
        return
    msg = (
        f"n_sample={n_sample!r}; expected an integer >= 2, or None to use all objects."
    )
    raise ValueError(msg)
