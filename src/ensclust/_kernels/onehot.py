"""One round of k-means on one-hot rows: look-ups, nearest centres, member counts."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def assign(
    labels,  # IN (F, M) int32, label rows; -1 = "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    count,  # IN (F,) int64, objects per row
    weight,  # IN (F,) int64, weight of one object of each row
    table,  # IN (Nc + 1, k) float64, what a base cluster adds to a score; last row 0
    slope,  # IN (M, k) float64, contribution of a clustering per weight; (0, k) = none
    drift,  # IN (2, k) float64, by how much leads may have shrunk: constant, per weight
    margin,  # IN float64, lead above which rounding cannot matter
    previous,  # IN (F,) int32, nearest centres of the previous round, -1 = none
    nearest,  # OUT (F,) int32
    lead,  # INOUT (F,) float64, least lead of the nearest centre over all others
    members,  # INOUT (Nc, k) int64, objects per base cluster and centre
    mass,  # INOUT (M, k) int64, weight of the objects per clustering and centre
    i0,
    i1,
):
    """Assign rows i0..i1-1 to the centre of least score, lowest first.

    Returns the number of rows that moved; members and mass are updated for these. A row
    whose lead exceeds the drift stays without look-ups.
    Scores are summed clustering by clustering, so a row's centre does not depend on the
    rows around it, and everything summed over rows is an integer: blocks may be added
    in any order. The weight of all objects together must be below 2^63.
    """
    n_clusterings = labels.shape[1]
    none, k = table.shape[0] - 1, table.shape[1]
    whole_slope = np.zeros(k)
    for m in range(slope.shape[0]):
        whole_slope += slope[m]
    # Base clusters of the row, and its score after 4, 8, ... clusterings. Rows are in
    # lexicographic order: what a row shares with the previous one is not summed again.
    own = np.full(n_clusterings + 3, -1, np.int64)
    own[n_clusterings:] = none
    sums = np.zeros((n_clusterings // 4 + 2, k))
    moved = 0
    for i in range(i0, i1):
        old = previous[i]
        if old >= 0:
            lead[i] -= drift[0, old] + weight[i] * drift[1, old]
            if lead[i] > margin:
                nearest[i] = old
                continue
        present, shared = read_row(labels[i], start, own, none)
        score = sum_row(table, own, shared, sums)
        if slope.shape[0] > 0:
            add_slopes(score, np.float64(weight[i]), slope, whole_slope, own, present)
        best, lead[i] = find_least(score)
        nearest[i] = best
        if best == old:
            continue
        moved += 1
        for m in range(n_clusterings):
            if own[m] < none:
                members[own[m], best] += count[i]
                mass[m, best] += count[i] * weight[i]
                if old >= 0:
                    members[own[m], old] -= count[i]
                    mass[m, old] -= count[i] * weight[i]
    return moved


@jit
def read_row(
    row,  # IN (M,) int32
    start,  # IN (M + 1,) int64
    own,  # INOUT (> M,) int64, base clusters of the last row; then of this one
    none,  # IN stands for "not clustered"
):
    """Return the number of clusterings with the row, and that of leading shared ones.

    The last clustering never counts as shared, because slopes are added to its sum.
    """
    present, shared = 0, row.shape[0] - 1
    for m in range(row.shape[0]):
        cluster = none
        if row[m] >= 0:
            present += 1
            cluster = start[m] + row[m]
        if cluster != own[m]:
            own[m] = cluster
            shared = min(shared, m)
    return present, shared


@jit
def sum_row(
    table,  # IN (Nc + 1, k) float64
    own,  # IN (>= M,) int64, padded with the last row of the table
    shared,  # IN number of clusterings whose sums are still right
    sums,  # INOUT (M // 4 + 2, k) float64
):
    """Return the scores of a row: a view of the last sums.

    Adding four clusterings at a time takes half the time and gives the same sums as one
    by one, because they are added from left to right.
    """
    n_fours = own.shape[0] // 4
    for q in range(shared // 4, n_fours):
        a, b = table[own[4 * q]], table[own[4 * q + 1]]
        c, d = table[own[4 * q + 2]], table[own[4 * q + 3]]
        before, after = sums[q], sums[q + 1]
        for j in range(table.shape[1]):
            after[j] = before[j] + a[j] + b[j] + c[j] + d[j]
    return sums[n_fours]


@jit
def add_slopes(
    score,  # INOUT (k,) float64
    w,  # IN float64, weight of the row
    slope,  # IN (M, k) float64
    whole_slope,  # IN (k,) float64, sum of all slopes
    own,  # IN (> M,) int64, base clusters of the row, "not clustered" at the end
    present,  # IN number of clusterings that contain the row
):
    """Add the contributions per weight of the clusterings that contain a row."""
    if present == slope.shape[0]:
        for j in range(score.shape[0]):
            score[j] += w * whole_slope[j]
        return
    none = own[-1]
    for m in range(slope.shape[0]):
        if own[m] < none:
            for j in range(score.shape[0]):
                score[j] += w * slope[m, j]


@jit
def find_least(score):
    """Return the first least entry and by how much the second least is larger."""
    best, least, second = 0, score[0], np.inf
    for j in range(1, score.shape[0]):
        if score[j] < least:
            best, least, second = j, score[j], least
        elif score[j] < second:
            second = score[j]
    return best, second - least
