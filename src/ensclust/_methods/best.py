"""BestConsensus: several methods, of which the one that agrees best is kept."""

from __future__ import annotations

import time
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

from ensclust._ensemble.agreement import mean_nmi
from ensclust._methods.base import BaseConsensus, fewer_clusters_are_fine
from ensclust._support.documentation import MethodInfo, document
from ensclust._support.validation import check_choices

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ensclust._ensemble.ensemble import Ensemble

QUICK = ("ecpcs-hc", "ecpcs-mc", "eac", "kcc")
LINEAR = ("ecpcs-mc", "kcc")  # in the number of objects
MANY_ROWS = 20_000  # distinct label rows above which QUICK is LINEAR


@document
class BestConsensus(BaseConsensus):
    """Run several methods and keep the result that agrees best with the inputs.

    The supra-consensus of Strehl and Ghosh: agreement is the mean normalised mutual
    information with the base clusterings (ANMI), so no truth is needed. Choose it when
    no method is known to suit the data, and look at ``comparison_``.

    Parameters
    ----------
    $n_clusters
    $n_clusterings
    $base_k
    methods : sequence of str or None, default=None
        Names of methods, see :func:`ensclust.methods`. None is "ecpcs-hc", "ecpcs-mc",
        "eac" and "kcc", and for more than 20,000 distinct label rows the two of them
        that are linear in the number of objects, "ecpcs-mc" and "kcc".
    $base
    $noise
    $random_state
    $n_jobs

    Attributes
    ----------
    $labels_
    $ensemble_
    $n_clusters_
    $n_features_in_
    best_method_ : str
        The method whose labels these are.
    comparison_ : list of dict
        For each method "method", "anmi", "n_clusters" and "seconds", best first. Make a
        table of it with ``pandas.DataFrame(model.comparison_)``.

    Notes
    -----
    Time and memory are those of the methods, one after the other, and N M for each
    ANMI. With an integer random_state the labels are those that ``best_method_`` gives
    on its own. A method that forms fewer than n_clusters comes after all that form
    more. ANMI rewards what it measures: a finer consensus scores higher, so it compares
    methods at one number of clusters, not numbers of clusters.

    References
    ----------
    A. Strehl, J. Ghosh. Cluster Ensembles: A Knowledge Reuse Framework for Combining
    Multiple Partitions. Journal of Machine Learning Research 3, 2002.
    doi:10.1162/153244303321897735

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import BestConsensus
    >>> model = BestConsensus(3, methods=["eac", "ecpcs-mc"], random_state=0)
    >>> labels = model.fit_predict(load_iris().data)
    >>> sorted(row["method"] for row in model.comparison_)
    ['eac', 'ecpcs-mc']
    """

    info = MethodInfo(
        "Best of several methods",
        doi="10.1162/153244303321897735",
        level="object",
        time="that of the methods",
        memory="that of the methods",
    )
    _parameter_constraints: ClassVar[dict] = {
        **BaseConsensus._parameter_constraints,
        "methods": ["array-like", None],
    }

    def __init__(
        self,
        n_clusters=8,
        n_clusterings=20,
        *,
        base_k=None,
        methods=None,
        base="kmeans",
        noise="missing",
        random_state=None,
        n_jobs=None,
    ):
        super().__init__(
            n_clusters,
            n_clusterings,
            base_k=base_k,
            base=base,
            noise=noise,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.methods = methods

    def _cuts(self, ensemble: Ensemble, ks: list) -> Iterator[np.ndarray]:
        runs = [self._run(name, ensemble, ks) for name in self._names(ensemble)]
        for found in zip(*runs, strict=True):
            # Stable: of equally good methods the one that was named first.
            ranked = sorted(found, key=lambda f: (-f[1]["n_clusters"], -f[1]["anmi"]))
            self.comparison_ = [row for _, row in ranked]
            self.best_method_ = self.comparison_[0]["method"]
            yield ranked[0][0]

    def _run(self, name: str, ensemble: Ensemble, ks: list) -> list[tuple]:
        """Return the labels of a method and its row of the comparison, for each k."""
        from ensclust._methods import METHODS  # noqa: PLC0415  the table knows this too

        # An integer makes the method's labels those that it gives on its own.
        own = isinstance(self.random_state, Integral)
        seed = self.random_state if own else self._seed
        model = METHODS[name](base="precomputed", random_state=seed, n_jobs=self.n_jobs)
        start = time.perf_counter()
        with fewer_clusters_are_fine():
            columns = model._fit_all(ensemble, ks)
        seconds = (time.perf_counter() - start) / len(ks)
        return [
            (labels, self._row(name, ensemble, labels, seconds)) for labels in columns
        ]

    def _row(self, name, ensemble, labels, seconds) -> dict[str, Any]:
        return {
            "method": name,
            "anmi": mean_nmi(ensemble, labels),
            "n_clusters": int(labels.max()) + 1,
            "seconds": seconds,
        }

    def _method_name(self) -> str:
        return f"best ({self.best_method_})"

    def _names(self, ensemble: Ensemble) -> list[str]:
        if self.methods is None:
            n_distinct = len(ensemble.fragments().counts)
            return list(QUICK if n_distinct <= MANY_ROWS else LINEAR)
        from ensclust._methods import methods  # noqa: PLC0415  the table knows this too

        return check_choices(self.methods, "methods", tuple(methods()))
