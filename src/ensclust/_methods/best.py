"""BestConsensus: several methods, of which the one that agrees best is kept."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from ensclust._ensemble.agreement import mean_nmi
from ensclust._ensemble.flow import Counts, Cut, Solution
from ensclust._kernels._compiling import stopwatch
from ensclust._methods import driver
from ensclust._methods.base import BaseConsensus, labels_needed
from ensclust._methods.parameters import parameter
from ensclust._methods.table import METHODS
from ensclust._support.documentation import MethodInfo
from ensclust._support.progress import phase
from ensclust._support.validation import check_choices

QUICK = ("ecpcs-hc", "ecpcs-mc", "eac", "kcc")
LINEAR = ("ecpcs-mc", "kcc")  # in the number of objects
MANY_ROWS = 20_000  # distinct label rows above which QUICK is LINEAR


class BestConsensus(BaseConsensus):
    """Run several methods and keep the result that agrees best with the inputs.

    The supra-consensus of Strehl and Ghosh: agreement is the mean normalised mutual
    information with the base clusterings (ANMI), so no truth is needed. Choose it when
    no method is known to suit the data, and look at ``comparison_``.

    Parameters
    ----------
    $parameters
    methods : sequence of str or None, default=None
        Names of methods, see :func:`ensclust.methods`. None is "ecpcs-hc", "ecpcs-mc",
        "eac" and "kcc", and for more than 20,000 distinct label rows the two of them
        that are linear in the number of objects, "ecpcs-mc" and "kcc".

    Attributes
    ----------
    $attributes
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

    methods: Any = parameter("array-like", None, default=None)

    def _solve(self, counts: Counts, *, weights, seed: int) -> BestOf:
        # An integer makes the method's labels those that it gives on its own.
        own = isinstance(self.random_state, Integral)
        shared: dict[str, Any] = {
            "base": "precomputed",
            "n_jobs": self.n_jobs,
            "random_state": self.random_state if own else seed,
        }
        runs = []
        for name in self._names(counts):
            model = METHODS[name](**shared)
            driver.require_memory(model, counts)
            with phase(name):
                seconds = stopwatch()
                solution = model._solve(counts, weights=None, seed=model._seeds()[1])
                runs.append((name, solution, seconds()))
        return BestOf(runs, self.n_jobs)

    def _check_stream(self, ks: list) -> None:
        what = 'method="best"'
        raise labels_needed(what)

    def _method_name(self) -> str:
        return f"best ({self.best_method_})"

    def _names(self, counts: Counts) -> list[str]:
        if self.methods is None:
            is_small = len(counts.fragments().counts) <= MANY_ROWS
            return list(QUICK if is_small else LINEAR)
        return check_choices(self.methods, "methods", tuple(METHODS))


@dataclass(frozen=True, eq=False)
class BestOf:
    """A Solution: those of several methods, and the seconds that each took."""

    runs: list[tuple[str, Solution, float]]
    n_jobs: int | None

    def cut(self, n_clusters: int, counts: Any) -> Cut:
        """Cut all of them, and keep what agrees best with the inputs."""
        found: list[tuple] = []
        for name, solution, seconds in self.runs:
            more = stopwatch()
            own = driver.numbered(solution.cut(n_clusters, counts), counts, self.n_jobs)
            row = {
                "method": name,
                "anmi": mean_nmi(counts, own.labels),
                "n_clusters": own.n_clusters,
                "seconds": seconds + more(),
            }
            found.append((own, row))
        # Stable: of equally good methods the one that was named first.
        found.sort(key=lambda pair: (-pair[1]["n_clusters"], -pair[1]["anmi"]))
        best, rows = found[0][0], [row for _, row in found]
        fitted = {"comparison_": rows, "best_method_": rows[0]["method"]}
        return Cut(best.assignment, best.n_clusters, fitted, best.labels)
