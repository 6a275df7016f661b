"""Method: what every consensus method is made of, without scikit-learn."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from ensclust._ensemble.flow import Counts, Solution
from ensclust._ensemble.weights import DERIVED_WEIGHTS
from ensclust._methods import driver
from ensclust._methods.parameters import Parameters, parameter
from ensclust._support.constraints import Interval, StrOptions, check_parameters
from ensclust._support.documentation import MethodInfo
from ensclust._support.quiet import muted
from ensclust._support.validation import (
    check_choice,
    check_n_clusters,
    check_random_state,
    check_weights,
)


def positive(kind: type = Integral) -> Interval:
    """Return the constraint of a parameter that counts something."""
    return Interval(kind, 1, None, closed="left")


class Method(Parameters):
    """A consensus method: parameters, and how Counts are solved.

    A method supplies ``_solve(counts, *, weights, seed)``: what it makes of the Counts
    of label rows, a Solution that can be cut into any number of clusters. ``weights``
    are those of the clusterings, above 0, or None; ``seed`` is the integer that
    determines random choices. Its parameters are annotated fields of its class.

    What users see is the estimator around it, see :mod:`ensclust._methods.estimators`.
    """

    info: ClassVar[MethodInfo] = MethodInfo("A method of your own", "", "", "", "")
    _pair_bytes: ClassVar[int] = 0  # that solving takes per pair of base clusters
    _k_words: ClassVar[tuple[str, ...]] = ("auto",)  # that may stand for a number

    n_clusters: Any = parameter(
        positive(), StrOptions({"auto"}), default=8, kw_only=False
    )
    n_clusterings: int = parameter(positive(), default=20, kw_only=False)
    base_k: Any = parameter(positive(), "array-like", None, default=None)
    base: Any = parameter(str, list, tuple, "estimator", default="kmeans")
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

    def _combine(self, labels: Any, ks: list, checkpoint: Any = None) -> driver.Solved:
        """Return the consensus of label rows for each k; nothing is fitted."""
        self._validate_params()
        counts = driver.count(self, labels, ks, checkpoint)
        solved = driver.solve(self, counts, ks, self._seeds()[1])
        return driver.leave_out(solved, self)

    def _seeds(self) -> list[int]:
        """Return the seeds for generation and for the method."""
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=2)
        return [int(seed) for seed in seeds]

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
        values = {name: getattr(self, name) for name in self._parameter_constraints}
        check_parameters(self._parameter_constraints, values, type(self).__name__)
        why = self.info.lacks.get("memberships")
        if why and getattr(self, "min_certainty", None) is not None:
            msg = (
                f"min_certainty={self.min_certainty!r} needs memberships, which "
                f"{type(self).__name__} does not have: {why}. Leave min_certainty out."
            )
            raise ValueError(msg)

    def _number_of(
        self, word: str, counts: Any, solution: Any, seed: int
    ) -> tuple[int, dict[str, Any]]:
        """Return the number of clusters that a word means, and fitted attributes."""
        return self._select(counts, seed)

    def _select(self, counts: Any, seed: int, **features) -> tuple[int, dict[str, Any]]:
        """Return the number that "auto" means; with features, noise is one cluster."""
        from ensclust._methods.selection import select_k  # noqa: PLC0415  solves too
        from ensclust._quality import k_selection as defaults  # noqa: PLC0415

        found = select_k(
            counts,
            criteria=[
                defaults.WITH_FEATURES if features else defaults.DEFAULT_CRITERION
            ],
            random_state=seed,
            n_jobs=self.n_jobs,
            **features,
        )
        return found.best_k, {"selection_": found}

    def _check_stream(self, ks: list) -> None:
        """Raise for what a stream cannot do, before it is read."""
        if "auto" in ks:
            msg = (
                "k = auto needs the labels in memory. Choose k on a sample, with "
                "select_k(sample) or compare(sample, k), and pass that number."
            )
            raise ValueError(msg)

    def _check_weighted(self, ks: list) -> None:
        """Raise for what cannot be done with objects that count as several."""
        if "auto" in ks:
            msg = (
                'sample_weight cannot be combined with n_clusters="auto": select_k '
                "counts every object once. Pass a number of clusters."
            )
            raise ValueError(msg)

    def _find_weights(self, counts: Any) -> np.ndarray | None:
        weights = getattr(self, "weights", None)
        if isinstance(weights, str):
            check_choice(weights, "weights", tuple(DERIVED_WEIGHTS))
            return DERIVED_WEIGHTS[weights](counts)
        return None if weights is None else check_weights(weights, counts.n_clusterings)

    def _needed_memory(self, counts: Counts) -> int:
        """Return the bytes that solving takes at least, in addition to the labels."""
        return self._pair_bytes * counts.n_base_clusters**2

    def _solve(
        self, counts: Counts, *, weights: np.ndarray | None, seed: int
    ) -> Solution:
        raise missing_hook(self, "_solve(counts, *, weights, seed)", "a Solution")


def missing_hook(method: Method, hook: str, what: str) -> NotImplementedError:
    """Return the error for a method that lacks what its family requires."""
    return NotImplementedError(
        f"{type(method).__name__} does not define {hook}, which returns {what}. See "
        'the page "Write a method" of the documentation.'
    )


def any_cut_is_fine():
    """Return a context without warnings about the result for a k that is only tried."""
    return muted(r"\w+ (formed \d+ of n_clusters|put \d+ of \d+ objects into)")
