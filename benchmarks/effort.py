"""How much effort k-means runs need, judged by the resulting consensus.

``python -m benchmarks.effort`` writes effort.json and effort.md to
benchmarks/results/effort, and the marked part of docs/performance.md. Every setting
uses the seeds and numbers of clusters of the reference, so that differences are paired.
Runs that are in the JSON file are not repeated.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import inputs
from benchmarks.report import fill
from ensclust import consensus, generate, metrics
from ensclust._generate import base_kmeans
from ensclust._support.json_files import read_json, read_lines, write_json
from ensclust._support.whole_files import write
from ensclust.datasets import info
from ensclust.paper import _protocol
from ensclust.paper._layout import grid
from ensclust.paper._protocol import Protocol, true_k
from ensclust.paper._runner import run
from ensclust.paper._store import Store, features

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
FILE = RESULTS / "effort" / "effort.json"
PAGE = ROOT / "docs" / "performance.md"
REAL = ("wine", "ecoli", "bc", "yeast", "ctg", "mnist", "ls", "pd", "lr")
MADE = {"gauss": 26, "heavy": 26, "uneven": 10}  # kinds, and their numbers of groups
MADE_N = (5_000, 20_000, 50_000, 100_000, 300_000, 1_000_000)
MOST_LINKED = 20_000  # most objects for ECPCS-HC
# Arguments of generate(), except the sample size; all start from one seed.
REFERENCE = "reference"
SETTINGS: dict[str, dict[str, Any]] = {
    REFERENCE: {"effort": "full"},
    "tol 1e-3": {"effort": "full", "tol": 1e-3},
    "tol 1e-2": {"effort": "full", "tol": 1e-2},
    "max_iter 30": {"effort": "full", "max_iter": 30},
    "max_iter 10": {"effort": "full", "max_iter": 10},
    "max_iter 3": {"effort": "full", "max_iter": 3},
    "sample 10,000, auto": {"sample": 10_000},
    "sample 5,000, auto": {"sample": 5_000},
    "sample 2,000, auto": {"sample": 2_000},
    "effort 0": {"effort": 0},
    "effort 1": {"effort": 1},
    "effort 2": {"effort": 2},
    "effort 5": {"effort": 5},
    "auto": {"effort": "auto"},
}
FEW = (REFERENCE, "effort 0", "effort 1", "effort 2", "effort 5", "auto")
KEY = ("dataset", "n", "run", "setting")
PROTOCOL = ("ecoli", "yeast", "ls", "pd")  # our k-means with the paper's settings


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=10, help="of the real datasets")
    parser.add_argument("--made-runs", type=int, default=3)
    parser.add_argument("--most", type=int, default=max(MADE_N), help="objects")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    found = read_json(FILE, {"rows": [], "protocol": []})
    if not options.report_only:
        store = Store(RESULTS, Protocol(), options.data_home)
        take(found, store, options)
    text = report(found)
    write(FILE.with_suffix(".md"), f"# Effort of k-means\n\n{text}")
    fill(PAGE, "python -m benchmarks.effort", f"\n{text}\n")


def take(found: dict[str, Any], store: Store, options) -> None:
    """Measure what is missing."""
    done = {tuple(map(row.get, KEY)) for row in found["rows"]}
    every: list[tuple] = [
        *product(REAL, [0], range(options.runs)),
        *product(MADE, MADE_N, range(options.made_runs)),
    ]
    jobs = [
        job
        for job in every
        if job[1] <= options.most
        and any((*job, name) not in done for name in settings_of(*job[:2]))
    ]
    do = partial(measure, store, done)
    size = lambda job: max(job[1], 20_000)  # noqa: E731
    for _, rows in run(jobs, do, title="effort", cost=size, n_jobs=options.n_jobs):
        found["rows"] += rows
        write_json(FILE, found, sort_keys=True)
    known = {(row["dataset"], row["run"]) for row in found["protocol"]}
    jobs = [job for job in product(PROTOCOL, range(20)) if job not in known]
    do = partial(measure_protocol, store)
    for _, row in run(jobs, do, title="protocol", n_jobs=options.n_jobs):
        found["protocol"].append(row)
        write_json(FILE, found, sort_keys=True)


def settings_of(dataset: str, n: int) -> list[str]:
    """Return the settings for a dataset.

    Without those that change nothing; for many objects, only a few.
    """
    n = n or info(dataset).n_objects
    return [
        name
        for name, setting in SETTINGS.items()
        if name == REFERENCE
        or (
            (n > setting.get("sample", base_kmeans.SAMPLE) or len(setting) > 1)
            and (n <= 100_000 or name in FEW)
        )
    ]


def measure(
    store: Store, done: set[tuple], job: tuple[str, int, int]
) -> list[dict[str, Any]]:
    """Return the scores of settings on one dataset, for one seed."""
    dataset, n, number = job
    X, y, k = objects(store, dataset, n, number)
    base_k = _protocol.base_k(len(X), k)
    rows = []
    for name in settings_of(dataset, n):
        if (*job, name) in done:
            continue
        own = dict(SETTINGS[name])
        sample = own.pop("sample", base_kmeans.SAMPLE)
        begin, used = time.perf_counter(), time.process_time()
        with mock.patch.object(base_kmeans, "SAMPLE", sample):
            runs = generate(X, 20, base_k=base_k, random_state=number, **own)
        row = {
            "dataset": dataset,
            "n": n,
            "run": number,
            "setting": name,
            "seconds": time.perf_counter() - begin,
            "cpu_seconds": time.process_time() - used,
            "inertia": inertia(X, runs.labels),
        }
        for method in ("ecpcs-hc", "ecpcs-mc"):
            if method == "ecpcs-hc" and len(X) > MOST_LINKED:
                continue
            labels = consensus(runs, k, method, random_state=number)
            row[f"{method} nmi"] = 100 * metrics.nmi(y, labels)
            row[f"{method} ari"] = 100 * metrics.ari(y, labels)
        rows.append(row)
    return rows


def measure_protocol(store: Store, job: tuple[str, int]) -> dict[str, Any]:
    """Return the scores of our own k-means with the settings of the protocol."""
    dataset, number = job
    rules, (X, y) = store.protocol, features(store, dataset)
    k = true_k(dataset)
    runs = generate(
        X,
        20,
        base_k=_protocol.base_k(len(X), k),
        init="classic-k-means++",
        max_iter=rules.max_iter,
        effort="full",
        random_state=rules.ensemble_seed(dataset, number, 0),
    )
    row: dict[str, Any] = {"dataset": dataset, "run": number}
    seed = rules.consensus_seed(dataset, number)
    for method in ("ecpcs-hc", "ecpcs-mc"):
        labels = consensus(runs, k, method, random_state=seed)
        row[f"{method} nmi"] = 100 * metrics.nmi(y, labels)
        row[f"{method} ari"] = 100 * metrics.ari(y, labels)
    return row


def objects(store: Store, dataset: str, n: int, number: int) -> tuple:
    """Return features, classes and their number, of a real or synthetic dataset."""
    if dataset in REAL:
        X, y = features(store, dataset)
        return X, y, true_k(dataset)
    k, rng = MADE[dataset], np.random.default_rng([number, n])
    if dataset == "uneven":  # sizes from 1 to 16, spreads from 1 to 3, 8 features
        sizes = 2.0 ** np.linspace(0, 4, k)
        y = rng.choice(k, n, p=sizes / sizes.sum())
        centres = rng.normal(scale=3.0, size=(k, 8))
        spread = np.linspace(1, 3, k)[rng.permutation(k)]
        return centres[y] + spread[y][:, None] * rng.normal(size=(n, 8)), y, k
    centres = rng.normal(scale=inputs.CENTRE_SCALE, size=(k, inputs.N_FEATURES))
    y = rng.integers(0, k, n)
    shape = (n, inputs.N_FEATURES)
    noise = rng.normal(size=shape) if dataset == "gauss" else rng.standard_t(3, shape)
    return centres[y] + noise, y, k


def inertia(X: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean squared distance to the means of clusters, over clusterings."""
    total = float(np.einsum("ij,ij->", X, X, dtype=np.float64))
    means = 0.0
    for column in labels.T:
        sizes = np.maximum(np.bincount(column), 1)
        sums = np.array([np.bincount(column, x) for x in X.T])
        means += float((sums**2 / sizes).sum())
    return (total - means / labels.shape[1]) / len(X)


