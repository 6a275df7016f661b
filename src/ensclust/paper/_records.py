"""Results from scores: one JSON line per dataset, run, setting, method and criterion.

Lines are sorted and contain nothing that changes from one run of the program to the
next; timings are in a separate file, with the same keys.
"""

from pathlib import Path
from typing import Any

from ensclust._support.json_files import read_lines, write_lines
from ensclust.paper import _protocol
from ensclust.paper._store import Store

SETTING = ("dataset", "n_clusterings", "method", "steps", "run")
ORIGIN = ("consensus_seed", "ensemble_seeds", "versions")
RESULTS = "results.jsonl.gz"
TIMINGS = "timings.jsonl.gz"


def collect(store: Store) -> list[dict[str, Any]]:
    """Write results and timings of all scores of a store; return the results.

    Only for the paper's methods; ``_beside`` handles the others. If there are no
    scores, as in a copy without ``work``, existing results are kept.
    """
    merged: dict[tuple, dict[str, Any]] = {}
    for scores in store.scores():
        if is_beside(scores):
            continue
        setting = tuple(scores[name] for name in SETTING)
        found = merged.setdefault(setting, {**scores, "by_k": {}, "seconds": {}})
        found["by_k"] |= {
            k: {m: scores[m][i] for m in _protocol.MEASURES}
            for i, k in enumerate(scores["ks"])
        }
        found["seconds"][scores["part"]] = round(scores["seconds"], 4)
    order = sorted(merged, key=lambda s: tuple(-1 if v is None else v for v in s))
    if order:
        write_lines(
            store.root / TIMINGS,
            [{n: merged[s][n] for n in (*SETTING, "seconds")} for s in order],
        )
    return keep(
        store.root / RESULTS, [line for s in order for line in judge(merged[s])]
    )


def is_beside(scores: dict[str, Any]) -> bool:
    """Whether scores are not part of the paper's tables."""
    return scores["method"] not in _protocol.METHODS or scores["part"] == "few"


def keep(path: Path, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write lines and return them; without any, return those of the file."""
    if not lines and path.exists():
        return read_lines(path)
    write_lines(path, lines)
    return lines


def judge(scores: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of the criteria for which the scores of one setting suffice.

    best-k uses, for each measure separately, the best k of the sweep (the smallest in
    case of ties).
    """
    by_k, dataset = scores["by_k"], scores["dataset"]
    ks = {"true-k": (_protocol.true_k(dataset),), "best-k": _protocol.sweep(dataset)}
    return [
        {
            **{name: scores[name] for name in SETTING},
            "criterion": criterion,
            **{m: _best(by_k, ks[criterion], m) for m in _protocol.MEASURES},
            **{name: scores[name] for name in ORIGIN},
        }
        for criterion in _protocol.CRITERIA
        if by_k.keys() >= set(ks[criterion])
    ]


def _best(
    by_k: dict[int, dict[str, float]], ks: tuple[int, ...], measure: str
) -> dict[str, Any]:
    """Return the best score of a measure and its number of clusters."""
    k = max(ks, key=lambda k: by_k[k][measure])
    return {"k": k, "score": by_k[k][measure]}
