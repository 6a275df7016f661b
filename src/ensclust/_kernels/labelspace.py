"""Similarity of regions without a matrix: one pass over all rows for many regions.

A row is the histogram of some objects over the base clusters: entries of one slot each
(m * widest + c for cluster c of clustering m) with the objects in it. A region is a
linked list of rows.

All sums are integers (fixed point), so that s(x, y) and s(y, x) are equal to the last
bit. Bound: N^2 M scale / 4 < 2^63; the caller chooses the scale. Tables of 32 bits are
twice as fast, and suffice for regions of n objects with n M scale < 2^32.
"""

import numpy as np

from ensclust._kernels._jit import jit
from ensclust._kernels.square import PAIR_SUMS

LANES = 32  # regions whose tables lie side by side; twice as many with 32 bits
_BELOW = 1 - 1e-9  # factor that keeps a bound on sums valid despite rounding
_BUFFER = 64  # columns written at a time: writing single entries would wait for memory


@jit
def nearest(
    start,  # IN (M + 1,) int64
    S,  # IN (Nc, Nc) uint64 fixed-point similarity; (0, 0) means identity
    all_pairs,  # IN bool: all pairs of clusterings, not only equal ones
    edge,  # IN (R + 1,) int64, first entry of each row
    slots,  # IN (E,) int32, slot of each entry
    count,  # IN (E,) uint32 or uint64, objects of each entry
    slot,  # IN (R,) int64, region of each row, ascending
    place,  # IN (F,) int64, first row of each region
    next_member,  # IN (R,) int64, linked lists of the regions' rows, -1 = end
    size,  # IN (R,) float64, objects (or memberships) of the region; 0 = gone
    present,  # IN (R, M) float64, objects per region and clustering; (0, 0): complete
    queue,  # IN (L,) int64, regions to search for
    near,  # OUT (F,) int64, the most similar other region, lowest first
    best,  # OUT (F,) float64, its similarity times the scale and constant divisors
    tables,  # scratch (M * widest, lanes) uint32 or uint64
    q0,
    q1,
):
    """Find the nearest neighbour of regions queue[q0..q1-1]."""
    rows, width = (edge, slots, count), tables.shape[1]
    total, sums = np.zeros(width, np.uint64), np.zeros(width, np.uint64)
    tips, nearest_row = np.empty(width, np.int64), np.empty(width, np.int64)
    most, least = np.empty(width), np.empty(width)
    for first in range(q0, q1, width):
        lanes = min(width, q1 - first)
        tips[:], most[:], least[:] = -1, -1.0, np.inf
        for r in range(lanes):
            tips[r], least[r] = place[queue[first + r]], -1.0
        fill_tables(start, S, all_pairs, rows, next_member, tips, tables)
        for z in range(size.shape[0]):
            if size[z] == 0:
                continue
            add_region(rows, next_member, z, tables, total, sums)
            n_nearer = 0
            for r in range(width):
                n_nearer += np.float64(np.int64(sums[r])) > least[r] * size[z]
            if n_nearer == 0:  # nearly always
                continue
            for r in range(lanes):
                s = mean(sums[r], size, present, tips[r], z)
                if s > most[r] and tips[r] != z:
                    most[r], nearest_row[r] = s, z
                    if present.shape[0] == 0:
                        least[r] = s * size[tips[r]] * _BELOW
        for r in range(lanes):
            x = queue[first + r]
            near[x], best[x] = slot[nearest_row[r]], most[r]


@jit
def add_region(rows, next_member, z, tables, total, sums):
    """Sum what the objects of region z contribute to each lane."""
    add_row(tables, rows, z, sums)
    member = next_member[z]
    while member >= 0:
        add_row(tables, rows, member, total)
        for r in range(sums.shape[0]):
            sums[r] += total[r]
        member = next_member[member]


@jit
def add_row(tables, rows, j, total):
    """Sum what the entries of row j contribute to each lane, four at a time."""
    edge, slots, count = rows
    total[:] = 0
    e, end = edge[j], edge[j + 1]
    while e + 4 <= end:
        a, b, c, d = slots[e], slots[e + 1], slots[e + 2], slots[e + 3]
        w, x = np.uint64(count[e]), np.uint64(count[e + 1])
        y, z = np.uint64(count[e + 2]), np.uint64(count[e + 3])
        for r in range(total.shape[0]):
            total[r] += (
                w * tables[a, r]
                + x * tables[b, r]
                + y * tables[c, r]
                + z * tables[d, r]
            )
        e += 4
    while e < end:
        a, w = slots[e], np.uint64(count[e])
        for r in range(total.shape[0]):
            total[r] += w * tables[a, r]
        e += 1


@jit
def mean(total, size, present, x, z):
    """Return a sum over pairs of objects of two regions, divided by their number.

    The divisor is the same from both sides, and so is the mean.
    """
    pairs = size[x] * size[z]
    if present.shape[0] > 0:
        pairs = 0.0
        for m in range(present.shape[1]):
            pairs += present[x, m] * present[z, m]
    return np.float64(total) / pairs if pairs > 0 else 0.0


