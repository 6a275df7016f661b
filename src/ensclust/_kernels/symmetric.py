"""Random walks on a symmetric graph, in float32.

N is the (n, n) matrix of the graph, in compressed rows; WIDTH columns walk together.
"""

import numpy as np

from ensclust._kernels._jit import fused_jit
from ensclust._kernels.walks import add_rows

WIDTH = 64
_FEW = 64  # squares that are summed in float32


@fused_jit
def squared_norms(
    indptr,  # IN (n + 1,) int64, rows of N
    indices,  # IN (nnz,) int32
    data,  # IN (nnz,) float32
    mass,  # IN (n,) float32, the diagonal of B
    steps,  # IN int
    expected,  # IN (steps, n) float64, roughly what step s adds; (0, n) if unknown
    decay,  # IN float, by which the error of what is expected shrinks in a step
    tolerance,  # IN float
    norms,  # OUT (n,) float64
    i0,
    i1,  # at most i0 + WIDTH
):
    """Sum the diagonal entries i0..i1-1 of N^s B N^s over s = 1..steps.

    Returns the number of steps that were walked. The others are taken to be as expected
    once the relative error of the sums, estimated from the last two steps, is within
    the tolerance.
    """
    n = indptr.shape[0] - 1
    here = np.zeros((n, WIDTH), np.float32)
    there = np.empty((n, WIDTH), np.float32)
    total, own = np.zeros(WIDTH), np.zeros(WIDTH)
    for r in range(i1 - i0):  # the first step is N itself
        for e in range(indptr[i0 + r], indptr[i0 + r + 1]):
            here[indices[e], r] = data[e]
    walked, last_error = 1, np.inf
    while True:
        sum_squares(here, mass, own)
        total += own
        if walked == steps:
            break
        if expected.shape[0] > 0:
            error = 0.0
            for r in range(i1 - i0):
                if total[r] > 0.0:
                    off = abs(own[r] - expected[walked - 1, i0 + r])
                    error = max(error, off / total[r])
            if error_left(error, last_error, decay, steps - walked) <= tolerance:
                break
            last_error = error
        multiply(indptr, indices, data, here, mass[:0], there)
        here, there = there, here
        walked += 1
    for r in range(i1 - i0):
        for s in range(walked, steps):
            total[r] += expected[s, i0 + r]
        norms[i0 + r] = total[r]
    return walked


@fused_jit
def error_left(error, last_error, decay, n_left):
    """Return the sum of the errors of further steps.

    They shrink like the last two, at best by ``decay``; or do not, if these did not.
    """
    if error > 0.0 and last_error > error:
        decay = max(decay, error / last_error)
        return error * min(n_left, decay / (1.0 - decay))
    return error * n_left


@fused_jit
def sum_squares(V, mass, total):
    """Fill total with the squares of V, weighted by mass and summed over the rows."""
    few = np.empty(WIDTH, np.float32)
    total[:] = 0.0
    for first in range(0, V.shape[0], _FEW):
        few[:] = 0.0
        for i in range(first, min(first + _FEW, V.shape[0])):
            m = mass[i]
            for r in range(WIDTH):
                few[r] += (m * V[i, r]) * V[i, r]
        for r in range(WIDTH):
            total[r] += few[r]


@fused_jit
def correlate(
    indptr,  # IN (n + 1,) int64, rows of N
    indices,  # IN (nnz,) int32
    data,  # IN (nnz,) float32
    mass,  # IN (n,) float32, the diagonal of B
    walks,  # INOUT (steps + 1, n, WIDTH) float32, walks[0] = V; the others scratch
):
    """Replace V in walks[0] by the sum of N^s B N^s V over s = 1..steps.

    V_s = N V_(s-1) on the way out; N (B V_1 + N (B V_2 + ...)) on the way back.
    """
    steps, nothing = walks.shape[0] - 1, mass[:0]
    for s in range(steps):
        multiply(indptr, indices, data, walks[s], nothing, walks[s + 1])
    for i in range(walks.shape[1]):
        for r in range(WIDTH):
            walks[steps, i, r] *= mass[i]
    for s in range(steps, 1, -1):
        multiply(indptr, indices, data, walks[s], mass, walks[s - 1])
    multiply(indptr, indices, data, walks[1], nothing, walks[0])


@fused_jit
def multiply(indptr, indices, data, V, kept, out):
    """Fill out with N V, both (n, WIDTH), or add N V to the kept share of each row."""
    row = np.empty(WIDTH, np.float32)
    for i in range(indptr.shape[0] - 1):
        if kept.shape[0] > 0:
            for r in range(WIDTH):
                row[r] = kept[i] * out[i, r]
        else:
            row[:] = 0.0
        add_rows(indices, data, indptr[i], indptr[i + 1], V, row)
        out[i] = row
