"""EnsembleGenerator: base clusterings from features, built in or by any clusterer."""

from __future__ import annotations

import numbers
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ensclust._ensemble.contents import check_array, check_ensemble
from ensclust._ensemble.ensemble import Ensemble
from ensclust._generate import base_kmeans, base_spectral
from ensclust._generate.base_kmeans import Effort
from ensclust._generate.clusterers import BaseRun, Diversity, View, fit_all, varies
from ensclust._generate.objects import (
    InBlocks,
    InMemory,
    Survey,
    check_known,
    survey,
    table,
)
from ensclust._generate.scaling import Scaling, robust_scaling, standard_scaling
from ensclust._stream.blocks import as_blocks
from ensclust._support import memory, parallel
from ensclust._support.features import Frame, uneven, validate_features
from ensclust._support.kinds import is_dask_array, is_stream
from ensclust._support.site import LinkedToSite
from ensclust._support.validation import (
    check_choice,
    check_integer,
    check_noise,
    check_random_state,
    check_share,
    unexpected,
    warn,
)

SCALE = 'scale="standard" gives all the same influence.'
OWN = {"kmeans": base_kmeans, "spectral": base_spectral}  # by their names for base=


class EnsembleGenerator(LinkedToSite, TransformerMixin, BaseEstimator):
    """Turn features into the labels of many base clusterings, as a transformer.

    Parameters are those of :func:`generate`.

    Attributes
    ----------
    ensemble_ : Ensemble
        The base clusterings of the training objects.
    models_ : list
        The fitted base clusterers. One without ``predict`` is kept unfitted: it cannot
        label new objects, and may hold X or an N x N matrix.
    views_ : list
        The features that each of them sees.
    n_iter_ : int
        The largest number of iterations of any of them.
    scaling_ : Scaling or None
        The centre and the scale of each feature, as requested by ``scale``.
    frame_ : Frame or None
        Shift of the features for k-means and "spectral", so that no digits are lost.
    n_features_in_ : int
        Number of features of the training objects.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ensclust import ECPCSMC, EnsembleGenerator
    >>> X = load_iris().data
    >>> generator = EnsembleGenerator(10, base_k=5, max_features=0.5, random_state=0)
    >>> generator.fit_transform(X).shape
    (150, 10)

    In a pipeline, before a consensus of its labels:

    >>> consensus = ECPCSMC(3, base="precomputed", random_state=0)
    >>> model = make_pipeline(StandardScaler(), generator, consensus).fit(X)
    >>> bool((model.predict(X) == consensus.labels_).all())
    True
    """

    def __init__(
        self,
        n_clusterings=20,
        *,
        base_k=None,
        base="kmeans",
        max_samples=1.0,
        max_features=1.0,
        projection=None,
        scale=None,
        noise="missing",
        init="k-means++",
        max_iter=100,
        tol=1e-4,
        effort="auto",
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusterings = n_clusterings
        self.base_k = base_k
        self.base = base
        self.max_samples = max_samples
        self.max_features = max_features
        self.projection = projection
        self.scale = scale
        self.noise = noise
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.effort = effort
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Fit every base clusterer to ``X``."""
        return (
            self.fit_stream(X)
            if is_stream(X)
            else self.fit_checked(validate_features(self, X))
        )

    def fit_checked(self, X) -> EnsembleGenerator:
        """Like :meth:`fit`, for an array or CSR matrix that has been validated."""
        self.n_features_in_ = X.shape[1]
        m, n = check_integer(self.n_clusterings, "n_clusterings"), X.shape[0]
        what = f"an ensemble of {m:,} clusterings of {n:,} objects"
        memory.require(m * n, what, "Lower n_clusterings.")
        plan, objects = self._plan(X.shape), InMemory(X)
        chosen = plan.sample_rows()
        sample = objects.take(chosen)
        scaling = self.scaling_ = self._scaling(objects, sample, chosen)
        if scaling is not None:
            objects, sample = InMemory(X, scaling), scaling.of(sample)
        labels = self._fit(plan, objects, sample)
        labels |= self._fitted().label_all(objects, self.n_jobs)
        columns = [labels[run] for run in range(m)]
        self.ensemble_ = Ensemble.from_clusterings(columns, noise=self.noise)
        return self

    def fit_stream(self, X, known: Survey | None = None) -> EnsembleGenerator:
        """Fit to blocks of features, surveyed now unless they are known.

        ``stream_`` has the labels: Blocks, or a lazy Dask array for a Dask array. Takes
        one pass for the survey, one for the sample, and for k-means those that
        ``effort`` allows; memory for one block, the sample and M k d numbers. Each pass
        over ``stream_`` labels the rows again: use Dask's ``persist`` to keep them if
        that is expensive.
        """
        blocks = as_blocks(X, "features")
        known = known or survey(blocks)
        plan = self._plan((known.n_objects, len(known.low)))
        objects: Any = InBlocks(blocks, known)
        n_rows = plan.diversity.n_rows
        chosen = plan.sample_rows(n_rows=n_rows)
        sample = validate_features(self, objects.take(chosen))
        scaling = self.scaling_ = self._scaling(objects, sample, chosen)
        if n_rows is not None:  # only the sample is used for fitting
            objects = InMemory(sample, scaling)
        elif scaling is not None:
            objects = InBlocks(blocks, known, scaling)
        sample = sample if scaling is None else scaling.of(sample)
        diversity = replace(plan.diversity, n_rows=None)
        self._fit(replace(plan, diversity=diversity), objects, sample)
        fitted = self._fitted()
        fitted.label(sample[:1])  # raises for a clusterer without predict
        labels = blocks.map(partial(fitted.label_block, known=known.known))
        self.stream_ = labels.to_dask(len(plan.runs)) if is_dask_array(X) else labels
        return self

    def _plan(self, shape: tuple[int, int]) -> Plan:
        """Return the base clusterings to make, determined by ``random_state``."""
        check_noise(self.noise)
        m = check_integer(self.n_clusterings, "n_clusterings")
        n_rows = check_share(self.max_samples, "max_samples", shape[0], "objects")
        given = self.projection
        diversity = Diversity(
            n_rows,
            check_share(self.max_features, "max_features", shape[1], "features"),
            None if given is None else check_integer(given, "projection"),
        )
        base = self._base(m, diversity)
        effort = Effort(self.init, self.max_iter, self.tol, self.effort).checked()
        rng = check_random_state(self.random_state)
        ks = draw_base_k(self.base_k, n_rows or shape[0], m, rng)
        seeds = rng.randint(np.iinfo(np.int32).max, size=m).tolist()
        runs = [BaseRun(*run) for run in zip(base, ks, seeds, strict=True)]
        return Plan(runs, diversity, effort, int(rng.randint(2**31 - 1)), shape)

    def _scaling(self, objects: Any, sample: Any, rows: np.ndarray) -> Scaling | None:
        """Return the scaling of features by all objects and a sample with its rows."""
        kind = self.scale
        if kind is not None:
            check_choice(kind, "scale", ("auto", "standard", "robust"), or_none=True)
        if kind in (None, "auto") and (found := uneven(sample, rows)):
            said, cure = found
            if kind == "auto" and not cure:
                kind, cure = "standard", "All are scaled; scale=None turns this off."
            warn(f"{said} {cure or SCALE}")
        if kind == "robust":
            return robust_scaling(sample)
        return standard_scaling(objects) if kind == "standard" else None

    def _fit(self, plan: Plan, objects, sample) -> dict[int, np.ndarray]:
        """Fit all clusterers, built-in ones to a sample; return the others' labels."""
        others = [plan.runs[m] for m in plan.others]
        X = None
        if others:  # for a stream, these see the sample only
            everyone = np.arange(objects.n_objects)
            X = objects.take(everyone) if isinstance(objects, InMemory) else sample
        made = fit_all(others, plan.diversity, X, self.n_jobs)
        fitted = {m: one[:2] for m, one in zip(plan.others, made, strict=True)}
        frame: Frame | None = None
        if len(others) < len(plan.runs):
            frame = Frame.of(sample, objects.low, objects.high)
            fitted |= plan.fit_own(objects, sample, frame, self.n_jobs)
        self.models_ = [fitted[m][0] for m in range(len(plan.runs))]
        self.views_ = [fitted[m][1] for m in range(len(plan.runs))]
        self.frame_ = frame
        n_iter = [model.n_iter_ for model in self._fitted().own.values()]
        self.n_iter_ = max(n_iter + [one[3] for one in made])
        return {m: one[2] for m, one in zip(plan.others, made, strict=True)}

    def _check_loaded(self) -> None:
        """Raise ValueError if the arrays, read from a file, do not fit together."""
        check_ensemble(self.ensemble_)
        n = self.n_features_in_
        fitted = self._fitted()
        if len(fitted.models) != (n_clusterings := self.ensemble_.n_clusterings):
            msg = f"there are {len(fitted.models)} models for {n_clusterings}."
            raise ValueError(msg)
        for model in fitted.own.values():
            model.check(n)
        if fitted.frame is not None and fitted.frame.origin is not None:
            check_array("origin", fitted.frame.origin, (n,), kinds="f")

    def _fitted(self) -> Fitted:
        return Fitted(self.models_, self.views_, self.frame_, self.scaling_)

    def fit_transform(self, X, y=None):
        """Fit and return the labels of the training objects, (n_samples, M).

        For a stream, they are ``stream_``, a stream too.
        """
        self.fit(X, y)
        return self.stream_ if is_stream(X) else self.ensemble_.labels

    def transform(self, X):
        """Return the base labels of new objects, coded as in ``ensemble_.labels``.

        An object whose base cluster has no training object counts as not clustered.
        """
        return np.array(self.encode(X).labels)

    def encode(self, X) -> Ensemble:
        """Return the base clusters of new objects, numbered as in ``ensemble_``."""
        check_is_fitted(self, "models_")
        if not hasattr(self, "ensemble_"):
            msg = (
                "this generator was fitted to a stream, whose base clusters have not "
                "been counted. Use label(X) for the labels of the base clusterers."
            )
            raise TypeError(msg)
        return self.ensemble_.recode(
            np.column_stack(self.label(validate_features(self, X, reset=False)))
        )

    def label(self, X) -> list[np.ndarray]:
        """Return the labels that the base clusterers give to new objects."""
        check_is_fitted(self, "models_")
        return self._fitted().label(X, self.n_jobs)

    def _base(self, n_clusterings: int, diversity: Diversity) -> list:
        """Return the clusterer of each base clustering; warn if runs are equal."""
        base = self.base if isinstance(self.base, list | tuple) else [self.base]
        if not base:
            msg = "base=[] is empty. Pass at least one clusterer."
            raise ValueError(msg)
        for clusterer in base:
            _check_base(clusterer)
        counts = Counter(m % len(base) for m in range(n_clusterings))
        for m, clusterer in enumerate(base):
            if is_own(clusterer) or diversity != Diversity() or counts[m] < 2:
                continue
            if not varies(clusterer):
                warnings.warn(
                    f"{counts[m]} base clusterings are equal: {clusterer!r} has "
                    "neither n_clusters nor random_state. Pass a list of "
                    f"{type(clusterer).__name__} with different settings and "
                    "n_clusterings=len(list), or max_samples=0.8.",
                    stacklevel=3,
                )
        return [base[m % len(base)] for m in range(n_clusterings)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # labels are int32
        tags.input_tags.sparse = True
        return tags

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns, one per base clustering."""
        check_is_fitted(self, "models_")
        return np.array(
            [f"clustering{m}" for m in range(len(self.models_))], dtype=object
        )


@dataclass(frozen=True)
class Plan:
    """The base clusterings to make.

    Attributes
    ----------
    runs : list of BaseRun
        Clusterer, k and seed of each.
    diversity : Diversity
        Which objects and features each of them uses.
    effort : Effort
        How long k-means continues.
    seed : int
        Determines the sample that k-means converges on.
    shape : tuple of int
        Number of objects and of features.
    """

    runs: list[BaseRun]
    diversity: Diversity
    effort: Effort
    seed: int
    shape: tuple[int, int]

    @property
    def others(self) -> list[int]:
        """The indices of the runs that are not built in."""
        return [m for m, run in enumerate(self.runs) if not is_own(run.clusterer)]

    def sample_rows(self, *, n_rows: int | None = None) -> np.ndarray:
        """Return the sample that k-means converges on, or ``n_rows`` random objects."""
        ks = [run.k for run in self.runs]
        return base_kmeans.sample_rows(self.shape[0], ks, self.seed, n_rows)

    def fit_own(
        self, objects: InMemory | InBlocks, sample: Any, frame: Frame, n_jobs
    ) -> dict[int, tuple[Any, View]]:
        """Return the models and views of built-in runs, by index."""
        fitted: dict[int, tuple[Any, View]] = {}
        for name, kind in OWN.items():
            own = [m for m, run in enumerate(self.runs) if is_own(run.clusterer)]
            chosen = [m for m in own if self.runs[m].clusterer == name]
            if chosen:
                effort = {"effort": self.effort} if kind is base_kmeans else {}
                fit = partial(kind.fit, frame=frame, **effort)
                runs = [self.runs[m] for m in chosen]
                made = self._fit_kind(fit, runs, objects, sample, n_jobs)
                fitted |= zip(chosen, made, strict=True)
        return fitted

    def _fit_kind(
        self, fit: Callable, runs: list[BaseRun], objects, sample: Any, n_jobs
    ) -> list[tuple[Any, View]]:
        """Return the models and views of runs, each on its own objects if requested."""
        draws = [self.diversity.draw(self.shape, run.seed) for run in runs]
        views = [view for _, view in draws]
        ks, seeds = [run.k for run in runs], [run.seed for run in runs]
        if self.diversity.n_rows is None:
            models = fit(objects, sample, ks, seeds, views, n_jobs=n_jobs)
            return list(zip(models, views, strict=True))

        def fit_apart(m: int) -> tuple[Any, View]:
            part = InMemory(objects.take(draws[m][0]))
            at = base_kmeans.sample_rows(part.n_objects, ks[m : m + 1], seeds[m])
            own = ks[m : m + 1], seeds[m : m + 1], views[m : m + 1]
            with parallel.alone():
                return fit(part, part.take(at), *own, n_jobs=1)[0], views[m]

        tasks = [(m,) for m in range(len(runs))]
        # Here, not in the threads: threadpoolctl may ignore limits set by other
        # threads.
        with parallel.one_blas_thread():
            return parallel.run(fit_apart, tasks, n_jobs=n_jobs)


class Fitted(NamedTuple):
    """Fitted base clusterers.

    Attributes
    ----------
    models, views : list
        The clusterers, and the features that each of them sees.
    frame : Frame or None
        Shift and precision of features for built-in clusterers; None without any.
    scaling : Scaling or None
        Scaling of features, applied first.
    """

    models: list
    views: list
    frame: Frame | None
    scaling: Scaling | None

    @property
    def nbytes(self) -> int:
        """Bytes of the built-in models."""
        return sum(model.nbytes for model in self.own.values())

    @property
    def own(self) -> dict[int, Any]:
        """The built-in clusterers, by index."""
        kinds = tuple(kind.Model for kind in OWN.values())
        return {m: x for m, x in enumerate(self.models) if isinstance(x, kinds)}

    def label_own(self, X: Any, n_jobs: int | None) -> dict[int, np.ndarray]:
        """Return the labels that built-in clusterers give to scaled features."""
        labels: dict[int, np.ndarray] = {}
        placed = X if self.frame is None else self.frame.place(X)
        for kind in OWN.values():
            own = {m: x for m, x in self.own.items() if isinstance(x, kind.Model)}
            if own:
                found = kind.label([*own.values()], placed, n_jobs)
                labels |= zip(own, found, strict=True)
        return labels

    def label_all(self, objects: InMemory, n_jobs: int | None) -> dict[int, np.ndarray]:
        """Return the labels of all objects by built-in clusterers, piece by piece."""
        labels: dict[int, np.ndarray] = {}
        for a, X in objects.pieces("labels") if self.own else ():
            for m, found in self.label_own(X, n_jobs).items():
                if a == 0:
                    labels[m] = np.empty(objects.n_objects, found.dtype)
                labels[m][a : a + len(found)] = found
        return labels

    def label(self, X: Any, n_jobs: int | None = None) -> list[np.ndarray]:
        """Return the labels that the base clusterers give to new objects."""
        for model in self.models:
            if not hasattr(model, "predict"):
                msg = (
                    f"{type(model).__name__} cannot label new objects (it has no "
                    'predict). Use base="kmeans" or a clusterer with predict, or label '
                    'the objects yourself and use base="precomputed".'
                )
                raise TypeError(msg)
        labels: dict[int, np.ndarray] = {}
        X = X if self.scaling is None else self.scaling.of(X)
        for m, found in self.label_own(X, n_jobs).items():
            labels[m] = found.astype(np.int32)  # -1 fits too
        for m, (model, view) in enumerate(zip(self.models, self.views, strict=True)):
            if m not in labels:
                labels[m] = np.asarray(model.predict(view.of(X)))
        return [labels[m] for m in range(len(self.models))]

    def label_block(
        self, columns: list[np.ndarray], number: int, *, known: dict
    ) -> list[np.ndarray]:
        """Return the labels of a block of features; raise if the block has changed."""
        check_known(columns, number, known)
        return self.label(table(columns))


def is_own(clusterer: Any) -> bool:
    """Return whether a base clusterer is built in."""
    return isinstance(clusterer, str) and clusterer in OWN


def _check_base(base: Any) -> None:
    """Raise unless ``base`` is a base clusterer."""
    if is_own(base):
        return
    if isinstance(base, type) and hasattr(base, "fit_predict"):
        msg = f"base={base!r} is a class. Pass an instance, {base.__name__}()."
        raise TypeError(msg)
    if isinstance(base, str) or not hasattr(base, "fit_predict"):
        msg = (
            f'base={base!r} is not supported. Use "kmeans", "spectral", "precomputed" '
            "(in an estimator), a scikit-learn clusterer such as KMeans(), or a list "
            "of clusterers."
        )
        raise ValueError(msg)


def default_base_k(n_samples: int, ks: Sequence = (None,)) -> tuple[int, int]:
    """Return the paper's range of k: the requested number to ``min(sqrt(N), 100)``.

    Of several requested numbers, ``ks``, the smallest counts. None, or a word such as
    "auto", means that it is not known.
    """
    unknown = 2  # start of the range if the number of clusters is not known
    least = min(k if isinstance(k, int) else unknown for k in ks)
    low = min(max(2, least), n_samples)
    return low, max(low, int(min(np.sqrt(n_samples), 100)))


def draw_base_k(base_k, n_samples: int, n_clusterings: int, rng) -> list[int]:
    """Return M numbers of clusters according to ``base_k``, see :func:`generate`."""
    base_k = default_base_k(n_samples) if base_k is None else base_k
    if isinstance(base_k, numbers.Integral) and not isinstance(base_k, bool):
        ks = np.full(n_clusterings, base_k)
    elif isinstance(base_k, tuple) and len(base_k) == 2:
        low, high = (check_integer(k, "base_k") for k in base_k)
        if low > high:
            msg = f"base_k={base_k} has a lower end above its upper end."
            raise ValueError(msg)
        ks = rng.randint(low, high + 1, size=n_clusterings)
        _check_range(base_k, low, high, n_samples)
    elif isinstance(base_k, list | np.ndarray) and np.shape(base_k) == (n_clusterings,):
        ks = np.array([check_integer(k, "base_k") for k in base_k])
    else:
        raise unexpected(
            base_k,
            "base_k",
            "an integer, a pair (lo, hi), a list of "
            f"n_clusterings={n_clusterings} integers, or None",
        )
    _check_range(base_k, ks.min(), ks.max(), n_samples)
    return ks.tolist()


def _check_range(base_k: Any, low: int, high: int, n_samples: int) -> None:
    if low < 1 or high > n_samples:
        msg = (
            f"base_k={base_k!r} asks for {low} to {high} clusters of "
            f"n_samples={n_samples} objects. Use between 1 and {n_samples}."
        )
        raise ValueError(msg)
