"""Nearest centre of each row."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def nearest_centre(
    X,  # IN (N, d) float32
    centres,  # IN (d, k) float32, one column per centre
    half_norms,  # IN (k,) float32, half the squared norm of each centre
    labels,  # OUT (N,) int32
    i0,
    i1,
):
    """Label rows i0..i1-1 with the centre of least Euclidean distance, lowest first.

    Each row is computed on its own and in a fixed order, so its label does not depend
    on the rows around it. The inner loop runs over centres and vectorises without
    reordering any sum; four features at a time are added to a score that is in a
    register.
    """
    n_features, k = centres.shape
    n_fours = n_features - n_features % 4
    score = np.empty(k, np.float32)
    for i in range(i0, i1):
        for c in range(k):
            score[c] = -half_norms[c]
        for f in range(0, n_fours, 4):
            x0, x1, x2, x3 = X[i, f], X[i, f + 1], X[i, f + 2], X[i, f + 3]
            for c in range(k):
                s = score[c] + x0 * centres[f, c]
                s += x1 * centres[f + 1, c]
                s += x2 * centres[f + 2, c]
                score[c] = s + x3 * centres[f + 3, c]
        for f in range(n_fours, n_features):
            x = X[i, f]
            for c in range(k):
                score[c] += x * centres[f, c]
        best = 0
        for c in range(1, k):
            if score[c] > score[best]:
                best = c
        labels[i] = best
