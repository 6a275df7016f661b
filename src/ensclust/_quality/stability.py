"""stability(): whether clusters reappear when part of the objects is clustered."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ensclust._ensemble.agreement import agreement_of, contingency, spans
from ensclust._ensemble.alignment import align
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support import notebook, parallel
from ensclust._support.kinds import is_stream
from ensclust._support.plain import shortened
from ensclust._support.quiet import kept_filters
from ensclust._support.validation import (
    check_choice,
    check_integer,
    check_random_state,
    check_share,
    explaining,
    import_optional,
    naming_index,
)

_SHARES = {"subsample": 0.8, "bootstrap": 1.0}  # of the objects, by default


@dataclass(frozen=True, eq=False, repr=False)
class ClusterStability:
    """What :func:`ensclust.stability` returns: a clustering and its replicates.

    Attributes
    ----------
    estimator : str
        The clusterer.
    labels : ndarray of shape (N,)
        Its clustering of all objects, 0, 1, ...; -1 for none.
    replicates : ndarray of shape (N, n)
        Its clusterings of drawn objects, with clusters named after those of ``labels``,
        see :func:`ensclust.align`; -1 for objects that are not drawn, or not clustered.
    drawn : ndarray of shape (N, n), bool
        Which objects each replicate was made of.
    """

    estimator: str
    labels: np.ndarray
    replicates: np.ndarray
    drawn: np.ndarray

    @cached_property
    def objects(self) -> np.ndarray:
        """Share of the replicates with an object that keep it in its cluster, (N,).

        NaN for an object that is in no cluster, or never drawn.
        """
        again = (self.replicates == self.labels[:, None]).sum(axis=1)
        n_drawn = np.where(self.labels < 0, 0, self.drawn.sum(axis=1))
        return _ratio(again, n_drawn)

    @cached_property
    def jaccard(self) -> np.ndarray:
        """Jaccard coefficient of each cluster with the most similar one, (n, k).

        On the objects drawn; NaN if none of the cluster was drawn.
        """
        found = np.empty((self.replicates.shape[1], self.sizes.size))
        for m, (first, last) in enumerate(spans(self._ensemble)):
            shared = self._shared[:, first:last]
            own = self.labels[self.drawn[:, m] & (self.labels >= 0)]
            n_own = np.bincount(own, minlength=self.sizes.size)
            both = n_own[:, None] + self._ensemble.sizes[first:last] - shared
            best = (shared / np.maximum(both, 1)).max(axis=1, initial=0)
            found[m] = np.where(n_own > 0, best, np.nan)
        return found

    @cached_property
    def clusters(self) -> np.ndarray:
        """Mean of ``jaccard`` over the replicates, (k,); 1 if always found again."""
        known = np.isfinite(self.jaccard)
        return _ratio(np.where(known, self.jaccard, 0).sum(axis=0), known.sum(axis=0))

    @cached_property
    def ari(self) -> np.ndarray:
        """Adjusted Rand index of each replicate with ``labels``, (n,).

        On the objects that are in a cluster of both; NaN if there are none.
        """
        return agreement_of(self._ensemble, self._shared).ari

    @cached_property
    def sizes(self) -> np.ndarray:
        """Objects per cluster, (k,)."""
        return np.bincount(self.labels[self.labels >= 0])

    @cached_property
    def _ensemble(self) -> Ensemble:
        return Ensemble.from_clusterings(list(self.replicates.T))

    @cached_property
    def _shared(self) -> np.ndarray:
        """Objects that each cluster shares with each one of the replicates, (k, Nc)."""
        return contingency(self._ensemble, self.labels)

    def without(self, replicates: Any) -> ClusterStability:
        """Return the same without some replicates: a number, or a list of numbers."""
        n = self.replicates.shape[1]
        kept = np.ones(n, bool)
        with naming_index("replicates", replicates, n):
            kept[np.asarray(replicates)] = False
        if not kept.any():
            msg = f"replicates={replicates!r} leaves none of {n}. Leave out fewer."
            raise ValueError(msg)
        return replace(
            self, replicates=self.replicates[:, kept], drawn=self.drawn[:, kept]
        )

    def to_pandas(self) -> Any:
        """Return size and stability of each cluster as a pandas DataFrame."""
        pandas = import_optional("pandas", "ClusterStability.to_pandas", "pandas")
        columns = {"size": self.sizes, "jaccard": self.clusters, "objects": self._mean}
        return pandas.DataFrame(columns).rename_axis("cluster")

    @property
    def _mean(self) -> np.ndarray:
        """Mean of ``objects`` in each cluster, (k,)."""
        known = np.isfinite(self.objects)
        own = self.labels[known]
        total = np.bincount(own, self.objects[known], minlength=self.sizes.size)
        return _ratio(total, np.bincount(own, minlength=self.sizes.size))

    def __repr__(self) -> str:
        (n_objects, n), k = self.replicates.shape, self.sizes.size
        lines = [
            f"Stability of {shortened(self.estimator)}",
            f"  {n:,} replicates of {n_objects:,} objects in {k} clusters",
            f"{'cluster':>9}{'objects':>9}{'Jaccard':>9}",
            *(
                f"{j:9}{self.sizes[j]:9,}{self.clusters[j]:9.3f}"
                for j in range(min(k, notebook.SHOWN))
            ),
        ]
        if k > notebook.SHOWN:
            lines.append(f"  and {k - notebook.SHOWN:,} more")
        if np.isfinite(self.ari).any():
            low, high = np.nanmin(self.ari), np.nanmax(self.ari)
            mean = f"{np.nanmean(self.ari):.3f}"
            lines.append(f"  ARI of a replicate: mean {mean}, {low:.3f} to {high:.3f}")
        return "\n".join(lines)


def stability(
    estimator: Any,
    X: Any,
    n: int = 50,
    *,
    resampling: str = "subsample",
    max_samples: float | None = None,
    random_state=None,
    n_jobs: int | None = None,
) -> ClusterStability:
    """Cluster parts of the objects repeatedly, and see which clusters reappear.

    For a single clusterer, without a consensus.

    Parameters
    ----------
    estimator : scikit-learn clusterer
        Anything with ``fit_predict``, including a Pipeline that ends in a clusterer, or
        an estimator of this package. It is copied, not changed.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        The objects.
    n : int, default=50
        Number of replicates.
    resampling : "subsample" or "bootstrap", default="subsample"
        Whether objects are drawn without or with replacement.
    max_samples : float, int or None, default=None
        Share or number of the objects that are drawn for each replicate; None means
        0.8, or 1.0 for a bootstrap. With 1.0 and without replacement, only seeds
        differ.
    random_state : int, RandomState instance or None
        Determines the draws, and the ``random_state`` of the estimator in every
        replicate. On all objects, the estimator keeps its own, if it has one.
    n_jobs : int or None
        Number of replicates computed at a time, in threads; None means one per core.
        An estimator with an ``n_jobs`` parameter is run one at a time. Does not change
        the result.

    Returns
    -------
    ClusterStability
        Per object ``objects``, per cluster ``clusters``, per replicate ``ari`` and
        ``jaccard``; ``without(i)`` takes replicates out.

    Notes
    -----
    Replicates are compared with the clustering of all objects, on the objects drawn.
    The stability of a cluster is Hennig's: the mean, over the replicates, of its
    Jaccard coefficient with the most similar cluster; he calls clusters above 0.75
    stable, and those below 0.5 dissolved. A stable cluster need not be a true one: what
    a clusterer imposes on any data reappears too. Time is that of n + 1 runs, memory
    5 n bytes per object.

    References
    ----------
    C. Hennig. Cluster-wise assessment of cluster stability. Computational Statistics
    and Data Analysis 52, 2007. doi:10.1016/j.csda.2006.11.025

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import stability
    >>> found = stability(KMeans(3, n_init=10), load_iris().data, n=20, random_state=0)
    >>> found.objects.shape, found.jaccard.shape, found.ari.shape
    ((150,), (20, 3), (20,))
    >>> bool(found.clusters.min() > 0.75)
    True
    """
    _check_clusterer(estimator, X)
    check_choice(resampling, "resampling", tuple(_SHARES))
    n, n_objects = check_integer(n, "n"), _num_samples(X)
    share = _SHARES[resampling] if max_samples is None else max_samples
    n_drawn = check_share(share, "max_samples", n_objects, "objects") or n_objects
    rng = check_random_state(random_state)
    first, *seeds = rng.randint(2**31 - 1, size=n + 1).tolist()
    again = resampling == "bootstrap"
    tasks = [(_seeded(estimator, first, is_open=True), np.arange(n_objects))]
    for seed in seeds:
        draw = np.random.default_rng(seed)
        rows = np.sort(draw.choice(n_objects, n_drawn, replace=again))
        tasks.append((_seeded(estimator, seed), rows))
    whole, *parts = _run(tasks, X, n_objects, n_jobs)
    labels = Ensemble.from_clusterings([whole]).labels[:, 0]
    drawn = np.zeros((n_objects, n), bool)
    replicates = np.empty((n_objects, n), np.int32)
    for m, ((_, rows), found) in enumerate(zip(tasks[1:], parts, strict=True)):
        drawn[rows, m] = True
        replicates[:, m] = align(found, labels)
    name = " ".join(repr(estimator).split())
    return ClusterStability(name, labels, replicates, drawn)


def _check_clusterer(estimator: Any, X: Any) -> None:
    if isinstance(estimator, type):
        msg = f"estimator is the class {estimator.__name__}. Pass an instance."
        raise TypeError(msg)
    if not hasattr(estimator, "fit_predict") or not hasattr(estimator, "get_params"):
        msg = (
            f"estimator={estimator!r} is not a clusterer. Pass one of scikit-learn's, "
            "such as KMeans(3), with fit_predict."
        )
        raise TypeError(msg)
    if is_stream(X) or not (hasattr(X, "shape") or isinstance(X, list | tuple)):
        msg = (
            f"X is of type {type(X).__name__}; expected features in memory: an array, "
            "a DataFrame or a sparse matrix."
        )
        raise TypeError(msg)


def _seeded(estimator: Any, seed: int, *, is_open: bool = False) -> Any:
    """Return a copy with its own seed; with ``is_open``, only if it has none."""
    model = clone(estimator)
    known = model.get_params()
    names = [name for name in known if name.split("__")[-1] == "random_state"]
    open_names = [name for name in names if known[name] is None]
    return model.set_params(**dict.fromkeys(open_names if is_open else names, seed))


def _run(tasks: list[tuple], X: Any, n_objects: int, n_jobs: int | None) -> list:
    """Return the labels of all objects by each model, -1 for those it did not see."""
    names = [name.split("__")[-1] for name in tasks[0][0].get_params()]
    threads = 1 if "n_jobs" in names else parallel.thread_count(n_jobs)
    pools = parallel.openmp()

    def fit(model: Any, rows: np.ndarray) -> np.ndarray:
        labels = np.full(n_objects, -1, np.int64)
        seen = _safe_indexing(X, rows)
        failure = f"estimator failed on {len(rows)} of {n_objects} objects"
        with pools.limit(limits=1), explaining(failure, ValueError):
            labels[rows] = model.fit_predict(seen)
        return labels

    with parallel.one_blas_thread(), kept_filters():
        return parallel.run(fit, tasks, n_jobs=threads, phase="")


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Divide; NaN if nothing was counted."""
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)
