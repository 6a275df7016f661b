"""BaseConsensus: what scikit-learn wants around a method."""

import os
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from ensclust._ensemble.alignment import check_reference
from ensclust._ensemble.contents import check_array, check_ensemble
from ensclust._ensemble.ensemble import Ensemble, are_vectors
from ensclust._ensemble.flow import Counts, Solution
from ensclust._ensemble.weights import DERIVED_WEIGHTS
from ensclust._generate.generation import EnsembleGenerator, default_base_k
from ensclust._generate.objects import survey
from ensclust._methods import driver
from ensclust._methods.parameters import Parameters, parameter
from ensclust._quality.certainty import Certainty
from ensclust._quality.result import Result
from ensclust._stream.blocks import as_blocks
from ensclust._stream.counting import in_memory
from ensclust._support.documentation import MethodInfo
from ensclust._support.features import validate_features
from ensclust._support.kinds import is_dask_array, is_stream
from ensclust._support.quiet import muted
from ensclust._support.validation import (
    check_choice,
    check_n_clusters,
    check_sample_weight,
    check_weights,
)

_SHOWN = 20_000  # objects of a stream that a report shows


def positive(kind: type = Integral) -> Interval:
    """Return the constraint of a parameter that counts something."""
    return Interval(kind, 1, None, closed="left")


