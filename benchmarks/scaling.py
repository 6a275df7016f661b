"""Whether to scale features by default: the consensus with and without, on real data.

``python -m benchmarks.scaling DIR [DIR ...]`` uses every NPZ file (X, y) in these
directories, writes scaling.json and scaling.md to benchmarks/results/scaling, and the
marked part of docs/scaling.md. Kinds of scaling share seeds, so that differences are
paired. Runs that are in the JSON file are not repeated.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np

from benchmarks.report import fill
from ensclust import consensus, generate, metrics
from ensclust._support.features import uneven
from ensclust._support.json_files import read_json, write_json
from ensclust._support.whole_files import write
from ensclust.paper import _protocol
from ensclust.paper._layout import grid
from ensclust.paper._runner import run

ROOT = Path(__file__).parents[1]
FILE = ROOT / "benchmarks" / "results" / "scaling" / "scaling.json"
PAGE = ROOT / "docs" / "scaling.md"
KINDS = ("none", "standard", "robust")
METHODS = ("ecpcs-hc", "ecpcs-mc")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--n-jobs", type=int, default=1)
    options = parser.parse_args()
    rows = read_json(FILE, {"rows": []})["rows"]
    done = {(row["dataset"], row["run"]) for row in rows}
    files = sorted(path for folder in options.folders for path in folder.glob("*.npz"))
    every = product(files, range(options.runs))
    jobs = [job for job in every if (job[0].stem, job[1]) not in done]
    for _, found in run(jobs, measure, title="scaling", n_jobs=options.n_jobs):
        rows += found
        write_json(FILE, {"rows": rows}, sort_keys=True)
    text = report(rows)
    write(FILE.with_suffix(".md"), f"# Scaling of features\n\n{text}")
    fill(PAGE, "python -m benchmarks.scaling", f"\n{text}\n")


def measure(job: tuple[Path, int]) -> list[dict[str, Any]]:
    """Return the scores of one dataset with every kind of scaling, for one seed."""
    path, number = job
    with np.load(path) as data:
        X, y = data["X"].astype(np.float64), data["y"]
    k = len(np.unique(y))
    rows = []
    for kind in KINDS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            runs = generate(
                X,
                20,
                base_k=_protocol.base_k(len(X), k),
                scale=None if kind == "none" else kind,
                random_state=number,
            )
            row = {"dataset": path.stem, "run": number, "scale": kind}
            row["told"] = (uneven(X) or ("", "few objects"))[1] == ""
            for method in METHODS:
                labels = consensus(runs, k, method, random_state=number)
                row[f"{method} nmi"] = 100 * metrics.nmi(y, labels)
                row[f"{method} ari"] = 100 * metrics.ari(y, labels)
        rows.append(row)
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    """Return the table of differences from no scaling."""
    n_sets = len({row["dataset"] for row in rows})
    told = sorted({row["dataset"] for row in rows if row["told"]})
    parts = [
        f"{n_sets} real datasets, {max(row['run'] for row in rows) + 1} runs each, at "
        "the number of classes. Differences from no scaling, in points of NMI and ARI "
        "with the classes: mean over datasets, its standard error, and on how many "
        "datasets scaling was better. *Warned*: the datasets for which a warning says "
        f"that a few columns dominate ({', '.join(told)}).\n"
    ]
    heads = [f"{m}: {s}" for m in ("ECPCS-HC", "ECPCS-MC") for s in ("NMI", "ARI")]
    lines = [["scale", "datasets", *heads]]
    for kind in KINDS[1:]:
        for title, chosen in (
            ("all", lambda _: True),
            ("warned", lambda name: name in told),
            ("others", lambda name: name not in told),
        ):
            own = [row for row in rows if chosen(row["dataset"])]
            cells = [
                _cell(own, kind, f"{method} {score}")
                for method in METHODS
                for score in ("nmi", "ari")
            ]
            lines.append([kind, title, *cells])
    parts.append(grid(lines, left=2) + "\n")
    return "\n".join(parts)


def _cell(rows: list[dict[str, Any]], kind: str, column: str) -> str:
    differences = []
    for dataset in sorted({row["dataset"] for row in rows}):
        own = {
            name: [
                row[column]
                for row in rows
                if (row["dataset"], row["scale"]) == (dataset, name)
            ]
            for name in ("none", kind)
        }
        differences.append(mean(own[kind]) - mean(own["none"]))
    if len(differences) < 2:
        return ""
    error = stdev(differences) / len(differences) ** 0.5
    better = sum(value > 0 for value in differences)
    return f"{mean(differences):+.1f} ± {error:.1f} ({better} of {len(differences)})"


if __name__ == "__main__":
    main()
