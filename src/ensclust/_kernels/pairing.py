"""The first merges, before there is a matrix: nearest leaves, merged ones lifted."""

import numpy as np

from ensclust._kernels._jit import jit
from ensclust._kernels.lifting import LANES, add_up, fill_tables, scratch
from ensclust._kernels.square import COMPLETE, PAIR_SUMS, SINGLE, combine, mean

_BUFFER = 64  # columns written at a time: entry by entry, memory would be waited for


@jit
def closest(
    codes,  # IN (F, M) unsigned, label rows
    start,  # IN (M + 1,) int64
    S,  # IN (Nc, Nc) uint32, what two base clusters add to a similarity
    all_pairs,  # IN bool
    near,  # INOUT (F,) int64, most similar of the rows looked at, lowest first
    best,  # INOUT (F,) uint32, its similarity
    i0,
    i1,
):
    """Compare rows i0..i1-1 with each other and with all later ones, both ways."""
    tables, total = scratch(start, S.dtype)
    most, place = np.zeros(LANES, S.dtype), np.zeros(LANES, np.int64)
    for first in range(i0, i1, LANES):
        lanes = min(LANES, i1 - first)
        fill_tables(codes, start, S, all_pairs, tables, first, lanes)
        most[:lanes] = best[first : first + lanes]
        place[:lanes] = near[first : first + lanes]
        for j in range(first, codes.shape[0]):
            add_up(tables, codes, j, total)
            if j - first < lanes:
                total[j - first] = 0  # itself
            largest = total[0]
            for r in range(lanes):
                largest = max(largest, total[r])
            if j - first >= lanes and largest > best[j]:
                best[j] = largest
                r = 0
                while total[r] != largest:
                    r += 1
                near[j] = first + r
            for r in range(lanes):
                if total[r] > most[r]:
                    most[r], place[r] = total[r], j
        best[first : first + lanes] = most[:lanes]
        near[first : first + lanes] = place[:lanes]


@jit
def gather(
    codes,  # IN (F, M) unsigned, label rows, region by region
    start,  # IN (M + 1,) int64
    S,  # IN (Nc, Nc) uint32 or int64
    all_pairs,  # IN bool
    weight,  # IN (F,) int64, objects of each row
    edge,  # IN (R + 1,) int64, first row of each region; regions have one row or two
    share,  # IN (R,) float64, share of its first row in the objects of each region
    kind,  # IN AVERAGE, ..., PAIR_SUMS, see square
    out,  # OUT (R, R), rows r0..r1-1 from column r0 on
    r0,
    r1,
):
    """Write the similarity of regions r0..r1-1 to all regions from r0 on."""
    tables, total = scratch(start, S.dtype)
    other, buffer = np.zeros_like(total), np.zeros((LANES, _BUFFER), S.dtype)
    first = r0
    while first < r1:
        last = first + 1
        while last < r1 and edge[last + 1] - edge[first] <= LANES:
            last += 1
        lane0, lanes = edge[first], edge[last] - edge[first]
        fill_tables(codes, start, S, all_pairs, tables, lane0, lanes)
        for s in range(first, out.shape[0]):
            c = edge[s]
            add_up(tables, codes, c, total)
            weigh(total, weight, c, lane0, lanes, kind)
            if edge[s + 1] - c == 2:
                add_up(tables, codes, c + 1, other)
                weigh(other, weight, c + 1, lane0, lanes, kind)
                combine(total, other, weight[c], weight[c + 1], kind)
            at = (s - first) % _BUFFER
            fold(total, edge, share, kind, buffer[:, at], first, last)
            if at == _BUFFER - 1 or s == out.shape[0] - 1:
                for y in range(first, last):
                    out[y, s - at : s + 1] = buffer[y - first, : at + 1]
        first = last


@jit
def weigh(total, weight, c, lane0, lanes, kind):
    """Turn similarities to row c into sums over pairs of objects, for PAIR_SUMS."""
    if kind == PAIR_SUMS:
        for r in range(lanes):
            total[r] *= weight[c] * weight[lane0 + r]


@jit
def fold(total, edge, share, kind, out, first, last):
    """Make one similarity per region of those of its rows, without branches.

    The one row of a region stands for both, except in a sum.
    """
    lane0 = edge[first]
    for y in range(first, last):
        a, b = edge[y], edge[y + 1] - 1
        s, t = total[a - lane0], total[b - lane0]
        if kind == PAIR_SUMS:
            out[y - first] = s + t * (b - a)
        elif kind == SINGLE:
            out[y - first] = max(s, t)
        elif kind == COMPLETE:
            out[y - first] = min(s, t)
        else:
            out[y - first] = mean(np.int32(s), np.int32(t), share[y])
