"""Mixtures of label rows: the probability of each class, and sums of these."""

import numpy as np

from ensclust._kernels._jit import jit
from ensclust._kernels.onehot import read_row, sum_row


@jit
def expect(
    labels,  # IN (F, M) int32, label rows; -1 = "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    count,  # IN (F,) int64, objects per row
    table,  # IN (Nc + 1, k) float64, log-probability of each label; last row 0
    log_share,  # IN (k,) float64, log-probability of each class
    unit,  # IN float64, unit of responsibilities; 0 = none
    members,  # INOUT (Nc, k) float64, responsibilities per base cluster and class
    mass,  # INOUT (k,) float64, responsibilities per class
    log_likelihood,  # INOUT (2,) float64, integer parts and fractional parts
    i0,
    i1,
):
    """Add up the responsibilities and log-likelihoods of rows i0..i1-1.

    With a unit, sums are exact while objects / unit is below 2^53, so blocks may be
    added in any order; without one, rows are added in the order given.
    """
    n_clusterings = labels.shape[1]
    none, k = table.shape[0] - 1, table.shape[1]
    own, sums = scratch(n_clusterings, none, log_share)
    share = np.empty(k)
    for i in range(i0, i1):
        _, shared = read_row(labels[i], start, own, none)
        log_p = softmax(sum_row(table, own, shared, sums), share)
        whole = np.floor(log_p)
        rest = log_p - whole
        if unit > 0:
            rest = np.rint(rest / unit) * unit
            for j in range(k):
                share[j] = np.rint(share[j] / unit) * unit
        log_likelihood[0] += whole * count[i]
        log_likelihood[1] += rest * count[i]
        for j in range(k):
            share[j] *= count[i]
            mass[j] += share[j]
        for m in range(n_clusterings):
            if own[m] < none:
                to = members[own[m]]
                for j in range(k):
                    to[j] += share[j]


@jit
def responsibilities(
    labels,  # IN (n, M) int32, label rows; -1 = "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    table,  # IN (Nc + 1, k) float64, log-probability of each label; last row 0
    log_share,  # IN (k,) float64, log-probability of each class
    i0,
    i1,
):
    """Return the probability of each class given rows i0..i1-1, (i1 - i0, k)."""
    none = table.shape[0] - 1
    own, sums = scratch(labels.shape[1], none, log_share)
    shares = np.empty((i1 - i0, table.shape[1]))
    for i in range(i0, i1):
        _, shared = read_row(labels[i], start, own, none)
        softmax(sum_row(table, own, shared, sums), shares[i - i0])
    return shares


@jit
def scratch(n_clusterings, none, log_share):
    """Return placeholders for the base clusters of a row, and its initial sums."""
    own = np.full(n_clusterings + 3, -1, np.int64)
    own[n_clusterings:] = none
    sums = np.zeros((n_clusterings // 4 + 2, log_share.shape[0]))
    sums[0] = log_share
    return own, sums


@jit
def softmax(
    score,  # IN (k,) float64
    share,  # OUT (k,) float64
):
    """Write exp(score), scaled to sum to 1; return the logarithm of their sum."""
    largest, total = score[0], 0.0
    for j in range(1, score.shape[0]):
        largest = max(largest, score[j])
    for j in range(score.shape[0]):
        below = score[j] - largest
        share[j] = np.exp(below) if below > -746 else 0.0  # exp is slow at underflow
        total += share[j]
    scale = 1 / total
    for j in range(score.shape[0]):
        share[j] *= scale
    return largest + np.log(total)