def report(found: dict[str, Any]) -> str:
    """Return the tables."""
    rows = found["rows"]
    reference = {
        (row["dataset"], row["n"], row["run"]): row
        for row in rows
        if row["setting"] == REFERENCE
    }
    parts = [
        "The reference lets runs converge on 20,000 objects (on all, if there are "
        "fewer) and then makes up to 100 passes over all objects. The tables show "
        "differences from it, paired by seed, in points of NMI and ARI with the "
        "classes: the mean over datasets and its standard error. Inertia and processor "
        "time are ratios to the reference. Settings that change nothing for a dataset, "
        "because it has fewer objects than the sample, are left out of the means.\n"
    ]
    kinds = {
        "Real datasets, up to 20,000 objects": lambda r: r["dataset"] in REAL,
        "Synthetic, 5,000 and 20,000 objects": lambda r: 0 < r["n"] <= 20_000,
        "Synthetic, 50,000 and 100,000 objects": lambda r: 20_000 < r["n"] <= 100_000,
        "Synthetic, 300,000 objects": lambda r: r["n"] == 300_000,
        "Synthetic, 1,000,000 objects": lambda r: r["n"] == 1_000_000,
    }
    for title, belongs in kinds.items():
        own = [row for row in rows if belongs(row)]
        if own:
            parts += [f"**{title}**\n", grid(_lines(own, reference)) + "\n"]
    if found["protocol"]:
        parts.append(
            "The last table compares our k-means with that of scikit-learn, which the "
            "reproduction uses, under the paper's protocol (one candidate per centre, "
            "100 iterations, all objects): mean and standard deviation of 20 runs.\n"
        )
        parts.append(grid(_protocol_lines(found["protocol"])) + "\n")
    return "\n".join(parts)


