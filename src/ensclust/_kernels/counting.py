"""Contingency tables of pairs of label columns."""

import numpy as np

from ensclust._kernels._jit import inlined_jit, jit


@jit
def count_pairs(
    codes,  # IN (M, N) unsigned, anything >= n_m means "not clustered" in column m
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    first,  # IN (B,) int64, the pairs to count: column first[b] ...
    second,  # IN (B,) int64, ... against column second[b]
    overlap,  # OUT (Nc, Nc) int64, counts are added to both triangles
):
    """Add ``|C_i ∩ C_j|`` for the clusters of the given pairs of columns.

    Pairs touch disjoint blocks of ``overlap``, so threads may share it. A table is
    counted in uint32: N < 2^32.
    """
    for b in range(first.shape[0]):
        m, q = first[b], second[b]
        k_m, k_q = start[m + 1] - start[m], start[q + 1] - start[q]
        tables = count_any(codes[m], codes[q], k_m, k_q)
        for half in range(2):
            add_table(tables[half], start[m], start[q], k_m, k_q, overlap)


@jit
def count_pairs_of_bytes(
    codes,  # IN (M, N) uint8, as in count_pairs
    start,  # IN
    first,  # IN
    second,  # IN
    overlap,  # OUT
):
    """Like count_pairs, for labels of one byte, which are counted faster."""
    table = np.empty((256, 256), np.uint32)
    for b in range(first.shape[0]):
        m, q = first[b], second[b]
        k_m, k_q = start[m + 1] - start[m], start[q + 1] - start[q]
        count_bytes(codes[m], codes[q], k_m, table.reshape(-1))
        add_table(table, start[m], start[q], k_m, k_q, overlap)


@inlined_jit
def count_bytes(left, right, k_left, table):
    """Count pairs of labels below 256 without a multiplication or a bound to check.

    Only cells that occur are touched, so the table stays in the cache. Only the rows of
    labels below ``k_left`` are cleared first: the others are never read.
    """
    one = np.uint32(1)
    table[: k_left << 8] = 0
    for i in range(left.shape[0]):
        table[(np.uint16(left[i]) << np.uint16(8)) | np.uint16(right[i])] += one


@inlined_jit
def count_any(left, right, k_left, k_right):
    """Count pairs of labels in two tables, to be added up.

    Those that mean "not clustered" go to a last row, column. The tables take turns, so
    that equal neighbouring rows do not have to wait for each other's store.
    """
    tables = np.zeros((2, k_left + 1, k_right + 1), np.uint32)
    for i in range(left.shape[0]):
        a = min(np.int64(left[i]), k_left)
        tables[i % 2, a, min(np.int64(right[i]), k_right)] += 1
    return tables


@inlined_jit
def add_table(table, i, j, k_left, k_right, overlap):
    """Add the counts of one table to both triangles, at (i, j) and (j, i)."""
    for a in range(k_left):
        for c in range(k_right):
            count = np.int64(table[a, c])
            overlap[i + a, j + c] += count
            overlap[j + c, i + a] += count


@jit
def add_weights(
    codes,  # IN (M, N) unsigned, anything >= n_m means "not clustered" in column m
    start,  # IN (M + 1,) int64, first index of each clustering's n_m + 1 labels
    first,  # IN (B,) int64, the pairs to count; a column also pairs with itself
    second,  # IN (B,) int64
    weight,  # IN (N,) int64
    overlap,  # OUT (Nc + M, Nc + M) int64, sums are added to both triangles
):
    """Add the weights of the objects that labels of the given pairs of columns share.

    "Not clustered" is the last label of a column. Pairs touch disjoint blocks of
    ``overlap``, so threads may share it.
    """
    for b in range(first.shape[0]):
        m, q = first[b], second[b]
        k_m, k_q = start[m + 1] - start[m], start[q + 1] - start[q]
        table = np.zeros((k_m, k_q), np.int64)
        left, right = codes[m], codes[q]
        for i in range(left.shape[0]):
            a = min(np.int64(left[i]), k_m - 1)
            table[a, min(np.int64(right[i]), k_q - 1)] += weight[i]
        for a in range(k_m):
            for c in range(k_q):
                overlap[start[m] + a, start[q] + c] += table[a, c]
                if m != q:
                    overlap[start[q] + c, start[m] + a] += table[a, c]
