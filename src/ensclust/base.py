"""BaseConsensus: the only fit(), the same for every method."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, validate_data

from ensclust._validation import check_n_clusters, check_weights
from ensclust.agreement import agreement_weights
from ensclust.certainty import Certainty
from ensclust.coassociation import CoAssociation
from ensclust.cohesion import memberships
from ensclust.ensemble import Ensemble
from ensclust.generation import EnsembleGenerator, default_base_k

# One wording for the parameters that every method shares; see document().
SHARED_PARAMETERS = {
    "n_clusters": """n_clusters : int, default=8
        Number of consensus clusters, at most n_samples. Where the method cannot form
        so many, it warns and returns fewer.""",
    "n_clusterings": """n_clusterings : int, default=20
        Number of base clusterings to generate; ignored with precomputed labels.""",
    "base_k": """base_k : int, (lo, hi), list of ints or None, default=None
        Clusters per base clustering, see :func:`ensclust.generate`. None draws each
        from n_clusters to ``floor(min(sqrt(n_samples), 100))``, as the paper does.""",
    "weights": """weights : array-like of shape (M,), "agreement" or None, default=None
        How much each base clustering counts: at least 0, where 0 leaves it out. Only
        ratios matter. "agreement" derives them, see
        :func:`ensclust.agreement_weights`; None is all alike.""",
    "base": """base : "kmeans", "precomputed", clusterer or list of them
        What makes the base clusterings from X; with "precomputed", X is the label
        matrix (n_samples, n_clusterings) itself.""",
    "random_state": """random_state : int, RandomState instance or None, default=None
        Decides the result. The same value gives the same labels for any n_jobs.""",
    "n_jobs": """n_jobs : int or None, default=None
        Number of threads; None is one per core. Never changes the result.""",
    "max_memory": """max_memory : int, default=2**31
        Bytes that a similarity matrix may take. Above it, average linkage works in
        label space without a matrix.""",
    "linkage": """linkage : "average", "single" or "complete", default="average"
        Similarity of two groups: mean, largest or smallest of their pairs.""",
    "labels_": """labels_ : ndarray of shape (n_samples,)
        Consensus clusters 0, 1, ... by first appearance; -1 for an object that no
        base clustering contains.""",
    "ensemble_": """ensemble_ : Ensemble
        The base clusterings.""",
    "weights_": """weights_ : ndarray of shape (M,) or None
        The weights that were used. What is said of base clusters and objects leaves
        out the clusterings of weight 0.""",
    "n_clusters_": """n_clusters_ : int
        Number of consensus clusters found.""",
    "n_features_in_": """n_features_in_ : int
        Number of columns of X.""",
}


@dataclass(frozen=True)
class MethodInfo:
    """What the tables of methods show."""

    title: str
    doi: str
    level: str
    time: str
    memory: str


def document(cls):
    """Fill ``$name`` in a docstring with the shared wording of that parameter."""
    for name in sorted(SHARED_PARAMETERS, key=len, reverse=True):
        cls.__doc__ = cls.__doc__.replace(f"${name}\n", SHARED_PARAMETERS[name] + "\n")
    return cls


class BaseConsensus(ClusterMixin, BaseEstimator):
    """Base class of the consensus methods.

    A method supplies ``_prepare(ensemble)``, all that does not depend on the number of
    clusters, and ``_cut(n_clusters)``, the labels of the prepared ensemble's objects.
    ``self._seed`` is the integer that decides random choices in both.
    """

    info: ClassVar[MethodInfo]
    weights: Any = None  # a parameter of the methods in which it has a meaning

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_clusterings": [Interval(Integral, 1, None, closed="left")],
        "base_k": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "base": [str, list, tuple, BaseEstimator],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_clusters=8,
        n_clusterings=20,
        *,
        base_k=None,
        base="kmeans",
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.n_clusterings = n_clusterings
        self.base_k = base_k
        self.base = base
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Find the consensus of the base clusterings of ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, or with ``base="precomputed"`` the labels of M base clusterings:
            an (n_samples, M) array, a DataFrame or an Ensemble.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        generation_seed = self._start()
        self.ensemble_ = self._make_ensemble(X, generation_seed)
        self.labels_ = self._solve(self.ensemble_, [self.n_clusters])[0]
        self.n_clusters_ = int(self.labels_.max(initial=-1)) + 1
        return self

    def _fit_all(self, ensemble: Ensemble, ks: list) -> list[np.ndarray]:
        """Return what fit would give for each k, from one preparation."""
        self._start()
        return self._solve(ensemble, ks)

    def _start(self) -> int:
        """Check the parameters, draw the seed of the method, return generation's."""
        self._validate_params()
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        self._seed = int(seeds[1])
        return int(seeds[0])

    def _make_ensemble(self, X, seed: int) -> Ensemble:
        if isinstance(self.base, str) and self.base == "precomputed":
            ensemble = Ensemble(X)
            self.n_features_in_ = ensemble.n_clusterings
            return ensemble
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        k = self._check_k(self.n_clusters, len(X))
        base_k = self.base_k
        if base_k is None:
            base_k = default_base_k(len(X), lowest=2 if isinstance(k, str) else k)
        self.generator_ = EnsembleGenerator(
            self.n_clusterings,
            base_k=base_k,
            base=self.base,
            random_state=seed,
            n_jobs=self.n_jobs,
        ).fit(X)
        return self.generator_.ensemble_

    def memberships(self, X=None) -> np.ndarray:
        """Return how much each object belongs to each cluster, (n_samples, k) float64.

        Rows sum to 1 (0 for an object in no base clustering), columns are numbered as
        ``labels_``. It is the mean similarity of the object to the cluster's objects,
        by the co-association that the method links (elsewhere the plain one, how often
        two objects are together), scaled to sum to 1. The largest share is not always
        that of the label. ``X=None`` means the training objects. Computed when asked
        for: time Nc^2 k + F M k for F distinct label rows, no matrix of objects.
        """
        check_is_fitted(self, "labels_")
        objects = self._counting(self.ensemble_ if X is None else self._encode(X))
        if self.n_clusters_ == 0:
            return np.zeros((objects.n_objects, 0))
        return memberships(self._affinity(), self.labels_[self.labels_ >= 0], objects)

    def certainty(self) -> Certainty:
        """Return how far the base clusterings support the consensus.

        Per object, per cluster and per base clustering; see
        :class:`ensclust.Certainty`. Time N M + F M k, some 200 N bytes.
        """
        check_is_fitted(self, "labels_")
        return Certainty.of(self.ensemble_, self.labels_, weights=self.weights_)

    def _encode(self, X) -> Ensemble:
        """Return the base clusters of other objects, numbered as in ``ensemble_``."""
        check_is_fitted(self, "labels_")
        if isinstance(self.base, str) and self.base == "precomputed":
            return self.ensemble_.recode(X)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return self.generator_.encode(X)

    def _affinity(self) -> CoAssociation:
        """Return the similarity of training objects."""
        return CoAssociation(self._prepared, weights=self._weights)

    def _solve(self, ensemble: Ensemble, ks: list) -> list[np.ndarray]:
        """Return the labels for each number of clusters, from one preparation."""
        ks = [self._check_k(k, ensemble.n_objects) for k in ks]
        self.weights_ = self._find_weights(ensemble)
        ensemble = self._counting(ensemble)
        absent = self._absent = ensemble.absent()
        if absent.any():
            warnings.warn(
                f"{absent.sum()} of {ensemble.n_objects} objects are in no base "
                "clustering; their consensus label is -1.",
                stacklevel=4,
            )
            ensemble = ensemble.take(~absent)
        if absent.all():
            return [np.full(len(absent), -1, np.int32) for _ in ks]
        self._prepared = ensemble
        self._prepare(ensemble)
        n = ensemble.n_objects
        fit = [k if isinstance(k, str) else min(k, n) for k in ks]
        return [self._numbered(self._cut(k), k, absent) for k in fit]

    def _find_weights(self, ensemble: Ensemble) -> np.ndarray | None:
        if self.weights is None:
            return None
        if isinstance(self.weights, str) and self.weights == "agreement":
            return agreement_weights(ensemble)
        return check_weights(self.weights, ensemble.n_clusterings)

    def _counting(self, ensemble: Ensemble) -> Ensemble:
        """Return the clusterings that have a weight."""
        if self.weights_ is None or self.weights_.all():
            return ensemble
        return ensemble.select(self.weights_ > 0)

    @property
    def _weights(self) -> np.ndarray | None:
        """The weights of the prepared ensemble's clusterings, above 0."""
        return None if self.weights_ is None else self.weights_[self.weights_ > 0]

    def _numbered(self, labels: np.ndarray, k, absent: np.ndarray) -> np.ndarray:
        """Return labels numbered by first appearance, -1 for absent objects."""
        order = first_appearance(labels)
        if not isinstance(k, str) and len(order) < k:
            warnings.warn(
                f"{type(self).__name__} formed {len(order)} of n_clusters={k} "
                "clusters: no more came out of these base clusterings.",
                stacklevel=5,
            )
        rank = np.empty(int(labels.max()) + 1, np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        self._renumber(rank)
        numbered = np.full(len(absent), -1, np.int32)
        numbered[~absent] = rank[labels]
        return numbered

    def _check_k(self, n_clusters: Any, n_samples: int) -> int | str:
        return check_n_clusters(n_clusters, n_samples)

    def _prepare(self, ensemble: Ensemble) -> None:
        raise NotImplementedError

    def _cut(self, n_clusters: Any) -> np.ndarray:
        raise NotImplementedError

    def _renumber(self, rank: np.ndarray) -> None:
        """Carry fitted attributes over to the final numbering (default: none)."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self.base == "precomputed"
        return tags


def first_appearance(labels: np.ndarray) -> np.ndarray:
    """Return the distinct labels in the order in which they first appear."""
    values, first = np.unique(labels, return_index=True)
    return values[np.argsort(first)]


def consensus(
    labels: Any,
    n_clusters: Any,
    method: str = "ecpcs-mc",
    *,
    random_state=None,
    **params,
) -> np.ndarray:
    """Combine many clusterings of the same objects into one.

    Parameters
    ----------
    labels : Ensemble, array-like or DataFrame of shape (n_objects, n_clusterings)
        The base clusterings, one column each; negative or NaN means "not clustered".
    n_clusters : int or list of ints
        Number of consensus clusters. For a list, all are cut from one preparation.
    method : str, default="ecpcs-mc"
        One of :func:`ensclust.methods`.
    random_state : int, RandomState instance or None
        Decides random choices, such as ties in a vote.
    **params
        Parameters of the method's estimator, such as ``steps=20``, or ``weights`` for
        the base clusterings.

    Returns
    -------
    ndarray of shape (n_objects,), or (n_objects, len(n_clusters)) for a list
        Cluster numbers 0, 1, ... by first appearance.

    Examples
    --------
    >>> import ensclust
    >>> labels = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]]
    >>> ensclust.consensus(labels, 2, random_state=0)
    array([0, 0, 1, 1, 1], dtype=int32)
    """
    from ensclust._methods import make  # noqa: PLC0415  the table imports this module

    several = isinstance(n_clusters, list | tuple | range) or np.ndim(n_clusters) == 1
    ks = list(n_clusters) if several else [n_clusters]
    if not ks:
        msg = f"n_clusters={n_clusters!r} is empty. Give at least one number."
        raise ValueError(msg)
    ensemble = Ensemble(labels)
    model = make(method, base="precomputed", random_state=random_state, **params)
    columns = model._fit_all(ensemble, ks)
    return np.column_stack(columns) if several else columns[0]
