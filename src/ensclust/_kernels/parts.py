"""Nodes of a graph in parts: sums of their rows, and of the weights within parts."""

from ensclust._kernels._jit import jit


@jit
def add_axis(
    products,  # IN (d, n) float64, of the d distinct new axes and all rows
    which,  # IN (s,) int64, the new axis of each start, 0..d-1
    number,  # IN int, of the new axis, 0 for the first
    closeness,  # INOUT (s, n) float64, sum of the sizes of a row's products so far
    highest,  # INOUT (s, n) float64, product with the nearest axis
    nearest,  # INOUT (s, n) int64, number of that axis
    farthest,  # OUT (s,) int64, the row with the smallest sum
):
    """Add an axis to those of each start; find the row that is farthest from all."""
    for s in range(which.shape[0]):
        for i in range(products.shape[1]):
            product = products[which[s], i]
            closeness[s, i] += abs(product)
            is_nearer = product > highest[s, i]
            nearest[s, i] = number if is_nearer else nearest[s, i]
            highest[s, i] = product if is_nearer else highest[s, i]
        row = 0
        for i in range(products.shape[1]):
            if closeness[s, i] < closeness[s, row]:
                row = i
        farthest[s] = row


@jit
def sum_rows(
    rows,  # IN (n, k) float64
    axis,  # IN (n,) int64, axis of each row, 0..k-1
    number,  # WORK (k,) int64, -1 at first
    parts,  # OUT (n,) int64, the same parts, numbered by first appearance
    sums,  # INOUT (k, k) float64, to which the rows of each axis are added
):
    """Sum the rows of each part, and number the parts; return how many there are."""
    n_parts = 0
    for i in range(rows.shape[0]):
        a = axis[i]
        if number[a] < 0:
            number[a] = n_parts
            n_parts += 1
        parts[i] = number[a]
        for j in range(rows.shape[1]):
            sums[a, j] += rows[i, j]
    return n_parts


@jit
def sum_within(
    graph,  # IN (n, n) float64, symmetric weights
    members,  # IN (n,) int64, nodes, part by part
    begin,  # IN (k + 1,) int64, first member of each part
    inside,  # OUT (k,) float64, sum of the weights between nodes of each part
):
    """Sum the weights within each part: n^2 / k look-ups for parts of equal size."""
    for p in range(inside.shape[0]):
        whole = 0.0
        for a in range(begin[p], begin[p + 1]):
            i, total = members[a], 0.0
            for b in range(begin[p], begin[p + 1]):
                total += graph[i, members[b]]
            whole += total
        inside[p] = whole
