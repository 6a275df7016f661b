"""Hartigan's dip: how far a sample is from any distribution with a single mode."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def isolation(
    X,  # IN (n, d) float64
    centres,  # IN (k, d) float64, of a k-means run, two or more
    least,  # minimum objects of a cluster; smaller ones are skipped
    found,  # OUT (k,) float64
):
    """Write how far each cluster is set apart from its neighbour; return the inertia.

    The neighbour has the second nearest centre of most objects of the cluster. The
    objects of both are projected on the line through their centres. Of the larger
    cluster only those nearest to the other count, as many as the smaller one has. The
    result is the dip of these m numbers, times sqrt(m).
    """
    n, d = X.shape
    k = len(centres)
    label = np.empty(n, np.int64)
    second = np.zeros((k, k), np.int64)
    inertia = 0.0
    for i in range(n):
        label[i], other, square = two_nearest(X[i], centres)
        second[label[i], other] += 1
        inertia += square
    sizes = second.sum(axis=1)
    for a in range(k):
        b = second[a].argmax()
        m = min(sizes[a], sizes[b])
        found[a] = 0.0
        if m < least:
            continue
        along = np.zeros((2, max(sizes[a], sizes[b])))
        count = np.zeros(2, np.int64)
        for i in range(n):
            if label[i] in (a, b):
                side = int(label[i] == b)
                sign = 1 - 2 * side  # both grow with the distance from the other
                for t in range(d):
                    step = centres[a, t] - centres[b, t]
                    along[side, count[side]] += sign * X[i, t] * step
                count[side] += 1
        near = np.sort(along[0, : sizes[a]])[:m]
        far = -np.sort(along[1, : sizes[b]])[:m]
        found[a] = np.sqrt(2 * m) * dip(np.sort(np.concatenate((near, far))))
    return inertia


@jit
def two_nearest(row, centres):
    """Return the nearest of several centres, the second, and the squared distance."""
    first, other = 0, 0
    least, next_least = np.inf, np.inf
    for j in range(len(centres)):
        square = 0.0
        for t in range(len(row)):
            square += (row[t] - centres[j, t]) ** 2
        if square < least:
            other, next_least = first, least
            first, least = j, square
        elif square < next_least:
            other, next_least = j, square
    return first, other, least


@jit
def dip(
    values,  # IN (n,) float64, ascending
):
    """Return the dip of a sample.

    The largest difference between its distribution function and that of the closest
    unimodal distribution, by the algorithm of Hartigan and Hartigan (1985): the modal
    interval shrinks until the convex part before it and the concave part after it are
    farther from the sample than these two are from each other. Time n for each step.
    """
    n = len(values)
    at, below, upto = np.empty(n), np.empty(n), np.empty(n)
    size = 0
    for i in range(n):  # the steps of the distribution function
        if i == 0 or values[i] > at[size - 1]:
            at[size], below[size] = values[i], i / n
            size += 1
        upto[size - 1] = (i + 1) / n
    low, high = np.empty(size, np.int64), np.empty(size, np.int64)
    convex, concave = np.empty(size), np.empty(size)
    a, b = 0, size - 1
    farthest = 0.0
    while True:
        n_low = hull(at, below, a, b, 1.0, low, convex)
        n_high = hull(at, upto, a, b, -1.0, high, concave)
        gap, c, e = widest(low[:n_low], high[:n_high], convex, concave)
        if gap <= farthest:
            return farthest / 2
        for i in range(a, c):
            farthest = max(farthest, upto[i] - convex[i])
        for i in range(e + 1, b + 1):
            farthest = max(farthest, concave[i] - below[i])
        if c == a and e == b:
            return farthest / 2
        a, b = c, e


@jit
def hull(
    at,  # IN (size,) float64, ascending
    height,  # IN (size,) float64
    a,
    b,
    sign,  # 1: greatest convex minorant; -1: least concave majorant
    corners,  # OUT (size,) int64, its first entries
    value,  # OUT (size,) float64, its entries a to b
):
    """Write the hull of the points from a to b, and return the number of corners."""
    m = 0
    for j in range(a, b + 1):
        while m > 1:
            p, q = corners[m - 2], corners[m - 1]
            before = (height[q] - height[p]) * (at[j] - at[q])
            after = (height[j] - height[q]) * (at[q] - at[p])
            if sign * (before - after) < 0:
                break
            m -= 1
        corners[m] = j
        m += 1
    value[a] = height[a]
    for corner in range(1, m):
        p, q = corners[corner - 1], corners[corner]
        slope = (height[q] - height[p]) / (at[q] - at[p])
        for j in range(p, q):
            value[j] = height[p] + slope * (at[j] - at[p])
        value[q] = height[q]
    return m


@jit
def widest(
    low,  # IN corners of the convex minorant
    high,  # IN corners of the concave majorant
    convex,  # IN (size,) float64, the minorant
    concave,  # IN (size,) float64, the majorant
):
    """Return the largest gap of two hulls at a corner, and the corners around it."""
    gap, c, e = -1.0, low[0], high[-1]
    j = 0
    for i in low:
        while high[j] < i:
            j += 1
        if concave[i] - convex[i] > gap:
            gap, c, e = concave[i] - convex[i], i, high[j]
    i = 0
    for j in high:
        while i + 1 < len(low) and low[i + 1] <= j:
            i += 1
        if concave[j] - convex[j] > gap:
            gap, c, e = concave[j] - convex[j], low[i], j
    return gap, c, e
