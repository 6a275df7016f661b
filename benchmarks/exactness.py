"""How far default similarities are from exact ones: ``python -m benchmarks.exactness``.

    python -m benchmarks.exactness --seeds 3 --data DIR --out FILE

For datasets with at least 700 base clusters by the paper's protocol, and for the
benchmark's Gaussian clusters: the largest error of Z with ``exact=False``, the time of
both, and the agreement (ARI) of the labels of ECPCS-MC and ECPCS-HC with those of
``exact=True`` for several k. Where they differ, so does the exact cut after a change of
Z by ``noise``, the smallest of 1e-10, 1e-8 and 1e-6 that does it: a tie to that digit.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path
from unittest import mock

import click
import numpy as np

from benchmarks import inputs
from ensclust import Ensemble, consensus, datasets, generate, metrics, similarity
from ensclust.similarity._measures import _MANY

KS = (2, 3, 5, 8, 10, 15, 20, 26, 30, 40)
NOISE = (1e-10, 1e-8, 1e-6)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--seeds", default=3, show_default=True)
@click.option("--clusterings", default=20, show_default=True)
@click.option("--methods", default="ecpcs-mc,ecpcs-hc", show_default=True)
@click.option("--data", default=None, help="Directory of datasets, as data_home.")
@click.option("--out", type=click.Path(path_type=Path), help="JSON lines.")
def main(names, seeds, clusterings, methods, data, out):
    """Compare default and exact similarities, and the labels that follow."""
    if data:
        os.environ["ENSCLUST_DATA"] = data
    lines = []
    for name in names or ("gaussian", "ctg", "lr", "ls", "mnist", "pd"):
        for seed in range(seeds):
            ensemble = made(name, clusterings, seed)
            if ensemble.n_base_clusters < _MANY:
                continue
            found = compare(ensemble, seed, methods.split(","))
            lines.append({"data": name, "seed": seed, "M": clusterings, **found})
            click.echo(json.dumps(lines[-1]))
            if out:
                out.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def made(name: str, n_clusterings: int, seed: int) -> Ensemble:
    """Return base clusterings by the paper's protocol."""
    if name == "gaussian":
        X, n_classes = inputs.features(20_000), inputs.N_CLUSTERS
    else:
        X, y = (data := datasets.load(name)).X, data.y
        n_classes = len(np.unique(y))
    most = int(min(np.sqrt(len(X)), 100))
    ks = (min(n_classes, most), most)
    return generate(X, n_clusterings, base_k=ks, random_state=seed)


def compare(ensemble: Ensemble, seed: int, methods: list[str]) -> dict:
    """Return errors, times, and the k for which labels differ."""
    W = similarity.jaccard(ensemble)
    exact, slow = timed(lambda: similarity.propagate(W))
    rough, fast = timed(lambda: similarity.propagate(W, exact=False))
    found = {
        "base clusters": len(W),
        "largest error": float(np.abs(rough - exact).max()),
        "exact CPU s": round(slow, 3),
        "CPU s": round(fast, 3),
    }
    for method in methods:
        labels = labelled(ensemble, method, seed, rough)
        expected = labelled(ensemble, method, seed, exact)
        agreement = [
            metrics.ari(a, b) for a, b in zip(labels.T, expected.T, strict=True)
        ]
        other = [i for i, ari in enumerate(agreement) if ari < 1]
        found[method] = [
            {"k": KS[i], "ari": round(agreement[i], 4)}
            | {"noise": tie(ensemble, method, seed, exact, expected[:, i], KS[i])}
            for i in other
        ]
    return found


def tie(ensemble, method, seed, exact, expected, k) -> float | None:
    """Return the least noise in Z that changes the exact labels, None if none does."""
    rng = np.random.default_rng(0)
    for size in NOISE:
        noise = rng.normal(scale=size, size=exact.shape)
        Z = np.clip(exact + (noise + noise.T) / 2, 0, 1)
        if metrics.ari(labelled(ensemble, method, seed, Z, [k])[:, 0], expected) < 1:
            return size
    return None


def labelled(ensemble, method, seed, Z, ks=KS) -> np.ndarray:
    """Return labels from a given Z, with LAPACK's eigenvectors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mock.patch.object(similarity, "propagate", return_value=Z):
            return consensus(ensemble, list(ks), method, random_state=seed, exact=True)


def timed(work):
    begin = time.process_time()
    return work(), time.process_time() - begin


if __name__ == "__main__":
    main()
