"""Microclusters: their closest others, and random walks between them."""

import numpy as np

from ensclust._kernels._jit import jit

LANES = 64  # microclusters whose neighbours are searched together
WIDTH = 32  # columns that walk together


@jit
def closest(
    codes,  # IN (F, M) unsigned, label rows; code k_m means "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    rank,  # IN ((M + 1)^2,) order of together / both at together (M + 1) + both
    n_ranks,  # IN int, rank 0 is the similarity 0
    n_neighbors,  # IN int >= 1
    i0,
    i1,  # at most i0 + LANES
):
    """Find the microclusters at least as close as the n_neighbors-th closest.

    Returns their number for rows i0..i1-1, (i1 - i0,) int64; their indices, row by row
    and ascending, int32; and the ranks of their similarities, int32. Rank 0 is left
    out. Counts have the type of ``rank``, which must hold (M + 1)^2 - 1: uint16 up to
    M = 255, twice as fast as int32.
    """
    n = codes.shape[0]
    lanes = i1 - i0
    tables = together_tables(codes, start, rank, i0, i1)
    ranks = np.empty((n, LANES), rank.dtype)
    histogram = np.zeros((LANES, n_ranks), np.int32)
    total = np.zeros(LANES, rank.dtype)
    for j in range(n):
        sum_tables(tables, codes[j], total)
        for r in range(LANES):
            own = rank[total[r]]
            ranks[j, r] = own
            histogram[r, own] += 1
    lowest = np.ones(LANES, rank.dtype)
    begin = np.zeros(lanes + 1, np.int64)
    for r in range(lanes):
        histogram[r, ranks[i0 + r, r]] -= 1
        ranks[i0 + r, r] = 0
        lowest[r], kept = threshold(histogram[r], n_neighbors)
        begin[r + 1] = begin[r] + kept
    count = begin[1:] - begin[:-1]
    others = np.empty(begin[lanes], np.int32)
    kept_ranks = np.empty(begin[lanes], np.int32)
    for j in range(n):
        is_close = False  # to any: most rows are close to none
        for r in range(LANES):
            is_close |= ranks[j, r] >= lowest[r]
        if is_close:
            for r in range(lanes):
                if ranks[j, r] >= lowest[r]:
                    others[begin[r]] = j
                    kept_ranks[begin[r]] = ranks[j, r]
                    begin[r] += 1
    return count, others, kept_ranks


@jit
def together_tables(codes, start, rank, i0, i1):
    """Return what code c of clustering m adds: 1 for both, M + 1 more for together."""
    n_clusterings = codes.shape[1]
    widest = np.int64(0)
    for m in range(n_clusterings):
        widest = max(widest, start[m + 1] - start[m])
    tables = np.zeros((n_clusterings, widest + 1, LANES), rank.dtype)
    for m in range(n_clusterings):
        k = start[m + 1] - start[m]
        for r in range(i1 - i0):
            own = np.int64(codes[i0 + r, m])
            if own < k:
                tables[m, :k, r] = 1
                tables[m, own, r] += n_clusterings + 1
    return tables


@jit
def sum_tables(tables, row, total):
    """Fill total with the sums of what the codes of a row add, four at a time."""
    n_clusterings = tables.shape[0]
    total[:] = 0
    m = 0
    while m + 4 <= n_clusterings:
        a, b, c, d = row[m], row[m + 1], row[m + 2], row[m + 3]
        for r in range(LANES):
            total[r] += (tables[m, a, r] + tables[m + 1, b, r]) + (
                tables[m + 2, c, r] + tables[m + 3, d, r]
            )
        m += 4
    while m < n_clusterings:
        a = row[m]
        for r in range(LANES):
            total[r] += tables[m, a, r]
        m += 1


@jit
def threshold(histogram, n_neighbors):
    """Return the lowest rank to keep, above 0, and how many entries have it or more."""
    kept = np.int64(0)
    for rank in range(histogram.shape[0] - 1, 0, -1):
        kept += histogram[rank]
        if kept >= n_neighbors:
            return rank, kept
    return 1, kept


@jit
def squared_norms(
    indptr,  # IN (n + 1,) int32, rows of P^T
    indices,  # IN (nnz,) int32
    data,  # IN (nnz,) float64
    steps,  # IN int
    norms,  # OUT (n,) float64
    i0,
    i1,  # at most i0 + WIDTH
):
    """Sum the squares of rows i0..i1-1 of P, P^2, ..., P^steps."""
    n = indptr.shape[0] - 1
    here, there = np.zeros((n, WIDTH)), np.zeros((n, WIDTH))
    total = np.zeros(WIDTH)
    for r in range(i1 - i0):
        here[i0 + r, r] = 1.0
    for _ in range(steps):
        there[:] = 0.0
        add_product(indptr, indices, data, here, there)
        for i in range(n):
            for r in range(WIDTH):
                total[r] += there[i, r] * there[i, r]
        here, there = there, here
    norms[i0:i1] = total[: i1 - i0]


@jit
def correlate(
    backward_indptr,  # IN (n + 1,) int32, rows of P^T
    backward_indices,  # IN (nnz,) int32
    backward_data,  # IN (nnz,) float64
    indptr,  # IN (n + 1,) int32, rows of P
    indices,  # IN (nnz,) int32
    data,  # IN (nnz,) float64
    walks,  # INOUT (steps + 1, n, WIDTH) float64, walks[0] = V; the others scratch
):
    """Replace V in walks[0] by the sum of P^s (P^s)^T V over s = 1..steps.

    V_s = P^T V_(s-1) on the way out; P (V_1 + P (V_2 + ...)) on the way back.
    """
    walks[1:] = 0.0
    steps = walks.shape[0] - 1
    for s in range(steps):
        add_product(
            backward_indptr, backward_indices, backward_data, walks[s], walks[s + 1]
        )
    walks[0] = 0.0
    for s in range(steps, 0, -1):
        add_product(indptr, indices, data, walks[s], walks[s - 1])


@jit
def add_product(indptr, indices, data, V, out):
    """Add the product of a sparse matrix and V, both (n, WIDTH), to out."""
    row = np.empty(WIDTH)
    for i in range(indptr.shape[0] - 1):
        row[:] = out[i]
        add_rows(indices, data, indptr[i], indptr[i + 1], V, row)
        out[i] = row


@jit
def add_rows(
    indices,  # IN (nnz,) int32
    data,  # IN (nnz,)
    first,  # first entry
    last,  # and the one after the last
    V,  # IN (n, w)
    row,  # INOUT (w,)
):
    """Add rows of V to a row, as many and as much as the entries say.

    Adds four entries at a time, in their order, with one load and store of the sum for
    four products: three times as fast as one by one.
    """
    e = first
    while e + 4 <= last:
        a, b, c, d = data[e], data[e + 1], data[e + 2], data[e + 3]
        f, g = indices[e], indices[e + 1]
        h, j = indices[e + 2], indices[e + 3]
        for r in range(row.shape[0]):
            row[r] = (((row[r] + a * V[f, r]) + b * V[g, r]) + c * V[h, r]) + (
                d * V[j, r]
            )
        e += 4
    while e < last:
        a, f = data[e], indices[e]
        for r in range(row.shape[0]):
            row[r] += a * V[f, r]
        e += 1
