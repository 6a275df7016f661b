"""How often and how closely each criterion finds the number of classes.

``python -m benchmarks.select_k`` writes benchmarks/results/select_k.json and .md, and
the marked part of docs/choosing-k.md. Runs that are in the JSON file are not repeated.
"""

from __future__ import annotations

import argparse
import math
import time
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.report import fill
from ensclust import generate, select_k
from ensclust._quality.criteria import CRITERIA, suggest
from ensclust._quality.k_selection import DEFAULT_CRITERION
from ensclust._support.json_files import read_json, write_json
from ensclust._support.whole_files import write
from ensclust.datasets import load, names
from ensclust.paper._layout import grid
from ensclust.paper._protocol import Protocol, by_size, true_k
from ensclust.paper._runner import run
from ensclust.paper._store import Store, features

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "choosing-k.md"
METHOD = "ecpcs-hc"
# "blind": base clusterings by generate(), k from 2 up, K unknown.
# "paper": those of the ECPCS paper's protocol, with k from the true K up.
KINDS = {
    "blind": "base clusterings that do not know K (k-means, k from 2 to sqrt(N))",
    "paper": "base clusterings of the paper's protocol (k-means, k from K to sqrt(N))",
}
CLOSE = 0.2  # share of K, one cluster at least, by which a suggestion is close
RULES = {
    **{name: (name, criterion.rule) for name, criterion in CRITERIA.items()},
    "anmi, maximum": ("anmi", "largest"),
    "silhouette, maximum": ("silhouette", "largest"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--datasets", default="", help="default: all available")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--store", type=Path, default=RESULTS, help="see reproduce")
    options = parser.parse_args()
    chosen = by_size(options.datasets.split(",") if options.datasets else available())
    path = RESULTS / "select_k.json"
    rows = read_json(path, {"rows": []})["rows"]
    done = {(row["kind"], row["dataset"], row["run"]) for row in rows}
    every = product(options.kinds.split(","), chosen, range(options.runs))
    jobs = [job for job in every if job not in done]
    store = Store(options.store, Protocol())
    for _, row in run(jobs, partial(measure, store), title="choosing k"):
        rows.append(row)
        write_json(path, {"method": METHOD, "rows": rows}, sort_keys=True)
    text = report(rows)
    write(RESULTS / "select_k.md", f"# How many clusters\n\n{text}")
    fill(PAGE, "python -m benchmarks.select_k", f"\n{text}\n")


def available() -> list[str]:
    found = []
    for name in names():
        try:
            load(name)
        except FileNotFoundError as error:
            print(f"{name} is left out: {error}", flush=True)
        else:
            found.append(name)
    return found


def measure(store: Store, job: tuple[str, str, int]) -> dict[str, Any]:
    """Return all values of all criteria on one ensemble."""
    kind, dataset, number = job
    if kind == "paper":
        ensemble = store.ensemble(dataset, number, 20)
    else:
        ensemble = generate(features(store, dataset)[0], 20, random_state=number)
    start = time.perf_counter()
    found = select_k(ensemble, method=METHOD, random_state=number)
    return {
        "kind": kind,
        "dataset": dataset,
        "run": number,
        "seconds": round(time.perf_counter() - start, 2),
        "n_judged": found.n_judged,
        "ks": [found.ks[0], found.ks[-1]],
        "scores": {
            name: [None if math.isnan(v) else round(v, 6) for v in values]
            for name, values in found.scores.items()
        },
    }


def report(rows: list[dict[str, Any]]) -> str:
    """Return both tables, for all runs."""
    parts = [
        f"By {METHOD}, each k from 2 to sqrt(N), at most 50; of more than 5,000 "
        "objects 5,000 are drawn. *Exact*: the suggestion is K, the number of classes. "
        f"*Close*: within {CLOSE:.0%} of K, or 1. *Factor*: the suggestion is off by "
        "this factor, up or down, in the geometric mean. Then the suggestions, mean "
        "over the runs.\n"
    ]
    for kind, words in KINDS.items():
        own = [row for row in rows if row["kind"] == kind]
        if own:
            n_runs = max(row["run"] for row in own) + 1
            parts.append(f"**{words[0].upper() + words[1:]}**, {n_runs} runs each:\n")
            parts.append(table(own))
    return "\n".join(parts)


def table(rows: list[dict[str, Any]]) -> str:
    datasets = by_size({row["dataset"] for row in rows})
    head = ["criterion", "exact", "close", "factor"]
    head += [f"{name} (K={true_k(name)})" for name in datasets]
    lines = []
    # What one number for all datasets could reach, chosen with hindsight.
    typical = round(2 ** mean(math.log2(true_k(name)) for name in datasets))
    for title in (*RULES, f"always {typical}"):
        if title in RULES:
            picks = {name: suggestions(rows, name, title) for name in datasets}
        else:
            picks = {name: [typical] for name in datasets}
        every = [(k, true_k(name)) for name, ks in picks.items() for k in ks]
        exact = mean(k == K for k, K in every)
        close = mean(abs(k - K) <= max(1, CLOSE * K) for k, K in every)
        factor = 2 ** mean(abs(math.log2(k / K)) for k, K in every)
        label = f"**{title}**" if title == DEFAULT_CRITERION else title
        cells = [label, f"{exact:.0%}", f"{close:.0%}", f"{factor:.2f}"]
        cells += [f"{mean(ks):.1f}" for ks in picks.values()]
        lines.append((factor, cells))
    return grid([head, *(cells for _, cells in sorted(lines))], left=len(head)) + "\n"


def suggestions(rows: list[dict[str, Any]], dataset: str, title: str) -> list[int]:
    """Return what a criterion suggests in each run, as the library would."""
    import numpy as np

    name, rule = RULES[title]
    found = []
    for row in rows:
        if row["dataset"] == dataset:
            values = np.array(row["scores"][name], dtype=float)
            low, high = row["ks"]
            found.append(suggest(name, range(low, high + 1), values, rule) or low)
    return found


if __name__ == "__main__":
    main()
