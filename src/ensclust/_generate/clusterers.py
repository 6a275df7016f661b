"""One base clustering: a clusterer, the objects it is fitted to, what it sees."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ensclust import _kernels
from ensclust._support import parallel
from ensclust._support.validation import no_sparse

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_ROWS = 8192  # rows centred at a time


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
        if self.columns is not None:
            X = X[:, self.columns]
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

    n_rows: int | None
    n_columns: int | None
    n_directions: int | None

    def is_none(self) -> bool:
        """Whether every clustering is made from all objects and features."""
        return self.n_rows is self.n_columns is self.n_directions is None

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
            scale = 1 / np.sqrt(self.n_directions)
            matrix = scale * rng.standard_normal((d, self.n_directions))
        return rows, View(columns, matrix)


class KMeans:
    """scikit-learn's k-means on scaled float32, with row-by-row assignment.

    The centres are scikit-learn's; the labels come from our own kernel, because a
    label must not depend on which other rows are in the batch. Centres are kept as
    vectors of all features, so that new objects need no view.
    """

    def __init__(self, init: str, max_iter: int, algorithm: str = "lloyd"):
        self.init = init
        self.max_iter = max_iter
        self.algorithm = algorithm

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
        self.place(model.fit(X).cluster_centers_, view, n_features)
        self.n_iter_ = model.n_iter_
        return self

    def place(self, centres: np.ndarray, view: View, n_features: int) -> None:
        """Take centres, as the view shows them."""
        norms = (centres.astype(np.float64) ** 2).sum(axis=1)
        self.half_norms = (norms / 2).astype(np.float32)
        self.centres = view.back(centres, n_features)

    def predict(self, X) -> np.ndarray:
        """Return the nearest centre of each row, of all features."""
        columns = np.ascontiguousarray(self.centres.T)
        n = X.shape[0]
        labels = np.empty(n, np.int32)
        kernels = _kernels.assignment
        shared = (columns, self.half_norms, labels, 0, n)
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
            model = KMeans(prototype.init, prototype.max_iter, prototype.algorithm)
            model.fit(seen, k, seed, view, X.shape[1])
            labels = model.predict(X).astype(np.min_scalar_type(k))
            return model, view, labels, model.n_iter_
        model = configured(prototype, k, seed)
        try:
            labels = _labels(model, seen, rows, X, view)
        except TypeError as error:
            if sparse.issparse(seen):
                raise no_sparse(prototype, seen, error) from error
            raise
    n_iter = _n_iter(model)
    return model if hasattr(model, "predict") else clone(model), view, labels, n_iter


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
    final = _final(model)
    known = final.get_params(deep=False)
    name = _count_name(known)
    if name is not None and known[name] is not None:
        final.set_params(**{name: k})
    seeded = [p for p in model.get_params() if p.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeded, seed))


def runs_at_a_time(prototypes: list, n_jobs: int | None) -> int:
    """Return the number of threads: one if a clusterer has an ``n_jobs`` of its own.

    Two threads that start threads of scikit-learn lose each other's warning filters.
    """
    own = [p for p in prototypes if not isinstance(p, KMeans)]
    names = [name.split("__")[-1] for p in own for name in p.get_params()]
    return 1 if "n_jobs" in names else parallel.thread_count(n_jobs)


def varies(prototype) -> bool:
    """Whether two runs on the same objects may differ."""
    if isinstance(prototype, KMeans):
        return True
    final = _final(prototype).get_params(deep=False)
    name = _count_name(final)
    names = [p.split("__")[-1] for p in prototype.get_params()]
    return "random_state" in names or (name is not None and final[name] is not None)


def _final(model):
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _count_name(parameters: dict) -> str | None:
    """Return the parameter that is the number of clusters."""
    # SpectralClustering has both; there n_components is the dimension of its space.
    names = ("n_clusters", "n_components")
    return next((name for name in names if name in parameters), None)


def _n_iter(model) -> int:
    count = getattr(_final(model), "n_iter_", 1)
    return int(count) if isinstance(count, numbers.Integral) else 1


def scaled(X, mean: np.ndarray | None = None, unit: float | None = None):
    """Return the mean of the rows, a unit and ``(X - mean) / unit`` in float32.

    Centred in float64, block by block. The unit is a power of two, which costs no
    digits, near the largest deviation, so that no number is too large for float32.
    To stay sparse, sparse rows are not centred, unless others were before.
    """
    if sparse.issparse(X) and (mean is None or not mean.any()):
        if unit is None:
            unit = 2.0 ** np.frexp(np.abs(X.data).max(initial=0.0))[1]
        return np.zeros(X.shape[1]), unit, (X / unit).astype(np.float32)
    blocks = [slice(i, i + _ROWS) for i in range(0, X.shape[0], _ROWS)]
    if mean is None or unit is None:
        mean = X.mean(axis=0, dtype=np.float64)
        largest = max(np.abs(X[rows] - mean).max() for rows in blocks)
        unit = 2.0 ** np.frexp(largest)[1]
    small = np.empty(X.shape, np.float32)
    for rows in blocks:
        block = X[rows].toarray() if sparse.issparse(X) else X[rows]
        small[rows] = (block.astype(np.float64) - mean) / unit
    return mean, unit, small
