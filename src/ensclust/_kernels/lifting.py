"""Cluster-level similarities lifted to pairs of objects: table look-ups and sums."""

import numpy as np

from ensclust._kernels._jit import jit

LANES = 64  # objects whose tables lie side by side, so that one look-up serves all
_TILE = 64


@jit
def lift(
    codes,  # IN (F, M) unsigned, label rows; code k_m means "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    S,  # IN (Nc, Nc) float64, similarity of base clusters
    all_pairs,  # IN bool: sum over all pairs of clusterings, not equal ones only
    present,  # IN (F,) int64, number of clusterings that contain each object
    factor,  # IN float64
    out,  # OUT (F, F), rows i0..i1-1 from column i0 on
    i0,
    i1,
):
    """Write the similarity of objects i0..i1-1 to all objects from i0 on.

    An entry is ``factor`` times the mean over the clusterings that contain both
    objects, or over all pairs of a clustering that contains the one and a clustering
    that contains the other; 0 where there is none.
    """
    n, n_clusterings = codes.shape
    complete = present.min() == n_clusterings
    tables, total = scratch(start, S.dtype)
    for first in range(i0, i1, LANES):
        lanes = min(LANES, i1 - first)
        fill_tables(codes, start, S, all_pairs, tables, first, lanes)
        for j in range(first, n):
            add_up(tables, codes, j, total)
            for r in range(lanes):
                i = first + r
                if all_pairs:
                    pairs = present[i] * present[j]
                elif complete:
                    pairs = n_clusterings
                else:
                    pairs = count_both(codes, start, i, j)
                out[i, j] = total[r] / pairs * factor if pairs > 0 else 0.0


@jit
def scratch(start, dtype):
    """Return work space for the tables and sums of LANES objects."""
    widest = np.int64(0)
    for m in range(start.shape[0] - 1):
        widest = max(widest, start[m + 1] - start[m])
    tables = np.zeros((start.shape[0] - 1, widest + 1, LANES), dtype)
    return tables, np.zeros(LANES, dtype)


@jit
def add_up(
    tables,  # IN (M, widest + 1, lanes)
    codes,  # IN (F, M)
    j,
    total,  # OUT (lanes,)
):
    """Sum the contributions of row j's labels to each lane.

    Adds four tables at a time: loading and storing the sums for each table takes twice
    as long.
    """
    n_clusterings = codes.shape[1]
    whole = n_clusterings - n_clusterings % 4
    total[:] = 0
    for m in range(0, whole, 4):
        a, b, c, d = codes[j, m], codes[j, m + 1], codes[j, m + 2], codes[j, m + 3]
        for r in range(total.shape[0]):
            total[r] += (
                tables[m, a, r]
                + tables[m + 1, b, r]
                + tables[m + 2, c, r]
                + tables[m + 3, d, r]
            )
    for m in range(whole, n_clusterings):
        a = codes[j, m]
        for r in range(total.shape[0]):
            total[r] += tables[m, a, r]


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
    """Write the contribution of each base cluster to objects first..first+lanes-1."""
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
    square,  # INOUT (F, F), upper triangle valid
    i0,
    i1,
):
    """Write the lower triangle of rows i0..i1-1 from the upper, tile by tile."""
    for first in range(i0, i1, _TILE):
        last = min(first + _TILE, i1)
        for left in range(0, last, _TILE):
            for i in range(first, last):
                for j in range(left, min(left + _TILE, i)):
                    square[i, j] = square[j, i]
