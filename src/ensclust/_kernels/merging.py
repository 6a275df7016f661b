"""Merge regions that are nearest to each other, according to lists of neighbours."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def merge(
    low,  # INOUT (R,) int64, first entry of each region
    high,  # INOUT (R,) int64, one past its last
    cluster,  # INOUT (P,) int32, base cluster of each entry, ascending in a region
    count,  # INOUT (P,) int32, objects of the region in it
    n_entries,  # IN entries in use; merged regions are written after them
    size,  # INOUT (R,) float64, objects (all_pairs: memberships) of each region
    of,  # IN (Nc,) int32, clustering of each base cluster
    S,  # IN (Nc, Nc) float32, what two base clusters add to a similarity
    both,  # IN (Nc, Nc) float32, what they add to its divisor; (0, 0): it is 1
    all_pairs,  # IN bool
    near,  # INOUT (R, K) int32, the most similar regions known, -1 = none
    best,  # OUT (R, K) float64, their similarity
    limit,  # INOUT (R,) float64, bound on the similarity of regions not listed
    merged,  # OUT (n_merges, 2) int64, pairs of regions; the lower one stays
    similarity,  # OUT (n_merges,) float64
):
    """Merge while pairs are left that are nearest to each other; return how many.

    A region never merges with one that is less similar than a region missing from its
    list may be.
    """
    n = near.shape[0]
    root, born, asked = np.arange(n), np.zeros(n, np.int64), np.full(n, -1)
    state = (low, high, cluster, count, size, of, S, both, all_pairs)
    lists = (near, best, root, born, asked, limit)
    n_merged, before = 0, -1
    while n_merged > before:
        before = n_merged
        for x in range(n):
            while root[x] == x and n_merged < merged.shape[0]:
                ask(x, n_merged, state, lists, near[x])
                y, s = int(near[x, 0]), best[x, 0]
                if y < 0 or s < limit[x]:
                    break
                ask(y, n_merged, state, lists, near[y])
                if s < best[y, 0] or s < limit[y]:
                    break
                a, b = min(x, y), max(x, y)
                n_entries = join(a, b, low, high, cluster, count, n_entries)
                if n_entries < 0:
                    return n_merged
                size[a] += size[b]
                root[b] = a
                merged[n_merged, 0], merged[n_merged, 1] = a, b
                similarity[n_merged] = s
                n_merged += 1
                born[a] = n_merged
                limit[a] = max(limit[a], limit[b])
                ask(a, n_merged, state, lists, np.concatenate((near[a], near[b])))
    return n_merged


@jit
def ask(x, now, state, lists, candidates):
    """Update the list of x, if its first entry has changed since the last update."""
    near, best, root, born, asked, limit = lists
    k = near.shape[1]
    if asked[x] >= born[x]:
        y = near[x, 0]
        if y < 0 or (root[y] == y and born[y] <= asked[x]):
            return
    n_candidates, n_found = candidates.shape[0], 0
    found, value = np.empty(n_candidates, np.int64), np.empty(n_candidates)
    for q in range(n_candidates):
        y = np.int64(candidates[q])
        if y < 0:
            continue
        while root[y] != y:
            y = root[y]
        is_new = y != x
        for p in range(n_found):
            is_new = is_new and found[p] != y
        if is_new:
            found[n_found], value[n_found] = y, between(min(x, y), max(x, y), state)
            n_found += 1
    for q in range(n_found):  # insertion sort: most similar first, then lowest
        y, s, p = found[q], value[q], q
        while p > 0 and (value[p - 1] < s or (value[p - 1] == s and found[p - 1] > y)):
            found[p], value[p] = found[p - 1], value[p - 1]
            p -= 1
        found[p], value[p] = y, s
    near[x], best[x] = -1, -1.0
    kept = min(n_found, k)
    near[x, :kept], best[x, :kept] = found[:kept], value[:kept]
    if n_found > k:
        limit[x] = max(limit[x], value[k])
    asked[x] = now


@jit
def between(x, y, state):
    """Return the mean similarity of the objects of two regions."""
    low, high, cluster, count, size, of, S, both, all_pairs = state
    total, divisor = 0.0, 0.0
    first = low[y]
    for e in range(low[x], high[x]):
        c, w = cluster[e], np.float64(count[e])
        if not all_pairs:
            while first < high[y] and of[cluster[first]] < of[c]:
                first += 1
        f = first
        while f < high[y] and (all_pairs or of[cluster[f]] == of[c]):
            total += w * count[f] * S[c, cluster[f]]
            if both.shape[0] > 0:
                divisor += w * count[f] * both[c, cluster[f]]
            f += 1
    if both.shape[0] == 0:
        divisor = size[x] * size[y]
    return total / divisor if divisor > 0 else 0.0


@jit
def join(a, b, low, high, cluster, count, n_entries):
    """Append the joint entries of both for region a; return -1 if no room is left."""
    if n_entries + high[a] - low[a] + high[b] - low[b] > cluster.shape[0]:
        return -1
    e, f, end = low[a], low[b], n_entries
    while e < high[a] or f < high[b]:
        if f == high[b] or (e < high[a] and cluster[e] < cluster[f]):
            cluster[end], count[end] = cluster[e], count[e]
            e += 1
        elif e == high[a] or cluster[f] < cluster[e]:
            cluster[end], count[end] = cluster[f], count[f]
            f += 1
        else:
            cluster[end], count[end] = cluster[e], count[e] + count[f]
            e += 1
            f += 1
        end += 1
    low[a], high[a] = n_entries, end
    return end


@jit
def pack(
    kept,  # IN (R,) int64, regions
    low,  # IN (.,) int64
    high,  # IN (.,) int64
    cluster,  # IN (P,) int32
    count,  # IN (P,) int32
    of,  # IN (Nc,) int32
    start,  # IN (M + 1,) int64
    edge,  # IN (R + 1,) int64, first entry of each kept region from now on
    packed_cluster,  # OUT (E,) int32
    packed_count,  # OUT (E,) int32
    codes,  # OUT (R, M), most frequent cluster of each clustering, lowest first
):
    """Copy the entries of some regions, and find the label row nearest to each."""
    most = np.empty(start.shape[0] - 1, np.int32)
    for i in range(kept.shape[0]):
        x, at = kept[i], edge[i]
        most[:] = 0
        for m in range(most.shape[0]):
            codes[i, m] = start[m + 1] - start[m]
        for e in range(low[x], high[x]):
            packed_cluster[at], packed_count[at] = cluster[e], count[e]
            at += 1
            m = of[cluster[e]]
            if count[e] > most[m]:
                most[m] = count[e]
                codes[i, m] = cluster[e] - start[m]
