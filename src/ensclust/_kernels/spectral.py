"""Spectral base clusterings: nearest representatives of rows, and labels by these.

Rows and representatives come as rows and centres do in :mod:`ensclust._kernels.kmeans`.
Results for a row depend on the row and the representatives alone.
"""

import numpy as np

from ensclust._kernels._jit import fused_jit, jit
from ensclust._kernels.kmeans import LANES, add_products, score_sparse, turn

MOST = 5  # representatives that are found for a row


@jit
def find_nearest(
    X,  # IN (n, d)
    data,  # IN
    indices,  # IN
    indptr,  # IN
    W,  # IN (P, D) or, for sparse rows, (d, P): the representatives
    half,  # IN (P,), half their squared norms, infinite past the last
    exact,  # IN (p,) float64, the same in full precision
    near,  # OUT (i1 - i0, q) int32, the nearest of each row, q <= min(p, MOST)
    score,  # OUT (i1 - i0, q) float64, products with these less half their norms
    i0,
    i1,
):
    """Write the q nearest representatives of rows i0..i1-1, lowest of equals first."""
    q, dtype = near.shape[1], W.dtype
    tile = np.zeros((0 if X is None else W.shape[1], LANES), dtype)
    scores = np.zeros((4, LANES), dtype)  # past the last row too
    turned = np.empty((LANES if X is None else 0, half.shape[0]), dtype)
    best, found = np.empty((MOST, LANES), dtype), np.empty((MOST, LANES), np.int32)
    b0, b1, b2, b3, b4 = best[0], best[1], best[2], best[3], best[4]
    f0, f1, f2, f3, f4 = found[0], found[1], found[2], found[3], found[4]
    rows = np.empty(LANES, np.int64)
    for begin in range(i0, i1, LANES):
        n_rows = min(LANES, i1 - begin)
        for r in range(n_rows):
            rows[r] = begin + r
        best[:] = -np.inf
        found[:] = 0  # if numbers overflow, nothing is nearest
        if X is not None:
            turn(X, rows, n_rows, tile)
        if data is not None:
            score_sparse(data, indices, indptr, rows, n_rows, W, half, turned)
        for c in range(0, half.shape[0], 4):
            if X is not None:
                add_products(tile, W, half, c, tile.shape[0], scores)
            if data is not None:
                for j in range(4):
                    for r in range(n_rows):
                        scores[j, r] = turned[r, c + j]
            insert(scores, c, b0, b1, b2, b3, b4, f0, f1, f2, f3, f4)
        for r in range(n_rows):
            own, chosen = score[begin + r - i0], near[begin + r - i0]
            for j in range(q):
                chosen[j] = found[j, r]
                own[j] = -exact[chosen[j]]
            if X is not None:
                add_dense(X[begin + r], W, chosen, own)
            if data is not None:
                a, b = indptr[begin + r], indptr[begin + r + 1]
                add_stored(data[a:b], indices[a:b], W, chosen, own)


@jit
def insert(
    score,  # IN (4, LANES), of four representatives
    c,  # the first of them
    b0, b1, b2, b3, b4,  # INOUT (LANES,), the best scores so far, in order
    f0, f1, f2, f3, f4,  # INOUT (LANES,) int32, their representatives
):  # fmt: skip
    """Insert the scores of a tile in order, after equal ones, without branches."""
    for j in range(4):
        own, number = score[j], np.int32(c + j)
        put(own, number, b3, f3, b4, f4)  # the last first, while b3 is unchanged
        put(own, number, b2, f2, b3, f3)
        put(own, number, b1, f1, b2, f2)
        put(own, number, b0, f0, b1, f1)
        put_first(own, number, b0, f0)


@jit
def put_first(score, own, best, found):
    """Insert into the first place."""
    for r in range(LANES):
        t, y, k = score[r], best[r], found[r]
        best[r] = t if t > y else y
        found[r] = own if t > y else k


@jit
def put(score, own, before, found_before, best, found):
    """Insert into any other place."""
    for r in range(LANES):
        t, x, y, i, k = score[r], before[r], best[r], found_before[r], found[r]
        v = x if t > x else t
        w = i if t > x else own
        best[r] = v if t > y else y
        found[r] = w if t > y else k


@jit
def add_dense(x, W, near, score):
    """Add the products of a row with its representatives, (P, D), in float64."""
    for f in range(x.shape[0]):
        value = np.float64(x[f])
        for j in range(near.shape[0]):
            score[j] += value * W[near[j], f]


@jit
def add_stored(data, indices, W, near, score):
    """Like add_dense, for a sparse row, (d, P): zeros add nothing."""
    for p in range(data.shape[0]):
        value = np.float64(data[p])
        for j in range(near.shape[0]):
            score[j] += value * W[indices[p], near[j]]


@jit
def share_out(
    score,  # INOUT (n, q) float64, as find_nearest writes them; replaced by shares
    precision,  # IN float64, one over the squared width of the Gaussian
):
    """Turn scores into the shares of representatives in their row's affinity.

    The squared norm of the row, which scores lack, is a factor of all its affinities.
    """
    for i in range(score.shape[0]):
        own = score[i]
        most, total = own.max(), 0.0
        for j in range(own.shape[0]):
            own[j] = np.exp((own[j] - most) * precision)
            total += own[j]
        for j in range(own.shape[0]):
            own[j] /= total


@fused_jit
def mix(
    near,  # IN (q,) int32
    share,  # IN (q,) float64
    table,  # IN (p, w) float32
    mixed,  # OUT (w,) float32
):
    """Write the mean of rows of a table, weighted by shares."""
    mixed[:] = 0
    for j in range(near.shape[0]):
        own, weight = table[near[j]], np.float32(share[j])
        for f in range(mixed.shape[0]):
            mixed[f] += weight * own[f]


@jit
def length(
    point,  # IN (d,) float32, d a multiple of 8
    parts,  # WORK (8,) float32
):
    """Return the norm of a point, summed in a fixed order."""
    parts[:] = 0
    for f in range(0, point.shape[0], 8):
        for r in range(8):
            parts[r] += point[f + r] * point[f + r]
    square = ((parts[0] + parts[4]) + (parts[2] + parts[6])) + (
        (parts[1] + parts[5]) + (parts[3] + parts[7])
    )
    return np.sqrt(square)


@jit
def embed(
    near,  # IN (n, q) int32
    share,  # IN (n, q) float64
    table,  # IN (p, d) float32, d a multiple of 8
    points,  # OUT (n, d) float32
):
    """Write the points of rows: means of the table, scaled to unit length."""
    parts = np.empty(8, np.float32)
    for i in range(near.shape[0]):
        mix(near[i], share[i], table, points[i])
        size = length(points[i], parts)
        if size > 0:
            points[i] /= size


@jit
def label(
    near,  # IN (n, q) int32
    share,  # IN (n, q) float64
    table,  # IN (p, d + k) float32: points, d a multiple of 8; products with centres
    half,  # IN (k,) float32, half the squared norms of centres
    labels,  # OUT (n,) unsigned
):
    """Write the centre nearest to the point of each row, lowest of equals."""
    k, d = half.shape[0], table.shape[1] - half.shape[0]
    parts, mixed = np.empty(8, np.float32), np.empty(table.shape[1], np.float32)
    for i in range(near.shape[0]):
        mix(near[i], share[i], table, mixed)
        size = length(mixed[:d], parts)
        best, nearest = -np.inf, 0
        for c in range(k):
            value = mixed[d + c] - size * half[c]
            if value > best:
                best, nearest = value, c
        labels[i] = nearest
