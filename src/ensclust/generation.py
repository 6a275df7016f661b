"""Base clusterings from features: k-means with random k, or any clusterer."""

from __future__ import annotations

import numbers
import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ensclust import _kernels, _parallel
from ensclust._progress import tell
from ensclust.ensemble import Ensemble

_ROWS = 8192  # rows centred or assigned at a time


def generate(
    X,
    n_clusterings: int = 20,
    *,
    base_k=None,
    base="kmeans",
    init: str = "k-means++",
    max_iter: int = 100,
    random_state=None,
    n_jobs: int | None = None,
) -> Ensemble:
    """Cluster ``X`` many times and return the ensemble.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The objects.
    n_clusterings : int, default=20
        M, the number of base clusterings.
    base_k : int, (lo, hi), list of M ints or None
        Clusters per base clustering; for a pair each k is drawn uniformly from
        lo..hi. None is ``(2, hi)`` with ``hi = floor(min(sqrt(n_samples), 100))``.
    base : "kmeans", scikit-learn clusterer or list of them
        What makes the base clusterings. A list is used in turn.
    init : "k-means++" or "random", default="k-means++"
        Start of each k-means run.
    max_iter : int, default=100
        Most iterations of each k-means run (one start each).
    random_state : int, RandomState instance or None
        Decides k and the seed of every run before the first one starts.
    n_jobs : int or None
        Runs at a time, in threads; None is one per core. Does not change the result.

    Returns
    -------
    Ensemble
        M clusterings of the rows of ``X``. k-means works on one float32 copy of
        ``X``, centred and scaled in float64; time ``N k d`` per iteration and run.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import generate
    >>> generate(load_iris().data, 10, base_k=(3, 12), random_state=0)
    Ensemble(n_objects=150, n_clusterings=10, n_base_clusters=71)
    """
    generator = EnsembleGenerator(
        n_clusterings,
        base_k=base_k,
        base=base,
        init=init,
        max_iter=max_iter,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return generator.fit(X).ensemble_


class EnsembleGenerator(TransformerMixin, BaseEstimator):
    """Turn features into the labels of many base clusterings, as a transformer.

    Parameters are those of :func:`generate`.

    Attributes
    ----------
    ensemble_ : Ensemble
        The base clusterings of the training objects.
    models_ : list
        The fitted base clusterers.
    n_iter_ : int
        The most iterations that one of them took.
    n_features_in_ : int
        Number of features of the training objects.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust.generation import EnsembleGenerator
    >>> generator = EnsembleGenerator(10, base_k=5, random_state=0)
    >>> generator.fit_transform(load_iris().data).shape
    (150, 10)
    """

    def __init__(
        self,
        n_clusterings=20,
        *,
        base_k=None,
        base="kmeans",
        init="k-means++",
        max_iter=100,
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusterings = n_clusterings
        self.base_k = base_k
        self.base = base
        self.init = init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Fit every base clusterer to ``X``."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        rng = check_random_state(self.random_state)
        n_clusterings = _check_positive(self.n_clusterings, "n_clusterings")
        base_k = draw_base_k(self.base_k, len(X), n_clusterings, rng)
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_clusterings)
        prototypes = self._prototypes()
        if any(isinstance(prototype, _KMeans) for prototype in prototypes):
            self.mean_, self.unit_, X32 = _scaled(X)
        tasks = [
            (prototypes[m % len(prototypes)], base_k[m], int(seeds[m]))
            for m in range(n_clusterings)
        ]
        # BLAS limits are global to the process: set once around all runs, so that
        # the runs' own limits cannot restore each other's. OpenMP limits belong to
        # a thread: set in each worker.
        with threadpool_limits(1):
            runs = Parallel(
                _parallel.thread_count(self.n_jobs),
                backend="threading",
                return_as="generator",
            )(
                delayed(_fit_one)(p, k, s, X32 if isinstance(p, _KMeans) else X)
                for p, k, s in tasks
            )
            fitted = []
            for run in runs:
                fitted.append(run)
                tell(len(fitted), n_clusterings)
        self.models_ = [model for model, _ in fitted]
        self.n_iter_ = max(getattr(model, "n_iter_", 1) for model in self.models_)
        self.ensemble_ = Ensemble.from_clusterings([labels for _, labels in fitted])
        return self

    def fit_transform(self, X, y=None):
        """Fit and return the labels of the training objects, (n_samples, M)."""
        return self.fit(X, y).ensemble_.labels

    def transform(self, X):
        """Return the base labels of new objects, coded as in ``ensemble_.labels``.

        An object whose base cluster has no training object counts as not clustered.
        """
        return np.array(self.encode(X).labels)

    def encode(self, X) -> Ensemble:
        """Return the base clusters of new objects, numbered as in ``ensemble_``."""
        check_is_fitted(self, "models_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        X32 = None
        if hasattr(self, "mean_"):
            X32 = _scaled(X, self.mean_, self.unit_)[-1]
        clusterings = []
        for model in self.models_:
            if not hasattr(model, "predict"):
                msg = (
                    f"{type(model).__name__} cannot label new objects (it has no "
                    'predict). Use base="kmeans" or a clusterer with predict.'
                )
                raise TypeError(msg)
            clusterings.append(model.predict(X32 if isinstance(model, _KMeans) else X))
        return self.ensemble_.recode(np.column_stack(clusterings))

    def _prototypes(self) -> list:
        base = self.base if isinstance(self.base, list | tuple) else [self.base]
        if not base:
            msg = "base=[] is empty. Give at least one clusterer."
            raise ValueError(msg)
        return [self._prototype(one) for one in base]

    def _prototype(self, base: Any):
        if isinstance(base, str) and base == "kmeans":
            return _KMeans(self.init, _check_positive(self.max_iter, "max_iter"))
        if isinstance(base, str) or not hasattr(base, "fit_predict"):
            msg = (
                f'base={base!r} is not known. Use "kmeans", "precomputed" (in an '
                "estimator), a scikit-learn clusterer such as KMeans(), or a list of "
                "clusterers."
            )
            raise ValueError(msg)
        return base

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # labels are int32
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.ensemble_.n_clusterings

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns, one per base clustering."""
        check_is_fitted(self, "models_")
        return np.array(
            [f"clustering{m}" for m in range(self._n_features_out)], dtype=object
        )


class _KMeans:
    """scikit-learn's k-means on centred float32, with row-by-row assignment.

    The centres are scikit-learn's; the labels come from our own kernel, because a
    label must not depend on which other rows are in the batch.
    """

    def __init__(self, init: str, max_iter: int):
        self.init = init
        self.max_iter = max_iter

    def fit_predict(self, X: np.ndarray, k: int, seed: int) -> np.ndarray:
        from sklearn.cluster import KMeans  # noqa: PLC0415  costs import time

        model = KMeans(
            n_clusters=k,
            init=self.init,
            n_init=1,
            max_iter=self.max_iter,
            random_state=seed,
        )
        with warnings.catch_warnings():
            # Fewer distinct rows than k: the ensemble has fewer clusters, no harm.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.centres = model.fit(X).cluster_centers_
        self.n_iter_ = model.n_iter_
        return self.predict(X)

    def predict(self, X: np.ndarray) -> np.ndarray:
        columns = np.ascontiguousarray(self.centres.T)
        half_norms = (self.centres.astype(np.float64) ** 2).sum(axis=1) / 2
        labels = np.empty(len(X), np.int32)
        _kernels.assignment.nearest_centre(
            X, columns, half_norms.astype(np.float32), labels, 0, len(X)
        )
        return labels


def default_base_k(n_samples: int, lowest: int = 2) -> tuple[int, int]:
    """Return the range of k of the paper: ``lowest`` to ``min(sqrt(N), 100)``."""
    low = min(max(2, lowest), n_samples)
    return low, max(low, int(min(np.sqrt(n_samples), 100)))


def draw_base_k(base_k, n_samples: int, n_clusterings: int, rng) -> list[int]:
    """Return M numbers of clusters as ``base_k`` asks (see :func:`generate`)."""
    if base_k is None:
        base_k = default_base_k(n_samples)
    if isinstance(base_k, numbers.Integral):
        ks = np.full(n_clusterings, base_k)
    elif isinstance(base_k, tuple) and len(base_k) == 2:
        low, high = (_check_positive(k, "base_k") for k in base_k)
        if low > high:
            msg = f"base_k={base_k} has its lower end above its upper end."
            raise ValueError(msg)
        ks = rng.randint(low, high + 1, size=n_clusterings)
        _check_range(base_k, low, high, n_samples)
    elif isinstance(base_k, list | np.ndarray) and len(base_k) == n_clusterings:
        ks = np.array([_check_positive(k, "base_k") for k in base_k])
    else:
        msg = (
            f"base_k={base_k!r}; expected an integer, a pair (lo, hi), a list of "
            f"n_clusterings={n_clusterings} integers, or None."
        )
        raise ValueError(msg)
    _check_range(base_k, ks.min(), ks.max(), n_samples)
    return ks.tolist()


def _check_range(base_k: Any, low: int, high: int, n_samples: int) -> None:
    if low < 1 or high > n_samples:
        msg = (
            f"base_k={base_k!r} asks for {low} to {high} clusters of "
            f"n_samples={n_samples} objects. Use between 1 and {n_samples}."
        )
        raise ValueError(msg)


def _fit_one(prototype, k: int, seed: int, X: np.ndarray):
    with threadpool_limits(1, user_api="openmp"):
        if isinstance(prototype, _KMeans):
            model = _KMeans(prototype.init, prototype.max_iter)
            return model, model.fit_predict(X, k, seed)
        model = clone(prototype)
        known = model.get_params()
        name = "n_components" if "n_components" in known else "n_clusters"
        settings = {name: k, "random_state": seed}
        model.set_params(**{key: v for key, v in settings.items() if key in known})
        return model, model.fit_predict(X)


def _scaled(X: np.ndarray, mean: np.ndarray | None = None, unit: float | None = None):
    """Return the mean of the rows, a unit and ``(X - mean) / unit`` in float32.

    Centred in float64, block by block. The unit is a power of two, which costs no
    digits, near the largest deviation, so that no number is too large for float32.
    """
    blocks = [slice(i, i + _ROWS) for i in range(0, len(X), _ROWS)]
    if mean is None or unit is None:
        mean = X.mean(axis=0, dtype=np.float64)
        largest = max(np.abs(X[rows] - mean).max() for rows in blocks)
        unit = 2.0 ** np.frexp(largest)[1]
    scaled = np.empty(X.shape, np.float32)
    for rows in blocks:
        scaled[rows] = (X[rows].astype(np.float64) - mean) / unit
    return mean, unit, scaled


def _check_positive(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        msg = f"{name}={value!r}; expected an integer of at least 1."
        raise ValueError(msg)
    return int(value)