class BaseConsensus(Parameters, ClusterMixin, BaseEstimator):
    """Base class of the consensus methods: parameters, fit, predict, fitted attributes.

    A method supplies ``_solve(counts, *, weights, seed)``: what it makes of the Counts
    of label rows, a Solution that can be cut into any number of clusters. ``weights``
    are those of the clusterings, above 0, or None; ``seed`` is the integer that decides
    random choices. :class:`Agglomeration`, :class:`MetaClustering`,
    :class:`BipartiteCut` and :class:`OneHotMethod` do so from something smaller.
    Parameters of a method are annotated fields of its class; see the page "Write a
    method".
    """

    info: ClassVar[MethodInfo] = MethodInfo("A method of your own", "", "", "", "")
    _pair_bytes: ClassVar[int] = 0  # that solving takes per pair of base clusters
    _k_words: ClassVar[tuple[str, ...]] = ("auto",)  # that may stand for a number

    n_clusters: Any = parameter(
        positive(), StrOptions({"auto"}), default=8, kw_only=False
    )
    n_clusterings: int = parameter(positive(), default=20, kw_only=False)
    base_k: Any = parameter(positive(), "array-like", None, default=None)
    base: Any = parameter(str, list, tuple, BaseEstimator, default="kmeans")
    scale: str | None = parameter(
        StrOptions({"auto", "standard", "robust"}), None, default=None
    )
    effort: Any = parameter(
        StrOptions({"auto", "full"}),
        Interval(Integral, 0, None, closed="left"),
        default="auto",
    )
    noise: str = parameter(StrOptions({"missing", "own-cluster"}), default="missing")
    min_certainty: float | None = parameter(
        Interval(Real, 0, 1, closed="both"), None, default=None
    )
    random_state: Any = parameter("random_state", default=None)
    n_jobs: int | None = parameter(Integral, None, default=None)

    def fit(self, X, y=None, *, sample_weight=None, reference=None):
        """Find the consensus of the base clusterings of ``X``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, or with ``base="precomputed"`` the labels of M base clusterings:
            an (n_samples, M) array, a DataFrame, a list of M label vectors, an Ensemble
            or the path of a file. A Dask array or Blocks of either: ``labels_`` is then
            lazy.
        y : ignored
            Present for scikit-learn's pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Whole numbers of at least 0: an object counts as so many when the consensus
            is made. With precomputed labels that is the same as repeating its row. Base
            clusterings of features are made without weights. An object of weight 0 has
            no say, and gets the label that :meth:`predict` gives it.
        reference : array-like of shape (n_samples,) or None
            Numbers of clusters to keep, such as those of an earlier fit, -1 or NaN for
            objects that it does not know: each cluster gets the number of the one that
            it shares most objects with, see :func:`ensclust.align`, else a new number
            above them. Where that leaves gaps, :meth:`memberships` has columns of 0.

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
        """Fit, and return what came of each k; of the first, the model keeps it."""
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
            solved = driver.solve(self, counts, ks, seed)
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

    def _seeds(self) -> list[int]:
        """Return the seeds of generation and of the method."""
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        return [int(seed) for seed in seeds]

    def _counts(self, X, ks: list, seed: int, checkpoint: Any = None) -> Any:
        """Return the Counts of what X is: labels, or features to generate them from."""
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
            Numbers as in ``labels_``, which predict repeats for the training objects;
            -1 for an object that shares nothing with them, or that ``min_certainty``
            leaves out.

        Notes
        -----
        :class:`ECPCSMC` and :class:`MCLA` let base clusters vote, as in fit: time M per
        object; so do :class:`Voting` and :class:`CVote`: time M k. :class:`KCC`,
        :class:`ECC` and :class:`SEC` take the nearest centre: time M k; so do the cuts,
        such as :class:`USENC`: time M k + k^2. Elsewhere a
        label row that occurred in training keeps its label, and any other gets that of
        the most similar one, by the similarity that was linked or else by
        co-association; where several are equally similar, the cluster with most objects
        among them. That takes F M look-ups for each distinct row that is new, F the
        distinct rows of training, and Nc^2 numbers of memory. Base clusterers that
        label new objects come on top.
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
        ``labels_``. It is the mean similarity of the object to the cluster's objects,
        itself included, by the co-association that the method links (elsewhere the
        plain one, how often two objects are together), scaled to sum to 1. The largest
        share is not always that of the label. ``X=None`` means the training objects.
        Computed when asked for: time Nc^2 k + F M k for F distinct label rows, no
        matrix of objects.
        """
        check_is_fitted(self, "labels_")
        rows = in_memory(self.ensemble_) if X is None else self._encode(X)
        return self.assignment_.memberships(rows, n_jobs=self.n_jobs)

    def predict_proba(self, X) -> np.ndarray:
        """Return :meth:`memberships` of ``X``, by scikit-learn's name for them."""
        return self.memberships(X)

    def certainty(self) -> Certainty:
        """Return how far the base clusterings support the consensus.

        Per object, per cluster and per base clustering; see
        :class:`ensclust.Certainty`. Time N M + F M k, at most some
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
        """Write the result as one HTML file that opens in a browser, offline.

        ``X`` are features for a map of the objects. All parameters are as in
        :func:`ensclust.write_report`, and so are time and memory. After a fit to a
        stream, a random sample of 20,000 objects is shown; what is given for all
        objects is looked up for these.
        """
        from ensclust._view.report.page import report_model  # noqa: PLC0415  drawing

        given = {"X": X, "truth": truth, "ids": ids, "names": names}
        given |= {"selection": selection, "sweep": sweep}
        given |= {"map_of": map_of, "colors": colors, "title": title}
        report_model(path, self._result(), **given)

    def _result(self) -> Result:
        """Return what was found as facts, for views."""
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
        """Return the name of the method, as the command line knows it."""
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
        """Raise ValueError where arrays, of a file, do not fit together.

        Kernels follow the indices in them unchecked.
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
        """Remember, or compare, the names of the columns of precomputed labels."""
        if isinstance(labels, (Ensemble, str, os.PathLike)) or are_vectors(labels):
            labels = ensemble.columns.T
        validate_data(self, labels, skip_check_array=True, reset=reset)

    def _check_k(
        self, n_clusters: Any, n_samples: int, n_columns: int = 0
    ) -> int | str | None:
        if n_clusters is None:
            self._check_free_k()
            return None
        if isinstance(n_clusters, str) and n_clusters in self._k_words:
            return n_clusters
        return check_n_clusters(n_clusters, n_samples, n_columns)

    def _check_free_k(self) -> None:
        """Raise if the number of clusters cannot be left to the method."""
        from ensclust._methods import methods  # noqa: PLC0415  the table imports this

        if not self.info.free_k:
            msg = (
                "n_clusters=None leaves the number of clusters to the method, which "
                f"{type(self).__name__} cannot choose. Use an integer of at least 1, "
                f"or a method that can: {', '.join(methods(free_k=True))}."
            )
            raise TypeError(msg)

    def _validate_params(self) -> None:
        if self.n_clusters is None:
            self._check_free_k()
        super()._validate_params()
        why = self.info.lacks.get("memberships")
        if why and getattr(self, "min_certainty", None) is not None:
            msg = (
                f"min_certainty={self.min_certainty!r} needs memberships, which "
                f"{type(self).__name__} does without: {why}. Leave min_certainty out."
            )
            raise ValueError(msg)

    def _number_of(
        self, word: str, counts: Any, solution: Any, seed: int
    ) -> tuple[int, dict[str, Any]]:
        """Return the number of clusters that a word stands for, and what is fitted."""
        from ensclust._methods.selection import select_k  # noqa: PLC0415  solves too
        from ensclust._quality.k_selection import DEFAULT_CRITERION  # noqa: PLC0415

        found = select_k(
            counts,
            criteria=[DEFAULT_CRITERION],
            random_state=seed,
            n_jobs=self.n_jobs,
        )
        return found.best_k, {"selection_": found}

    def _check_stream(self, ks: list) -> None:
        """Raise what a stream cannot do, before it is read."""
        if "auto" in ks:
            msg = (
                "k = auto needs the labels in memory. Choose on a sample, with "
                "select_k(sample) or compare(sample, k), and name what it found."
            )
            raise ValueError(msg)

    def _check_weighted(self, ks: list) -> None:
        """Raise what cannot be done with objects that count as several."""
        if "auto" in ks:
            msg = (
                'sample_weight and n_clusters="auto" do not go together: select_k '
                "counts every object once. Give a number of clusters."
            )
            raise ValueError(msg)

    def _find_weights(self, counts: Any) -> np.ndarray | None:
        weights = getattr(self, "weights", None)
        if isinstance(weights, str):
            check_choice(weights, "weights", tuple(DERIVED_WEIGHTS))
            return DERIVED_WEIGHTS[weights](counts)
        return None if weights is None else check_weights(weights, counts.n_clusterings)

    def _needed_memory(self, counts: Counts) -> int:
        """Return the bytes that solving takes at least, beside the labels."""
        return self._pair_bytes * counts.n_base_clusters**2

    def _solve(
        self, counts: Counts, *, weights: np.ndarray | None, seed: int
    ) -> Solution:
        raise missing_hook(self, "_solve(counts, *, weights, seed)", "a Solution")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = self._is_precomputed()
        tags.input_tags.sparse = not self._is_precomputed()
        return tags


def missing_hook(method: BaseConsensus, hook: str, what: str) -> NotImplementedError:
    """Return the error for a method that lacks what its family asks for."""
    return NotImplementedError(
        f"{type(method).__name__} does not define {hook}, which returns {what}. See "
        'the page "Write a method" of the documentation.'
    )


def require_array(X: Any, what: str) -> None:
    """Raise where a stream cannot do what was asked for."""
    if is_stream(X):
        msg = f"{what} needs X in memory, not a stream. Pass an array, or leave it out."
        raise ValueError(msg)


def any_cut_is_fine():
    """Return a context without warnings about what came of a k that is only tried."""
    return muted(r"\w+ (formed \d+ of n_clusters|put \d+ of \d+ objects into)")
