"""Neighbours that two nodes of a graph have in common."""

from ensclust._kernels._jit import jit


@jit
def sum_minima(
    W,  # IN (n, n) float64, symmetric, not negative
    weight,  # IN (n,) float64, of each neighbour
    sums,  # INOUT (n, n) float64, zeros; the upper triangle is written
    first,  # first row
    step,  # and how far it is to the next
):
    """Write ``sum_c weight_c min(W_ac, W_bc)`` for every step-th row a and b >= a.

    Most weights in a graph of base clusters are 0, and cost nothing.
    """
    n = W.shape[0]
    for a in range(first, n, step):
        own = sums[a, a:]
        for c in range(n):
            x, w = W[a, c], weight[c]
            if x > 0.0:
                other = W[c, a:]
                for b in range(n - a):
                    own[b] += w * min(x, other[b])
