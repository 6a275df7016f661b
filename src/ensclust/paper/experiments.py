"""Experiments beside the comparison: time of the consensus step, fragments."""

from __future__ import annotations

import json
import statistics
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from ensclust import consensus
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support.progress import progress
from ensclust.paper import protocol, records
from ensclust.paper.store import cluster, features, write_json
from ensclust.paper.work import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust.paper.store import Store

TIMES = "time.jsonl.gz"
_PATIENCE = 5.0  # seconds; what takes less is measured three times


def time_consensus(
    store: Store, methods: Sequence[str], *, quiet: bool = False
) -> list[str]:
    """Measure the consensus step against the number of objects; return failures.

    One thread, base clusterings excluded. What was measured before is kept.
    """
    todo = [
        (n, method)
        for n in protocol.TIME_OBJECTS
        for method in methods
        if not _time_path(store, method, n).exists()
    ]
    failures: list[str] = []
    ensemble, made = None, 0
    with (
        progress("timing", total=len(todo), quiet=quiet) as say,
        threadpool_limits(1),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", UserWarning)
        for n, method in todo:
            say(f"{method} with {n:,} objects")
            if ensemble is None or made != n:
                ensemble, made = _part_of_dataset(store, n), n
            try:
                facts = _time(store, ensemble, method)
            except (ValueError, RuntimeError, MemoryError, ImportError) as error:
                failures.append(f"time of {method}: {type(error).__name__}: {error}")
                continue
            write_json(_time_path(store, method, n), {"n": n, **facts})
    return failures


def times(store: Store) -> list[dict[str, Any]]:
    """Return what was measured, by method and number of objects, and write it.

    Where nothing was, as in a copy without ``work``, what was written is kept.
    """
    found = [json.loads(p.read_text()) for p in (store.work / "time").glob("*.json")]
    path = store.root / TIMES
    if not found and path.exists():
        return records.read(path)
    found.sort(key=lambda line: (line["method"], line["n"]))
    records.write_lines(path, found)
    return found


def _time_path(store: Store, method: str, n: int):
    return store.work / "time" / f"{method}-{n:05d}.json"


def _part_of_dataset(store: Store, n: int) -> Ensemble:
    """Return base clusterings of n objects, as the protocol makes them."""
    name = protocol.TIME_DATASET
    X, y = features(name, store.data_home, name in store.protocol.standardized)
    seed = store.protocol.consensus_seed(name, 0)
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:n])
    n_classes = int(y.max()) + 1
    rules, m = store.protocol, protocol.N_CLUSTERINGS
    return cluster(X[rows], n_classes, m, rules=rules, seed=seed)


def _time(store: Store, ensemble: Ensemble, method: str) -> dict[str, Any]:
    k, labels = protocol.true_k(protocol.TIME_DATASET), ensemble.labels
    seed = store.protocol.consensus_seed(protocol.TIME_DATASET, 0)
    options = {"random_state": seed, "n_jobs": 1}
    consensus(labels[:500], k, method, **options)  # compiles what is compiled
    seconds: list[float] = []
    while len(seconds) < (3 if not seconds or seconds[0] < _PATIENCE else 1):
        fresh = Ensemble(labels)  # what an ensemble remembers is counted too
        start = time.perf_counter()
        consensus(fresh, k, method, **options)
        seconds.append(time.perf_counter() - start)
    return {
        "method": method,
        "seconds": round(statistics.median(seconds), 4),
        "repeats": len(seconds),
        "n_base_clusters": ensemble.n_base_clusters,
        "versions": versions(),
    }


def fragments(store: Store) -> dict[str, Any]:
    """Count fragments of the first run as the ensemble grows, and by their size."""
    name = protocol.FRAGMENT_DATASET
    labels = store.ensemble(name, 0, max(protocol.FRAGMENT_SIZES)).labels
    growth = []
    for m in protocol.FRAGMENT_SIZES:
        part = Ensemble(labels[:, :m]) if m else None
        n_fragments = len(part.fragments().counts) if part else 1
        n_clusters = part.n_base_clusters if part else 0
        growth.append({"M": m, "clusters": n_clusters, "fragments": n_fragments})
    counts = Ensemble(labels[:, : protocol.N_CLUSTERINGS]).fragments().counts
    intervals = []
    for low, high in protocol.FRAGMENT_INTERVALS:
        chosen = counts[(counts >= low) & (counts <= (high or counts.max()))]
        intervals.append(
            {
                "from": low,
                "to": high,
                "fragments": len(chosen),
                "objects": int(chosen.sum()),
            }
        )
    return {
        "dataset": name,
        "objects": len(labels),
        "growth": growth,
        "intervals": intervals,
        "small_share": float(100 * (counts <= 2).mean()),
        "large_share": float(100 * (counts > 20).mean()),
        "large_objects": float(100 * counts[counts > 20].sum() / counts.sum()),
    }
