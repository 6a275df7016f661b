"""Estimators: what scikit-learn expects around a method.

A method solves and needs no scikit-learn, so that labels are combined without
importing it. ``ensclust.EAC`` is the estimator of the method ``EAC``, made here by
:func:`estimator_of`.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ensclust._ensemble.alignment import check_reference
from ensclust._ensemble.contents import check_array, check_ensemble
from ensclust._ensemble.ensemble import Ensemble, are_vectors
from ensclust._generate.generation import EnsembleGenerator, default_base_k
from ensclust._generate.objects import survey
from ensclust._methods import driver, families
from ensclust._methods.base import Method
from ensclust._quality.certainty import Certainty
from ensclust._quality.result import Result
from ensclust._stream.blocks import as_blocks
from ensclust._stream.counting import in_memory
from ensclust._support.features import validate_features
from ensclust._support.kinds import is_dask_array, is_stream
from ensclust._support.site import LinkedToSite
from ensclust._support.validation import (
    check_sample_weight,
)

_SHOWN = 20_000  # objects of a stream that a report shows


class BaseConsensus(LinkedToSite, Method, ClusterMixin, BaseEstimator):
    """Base class of the consensus methods: parameters, fit, predict, fitted attributes.

    A method supplies ``_solve(counts, *, weights, seed)``: what it makes of the Counts
    of label rows, a Solution that can be cut into any number of clusters. ``weights``
    are those of the clusterings, above 0, or None; ``seed`` is the integer that
    determines random choices. :class:`Agglomeration`, :class:`MetaClustering`,
    :class:`BipartiteCut` and :class:`OneHotMethod` need less than that.
    Parameters of a method are annotated fields of its class; see the page "Write a
    method".
    """

    def fit(self, X, y=None, *, sample_weight=None, reference=None):
        """Find the consensus of the base clusterings of ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, or with ``base="precomputed"`` the labels of M base clusterings:
            an (n_samples, M) array, a DataFrame, a list of M label vectors, an Ensemble
            or the path of a file. For a Dask array or Blocks of either, ``labels_`` is
            lazy.
        y : ignored
            Present for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Non-negative integers: how many objects each one counts as when the
            consensus is computed. With precomputed labels that is the same as repeating
            its row. Base clusterings of features are made without weights. An object of
            weight 0 does not influence the consensus, and gets the label that
            :meth:`predict` gives it.
        reference : array-like of shape (n_samples,) or None
            Cluster numbers to keep, such as those of an earlier fit, with -1 or NaN for
            objects that it does not contain: each cluster gets the number of the
            reference cluster that it shares the most objects with, see
            :func:`ensclust.align`, or a new number above them. If that leaves gaps,
            :meth:`memberships` has columns of 0.

        Returns
        -------
        self
        """
        given = {"sample_weight": sample_weight, "reference": reference}
        self._fit_cuts(X, [self.n_clusters], **given)
        return self

    def _fit_cuts(
        self,
        X,
        ks: list,
        *,
        checkpoint: Any = None,
        sample_weight: Any = None,
        reference: Any = None,
    ) -> driver.Solved:
        """Fit, and return the result for each k; the model keeps the first."""
        self._validate_params()
        if sample_weight is not None:
            require_array(X, "sample_weight")
            self._check_weighted(ks)
        if reference is not None:
            require_array(X, "reference")
        generation_seed, seed = self._seeds()
        counts = self._counts(X, ks, generation_seed, checkpoint)
        if reference is not None:
            reference = check_reference(reference, counts.n_objects)
        if sample_weight is None:
            solved = driver.solve(self, counts, ks, seed, self._chooser(X, ks))
        else:
            times = check_sample_weight(sample_weight, counts.n_objects)
            solved = driver.solve_weighted(self, counts, times, ks, seed)
        if reference is not None:
            solved = driver.refer(solved, reference)
        solved = driver.leave_out(solved, self)
        found = solved.cuts[0]
        labels = solved.labels()
        fitted = {
            "labels_": labels.to_dask() if is_dask_array(X) else labels,
            "ensemble_": solved.counts,
            "weights_": solved.weights,
            "n_clusters_": found.n_clusters,
            "assignment_": found.assignment,
        }
        for name, value in (fitted | found.fitted).items():
            setattr(self, name, value)
        return solved

    def _chooser(self, X, ks: list) -> Callable | None:
        """Return a function that finds the number that "auto" means, with features."""
        if "auto" not in ks or self._is_precomputed() or is_stream(X):
            return None
        X = validate_features(self, X, reset=False)
        return lambda counts, seed: self._select(counts, seed, X=X, scale=self.scale)

    def _counts(self, X, ks: list, seed: int, checkpoint: Any = None) -> Any:
        """Return the Counts of X: of labels, or of those generated from features."""
        if self._is_precomputed():
            counts = driver.count(self, X, ks, checkpoint)
            if counts.in_memory:
                self._check_columns(X, counts, reset=True)
            self.n_features_in_ = counts.n_clusterings
            return counts
        if not is_stream(X):
            X = validate_features(self, X)
            generator = self._generator(X.shape[0], ks, seed)
            self.generator_ = generator.fit_checked(X)
            return generator.ensemble_
        self._check_stream(ks)
        blocks = as_blocks(X, "features")
        known = survey(blocks)
        generator = self._generator(known.n_objects, ks, seed)
        self.generator_ = generator.fit_stream(blocks, known)
        self.n_features_in_ = self.generator_.n_features_in_
        return driver.count(self, self.generator_.stream_, ks)

    def _generator(self, n_samples: int, ks: list, seed: int) -> EnsembleGenerator:
        checked = [self._check_k(k, n_samples) for k in ks]
        return EnsembleGenerator(
            self.n_clusterings,
            base_k=(
                default_base_k(n_samples, checked)
                if self.base_k is None
                else self.base_k
            ),
            base=self.base,
            scale=self.scale,
            effort=self.effort,
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
            Numbers as in ``labels_``, which predict reproduces for the training
            objects; -1 for an object that shares nothing with them, or that
            ``min_certainty`` leaves out.

        Notes
        -----
        :class:`ECPCSMC` and :class:`MCLA` let base clusters vote, as in fit: time M per
        object; so do :class:`Voting` and :class:`CVote`: time M k. :class:`KCC`,
        :class:`ECC` and :class:`SEC` take the nearest centre: time M k; so do the cuts,
        such as :class:`USENC`: time M k + k^2. In all other methods, a
        label row that occurred in training keeps its label, and any other gets that of
        the most similar one, by the similarity that was linked or else by
        co-association; if several are equally similar, the cluster with most objects
        among them. That takes F M look-ups for each distinct row that is new, with F
        the distinct rows of training, and Nc^2 numbers of memory. The time that base
        clusterers take to label new objects comes on top.
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
        rows = self._encode(X)
        return self.assignment_.label(rows, n_jobs=self.n_jobs)

    def memberships(self, X=None) -> np.ndarray:
        """Return how much each object belongs to each cluster, (n_samples, k) float64.

        Rows sum to 1 (0 for an object in no base clustering), columns are numbered as
        ``labels_``. A share is the mean similarity of the object to the cluster's
        objects, itself included, by the co-association that the method links (for other
        methods the plain one: how often two objects are together), scaled to sum to 1.
        The label does not always have the largest share. ``X=None`` means the training
        objects. Computed when asked for: time Nc^2 k + F M k for F distinct label rows,
        no matrix of objects. :class:`EM` gives the probability of each cluster instead,
        in time M k per object.
        """
        check_is_fitted(self, "labels_")
        rows = in_memory(self.ensemble_) if X is None else self._encode(X)
        return self.assignment_.memberships(rows, n_jobs=self.n_jobs)

    def predict_proba(self, X) -> np.ndarray:
        """Return :meth:`memberships` of ``X``, under scikit-learn's name."""
        return self.memberships(X)

    def certainty(self) -> Certainty:
        """Return how well the base clusterings support the consensus.

        Per object, per cluster and per base clustering; see
        :class:`ensclust.Certainty`. Time N M + F M k, memory at most about
        (110 + 4 M) N bytes.
        """
        check_is_fitted(self, "labels_")
        return Certainty.of(
            in_memory(self.ensemble_), self.labels_, weights=self.weights_
        )

    def report(
        self,
        path,
        X=None,
        *,
        truth=None,
        ids=None,
        names=None,
        selection=None,
        sweep=None,
        map_of=None,
        colors=None,
        title=None,
    ) -> None:
        """Write the result as a single HTML file that opens in a browser, offline.

        ``X`` are features for a map of the objects. All parameters are as in
        :func:`ensclust.write_report`, and so are time and memory. After a fit to a
        stream, a random sample of 20,000 objects is shown; arguments that describe all
        objects are reduced to these.
        """
        from ensclust._view.report.page import report_model  # noqa: PLC0415  drawing

        given = {"X": X, "truth": truth, "ids": ids, "names": names}
        given |= {"selection": selection, "sweep": sweep}
        given |= {"map_of": map_of, "colors": colors, "title": title}
        report_model(path, self._result(), **given)

    def _result(self) -> Result:
        """Return the result as facts, for views."""
        check_is_fitted(self, "labels_")
        ensemble, labels = self.ensemble_, self.labels_
        n_objects, dendrogram = ensemble.n_objects, getattr(self, "dendrogram_", None)
        objects = None
        if not ensemble.in_memory:
            rng = np.random.default_rng(0)
            n_shown = min(n_objects, _SHOWN)
            objects = np.sort(rng.choice(n_objects, n_shown, replace=False))
            ensemble = ensemble.take(objects)
            labels = self.assignment_.label(ensemble, n_jobs=self.n_jobs)
            dendrogram = None  # its leaves are rows, not objects
        precomputed = self._is_precomputed()
        result = Result(
            method=self._method_name(),
            title=self.info.title,
            estimator=self,
            is_precomputed=precomputed,
            names=getattr(self, "feature_names_in_", None) if precomputed else None,
            ensemble=ensemble,
            labels=labels,
            weights=self.weights_,
            dendrogram=dendrogram,
            cluster_similarity=getattr(self, "cluster_similarity_", None),
            meta_labels=getattr(self, "meta_labels_", None),
            selection=getattr(self, "selection_", None),
            n_objects=n_objects,
            objects=None if ensemble.n_objects == n_objects else objects,
        )
        if dendrogram is not None and dendrogram.n_objects < result.present.sum():
            return replace(result, dendrogram=None)  # without objects of weight 0
        return result

    def _method_name(self) -> str:
        """Return the name of the method, as on the command line."""
        from ensclust._methods import METHODS  # noqa: PLC0415  the table imports this

        own = [name for name, method in METHODS.items() if type(self) is method]
        return own[0] if own else type(self).__name__

    def _encode(self, X) -> Ensemble:
        """Return the base clusters of other objects, numbered as in ``ensemble_``."""
        check_is_fitted(self, "labels_")
        if not self._is_precomputed():
            X = validate_features(self, X, reset=False)
            return self.ensemble_.recode(np.column_stack(self.generator_.label(X)))
        ensemble = self.ensemble_.recode(X)
        self._check_columns(X, ensemble, reset=False)
        return ensemble

    def _check_loaded(self) -> None:
        """Raise ValueError if arrays, read from a file, do not fit together.

        Kernels use the indices in them unchecked.
        """
        check_ensemble(self.ensemble_)
        n = self.ensemble_.n_objects
        check_array("n_clusters_", np.array(self.n_clusters_), (), low=0, stop=n + 1)
        check_array("labels_", self.labels_, (n,), low=-1, stop=self.n_clusters_)
        self.assignment_.check(self.ensemble_, self.n_clusters_)
        for name in ("coassociation_", "dendrogram_", "generator_"):
            if getattr(self, name, None) is not None:
                getattr(self, name)._check_loaded()

    def _check_columns(self, labels, ensemble: Ensemble, *, reset: bool) -> None:
        """Store or compare the column names of precomputed labels."""
        if isinstance(labels, (Ensemble, str, os.PathLike)) or are_vectors(labels):
            labels = ensemble.columns.T
        validate_data(self, labels, skip_check_array=True, reset=reset)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


