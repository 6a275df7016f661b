"""Contingency tables of pairs of label columns."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def count_pairs(
    codes,  # IN (M, N) unsigned, anything >= n_m means "not clustered" in column m
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    first,  # IN (B,) int64, the pairs to count: column first[b] ...
    second,  # IN (B,) int64, ... against column second[b]
    overlap,  # OUT (Nc, Nc) int64, counts are added to both triangles
):
    """Add ``|C_i ∩ C_j|`` for the clusters of the given pairs of columns.

    Pairs touch disjoint blocks of ``overlap``, so threads may share it. One table is
    counted in uint32: N < 2^32.
    """
    n_rows = codes.shape[1]
    for b in range(first.shape[0]):
        m, q = first[b], second[b]
        k_m = start[m + 1] - start[m]
        k_q = start[q + 1] - start[q]
        width = k_q + 1
        # Two tables take turns, so that equal neighbouring rows do not wait for
        # each other's store.
        even = np.zeros((k_m + 1) * width, np.uint32)
        odd = np.zeros((k_m + 1) * width, np.uint32)
        for i in range(0, n_rows - 1, 2):
            row = min(np.int64(codes[m, i]), k_m)
            even[row * width + min(np.int64(codes[q, i]), k_q)] += 1
            row = min(np.int64(codes[m, i + 1]), k_m)
            odd[row * width + min(np.int64(codes[q, i + 1]), k_q)] += 1
        if n_rows % 2:
            row = min(np.int64(codes[m, n_rows - 1]), k_m)
            even[row * width + min(np.int64(codes[q, n_rows - 1]), k_q)] += 1
        for a in range(k_m):
            for c in range(k_q):
                cell = a * width + c
                count = np.int64(even[cell]) + np.int64(odd[cell])
                overlap[start[m] + a, start[q] + c] += count
                overlap[start[q] + c, start[m] + a] += count
