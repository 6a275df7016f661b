"""Which of many label rows is most similar to a new one."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def nearest_label(
    codes,  # IN (F, M) unsigned, known label rows; code k_m means "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    S,  # IN (Nc, Nc) float64, similarity of base clusters
    all_pairs,  # IN bool: mean over all pairs of clusterings, not equal ones only
    label,  # IN (F,) int64, 0..k-1
    count,  # IN (F,) int64, objects of each known row
    new,  # IN (Q, M) unsigned, coded alike
    winner,  # OUT (Q,) int32, -1 where all similarities are 0
    i0,
    i1,
):
    """Write the label of the known row that equals, or else is nearest to, new rows.

    Of equally near rows, the label with most objects wins, then the lowest.
    """
    n, n_clusterings = codes.shape
    table = np.zeros(S.shape[0])
    support = np.zeros(label.max() + 1, np.int64)
    for i in range(i0, i1):
        fill_table(new, start, S, all_pairs, table, i)
        best = 0.0
        winner[i] = -1
        for j in range(n):
            total, n_shared, n_equal = 0.0, 0, 0
            for m in range(n_clusterings):
                n_equal += codes[j, m] == new[i, m]
                k = start[m + 1] - start[m]
                if codes[j, m] < k and (all_pairs or new[i, m] < k):
                    total += table[start[m] + np.int64(codes[j, m])]
                    n_shared += 1
            if n_equal == n_clusterings:
                winner[i] = label[j]
                break
            similarity = total / n_shared if n_shared > 0 else 0.0
            if similarity > best:
                best = similarity
                support[:] = 0
            if similarity == best:
                support[label[j]] += count[j]
        if winner[i] < 0 and best > 0:
            winner[i] = support.argmax()


@jit
def fill_table(new, start, S, all_pairs, table, i):
    """Write what each base cluster contributes to the similarity with new row i."""
    n_clusterings = new.shape[1]
    table[:] = 0.0
    for m in range(n_clusterings):
        own = start[m] + np.int64(new[i, m])
        if own >= start[m + 1]:
            continue
        if all_pairs:
            table += S[own]
        else:
            for c in range(start[m], start[m + 1]):
                table[c] = S[own, c]
