"""Results from scores: one JSON line per dataset, run, setting, method and criterion.

Lines are sorted and hold nothing that changes from one run of the program to the next;
what was measured with a clock is in a file of its own, with the same keys.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

from ensclust.paper import protocol
from ensclust.paper.store import write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ensclust.paper.store import Store

SETTING = ("dataset", "n_clusterings", "method", "steps", "run")
RESULTS = "results.jsonl.gz"
TIMINGS = "timings.jsonl.gz"


def collect(store: Store) -> list[dict[str, Any]]:
    """Write results and timings of all scores of a store; return the results.

    Where there are no scores, as in a copy without ``work``, results are kept.
    """
    merged: dict[tuple, dict[str, Any]] = {}
    if not store.has_scores() and (store.root / RESULTS).exists():
        return read(store.root / RESULTS)
    for scores in store.scores():
        setting = tuple(scores[name] for name in SETTING)
        found = merged.setdefault(setting, {**scores, "by_k": {}, "seconds": {}})
        for i, k in enumerate(scores["ks"]):
            found["by_k"][k] = {m: scores[m][i] for m in protocol.MEASURES}
        found["seconds"][scores["part"]] = round(scores["seconds"], 4)
    order = sorted(merged, key=lambda s: tuple(-1 if v is None else v for v in s))
    results = [line for s in order for line in judge(merged[s])]
    timings = [
        {**dict(zip(SETTING, s, strict=True)), "seconds": merged[s]["seconds"]}
        for s in order
    ]
    write_lines(store.root / RESULTS, results)
    write_lines(store.root / TIMINGS, timings)
    return results


def judge(scores: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of the criteria that the scores of one setting suffice for.

    best-k takes, for each measure separately, the best k of the sweep (the least of
    equally good ones).
    """
    by_k, dataset = scores["by_k"], scores["dataset"]
    shared = {name: scores[name] for name in SETTING}
    origin = {
        name: scores[name] for name in ("consensus_seed", "ensemble_seeds", "versions")
    }
    lines = []
    if (k := protocol.true_k(dataset)) in by_k:
        found = {m: {"k": k, "score": by_k[k][m]} for m in protocol.MEASURES}
        lines.append({**shared, "criterion": "true-k", **found, **origin})
    if all(k in by_k for k in protocol.sweep(dataset)):
        found = {m: best(by_k, m) for m in protocol.MEASURES}
        lines.append({**shared, "criterion": "best-k", **found, **origin})
    return lines


def best(by_k: dict[int, dict[str, float]], measure: str) -> dict[str, Any]:
    """Return the best score of a measure and its number of clusters."""
    k = max(sorted(by_k), key=lambda k: by_k[k][measure])
    return {"k": k, "score": by_k[k][measure]}


def read(path: Path) -> list[dict[str, Any]]:
    """Return compressed JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    """Write compressed JSON lines, the same bytes for the same lines."""
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    write(path, gzip.compress(text.encode(), mtime=0))
