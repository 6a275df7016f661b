"""Run every kernel on small ensembles; print a digest of what comes out, as JSON.

``tests/test_kernel_modes.py`` starts this as a script, once as users run it, once with
the bounds of every array checked, and once as plain Python, where it can also be seen
which kernels were visited.
"""

import hashlib
import json
import os
import sys
import threading
import warnings
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse

import ensclust
from ensclust import Blocks, CoAssociation, Ensemble, _kernels, consensus
from ensclust._cuts.microclusters import TrajectorySimilarity, elite_neighbors
from ensclust._methods import METHODS, make
from ensclust._quality.noise_test import measure
from ensclust._trees.linkage import link
from ensclust.paper import _clusterings
from ensclust.paper._protocol import Protocol
from ensclust.similarity import jaccard, propagate

KERNELS = Path(_kernels.__file__).parent


def tables(rng):
    """Return small label tables: plain, with gaps, tiny, uneven, of many clusters."""
    plain = rng.integers(0, 4, (24, 5))
    gaps = np.where(rng.random((24, 5)) < 0.2, -1, plain)
    gaps[0] = -1
    uneven = np.column_stack([np.zeros(20, int), np.arange(20), np.arange(20) // 2])
    many = np.column_stack([np.arange(270), np.arange(270) % 2, np.arange(270) % 3])
    return {
        "plain": plain,
        "gaps": gaps,
        "uneven": uneven,
        "one": plain[:, :1],
        "pair": plain[:2],
        "single": plain[:1],
        "many": many,
    }


def results(table):
    """Yield what all methods and engines make of a table."""
    k = min(3, len(table))
    if len(table) > 255:  # labels of two bytes: other code counts them
        yield Ensemble(table).intersections(n_jobs=1)
        return
    for name in METHODS:
        model = make(name, n_clusters=k, base="precomputed", random_state=0, n_jobs=1)
        yield model.fit(table).labels_
        yield model.predict(np.roll(table, 1, axis=1))
        yield model.memberships().round(9)
    runs = Ensemble(table).take((table >= 0).any(axis=1))
    for similarity in (None, propagate(jaccard(runs))):
        linked = CoAssociation(runs, similarity)
        yield linked.dense().round(12)
        for linkage in ("average", "single", "complete"):
            yield link(linked, linkage, n_jobs=1).cut(k)
        yield link(linked, max_memory=0, n_jobs=1).cut(k)
        yield link(linked, max_memory=4 * 5**2, n_jobs=1).cut(k)  # to a matrix of 5
        if len(runs.fragments().counts) > 4:
            yield link(linked, max_regions=4, n_jobs=1).cut(k)
    neighbors, sizes = elite_neighbors(runs, 3), runs.fragments().counts
    short = TrajectorySimilarity(neighbors, sizes, 9, exact=False, n_jobs=1)
    similarities = short.product(sparse.eye_array(len(sizes)), n_jobs=1)
    yield (similarities + 1 / 30_000).round(4)  # no value at the middle of two
    # Of walks that could be cut short, the number of steps is a matter of rounding.
    yield _kernels.symmetric.error_left(0.25, 0.5, 0.1, 5)
    for name in ("ecpcs-mc", "eac", "kcc"):
        yield np.array(consensus(Blocks(table, rows=7), k, name, random_state=0))
    yield ensclust.select_k(table, random_state=0, n_jobs=1).scores["silhouette"]


def generated(rng):
    """Yield base clusterings of features: dense, sparse, in blocks."""
    X = rng.random((40, 3))
    rare = sparse.csr_array(np.where(X > 0.7, X, 0))
    options = {"base": ["kmeans", "spectral"], "base_k": 4, "n_jobs": 1}
    for features in (X, rare, Blocks(X, rows=16)):
        generator = ensclust.EnsembleGenerator(4, random_state=0, **options)
        yield np.column_stack(generator.fit(features).label(X))
    yield _clusterings.cluster(X, 2, 2, rules=Protocol(), seed=0).labels
    yield measure(X, 0).round(9)


def walk():
    """Return a digest of the results of each table."""
    rng = np.random.default_rng(0)
    # Fewer than there are rows, or blocks need no pass.
    few = mock.patch.multiple(
        "ensclust._generate.base_kmeans", SAMPLE=20, _PER_CENTRE=1
    )
    fewer = mock.patch("ensclust._cuts.bipartite.SAMPLE", 20)
    seldom = mock.patch("ensclust._trees.routes._PACK", 0.5)  # rows in several blocks
    quiet = warnings.catch_warnings(), np.errstate(over="ignore")
    with quiet[0], quiet[1], few, fewer, seldom:
        warnings.simplefilter("ignore", UserWarning)
        found = {name: list(results(table)) for name, table in tables(rng).items()}
        found["generated"] = list(generated(rng))
    return {
        name: hashlib.sha256(
            b"".join(np.array(v).tobytes() for v in values)
        ).hexdigest()
        for name, values in found.items()
    }


def main():
    visited = set()

    def see(frame, event, _):
        code = frame.f_code
        if event == "call" and Path(code.co_filename).parent == KERNELS:
            visited.add(f"{Path(code.co_filename).stem}.{code.co_name}")

    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        sys.setprofile(see)
        threading.setprofile(see)
    digests = walk()
    print(json.dumps({"digests": digests, "visited": sorted(visited)}))


if __name__ == "__main__":
    main()
