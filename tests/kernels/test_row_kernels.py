"""Kernels over label rows against plain Python: one look-up at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ensclust import _kernels
from ensclust._cuts.kmeans import Rows

SEEDS = st.integers(0, 2**32 - 1)


def label_rows(rng, n, n_clusterings=None, *, missing=0.2):
    """Return label rows, (F, M), where code k_m is missing, and first base clusters."""
    ks = rng.integers(1, 5, n_clusterings or rng.integers(1, 10))
    codes = np.column_stack([rng.integers(0, k, n) for k in ks])
    codes = np.where(rng.random(codes.shape) < missing, ks, codes)
    return codes.astype(np.uint8), np.concatenate([[0], np.cumsum(ks)])


def clusters_of(codes, start):
    """Return the base clusters of each row, by clustering; -1 where it is missing."""
    clusters = start[:-1] + codes
    return np.where(clusters < start[1:], clusters, -1)


def indicator(codes, start):
    """Return which rows are in which base clusters."""
    clusters = clusters_of(codes, start)
    return (clusters[:, :, None] == np.arange(start[-1])).any(axis=1).astype(float)


def symmetric(rng, n):
    S = rng.integers(0, 9, (n, n)).astype(float)
    return S + S.T


# Graph of objects and base clusters


@given(seed=SEEDS)
def test_sums_over_the_graph_of_objects_and_base_clusters(seed):
    rng = np.random.default_rng(seed)
    codes, start = label_rows(rng, 20)
    H = indicator(codes, start)
    weight = rng.integers(1, 5, 20).astype(float)
    overlap = np.zeros((start[-1], start[-1]))
    _kernels.bipartite.weighted_overlap(codes, start, weight, overlap)
    assert overlap.tolist() == (H.T @ (weight[:, None] * H)).tolist()
    C, sums = symmetric(rng, start[-1]), np.full(20, -1.0)
    _kernels.bipartite.quadratic(codes, start, C, sums, 3, 17)
    assert sums[3:17].tolist() == (H @ C * H).sum(axis=1)[3:17].tolist()
    assert (sums[:3] == -1).all()
    assert (sums[17:] == -1).all()


@given(seed=SEEDS)
def test_an_object_is_nearest_to_itself_where_no_other_is_closer(seed):
    rng = np.random.default_rng(seed)
    codes, start = label_rows(rng, 20)
    H, C = indicator(codes, start), symmetric(rng, start[-1])
    C[np.diag_indices(len(C))] += rng.integers(0, 40)
    present = H.sum(axis=1)
    means = np.divide(H @ C @ H.T, np.maximum(present, 1))
    rows, found = rng.permutation(20)[:15], np.full(20, 7, np.int8)
    _kernels.bipartite.is_nearest_to_itself(codes, start, C, rows, found, 2, 13)
    expected = np.full(20, 7)
    expected[rows[2:13]] = (means.max(axis=1) <= np.diag(means) + 1e-9)[rows[2:13]]
    assert found.tolist() == expected.tolist()


# Nearest known rows


@given(seed=SEEDS, all_pairs=st.booleans())
def test_new_rows_get_the_label_of_the_nearest_known_row(seed, all_pairs):
    rng = np.random.default_rng(seed)
    codes, start = label_rows(rng, 40, int(rng.integers(1, 5)))
    new = np.unique(codes, axis=0)
    codes = new[np.sort(rng.permutation(len(new))[: len(new) // 2 + 1])]
    S = rng.integers(0, 4, (start[-1], start[-1])) * 1.0
    weight = rng.integers(1, 3, len(start) - 1) * 1.0
    label, count = rng.integers(0, 3, len(codes)), rng.integers(1, 5, len(codes))
    winner = np.full(len(new), -7, np.int32)
    args = (codes, start, S, weight, all_pairs, label, count, new)
    _kernels.nearest.nearest_label(*args, winner, 1, len(new))
    ours, theirs = clusters_of(codes, start), clusters_of(new, start)
    expected = [-7]
    for row in theirs[1:]:
        same = np.flatnonzero((ours == row).all(axis=1))
        if len(same):
            expected.append(label[same[0]])
            continue
        values = []
        for other in ours:
            total = whole = 0.0
            for q, b in enumerate(other):
                own = row[row >= 0] if all_pairs else row[[q]][row[[q]] >= 0]
                total += sum(S[a, b] for a in own) if b >= 0 else 0
                whole += weight[q] if b >= 0 and (all_pairs or len(own)) else 0
            values.append(total / whole if whole else 0.0)
        support = np.bincount(label, count * (values == np.max(values)))
        expected.append(support.argmax() if max(values) > 0 else -1)
    assert winner.tolist() == expected


def test_a_known_row_does_not_end_the_search_for_others():
    codes, start = np.array([[0, 0], [1, 1]], np.uint8), np.array([0, 2, 4])
    new = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.uint8)
    S, winner = np.eye(4), np.full(4, -7, np.int32)
    args = (codes, start, S, np.ones(2), False, np.array([5, 2]), np.array([1, 3]))
    _kernels.nearest.nearest_label(*args, new, winner, 0, 4)
    assert winner.tolist() == [5, 2, 2, 2]


@given(seed=SEEDS)
def test_rows_are_found_among_ascending_ones(seed):
    rng = np.random.default_rng(seed)
    rows, _ = label_rows(rng, 60, 3)
    known = np.unique(rows[:20], axis=0)
    place = np.full(60, -7)
    _kernels.nearest.find_rows(known, rows, place)
    for row, found in zip(rows, place, strict=True):
        same = np.flatnonzero((known == row).all(axis=1))
        assert found == (same[0] if len(same) else -1)


# Agreement, votes and shares


@given(seed=SEEDS)
def test_pairs_are_counted_by_what_they_share(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (12, 4)).astype(np.uint8)  # 2 is missing
    weight = rng.integers(1, 4, 12)
    table = np.zeros((5, 5), np.int64)
    _kernels.agreement.count_agreements(rows, weight, 2, table, 0, 7)
    _kernels.agreement.count_agreements(rows, weight, 2, table, 7, 12)
    objects = np.repeat(rows, weight, axis=0)
    expected = np.zeros((5, 5), int)
    for i, one in enumerate(objects):
        for other in objects[:i]:
            both = (one != 2) & (other != 2)
            expected[(both & (one == other)).sum(), both.sum()] += 1
    assert table.tolist() == expected.tolist()


@given(seed=SEEDS)
def test_votes_go_to_the_largest_mean_membership(seed):
    rng = np.random.default_rng(seed)
    codes, start = label_rows(rng, 30)
    meta, weight = rng.integers(-1, 4, start[-1]), rng.integers(0, 4, start[-1]) * 1.0
    count = np.array([1.0, 2.0, 3.0, 4.0])
    columns = np.ascontiguousarray(codes.T)
    winner = np.full(30, -7, np.int32)
    args = (columns, start, meta, weight, count)
    _kernels.voting.vote(*args, np.uint64(seed), winner, 2, 28)
    member = (meta[:, None] == np.arange(4)) * weight[:, None] / count
    scores = indicator(codes, start) @ member
    for found, own in zip(winner[2:28], scores[2:28], strict=True):
        tied = np.flatnonzero(own >= own.max() - 1e-12) if own.max() > 0 else [-1]
        assert found in tied
    assert winner[[0, 1, 28, 29]].tolist() == [-7] * 4


def test_ties_are_drawn_among_all_by_the_row():
    n = 3000
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 40, (4, n)).astype(np.uint8)
    start = np.arange(0, 161, 40)
    meta = np.repeat([2, 0, 1, 3], 40)
    winner = np.empty(n, np.int32)
    args = (codes, start, meta, np.ones(160), np.array([1.0, 1, 1, 2]))
    _kernels.voting.vote(*args, np.uint64(1), winner, 0, n)
    shares = np.bincount(winner, minlength=4) / n
    assert shares[3] == 0
    assert shares[:3] == pytest.approx([1 / 3] * 3, abs=0.04)
    again = np.empty(n, np.int32)
    _kernels.voting.vote(*args, np.uint64(2), again, 0, n)
    assert np.mean(again == winner) == pytest.approx(1 / 3, abs=0.04)


@given(seed=SEEDS)
def test_sums_of_what_neighbours_have_in_common(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    W = symmetric(rng, n) * (rng.random((n, n)) < 0.5)
    W, weight = np.maximum(W, W.T), rng.integers(0, 4, n) * 1.0
    sums = np.zeros((n, n))
    _kernels.triples.sum_minima(W, weight, sums, 0, 2)
    _kernels.triples.sum_minima(W, weight, sums, 1, 2)
    expected = (weight * np.minimum(W[:, None], W)).sum(axis=2)
    assert sums.tolist() == np.triu(expected).tolist()


# Counts


@pytest.mark.parametrize(
    ("count", "dtype"),
    [
        (_kernels.counting.count_pairs_of_bytes, np.uint8),
        (_kernels.counting.count_pairs, np.uint8),
        (_kernels.counting.count_pairs, np.uint16),
    ],
)
@given(seed=SEEDS)
def test_overlaps_are_counted_for_pairs_of_columns(count, dtype, seed):
    rng = np.random.default_rng(seed)
    codes, start = label_rows(rng, 50, 4)
    H = indicator(codes, start)
    first, second = np.array([0, 0, 1]), np.array([1, 3, 2])
    columns = np.ascontiguousarray(codes.T.astype(dtype))
    overlap = np.ones((start[-1], start[-1]), np.int64)
    count(columns, start, first, second, overlap)
    of = np.repeat(np.arange(4), np.diff(start))
    expected = np.ones_like(overlap)
    for m, q in zip(first, second, strict=True):
        chosen = np.outer(of == m, of == q)
        expected += ((chosen | chosen.T) * (H.T @ H)).astype(np.int64)
    assert overlap.tolist() == expected.tolist()


def test_more_clusters_than_bytes_are_counted():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 300, (2, 900))
    start, overlap = np.array([0, 299, 599]), np.zeros((599, 599), np.int64)
    first, second = np.array([0]), np.array([1])
    args = (labels.astype(np.uint16), start, first, second)
    _kernels.counting.count_pairs(*args, overlap)
    expected = np.zeros((300, 300), int)
    np.add.at(expected, tuple(labels), 1)
    assert overlap[:299, 299:].tolist() == expected[:299].tolist()
    assert overlap.tolist() == overlap.T.tolist()


# Microclusters


@pytest.mark.parametrize("dtype", [np.uint16, np.int32])
@given(seed=SEEDS, n_neighbors=st.integers(1, 6))
def test_the_closest_microclusters_with_ties(dtype, seed, n_neighbors):
    rng = np.random.default_rng(seed)
    codes, start = label_rows(rng, 100)
    n_clusterings = codes.shape[1]
    clusters = clusters_of(codes, start)
    width = n_clusterings + 1
    share = np.zeros((width, width))
    for both in range(1, width):
        share[:, both] = np.arange(width) / both
    share[np.tril_indices(width, -1)] = 0  # more together than both
    values, rank = np.unique(share.reshape(-1), return_inverse=True)
    i0, i1 = 20, 80
    count, others, ranks = _kernels.walks.closest(
        codes, start, rank.astype(dtype), len(values), n_neighbors, i0, i1
    )
    assert len(count) == 60
    ends = np.concatenate([[0], np.cumsum(count)])
    for r, i in enumerate(range(i0, i1)):
        both = (clusters[i] >= 0) & (clusters >= 0)
        together = (both & (clusters[i] == clusters)).sum(axis=1)
        own = rank.reshape(width, width)[together, both.sum(axis=1)]
        own[i] = 0
        least = max(1, np.sort(own)[-n_neighbors])
        expected = np.flatnonzero(own >= least)
        assert others[ends[r] : ends[r + 1]].tolist() == expected.tolist()
        assert ranks[ends[r] : ends[r + 1]].tolist() == own[expected].tolist()


def walk(rng, n):
    weights = rng.integers(1, 4, (n, n)) * 1.0
    return sparse.csr_array(np.where(rng.random((n, n)) < 0.3, weights, 0))


@pytest.mark.parametrize("n", [5, 40])
def test_walks_are_powers_of_a_matrix(n):
    rng = np.random.default_rng(n)
    P = walk(rng, n)
    dense, width, steps = P.toarray(), _kernels.walks.WIDTH, 3
    powers = [np.linalg.matrix_power(dense, s) for s in range(1, steps + 1)]
    norms, back = np.full(n, -1.0), P.T.tocsr()
    i1 = min(n, 2 + width)
    parts = (back.indptr, back.indices, back.data)
    _kernels.walks.squared_norms(*parts, steps, norms, 2, i1)
    expected = sum((power**2).sum(axis=1) for power in powers)
    assert norms[2:i1] == pytest.approx(expected[2:i1])
    assert (norms[:2] == -1).all()
    assert (norms[i1:] == -1).all()
    V = rng.integers(-3, 4, (n, width)) * 1.0
    walks = rng.random((steps + 1, n, width))
    walks[0] = V
    _kernels.walks.correlate(*parts, P.indptr, P.indices, P.data, walks)
    expected = sum(power @ power.T @ V for power in powers)
    assert walks[0] == pytest.approx(expected)


def symmetric_graph(rng, n):
    """Return a symmetric matrix without eigenvalues above 1, and its arrays."""
    dense = np.where(rng.random((n, n)) < 0.3, rng.random((n, n)), 0)
    dense = np.triu(dense, 1)
    dense = (dense + dense.T).astype(np.float32)
    dense /= np.float32(max(dense.sum(axis=1).max(), 1))
    N = sparse.csr_array(dense)
    return dense, (N.indptr.astype(np.int64), N.indices.astype(np.int32), N.data)


@given(seed=SEEDS, n=st.integers(1, 90), steps=st.integers(1, 6))
def test_symmetric_walks_are_powers_of_a_matrix(seed, n, steps):
    rng = np.random.default_rng(seed)
    dense, graph = symmetric_graph(rng, n)
    mass = rng.uniform(1, 5, n).astype(np.float32)
    powers = [
        np.linalg.matrix_power(dense.astype(float), s) for s in range(1, steps + 1)
    ]
    gram = sum((power * mass) @ power for power in powers)
    width = _kernels.symmetric.WIDTH
    i0, i1 = n // 3, min(n, n // 3 + width)
    norms, unknown = np.full(n, -1.0), np.zeros((0, n))
    walked = _kernels.symmetric.squared_norms(
        *graph, mass, steps, unknown, 0.0, 1.0, norms, i0, i1
    )
    assert walked == steps
    assert norms[i0:i1] == pytest.approx(np.diag(gram)[i0:i1], rel=1e-5, abs=1e-30)
    assert (np.delete(norms, np.s_[i0:i1]) == -1).all()
    walks = rng.random((steps + 1, n, width), np.float32)
    V = walks[0].astype(float)
    _kernels.symmetric.correlate(*graph, mass, walks)
    assert walks[0] == pytest.approx(gram @ V, rel=1e-4, abs=1e-30)


def expected_walk(terms, expected, decay, tolerance):
    """Return the steps to walk and the sums, (steps, n) what they add and should."""
    steps, last = len(terms), np.inf
    for s in range(1, steps):
        total = terms[:s].sum(axis=0)
        off = np.abs(terms[s - 1] - expected[s - 1])
        error = (off[total > 0] / total[total > 0]).max(initial=0)
        left = error * (steps - s)
        if 0 < error < last:
            rate = max(decay, error / last)
            left = min(left, error * rate / (1 - rate))
        if left <= tolerance:
            return s, total + expected[s:].sum(axis=0)
        last = error
    return steps, terms.sum(axis=0)


@given(
    seed=SEEDS,
    n=st.integers(1, 40),
    decay=st.sampled_from([0.1, 0.5]),
    noise=st.sampled_from([0.0, 0.03, 1.0]),
    constant=st.sampled_from([0.0, 0.004]),
)
def test_walks_end_where_the_rest_is_as_expected(seed, n, decay, noise, constant):
    rng = np.random.default_rng(seed)
    steps, tolerance = 12, 1.1e-3
    dense, graph = symmetric_graph(rng, n)
    mass = rng.uniform(1, 5, n).astype(np.float32)
    powers = [
        np.linalg.matrix_power(dense.astype(float), s) for s in range(1, steps + 1)
    ]
    terms = np.array([(power**2 * mass).sum(axis=1) for power in powers])
    shrinking = noise * decay ** np.arange(steps)[:, None]
    expected = terms + (shrinking + constant) * terms[0]
    walked, sums = expected_walk(terms, expected, decay, tolerance)
    norms = np.empty(n)
    found = _kernels.symmetric.squared_norms(
        *graph, mass, steps, expected, decay, tolerance, norms, 0, n
    )
    assert found == walked
    assert norms == pytest.approx(sums, rel=1e-5, abs=1e-30)
    if not constant or walked == steps:
        assert norms == pytest.approx(terms.sum(axis=0), rel=2 * tolerance)


# Representatives


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("p", "q"), [(1, 1), (5, 5), (6, 3), (11, 5)])
def test_the_nearest_representatives_in_order(p, q, is_sparse, dtype):
    rng = np.random.default_rng(p)
    X, own = (rng.integers(-3, 4, (n, 5)).astype(dtype) for n in (300, p))
    rows = Rows.of(sparse.csr_array(X) if is_sparse else X)
    W, half, _ = rows.packed([own])
    exact = half[:p].astype("f8")
    near, score = np.full((280, q), -1, np.int32), np.full((280, q), np.nan)
    args = (*rows.arrays, W, half, exact, near, score)
    _kernels.spectral.find_nearest(*args, 10, 290)
    expected = X[10:290].astype("f8") @ own.T - exact
    order = np.argsort(-expected, axis=1, kind="stable")[:, :q]
    assert near.tolist() == order.tolist()
    assert score.tolist() == np.take_along_axis(expected, order, axis=1).tolist()


def test_points_and_labels_of_rows_are_means_of_their_representatives():
    rng = np.random.default_rng(0)
    near = rng.integers(0, 6, (30, 3)).astype(np.int32)
    share = rng.dirichlet(np.ones(3), 30)
    table = rng.normal(size=(6, 20)).astype("f4")  # 16 coordinates, 4 products
    table[0] = 0
    near[0] = 0
    mixed = (share[:, :, None] * table[near]).sum(axis=1)
    size = np.linalg.norm(mixed[:, :16], axis=1)
    points = np.full((30, 16), 9, "f4")
    narrow = np.ascontiguousarray(table[:, :16])
    _kernels.spectral.embed(near, share, narrow, points)
    expected = mixed[:, :16] / np.where(size > 0, size, 1)[:, None]
    assert points == pytest.approx(expected, abs=1e-6)
    half, labels = rng.random(4).astype("f4"), np.full(30, 9, np.uint8)
    _kernels.spectral.label(near, share, table, half, labels)
    expected = (mixed[:, 16:] - size[:, None] * half).argmax(axis=1)
    assert labels.tolist() == expected.tolist()


def test_scores_become_shares_of_an_affinity():
    score = np.array([[3.0, 1.0, 0.5], [900.0, 890.0, -900.0]])
    weight = np.exp((score - score.max(axis=1, keepdims=True)) * 0.5)
    _kernels.spectral.share_out(score, 0.5)
    assert score == pytest.approx(weight / weight.sum(axis=1, keepdims=True))
