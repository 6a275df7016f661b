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
    best,  # INOUT (R, K) float64, at least their similarity; -1 = none
    limit,  # INOUT (R,) float64, bound on the similarity of regions not listed
    merged,  # OUT (n_merges, 2) int64, pairs of regions; the lower one stays
    similarity,  # OUT (n_merges,) float64
):
    """Merge while pairs are left that are nearest to each other; return how many.

    A region never merges with one that is less similar than a region missing from its
    list may be.
    """
    n = near.shape[0]
    root, born, asked = np.arange(n), np.zeros(n, np.int64), np.zeros(n, np.int64)
    is_exact = np.zeros(near.shape, np.bool_)
    state = (low, high, cluster, count, size, of, S, both, all_pairs)
    lists = (near, best, is_exact, root, born, asked, limit)
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
    """Update the list of x, if its first entry has changed since the last update.

    What is known of two regions stays so while neither changes. Bounds are replaced by
    similarities only until one of these is above all bounds that are left.
    """
    near, best, is_exact, root, born, asked, limit = lists
    k, is_same = near.shape[1], born[x] <= asked[x]
    y = np.int64(near[x, 0])
    if is_same and (y < 0 or (is_exact[x, 0] and root[y] == y and born[y] <= asked[x])):
        return
    n_candidates, n_found = candidates.shape[0], 0
    found, value = np.empty(n_candidates, np.int64), np.empty(n_candidates)
    is_known = np.ones(n_candidates, np.bool_)
    for q in range(n_candidates):
        y = np.int64(candidates[q])
        if y < 0:
            continue
        is_kept = is_same and root[y] == y and born[y] <= asked[x]
        while root[y] != y:
            y = root[y]
        is_new = y != x
        for p in range(n_found):
            is_new = is_new and found[p] != y
        if is_new:
            found[n_found] = y
            if is_kept:
                value[n_found], is_known[n_found] = best[x, q], is_exact[x, q]
            else:
                value[n_found] = between(min(x, y), max(x, y), state)
            n_found += 1
    sort(found, value, is_known, n_found)
    while n_found > 0 and not is_known[0]:
        y = found[0]
        value[0], is_known[0] = between(min(x, y), max(x, y), state), True
        sort(found, value, is_known, n_found)
    near[x], best[x] = -1, -1.0
    kept = min(n_found, k)
    for q in range(kept):
        near[x, q], best[x, q], is_exact[x, q] = found[q], value[q], is_known[q]
    if n_found > k:
        limit[x] = max(limit[x], value[k])
    asked[x] = now


@jit
def sort(found, value, is_known, n_found):
    """Sort by insertion: most similar first, then bounds, then lowest."""
    for q in range(1, n_found):
        y, s, known, p = found[q], value[q], is_known[q], q
        while p > 0:
            z, t, is_first = found[p - 1], value[p - 1], not is_known[p - 1]
            if t > s or (t == s and (is_first if is_first == known else z < y)):
                break
            found[p], value[p], is_known[p] = z, t, not is_first
            p -= 1
        found[p], value[p], is_known[p] = y, s, known


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
