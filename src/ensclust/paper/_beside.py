"""Methods that are not in the paper, compared with its own on the same runs."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from ensclust._support.json_files import read_json, write_json
from ensclust._support.whole_files import write
from ensclust.paper import _layout, _protocol, _records, _scores
from ensclust.paper._paper import Score
from ensclust.paper._store import Store

RESULTS = "methods.jsonl.gz"
SUMMARY = "methods.json"
REFERENCE = "ecpcs-hc"  # the baseline of differences
MEASURES = ("nmi", "ari")
CRITERIA = ("true-k", "best of ten")


def write_comparison(store: Store) -> None:
    """Write the scores of all methods, their means and ranks.

    Does nothing if only the paper's own tables were requested. Without ``work``, the
    existing scores are kept.
    """
    scores = list(store.scores())
    lines = _lines(scores) if any(map(_records.is_beside, scores)) else []
    if not lines and not (store.root / RESULTS).exists():
        return
    found = summarize(_records.keep(store.root / RESULTS, lines))
    write_json(store.root / SUMMARY, found, indent=1)
    write(store.root / "methods.md", as_markdown(found))


def _lines(every: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a line per dataset, run and method, with what its scores allow."""
    by_k: dict[tuple, dict[int, dict[str, float]]] = defaultdict(dict)
    for scores in every:
        is_usual = scores["steps"] == _protocol.default_steps(scores["method"])
        if scores["n_clusterings"] == _protocol.N_CLUSTERINGS and is_usual:
            by_k[scores["dataset"], scores["run"], scores["method"]] |= {
                k: {m: scores[m][i] for m in MEASURES}
                for i, k in enumerate(scores["ks"])
            }
    lines = []
    for (dataset, run, method), own in sorted(by_k.items()):
        ks = (_protocol.true_k(dataset),), _protocol.few_k(dataset)
        best = {
            criterion: {m: max(own[k][m] for k in few) for m in MEASURES}
            for criterion, few in zip(CRITERIA, ks, strict=True)
            if own.keys() >= {*few}
        }
        lines.append({"dataset": dataset, "run": run, "method": method, **best})
    return lines


def summarize(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return means, ranks and standard errors for each criterion and measure.

    Over the datasets and runs that all methods with any results share.
    """
    found = []
    for criterion in CRITERIA:
        runs: dict[tuple, dict[str, dict]] = defaultdict(dict)
        for line in lines:
            if criterion in line:
                runs[line["dataset"], line["run"]][line["method"]] = line[criterion]
        methods = sorted(set().union(*runs.values()))
        whole = {run: own for run, own in runs.items() if len(own) == len(methods)}
        datasets = sorted({dataset for dataset, _ in whole})
        for measure in MEASURES if datasets else ():
            scores = [
                [[own[m][measure] for m in methods] for (d, _), own in whole.items()
                 if d == dataset]
                for dataset in datasets
            ]  # fmt: skip
            means = np.array([np.mean(own, axis=0) for own in scores])
            found.append(
                {
                    "criterion": criterion,
                    "measure": measure,
                    "datasets": datasets,
                    "n_runs": min(map(len, scores)),
                    "methods": _by_method(means, methods),
                }
            )
    return found


def _by_method(means: np.ndarray, methods: list[str]) -> dict[str, dict[str, float]]:
    """Return the statistics of each method, best rank first."""
    rows = [[Score(mean, 0) for mean in row] for row in means.tolist()]
    places = np.array(
        [
            list(_scores.ranks(dict(zip(methods, row, strict=True))).values())
            for row in rows
        ]
    )
    columns = {
        "score": means.mean(axis=0),
        "rank": places.mean(axis=0),
        "rank error": _standard_error(places),
    }
    if REFERENCE in methods:
        beyond = means - means[:, [methods.index(REFERENCE)]]
        columns["difference"] = beyond.mean(axis=0)
        columns["difference error"] = _standard_error(beyond)
    return {
        methods[j]: {what: round(float(v[j]), 3) for what, v in columns.items()}
        for j in np.argsort(columns["rank"], kind="stable")
    }


def _standard_error(values: np.ndarray) -> np.ndarray:
    """Return the standard error of the mean over datasets; 0 for one dataset."""
    n = len(values)
    return np.std(values, axis=0, ddof=int(n > 1)) / np.sqrt(n)


def as_markdown(found: list[dict[str, Any]]) -> str:
    """Return the comparison as a page."""
    paragraphs = [
        "# Methods on the paper's datasets",
        "The same base clusterings for every method: with as many clusters as there "
        "are classes, and the best of ten numbers of clusters, the same ten for every "
        "method. Mean score in percent; its difference from that of "
        f"{REFERENCE}, with the standard error over the datasets; mean rank (1 is "
        "best) with its standard error.",
    ]
    for table in found:
        rows = [
            [
                method,
                f"{own['score']:.1f}",
                f"{own['difference']:+.1f}{_error(own['difference error'], table)}"
                if "difference" in own
                else "",
                f"{own['rank']:.1f}{_error(own['rank error'], table)}",
            ]
            for method, own in table["methods"].items()
        ]
        head = ["method", "score", f"against {REFERENCE}", "rank"]
        paragraphs += [
            f"## {_protocol.TITLES[table['measure']]}, {table['criterion']}",
            f"{_runs(table)} of {', '.join(table['datasets'])}.",
            _layout.grid([head, *rows]),
        ]
    return "\n\n".join(paragraphs) + "\n"


def as_text(root: Path) -> str:
    """Return mean scores and ranks of all methods, for a terminal; "" for none."""
    found = read_json(root / SUMMARY)
    if not found:
        return ""
    head = "".join(
        f"{_protocol.TITLES[t['measure']]} {t['criterion']}".rjust(17) for t in found
    )
    cells = {
        method: "".join(_cell(t["methods"].get(method)) for t in found)
        for method in dict.fromkeys(m for t in found for m in t["methods"])
    }
    return "\n".join(
        [
            f"Methods on the same base clusterings, {_runs(found[0])} of",
            f"{', '.join(found[0]['datasets'])};",
            "mean score and, in parentheses, mean rank",
            "",
            f"{'':12}{head}",
            *(f"{method:12}{row}" for method, row in cells.items()),
        ]
    )


def _runs(table: dict[str, Any]) -> str:
    return f"{table['n_runs']} run{'s' * (table['n_runs'] != 1)}"


def _error(error: float, table: dict[str, Any]) -> str:
    """Return a standard error; empty for a single dataset."""
    return f" ± {error:.1f}" if len(table["datasets"]) > 1 else ""


def _cell(own: dict[str, float] | None) -> str:
    return (f"{own['score']:.1f} ({own['rank']:.1f})" if own else "").rjust(17)
