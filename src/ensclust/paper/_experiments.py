"""Experiments other than the comparison: time of the consensus step, fragments."""

import statistics
import time
from collections.abc import Sequence
from functools import lru_cache, partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ensclust import Ensemble, consensus
from ensclust._support.json_files import read_json, write_json
from ensclust.paper import _protocol, _records, _runner, _store, _work
from ensclust.paper._clusterings import cluster
from ensclust.paper._store import Store

TIMES = "time.jsonl.gz"
_PATIENCE = 5.0  # seconds; shorter runs are measured three times


class Timing(NamedTuple):
    """A method and the number of objects with which it is timed."""

    n: int
    method: str

    def __str__(self) -> str:
        return f"{self.method} with {self.n:,} objects"

    def path(self, store: Store) -> Path:
        """Return where the seconds are stored."""
        return store.work / "time" / f"{self.method}-{self.n:05d}.json"


def time_consensus(
    store: Store, methods: Sequence[str], *, quiet: bool = False
) -> list[str]:
    """Measure the consensus step against the number of objects; return failures.

    One thread, base clusterings excluded. Earlier measurements are kept.
    """
    every = (Timing(n, m) for n in _protocol.TIME_OBJECTS for m in methods)
    todo = [timing for timing in every if not timing.path(store).exists()]
    done = _runner.run(todo, partial(_time, store), title="timing", quiet=quiet)
    return [failure for _, failed in done for failure in failed]


def times(store: Store) -> list[dict[str, Any]]:
    """Return the measurements, by method and number of objects, and write them.

    Without any, as in a copy without ``work``, the existing file is kept.
    """
    found = map(read_json, (store.work / "time").glob("*.json"))
    return _records.keep(
        store.root / TIMES, sorted(found, key=itemgetter("method", "n"))
    )


@lru_cache(maxsize=1)
def _part_of_dataset(store: Store, n: int) -> Ensemble:
    """Return base clusterings of n objects, as defined by the protocol."""
    X, y = _store.features(store, _protocol.TIME_DATASET)
    seed = store.protocol.consensus_seed(_protocol.TIME_DATASET, 0)
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:n])
    return cluster(
        X[rows],
        int(y.max()) + 1,
        _protocol.N_CLUSTERINGS,
        rules=store.protocol,
        seed=seed,
    )


def _time(store: Store, timing: Timing) -> list[str]:
    """Measure one method and store the seconds; return failures."""
    failures: list[str] = []
    method, k = timing.method, _protocol.true_k(_protocol.TIME_DATASET)
    options = {
        "random_state": store.protocol.consensus_seed(_protocol.TIME_DATASET, 0),
        "n_jobs": 1,
    }
    seconds: list[float] = []
    with _work.on_one_thread(), _work.noting_failures(f"time of {method}", failures):
        ensemble = _part_of_dataset(store, timing.n)
        consensus(ensemble.labels[:500], k, method, **options)  # compiles
        while len(seconds) < (3 if not seconds or seconds[0] < _PATIENCE else 1):
            fresh = Ensemble(ensemble.labels)  # without cached counts
            start = time.perf_counter()
            consensus(fresh, k, method, **options)
            seconds.append(time.perf_counter() - start)
        write_json(
            timing.path(store),
            {
                "n": timing.n,
                "method": method,
                "seconds": round(statistics.median(seconds), 4),
                "repeats": len(seconds),
                "n_base_clusters": ensemble.n_base_clusters,
                "versions": _work.versions(),
            },
            sort_keys=True,
        )
    return failures


def fragments(store: Store) -> dict[str, Any]:
    """Count fragments of the first run as the ensemble grows, and by their size."""
    name = _protocol.FRAGMENT_DATASET
    labels = store.ensemble(name, 0, max(_protocol.FRAGMENT_SIZES)).labels
    parts = ((m, Ensemble(labels[:, :m])) for m in _protocol.FRAGMENT_SIZES if m)
    counts = Ensemble(labels[:, : _protocol.N_CLUSTERINGS]).fragments().counts
    chosen = {
        (low, high): counts[(counts >= low) & (counts <= (high or counts.max()))]
        for low, high in _protocol.FRAGMENT_INTERVALS
    }
    return {
        "dataset": name,
        "objects": len(labels),
        "growth": [
            {"M": 0, "clusters": 0, "fragments": 1},
            *(
                {
                    "M": m,
                    "clusters": part.n_base_clusters,
                    "fragments": len(part.fragments().counts),
                }
                for m, part in parts
            ),
        ],
        "intervals": [
            {"from": low, "to": high, "fragments": len(own), "objects": int(own.sum())}
            for (low, high), own in chosen.items()
        ],
        "small_share": float(100 * (counts <= 2).mean()),
        "large_share": float(100 * (counts > 20).mean()),
        "large_objects": float(100 * counts[counts > 20].sum() / counts.sum()),
    }
