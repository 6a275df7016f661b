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
    vectorises without reordering any sum.
    """
    n_features, k = centres.shape
    score = np.empty(k, np.float32)
    for i in range(i0, i1):
        for c in range(k):
            score[c] = -half_norms[c]
        for f in range(n_features):
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
