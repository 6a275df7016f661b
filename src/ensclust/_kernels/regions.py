"""Regions of many label rows: neighbours, in blocks of regions that share clusters.

A region is the list of its entries: base clusters, ascending, with the share of its
objects in each. The regions of a block are compared in ascending order, with tables for
the lower ones and look-ups for the higher, so that a pair always gives the same number.
"""

import numpy as np

from ensclust._kernels._jit import jit

LANES = 64  # regions whose tables lie side by side, so that one look-up serves all
# Regions compared with those of the lanes at a time; written as pieces of rows of a
# matrix, as writing single entries would wait for memory.
_BUFFER = 64


@jit
def neighbours(
    edge,  # IN (R + 1,) int64, first entry of each region
    cluster,  # IN (E,) int32, base cluster of each entry
    share,  # IN (E,) float32, share of the region's objects in it
    start,  # IN (M + 1,) int64, first base cluster of each clustering
    S,  # IN (Nc, Nc) float32, what two base clusters add to a similarity
    both,  # IN (Nc, Nc) float32, what they add to its divisor; (0, 0): it is 1
    all_pairs,  # IN bool: all pairs of clusterings, not equal ones only
    order,  # IN (R,) int64, regions block by block, ascending within each
    begin,  # IN (B + 1,) int64, first place of each block
    near,  # INOUT (R, K) int32, most similar regions looked at, best first; -1 = none
    best,  # INOUT (R, K) float32, their similarity; -1 = none
    b0,
    b1,
):
    """Compare the regions of blocks b0..b1-1 with all of their block, both ways.

    Regions of a block share most of their clusters, so that few occur in it: tables of
    these alone are soon filled, and stay in the cache.
    """
    for b in range(b0, b1):
        members = order[begin[b] : begin[b + 1]]
        used = used_clusters(members, edge, cluster, S.shape[0])
        entries = own_entries(members, edge, cluster, share, used)
        own_start = np.searchsorted(used, start)
        compare(
            members, *entries, own_start, corner(S, used), corner(both, used),
            all_pairs, near, best,
        )  # fmt: skip


@jit
def used_clusters(members, edge, cluster, n_clusters):
    """Return the base clusters that some members are in, ascending."""
    is_used = np.zeros(n_clusters, np.bool_)
    for x in members:
        for e in range(edge[x], edge[x + 1]):
            is_used[cluster[e]] = True
    return np.flatnonzero(is_used)


@jit
def own_entries(members, edge, cluster, share, used):
    """Return the entries of the members, their clusters numbered as in ``used``."""
    number = np.zeros(used[-1] + 1 if used.shape[0] > 0 else 1, np.int32)
    for i in range(used.shape[0]):
        number[used[i]] = i
    own_edge = np.zeros(members.shape[0] + 1, np.int64)
    for i in range(members.shape[0]):
        x = members[i]
        own_edge[i + 1] = own_edge[i] + edge[x + 1] - edge[x]
    own_cluster = np.empty(own_edge[-1], np.int32)
    own_share = np.empty(own_edge[-1], share.dtype)
    for i in range(members.shape[0]):
        first = edge[members[i]]
        for e in range(own_edge[i], own_edge[i + 1]):
            own_cluster[e] = number[cluster[first + e - own_edge[i]]]
            own_share[e] = share[first + e - own_edge[i]]
    return own_edge, own_cluster, own_share


@jit
def corner(matrix, used):
    """Return the rows and columns of some base clusters; (0, 0) stays."""
    n = used.shape[0] if matrix.shape[0] > 0 else 0
    part = np.empty((n, n), matrix.dtype)
    for i in range(n):
        for j in range(n):
            part[i, j] = matrix[used[i], used[j]]
    return part


@jit
def compare(members, edge, cluster, share, start, S, both, all_pairs, near, best):
    """Compare all members of a block; their entries are in the order of the members."""
    tables = np.zeros((S.shape[0], LANES), np.float32)
    divisors = np.zeros((both.shape[0], LANES), np.float32)
    total = np.empty((_BUFFER, LANES), np.float32)
    divisor = np.empty((_BUFFER, LANES), np.float32)
    least = np.zeros(LANES, np.float32)  # that the list of each lane's region holds
    n = members.shape[0]
    for first in range(0, n, LANES):
        queue = np.arange(first, min(first + LANES, n))
        fill_tables(edge, cluster, share, start, S, all_pairs, queue, tables)
        if both.shape[0] > 0:
            fill_tables(edge, cluster, share, start, both, all_pairs, queue, divisors)
        for r in range(queue.shape[0]):
            least[r] = best[members[first + r], -1]
        for left in range(first, n, _BUFFER):
            right = min(left + _BUFFER, n)
            add_up(tables, edge, cluster, share, left, right, total)
            if both.shape[0] > 0:
                add_up(divisors, edge, cluster, share, left, right, divisor)
                total /= np.maximum(divisor, np.float32(1e-30))
            note(members, near, best, first, left, right, total, least)


