"""Agglomeration in a square matrix that shrinks in place."""

import numpy as np

from ensclust._kernels._jit import jit

# What the matrix holds and how two rows become one.
AVERAGE, SINGLE, COMPLETE, PAIR_SUMS = 0, 1, 2, 3


@jit
def scan(
    square,  # IN (width * width,) similarities, or pair sums
    slot,  # IN (width,) int64, region of each row, ascending
    place,  # IN (R,) int64, row of each region
    size,  # IN (width,) int64, objects of each row's region, 0 = gone
    kind,  # IN AVERAGE, ..., PAIR_SUMS
    queue,  # IN (L,) int64, regions to ask for
    near,  # OUT (R,) int64, the most similar other region, lowest first
    best,  # OUT (R,) float64, its similarity, or pair sum / (size * size)
    q0,
    q1,
):
    """Find the nearest neighbour of regions queue[q0..q1-1]."""
    width = size.shape[0]
    for q in range(q0, q1):
        x = place[queue[q]]
        row = square[x * width : (x + 1) * width]
        if kind == PAIR_SUMS:
            y, most = largest_mean(row, size, x)
        else:
            y, most = largest(row, size, x)
        near[queue[q]], best[queue[q]] = slot[y], most


@jit
def largest(row, size, x):
    """Return the first living entry but x that is largest, and its value."""
    most = max(largest_of(row[:x], size[:x]), largest_of(row[x + 1 :], size[x + 1 :]))
    y = 0
    while row[y] != most or size[y] == 0 or y == x:
        y += 1
    return y, np.float64(most)


@jit
def largest_of(row, size):
    """Return the largest living entry, 0 if there is none: branchless, so it flies."""
    most = np.uint32(0)
    for z in range(row.shape[0]):
        most = max(most, np.uint32(row[z] * (size[z] > 0)))
    return most


@jit
def largest_mean(row, size, x):
    """Return the first living entry but x with the largest mean, and that mean."""
    y, most = -1, -1.0
    for z in range(row.shape[0]):
        if size[z] > 0 and z != x:
            s = np.float64(row[z]) / np.float64(size[x] * size[z])
            if s > most:
                y, most = z, s
    return y, most


@jit
def join(
    square,  # INOUT (width * width,)
    size,  # IN (width,) int64
    kind,
    merged,  # IN (B, 2) int64, pairs of rows; the first stays
    involved,  # IN (width,) bool, rows of any pair
    z0,
    z1,
):
    """Merge pairs as seen from rows z0..z1-1 that are in no pair themselves."""
    width = size.shape[0]
    for i in range(merged.shape[0]):
        a, b = merged[i, 0], merged[i, 1]
        for z in range(z0, z1):
            if size[z] > 0 and not involved[z]:
                s = combine(
                    square[a * width + z], square[b * width + z], size[a], size[b], kind
                )
                square[a * width + z] = s
                square[z * width + a] = s


@jit
def join_each_other(
    square,  # INOUT (width * width,)
    size,  # INOUT (width,) int64
    kind,
    merged,  # IN (B, 2) int64
):
    """Merge pairs as seen from each other, one after the other, and their sizes."""
    width = size.shape[0]
    for i in range(merged.shape[0]):
        a, b = merged[i, 0], merged[i, 1]
        for z in merged.ravel():
            if size[z] > 0 and z != a and z != b:  # noqa: PLR1714
                s = combine(
                    square[a * width + z], square[b * width + z], size[a], size[b], kind
                )
                square[a * width + z] = s
                square[z * width + a] = s
        size[a] += size[b]
        size[b] = 0


@jit
def combine(s, t, size_a, size_b, kind):
    """Return the similarity of a region to a and b together."""
    if kind == PAIR_SUMS:
        return s + t
    if kind == SINGLE:
        return max(s, t)
    if kind == COMPLETE:
        return min(s, t)
    share = np.float64(size_a) / np.float64(size_a + size_b)
    mean = share * np.float64(s) + (1.0 - share) * np.float64(t)
    return min(max(s, t), np.int64(mean + 0.5))  # rounded, never above both


@jit
def pack(
    square,  # INOUT (width * width,)
    slot,  # INOUT (width,) int64
    place,  # INOUT (R,) int64
    size,  # INOUT (width,) int64
):
    """Move the rows and columns of living regions together; return how many."""
    width = size.shape[0]
    kept = np.flatnonzero(size > 0)
    packed = kept.shape[0]
    for i in range(packed):
        source, target = kept[i] * width, i * packed  # target <= source: safe in place
        for j in range(packed):
            square[target + j] = square[source + kept[j]]
    for i in range(packed):
        slot[i], size[i] = slot[kept[i]], size[kept[i]]
        place[slot[i]] = i
    return packed
