"""The first merges, before there is a matrix: nearest leaves, then merged regions."""

import numpy as np

from ensclust._kernels._jit import jit
from ensclust._kernels.lifting import LANES, add_up, fill_tables, scratch
from ensclust._kernels.square import COMPLETE, PAIR_SUMS, SINGLE, combine, mean

_BUFFER = 64  # columns written at a time: writing single entries would wait for memory


@jit
def closest(
    codes,  # IN (F, M) unsigned, label rows
    start,  # IN (M + 1,) int64
    S,  # IN (Nc, Nc) uint32, what two base clusters add to a similarity
    all_pairs,  # IN bool
    near,  # INOUT (F,) int64, most similar row so far, lowest first
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
    """Write the similarity of regions r0..r1-1 to all regions from r0 on.

    Regions of one row fill all lanes; of regions of two, the first rows fill the lower
    half of the lanes and the second rows the upper half.
    """
    regions = np.empty(LANES, np.int64)
    for n_rows in (1, 2):
        y = r0
        while y < r1:
            n = 0
            while y < r1 and n < LANES // n_rows:
                if edge[y + 1] - edge[y] == n_rows:
                    regions[n] = y
                    n += 1
                y += 1
            if n > 0:
                gather_lanes(
                    codes, start, S, all_pairs, weight, edge, share, kind, out,
                    regions[:n], n_rows, r0,
                )  # fmt: skip


@jit
def gather_lanes(
    codes, start, S, all_pairs, weight, edge, share, kind, out, regions, n_rows, r0
):
    """Write the similarity of some regions, all of ``n_rows`` rows, from r0 on."""
    tables, total = scratch(start, S.dtype)
    other, buffer = np.zeros_like(total), np.zeros((LANES, _BUFFER), S.dtype)
    lane_weight, lane_share = np.ones(LANES, np.int64), np.ones(LANES)
    own, half = np.empty((LANES, codes.shape[1]), codes.dtype), LANES // 2
    own[:] = codes[edge[regions[0]]]  # for unused lanes
    for lane in range(regions.shape[0]):
        y = regions[lane]
        lane_share[lane] = share[y]
        for k in range(n_rows):
            own[lane + k * half] = codes[edge[y] + k]
            lane_weight[lane + k * half] = weight[edge[y] + k]
    fill_tables(own, start, S, all_pairs, tables, 0, LANES)
    for s in range(r0, out.shape[0]):
        c = edge[s]
        add_up(tables, codes, c, total)
        weigh(total, lane_weight, weight[c], kind)
        if edge[s + 1] - c == 2:
            add_up(tables, codes, c + 1, other)
            weigh(other, lane_weight, weight[c + 1], kind)
            combine(total, other, weight[c], weight[c + 1], kind)
        if n_rows == 2:
            fold(total[:half], total[half:], lane_share, kind)
        at = (s - r0) % _BUFFER
        for lane in range(regions.shape[0]):
            buffer[lane, at] = total[lane]
        if at == _BUFFER - 1 or s == out.shape[0] - 1:
            for lane in range(regions.shape[0]):
                out[regions[lane], s - at : s + 1] = buffer[lane, : at + 1]


@jit
def weigh(total, lane_weight, weight, kind):
    """Turn similarities to a row into sums over pairs of objects, for PAIR_SUMS."""
    if kind == PAIR_SUMS:
        for r in range(LANES):
            total[r] *= weight * lane_weight[r]


@jit
def fold(total, other, share, kind):
    """Combine the similarities of a region's two rows, without branches."""
    for r in range(total.shape[0]):
        if kind == PAIR_SUMS:
            total[r] += other[r]
        elif kind == SINGLE:
            total[r] = max(total[r], other[r])
        elif kind == COMPLETE:
            total[r] = min(total[r], other[r])
        else:
            total[r] = mean(np.int32(total[r]), np.int32(other[r]), share[r])
