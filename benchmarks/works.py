"""WORKS: what can be measured, by name, ours and theirs.

A work prepares its arguments from the parameters (not timed) and runs on them (timed).
``digest`` reduces a result to a number, to check that two sides did the same.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import inputs, literal, rivals

if TYPE_CHECKING:
    from collections.abc import Callable

_GEMM_ROWS = 512  # objects multiplied at a time, so that products stay in cache
FEW = {"n": 200, "m": 2, "lo": 3, "hi": 4}
SMALL = {"kind": "nearest", "spec": {"n": 400, "m": 4, "lo": 5, "hi": 12}}
IMPORT = (
    "import sys, time; begin = time.perf_counter(); {statement}; "
    "print(time.perf_counter() - begin, int('numba' in sys.modules))"
)


@dataclass(frozen=True)
class Work:
    """Something to measure.

    ``small`` replaces parameters for the warm-up, which compiles kernels and starts
    thread pools. A self-timed work returns (seconds, digest) itself.
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
    """Distances of the distinct rows: the input that SciPy requires."""
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
    """Use ten starts for the methods that have starts."""
    from ensclust._methods import METHODS

    if "n_init" in inspect.signature(METHODS[method]).parameters:
        options["n_init"] = 10
    return {"method": method, **options}


def fitted_of(kind, spec, k):
    """Return ECPCS-MC, fitted to label rows."""
    from ensclust import ECPCSMC

    labels = inputs.labels(kind, **spec)
    return (ECPCSMC(k, base="precomputed", random_state=0).fit(labels),)


def report(model):
    """Write the report of a fitted model; return the size of the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        model.report(path)
        return path.stat().st_size


def select_k(ensemble):
    from ensclust import select_k
    from ensclust._support.quiet import muted

    with muted():  # random labels of a small trial are noise
        return select_k(ensemble, random_state=0).best_k


def counts_and_votes(labels, _):
    """Do the part of ECPCS-MC that depends on the number of objects."""
    from ensclust import Ensemble
    from ensclust._cuts.voting import Vote

    ensemble = Ensemble(labels)
    overlap = ensemble.intersections()
    meta_labels = np.arange(len(overlap)) % 26
    return Vote(meta_labels, seed=0).label(ensemble)


def generate(X, options):
    from ensclust import generate

    ks, base = rivals.numbers_of_clusters(options), options.get("base", "kmeans")
    return generate(X, len(ks), base_k=ks, base=base, random_state=0), X


def fit(X, options):
    """Compute the consensus of features, generating base clusterings."""
    from ensclust import ECPCSMC

    return ECPCSMC(options["k"], random_state=0).fit(X).labels_


def centres_of(n, d=inputs.N_FEATURES, **options):
    """Return features and centres of M runs, objects drawn at random."""
    X = inputs.features(n, d).astype(np.float32)
    rng = np.random.default_rng(1)
    ks = rivals.numbers_of_clusters(options)
    return X, [X[rng.choice(n, k, replace=False)] for k in ks]


def assign(X, centres):
    """Pass over all objects once: nearest centre of every run."""
    from ensclust._cuts import kmeans

    halves = [kmeans.half_norms(own) for own in centres]
    labels = np.empty((len(centres), len(X)), np.uint8)
    kmeans.label(kmeans.Rows.of(X), centres, halves, labels)
    return labels


def products(X, centres):
    """Multiply all objects with all centres, in blocks: what BLAS alone needs."""
    whole = np.ascontiguousarray(np.concatenate(centres).T)
    out = np.empty((_GEMM_ROWS, whole.shape[1]), np.float32)
    for i in range(0, len(X), _GEMM_ROWS):
        part = X[i : i + _GEMM_ROWS]
        np.matmul(part, whole, out=out[: len(part)])


def mapped_of(n, d=inputs.N_FEATURES, **options):
    """Return the path of a file of features, and centres of M runs."""
    path = inputs.feature_file(n, d)
    X = np.load(path, mmap_mode="r")
    rng = np.random.default_rng(1)
    ks = rivals.numbers_of_clusters(options)
    return path, [np.array(X[np.sort(rng.choice(n, k, replace=False))]) for k in ks]


def block_pass(path, centres):
    """Pass over blocks of a memory map once, adding each object to its centres."""
    from ensclust import Blocks
    from ensclust._cuts import kmeans
    from ensclust._generate.objects import InBlocks, Survey

    X = np.load(path, mmap_mode="r")
    ends = np.zeros(X.shape[1]), np.full(X.shape[1], 20.0)
    blocks = Blocks(path, content="features")
    lengths = {i: (block.n_rows, None) for i, block in enumerate(blocks)}

    def work(rows):
        return kmeans.add_nearest(kmeans.Rows.of(rows), centres, 2.0**24)

    def add(one, other):
        return [(a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True)]

    found = InBlocks(blocks, Survey(lengths, *ends)).fold(work, add, "")
    return float(sum(counts.sum() for _, counts in found))


def mapped_products(path, centres):
    products(np.load(path, mmap_mode="r"), centres)


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


def scatter(found):
    """Return the mean squared distance of objects to the means of their clusters.

    ``found`` has labels, or an Ensemble of them, and the features.
    """
    labels, X = found
    labels, X = getattr(labels, "labels", labels), X.astype(np.float64)
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
    *("counts and votes", "generate", "resampling", "command", "fit", "assign"),
    *("block pass", "certainty", "memberships", "report", "select_k"),
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
    "certainty": Work(
        fitted_of,
        lambda model: model.certainty().item_consensus,
        {**SMALL, "k": 4},
        np.nanmean,  # an object that is alone in its cluster has none
    ),
    "memberships": Work(
        fitted_of, lambda model: model.memberships(), {**SMALL, "k": 4}, np.mean
    ),
    "report": Work(fitted_of, report, {**SMALL, "k": 4}),
    "select_k": Work(ensemble_of, select_k, digest=float),
    "counts and votes": Work(labels_of, counts_and_votes, digest=n_clusters),
    "generate": Work(rivals.features_of, generate, FEW, scatter),
    "fit": Work(rivals.features_of, fit, {**FEW, "k": 3}, n_clusters),
    "assign": Work(centres_of, assign, FEW, n_clusters),
    "products": Work(centres_of, products, FEW),
    "block pass": Work(mapped_of, block_pass, FEW, float),
    "mapped products": Work(mapped_of, mapped_products, FEW),
    "faiss": Work(rivals.features_of, rivals.faiss, FEW, scatter),
    "intelex": Work(rivals.features_of, rivals.intelex, FEW, scatter),
    "fastkmeans": Work(rivals.features_of, rivals.fastkmeans, FEW, scatter),
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
    "program": Work(
        lambda statement: (statement,),
        rivals.program,
        {"statement": "pass"},
        is_self_timed=True,
    ),
    "product": Work(square_of, np.matmul, {"size": 64}),
}
