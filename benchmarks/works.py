"""WORKS: what can be measured, by name, ours and theirs.

A work prepares its arguments from the parameters (not timed) and runs on them (timed).
``digest`` boils a result down to a number, to see that two sides did the same.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import inputs, literal, rivals

if TYPE_CHECKING:
    from collections.abc import Callable

FEW = {"n": 200, "m": 2, "lo": 3, "hi": 4}
SMALL = {"kind": "nearest", "spec": {"n": 400, "m": 4, "lo": 5, "hi": 12}}
IMPORT = (
    "import sys, time; begin = time.perf_counter(); {statement}; "
    "print(time.perf_counter() - begin, int('numba' in sys.modules))"
)


@dataclass(frozen=True)
class Work:
    """Something to measure.

    ``small`` replaces parameters for the warm-up, in which kernels get compiled and
    thread pools started. A self-timed work returns (seconds, digest) itself.
    """

    prepare: Callable[..., tuple]
    run: Callable[..., Any]
    small: dict = field(default_factory=lambda: dict(SMALL))
    digest: Callable[[Any], float] | None = None
    is_self_timed: bool = False


def labels_of(kind, spec, **options):
    return inputs.labels(kind, **spec), options


def ensemble_of(kind, spec):
    from ensclust import Ensemble

    return (Ensemble(inputs.labels(kind, **spec)),)


def weights_of(kind, spec, steps):
    from ensclust import Ensemble, similarity

    return similarity.jaccard(Ensemble(inputs.labels(kind, **spec))), steps


def coassociation_of(kind, spec, **options):
    from ensclust import CoAssociation, Ensemble, similarity

    ensemble = Ensemble(inputs.labels(kind, **spec))
    Z = similarity.propagate(similarity.jaccard(ensemble))
    return CoAssociation(ensemble, Z), options


def condensed_of(kind, spec):
    """Distances of the distinct rows: what a caller of SciPy has to start from."""
    square, unit = coassociation_of(kind, spec)[0].fixed_point()
    n = len(square)
    condensed = np.empty(n * (n - 1) // 2)
    begin = 0
    for i in range(n - 1):
        row = condensed[begin : begin + n - 1 - i]
        np.multiply(square[i, i + 1 :], -unit, out=row)
        row += 1
        begin += len(row)
    np.maximum(condensed, 0, out=condensed)
    return (condensed,)


def membership_of(kind, spec):
    return (literal.membership(inputs.labels(kind, **spec)),)


def square_of(size):
    return tuple(np.random.default_rng(0).random((2, size, size)))


def propagate(weights, steps):
    from ensclust import similarity

    return similarity.propagate(weights, steps)


def link(coassociation, options):
    from ensclust._trees.linkage import link

    return link(coassociation, **options).heights


def scipy_linkage(condensed):
    from scipy.cluster.hierarchy import linkage

    return linkage(condensed, "average")[:, 2]


def fastcluster_linkage(condensed):
    import fastcluster

    return fastcluster.linkage(condensed, "average", preserve_input=False)[:, 2]


def consensus(labels, options):
    from ensclust import consensus

    return consensus(labels, random_state=0, **_with_starts(**options))


def _with_starts(method, **options):
    """Ask the methods that have starts for ten."""
    from ensclust._methods import METHODS

    if "n_init" in inspect.signature(METHODS[method]).parameters:
        options["n_init"] = 10
    return {"method": method, **options}


def counts_and_votes(labels, _):
    """Do what in ECPCS-MC depends on the number of objects."""
    from ensclust import Ensemble
    from ensclust._cuts.voting import Vote

    ensemble = Ensemble(labels)
    overlap = ensemble.intersections()
    meta_labels = np.arange(len(overlap)) % 26
    return Vote(meta_labels, seed=0).label(ensemble)


def generate(X, options):
    from ensclust import generate

    algorithm = "lloyd" if options["kind"] == "KMeans" else "minibatch"
    ks = rivals.numbers_of_clusters(options)
    return generate(X, len(ks), base_k=ks, algorithm=algorithm, random_state=0)


def resampling(X, options):
    from ensclust import EAC, generate

    k, m = options["k"], options["m"]
    runs = generate(X, m, base_k=k, max_samples=0.8, random_state=0)
    return EAC(k, base="precomputed").fit_predict(runs.labels)


def fresh_import(statement):
    code = IMPORT.format(statement=statement)
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, has_numba = output.split()
    return float(seconds), float(has_numba)


def square_sum(overlap):
    return float(np.square(overlap, dtype=np.float64).sum())


def n_clusters(labels):
    return float(len(np.unique(labels)))


def scatter(labels):
    """Return the mean squared distance of objects to the means of their clusters."""
    X = inputs.features(len(labels))
    own = []
    for column in labels.T:
        sizes = np.bincount(column)
        sums = np.array([np.bincount(column, x) for x in X.T])
        own.append((sums**2 / np.maximum(sizes, 1)).sum() / len(X))
    return float((X**2).sum() / len(X) - np.mean(own))


def is_ours(work: str, params: dict) -> bool:
    """Whether a work is done by the package, not by what it is compared with."""
    return work in OURS and "ensclust" in params.get("statement", "ensclust")


OURS = (
    *("propagate", "intersections", "link", "consensus", "coarse consensus", "import"),
    *("counts and votes", "generate", "resampling", "command"),
)
WORKS = {
    "propagate": Work(weights_of, propagate, {**SMALL, "steps": 20}, np.mean),
    "literal loop": Work(weights_of, literal.propagate, {**SMALL, "steps": 2}, np.mean),
    "intersections": Work(
        ensemble_of, lambda ensemble: ensemble.intersections(), digest=square_sum
    ),
    "sparse H^T H": Work(membership_of, literal.intersections, digest=square_sum),
    "link": Work(coassociation_of, link, digest=np.sum),
    "scipy linkage": Work(condensed_of, scipy_linkage, digest=np.sum),
    "fastcluster linkage": Work(condensed_of, fastcluster_linkage, digest=np.sum),
    "consensus": Work(
        labels_of, consensus, {**SMALL, "n_clusters": 4}, digest=n_clusters
    ),
    "coarse consensus": Work(
        labels_of,
        consensus,
        {**SMALL, "n_clusters": 4, "max_regions": 50},
        digest=n_clusters,
    ),
    "literal ecpcs-mc": Work(
        labels_of,
        lambda labels, options: literal.ecpcs_mc(labels, **options),
        {**SMALL, "k": 4},
        n_clusters,
    ),
    "import": Work(
        lambda statement: (statement,),
        fresh_import,
        {"statement": "pass"},
        is_self_timed=True,
    ),
    "counts and votes": Work(labels_of, counts_and_votes, digest=n_clusters),
    "generate": Work(
        rivals.features_of, generate, FEW, lambda ensemble: scatter(ensemble.labels)
    ),
    "scikit-learn loop": Work(rivals.features_of, rivals.loop, FEW, scatter),
    "plain loop": Work(rivals.features_of, rivals.plain_loop, FEW, scatter),
    "agglomerative": Work(
        labels_of, rivals.agglomerative, {**SMALL, "k": 4}, n_clusters
    ),
    "resampling": Work(rivals.features_of, resampling, FEW, n_clusters),
    "consensusclustering": Work(rivals.features_of, rivals.resampled, FEW, n_clusters),
    "pyckmeans": Work(rivals.features_of, rivals.pyckmeans, FEW, n_clusters),
    "kemlglearn": Work(rivals.features_of, rivals.kemlglearn, FEW, n_clusters),
    "command": Work(
        lambda **options: (options,),
        lambda options: rivals.command(**options),
        {"rows": 20, "is_compiled": False},
        is_self_timed=True,
    ),
    "product": Work(square_of, np.matmul, {"size": 64}),
}
