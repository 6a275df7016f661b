"""Nearly identical clusterings, and which of them represents the others."""

from itertools import combinations

import numpy as np

from ensclust._ensemble.agreement import spans, table_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._support import memory

_UNIT = 1e-9  # scores are compared in multiples of this, to ignore rounding


def redundant(ensemble: Ensemble, threshold: float) -> dict[int, list[int]]:
    """Return the clusterings that each representative stands for.

    The representative is the one that is nearly identical to most others; ties go to
    the one that agrees best with them, then to the first. The rest is treated likewise.
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
    """Return the similarity of clusterings, (M, M) from 0 to 1; 0 on the diagonal.

    The NMI of each pair on the objects that both contain, capped at their share of the
    objects that either contains.
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
