"""Nodes of a graph in parts: sums of their rows, and of the weights within parts."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def sum_rows(
    rows,  # IN (n, k) float64
    axis,  # IN (n,) int64, axis of each row, 0..k-1
    parts,  # OUT (n,) int64, the same parts, numbered by first appearance
    sums,  # OUT (k, k) float64, sum of the rows of each axis
):
    """Sum the rows of each part, and number the parts; return how many there are."""
    n, k = rows.shape
    number = np.full(k, -1, np.int64)
    n_parts = 0
    sums[:] = 0.0
    for i in range(n):
        a = axis[i]
        if number[a] < 0:
            number[a] = n_parts
            n_parts += 1
        parts[i] = number[a]
        for j in range(k):
            sums[a, j] += rows[i, j]
    return n_parts


@jit
def sum_within(
    graph,  # IN (n, n) float64, symmetric weights
    parts,  # IN (n,) int64, part of each node, 0..k-1
    inside,  # OUT (k,) float64, sum of the weights between nodes of each part
):
    """Sum the weights within each part: n^2 / k look-ups for parts of equal size."""
    n, k = graph.shape[0], inside.shape[0]
    begin = np.zeros(k + 1, np.int64)
    for i in range(n):
        begin[parts[i] + 1] += 1
    for p in range(k):
        begin[p + 1] += begin[p]
    members, filled = np.empty(n, np.int64), begin[:-1].copy()
    for i in range(n):
        members[filled[parts[i]]] = i
        filled[parts[i]] += 1
    for p in range(k):
        inside[p] = 0.0
        for a in range(begin[p], begin[p + 1]):
            row = graph[members[a]]
            total = 0.0
            for b in range(begin[p], begin[p + 1]):
                total += row[members[b]]
            inside[p] += total
