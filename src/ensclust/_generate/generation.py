"""Base clusterings from features: k-means with random k, or any clusterer."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from ensclust._ensemble.ensemble import Ensemble
from ensclust._generate.base_k import check_n_clusterings, draw_base_k
from ensclust._generate.clusterers import (
    Diversity,
    KMeans,
    fit_one,
    runs_at_a_time,
    scaled,
    varies,
)
from ensclust._stream.blocks import is_stream
from ensclust._support.progress import tell
from ensclust._support.validation import (
    check_choice,
    check_integer,
    check_magnitude,
    check_noise,
    check_random_state,
    check_share,
)


def generate(
    X,
    n_clusterings: int = 20,
    *,
    base_k=None,
    base="kmeans",
    max_samples: float = 1.0,
    max_features: float = 1.0,
    projection: int | None = None,
    noise: str = "missing",
    init: str = "k-means++",
    max_iter: int = 100,
    algorithm: str = "lloyd",
    random_state=None,
    n_jobs: int | None = None,
    out=None,
) -> Any:
    """Cluster ``X`` many times and return the ensemble.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        The objects. Sparse where the clusterers take it; "kmeans" does. Or a Dask array
        or :class:`ensclust.Blocks`: labels come out as such.
    n_clusterings : int, default=20
        M, the number of base clusterings.
    base_k : int, (lo, hi), list of M ints or None
        Clusters per base clustering; for a pair each k is drawn uniformly from
        lo..hi. None is ``(2, hi)`` with ``hi = floor(min(sqrt(n_samples), 100))``.
    base : "kmeans", scikit-learn clusterer or list of them
        What makes the base clusterings: anything with scikit-learn's ``fit_predict``,
        also a Pipeline that ends in such. A list is used in turn. ``n_clusters`` (or
        ``n_components``) is set to the drawn k unless it is None or there is no such
        parameter (HDBSCAN), and every ``random_state`` to a seed of its own.
    max_samples : float or int, default=1.0
        Share or number of the objects that each clusterer is fitted to, drawn anew
        without replacement. The others are labelled by its ``predict``; if it has none
        they are missing (-1) in that clustering.
    max_features : float or int, default=1.0
        Share or number of the features that each clusterer sees, drawn anew.
    projection : int or None, default=None
        Number of random Gaussian directions that these are projected on, drawn anew.
    noise : "missing" or "own-cluster", default="missing"
        Whether what a clusterer calls noise (a negative label) is missing in that
        clustering or one more cluster of it.
    init : "k-means++" or "random", default="k-means++"
        Start of each k-means run.
    max_iter : int, default=100
        Most iterations of each k-means run (one start each).
    algorithm : "lloyd" or "minibatch", default="lloyd"
        How k-means moves its centres: by all objects at a time, or by 1,024 random ones
        at a time, which is quicker and ends a little higher.
    random_state : int, RandomState instance or None
        Decides k and the seed of every run before the first one starts.
    n_jobs : int or None
        Runs at a time, in threads; None is one per core. A clusterer with an n_jobs of
        its own is run one at a time. Does not change the result.
    out : path or None, default=None
        An .npy file, or a .parquet or .zarr directory, that labels are written to block
        by block. ``X`` is then a stream: k-means begins with a sample of 20,000 rows.

    Returns
    -------
    Ensemble
        M clusterings of the rows of ``X``; with ``out`` the :class:`ensclust.Blocks`
        of that file. k-means works on one float32 copy of ``X``, centred (unless
        sparse) and scaled in float64; time ``N k d`` per iteration and run. Each run
        with ``max_samples``, ``max_features`` or ``projection`` has a copy of what it
        sees while it lasts. From 100,000 objects on, as in a stream, all clusterings
        start from the centres of 20,000 of them and are improved together, without a
        copy of ``X``; mini-batches are drawn from these 20,000.

    Notes
    -----
    A clusterer with ``predict`` labels all objects by it, so that new objects are
    treated alike. That a run did not converge is not shown: it is a base clustering
    like any other.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import generate
    >>> generate(load_iris().data, 10, base_k=(3, 12), random_state=0)
    Ensemble(n_objects=150, n_clusterings=10, n_base_clusters=71)

    Clusterers of several kinds, each on 80 % of the objects:

    >>> from sklearn.cluster import AgglomerativeClustering, KMeans
    >>> base = [KMeans(), AgglomerativeClustering()]
    >>> X = load_iris().data
    >>> runs = generate(X, 4, base=base, base_k=3, max_samples=0.8, random_state=0)
    >>> (runs.labels == -1).sum(axis=0).tolist()
    [0, 30, 0, 30]

    Clusterings made elsewhere join by ``Ensemble.from_clusterings``:

    >>> from ensclust import Ensemble
    >>> leiden = load_iris().target
    >>> Ensemble.from_clusterings([*runs.labels.T, leiden])
    Ensemble(n_objects=150, n_clusterings=5, n_base_clusters=15)
    """
    generator = EnsembleGenerator(
        n_clusterings,
        base_k=base_k,
        base=base,
        max_samples=max_samples,
        max_features=max_features,
        projection=projection,
        noise=noise,
        init=init,
        max_iter=max_iter,
        algorithm=algorithm,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if out is not None:
        from ensclust._stream import label_streams  # noqa: PLC0415  a layer above

        return label_streams.write_generated(generator, X, out)
    generator.fit(X)
    return generator.stream_ if is_stream(X) else generator.ensemble_


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
        from ensclust._generate import block_generation  # noqa: PLC0415  a layer above

        if is_stream(X):
            return block_generation.fit(self, X)
        X = validate_features(self, X)
        check_noise(self.noise)
        n_clusterings = check_n_clusterings(self.n_clusterings, X.shape[0])
        diversity = self._diversity(*X.shape)
        if X.shape[0] >= block_generation.MANY and self._is_joint(X, diversity):
            return block_generation.fit_array(self, X)
        rng = check_random_state(self.random_state)
        n_rows = diversity.n_rows or X.shape[0]
        base_k = draw_base_k(self.base_k, n_rows, n_clusterings, rng)
        seeds = rng.randint(np.iinfo(np.int32).max, size=n_clusterings)
        prototypes = self._prototypes(n_clusterings, diversity)
        if any(isinstance(prototype, KMeans) for prototype in prototypes):
            self.mean_, self.unit_, X32 = scaled(X)
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
                for p, k, s in zip(prototypes, base_k, seeds, strict=True)
            )
            fitted = []
            for run in runs:
                fitted.append(run)
                tell(len(fitted), n_clusterings)
        self.models_, self.views_, labels, n_iter = map(list, zip(*fitted, strict=True))
        self.n_iter_ = max(n_iter)
        self.ensemble_ = Ensemble.from_clusterings(labels, noise=self.noise)
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
        if not hasattr(self, "ensemble_"):
            msg = (
                "this generator was fitted to a stream, whose base clusters nobody has "
                "counted. Use label(X), which gives labels as the base clusterers do."
            )
            raise TypeError(msg)
        X = validate_features(self, X, reset=False)
        return self.ensemble_.recode(np.column_stack(self.label(X)))

    def label(self, X) -> list[np.ndarray]:
        """Return the labels that the base clusterers give to new objects."""
        for model in self.models_:
            if not hasattr(model, "predict"):
                msg = (
                    f"{type(model).__name__} cannot label new objects (it has no "
                    'predict). Use base="kmeans" or a clusterer with predict, or label '
                    'the objects yourself and use base="precomputed".'
                )
                raise TypeError(msg)
        is_scaled = hasattr(self, "mean_")
        X32 = scaled(X, self.mean_, self.unit_)[-1] if is_scaled else None
        return [
            model.predict(X32 if isinstance(model, KMeans) else view.of(X))
            for model, view in zip(self.models_, self.views_, strict=True)
        ]

    def _diversity(self, n_samples: int, n_features: int) -> Diversity:
        rows = check_share(self.max_samples, "max_samples", n_samples, "objects")
        columns = check_share(self.max_features, "max_features", n_features, "features")
        directions = self.projection
        if directions is not None:
            directions = check_integer(directions, "projection")
        return Diversity(rows, columns, directions)

    def _is_joint(self, X, diversity: Diversity) -> bool:
        """Whether all clusterings are k-means of all rows, which are made together."""
        is_kmeans = isinstance(self.base, str) and self.base == "kmeans"
        return is_kmeans and diversity.n_rows is None and not sparse.issparse(X)

    def _prototypes(self, n_clusterings: int, diversity: Diversity) -> list:
        """Return the clusterer of each base clustering; warn where runs are equal."""
        base = self.base if isinstance(self.base, list | tuple) else [self.base]
        if not base:
            msg = "base=[] is empty. Give at least one clusterer."
            raise ValueError(msg)
        base = [self._prototype(one) for one in base]
        counts = Counter(m % len(base) for m in range(n_clusterings))
        for m, clusterer in enumerate(base):
            if counts[m] > 1 and diversity.is_none() and not varies(clusterer):
                name = type(clusterer).__name__
                warnings.warn(
                    f"{counts[m]} base clusterings are equal: {clusterer!r} has "
                    f"neither n_clusters nor random_state. Give a list of {name} with "
                    "other settings and n_clusterings=len(list), or max_samples=0.8.",
                    stacklevel=3,
                )
        return [base[m % len(base)] for m in range(n_clusterings)]

    def _prototype(self, base: Any):
        if isinstance(base, str) and base == "kmeans":
            check_choice(self.algorithm, "algorithm", ("lloyd", "minibatch"))
            if isinstance(self.init, str):
                check_choice(self.init, "init", ("k-means++", "random"))
            max_iter = check_integer(self.max_iter, "max_iter")
            return KMeans(self.init, max_iter, self.algorithm)
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

    @property
    def _n_features_out(self) -> int:
        return self.ensemble_.n_clusterings

    def get_feature_names_out(self, input_features=None):
        """Return the names of the output columns, one per base clustering."""
        check_is_fitted(self, "models_")
        return np.array(
            [f"clustering{m}" for m in range(self._n_features_out)], dtype=object
        )


def validate_features(estimator: BaseEstimator, X, *, reset: bool = True):
    """Return ``X`` as a float array or CSR matrix that fits the estimator."""
    if isinstance(X, str | os.PathLike | Ensemble):
        what = f"the path {os.fspath(X)!r}" if not isinstance(X, Ensemble) else repr(X)
        msg = (
            f"X is {what}; expected numbers. Read features with ensclust.io."
            'read_features(path).values, or say base="precomputed" for labels.'
        )
        raise TypeError(msg)
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    try:
        with np.errstate(invalid="ignore"):  # of sums of what is too large
            return check_magnitude(validate_data(estimator, X, **options, reset=reset))
    except ValueError as error:
        if "X" in str(error):
            raise
        msg = f"X is no table of numbers: {error}"
        raise ValueError(msg) from error
