"""From experiments to units of work, in the order that makes partial results useful."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ensclust import datasets
from ensclust._methods import METHODS as AVAILABLE
from ensclust._methods.families import Agglomeration
from ensclust.paper import protocol
from ensclust.paper.store import Key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ensclust.paper.store import Store

# What each name on the command line needs; the rest is drawn from the same results.
NEEDS = {
    "table1": (),
    "table2": ("compare",),
    "table3": ("compare",),
    "table4": ("steps",),
    "table5": ("steps",),
    "figure-size": ("sizes",),
    "figure-time": ("time",),
    "figure-fragments": ("fragments",),
}

# Stages in order: what every table needs first, what takes long last.
_COMPARE_TRUE, _COMPARE_BEST, _STEPS_TRUE, _STEPS_BEST, _SIZES = range(5)
_FIRST = (_COMPARE_TRUE, _SIZES)  # these have ensembles to make
_LARGE = 10  # added to the stage of sweeps on many objects
_MANY_OBJECTS = 15_000
_SLOW_ON_MANY = ("ptgp",)


@dataclass(frozen=True)
class Unit:
    """Scores that one process finds in one go: one dataset, run and ensemble size."""

    stage: int
    dataset: str
    run: int
    n_clusterings: int
    keys: tuple[Key, ...]

    @property
    def cost(self) -> float:
        """Return about the seconds it takes, for the estimate of the time left."""
        info = datasets.info(self.dataset)
        n = info.n_objects
        seconds = n * (3e-4 + 2e-6 * info.n_features) if self.stage in _FIRST else 0.0
        for key in self.keys:
            seconds += 0.02 + 1e-4 * n
            if key.part != "all":
                seconds += 2e-5 * n * len(clusters(key))
            if key.method in _SLOW_ON_MANY:
                seconds += 4e-8 * n**2
        return seconds

    def __str__(self) -> str:
        what = ", ".join(dict.fromkeys(key.method for key in self.keys))
        return f"{self.dataset} run {self.run + 1} M={self.n_clusterings} ({what})"


@dataclass(frozen=True)
class Selection:
    """What of the experiments is asked for."""

    needs: frozenset[str]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    runs: int
    size_runs: int = protocol.SIZE_RUNS
    is_swept: bool = True  # without, best-k is found only where it costs nothing


def plan(store: Store, selection: Selection) -> list[Unit]:
    """Return the units that are still to be done, first ones first."""
    units: dict[tuple[int, str, int, int], list[Key]] = {}
    for stage, key in _wanted(selection):
        is_asked = selection.is_swept or key.part != "rest"
        if is_asked and not store.has(key):
            place = (stage, key.dataset, key.run, key.n_clusterings)
            keys = units.setdefault(place, [])
            if key not in keys:
                keys.append(key)
    size = {name: i for i, name in enumerate(protocol.by_size(selection.datasets))}
    order = sorted(units, key=lambda u: (u[0], size[u[1]], u[2], u[3]))
    return [Unit(*place, tuple(units[place])) for place in order]


def clusters(key: Key) -> tuple[int, ...]:
    """Return the numbers of clusters that a file of scores has."""
    ks, true = protocol.sweep(key.dataset), protocol.true_k(key.dataset)
    if key.part == "all":
        return ks
    return (true,) if key.part == "true" else tuple(k for k in ks if k != true)


def parts(method: str) -> tuple[str, ...]:
    """Return the parts of a sweep: a tree gives all cuts at once."""
    return ("all",) if issubclass(AVAILABLE[method], Agglomeration) else _PARTS


_PARTS = ("true", "rest")


def default_steps(method: str) -> int | None:
    """Return the step length of the comparison, None for methods without."""
    return protocol.STEPS if method in protocol.PROPAGATING else None


def _wanted(selection: Selection) -> Iterator[tuple[int, Key]]:
    for name in selection.datasets:
        for method in selection.methods:
            usual = default_steps(method)
            if "compare" in selection.needs:
                yield from _keys(
                    name, method, selection.runs, protocol.N_CLUSTERINGS, usual,
                    (_COMPARE_TRUE, _COMPARE_BEST),
                )  # fmt: skip
            if "steps" in selection.needs and method in protocol.PROPAGATING:
                for steps in protocol.STEP_VALUES:
                    yield from _keys(
                        name, method, selection.runs, protocol.N_CLUSTERINGS, steps,
                        (_STEPS_TRUE, _STEPS_BEST),
                    )  # fmt: skip
            if "sizes" in selection.needs:
                for size in protocol.SIZES:
                    runs = min(selection.runs, selection.size_runs)
                    yield from _keys(name, method, runs, size, usual, (_SIZES, _SIZES))


def _keys(
    dataset: str,
    method: str,
    runs: int,
    n_clusterings: int,
    steps: int | None,
    stages: Sequence[int],
) -> Iterator[tuple[int, Key]]:
    """Yield the keys of one setting with the stages of true-k and of the sweep."""
    is_large = datasets.info(dataset).n_objects > _MANY_OBJECTS
    for part, usual in zip(parts(method), stages, strict=False):
        stage = usual
        if is_large and method in _SLOW_ON_MANY:
            stage += 2 * _LARGE
        elif is_large and stage != _COMPARE_TRUE:
            stage += _LARGE
        for run in range(runs):
            yield stage, Key(dataset, run, n_clusterings, method, steps, part)
