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
WIDE = 8  # blocks that are first looked at together
BLOCK = 8  # rows that are compared only if one of them may be a nearest neighbour
_BELOW = 1 - 1e-9  # factor that keeps a bound on sums valid despite rounding
_TOGETHER = 16  # lanes written at a time: a whole cache line of 32-bit numbers
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
    blocks,  # IN what summarise writes for blocks of BLOCK rows
    groups,  # IN the same for groups of WIDE blocks
    parts,  # IN the same for parts of WIDE groups
    far,  # IN (L',) int64, living regions with rows in several blocks
    queue,  # IN (L,) int64, regions to search for
    near,  # OUT (F,) int64, the most similar other region, lowest first
    best,  # OUT (F,) float64, its similarity times the scale and constant divisors
    tables,  # scratch (M * widest, lanes) uint32 or uint64
    q0,
    q1,
):
    """Find the nearest neighbour of regions queue[q0..q1-1]; count compared regions.

    A mean similarity is at most that of the most similar slots of a block, which tells
    that most blocks have no nearer region. The blocks of the queued regions come first.
    """
    rows, width, n_compared = (edge, slots, count), tables.shape[1], 0
    n_blocks, n_groups = blocks[0].shape[0], groups[0].shape[0]
    bound, own = np.empty((n_groups, width), tables.dtype), np.empty_like(tables[0])
    top = np.empty_like(own)
    total, sums = np.zeros(width, np.uint64), np.zeros(width, np.uint64)
    tips, nearest_row = np.empty(width, np.int64), np.empty(width, np.int64)
    most, least = np.empty(width), np.empty(width)
    is_far, is_done = np.zeros(size.shape[0], np.bool_), np.empty(n_blocks, np.bool_)
    is_far[far] = True
    for first in range(q0, q1, width):
        lanes = min(width, q1 - first)
        tips[:], most[:], least[:], nearest_row[:] = -1, -1.0, np.inf, -1
        for r in range(lanes):
            tips[r], least[r] = place[queue[first + r]], -1.0
        fill_tables(start, S, all_pairs, rows, next_member, tips, tables)
        found = (size, present, tips[:lanes], most, least, nearest_row)
        work = (rows, next_member, tables, total, sums, found)
        is_done[:] = False
        for r in range(lanes):
            n_compared += compare_block(tips[r] // BLOCK, is_done, is_far, work)
        for p in range(parts[0].shape[0]):
            bound_block(*parts, p, tables, own, top)
            may_be_here = may_be_nearer(own, least)
            for g in range(p * WIDE, min((p + 1) * WIDE, n_groups)):
                if not may_be_here:
                    bound[g] = own
                    continue
                bound_block(*groups, g, tables, bound[g], top)
                if not may_be_nearer(bound[g], least):
                    continue
                for b in range(g * WIDE, min((g + 1) * WIDE, n_blocks)):
                    if not is_done[b]:
                        bound_block(*blocks, b, tables, own, top)
                        if may_be_nearer(own, least):
                            n_compared += compare_block(b, is_done, is_far, work)
        for z in far:
            if may_have_nearer(bound, next_member, z, least, total):
                compare(z, *work)
                n_compared += 1
        for r in range(lanes):
            x = queue[first + r]
            near[x], best[x] = slot[nearest_row[r]], most[r]
    return n_compared


@jit
def compare_block(b, is_done, is_far, work):
    """Compare the regions of a block, except far ones, once; return their number."""
    n_compared, size = 0, work[-1][0]
    if not is_done[b]:
        is_done[b] = True
        for z in range(b * BLOCK, min((b + 1) * BLOCK, size.shape[0])):
            if size[z] > 0 and not is_far[z]:
                compare(z, *work)
                n_compared += 1
    return n_compared


@jit
def bound_block(edge, slots, b, tables, own, most):
    """Write the sum over the clusterings of the largest contributions of slots."""
    own[:] = 0
    for m in range(edge.shape[1] - 1):
        e, end = edge[b, m], edge[b, m + 1]
        if end - e == 1:
            a = slots[e]
            for r in range(own.shape[0]):
                own[r] += tables[a, r]
        elif end - e == 2:
            a, c = slots[e], slots[e + 1]
            for r in range(own.shape[0]):
                own[r] += max(tables[a, r], tables[c, r])
        elif end > e:
            a, c, d = slots[e], slots[e + 1], slots[e + 2]
            for r in range(own.shape[0]):
                most[r] = max(tables[a, r], tables[c, r], tables[d, r])
            for i in range(e + 3, end):
                a = slots[i]
                for r in range(own.shape[0]):
                    most[r] = max(most[r], tables[a, r])
            for r in range(own.shape[0]):
                own[r] += most[r]


@jit
def may_be_nearer(bound, least):
    """Return whether a bound reaches what a lane has found."""
    n_nearer = 0
    for r in range(least.shape[0]):
        n_nearer += np.float64(np.int64(bound[r])) >= least[r]
    return n_nearer > 0


@jit
def may_have_nearer(bound, next_member, z, least, most):
    """Return whether the bounds of a region's rows reach what a lane has found."""
    most[:] = 0
    while z >= 0:
        own = bound[z // (BLOCK * WIDE)]
        for r in range(most.shape[0]):
            most[r] = max(most[r], np.uint64(own[r]))
        z = next_member[z]
    return may_be_nearer(most, least)


@jit
def compare(z, rows, next_member, tables, total, sums, found):
    """Enter region z where it is nearer than what a lane has found, or as near."""
    size, present, tips, most, least, near = found
    add_region(rows, next_member, z, tables, total, sums)
    n_nearer = 0
    for r in range(sums.shape[0]):
        n_nearer += np.float64(np.int64(sums[r])) >= least[r] * size[z]
    if n_nearer == 0:  # nearly always
        return
    for r in range(tips.shape[0]):
        s = mean(sums[r], size, present, tips[r], z)
        is_nearer = s > most[r] or (s == most[r] and z < near[r])
        if is_nearer and tips[r] != z:
            most[r], near[r] = s, z
            if present.shape[0] == 0:
                least[r] = s * size[tips[r]] * _BELOW


@jit
def summarise(
    edge,  # IN (R + 1,) int64
    slots,  # IN (E,) int32
    widest,  # IN slots of a clustering
    height,  # IN rows of a block
    used_edge,  # OUT (B, M + 1) int64, first used slot of each block and clustering
    used,  # OUT (E,) int32, slots of the entries of each block of rows, ascending
):
    """Write which slots the rows of each block use; return their number."""
    n, n_clusterings = edge.shape[0] - 1, used_edge.shape[1] - 1
    is_used = np.zeros(n_clusterings * widest, np.bool_)
    end = 0
    for b in range(used_edge.shape[0]):
        is_used[:] = False
        for e in range(edge[b * height], edge[min((b + 1) * height, n)]):
            is_used[slots[e]] = True
        for m in range(n_clusterings):
            used_edge[b, m] = end
            for a in range(m * widest, (m + 1) * widest):
                if is_used[a]:
                    used[end] = a
                    end += 1
        used_edge[b, n_clusterings] = end
    return end


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
    own = np.empty((min(_TOGETHER, tips.shape[0]), tables.shape[0]), tables.dtype)
    for first in range(0, tips.shape[0], own.shape[0]):
        lanes = min(own.shape[0], tips.shape[0] - first)
        for r in range(lanes):
            weigh_rows(rows, next_member, tips[first + r], start, S, all_pairs, own[r])
        for a in range(tables.shape[0]):
            for r in range(lanes):
                tables[a, first + r] = own[r, a]


@jit
def weigh_rows(rows, next_member, member, start, S, all_pairs, own):
    """Write the similarity of a row, and those linked after it, to each slot."""
    edge, slots, count = rows
    n_clusterings = start.shape[0] - 1
    widest = own.shape[0] // n_clusterings
    own[:] = 0
    while member >= 0:
        for e in range(edge[member], edge[member + 1]):
            n = count[e]
            if S.shape[0] == 0:
                own[slots[e]] += n
                continue
            m = slots[e] // widest
            c = start[m] + slots[e] - m * widest
            low = 0 if all_pairs else m
            high = n_clusterings if all_pairs else m + 1
            for q in range(low, high):
                row = S[c, start[q] : start[q + 1]]
                target = own[q * widest : q * widest + row.shape[0]]
                for d in range(row.shape[0]):
                    target[d] += n * row[d]
        member = next_member[member]


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
def join(
    is_far,  # INOUT (R,) bool, whether a region has rows in several blocks
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
        is_far[a] |= is_far[b] or a // BLOCK != b // BLOCK
        is_far[b] = False
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
        first, last = edge[kept[i]], edge[kept[i] + 1]
        if next_member[kept[i]] < 0:
            if packed_slots.shape[0] > 0:
                for e in range(first, last):
                    packed_slots[end + e - first] = slots[e]
                    packed_count[end + e - first] = count[e]
            end += last - first
        else:
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
