"""One unit of work: load an ensemble, compute consensus clusterings, score them."""

import platform
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib.metadata import version
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from ensclust import Ensemble, __version__, consensus, metrics, similarity
from ensclust._methods.table import has_parameter
from ensclust.paper import _protocol, _store
from ensclust.paper._plan import Unit
from ensclust.paper._store import Key, Store


def do(store: Store, unit: Unit) -> list[str]:
    """Run what is left of a unit, on one thread; return failures."""
    failures: list[str] = []
    with on_one_thread():
        keys = [key for key in unit.keys if not store.has(key)]
        ensemble = store.ensemble(unit.dataset, unit.run, unit.n_clusterings)
        # Keys that differ in steps are computed together, others one by one.
        swept = [key for key in keys if not key.is_usual]
        for group in [
            *([key] for key in keys if key.is_usual),
            *([swept] if swept else []),
        ]:
            what = f"{unit.dataset} run {unit.run + 1} {group[0].method}"
            with noting_failures(what, failures):
                _score(store, ensemble, group)
    return failures


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Limit libraries to one thread, and mute warnings about too many clusters."""
    from sklearn import cluster  # noqa: F401, PLC0415  loads OpenMP before the limit

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


@contextmanager
def noting_failures(what: str, failures: list[str]) -> Iterator[None]:
    """Add errors of a method to ``failures``, and continue."""
    try:
        yield
    except (ValueError, RuntimeError, MemoryError, ImportError) as error:
        failures.append(f"{what}: {type(error).__name__}: {error}")


def _score(store: Store, ensemble: Ensemble, keys: list[Key]) -> None:
    """Compute and store the scores of each key."""
    rules, dataset, run = store.protocol, keys[0].dataset, keys[0].run
    seed, y = rules.consensus_seed(dataset, run), _store.features(store, dataset)[1]
    find = _usual if keys[0].is_usual else _by_steps
    start = time.perf_counter()
    for key, labels in find(ensemble, keys, seed):
        store.put(
            key,
            {
                "seconds": time.perf_counter() - start,
                "ks": key.clusters,
                **{m: [100 * f(y, c) for c in labels.T] for m, f in _MEASURED.items()},
                "consensus_seed": seed,
                "ensemble_seeds": [
                    rules.ensemble_seed(dataset, run, b)
                    for b in range(-(-key.n_clusterings // _protocol.BLOCK))
                ],
                "versions": versions(),
            },
        )
        start = time.perf_counter()


def _nmi(a: np.ndarray, b: np.ndarray, mean: str = "geometric") -> float:
    """Return scikit-learn's NMI, to whose last digit committed scores are recorded."""
    from sklearn.metrics import normalized_mutual_info_score  # noqa: PLC0415

    return float(normalized_mutual_info_score(a, b, average_method=mean))


_MEASURED: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "nmi": _nmi,
    "ari": metrics.ari,
    "nmi-max": partial(_nmi, mean="max"),
}


def _usual(
    ensemble: Ensemble, keys: list[Key], seed: int
) -> Iterator[tuple[Key, np.ndarray]]:
    """Compute the consensus for each number of clusters of each key."""
    for key in keys:
        settings: dict = {} if key.steps is None else {"steps": key.steps}
        if has_parameter(key.method, "exact"):
            settings["exact"] = True
        yield (
            key,
            consensus(
                ensemble,
                list(key.clusters),
                key.method,
                random_state=seed,
                n_jobs=1,
                **settings,
            ),
        )


def _by_steps(
    ensemble: Ensemble, keys: list[Key], seed: int
) -> Iterator[tuple[Key, np.ndarray]]:
    """Compute the same for several step lengths, from one eigendecomposition.

    Other ways to propagate differ in the last digits, which can change a cut.
    """
    weights = similarity.jaccard(ensemble, n_jobs=1)
    # All lengths, even those already done: the result must not depend on which.
    steps = sorted({*_protocol.STEP_VALUES, *(key.steps or 1 for key in keys)})
    for length, Z in zip(steps, similarity.propagations(weights, steps), strict=True):
        chosen = [key for key in keys if key.steps == length]
        with mock.patch.object(similarity, "propagate", lambda *_, Z=Z, **__: Z):
            found = list(_usual(ensemble, chosen, seed))
        yield from found


@cache
def versions() -> dict[str, str]:
    """Return the versions on which results may depend."""
    packages = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "python": platform.python_version(),
        "ensclust": __version__,  # that of an editable installation may be older
        **{package: version(package) for package in packages},
    }
