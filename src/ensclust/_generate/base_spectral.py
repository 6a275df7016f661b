"""Spectral base clusterings by a small graph of representatives.

Each run has its own representatives, the centres of a rough k-means of some objects.
Objects are connected to the nearest of them by a Gaussian of the distance, and the
transfer cut of this graph (U-SPEC; Huang, Wang, Wu, Lai and Kwoh 2020) gives each
representative a point in the space of k eigenvectors. The point of an object is the
mean of those of its nearest representatives, scaled to unit length; k-means clusters
these points. The graph and the centres come from the same sample that k-means uses, at
most 20,000 objects or 50 per cluster. Labelling all objects takes one pass, and an
object's label depends on its own features only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from ensclust import _kernels
from ensclust._cuts import kmeans
from ensclust._cuts.bipartite import normalise
from ensclust._cuts.kmeans import Rows
from ensclust._cuts.spectrum import Spectrum
from ensclust._ensemble.contents import check_array
from ensclust._generate.clusterers import View
from ensclust._generate.objects import InBlocks, InMemory
from ensclust._support import memory, parallel
from ensclust._support.features import Frame

REPRESENTATIVES = 400  # per run, unless there are few objects or many clusters
_PER_REPRESENTATIVE = 10  # objects that each is a centre of
_ROUNDS = 3  # iterations of k-means that find them
_MAX_ITER = 10  # of k-means of the points
_LEAST = 1e-12  # minimum affinity, for objects far from all representatives
_HEIGHT = 8192  # rows processed at a time


@dataclass(eq=False)
class Spectral:
    """A fitted spectral run.

    Attributes
    ----------
    representatives : ndarray of shape (p, n_features)
        Vectors of all features, in the generator's frame, so that new objects need no
        view.
    half_norms : ndarray of shape (p,)
        Half their squared norms in the view.
    precision : float
        Inverse of the squared width of the Gaussian.
    table : ndarray of shape (p, d + k)
        Points of representatives, and the products of these with the centres.
    half_centres : ndarray of shape (k,)
        Half the squared norms of the centres.
    n_iter_ : int
        Iterations of k-means of the points.
    """

    representatives: np.ndarray
    half_norms: np.ndarray
    precision: float
    table: np.ndarray
    half_centres: np.ndarray
    n_iter_: int

    @property
    def nbytes(self) -> int:
        """Bytes of the representatives and the table."""
        return self.representatives.nbytes + self.table.nbytes

    def predict(self, X: Any) -> np.ndarray:
        """Return the labels of rows of features in the frame."""
        return label([self], X)[0]

    def check(self, n_features: int) -> None:
        """Raise ValueError if the arrays, read from a file, do not fit together."""
        p, k = max(1, len(self.half_norms)), max(1, len(self.half_centres))
        width = k + -(-min(k, p) // 8) * 8
        check_array("half_norms", self.half_norms, (p,), kinds="f")
        check_array("half_centres", self.half_centres, (k,), kinds="f")
        shape = (p, n_features)
        check_array("representatives", self.representatives, shape, kinds="f")
        check_array("table", self.table, (p, width), kinds="f")
        precision = np.array(self.precision)
        check_array("precision", precision, (), kinds="f", low=0, stop=np.inf)


Model = Spectral


def label(models: list[Spectral], X: Any, n_jobs: int | None = None) -> np.ndarray:
    """Return the labels of rows of features, in the frame, by each model: (M, n)."""
    narrow = np.min_scalar_type(max(len(model.half_centres) for model in models))
    labels = np.empty((len(models), X.shape[0]), narrow)
    rows = Rows.of(X)
    known = [_packed(rows, one.representatives, one.half_norms) for one in models]

    def work(m: int, a: int, b: int) -> None:
        near, score = _nearest(rows, known[m], a, b)
        _kernels.spectral.share_out(score, models[m].precision)
        shared = (near, score, models[m].table, models[m].half_centres)
        _kernels.spectral.label(*shared, labels[m, a:b])

    spans = parallel.strips(X.shape[0], _HEIGHT)
    tasks = [(m, a, b) for m in range(len(models)) for a, b in spans]
    parallel.run(work, tasks, n_jobs=n_jobs)
    return labels


def fit(
    objects: InMemory | InBlocks,
    sample: Any,
    ks: list[int],
    seeds: list[int],
    views: list[View],
    *,
    frame: Frame,
    n_jobs: int | None,
) -> list[Spectral]:
    """Return the models of runs, fitted to a sample of the objects.

    Parameters are those of :func:`ensclust._generate.base_kmeans.fit`. Time of a run
    p^3 for the eigenvectors, and n (p d + k^2) for n objects of the sample; memory
    4 n k + 24 p^2 bytes in each thread.
    """
    placed = frame.place(sample)
    n, d = placed.shape
    most, p = max(ks), n_representatives(objects.n_objects, n, max(ks))
    needed = 4 * n * most + 24 * p**2 + len(ks) * p * d * placed.dtype.itemsize
    what = f"spectral clusterings with {most:,} clusters of {d:,} features"
    memory.require(needed, what, "Lower base_k or n_clusterings, or use projection=50.")

    def fit_run(k: int, seed: int, view: View) -> Spectral:
        p = n_representatives(objects.n_objects, n, k)
        with parallel.alone():
            model = _fit_run(view.of(placed), k, p, seed)
        return replace(model, representatives=view.back(model.representatives, d))

    tasks = list(zip(ks, seeds, views, strict=True))
    with parallel.one_blas_thread():
        return parallel.run(fit_run, tasks, n_jobs=n_jobs, phase="spectral clusterings")


def n_representatives(n_objects: int, n_sample: int, k: int) -> int:
    """Return the number of representatives, at most that of the sample."""
    return min(max(min(REPRESENTATIVES, n_objects // 2), k + 1), n_sample)


def _fit_run(X: Any, k: int, p: int, seed: int) -> Spectral:
    """Return the model of one run that sees ``X``."""
    rng = np.random.default_rng([seed, 2])  # not the streams of views and of k-means
    representatives = _representatives(X, p, rng)
    rows = Rows.of(X)
    half_norms = kmeans.half_norms(representatives)
    near, share = _nearest(rows, _packed(rows, representatives, half_norms))
    square = np.maximum(rows.norms(np.float64)[:, None] - 2 * share, 0)
    width = np.sqrt(square).mean()
    precision = 1 / width**2 if width > 0 else 0.0
    _kernels.spectral.share_out(share, precision)
    affinity = np.exp(-precision / 2 * square).sum(axis=1)
    table = _cut(near, share, np.maximum(affinity, _LEAST), len(half_norms), k)
    points = np.empty((len(near), table.shape[1]), np.float32)
    _kernels.spectral.embed(near, share, table, points)
    (centres,), (n_iter,) = kmeans.converge(
        Rows.of(points),
        [k],
        [int(rng.integers(2**31))],
        init="classic-k-means++",
        max_iter=_MAX_ITER,
    )
    table = np.column_stack([table, table @ centres.T])
    half = kmeans.half_norms(centres).astype(np.float32)
    return Spectral(representatives, half_norms, precision, table, half, n_iter)


def _representatives(X: Any, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return the distinct centres of a rough k-means of some rows."""
    n = X.shape[0]
    size = min(n, _PER_REPRESENTATIVE * p)
    some = X if size == n else X[np.sort(rng.choice(n, size, replace=False))]
    seed = int(rng.integers(2**31))
    (found,), _ = kmeans.converge(
        Rows.of(some), [p], [seed], init="random", max_iter=_ROUNDS
    )
    _, first = np.unique(found, axis=0, return_index=True)
    return found[np.sort(first)]


