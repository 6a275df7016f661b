"""Objects as points: unit rows that are sums of a table of labels."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def sum_up(
    codes,  # IN (M, N) unsigned, anything >= n_m means "not clustered" in column m
    start,  # IN (M + 1,) int64, first index of each clustering's n_m + 1 labels
    total,  # IN (Nc + M,) float64, of each label; the last is "not clustered"
    degree,  # OUT (N,) float64
    i0,
    i1,
):
    """Write the sum of ``total`` over the labels of objects i0..i1-1."""
    degree[i0:i1] = 0.0
    for m in range(codes.shape[0]):
        last = start[m + 1] - 1
        for i in range(i0, i1):
            degree[i] += total[min(start[m] + np.int64(codes[m, i]), last)]


@jit
def embed(
    codes,  # IN (M, N) unsigned
    start,  # IN (M + 1,) int64
    table,  # IN (Nc + M, d) float64, contribution of a label to the point
    total,  # IN (Nc + M,) float64, its contribution to the degree
    points,  # OUT (i1 - i0, d) float64
    i0,
    i1,
):
    """Write the points of objects i0..i1-1: mean of the table, scaled to unit length.

    Sums run from clustering to clustering, so that a point depends on nothing but the
    label row.
    """
    for i in range(i0, i1):
        point = points[i - i0]
        point[:] = 0.0
        degree = 0.0
        for m in range(codes.shape[0]):
            label = min(start[m] + np.int64(codes[m, i]), start[m + 1] - 1)
            own = table[label]
            degree += total[label]
            for f in range(point.shape[0]):
                point[f] += own[f]
        if degree > 0.0:
            square = 0.0
            for f in range(point.shape[0]):
                square += point[f] * point[f]
            point /= np.sqrt(square) + 1e-10 * degree


@jit
def add_points(
    points,  # IN (n, d) float64
    centre,  # IN (n,) unsigned, that of each point
    times,  # IN (n,) int64, how often it counts
    scale,  # IN float64, factor applied before rounding
    sums,  # INOUT (k, d) int64
    counts,  # INOUT (k,) int64
):
    """Add points to their centres in fixed point, where the order does not matter."""
    for i in range(points.shape[0]):
        own, t = sums[centre[i]], times[i]
        counts[centre[i]] += t
        for f in range(points.shape[1]):
            own[f] += t * np.int64(np.rint(points[i, f] * scale))
