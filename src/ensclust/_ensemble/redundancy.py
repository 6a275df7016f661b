"""Clusterings that say nearly the same, and which of them stands for the others."""

from itertools import combinations

import numpy as np

from ensclust._ensemble.agreement import spans, table_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support import memory

_UNIT = 1e-9  # scores are compared in whole multiples of it, so that rounding is none


def redundant(ensemble: Ensemble, threshold: float) -> dict[int, list[int]]:
    """Return which clusterings each of some others stands for.

    The one that is as good as equal to most others, then the one that agrees with these
    best, then the first, stands for them; so on with those that are left.
    """
    scores = np.rint(sameness(ensemble) / _UNIT).astype(np.int64)
    scores[scores < round(threshold / _UNIT)] = 0
    groups = {}
    while scores.any():
        n_alike, total = (scores > 0).sum(axis=1), scores.sum(axis=1)
        kept = int(np.lexsort((-total, -n_alike))[0])
        dropped = np.flatnonzero(scores[kept])
        groups[kept] = dropped.tolist()
        gone = [kept, *dropped]
        scores[gone] = scores[:, gone] = 0
    return dict(sorted(groups.items()))


def sameness(ensemble: Ensemble) -> np.ndarray:
    """Return how far clusterings say the same, (M, M) from 0 to 1; 0 with themselves.

    The NMI of each pair on the objects that both contain, but no more than the share of
    these in the objects that either contains.
    """
    memory.require(
        8 * ensemble.n_base_clusters**2,
        f"comparing clusterings with {ensemble.n_base_clusters:,} base clusters",
        "Leave out clusterings with nearly as many clusters as objects.",
    )
    overlap = ensemble.intersections()
    own = [slice(*span) for span in spans(ensemble)]
    sizes = [int(ensemble.sizes[part].sum()) for part in own]
    scores = np.zeros((len(own), len(own)))
    for m, q in combinations(range(len(own)), 2):
        table = overlap[own[m], own[q]]
        both = int(table.sum())
        if both:
            shared = both / (sizes[m] + sizes[q] - both)
            scores[m, q] = scores[q, m] = min(table_nmi(table), shared)
    return scores