def _lines(rows: list[dict], reference: dict) -> list[list[str]]:
    columns = [f"{m} {s}" for m in ("ecpcs-hc", "ecpcs-mc") for s in ("nmi", "ari")]
    heads = [f"{m}: {s}" for m in ("ECPCS-HC", "ECPCS-MC") for s in ("NMI", "ARI")]
    lines = [["setting", "datasets", *heads, "inertia", "time"]]
    for name in SETTINGS:
        own = [row for row in rows if row["setting"] == name]
        if not own or name == REFERENCE:
            continue
        pairs = [(r, reference[r["dataset"], r["n"], r["run"]]) for r in own]
        cells = [_cell(pairs, column) for column in columns]
        tight = mean(row["inertia"] / ref["inertia"] for row, ref in pairs)
        used = mean(row["cpu_seconds"] / ref["cpu_seconds"] for row, ref in pairs)
        ratios = [f"{tight:.4f}", f"{used:.2f}"]
        sets = len({(r["dataset"], r["n"]) for r in own})
        lines.append([name, str(sets), *cells, *ratios])
    return lines


def _cell(pairs: list[tuple[dict, dict]], column: str) -> str:
    """Return the mean difference and its standard error over datasets."""
    by_set: dict[tuple, list[float]] = {}
    for row, ref in pairs:
        if column in row:
            key = (row["dataset"], row["n"])
            by_set.setdefault(key, []).append(row[column] - ref[column])
    means = [mean(values) for values in by_set.values()]
    if not means:
        return ""
    error = stdev(means) / len(means) ** 0.5 if len(means) > 1 else 0.0
    return f"{mean(means):+.2f} ± {error:.2f}"


def _protocol_lines(rows: list[dict]) -> list[list[str]]:
    committed = [
        line
        for line in read_lines(RESULTS / "results.jsonl.gz")
        if line["n_clusterings"] == 20
        and line["criterion"] == "true-k"
        and line["steps"] == _protocol.STEPS
    ]
    lines = [["dataset", "method", "NMI, ours", "NMI, scikit-learn's", "ARI, ours",
              "ARI, scikit-learn's"]]  # fmt: skip
    for dataset, method in product(PROTOCOL, ("ecpcs-hc", "ecpcs-mc")):
        own = [row for row in rows if row["dataset"] == dataset]
        cells = []
        for measure in ("nmi", "ari"):
            ours = [row[f"{method} {measure}"] for row in own]
            theirs = [
                line[measure]["score"]
                for line in committed
                if (line["dataset"], line["method"]) == (dataset, method)
            ]
            cells += [f"{mean(x):.2f} ± {stdev(x):.2f}" for x in (ours, theirs)]
        lines.append([dataset, method, *cells])
    return lines


if __name__ == "__main__":
    main()
