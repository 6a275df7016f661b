"""Agglomeration in a square matrix that shrinks in place.

A merge writes one row, never a column: an entry s(x, z) is out of date in row x if z
was created after row x was last updated, and is then found in row z. Writing columns
would take most of the time, since each entry is in a different cache line.
"""

import numpy as np

from ensclust._kernels._jit import jit

# What the matrix holds and how two rows are combined.
AVERAGE, SINGLE, COMPLETE, PAIR_SUMS = 0, 1, 2, 3


@jit
def scan(
    square,  # INOUT (width * width,) similarities, or pair sums
    slot,  # IN (width,) int64, region of each row, ascending
    place,  # IN (R,) int64, row of each region
    alive,  # IN (width,) uint32, all bits set where the row's region lives, else none
    mass,  # IN (width,) float64, objects of the row's region, infinite if it is gone
    born,  # IN (width,) int64, merge that made the region, 0 = none, or gone
    updated,  # INOUT (width,) int64, merges that the row includes
    made,  # IN (R,) int64, region that each merge made
    now,  # IN int64, merges up to now
    kind,  # IN AVERAGE, ..., PAIR_SUMS
    queue,  # IN (L,) int64, regions to search for
    near,  # OUT (R,) int64, the most similar other region, lowest first
    best,  # OUT (R,) float64, its similarity, or pair sum / (size * size)
    q0,
    q1,
):
    """Find the nearest neighbour of regions queue[q0..q1-1].

    Threads may share the matrix: of two rows, at most one lags behind the other.
    """
    width = alive.shape[0]
    for q in range(q0, q1):
        x = place[queue[q]]
        update(square, x, place, born, updated, made, now)
        row = square[x * width : (x + 1) * width]
        if kind == PAIR_SUMS:
            y, most = largest_mean(row, mass, x)
        else:
            y, most = largest(row, alive, x)
        near[queue[q]], best[queue[q]] = slot[y], most


@jit
def update(square, x, place, born, updated, made, now):
    """Fetch the entries of row x that later merges have changed.

    Goes through all rows or through the merges since, whichever are fewer.
    """
    width = born.shape[0]
    since = updated[x]
    if now - since < width:
        for t in range(since, now):
            z = place[made[t]]
            if z < width and born[z] == t + 1:
                square[x * width + z] = square[z * width + x]
    else:
        for z in range(width):
            if born[z] > since:
                square[x * width + z] = square[z * width + x]
    updated[x] = now


@jit
def largest(row, alive, x):
    """Return the first living entry other than x that is largest, and its value."""
    most = max(largest_of(row[:x], alive[:x]), largest_of(row[x + 1 :], alive[x + 1 :]))
    y = 0
    while row[y] != most or alive[y] == 0 or y == x:
        y += 1
    return y, np.float64(most)


@jit
def largest_of(row, alive):
    """Return the largest living entry, 0 if there is none; branchless, to vectorise."""
    most = np.uint32(0)
    for z in range(row.shape[0]):
        most = max(most, np.uint32(row[z]) & alive[z])
    return most


@jit
def largest_mean(row, mass, x):
    """Return the first living entry other than x with the largest mean, and that."""
    size = mass[x]
    most = max(
        largest_mean_of(row[:x], mass[:x], size),
        largest_mean_of(row[x + 1 :], mass[x + 1 :], size),
    )
    y = 0
    while row[y] / (size * mass[y]) != most or mass[y] == np.inf or y == x:
        y += 1
    return y, most


@jit
def largest_mean_of(row, mass, size):
    """Return the largest mean of a living entry, 0 if there is none."""
    most = 0.0
    for z in range(row.shape[0]):
        most = max(most, row[z] / (size * mass[z]))
    return most


@jit
def join(
    square,  # INOUT (width * width,)
    place,  # IN (R,) int64
    size,  # INOUT (width,) int64, objects of each row's region, 0 = gone
    born,  # INOUT (width,) int64
    updated,  # INOUT (width,) int64
    made,  # INOUT (R,) int64
    now,  # IN int64, merges up to now
    kind,
    merged,  # IN (B, 2) int64, pairs of regions; the first stays
):
    """Merge pairs one after the other; return the number of merges so far."""
    width = size.shape[0]
    for i in range(merged.shape[0]):
        a, b = place[merged[i, 0]], place[merged[i, 1]]
        update(square, a, place, born, updated, made, now)
        update(square, b, place, born, updated, made, now)
        row = square[a * width : (a + 1) * width]
        combine(row, square[b * width : (b + 1) * width], size[a], size[b], kind)
        size[a] += size[b]
        size[b] = 0
        made[now] = merged[i, 0]
        now += 1
        born[a] = updated[a] = now
        born[b] = 0
    return now


@jit
def combine(row, other, size_a, size_b, kind):
    """Write the similarities to two regions together into the row of the first.

    Inner loops have no branches, to vectorise; entries of regions that are gone do not
    matter.
    """
    width = row.shape[0]
    if kind == PAIR_SUMS:
        for z in range(width):
            row[z] += other[z]
    elif kind == SINGLE:
        for z in range(width):
            row[z] = max(row[z], other[z])
    elif kind == COMPLETE:
        for z in range(width):
            row[z] = min(row[z], other[z])
    else:
        share = np.float64(size_a) / np.float64(size_a + size_b)
        for z in range(width):
            row[z] = mean(np.int32(row[z]), np.int32(other[z]), share)


@jit
def mean(s, t, share):
    """Return the weighted mean of two entries below 2^31, rounded."""
    return np.int32(share * s + (1.0 - share) * t + 0.5)


@jit
def pack(
    square,  # INOUT (width * width,)
    slot,  # INOUT (width,) int64
    place,  # INOUT (R,) int64
    size,  # INOUT (width,) int64
    born,  # INOUT (width,) int64
    updated,  # INOUT (width,) int64
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
        k = kept[i]
        slot[i], size[i], born[i], updated[i] = slot[k], size[k], born[k], updated[k]
        place[slot[i]] = i
    return packed
