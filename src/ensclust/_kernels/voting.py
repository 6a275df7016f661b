"""Votes of base clusters for meta-clusters."""

import numpy as np

from ensclust._kernels._jit import inlined_jit, jit


@jit
def vote(
    codes,  # IN (M, N) unsigned, anything >= n_m means "not clustered" in column m
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    meta,  # IN (Nc,) int64, meta-cluster of each base cluster, -1 = none
    weight,  # IN (Nc,) float64, weight of each base cluster's vote
    count,  # IN (k,) float64, divisor of each meta-cluster's votes
    seed,  # IN uint64, decides ties
    winner,  # OUT (N,) int32, -1 if there is no vote
    i0,
    i1,
):
    """Label objects i0..i1-1 with the meta-cluster of largest mean membership.

    Exact ties are decided by a hash of the seed and the label row, so an object's label
    depends on its row alone.
    """
    n_clusterings = codes.shape[0]
    k = count.shape[0]
    votes = np.empty(k)
    for i in range(i0, i1):
        for j in range(k):
            votes[j] = 0
        for m in range(n_clusterings):
            c = start[m] + np.int64(codes[m, i])
            if c < start[m + 1] and meta[c] >= 0:
                votes[meta[c]] += weight[c]
        best, n_best, score = -1, 0, 0.0
        for j in range(k):
            if votes[j] > 0:
                s = votes[j] / count[j]  # equal fractions give equal floats
                if s > score:
                    best, n_best, score = j, 1, s
                elif s == score:
                    n_best += 1
        if n_best > 1:
            draw = np.int64(row_hash(codes, start, i, seed) % np.uint64(n_best))
            # In the order of the row, so that renumbering meta-clusters does not
            # change the winner.
            for m in range(n_clusterings):
                c = start[m] + np.int64(codes[m, i])
                j = meta[c] if c < start[m + 1] else -1
                if j >= 0 and votes[j] > 0 and votes[j] / count[j] == score:
                    if draw == 0:
                        best = j
                        break
                    draw -= 1
                    votes[j] = 0
        winner[i] = best


@inlined_jit
def row_hash(codes, start, i, seed):
    """Return 64 well-mixed bits of the seed and the label row of object i."""
    h = seed
    for m in range(codes.shape[0]):
        c = min(np.int64(codes[m, i]), start[m + 1] - start[m])
        h = (h ^ np.uint64(c)) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@jit
def score(
    codes,  # IN (M, N) unsigned
    start,  # IN (M + 1,) int64
    meta,  # IN (Nc,) int64, -1 = none
    weight,  # IN (Nc,) float64
    count,  # IN (k,) float64
    scores,  # OUT (N, k) float64
    i0,
    i1,
):
    """Write the mean membership of objects i0..i1-1 in every meta-cluster."""
    for i in range(i0, i1):
        scores[i, :] = 0.0
        for m in range(codes.shape[0]):
            c = start[m] + np.int64(codes[m, i])
            if c < start[m + 1] and meta[c] >= 0:
                scores[i, meta[c]] += weight[c]
        for j in range(count.shape[0]):
            if count[j] > 0:
                scores[i, j] /= count[j]