def _packed(rows: Rows, representatives: np.ndarray, half_norms: np.ndarray) -> tuple:
    """Return representatives in the form that kernels take."""
    W, half, _ = rows.packed([representatives], [half_norms])
    return W, half, half_norms


def _nearest(
    rows: Rows, known: tuple, a: int = 0, b: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest representatives of rows a..b-1, and their scores."""
    b = rows.shape[0] if b is None else b
    q = min(_kernels.spectral.MOST, len(known[2]))
    near, score = np.empty((b - a, q), np.int32), np.empty((b - a, q))
    _kernels.spectral.find_nearest(*rows.arrays, *known, near, score, a, b)
    return near, score


def _cut(
    near: np.ndarray, share: np.ndarray, affinity: np.ndarray, p: int, k: int
) -> np.ndarray:
    """Return the points of p representatives by the transfer cut, (p, d) float32.

    ``share`` of ``affinity`` connects each object to those ``near``. There are min(k,
    p) coordinates, padded with zeros to a multiple of eight.
    """
    n, q = near.shape
    ends = np.arange(0, n * q + 1, q)
    edges = (share * np.sqrt(affinity)[:, None]).ravel()
    B = sparse.csr_array((edges, near.ravel(), ends), shape=(n, p))
    W = (B.T @ B).toarray()
    root = normalise(W)
    _, vectors = Spectrum(W).leading(min(k, p))  # their signs do not matter to k-means
    table = np.zeros((p, -(-vectors.shape[1] // 8) * 8), np.float32)
    table[:, : vectors.shape[1]] = root[:, None] * vectors[:, ::-1]
    return table
