"""Why some cells differ from the paper: ``python -m benchmarks.causes``.

Scores of single methods on the ensembles of the protocol, by the number of starts, and
of ECPCS-HC on ensembles of other seeds. Writes causes.json to --out, which
``python -m docs.make_pages`` puts into docs/reproduction.md.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
import numpy as np

from ensclust import consensus, metrics
from ensclust._support.json_files import write_json
from ensclust.paper import _paper, _protocol
from ensclust.paper._layout import grid
from ensclust.paper._runner import run
from ensclust.paper._store import Store, features
from ensclust.paper._work import on_one_thread

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
@click.option("--runs", default=_protocol.RUNS, show_default=True)
def main(out, work, data_home, runs):
    """Compute the scores and write them."""
    stores = {
        s: Store(work / f"seed-{s}", _protocol.Protocol(s), data_home) for s in SEEDS
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
    write_json(out / "causes.json", found, indent=1)
    click.echo(tables(found))


def facts(cell: tuple[str, str, str]) -> dict:
    """Return the description of a cell, and its published score."""
    method, dataset, criterion = cell
    published = _paper.compared("ari", dataset, criterion)[method]
    return {
        "method": method,
        "dataset": dataset,
        "criterion": criterion,
        "paper": [published.mean, published.std],
    }


def scores(store: Store, cell, runs: int, **params) -> list[float]:
    """Return mean and standard deviation of ARI over runs, two at a time."""
    title = f"{' '.join(cell)} {store.protocol.seed} {params}"
    do = partial(score, store, cell, params)
    found = dict(run(range(runs), do, title=title, n_jobs=2))
    values = [found[number] for number in range(runs)]
    return [float(np.mean(values)), float(np.std(values, ddof=1))]


def score(store: Store, cell, params: dict, number: int) -> float:
    """Return the ARI of one run; for best-k, that of the best number of clusters."""
    method, dataset, criterion = cell
    rules = store.protocol
    ks = [_protocol.true_k(dataset)]
    if criterion == "best-k":
        ks = list(_protocol.sweep(dataset))
    y = features(store, dataset)[1]
    with on_one_thread():
        ensemble = store.ensemble(dataset, number, _protocol.N_CLUSTERINGS)
        seed = rules.consensus_seed(dataset, number)
        labels = consensus(ensemble, ks, method, random_state=seed, n_jobs=1, **params)
    return 100 * max(metrics.ari(y, column) for column in labels.T)


def tables(found: dict) -> str:
    """Return both trials as tables."""
    starts = found["starts"]
    seeds = found["seeds"]["by seed"]
    by_start = [
        ["cell", *(f"n_init = {n}" for n in starts[0]["by n_init"]), "paper"],
        *(
            [
                f"{c['dataset']} {c['method']} ARI {c['criterion']}",
                *map(spread, [*c["by n_init"].values(), c["paper"]]),
            ]
            for c in starts
        ),
    ]
    by_seed = [
        ["cell", *(f"seed {seed}" for seed in seeds), "paper"],
        [
            f"{SEEDED[1]} {SEEDED[0]} ARI {SEEDED[2]}",
            *map(spread, [*seeds.values(), found["seeds"]["paper"]]),
        ],
    ]
    return f"{grid(by_start, gap='')}\n\n{grid(by_seed, gap='')}\n"


def spread(pair: list[float]) -> str:
    """Return mean and deviation as text."""
    return f"{pair[0]:.1f} ±{pair[1]:.1f}"


if __name__ == "__main__":
    main()
