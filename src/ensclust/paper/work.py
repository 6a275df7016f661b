"""One unit of work: load an ensemble, find consensus clusterings, score them."""

from __future__ import annotations

import platform
import time
import warnings
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from ensclust import consensus, metrics, similarity
from ensclust._methods.ecpcs import ECPCSHC, ECPCSMC
from ensclust._trees.coassociation import CoAssociation
from ensclust.paper import protocol
from ensclust.paper.plan import clusters, default_steps
from ensclust.paper.store import features

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from ensclust._ensemble.ensemble import Ensemble
    from ensclust.paper.plan import Unit
    from ensclust.paper.store import Key, Store


def do(store: Store, unit: Unit) -> list[str]:
    """Do what is missing of a unit, on one thread; return what went wrong."""
    from sklearn import cluster  # noqa: F401, PLC0415  loads OpenMP before the limit

    failures = []
    with threadpool_limits(1), warnings.catch_warnings():
        # Sweeps ask for more clusters than some ensembles tell apart.
        warnings.simplefilter("ignore", UserWarning)
        keys = [key for key in unit.keys if not store.has(key)]
        ensemble = store.ensemble(unit.dataset, unit.run, unit.n_clusterings)
        for group in _groups(keys):
            try:
                _score(store, ensemble, group)
            except (ValueError, RuntimeError, MemoryError, ImportError) as error:
                what = f"{unit.dataset} run {unit.run + 1} {group[0].method}"
                failures.append(f"{what}: {type(error).__name__}: {error}")
    return failures


def _groups(keys: list[Key]) -> list[list[Key]]:
    """Return keys that are found together: one each, or all that differ in steps."""
    swept = [key for key in keys if key.steps != default_steps(key.method)]
    alone = [[key] for key in keys if key not in swept]
    return [*alone, swept] if swept else alone


def _score(store: Store, ensemble: Ensemble, keys: list[Key]) -> None:
    """Find and keep the scores of each key."""
    dataset, run = keys[0].dataset, keys[0].run
    seed = store.protocol.consensus_seed(dataset, run)
    is_standardized = dataset in store.protocol.standardized
    y = features(dataset, store.data_home, is_standardized)[1]
    found = _usual if len(keys) == 1 and _is_usual(keys[0]) else _by_steps
    start = time.perf_counter()
    for key, labels in found(ensemble, keys, seed):
        seconds = time.perf_counter() - start
        facts = {
            "ks": clusters(key),
            **{m: [100 * f(y, c) for c in labels.T] for m, f in _MEASURED.items()},
            "seconds": seconds,
            "consensus_seed": seed,
            "ensemble_seeds": [
                store.protocol.ensemble_seed(dataset, run, block)
                for block in range(-(-key.n_clusterings // protocol.BLOCK))
            ],
            "versions": versions(),
        }
        store.put(key, facts)
        start = time.perf_counter()


def _nmi_max(a: np.ndarray, b: np.ndarray) -> float:
    from sklearn.metrics import normalized_mutual_info_score  # noqa: PLC0415

    return float(normalized_mutual_info_score(a, b, average_method="max"))


_MEASURED = {"nmi": metrics.nmi, "ari": metrics.ari, "nmi-max": _nmi_max}


def _is_usual(key: Key) -> bool:
    return key.steps == default_steps(key.method)


def _usual(
    ensemble: Ensemble, keys: list[Key], seed: int
) -> Iterator[tuple[Key, np.ndarray]]:
    for key in keys:
        ks = list(clusters(key))
        yield key, consensus(ensemble, ks, key.method, random_state=seed, n_jobs=1)


def _by_steps(
    ensemble: Ensemble, keys: list[Key], seed: int
) -> Iterator[tuple[Key, np.ndarray]]:
    """Find the consensus for several step lengths from one eigendecomposition."""
    import numpy as np  # noqa: PLC0415

    weights = similarity.jaccard(ensemble, n_jobs=1)
    # All lengths, also those that are done: what is found must not depend on which.
    asked = {key.steps for key in keys if key.steps is not None}
    steps = sorted({*protocol.STEP_VALUES, *asked})
    for length, Z in zip(steps, similarity.propagations(weights, steps), strict=True):
        for key in keys:
            if key.steps != length:
                continue
            model = _GIVEN[key.method](base="precomputed", random_state=seed, n_jobs=1)
            model.given = Z
            yield key, np.column_stack(model._fit_all(ensemble, list(clusters(key))))


class _GivenHC(ECPCSHC):
    """ECPCS-HC with a similarity that is there already."""

    given: np.ndarray

    def _coassociation(self, ensemble: Ensemble) -> CoAssociation:
        return CoAssociation(ensemble, self.given)


class _GivenMC(ECPCSMC):
    """ECPCS-MC with a similarity that is there already."""

    given: np.ndarray

    def _similarity(self, ensemble: Ensemble) -> np.ndarray:
        return self.given


_GIVEN: dict[str, type[_GivenHC | _GivenMC]] = {
    "ecpcs-hc": _GivenHC,
    "ecpcs-mc": _GivenMC,
}


@cache
def versions() -> dict[str, str]:
    """Return the versions that results may depend on."""
    packages = ("ensclust", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "python": platform.python_version(),
        **{package: version(package) for package in packages},
    }
