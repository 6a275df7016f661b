"""Which of many label rows is most similar to a new one."""

import numpy as np

from ensclust._kernels._jit import jit


@jit
def nearest_label(
    codes,  # IN (F, M) unsigned, known label rows, ascending; k_m: "not clustered"
    start,  # IN (M + 1,) int64, first global index of each clustering's clusters
    S,  # IN (Nc, Nc) float64, similarity of base clusters, times their weights
    weight,  # IN (M,) float64, weights of the clusterings
    all_pairs,  # IN bool: mean over all pairs of clusterings, not equal ones only
    label,  # IN (F,) int64, 0..k-1
    count,  # IN (F,) int64, objects of each known row
    new,  # IN (Q, M) unsigned, coded alike
    winner,  # OUT (Q,) int32, -1 where all similarities are 0
    i0,
    i1,
):
    """Write the label of the known row that equals a new row, or is nearest to it.

    Among equally near rows, the label with most objects wins, then the lowest.
    """
    n, n_clusterings = codes.shape
    # One more slot per clustering, for "not clustered", avoids a branch below.
    slot = start[:-1] + np.arange(n_clusterings)
    value = np.zeros(S.shape[0] + n_clusterings)
    shared = np.zeros(S.shape[0] + n_clusterings)
    support = np.zeros(label.max() + 1, np.int64)
    for i in range(i0, i1):
        j = find_row(codes, new, i)
        if j >= 0:
            winner[i] = label[j]
            continue
        fill_slots(new, start, S, weight, all_pairs, value, shared, i)
        best = 0.0
        for j in range(n):
            total, whole = 0.0, 0.0
            for m in range(n_clusterings):
                c = slot[m] + np.int64(codes[j, m])
                total += value[c]
                whole += shared[c]
            similarity = total / whole if whole > 0 else 0.0
            if similarity > best:
                best = similarity
                support[:] = 0
            if similarity == best:
                support[label[j]] += count[j]
        winner[i] = support.argmax() if best > 0 else -1


@jit
def find_rows(
    codes,  # IN (F, M) unsigned, known label rows, ascending
    new,  # IN (Q, M) unsigned, coded alike
    place,  # OUT (Q,) int64, -1 if a row is unknown
):
    """Write the position of each new row among the known ones."""
    for i in range(new.shape[0]):
        place[i] = find_row(codes, new, i)


@jit
def find_row(codes, new, i):
    """Return the position of new row i among the ascending known rows, -1 if absent."""
    low, high = 0, codes.shape[0]
    while low < high:
        middle = (low + high) // 2
        m = 0
        while m < codes.shape[1] and codes[middle, m] == new[i, m]:
            m += 1
        if m == codes.shape[1]:
            return middle
        if codes[middle, m] < new[i, m]:
            low = middle + 1
        else:
            high = middle
    return -1


@jit
def fill_slots(
    new,  # IN (Q, M)
    start,  # IN (M + 1,)
    S,  # IN (Nc, Nc)
    weight,  # IN (M,)
    all_pairs,  # IN bool
    value,  # OUT (Nc + M,), contribution of a cluster to the similarity with new row i
    shared,  # OUT (Nc + M,), its weight, 0 if it is missing
    i,
):
    """Write what every base cluster contributes, and 0 for "not clustered"."""
    value[:] = 0.0
    shared[:] = 0.0
    for m in range(new.shape[1]):
        own = start[m] + np.int64(new[i, m])
        is_in = own < start[m + 1]
        for q in range(new.shape[1]):
            if q == m or all_pairs:
                for c in range(start[q], start[q + 1]):
                    value[c + q] += S[own, c] if is_in else 0.0
                    shared[c + q] = weight[q] if is_in or all_pairs else 0.0
