"""The questions of the evidence: what is varied, and how one run is scored.

Each question maps the features and classes of one run to the scores of its variants,
``{variant: [NMI, ARI, ANMI]}`` times 100, the last with the inputs. Variants of a run
share seeds and, if possible, the same base clusterings, so that differences are paired.
Features are scaled with "auto" unless scaling is the question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from ensclust import (
    Ensemble,
    agreement_weights,
    consensus,
    generate,
    metrics,
    size_weights,
)
from ensclust._support.quiet import muted

HC, MC = "ecpcs-hc", "ecpcs-mc"
PAPER = "kmeans, K, 20, none, ecpcs-hc"  # the paper's setting of ECPCS-HC
Scores = dict[str, list[float]]


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes
    ----------
    title : str
        The question.
    reference : str
        The variant with which others are compared.
    measure : callable
        ``(X, y, run) -> scores``.
    runs : int
        Runs of each dataset.
    has_noise : bool
        Whether sets without clusters are included.
    """

    title: str
    reference: str
    measure: Callable[[np.ndarray, np.ndarray, int], Scores]
    runs: int = 5
    has_noise: bool = False


def weights(X: np.ndarray, y: np.ndarray, run: int) -> Scores:
    """Vary how clusterings are weighted; their k start at K or at 2."""
    found: Scores = {}
    for low in ("K", "2"):
        runs = make(X, y, run, low=low)
        for name, own in weightings(runs).items():
            for method in (HC, MC, "eac", "lwea"):
                key = f"kmeans, {low}, 20, {name}, {method}"
                found[key] = score(runs, y, method, run, weights=own)
    return found


