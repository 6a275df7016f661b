"""How close trees of coarsened label rows come to exact ones, and how long they take.

``python -m benchmarks.coarsening`` writes coarsening.json and coarsening.md to
benchmarks/results/coarsening, and the marked part of docs/large-trees.md. Runs that are
in the JSON file are not repeated. ``--large`` measures 10^6 objects, in a separate
process.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any
from unittest import mock

from benchmarks.report import fill
from benchmarks.runner import conditions, spawn
from benchmarks.sources import environment
from benchmarks.table import Side
from benchmarks.worker import current, peak, reset_peak
from ensclust import CoAssociation, Ensemble, similarity
from ensclust._support.json_files import read_json, write_json
from ensclust._support.whole_files import write
from ensclust._trees import coarsening
from ensclust._trees.linkage import link
from ensclust.metrics import ari, nmi
from ensclust.paper._layout import grid
from ensclust.paper._protocol import Protocol, true_k
from ensclust.paper._runner import run
from ensclust.paper._store import Store, features

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FILE = RESULTS / "coarsening" / "coarsening.json"
PAGE = ROOT / "docs" / "large-trees.md"
DATASETS = ("pd", "mnist", "lr")
PARTS = (2, 5, 40)  # F divided by these is the number of regions
# So few rows fill only a few windows of the usual width; narrow windows are to them as
# the usual ones are to 10^5 rows.
WINDOWS = (coarsening.WINDOW, 32)
METHODS = {
    "ecpcs-hc": lambda ensemble: CoAssociation(
        ensemble, similarity.propagate(similarity.jaccard(ensemble))
    ),
    "eac": CoAssociation,
}
KEY = ("dataset", "method", "window", "part")  # of a line in the report
LARGE = {"kind": "nearest", "spec": {"n": 10**6, "m": 20, "lo": 26, "hi": 100}}
LARGE_OPTIONS = {"n_clusters": 26, "method": "ecpcs-hc", "max_regions": 20_000}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--datasets", default=",".join(DATASETS))
    parser.add_argument("--store", type=Path, default=RESULTS, help="see reproduce")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    found = read()
    done = {(row["dataset"], row["method"], row["run"]) for row in found["rows"]}
    chosen = filter(None, options.datasets.split(","))
    every = product(chosen, METHODS, range(options.runs))
    jobs = [job for job in every if job not in done]
    store = Store(options.store, Protocol())
    for _, rows in run(jobs, partial(measure, store), title="coarsening"):
        found["rows"] += rows
        found["conditions"] = conditions()
        write_json(FILE, found, sort_keys=True)
    if options.large:
        large = measure_large()
        found = {**read(), "large": large}
        write_json(FILE, found, sort_keys=True)
    text = report(found)
    write(FILE.with_suffix(".md"), f"# Coarse trees\n\n{text}")
    fill(PAGE, "python -m benchmarks.coarsening", f"\n{text}\n")


def read() -> dict[str, Any]:
    return read_json(FILE, {"rows": []})


def measure(store: Store, job: tuple[str, str, int]) -> list[dict[str, Any]]:
    """Compare coarse trees of one ensemble with the exact one, at K clusters."""
    dataset, method, number = job
    k, classes = true_k(dataset), features(store, dataset)[1]
    ensemble = store.ensemble(dataset, number, 20)
    operator = METHODS[method](ensemble)
    n_rows = len(ensemble.fragments().counts)
    exact = link(operator).cut(k)
    link(operator, max_regions=n_rows - 1)  # compiles
    facts = {
        "dataset": dataset,
        "method": method,
        "run": number,
        "rows": n_rows,
        "exact_nmi": nmi(exact, classes),
    }
    # The effect of ties among similarities, which the order of rows breaks.
    other = Ensemble(ensemble.labels.max(axis=0) - ensemble.labels)
    labels = link(METHODS[method](other)).cut(k)
    scores = {"ari": ari(labels, exact), "nmi": nmi(labels, classes)}
    rows = [{**facts, **scores, "window": None, "part": 1}]
    for window in WINDOWS:
        for part in PARTS:
            before = current()
            reset_peak()
            begin = time.perf_counter()
            with mock.patch.object(coarsening, "WINDOW", window):
                tree = link(operator, max_regions=n_rows // part)
            seconds = time.perf_counter() - begin
            labels = tree.cut(k)
            rows.append(
                {
                    **facts,
                    "part": part,
                    "window": window,
                    "ari": ari(labels, exact),
                    "nmi": nmi(labels, classes),
                    "seconds": round(seconds, 3),
                    "peak_mb": round(max(0, peak() - before) / 1e6, 1),
                }
            )
    return rows


def measure_large() -> dict[str, Any]:
    """Run on 10^6 objects; memory is above that of the warmed-up process."""
    side = Side("large", "coarse consensus", {**LARGE, **LARGE_OPTIONS})
    before = os.times()
    found = spawn(side, {"measure": "memory"}, environment())
    if "error" in found:
        raise RuntimeError(found["error"])
    after = os.times()
    own = after.children_user + after.children_system
    own -= before.children_user + before.children_system
    facts = {"cpu_seconds": own, "conditions": conditions()}
    return {**side.params, **found, **facts}


def report(found: dict[str, Any]) -> str:
    """Return both tables, for all runs."""
    rows, parts = found["rows"], []
    if "large" in found:
        large = found["large"]
        parts.append(
            f"{large['spec']['n']:,} objects in M = {large['spec']['m']} clusterings, "
            f"`{large['method']}` with {large['max_regions']:,} regions: "
            f"{large['cold_seconds']:.0f} s ({large['cpu_seconds']:.0f} s of processor "
            f"time) and {large['peak_mb'] / 1000:.1f} GB beyond the warmed-up process, "
            f"on {large['conditions']['cores']} cores with a load of "
            f"{large['load']:.0f} before the start.\n"
        )
    n_runs = max(row["run"] for row in rows) + 1
    parts.append(
        f"Cut at K, the number of classes; {n_runs} ensembles of 20 clusterings each "
        "(the paper's protocol). ARI: with the exact tree's cut, mean and least. NMI: "
        "with the classes, mean of the differences to the exact tree, in points. "
        "*Renumbered*: the exact tree with the base clusters numbered backwards, which "
        "breaks ties in another way; its difference from the exact tree is no error.\n"
    )
    head = ["dataset", "method", "window", "regions", "ARI", "least", "NMI", "s", "MB"]
    lines = [head]
    for key in dict.fromkeys(tuple(map(row.get, KEY)) for row in rows):
        own = [row for row in rows if key == tuple(map(row.get, KEY))]
        difference = 100 * mean(row["nmi"] - row["exact_nmi"] for row in own)
        lines.append(
            [
                key[0],
                key[1],
                str(key[2] or ""),
                "renumbered" if key[3] == 1 else f"F/{key[3]}",
                f"{mean(row['ari'] for row in own):.4f}",
                f"{min(row['ari'] for row in own):.4f}",
                f"{difference:+.2f}",
                "" if key[3] == 1 else f"{mean(r['seconds'] for r in own):.2f}",
                "" if key[3] == 1 else f"{mean(r['peak_mb'] for r in own):.0f}",
            ]
        )
    parts.append(grid(lines, left=len(head)) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    main()
