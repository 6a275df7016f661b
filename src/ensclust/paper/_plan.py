"""Split experiments into units of work, ordered so that partial results are useful."""

from collections.abc import Iterator
from dataclasses import dataclass

from ensclust import datasets
from ensclust._methods import METHODS
from ensclust.paper import _protocol
from ensclust.paper._store import Key, Store

# What each name on the command line needs; the rest uses the same results.
NEEDS = {
    "table1": (),
    "table2": ("compare",),
    "table3": ("compare",),
    "table4": ("steps",),
    "table5": ("steps",),
    "figure-size": ("sizes",),
    "figure-time": ("time",),
    "figure-fragments": ("fragments",),
    "methods": ("methods",),
}

# Stages in order: what every table needs first, what takes long last.
_COMPARE_TRUE, _COMPARE_BEST, _STEPS_TRUE, _STEPS_BEST, _SIZES = range(5)
_FIRST = (_COMPARE_TRUE, _SIZES)  # these generate ensembles
_LARGE = 10  # added to the stage of sweeps on many objects
_MANY_OBJECTS = 15_000
_SLOW_ON_MANY = ("ptgp", "pta")


@dataclass(frozen=True)
class Unit:
    """Scores that one process computes together: one dataset, run and ensemble size."""

    stage: int
    dataset: str
    run: int
    n_clusterings: int
    keys: tuple[Key, ...]

    @property
    def cost(self) -> float:
        """Return the approximate seconds it takes, to estimate the time left."""
        info = datasets.info(self.dataset)
        n = info.n_objects
        made = n * (3e-4 + 2e-6 * info.n_features) if self.stage in _FIRST else 0.0
        return made + sum(
            (0.02 + 1e-4 * n)
            + 2e-5 * n * len(key.clusters) * (key.part != "all")
            + 4e-8 * n**2 * (key.method in _SLOW_ON_MANY)
            for key in self.keys
        )

    def __str__(self) -> str:
        names = list(dict.fromkeys(key.method for key in self.keys))
        what = names[0] if len(names) == 1 else f"{len(names)} methods"
        return f"{self.dataset} run {self.run + 1} M={self.n_clusterings} {what}"


@dataclass(frozen=True)
class Selection:
    """The requested experiments."""

    needs: frozenset[str]
    datasets: tuple[str, ...]
    methods: tuple[str, ...]
    runs: int
    size_runs: int = _protocol.SIZE_RUNS
    is_swept: bool = True  # if False, best-k only where it comes for free


def plan(store: Store, selection: Selection) -> list[Unit]:
    """Return the units that are left to do, in order."""
    units: dict[tuple[int, str, int, int], dict[Key, None]] = {}
    for stage, key in _wanted(selection):
        if (selection.is_swept or key.part != "rest") and not store.has(key):
            place = (stage, key.dataset, key.run, key.n_clusterings)
            units.setdefault(place, {})[key] = None
    size = {name: i for i, name in enumerate(_protocol.by_size(selection.datasets))}
    order = sorted(units, key=lambda u: (u[0], size[u[1]], u[2], u[3]))
    return [Unit(*place, tuple(units[place])) for place in order]


def parts(method: str) -> tuple[str, ...]:
    """Return the parts of a sweep: a tree gives all cuts at once."""
    is_tree = METHODS.method(method).info.family == "tree"
    return ("all",) if is_tree else ("true", "rest")


def _wanted(selection: Selection) -> Iterator[tuple[int, Key]]:
    """Yield the keys with their stages."""
    for name in selection.datasets:
        is_large = datasets.info(name).n_objects > _MANY_OBJECTS
        if "methods" in selection.needs:
            yield from _few(selection, name)
        for method in selection.methods:
            is_slow = is_large and method in _SLOW_ON_MANY
            for runs, size, steps, stages in _settings(selection, method):
                for part, usual in zip(parts(method), stages, strict=False):
                    is_later = is_large and usual != _COMPARE_TRUE
                    stage = usual + _LARGE * (2 if is_slow else is_later)
                    for run in range(runs):
                        yield stage, Key(name, run, size, method, steps, part)


def _few(selection: Selection, dataset: str) -> Iterator[tuple[int, Key]]:
    """Yield what the comparison of all methods needs for a dataset."""
    for method in selection.methods:
        steps, m = _protocol.default_steps(method), _protocol.N_CLUSTERINGS
        for run in range(selection.runs):
            yield _COMPARE_TRUE, Key(dataset, run, m, method, steps, "few")


def _settings(
    selection: Selection, method: str
) -> Iterator[tuple[int, int, int | None, tuple[int, int]]]:
    """Yield runs, M, t and the stages of true-k and of the sweep."""
    usual, m = _protocol.default_steps(method), _protocol.N_CLUSTERINGS
    if "compare" in selection.needs:
        yield selection.runs, m, usual, (_COMPARE_TRUE, _COMPARE_BEST)
    if "steps" in selection.needs and usual is not None:
        for steps in _protocol.STEP_VALUES:
            yield selection.runs, m, steps, (_STEPS_TRUE, _STEPS_BEST)
    for size in _protocol.SIZES if "sizes" in selection.needs else ():
        runs = min(selection.runs, selection.size_runs)
        yield runs, size, usual, (_SIZES, _SIZES)
