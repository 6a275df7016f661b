"""How many clusters: what each rule loses against the number of classes.

Base clusterings do not know K: their k begin at 2. Every variant is a rule that chooses
k; its scores are those of ECPCS-HC with that many clusters, with k as a fourth number.
A "tested" rule answers 1 if the features cannot be told from noise. Before there was
a test, the default was "anmi".
"""

from __future__ import annotations

import numpy as np

from benchmarks.evidence import questions
from ensclust import consensus, metrics, select_k
from ensclust._support.quiet import muted

MOST = 2_000  # objects; of more, this many are drawn
TRUE, FORMER = "true k", "anmi"


def choice(X: np.ndarray, y: np.ndarray, run: int) -> dict[str, list[float]]:
    """Return NMI, ARI, ANMI and k of every rule."""
    if len(X) > MOST:
        rows = np.sort(np.random.default_rng(run).choice(len(X), MOST, replace=False))
        X, y = X[rows], y[rows]
    runs = questions.make(X, y, run, low="2")
    with muted():
        found = select_k(runs, X=X, scale="auto", random_state=run)
    chosen = {TRUE: questions.n_classes(y), **found.suggested}
    chosen |= {
        f"tested, {name}": 1 if found.is_noise else k
        for name, k in found.suggested.items()
    }
    ks = sorted(set(chosen.values()))
    with muted():
        labels = consensus(runs, ks, questions.HC, random_state=run)
    known = y >= 0
    scores = {}
    for k, own in zip(ks, labels.T, strict=True):
        both = y[known], own[known]
        values = metrics.nmi(*both), metrics.ari(*both), metrics.mean_nmi(runs, own)
        scores[k] = [*(round(100 * value, 3) for value in values), k]
    return {name: scores[k] for name, k in chosen.items()}
