"""Why some cells differ from the paper: ``python -m benchmarks.causes``.

Scores of single methods on the ensembles of the protocol, by the number of starts, and
of ECPCS-HC on ensembles of other seeds. Writes causes.json to --out, which
``python -m docs.make_pages`` puts into docs/reproduction.md.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import click
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from ensclust import consensus, metrics
from ensclust.paper import paper, protocol
from ensclust.paper.store import Store, features

STARTS = (1, 10, 50)
CELLS = (  # by ARI: those that are far off, and others of the same methods
    ("kcc", "bc", "true-k"),
    ("ecc", "bc", "true-k"),
    ("ecc", "yeast", "true-k"),
    ("kcc", "ls", "best-k"),
    ("mcla", "ecoli", "best-k"),
    ("sec", "ecoli", "best-k"),
    ("sec", "yeast", "best-k"),
    ("sec", "pd", "true-k"),
    ("sec", "pd", "best-k"),
    ("sec", "lr", "true-k"),
)
SEEDS = (20181, 1, 2, 3, 4)
SEEDED = ("ecpcs-hc", "ls", "true-k")


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default="benchmarks/results")
@click.option("--work", type=click.Path(path_type=Path), default="results")
@click.option("--data-home", help="Directory with files like wine.npz.")
@click.option("--runs", default=protocol.RUNS, show_default=True)
def main(out, work, data_home, runs):
    """Score, and write what was found."""
    stores = {
        s: Store(work / f"seed-{s}", protocol.Protocol(s), data_home) for s in SEEDS
    }
    found = {
        "starts": [
            {
                **facts(cell),
                "by n_init": {
                    n: scores(stores[SEEDS[0]], cell, runs, n_init=n) for n in STARTS
                },
            }
            for cell in CELLS
        ],
        "seeds": {
            **facts(SEEDED),
            "by seed": {seed: scores(stores[seed], SEEDED, runs) for seed in SEEDS},
        },
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / "causes.json").write_text(json.dumps(found, indent=1) + "\n")
    click.echo(tables(found))


def facts(cell: tuple[str, str, str]) -> dict:
    """Return what a cell is, and the published score."""
    method, dataset, criterion = cell
    published = paper.compared("ari", dataset, criterion)[method]
    return {
        "method": method,
        "dataset": dataset,
        "criterion": criterion,
        "paper": [published.mean, published.std],
    }


def scores(store: Store, cell, runs: int, **params) -> list[float]:
    """Return mean and standard deviation of ARI over runs, two at a time."""
    tasks = (delayed(score)(store, cell, run, params) for run in range(runs))
    values = Parallel(2)(tasks)
    click.echo(f"{' '.join(cell)} {store.protocol.seed} {params}", err=True)
    return [float(np.mean(values)), float(np.std(values, ddof=1))]


def score(store: Store, cell, run: int, params: dict) -> float:
    """Return the ARI of one run; with best-k that of the best number of clusters."""
    method, dataset, criterion = cell
    rules = store.protocol
    ks = [protocol.true_k(dataset)]
    if criterion == "best-k":
        ks = list(protocol.sweep(dataset))
    y = features(dataset, store.data_home, dataset in rules.standardized)[1]
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ensemble = store.ensemble(dataset, run, protocol.N_CLUSTERINGS)
        seed = rules.consensus_seed(dataset, run)
        labels = consensus(ensemble, ks, method, random_state=seed, n_jobs=1, **params)
    return 100 * max(metrics.ari(y, column) for column in labels.T)


def tables(found: dict) -> str:
    """Return both trials as tables."""
    seeds = found["seeds"]["by seed"]
    n_seeds = len(seeds)
    heads = list(found["starts"][0]["by n_init"])
    rows = [
        f"| cell | {' | '.join(f'n_init = {n}' for n in heads)} | paper |",
        "|---|" + "---:|" * (len(heads) + 1),
        *(
            f"| {c['dataset']} {c['method']} ARI {c['criterion']} | "
            f"{' | '.join(map(spread, c['by n_init'].values()))} | "
            f"{spread(c['paper'])} |"
            for c in found["starts"]
        ),
        "",
        f"| cell | seed {' | seed '.join(map(str, seeds))} | paper |",
        "|---|" + "---:|" * (n_seeds + 1),
        f"| {SEEDED[1]} {SEEDED[0]} ARI {SEEDED[2]} | "
        f"{' | '.join(map(spread, seeds.values()))} | "
        f"{spread(found['seeds']['paper'])} |",
    ]
    return "\n".join(rows) + "\n"


def spread(pair: list[float]) -> str:
    """Return mean and deviation as text."""
    return f"{pair[0]:.1f} ±{pair[1]:.1f}"


if __name__ == "__main__":
    main()
