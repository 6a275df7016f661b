"""The definitions, literally: plain NumPy, no optimisation, N x N if defined so."""

import numpy as np


def membership(ensemble):
    """H, (N, Nc) 0/1."""
    labels, offsets = ensemble.labels, ensemble.offsets
    H = np.zeros((ensemble.n_objects, ensemble.n_base_clusters))
    for i, m in zip(*np.nonzero(labels >= 0), strict=True):
        H[i, offsets[m] + labels[i, m]] = 1
    return H


def jaccard(ensemble):
    H = membership(ensemble)
    both = H.T @ H
    sizes = H.sum(axis=0)
    return both / (sizes[:, None] + sizes - both)


def gram(W, steps):
    """Sum P^s (P^s)^T over s = 1..steps; rows without neighbours stay zero."""
    W = W * (1 - np.eye(len(W)))
    degree = W.sum(axis=1)
    P = W / np.where(degree > 0, degree, 1)[:, None]
    Q, total = np.eye(len(W)), np.zeros_like(W)
    for _ in range(steps):
        Q = Q @ P
        total += Q @ Q.T
    return total


def propagate(W, steps):
    total = gram(W, steps)
    norm = np.sqrt(np.diag(total))
    Z = total / np.where(norm > 0, norm, 1) / np.where(norm > 0, norm, 1)[:, None]
    np.fill_diagonal(Z, 1)
    return Z


def lift(ensemble, S):
    """Mean over clusterings that contain both objects; numerators and denominators."""
    labels, offsets = ensemble.labels, ensemble.offsets
    n, n_clusterings = labels.shape
    numerator, denominator = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            for m in range(n_clusterings):
                if labels[i, m] >= 0 and labels[j, m] >= 0:
                    a, b = offsets[m] + labels[i, m], offsets[m] + labels[j, m]
                    numerator[i, j] += S[a, b]
                    denominator[i, j] += 1
    return numerator, denominator


def ratio(numerator, denominator):
    return np.divide(
        numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0
    )


def connected_triples(W, cluster_counts, decay):
    W = W * (1 - np.eye(len(W)))
    clustering = np.repeat(np.arange(len(cluster_counts)), cluster_counts)
    T = np.zeros_like(W)
    for a in range(len(W)):
        for b in range(len(W)):
            if a != b and clustering[a] == clustering[b]:
                T[a, b] = sum(min(W[a, c], W[b, c]) for c in range(len(W)))
    T = T / T.max() * decay if T.max() > 0 else T
    np.fill_diagonal(T, 1)
    return T


def simrank_objects(ensemble, decay, n_updates):
    """S after n_updates of objects and clusters together, N x N."""
    H = membership(ensemble)
    per_object = np.maximum(H.sum(axis=1), 1)
    per_cluster = np.maximum(H.sum(axis=0), 1)
    S, C = np.eye(len(H)), np.eye(H.shape[1])
    for _ in range(n_updates):
        S, C = (
            decay * (H @ C @ H.T) / np.multiply.outer(per_object, per_object),
            decay * (H.T @ S @ H) / np.multiply.outer(per_cluster, per_cluster),
        )
        np.fill_diagonal(S, 1)
        np.fill_diagonal(C, 1)
    return S


def replay(dendrogram, numerator, denominator, linkage="average", tolerance=1e-6):
    """Check that each merge joins a pair of groups that is nearest at that moment.

    Entries are per pair of objects. Equal objects of one leaf are together from the
    start. Average linkage pools: sum of numerators / sum of denominators.
    """
    n_leaves = dendrogram.n_leaves
    groups = {
        leaf: np.flatnonzero(dendrogram.leaf_of_object == leaf)
        for leaf in range(n_leaves)
    }
    values = ratio(numerator, denominator)

    def similarity(a, b):
        block = np.ix_(groups[a], groups[b])
        if linkage == "average":
            total = denominator[block].sum()
            return numerator[block].sum() / total if total > 0 else 0.0
        return values[block].max() if linkage == "single" else values[block].min()

    for i, (a, b) in enumerate(dendrogram.merges):
        nodes = list(groups)
        largest = max(
            similarity(x, y) for p, x in enumerate(nodes) for y in nodes[p + 1 :]
        )
        own = similarity(a, b)
        assert own >= largest - tolerance, (i, own, largest)
        assert abs(1 - own - dendrogram.heights[i]) <= tolerance, (i, own)
        groups[n_leaves + i] = np.concatenate([groups.pop(a), groups.pop(b)])


def replay_by_sums(dendrogram, numerator, denominator, tolerance=1e-6):
    """Like ``replay``, for average linkage, with stored sums over pairs of groups.

    For a thousand objects and more; numerators and denominators are per pair of
    objects.
    """
    pick = np.eye(dendrogram.n_leaves)[dendrogram.leaf_of_object]
    above, below = pick.T @ numerator @ pick, pick.T @ denominator @ pick
    values = ratio(above, below)
    np.fill_diagonal(values, -1)
    largest = values.max(axis=1)
    place = list(range(dendrogram.n_leaves))  # row of each node
    for i, (a, b) in enumerate(dendrogram.merges):
        x, y = place[a], place[b]
        own = values[x, y]
        assert own >= largest.max() - tolerance, (i, own)
        assert abs(1 - own - dendrogram.heights[i]) <= tolerance, (i, own)
        others = np.flatnonzero(values[x] >= 0)
        others = others[others != y]
        for sums in (above, below):
            sums[x] += sums[y]
            sums[others, x] = sums[x, others]
        before = np.maximum(values[others, x], values[others, y])
        values[x], values[y], values[others, y] = -1, -1, -1
        values[x, others] = values[others, x] = ratio(
            above[x, others], below[x, others]
        )
        # A row has lost its largest only if that was one of the two.
        lost = others[before >= largest[others]]
        largest[others] = np.maximum(largest[others], values[others, x])
        for z in (x, y, *lost):
            largest[z] = values[z].max()
        place.append(x)
