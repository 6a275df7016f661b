"""Cluster-level similarities lifted to pairs of objects: table look-ups and sums."""

import numpy as np

from ensclust._kernels._jit import jit

# How a sum over clusterings becomes an entry.
SUMS, MEANS, PRODUCTS = 0, 1, 2

_LANES = 64  # objects whose tables lie side by side, so that one look-up serves all
_TILE = 64


@jit
def lift(
    codes,  # IN (F, M) unsigned, label rows; code k_m means "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    S,  # IN (Nc, Nc), similarity of base clusters; its dtype is that of the sums
    all_pairs,  # IN bool: sum over all pairs of clusterings, not equal ones only
    present,  # IN (F,) int64, number of clusterings that contain each object
    weight,  # IN (F,) int64, factor of SUMS
    mode,  # IN SUMS, MEANS or PRODUCTS
    factor,  # IN float64, factor of MEANS and PRODUCTS
    out,  # OUT (F, F), columns i0..i1-1 of the rows from i0 on
    i0,
    i1,
):
    """Write the similarity of objects i0..i1-1 to all objects from i0 on.

    SUMS multiplies the sum by both weights; MEANS divides it by the number of
    clusterings that contain both objects, PRODUCTS by the product of the numbers that
    contain each; 0 where that is 0.
    """
    n, n_clusterings = codes.shape
    complete = present.min() == n_clusterings
    widest = np.int64(0)
    for m in range(n_clusterings):
        widest = max(widest, start[m + 1] - start[m])
    tables = np.zeros((n_clusterings, widest + 1, _LANES), S.dtype)
    total = np.zeros(_LANES, S.dtype)
    for first in range(i0, i1, _LANES):
        lanes = min(_LANES, i1 - first)
        fill_tables(codes, start, S, all_pairs, tables, first, lanes)
        for j in range(first, n):
            total[:] = 0
            for m in range(n_clusterings):
                c = codes[j, m]
                for r in range(_LANES):
                    total[r] += tables[m, c, r]
            for r in range(lanes):
                i = first + r
                if mode == SUMS:
                    out[j, i] = total[r] * weight[i] * weight[j]
                    continue
                if mode == PRODUCTS:
                    pairs = present[i] * present[j]
                elif complete:
                    pairs = n_clusterings
                else:
                    pairs = count_both(codes, start, i, j)
                out[j, i] = total[r] / pairs * factor if pairs > 0 else 0.0


@jit
def count_both(codes, start, i, j):
    """Return the number of clusterings that contain both objects."""
    both = 0
    for m in range(codes.shape[1]):
        k = start[m + 1] - start[m]
        both += codes[i, m] < k and codes[j, m] < k
    return both


@jit
def fill_tables(
    codes,  # IN (F, M)
    start,  # IN (M + 1,)
    S,  # IN (Nc, Nc)
    all_pairs,  # IN bool
    tables,  # OUT (M, widest + 1, lanes): look-up value of code c in clustering m
    first,
    lanes,
):
    """Write what each base cluster contributes to objects first..first+lanes-1."""
    n_clusterings = codes.shape[1]
    tables[:] = 0
    for r in range(lanes):
        for m in range(n_clusterings):
            own = start[m] + np.int64(codes[first + r, m])
            if own >= start[m + 1]:
                continue
            for q in range(n_clusterings):
                if q == m or all_pairs:
                    for c in range(start[q + 1] - start[q]):
                        tables[q, c, r] += S[own, start[q] + c]


@jit
def mirror(
    square,  # INOUT (F, F), lower triangle valid
    i0,
    i1,
):
    """Copy the lower triangle of rows i0..i1-1 to the upper, tile by tile."""
    for first in range(i0, i1, _TILE):
        last = min(first + _TILE, i1)
        for left in range(0, last, _TILE):
            for i in range(first, last):
                for j in range(left, min(left + _TILE, i)):
                    square[j, i] = square[i, j]
