"""Nearest centre of each row."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def nearest_centre(
    X,  # IN (N, d) float32
    centres,  # IN (d, k) float32, one column per centre
    half_norms,  # IN (k,) float32, half the squared norm of each centre
    labels,  # OUT (N,) int32
    i0,
    i1,
):
    """Label rows i0..i1-1 with the centre of least Euclidean distance, lowest first.

    Every row is worked out by itself and in one order, so a row's label does not
    depend on the rows around it. The inner loop runs over centres, where it
    vectorises without reordering any sum; four features at a time are added to a score
    while it is in a register.
    """
    n_features, k = centres.shape
    n_fours = n_features - n_features % 4
    score = np.empty(k, np.float32)
    for i in range(i0, i1):
        for c in range(k):
            score[c] = -half_norms[c]
        for f in range(0, n_fours, 4):
            x0, x1, x2, x3 = X[i, f], X[i, f + 1], X[i, f + 2], X[i, f + 3]
            for c in range(k):
                s = score[c] + x0 * centres[f, c]
                s += x1 * centres[f + 1, c]
                s += x2 * centres[f + 2, c]
                score[c] = s + x3 * centres[f + 3, c]
        for f in range(n_fours, n_features):
            x = X[i, f]
            for c in range(k):
                score[c] += x * centres[f, c]
        best = 0
        for c in range(1, k):
            if score[c] > score[best]:
                best = c
        labels[i] = best


@jit
def add_rows(
    X,  # IN (N, d) float32
    labels,  # IN (N,) int32
    scale,  # IN float64, what numbers are multiplied by before they are rounded
    sums,  # INOUT (k, d) int64
    counts,  # INOUT (k,) int64
):
    """Add rows to the sums of their labels, in fixed point: in any order the same."""
    for i in range(X.shape[0]):
        c = labels[i]
        counts[c] += 1
        for f in range(X.shape[1]):
            sums[c, f] += np.int64(np.rint(np.float64(X[i, f]) * scale))


@jit
def add_best(
    X,  # IN (N, d) float32
    score,  # IN (N, K) float32, of each row for the centres of all clusterings
    half_norms,  # IN (K,) float32, taken off each row's scores
    start,  # IN (M + 1,) int64, first centre of each clustering
    scale,  # IN float64, what numbers are multiplied by before they are rounded
    sums,  # INOUT (K, d) int64
    counts,  # INOUT (K,) int64
):
    """Add each row to the centre of most score in each clustering, lowest first."""
    fixed = np.empty(X.shape[1], np.int64)
    for i in range(X.shape[0]):
        for f in range(X.shape[1]):
            fixed[f] = np.int64(np.rint(np.float64(X[i, f]) * scale))
        for m in range(start.shape[0] - 1):
            best = start[m]
            most = score[i, best] - half_norms[best]
            for c in range(start[m] + 1, start[m + 1]):
                own = score[i, c] - half_norms[c]
                if own > most:
                    most, best = own, c
            counts[best] += 1
            for f in range(X.shape[1]):
                sums[best, f] += fixed[f]


@jit
def nearest_centre_sparse(
    data,  # IN (nnz,) float32, CSR rows
    indices,  # IN (nnz,) int
    indptr,  # IN (N + 1,) int
    centres,  # IN (d, k) float32, one column per centre
    half_norms,  # IN (k,) float32
    labels,  # OUT (N,) int32
    i0,
    i1,
):
    """Do as nearest_centre for sparse rows; zeros add nothing, so labels agree."""
    k = centres.shape[1]
    score = np.empty(k, np.float32)
    for i in range(i0, i1):
        for c in range(k):
            score[c] = -half_norms[c]
        for p in range(indptr[i], indptr[i + 1]):
            x = data[p]
            f = indices[p]
            for c in range(k):
                score[c] += x * centres[f, c]
        best = 0
        for c in range(1, k):
            if score[c] > score[best]:
                best = c
        labels[i] = best