@jit
def fill_tables(start, S, all_pairs, rows, next_member, tips, tables):
    """Write each tip's histogram over slots, times S; lanes without a tip are 0."""
    n_slots = tables.shape[0]
    histogram, own = np.zeros(n_slots, np.uint64), np.zeros(n_slots, np.uint64)
    for r in range(tips.shape[0]):
        sum_rows(rows, next_member, tips[r], histogram)
        if S.shape[0] == 0:
            tables[:, r] = histogram
        else:
            weigh(histogram, start, S, all_pairs, own)
            tables[:, r] = own


@jit
def sum_rows(rows, next_member, member, histogram):
    """Write the objects in each slot, of a row and those linked after it."""
    edge, slots, count = rows
    histogram[:] = 0
    while member >= 0:
        for e in range(edge[member], edge[member + 1]):
            histogram[slots[e]] += count[e]
        member = next_member[member]


@jit
def weigh(histogram, start, S, all_pairs, own):
    """Write the similarity of a histogram to each slot, summed over its objects."""
    n_clusterings = start.shape[0] - 1
    widest = histogram.shape[0] // n_clusterings
    own[:] = 0
    for m in range(n_clusterings):
        for c in range(start[m + 1] - start[m]):
            n = histogram[m * widest + c]
            if n == 0:
                continue
            low = 0 if all_pairs else m
            high = n_clusterings if all_pairs else m + 1
            for q in range(low, high):
                row = S[start[m] + c, start[q] : start[q + 1]]
                target = own[q * widest : q * widest + row.shape[0]]
                for d in range(row.shape[0]):
                    target[d] += n * row[d]


@jit
def join(
    place,  # IN (F,) int64
    next_member,  # INOUT (R,) int64
    last_member,  # INOUT (R,) int64
    size,  # INOUT (R,) float64
    present,  # INOUT (R, M) float64, or (0, 0)
    merged,  # IN (B, 2) int64, pairs of regions; the first stays
):
    """Put the rows of each pair's second region into its first."""
    for i in range(merged.shape[0]):
        a, b = place[merged[i, 0]], place[merged[i, 1]]
        next_member[last_member[a]] = b
        last_member[a] = last_member[b]
        size[a] += size[b]
        size[b] = 0
        for m in range(present.shape[1]):
            present[a, m] += present[b, m]


@jit
def pack(
    edge,  # IN (R + 1,) int64
    slots,  # IN (E,) int32
    count,  # IN (E,) uint32 or uint64
    next_member,  # IN (R,) int64
    kept,  # IN (R',) int64, first rows of the regions that live
    n_slots,  # IN
    packed_edge,  # OUT (R' + 1,) int64
    packed_slots,  # OUT (E',) int32; (0,): the entries are only counted
    packed_count,  # OUT (E',) uint32 or uint64
):
    """Write each region as one row; return the number of entries."""
    histogram = np.zeros(n_slots, np.uint64)
    end = 0
    packed_edge[0] = 0
    for i in range(kept.shape[0]):
        sum_rows((edge, slots, count), next_member, kept[i], histogram)
        for s in range(n_slots):
            if histogram[s] == 0:
                continue
            if packed_slots.shape[0] > 0:
                packed_slots[end], packed_count[end] = s, histogram[s]
            end += 1
        packed_edge[i + 1] = end
    return end


@jit
def gather(
    start,  # IN (M + 1,) int64
    S,  # IN (Nc, Nc) uint64, or (0, 0)
    all_pairs,  # IN bool
    widest,  # IN slots of a clustering
    edge,  # IN (R + 1,) int64, each row a region
    slots,  # IN (E,) int32
    count,  # IN (E,) uint32 or uint64
    size,  # IN (R,) float64
    kind,  # IN AVERAGE or PAIR_SUMS, see square
    out,  # OUT (R, R) uint32 or int64, rows r0..r1-1 from column r0 on
    r0,
    r1,
):
    """Write the similarity of regions r0..r1-1 to all regions from r0 on.

    A mean is rounded to a whole number as ``floor(x + 1 / 2)``.
    """
    n, rows = out.shape[0], (edge, slots, count)
    tables = np.zeros((widest * (start.shape[0] - 1), LANES), np.uint64)
    total, tips = np.zeros(LANES, np.uint64), np.empty(LANES, np.int64)
    alone, buffer = np.full(n, -1), np.zeros((LANES, _BUFFER), out.dtype)
    own = np.ones(LANES)
    for first in range(r0, r1, LANES):
        lanes = min(LANES, r1 - first)
        tips[:] = -1
        for r in range(lanes):
            tips[r], own[r] = first + r, size[first + r]
        fill_tables(start, S, all_pairs, rows, alone, tips, tables)
        for left in range(first, n, _BUFFER):
            right = min(left + _BUFFER, n)
            for z in range(left, right):
                add_row(tables, rows, z, total)
                if kind != PAIR_SUMS:
                    for r in range(LANES):
                        mean = np.divide(
                            np.float64(np.int64(total[r])), own[r] * size[z]
                        )
                        total[r] = np.uint64(mean + 0.5)
                for r in range(LANES):
                    buffer[r, z - left] = total[r]
            for r in range(lanes):
                out[first + r, left:right] = buffer[r, : right - left]
