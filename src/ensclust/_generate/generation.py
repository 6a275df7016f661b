"""EnsembleGenerator: base clusterings from features, by k-means or any clusterer.

One base clustering is a clusterer, the objects that it is fitted to, and what it sees
of their features.
"""

from __future__ import annotations

import numbers
import warnings
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import ThreadpoolController

from ensclust import _kernels
from ensclust._ensemble.ensemble import Ensemble
from ensclust._generate import joint
from ensclust._stream.blocks import as_blocks
from ensclust._support import memory, parallel
from ensclust._support.features import scaled, validate_features
from ensclust._support.kinds import is_dask_array, is_stream
from ensclust._support.progress import tell
from ensclust._support.validation import (
    check_choice,
    check_integer,
    check_noise,
    check_random_state,
    check_share,
    no_sparse,
    unexpected,
)


class EnsembleGenerator(TransformerMixin, BaseEstimator):
    """Turn features into the labels of many base clusterings, as a transformer.

    Parameters are those of :func:`generate`.

    Attributes
    ----------
    ensemble_ : Ensemble
        The base clusterings of the training objects.
    models_ : list
        The fitted base clusterers. One without ``predict`` is kept unfitted: what it
        learned labels no new objects, and may hold X or an N x N matrix.
    views_ : list
        The features that each of them sees.
    n_iter_ : int
        The most iterations that one of them took.
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
        noise="missing",
        init="k-means++",
        max_iter=100,
        algorithm="lloyd",
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusterings = n_clusterings
        self.base_k = base_k
        self.base = base
        self.max_samples = max_samples
        self.max_features = max_features
        self.projection = projection
        self.noise = noise
        self.init = init
        self.max_iter = max_iter
        self.algorithm = algorithm
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
        """Do as :meth:`fit` for an array or CSR matrix that was validated before."""
        self.n_features_in_ = X.shape[1]
        check_noise(self.noise)
        m, n = check_integer(self.n_clusterings, "n_clusterings"), X.shape[0]
        what = f"an ensemble of {m:,} clusterings of {n:,} objects"
        memory.require(m * n, what, "Lower n_clusterings.")
        diversity = self._diversity(*X.shape)
        # k-means of all rows, if they are many, is made for all clusterings together.
        is_kmeans = isinstance(self.base, str) and self.base == "kmeans"
        is_whole = diversity.n_rows is None and not sparse.issparse(X)
        if n >= joint.MANY and is_kmeans and is_whole:
            fitted, sample = self._on_sample(n, X.__getitem__)
            fitted, labels = joint.fit_array(
                fitted, X, sample, self._rounds(), self.n_jobs
            )
        else:
            fitted, labels = self._runs(
                X, self.base_k, diversity, check_random_state(self.random_state)
            )
        self._keep(fitted)
        self.ensemble_ = Ensemble.from_clusterings(labels, noise=self.noise)
        return self

    def fit_stream(self, X, known: joint.Survey | None = None) -> EnsembleGenerator:
        """Fit to blocks of features, surveyed now unless they are known.

        ``stream_`` has the labels: Blocks, or a lazy Dask array for a Dask array. Time
        a pass to survey, one to take the sample, and for k-means one per iteration;
        memory one block, the sample and M k d numbers. Rows are labelled anew in each
        pass over ``stream_``: keep them with Dask's ``persist`` where that is dear.
        """
        blocks = as_blocks(X, "features")
        known = known or joint.survey(blocks)

        def take(rows: np.ndarray) -> np.ndarray:
            return validate_features(self, joint.take(blocks, known, rows))

        fitted, sample = self._on_sample(known.n_objects, take)
        fitted.label(sample[:1])  # a clusterer without predict is refused here
        n_rows = self._diversity(known.n_objects, sample.shape[1]).n_rows
        rounds = self._rounds() if n_rows is None else 0
        fitted = joint.fit_blocks(fitted, blocks, known, sample, rounds)
        self._keep(fitted)
        self.n_features_in_ = sample.shape[1]
        labels = joint.label_stream(fitted, blocks)
        self.stream_ = labels.to_dask(len(self.models_)) if is_dask_array(X) else labels
        return self

    def _on_sample(self, n: int, take: Callable) -> tuple[joint.Fitted, np.ndarray]:
        """Fit every clusterer to a sample of n rows; return the sample too."""
        asked = check_share(self.max_samples, "max_samples", n, "objects")
        sample = take(joint.sample_rows(n, asked, self.random_state))
        base_k = default_base_k(n) if self.base_k is None else self.base_k
        diversity = replace(self._diversity(n, sample.shape[1]), n_rows=None)
        rng = check_random_state(deepcopy(self.random_state))
        return self._runs(sample, base_k, diversity, rng)[0], sample

    def _rounds(self) -> int:
        """Return how often all rows may improve what a sample gave."""
        return self.max_iter if self.algorithm == "lloyd" else 0

    def _runs(self, X, base_k, diversity: Diversity, rng) -> tuple[joint.Fitted, Any]:
        """Fit every clusterer to ``X`` by itself; return them, and their labels."""
        m = self.n_clusterings
        ks = draw_base_k(base_k, diversity.n_rows or X.shape[0], m, rng)
        seeds = rng.randint(np.iinfo(np.int32).max, size=m)
        prototypes = self._prototypes(m, diversity)
        has_own = any(isinstance(prototype, KMeans) for prototype in prototypes)
        mean, unit, X32 = scaled(X) if has_own else (None, None, None)
        # BLAS limits and filters of warnings are global: set once around all runs, lest
        # runs restore each other's. OpenMP limits belong to a thread: set in each, for
        # libraries looked up here, since to do so beside an import may be a deadlock.
        pools = ThreadpoolController()
        with pools.limit(limits=1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            runs = Parallel(
                runs_at_a_time(prototypes, self.n_jobs),
                backend="threading",
                return_as="generator",
            )(
                delayed(fit_one)(
                    p, k, int(s), diversity, X32 if isinstance(p, KMeans) else X, pools
                )
                for p, k, s in zip(prototypes, ks, seeds, strict=True)
            )
            found = []
            for run in runs:
                found.append(run)
                tell(len(found), m)
        models, views, labels, n_iter = map(list, zip(*found, strict=True))
        return joint.Fitted(models, views, max(n_iter), mean, unit), labels

    def _keep(self, fitted: joint.Fitted) -> None:
        self.models_, self.views_, self.n_iter_, self.mean_, self.unit_ = fitted

    def fit_transform(self, X, y=None):
        """Fit and return the labels of the training objects, (n_samples, M).

        Those of a stream are a stream too, as ``stream_`` has them.
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
                "this generator was fitted to a stream, whose base clusters nobody has "
                "counted. Use label(X), which gives labels as the base clusterers do."
            )
            raise TypeError(msg)
        return self.ensemble_.recode(
            np.column_stack(self.label(validate_features(self, X, reset=False)))
        )

    def label(self, X) -> list[np.ndarray]:
        """Return the labels that the base clusterers give to new objects."""
        check_is_fitted(self, "models_")
        return joint.Fitted(
            self.models_, self.views_, self.n_iter_, self.mean_, self.unit_
        ).label(X)

    def _diversity(self, n_samples: int, n_features: int) -> Diversity:
        rows = check_share(self.max_samples, "max_samples", n_samples, "objects")
        columns = check_share(self.max_features, "max_features", n_features, "features")
        given = self.projection
        directions = None if given is None else check_integer(given, "projection")
        return Diversity(rows, columns, directions)

    def _prototypes(self, n_clusterings: int, diversity: Diversity) -> list:
        """Return the clusterer of each base clustering; warn where runs are equal."""
        base = self.base if isinstance(self.base, list | tuple) else [self.base]
        if not base:
            msg = "base=[] is empty. Give at least one clusterer."
            raise ValueError(msg)
        base = [self._prototype(one) for one in base]
        counts = Counter(m % len(base) for m in range(n_clusterings))
        for m, clusterer in enumerate(base):
            if counts[m] > 1 and diversity == Diversity() and not varies(clusterer):
                warnings.warn(
                    f"{counts[m]} base clusterings are equal: {clusterer!r} has "
                    "neither n_clusters nor random_state. Give a list of "
                    f"{type(clusterer).__name__} with other settings and "
                    "n_clusterings=len(list), or max_samples=0.8.",
                    stacklevel=3,
                )
        return [base[m % len(base)] for m in range(n_clusterings)]

    def _prototype(self, base: Any):
        if isinstance(base, str) and base == "kmeans":
            check_choice(self.algorithm, "algorithm", ("lloyd", "minibatch"))
            if isinstance(self.init, str):
                check_choice(self.init, "init", ("k-means++", "random"))
            return KMeans(
                self.init, check_integer(self.max_iter, "max_iter"), self.algorithm
            )
        if isinstance(base, type) and hasattr(base, "fit_predict"):
            msg = f"base={base!r} is a class. Give an object of it, {base.__name__}()."
            raise TypeError(msg)
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
        tags.input_tags.sparse = True
        return tags

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns, one per base clustering."""
        check_is_fitted(self, "models_")
        return np.array(
            [f"clustering{m}" for m in range(len(self.models_))], dtype=object
        )


@dataclass
class View:
    """The features that one base clustering sees.

    Attributes
    ----------
    columns : ndarray or None
        The features that it sees; None is all.
    matrix : ndarray of shape (n_columns, n_directions) or None
        Random directions that these are projected on; None leaves them.
    """

    columns: np.ndarray | None = None
    matrix: np.ndarray | None = None

    def of(self, X):
        """Return what the clustering sees of ``X``."""
        X = X if self.columns is None else X[:, self.columns]
        return X if self.matrix is None else X @ self.matrix.astype(X.dtype)

    def back(self, centres: np.ndarray, n_features: int) -> np.ndarray:
        """Return vectors whose products with whole rows are those of ``centres``."""
        if self.matrix is not None:
            centres = centres @ self.matrix.T.astype(centres.dtype)
        if self.columns is None:
            return centres
        whole = np.zeros((len(centres), n_features), centres.dtype)
        whole[:, self.columns] = centres
        return whole


@dataclass(frozen=True)
class Diversity:
    """How many objects and features each base clustering is made from; None is all."""

    n_rows: int | None = None
    n_columns: int | None = None
    n_directions: int | None = None

    def draw(self, shape: tuple[int, int], seed: int) -> tuple[Any, View]:
        """Return the objects and the view of the clustering with this seed."""
        rng = np.random.default_rng([seed, 1])  # not the clusterer's own stream
        n, d = shape
        rows = columns = matrix = None
        if self.n_rows is not None:
            rows = np.sort(rng.choice(n, self.n_rows, replace=False))
        if self.n_columns is not None:
            columns = np.sort(rng.choice(d, self.n_columns, replace=False))
            d = self.n_columns
        if self.n_directions is not None:
            matrix = (1 / np.sqrt(self.n_directions)) * rng.standard_normal(
                (d, self.n_directions)
            )
        return rows, View(columns, matrix)


@dataclass(eq=False)
class KMeans:
    """scikit-learn's k-means on scaled float32, with row-by-row assignment.

    The centres are scikit-learn's; the labels come from our own kernel, because a
    label must not depend on which other rows are in the batch. Centres are kept as
    vectors of all features, so that new objects need no view.
    """

    is_own = True  # as scikit-learn's clusterers are not
    init: str
    max_iter: int
    algorithm: str

    def fit(self, X, k: int, seed: int, view: View, n_features: int) -> KMeans:
        """Find the centres of the rows of ``X``, what the view shows of them."""
        from sklearn import cluster  # noqa: PLC0415  import time

        options = {"n_init": 1, "max_iter": self.max_iter, "random_state": seed}
        if self.algorithm == "minibatch":
            model = cluster.MiniBatchKMeans(
                k, init=self.init, compute_labels=False, **options
            )
        else:
            model = cluster.KMeans(k, init=self.init, **options)
        model.fit(X)
        self.place(model.cluster_centers_, view, n_features, n_iter=model.n_iter_)
        return self

    def place(
        self, centres: np.ndarray, view: View, n_features: int, *, n_iter: int
    ) -> None:
        """Take centres, as the view shows them, found in so many iterations."""
        self.half_norms = ((centres.astype(np.float64) ** 2).sum(axis=1) / 2).astype(
            np.float32
        )
        self.centres = view.back(centres, n_features)
        self.n_iter_ = n_iter

    def shrink(self, factor: float) -> None:
        """Divide the centres, which stand for features in a larger unit then."""
        halves = self.half_norms.astype(np.float64) / factor**2
        self.centres = (self.centres.astype(np.float64) / factor).astype(np.float32)
        self.half_norms = halves.astype(np.float32)

    def predict(self, X) -> np.ndarray:
        """Return the nearest centre of each row, of all features."""
        labels = np.empty(X.shape[0], np.int32)
        columns, kernels = np.ascontiguousarray(self.centres.T), _kernels.assignment
        shared = (columns, self.half_norms, labels, 0, len(labels))
        if sparse.issparse(X):
            kernels.nearest_centre_sparse(X.data, X.indices, X.indptr, *shared)
        else:
            kernels.nearest_centre(X, *shared)
        return labels


def fit_one(
    prototype, k: int, seed: int, diversity: Diversity, X, pools: ThreadpoolController
):
    """Make one base clustering of ``X``, with one thread of OpenMP.

    Returns
    -------
    model : clusterer
        Fitted, to label new objects; a clusterer without predict is returned unfitted,
        because what it learned may hold ``X`` or an N x N matrix.
    view : View
        What it sees.
    labels : ndarray of shape (N,)
        By predict where the clusterer has it, so that training objects and new ones
        are treated alike; else by fit_predict, NaN for objects not drawn.
    n_iter : int
        Iterations that it took.
    """
    rows, view = diversity.draw(X.shape, seed)
    seen = view.of(X if rows is None else X[rows])
    with pools.limit(limits=1, user_api="openmp"):
        if isinstance(prototype, KMeans):
            model = replace(prototype).fit(seen, k, seed, view, X.shape[1])
            labels = model.predict(X).astype(np.min_scalar_type(k))
            return model, view, labels, model.n_iter_
        model = configured(prototype, k, seed)
        try:
            labels = _labels(model, seen, rows, X, view)
        except TypeError as error:
            if sparse.issparse(seen):
                raise no_sparse(prototype, seen, error) from error
            raise
    return (
        model if hasattr(model, "predict") else clone(model),
        view,
        labels,
        _n_iter(model),
    )


def _labels(model, seen, rows: np.ndarray | None, X, view: View) -> np.ndarray:
    if hasattr(model, "predict"):
        return model.fit(seen).predict(seen if rows is None else view.of(X))
    labels = np.asarray(model.fit_predict(seen))
    if rows is None:
        return labels
    everyone = np.full(X.shape[0], np.nan)
    everyone[rows] = labels
    return everyone


def configured(prototype, k: int, seed: int):
    """Return a copy of a clusterer with ``k`` clusters and its own seed.

    A clusterer whose number of clusters is None decides it by itself.
    """
    model = clone(prototype)
    if name := _count_name(model):
        _final(model).set_params(**{name: k})
    seeded = [p for p in model.get_params() if p.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeded, seed))


def runs_at_a_time(prototypes: list, n_jobs: int | None) -> int:
    """Return the number of threads: one if a clusterer has an ``n_jobs`` of its own.

    Two threads that start threads of scikit-learn lose each other's warning filters.
    """
    names = [
        name.split("__")[-1]
        for prototype in prototypes
        if not isinstance(prototype, KMeans)
        for name in prototype.get_params()
    ]
    return 1 if "n_jobs" in names else parallel.thread_count(n_jobs)


def varies(prototype) -> bool:
    """Whether two runs on the same objects may differ."""
    if isinstance(prototype, KMeans):
        return True
    names = [p.split("__")[-1] for p in prototype.get_params()]
    return "random_state" in names or _count_name(prototype) is not None


def _final(model):
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _count_name(model) -> str | None:
    """Return the parameter that is the number of clusters, None if none is set."""
    known = _final(model).get_params(deep=False)
    # SpectralClustering has both; there n_components is the dimension of its space.
    name = "n_clusters" if "n_clusters" in known else "n_components"
    return name if known.get(name) is not None else None


def _n_iter(model) -> int:
    count = getattr(_final(model), "n_iter_", 1)
    return int(count) if isinstance(count, numbers.Integral) else 1


def default_base_k(n_samples: int, lowest: int = 2) -> tuple[int, int]:
    """Return the range of k of the paper: ``lowest`` to ``min(sqrt(N), 100)``."""
    low = min(max(2, lowest), n_samples)
    return low, max(low, int(min(np.sqrt(n_samples), 100)))


def draw_base_k(base_k, n_samples: int, n_clusterings: int, rng) -> list[int]:
    """Return M numbers of clusters as ``base_k`` asks (see :func:`generate`)."""
    base_k = default_base_k(n_samples) if base_k is None else base_k
    if isinstance(base_k, numbers.Integral) and not isinstance(base_k, bool):
        ks = np.full(n_clusterings, base_k)
    elif isinstance(base_k, tuple) and len(base_k) == 2:
        low, high = (check_integer(k, "base_k") for k in base_k)
        if low > high:
            msg = f"base_k={base_k} has its lower end above its upper end."
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
