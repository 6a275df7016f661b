"""BaseConsensus: the only fit(), the same for every method."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ensclust._cuts import nearest
from ensclust._ensemble.agreement import agreement_weights
from ensclust._ensemble.ensemble import Ensemble
from ensclust._generate.base_k import default_base_k
from ensclust._generate.generation import EnsembleGenerator, validate_features
from ensclust._quality.certainty import Certainty
from ensclust._quality.cohesion import memberships
from ensclust._quality.result import Result
from ensclust._stream.blocks import is_dask_array, is_stream
from ensclust._stream.tally import Tally, in_memory
from ensclust._support import memory
from ensclust._support.encoding import first_appearance, look_up
from ensclust._support.validation import check_n_clusters, check_weights, warn
from ensclust._trees.coassociation import CoAssociation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ensclust._support.documentation import MethodInfo


class BaseConsensus(ClusterMixin, BaseEstimator):
    """Base class of the consensus methods.

    A method supplies ``_prepare(ensemble)``, all that does not depend on the number of
    clusters, and ``_cut(n_clusters)``, the labels of the prepared ensemble's objects,
    in a new array.
    ``self._seed`` is the integer that decides random choices in both,
    ``self._prepared`` the prepared ensemble, without objects of no clustering.
    """

    info: ClassVar[MethodInfo]
    weights: Any = None  # a parameter of the methods in which it has a meaning
    _pair_bytes: ClassVar[int] = 0  # that preparing takes per pair of base clusters

    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "n_clusterings": [Interval(Integral, 1, None, closed="left")],
        "base_k": [Interval(Integral, 1, None, closed="left"), "array-like", None],
        "base": [str, list, tuple, BaseEstimator],
        "noise": [StrOptions({"missing", "own-cluster"})],
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
        noise="missing",
        random_state=None,
        n_jobs=None,
    ):
        self.n_clusters = n_clusters
        self.n_clusterings = n_clusterings
        self.base_k = base_k
        self.base = base
        self.noise = noise
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Find the consensus of the base clusterings of ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, or with ``base="precomputed"`` the labels of M base clusterings:
            an (n_samples, M) array, a DataFrame, an Ensemble or the path of a file.
            A Dask array or Blocks of either: ``labels_`` is then lazy.
        y : ignored
            Present for scikit-learn's pipelines.

        Returns
        -------
        self
        """
        generation_seed = self._start()
        if is_stream(X):
            from ensclust._stream import distributed  # noqa: PLC0415  a layer above

            return distributed.fit(self, X, generation_seed)
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
        if self._is_precomputed():
            ensemble = Ensemble(X, noise=self.noise)
            self._check_columns(X, ensemble, reset=True)
            self.n_features_in_ = ensemble.n_clusterings
            return ensemble
        X = validate_features(self, X)
        self.generator_ = self._generator(X.shape[0], seed).fit(X)
        return self.generator_.ensemble_

    def _generator(self, n_samples: int, seed: int) -> EnsembleGenerator:
        k = self._check_k(self.n_clusters, n_samples)
        base_k = self.base_k
        if base_k is None:
            base_k = default_base_k(n_samples, lowest=2 if isinstance(k, str) else k)
        return EnsembleGenerator(
            self.n_clusterings,
            base_k=base_k,
            base=self.base,
            noise=self.noise,
            random_state=seed,
            n_jobs=self.n_jobs,
        )

    def _is_precomputed(self) -> bool:
        return isinstance(self.base, str) and self.base == "precomputed"

    def predict(self, X) -> np.ndarray:
        """Label objects by the base clusters that they fall into.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features as in fit; with ``base="precomputed"`` labels by the same base
            clusterings, where unknown ones count as "not clustered".

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers as in ``labels_``, which predict repeats for the training objects;
            -1 for an object that shares nothing with them.

        Notes
        -----
        :class:`ECPCSMC` and :class:`MCLA` let base clusters vote, as in fit: time M per
        object. Elsewhere a label row that occurred in training keeps its label, and any
        other gets that of the most similar one, by the similarity that was linked or
        else by co-association; where several are equally similar, the cluster with
        most objects among them. That takes F M look-ups for each distinct row that is
        new, F the distinct rows of training, and Nc^2 numbers of memory. Base
        clusterers that label new objects come on top.
        """
        if is_dask_array(X):
            return X.rechunk({1: -1}).map_blocks(self.predict, drop_axis=1, dtype="i4")
        if is_stream(X) and not hasattr(X, "shape"):
            msg = (
                "predict takes an array or a Dask array, not a stream. Predict block "
                "by block: model.predict(np.column_stack(block.load())) for each block "
                "of Blocks, or model.predict(array) for each array of a function."
            )
            raise TypeError(msg)
        ensemble = self._encode(X)
        if self.n_clusters_ == 0:
            return np.full(ensemble.n_objects, -1, np.int32)
        return self._assign(self._counting(ensemble))

    def _assign(self, ensemble: Ensemble) -> np.ndarray:
        """Return the labels of other objects."""
        by_row = isinstance(self._prepared, Tally)  # fitted to a stream
        labels = self._row_labels if by_row else self.labels_[self.labels_ >= 0]
        return nearest.label(self._affinity(), labels, ensemble, n_jobs=self.n_jobs)

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
        known = in_memory(self.ensemble_)
        objects = self._counting(known if X is None else self._encode(X))
        if self.n_clusters_ == 0:
            return np.zeros((objects.n_objects, 0))
        return memberships(self._affinity(), self.labels_[self.labels_ >= 0], objects)

    def certainty(self) -> Certainty:
        """Return how far the base clusterings support the consensus.

        Per object, per cluster and per base clustering; see
        :class:`ensclust.Certainty`. Time N M + F M k, some 200 N bytes.
        """
        check_is_fitted(self, "labels_")
        ensemble = in_memory(self.ensemble_)
        return Certainty.of(ensemble, self.labels_, weights=self.weights_)

    def report(
        self,
        path,
        X=None,
        *,
        truth=None,
        ids=None,
        names=None,
        selection=None,
        title=None,
    ) -> None:
        """Write what was found as one HTML file that opens in a browser, offline.

        ``X``, the features, gives the map of the objects its axes; without it they come
        from the base clusterings. ``truth``, ``ids``, ``names``, ``selection`` and
        ``title`` are as in :func:`ensclust.write_report`, and so are time and memory.
        """
        from ensclust._view.report.page import report_model  # noqa: PLC0415  stands above this

        check_is_fitted(self, "labels_")
        given = {"X": X, "truth": truth, "ids": ids, "names": names}
        report_model(path, self, **given, selection=selection, title=title)

    def _result(self) -> Result:
        """Return what was found as facts, for views."""
        check_is_fitted(self, "labels_")
        ensemble = in_memory(self.ensemble_)
        precomputed = self._is_precomputed()
        return Result(
            method=self._method_name(),
            title=self.info.title,
            estimator=self,
            is_precomputed=precomputed,
            names=getattr(self, "feature_names_in_", None) if precomputed else None,
            ensemble=ensemble,
            labels=self.labels_,
            weights=self.weights_,
            dendrogram=getattr(self, "dendrogram_", None),
            cluster_similarity=getattr(self, "cluster_similarity_", None),
            meta_labels=getattr(self, "meta_labels_", None),
            selection=getattr(self, "selection_", None),
            n_objects=ensemble.n_objects,
        )

    def _method_name(self) -> str:
        """Return the name of the method, as the command line knows it."""
        from ensclust._methods import METHODS  # noqa: PLC0415  the table imports this

        own = [name for name, method in METHODS.items() if type(self) is method]
        return own[0] if own else type(self).__name__

    def _encode(self, X) -> Ensemble:
        """Return the base clusters of other objects, numbered as in ``ensemble_``."""
        check_is_fitted(self, "labels_")
        if self._is_precomputed():
            ensemble = self.ensemble_.recode(X)
            self._check_columns(X, ensemble, reset=False)
            return ensemble
        return self.generator_.encode(validate_features(self, X, reset=False))

    def _check_columns(self, labels, ensemble: Ensemble, *, reset: bool) -> None:
        """Remember, or compare, the names of the columns of precomputed labels."""
        if isinstance(labels, (Ensemble, str, PathLike)):
            labels = ensemble.columns.T
        validate_data(self, labels, skip_check_array=True, reset=reset)

    def _affinity(self) -> CoAssociation:
        """Return the similarity of training objects by which predict compares."""
        return CoAssociation(self._prepared, weights=self._weights)

    def _solve(self, ensemble: Ensemble, ks: list) -> list[np.ndarray]:
        """Return the labels for each number of clusters, from one preparation."""
        size = ensemble.n_objects, ensemble.n_clusterings
        ks = [self._check_k(k, *size) for k in ks]
        self.weights_ = self._find_weights(ensemble)
        ensemble = self._counting(ensemble)
        absent = self._absent = ensemble.absent()
        if absent.any():
            warn(
                f"{absent.sum()} of {ensemble.n_objects} objects are in no base "
                "clustering; their consensus label is -1."
            )
            ensemble = ensemble.take(~absent)
        if absent.all():
            return [np.full(len(absent), -1, np.int32) for _ in ks]
        if "auto" in ks:
            best_k = self._select(ensemble)
            ks = [best_k if k == "auto" else k for k in ks]
        self._prepared = ensemble
        n = ensemble.n_objects
        fit = [k if isinstance(k, str) else min(k, n) for k in ks]
        cuts = zip(self._cuts(ensemble, fit), fit, strict=True)
        return [self._numbered(labels, k, absent) for labels, k in cuts]

    def _select(self, ensemble: Ensemble) -> int:
        """Return the number of clusters that suits the ensemble."""
        from ensclust._methods.selection import select_k  # noqa: PLC0415
        from ensclust._quality.k_selection import DEFAULT_CRITERION  # noqa: PLC0415

        self.selection_ = select_k(
            ensemble,
            criteria=[DEFAULT_CRITERION],
            random_state=self._seed,
            n_jobs=self.n_jobs,
        )
        return self.selection_.best_k

    def _cuts(self, ensemble: Ensemble, ks: list) -> Iterator[np.ndarray]:
        """Yield the labels for each k; each is numbered before the next is made."""
        self._require_memory(ensemble)
        self._prepare(ensemble)
        try:
            for k in ks:
                yield self._cut(k)
        finally:
            self._drop_graph()

    def _drop_graph(self) -> None:
        """Free the graph that some methods cut: nobody needs it after the cuts."""
        self.__dict__.pop("_graph", None)

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
            warn(
                f"{type(self).__name__} formed {len(order)} of n_clusters={k} "
                "clusters: no more came out of these base clusterings."
            )
        rank = np.empty(int(labels.max()) + 1, np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        self._renumber(rank)
        look_up(rank, labels, labels)
        if not absent.any():
            return labels.astype(np.int32, copy=False)
        numbered = np.full(len(absent), -1, np.int32)
        numbered[~absent] = labels
        return numbered

    def _check_k(
        self, n_clusters: Any, n_samples: int, n_columns: int = 0
    ) -> int | str:
        if isinstance(n_clusters, str) and n_clusters == "auto":
            return n_clusters
        return check_n_clusters(n_clusters, n_samples, n_columns)

    def _require_memory(self, ensemble: Ensemble) -> None:
        """Refuse now what would end for want of memory later."""
        memory.require(
            self._needed_memory(ensemble),
            f"{type(self).__name__} with {ensemble.n_base_clusters:,} base clusters",
            "Use fewer or coarser base clusterings, or KCC, ECC or SEC, which need "
            "least.",
        )

    def _needed_memory(self, ensemble: Ensemble) -> int:
        """Return the bytes that preparing takes at least, beside the labels."""
        return self._pair_bytes * ensemble.n_base_clusters**2

    def _prepare(self, ensemble: Ensemble) -> None:
        raise NotImplementedError

    def _cut(self, n_clusters: Any) -> np.ndarray:
        raise NotImplementedError

    def _renumber(self, rank: np.ndarray) -> None:
        """Carry fitted attributes over to the final numbering (default: none)."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


@contextmanager
def fewer_clusters_are_fine() -> Iterator[None]:
    """Leave out the warning that a method formed fewer clusters than asked for."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\w+ formed \d+ of n_clusters")
        yield
