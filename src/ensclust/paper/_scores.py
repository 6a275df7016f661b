"""Means over runs, ranks, and their distance from the published ones."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ensclust.paper import _paper, _protocol
from ensclust.paper._paper import Score

POINTS = 2.0  # tolerance in points, or in published deviations


class Setting(NamedTuple):
    """What is averaged over runs."""

    measure: str
    dataset: str
    criterion: str
    method: str
    n_clusterings: int = _protocol.N_CLUSTERINGS
    steps: int | None = None


class Cell(NamedTuple):
    """Our score of a method and the published one."""

    setting: Setting
    ours: Score
    published: Score

    @property
    def difference(self) -> float:
        """Return ours minus the published mean."""
        return self.ours.mean - self.published.mean

    @property
    def deviations(self) -> float:
        """Return the difference in published standard deviations."""
        return self.difference / self.published.std

    @property
    def is_inside(self) -> bool:
        """Whether they differ by at most 2 deviations or 2 points."""
        return abs(self.difference) <= max(2 * self.published.std, POINTS)


def average(results: Iterable[dict[str, Any]]) -> dict[Setting, Score]:
    """Return mean and standard deviation over runs of each setting."""
    values = defaultdict(list)
    for line in results:
        for measure in _protocol.MEASURES:
            setting = Setting(measure, *(line[name] for name in Setting._fields[1:]))
            values[setting].append(line[measure]["score"])
    return {
        setting: Score(
            float(np.mean(v)), float(np.std(v, ddof=1)) if len(v) > 1 else 0.0, len(v)
        )
        for setting, v in values.items()
    }


def shared_runs(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of runs that a method has completed for all of its M.

    Runs differ more than ensembles of 20 and 30 clusterings do, so a curve over M must
    use the same runs throughout.
    """
    lines = list(results)
    runs: dict[tuple, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for line in lines:
        runs[_curve(line)][line["n_clusterings"]].add(line["run"])
    shared = {curve: set.intersection(*by_m.values()) for curve, by_m in runs.items()}
    return [line for line in lines if line["run"] in shared[_curve(line)]]


def _curve(line: dict[str, Any]) -> tuple:
    return tuple(line[name] for name in ("dataset", "criterion", "method", "steps"))


def compared(
    averages: dict[Setting, Score], measure: str, dataset: str, criterion: str
) -> dict[str, Score]:
    """Return our scores of the methods in the comparison of Table II or III.

    None for best-k while a method has only true-k: trees give the sweep for free, and
    ranks among them alone would be misleading.
    """
    usual = {method: _protocol.default_steps(method) for method in _protocol.METHODS}
    found = {
        method: averages[setting]
        for method, steps in usual.items()
        if (setting := Setting(measure, dataset, criterion, method, steps=steps))
        in averages
    }
    is_swept = criterion == "best-k"
    others = compared(averages, measure, dataset, "true-k") if is_swept else found
    return found if found.keys() == others.keys() else {}


def rows(
    averages: dict[Setting, Score], measure: str, criterion: str
) -> list[tuple[dict[str, Score], dict[str, Score]]]:
    """Return our and the published row of each dataset, with the same methods."""
    found = (
        (
            compared(averages, measure, d, criterion),
            _paper.compared(measure, d, criterion),
        )
        for d in _protocol.DATASETS
    )
    return [(ours, {m: theirs[m] for m in ours}) for ours, theirs in found if ours]


def cells(averages: dict[Setting, Score]) -> list[Cell]:
    """Return every cell of Tables II and III that we have."""
    return [
        Cell(Setting(measure, dataset, criterion, method), score, published[method])
        for measure in _protocol.MEASURES
        for dataset in _protocol.DATASETS
        for criterion in _protocol.CRITERIA
        if (published := _paper.compared(measure, dataset, criterion))
        for method, score in compared(averages, measure, dataset, criterion).items()
    ]


def ranks(row: dict[str, Score]) -> dict[str, int]:
    """Return the rank of each method; means that print equal share the better one.

    Examples
    --------
    >>> ranks({"a": Score(1, 0), "b": Score(3, 0), "c": Score(2.999, 0)})
    {'a': 3, 'b': 1, 'c': 1}
    """
    means = {method: round(score.mean, 2) for method, score in row.items()}
    return {
        method: 1 + sum(other > mean for other in means.values())
        for method, mean in means.items()
    }


def mean_scores(rows: list[dict[str, Score]]) -> dict[str, float]:
    """Return the mean over datasets of each method that is in all rows."""
    return {m: float(np.mean([row[m].mean for row in rows])) for m in _common(rows)}


def mean_ranks(rows: list[dict[str, Score]]) -> dict[str, float]:
    """Return the mean rank over datasets of each method that is in all rows."""
    return {m: float(np.mean(places)) for m, places in _places(rows).items()}


def times_ranked(rows: list[dict[str, Score]], place: int) -> dict[str, int]:
    """Return in how many rows each method has this rank or better."""
    return {m: sum(p <= place for p in places) for m, places in _places(rows).items()}


def _places(rows: list[dict[str, Score]]) -> dict[str, list[int]]:
    """Return the rank in each row of each method that is in all rows."""
    methods = _common(rows)
    found = [ranks({m: row[m] for m in methods}) for row in rows]
    return {m: [place[m] for place in found] for m in methods}


def _common(rows: list[dict[str, Score]]) -> list[str]:
    return [m for m in _protocol.METHODS if rows and all(m in row for row in rows)]