def require_array(X: Any, what: str) -> None:
    """Raise if a stream cannot do what was requested."""
    if is_stream(X):
        msg = f"{what} needs X in memory, not a stream. Pass an array, or leave it out."
        raise ValueError(msg)


class Agglomeration(families.Agglomeration, BaseConsensus):
    __doc__ = families.Agglomeration.__doc__


class Sharing(families.Sharing, BaseConsensus):
    __doc__ = families.Sharing.__doc__

    def memberships(self, X=None) -> np.ndarray:
        """Return the share of each object's votes per cluster, (n_samples, k) float64.

        Rows sum to 1 (0 for an object without votes), columns are numbered as
        ``labels_``. ``X=None`` means the training objects. Computed when asked for:
        time M k per object beyond that of the base clusterers.
        """
        return super().memberships(X)

    def certainty(self) -> Certainty:
        """Return how well the base clusterings support the consensus, votes included.

        Per object, per cluster and per base clustering; see
        :class:`ensclust.Certainty`. Time N M + F M k, memory at most about
        (110 + 4 M + 8 k) N bytes.
        """
        shares = self.memberships()
        return Certainty.of(
            self.ensemble_, self.labels_, weights=self.weights_, memberships=shares
        )


class MetaClustering(families.MetaClustering, Sharing):
    __doc__ = families.MetaClustering.__doc__


