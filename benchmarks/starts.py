"""Whether fewer starts of the normalised cut cost quality.

    python -m benchmarks.starts DIR [DIR ...] --runs 3

For every real dataset of the evidence (NPZ files in these directories), ECPCS-MC with
as many starts as by default is compared with at most 50, as with ``exact=True``, and
with 5: NMI with the classes, and the value of the cut. Only cuts for which the default
tries fewer than 50 count; k is the number of classes, 10, 20 and 40. Writes starts.json
and starts.md to benchmarks/results/starts.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from unittest import mock

import click
import numpy as np

from benchmarks.evidence.questions import make, n_classes
from benchmarks.evidence.sets import HALVES, datasets
from ensclust import Ensemble, consensus, metrics, similarity
from ensclust._cuts import partition
from ensclust._support.json_files import read_json, write_json
from ensclust._support.quiet import muted
from ensclust._support.whole_files import write

FILE = Path(__file__).parent / "results" / "starts" / "starts.json"
KS = (10, 20, 40)
WORK = {"50": partition._MAX_EXACT_WORK, "default": partition._MAX_WORK, "5": 0}


@click.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option("--runs", default=3, show_default=True)
def main(folders, runs):
    """Compare numbers of starts on the datasets in FOLDERS, and write a table."""
    rows = read_json(FILE, {"rows": []})["rows"]
    done = {(row["dataset"], row["run"]) for row in rows}
    for half in HALVES:
        for dataset in datasets(list(folders), half):
            for run in range(runs) if dataset.kind == "real" else ():
                if (dataset.name, run) not in done:
                    X, y = dataset.load(run)
                    name = {"dataset": dataset.name, "half": half, "run": run}
                    rows += [name | found for found in compare(X, y, run)]
                    write_json(FILE, {"rows": rows}, sort_keys=True)
    text = report(rows)
    write(FILE.with_suffix(".md"), text)
    click.echo(text)


def compare(X: np.ndarray, y: np.ndarray, run: int) -> list[dict]:
    """Return NMI and value of the cut by the number of starts, for several k."""
    runs, found = make(X, y, run), []
    Z = similarity.propagate(runs, exact=False)
    n = len(Z)
    for k in sorted({n_classes(y), *KS}):
        if k < n // 2 and n * k**2 * 50 > partition._MAX_WORK:
            scores = {name: cut(runs, Z, y, k, run, WORK[name]) for name in WORK}
            found.append({"k": k, "base clusters": n, "scores": scores})
    return found


def cut(
    runs: Ensemble, Z: np.ndarray, y: np.ndarray, k: int, run: int, work: float
) -> tuple[float, float]:
    """Return 100 NMI of the consensus, and the value of its cut."""
    with (
        muted(),
        mock.patch.object(partition, "_MAX_WORK", work),
        mock.patch.object(similarity, "propagate", return_value=Z),
    ):
        labels = consensus(runs, k, "ecpcs-mc", random_state=run)
        parts = partition.NormalisedCut(Z).labels(k, random_state=run)
    nmi = 100 * metrics.nmi(y, labels)
    return round(nmi, 3), round(partition.ncut_value(Z, parts, k), 6)


def report(rows: list[dict]) -> str:
    """Return a table of paired differences to 50 starts, datasets weighing equally."""
    lines = [
        "| starts | half | datasets | cuts | NMI, difference to 50 starts | "
        "other value of the cut | value higher by, at most |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name in list(WORK)[1:]:
        for half in HALVES:
            own = [row for row in rows if row["half"] == half]
            by_set: dict[str, list[float]] = {}
            rises = []
            for row in own:
                few, many = row["scores"][name], row["scores"]["50"]
                by_set.setdefault(row["dataset"], []).append(few[0] - many[0])
                rises.append(few[1] / many[1] - 1)
            means = [mean(values) for values in by_set.values()]
            error = stdev(means) / len(means) ** 0.5
            share = mean(rise > 1e-9 for rise in rises)
            lines.append(
                f"| {name} | {half} | {len(means)} | {len(own)} | {mean(means):+.2f} ± "
                f"{error:.2f} | {share:.0%} | {max(rises):.2%} |"
            )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