def intruders(X: np.ndarray, y: np.ndarray, run: int) -> Scores:
    """Add a column of ids, or one run of very many clusters, to the inputs.

    On at most 400 objects, as that many base clusters are slow.
    """
    some = np.sort(np.random.default_rng(run).permutation(len(X))[:400])
    X, y = X[some], y[some]
    runs, found = make(X, y, run), {}
    with muted():
        tiny = generate(X, 1, base_k=len(X) // 2, random_state=run)
    more = {"none": [], "ids": [np.arange(len(X))], "tiny": [*tiny.labels.T]}
    for what, columns in more.items():
        with_more = Ensemble.from_clusterings([*runs.labels.T, *columns])
        for name, own in weightings(with_more).items():
            for method in (HC, MC):
                key = f"{what}, {name}, {method}"
                found[key] = score(with_more, y, method, run, weights=own)
    return found


def base(X: np.ndarray, y: np.ndarray, run: int) -> Scores:
    """Vary the base clusterer, the method, and the weights."""
    found: Scores = {}
    for name in ("kmeans", "spectral", "both"):
        runs = make(X, y, run, base=name)
        sizes = weightings(runs)["effective"]
        for method in METHODS:
            key = f"{name}, K, 20, none, {method}"
            found[key] = score(runs, y, method, run)
        for method in (HC, MC, "eac", "lwea"):
            key = f"{name}, K, 20, effective, {method}"
            found[key] = score(runs, y, method, run, weights=sizes)
    return found


def lowest(X: np.ndarray, y: np.ndarray, run: int) -> Scores:
    """Vary the smallest number of clusters when K is unknown."""
    found: Scores = {}
    for low in ("K", *LOWEST):
        runs = make(X, y, run, low=low)
        sizes = weightings(runs)["effective"]
        for name, own in (("none", None), ("effective", sizes)):
            for method in (HC, MC):
                key = f"kmeans, {low}, 20, {name}, {method}"
                found[key] = score(runs, y, method, run, weights=own)
    return found


def number(X: np.ndarray, y: np.ndarray, run: int) -> Scores:
    """Vary the number of base clusterings; smaller ensembles are subsets."""
    found: Scores = {}
    for name in ("kmeans", "both"):
        many = make(X, y, run, base=name, m=100)
        for m in (5, 10, 20, 50, 100):
            runs = Ensemble.from_clusterings(list(many.labels[:, :m].T))
            for method in (HC, MC):
                key = f"{name}, K, {m}, none, {method}"
                found[key] = score(runs, y, method, run)
    return found


def scaling(X: np.ndarray, y: np.ndarray, run: int) -> Scores:
    """Vary the scaling of features."""
    found: Scores = {}
    for name in ("none", "auto", "standard", "robust"):
        runs = make(X, y, run, scale=None if name == "none" else name)
        for method in (HC, MC):
            found[f"{name}, {method}"] = score(runs, y, method, run)
    return found


def how_many(X: np.ndarray, y: np.ndarray, run: int) -> Scores:
    """Vary the rule that chooses the number of clusters; see ``k.py``."""
    from benchmarks.evidence.k import choice

    return choice(X, y, run)


METHODS = (HC, MC, "ecpcs-bg", "eac", "lwea", "kcc", "cvote", "lwgp", "usenc")
LOWEST: dict[str, Callable[[int], float]] = {
    "2": lambda n: 2,
    "5": lambda n: 5,
    "sqrt N / 4": lambda n: isqrt(n) / 4,
    "sqrt N / 2": lambda n: isqrt(n) / 2,
}
QUESTIONS = {
    "weights": Question("How are clusterings weighted?", PAPER, weights),
    "intruders": Question(
        "What if a column has very many clusters?", f"none, none, {HC}", intruders, 2
    ),
    "base": Question("What generates the base clusterings?", PAPER, base),
    "lowest": Question("Where do their numbers of clusters begin?", PAPER, lowest),
    "number": Question("How many base clusterings?", PAPER, number, runs=3),
    "k": Question("How many clusters?", "true k", how_many, runs=1, has_noise=True),
    "scaling": Question("Are features scaled?", f"none, {HC}", scaling),
}


def make(
    X: np.ndarray,
    y: np.ndarray,
    run: int,
    *,
    base: str = "kmeans",
    low: str = "K",
    m: int = 20,
    scale: str | None = "auto",
) -> Ensemble:
    """Return base clusterings with k from ``low`` to the square root of N."""
    n, K = len(X), n_classes(y)
    least = K if low == "K" else LOWEST[low](n)
    least = min(max(2, int(least)), n)
    high = max(least, min(isqrt(n), 100))
    bases: Any = ["kmeans", "spectral"] if base == "both" else base
    with muted():
        return generate(
            X, m, base=bases, base_k=(least, high), scale=scale, random_state=run
        )


def weightings(runs: Ensemble) -> dict[str, np.ndarray | None]:
    """Return the weights that are compared, by name."""
    sizes = [
        np.bincount(column[column >= 0]) / np.sum(column >= 0)
        for column in runs.labels.T
    ]
    k = np.array([len(own) for own in sizes], float)
    effective = np.exp([-np.sum(own * np.log(own)) for own in sizes])
    return {
        "none": None,
        "k": k,
        "capped k": np.minimum(k, np.sqrt(runs.n_objects)),
        "effective": effective,
        "capped effective": np.minimum(effective, np.sqrt(runs.n_objects)),
        "size": size_weights(runs),
        "agreement": agreement_weights(runs),
    }


def score(
    runs: Ensemble, y: np.ndarray, method: str, run: int, **params: Any
) -> list[float]:
    """Return NMI and ARI with the classes at their number, and ANMI with the inputs."""
    with muted():
        labels = consensus(runs, n_classes(y), method, random_state=run, **params)
    known = y >= 0
    found = (
        metrics.nmi(y[known], labels[known]),
        metrics.ari(y[known], labels[known]),
        metrics.mean_nmi(runs, labels),
    )
    return [round(100 * value, 3) for value in found]


def n_classes(y: np.ndarray) -> int:
    """Return the number of classes."""
    return len(np.unique(y[y >= 0]))