@jit
def note(members, near, best, first, left, right, total, least):
    """Enter regions and those of the lanes into each other's lists, if near enough.

    Few are: they are first collected without a branch, which would be mispredicted.
    """
    is_near, found = np.zeros(LANES, np.uint8), np.zeros(LANES, np.int64)
    for place in range(left, right):
        i, j, n_found = place - left, members[place], 0
        last = best[j, -1]
        for r in range(LANES):
            is_near[r] = (total[i, r] > last) | (total[i, r] > least[r])
        for r in range(min(LANES, place - first)):
            found[n_found] = r
            n_found += is_near[r]
        for q in range(n_found):
            r = found[q]
            x, s = members[first + r], total[i, r]
            if s > last:
                insert(near, best, j, x, s)
                last = best[j, -1]
            if s > least[r]:
                insert(near, best, x, j, s)
                least[r] = best[x, -1]
        if place - first < LANES:
            least[place - first] = last  # the region of a lane itself


@jit
def fill_tables(edge, cluster, share, start, S, all_pairs, queue, tables):
    """Write what each base cluster contributes to the queued regions."""
    tables[:] = 0
    for r in range(queue.shape[0]):
        m = 0
        low, high = np.int64(0), np.int64(S.shape[0])
        for e in range(edge[queue[r]], edge[queue[r] + 1]):
            c, p = cluster[e], share[e]
            if not all_pairs:
                while start[m + 1] <= c:
                    m += 1
                low, high = start[m], start[m + 1]
            for d in range(low, high):
                tables[d, r] += p * S[c, d]


@jit
def add_up(tables, edge, cluster, share, left, right, total):
    """Sum the contributions of regions' entries to each lane, four at a time.

    Row by row, for many regions in one call: a call costs as much as a region.
    """
    total[:] = 0
    for j in range(left, right):
        i, e, end = j - left, edge[j], edge[j + 1]
        while e + 4 <= end:
            c0, c1, c2, c3 = cluster[e], cluster[e + 1], cluster[e + 2], cluster[e + 3]
            p0, p1, p2, p3 = share[e], share[e + 1], share[e + 2], share[e + 3]
            for r in range(total.shape[1]):
                total[i, r] += (
                    p0 * tables[c0, r]
                    + p1 * tables[c1, r]
                    + p2 * tables[c2, r]
                    + p3 * tables[c3, r]
                )
            e += 4
        while e < end:
            c, p = cluster[e], share[e]
            for r in range(total.shape[1]):
                total[i, r] += p * tables[c, r]
            e += 1


@jit
def gather(
    edge,  # IN (R + 1,) int64
    cluster,  # IN (E,) int32
    share,  # IN (E,) float64
    start,  # IN (M + 1,) int64
    S,  # IN (Nc, Nc) float64, times the scale of the result
    all_pairs,  # IN bool
    out,  # OUT (R, R) uint32, rows r0..r1-1 from column r0 on
    r0,
    r1,
):
    """Write the similarity of regions r0..r1-1 to all regions from r0 on."""
    lanes, n = LANES // 2, out.shape[0]
    tables, total = np.zeros((S.shape[0], lanes)), np.zeros((_BUFFER, lanes))
    buffer = np.zeros((lanes, _BUFFER), out.dtype)
    for first in range(r0, r1, lanes):
        queue = np.arange(first, min(first + lanes, r1))
        fill_tables(edge, cluster, share, start, S, all_pairs, queue, tables)
        for left in range(first, n, _BUFFER):
            right = min(left + _BUFFER, n)
            add_up(tables, edge, cluster, share, left, right, total)
            for i in range(right - left):
                for r in range(lanes):
                    buffer[r, i] = np.int64(total[i, r] + 0.5)
            for r in range(queue.shape[0]):
                out[first + r, left:right] = buffer[r, : right - left]


@jit
def insert(near, best, x, y, s):
    """Insert y into the list of x, unless it is there, after equally near ones."""
    k = near.shape[1]
    for q in range(k):
        if near[x, q] == y:
            return
    q = k - 1
    while q > 0 and best[x, q - 1] < s:
        near[x, q], best[x, q] = near[x, q - 1], best[x, q - 1]
        q -= 1
    near[x, q], best[x, q] = y, s