class BipartiteCut(families.BipartiteCut, BaseConsensus):
    __doc__ = families.BipartiteCut.__doc__

    def memberships(self, X=None) -> np.ndarray:
        """Return how near each object is to each cluster, (n_samples, k) float64.

        Rows sum to 1 (0 for an object in no base clustering), columns are numbered as
        ``labels_``. Shares are proportional to 1 / squared distance to the clusters'
        centres in the space of the eigenvectors, as in fuzzy c-means, so the label has
        the largest.
        ``X=None`` means the training objects. Computed when asked for: time M k + k^2
        per object beyond that of the base clusterers.
        """
        return super().memberships(X)


class OneHotMethod(families.OneHotMethod, BaseConsensus):
    __doc__ = families.OneHotMethod.__doc__


_ESTIMATORS: dict[type, type[BaseConsensus]] = {
    Method: BaseConsensus,
    families.Agglomeration: Agglomeration,
    families.Sharing: Sharing,
    families.MetaClustering: MetaClustering,
    families.BipartiteCut: BipartiteCut,
    families.OneHotMethod: OneHotMethod,
}


def estimator_of(method: type[Method]) -> type[BaseConsensus]:
    """Return the estimator of a method: the same class, joined with scikit-learn's.

    It derives from the estimators of the method's bases, and is the public name
    ``ensclust.<its name>``, by which pickles find it. A user's own class is already an
    estimator.
    """
    if issubclass(method, BaseConsensus):
        return method
    if method in _ESTIMATORS:
        return _ESTIMATORS[method]
    bases = [estimator_of(own) for own in method.__bases__ if issubclass(own, Method)]
    about = {"__doc__": method.__doc__, "__module__": "ensclust"}
    made = type(method.__name__, (method, *bases), about)
    return _ESTIMATORS.setdefault(method, made)  # another thread may have been faster
