"""Clusterings mapped onto one of them, and columns of their mean merged.

The clusters of the reference are k0 columns. Every further clustering is mapped, by W_m
(k_m, k0), according to what its clusters share with the mean of those before it, which
follows from the objects that base clusters share. Merging two columns loses information
about the objects, which is summed over rows: one pass for all pairs, and one for each
merge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import entr, xlogy

from ensclust import _kernels
from ensclust._cuts.shares import Shares, steady
from ensclust._ensemble.agreement import spans
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts, Cut, TooManyRowsError
from ensclust._support import parallel


@dataclass(frozen=True, eq=False)
class MergedColumns:
    """A Solution: shares of columns, and the order in which columns are merged.

    Attributes
    ----------
    table : ndarray of shape (Nc, k0)
        What each base cluster adds to each column.
    merges : list of (int, int)
        The columns that are merged in each step, named by the first of each group.
    """

    table: np.ndarray
    merges: list[tuple[int, int]]

    def cut(self, n_clusters: int, counts: Counts) -> Cut:
        """Merge columns until ``n_clusters`` are left."""
        group = np.arange(self.table.shape[1])
        for a, b in self.merges[: max(0, len(group) - n_clusters)]:
            group[group == b] = a
        firsts, group = np.unique(group, return_inverse=True)
        merged = self.table @ np.eye(len(firsts))[group]
        return Cut(Shares.of(merged), len(firsts), {})


def cumulate(
    counts: Counts, weights: np.ndarray | None, *, n_jobs: int | None = None
) -> np.ndarray:
    """Map all clusterings onto the one of largest entropy, in the order of entropies.

    Returns
    -------
    ndarray of shape (Nc, k0)
        How each base cluster is distributed among the clusters of the reference, times
        the weight of its clustering. Rows sum to that weight. A cluster that shares no
        object with those before it is distributed like these are on average.
    """
    weights = np.ones(counts.n_clusterings) if weights is None else weights
    weights = weights / weights.mean()
    own = list(spans(counts))
    order = by_entropy([counts.sizes[first:last] for first, last in own], weights)
    shared = counts.intersections(n_jobs=n_jobs).astype(np.float64)
    first, last = own[order[0]]
    table = np.zeros((counts.n_base_clusters, last - first))
    table[first:last] = weights[order[0]] * np.eye(last - first)
    for m in order[1:]:
        first, last = own[m]
        seen = shared[first:last] @ table
        total = seen.sum(axis=1, keepdims=True)
        average = counts.sizes @ table
        seen = np.where(total > 0, seen, average)
        votes = steady(seen / seen.sum(axis=1, keepdims=True))
        table[first:last] = weights[m] * votes
    return table


def by_entropy(sizes: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Return the clusterings by weighted entropy, largest first.

    Those of equal entropy are ordered by number of clusters, largest first.
    """
    entropy = [entr(np.sort(own) / max(own.sum(), 1)).sum() for own in sizes]
    return np.lexsort((np.negative(list(map(len, sizes))), -weights * entropy))


def merge_columns(
    counts: Counts, table: np.ndarray, *, n_jobs: int | None = None
) -> list[tuple[int, int]]:
    """Merge columns until one is left, each time the two that lose least information.

    The loss of two columns is (p_a + p_b) times the Jensen-Shannon divergence of the
    objects given a and given b, where p_a is the mean share of a: agglomerative
    information bottleneck. Shares of a row are scaled to sum to 1. Time F k0^2
    logarithms and F M k0^2 / 2 sums for F distinct rows.

    Returns
    -------
    list of (int, int)
        The two groups of each merge, each named by its first column.
    """
    passes = partial(_pass_over(counts), add=_add)
    most = float(counts.sizes.sum())  # each object is in some clustering
    settings = {"scale": 2.0 ** np.floor(51 - np.log2(most)), "n_jobs": n_jobs}
    names = list(range(table.shape[1]))
    mass, loss = passes(partial(_losses, table=table, n_first=len(names), **settings))
    merges = []
    while len(names) > 1:
        a, b = _least(mass, loss)
        rest = [j for j in range(len(names)) if j not in (a, b)]
        one, other = sorted((names[a], names[b]))
        merges.append((one, other))
        names = [one, *(names[j] for j in rest)]
        if len(names) == 1:
            break
        table = np.column_stack([table[:, a] + table[:, b], table[:, rest]])
        kept = loss[np.ix_(rest, rest)]
        mass, new = passes(partial(_losses, table=table, n_first=1, **settings))
        loss = np.zeros((len(names), len(names)))
        loss[0], loss[1:, 1:] = new[0], kept
    return merges


def _least(mass: np.ndarray, loss: np.ndarray) -> tuple[int, int]:
    """Return the first pair of columns that loses least, from an upper triangle."""
    both = mass[:, None] + mass
    alone = xlogy(mass, mass)
    lost = xlogy(both, both) - alone[:, None] - alone - loss
    lost[np.tril_indices(len(lost))] = np.inf
    a, b = np.unravel_index(lost.argmin(), lost.shape)
    return int(a), int(b)


def _pass_over(counts: Counts) -> Callable:
    """Return a pass over the rows: over the distinct ones, if they can be kept."""
    try:
        times = counts.fragments().counts
    except TooManyRowsError:
        return counts.fold
    codes = np.ascontiguousarray(counts.fragment_codes().T)
    return Ensemble.from_codes(codes, counts.categories, times).fold


def _losses(rows: Ensemble, start: int, *, table, n_first: int, scale, n_jobs) -> tuple:
    """Return the objects of each column, and the loss of merges with the first ones."""
    k = table.shape[1]
    times = rows.multiplicity
    count = np.ones(rows.n_objects) if times is None else times.astype(np.float64)
    fixed = (rows.columns, rows.offsets, np.ascontiguousarray(table), count, scale)
    found = [
        (*fixed, np.zeros(k), np.zeros((n_first, k)), *span)
        for span in parallel.blocks(rows.n_objects, parallel.thread_count(n_jobs))
    ]
    parallel.run(_kernels.shares.merging_loss, found, n_jobs=n_jobs)
    return sum(own[5] for own in found), sum(own[6] for own in found)


def _add(one: tuple, other: tuple) -> tuple:
    return one[0] + other[0], one[1] + other[1]
