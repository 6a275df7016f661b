"""Similarity of regions without a matrix: one pass over the labels for many regions.

All sums are integers (fixed point), so that s(x, y) and s(y, x) are equal to the last
bit. Bound: N^2 M scale / 4 < 2^63; the caller chooses the scale.
"""

import numpy as np

from ensclust._kernels._jit import jit
from ensclust._kernels.lifting import add_up

LANES = 32  # regions whose tables lie side by side, so that one look-up serves all


@jit
def nearest(
    codes,  # IN (F, M) unsigned, label rows; code k_m means "not clustered"
    start,  # IN (M + 1,) int64
    S,  # IN (Nc, Nc) int64 fixed-point similarity; (0, 0) means identity
    all_pairs,  # IN bool: all pairs of clusterings, not equal ones only
    weight,  # IN (F,) int64, objects per fragment
    region,  # IN (F,) int64, region of each fragment
    next_member,  # IN (F,) int64, linked lists of the regions' fragments, -1 = end
    size,  # IN (F,) float64, objects (all_pairs: memberships) per region; 0 = gone
    present,  # IN (F, M) float64, objects per region and clustering; (0, 0): complete
    queue,  # IN (L,) int64, regions to ask for
    near,  # OUT (F,) int64, the most similar other region, lowest first
    best,  # OUT (F,) float64, its similarity times the scale and constant divisors
    tables,  # scratch (M, widest + 1, LANES) int64
    sums,  # scratch (F, LANES) int64
    q0,
    q1,
):
    """Find the nearest neighbour of regions queue[q0..q1-1]."""
    n = codes.shape[0]
    total = np.zeros(LANES, np.int64)
    for first in range(q0, q1, LANES):
        lanes = min(LANES, q1 - first)
        fill_tables(
            codes, start, S, all_pairs, weight, next_member, queue, tables, first, lanes
        )
        sums[:] = 0
        for j in range(n):
            add_up(tables, codes, j, total)
            y, w = region[j], weight[j]
            for r in range(LANES):
                sums[y, r] += total[r] * w
        largest_means(sums, size, present, queue[first : first + lanes], near, best)


@jit
def fill_tables(
    codes, start, S, all_pairs, weight, next_member, queue, tables, first, lanes
):
    """Write each queued region's histogram over base clusters, times S."""
    n_clusterings, widest, _ = tables.shape
    tables[:] = 0
    histogram = np.zeros((n_clusterings, widest), np.int64)
    for r in range(lanes):
        histogram[:] = 0
        member = queue[first + r]
        while member >= 0:
            for m in range(n_clusterings):
                histogram[m, codes[member, m]] += weight[member]
            member = next_member[member]
        for m in range(n_clusterings):
            for c in range(start[m + 1] - start[m]):
                count = histogram[m, c]
                if count == 0:
                    continue
                if S.shape[0] == 0:
                    tables[m, c, r] = count
                    continue
                for q in range(n_clusterings):
                    if q == m or all_pairs:
                        for d in range(start[q + 1] - start[q]):
                            tables[q, d, r] += count * S[start[m] + c, start[q] + d]


@jit
def largest_means(sums, size, present, tips, near, best):
    """Write the region with the largest mean similarity to each tip, and that mean.

    The mean is a sum divided once by a number that is the same from both sides, so it
    is too.
    """
    for r in range(tips.shape[0]):
        best[tips[r]] = -1.0
    for z in range(size.shape[0]):
        if size[z] == 0:
            continue
        for r in range(tips.shape[0]):
            x = tips[r]
            pairs = size[x] * size[z]
            if present.shape[0] > 0:
                pairs = 0.0
                for m in range(present.shape[1]):
                    pairs += present[x, m] * present[z, m]
            s = np.float64(sums[z, r]) / pairs if pairs > 0 else 0.0
            if s > best[x] and z != x:
                near[x], best[x] = z, s


@jit
def join(
    region,  # INOUT (F,) int64
    next_member,  # INOUT (F,) int64
    last_member,  # INOUT (F,) int64
    size,  # INOUT (F,) float64
    present,  # INOUT (F, M) float64, or (0, 0)
    merged,  # IN (B, 2) int64, pairs of regions; the first stays
):
    """Put the members of each pair's second region into its first."""
    for i in range(merged.shape[0]):
        a, b = merged[i, 0], merged[i, 1]
        member = b
        while member >= 0:
            region[member] = a
            member = next_member[member]
        next_member[last_member[a]] = b
        last_member[a] = last_member[b]
        size[a] += size[b]
        size[b] = 0
        for m in range(present.shape[1]):
            present[a, m] += present[b, m]
