"""Scikit-learn clusterers as base clusterers, and the features that each one sees."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from threadpoolctl import ThreadpoolController

from ensclust._support import parallel
from ensclust._support.quiet import ignoring
from ensclust._support.validation import no_sparse


@dataclass
class View:
    """The features that one base clustering sees.

    Attributes
    ----------
    columns : ndarray or None
        The features that it sees; None means all.
    matrix : ndarray of shape (n_columns, n_directions) or None
        Random directions that these are projected on; None for no projection.
    """

    columns: np.ndarray | None = None
    matrix: np.ndarray | None = None

    @property
    def is_whole(self) -> bool:
        """Whether it sees all features as they are."""
        return self.columns is None and self.matrix is None

    def of(self, X):
        """Return what the clustering sees of ``X``."""
        X = X if self.columns is None else X[:, self.columns]
        return X if self.matrix is None else X @ self.matrix.astype(X.dtype)

    def back(self, centres: np.ndarray, n_features: int) -> np.ndarray:
        """Return vectors whose products with full rows equal those of ``centres``."""
        if self.matrix is not None:
            centres = centres @ self.matrix.T.astype(centres.dtype)
        if self.columns is None:
            return centres
        whole = np.zeros((len(centres), n_features), centres.dtype)
        whole[:, self.columns] = centres
        return whole


@dataclass(frozen=True)
class Diversity:
    """How many objects and features each base clustering uses; None means all."""

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


class BaseRun(NamedTuple):
    """One base clustering to be made: clusterer, k and seed."""

    clusterer: Any
    k: int
    seed: int


def fit_all(
    runs: list[BaseRun], diversity: Diversity, X: Any, n_jobs: int | None
) -> list[tuple[Any, View, np.ndarray, int]]:
    """Make base clusterings of ``X`` in threads; see :func:`fit_one`."""
    if not runs:
        return []
    # BLAS limits and warning filters are global: set once around all runs. OpenMP
    # limits belong to a thread: set in each, for libraries looked up here, because
    # looking them up during an import may deadlock.
    pools = parallel.openmp()
    with parallel.one_blas_thread(), ignoring(ConvergenceWarning):
        return parallel.run(
            fit_one,
            [(run, diversity, X, pools) for run in runs],
            n_jobs=runs_at_a_time([run.clusterer for run in runs], n_jobs),
            phase="base clusterers",
        )


def fit_one(run: BaseRun, diversity: Diversity, X, pools: ThreadpoolController):
    """Make one base clustering of ``X``, with one OpenMP thread.

    Returns
    -------
    model : clusterer
        The fitted clusterer, to label new objects. One without predict is returned
        unfitted, because its attributes may hold ``X`` or an N x N matrix.
    view : View
        What it sees.
    labels : ndarray of shape (N,)
        From predict if the clusterer has it, so that training objects and new ones are
        treated alike; otherwise from fit_predict, with NaN for objects not drawn.
    n_iter : int
        Number of iterations.
    """
    rows, view = diversity.draw(X.shape, run.seed)
    seen = view.of(X if rows is None else X[rows])
    with pools.limit(limits=1):
        model = configured(run.clusterer, run.k, run.seed)
        try:
            labels = _labels(model, seen, rows, X, view)
        except TypeError as error:
            if sparse.issparse(seen):
                raise no_sparse(run.clusterer, seen, error) from error
            raise
    has_predict = hasattr(model, "predict")
    return model if has_predict else clone(model), view, labels, _n_iter(model)


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

    A clusterer whose number of clusters is None chooses it itself.
    """
    model = clone(prototype)
    if name := _count_name(model):
        _final(model).set_params(**{name: k})
    seeded = [p for p in model.get_params() if p.split("__")[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(seeded, seed))


def runs_at_a_time(prototypes: list, n_jobs: int | None) -> int:
    """Return the number of threads: one if a clusterer has an ``n_jobs`` parameter.

    Two threads that start scikit-learn threads lose each other's warning filters.
    """
    names = [
        name.split("__")[-1]
        for prototype in prototypes
        for name in prototype.get_params()
    ]
    return 1 if "n_jobs" in names else parallel.thread_count(n_jobs)


def varies(prototype) -> bool:
    """Return whether two runs on the same objects may differ."""
    names = [p.split("__")[-1] for p in prototype.get_params()]
    return "random_state" in names or _count_name(prototype) is not None


def _final(model):
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _count_name(model) -> str | None:
    """Return the parameter for the number of clusters, None if it is not set."""
    known = _final(model).get_params(deep=False)
    # SpectralClustering has both; there n_components is the dimension of its space.
    name = "n_clusters" if "n_clusters" in known else "n_components"
    return name if known.get(name) is not None else None


def _n_iter(model) -> int:
    count = getattr(_final(model), "n_iter_", 1)
    return int(count) if isinstance(count, numbers.Integral) else 1
