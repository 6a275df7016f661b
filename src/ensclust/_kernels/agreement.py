"""Pairs of weighted label rows, counted by how many labels they share."""

from ensclust._kernels._jit import jit


@jit
def count_agreements(
    rows,  # IN (R, M) unsigned label rows
    weight,  # IN (R,) int64, objects per row
    missing,  # IN the code that means "not clustered"
    table,  # OUT (M + 1, M + 1) int64, pairs of objects are added
    i0,
    i1,
):
    """Add the pairs of objects of rows i0..i1-1 with each other and with later rows.

    ``table[a, b]`` counts the pairs that b clusterings contain, a of them together.
    """
    n_rows, n_clusterings = rows.shape
    for i in range(i0, i1):
        both = 0
        for m in range(n_clusterings):
            both += rows[i, m] != missing
        table[both, both] += weight[i] * (weight[i] - 1) // 2
        for j in range(i + 1, n_rows):
            together = 0
            both = 0
            for m in range(n_clusterings):
                present = (rows[i, m] != missing) & (rows[j, m] != missing)
                both += present
                together += present & (rows[i, m] == rows[j, m])
            table[together, both] += weight[i] * weight[j]
