"""Sums over the graph of objects and base clusters, object by object."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def weighted_overlap(
    codes,  # IN (F, M) unsigned, label rows; code k_m means "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    weight,  # IN (F,) float64
    overlap,  # OUT (Nc, Nc) float64, zeroed by the caller
):
    """Sum the weights of the objects in every pair of base clusters."""
    n, n_clusterings = codes.shape
    for i in range(n):
        for m in range(n_clusterings):
            a = start[m] + np.int64(codes[i, m])
            if a < start[m + 1]:
                for q in range(n_clusterings):
                    b = start[q] + np.int64(codes[i, q])
                    if b < start[q + 1]:
                        overlap[a, b] += weight[i]


@jit
def quadratic(
    codes,  # IN (F, M) unsigned
    start,  # IN (M + 1,) int64
    C,  # IN (Nc, Nc) float64
    out,  # OUT (F,) float64
    i0,
    i1,
):
    """Sum C over all pairs of clusters of each of the objects i0..i1-1."""
    n_clusterings = codes.shape[1]
    for i in range(i0, i1):
        out[i] = 0.0
        for m in range(n_clusterings):
            a = start[m] + np.int64(codes[i, m])
            if a < start[m + 1]:
                for q in range(n_clusterings):
                    b = start[q] + np.int64(codes[i, q])
                    if b < start[q + 1]:
                        out[i] += C[a, b]


@jit
def is_nearest_to_itself(
    codes,  # IN (F, M) unsigned
    start,  # IN (M + 1,) int64
    C,  # IN (Nc, Nc) float64
    rows,  # IN (B,) int64, the objects to check
    out,  # OUT (F,) bool, written for the objects checked
    i0,
    i1,
):
    """Check that no other object is closer to rows[i0..i1-1] than an equal one is.

    Similarity is the mean of C over all pairs of clusters of the two objects.
    """
    n, n_clusterings = codes.shape
    table = np.zeros(C.shape[0])
    for r in range(i0, i1):
        i = rows[r]
        table[:] = 0.0
        for m in range(n_clusterings):
            a = start[m] + np.int64(codes[i, m])
            if a < start[m + 1]:
                table += C[a]
        own = mean_of(table, codes, start, i)
        out[i] = True
        for j in range(n):
            if mean_of(table, codes, start, j) > own * (1 + 1e-12):
                out[i] = False
                break


@jit
def mean_of(table, codes, start, j):
    """Return the mean of the table over the clusters of object j, 0 if it has none."""
    total, n_present = 0.0, 0
    for m in range(codes.shape[1]):
        b = start[m] + np.int64(codes[j, m])
        if b < start[m + 1]:
            total += table[b]
            n_present += 1
    return total / n_present if n_present > 0 else 0.0
