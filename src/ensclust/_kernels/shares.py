"""Shares of clusters in label rows, and the information lost by merging clusters."""

import numpy as np

from ensclust._kernels._jit import jit

_ALIKE = 1 - 1e-9  # ratio of sums that differ at most by rounding
_LN2 = 0.6931471805599453
_SQRT2 = 1.4142135623730951
_SHIFT = np.uint64(52)  # fraction bits of a float64,
_FRACTION = np.uint64(0x000FFFFFFFFFFFFF)  # their mask,
_ONE = np.uint64(0x3FF0000000000000)  # the bits of 1.0,
_WHOLE = np.uint64(
    0x4330000000000000
)  # and those of 2**52, whose fraction holds an integer
_BIAS = 2.0**52 + 1023  # of an exponent put into the bits of 2**52
_ROUND = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer


@jit
def add_up(
    codes,  # IN (M, N) unsigned, anything >= n_m means "not clustered" in column m
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    table,  # IN (Nc, k) float64, contribution of each base cluster
    i,  # IN the row
    sums,  # OUT (k,) float64
):
    """Sum the table over the base clusters of one row; return the sum of all."""
    k = table.shape[1]
    sums[:] = 0.0
    for m in range(codes.shape[0]):
        c = start[m] + np.int64(codes[m, i])
        if c < start[m + 1]:
            for j in range(k):
                sums[j] += table[c, j]
    total = 0.0
    for j in range(k):
        total += sums[j]
    return total


@jit
def share(
    codes,  # IN (M, N) unsigned
    start,  # IN (M + 1,) int64
    table,  # IN (Nc, k) float64
    shares,  # OUT (N, k) float64, zeros if there is nothing to share
    i0,
    i1,
):
    """Write the sums of rows i0..i1-1, scaled to sum to 1."""
    for i in range(i0, i1):
        total = add_up(codes, start, table, i, shares[i])
        if total > 0:
            shares[i] /= total


@jit
def largest(
    codes,  # IN (M, N) unsigned
    start,  # IN (M + 1,) int64
    table,  # IN (Nc, k) float64
    winner,  # OUT (N,) int32, -1 if there is nothing to share
    i0,
    i1,
):
    """Write the first column of largest sum, up to rounding, of rows i0..i1-1."""
    k = table.shape[1]
    sums = np.empty(k)
    for i in range(i0, i1):
        add_up(codes, start, table, i, sums)
        most = 0.0
        for j in range(k):
            most = max(most, sums[j])
        winner[i] = -1
        for j in range(k):
            if sums[j] > 0 and sums[j] >= most * _ALIKE:
                winner[i] = j
                break


@jit
def merging_loss(
    codes,  # IN (M, N) unsigned
    start,  # IN (M + 1,) int64
    table,  # IN (Nc, k) float64
    count,  # IN (N,) float64, objects per row
    scale,  # IN float64, a power of two; terms are rounded to multiples of 1 / scale
    mass,  # INOUT (k,) float64, objects of each column
    loss,  # INOUT (a, k) float64, for the first columns; written above the diagonal
    i0,
    i1,
):
    """Sum the change of u log u caused by merging columns over rows i0..i1-1.

    u are the shares of a row, scaled to sum to 1; loss[a, b] gains (u_a + u_b) log(u_a
    + u_b) - u_a log u_a - u_b log u_b. All terms are multiples of
    1 / scale, so rows may come in any order; sums times scale must be below 2^53.
    """
    k = table.shape[1]
    u, own, pair, joint = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    bits = np.empty((2, k), np.uint64)
    for i in range(i0, i1):
        total = add_up(codes, start, table, i, u)
        if total <= 0:
            continue
        for j in range(k):
            u[j] = np.divide(u[j], total)
            mass[j] += count[i] * rounded(u[j], scale)
        times_log(u, bits[0], bits[1], own)
        for a in range(loss.shape[0]):
            if u[a] == 0:
                continue
            others = u[a + 1 :]
            n = others.shape[0]
            for j in range(n):
                pair[j] = u[a] + others[j]
            times_log(pair[:n], bits[0, :n], bits[1, :n], joint)
            alone, gain = own[a + 1 :], loss[a, a + 1 :]
            for j in range(n):
                gain[j] += count[i] * rounded(joint[j] - own[a] - alone[j], scale)


@jit
def rounded(x, scale):
    """Return x rounded to a multiple of 1 / scale, a power of two."""
    return np.divide(x * scale + _ROUND - _ROUND, scale)


@jit
def times_log(
    x,  # IN (k,) float64, at least 0
    exponent,  # OUT (k,) uint64, work space
    fraction,  # OUT (k,) uint64
    out,  # OUT (k,) float64
):
    """Write x log x; it is 0 for 0.

    Uses a series with an error of about 1e-12, which vectorises (``np.divide`` does not
    check for division by 0) and is the same on all processors.
    """
    whole = x.view(np.uint64)
    for j in range(x.shape[0]):
        exponent[j] = (whole[j] >> _SHIFT) | _WHOLE
        fraction[j] = (whole[j] & _FRACTION) | _ONE
    power, rest = exponent.view(np.float64), fraction.view(np.float64)
    for j in range(x.shape[0]):
        is_large = rest[j] > _SQRT2
        f = rest[j] * 0.5 if is_large else rest[j]
        e = power[j] - _BIAS + 1 if is_large else power[j] - _BIAS
        s = np.divide(f - 1, f + 1)
        q = s * s
        series = 1 / 5 + q * (1 / 7 + q * (1 / 9 + q * (1 / 11 + q / 13)))
        out[j] = x[j] * (e * _LN2 + 2 * s * (1 + q * (1 / 3 + q * series)))
