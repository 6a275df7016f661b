"""Kernels of linkage against plain Python: regions are lists of entries, or rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import _kernels

SEEDS = st.integers(0, 2**32 - 1)


# Chains and merges


@given(seed=SEEDS)
def test_a_merge_is_no_more_similar_than_its_children(seed):
    rng = np.random.default_rng(seed)
    alive, merged = list(range(12)), []
    while len(alive) > 1:
        a, b = sorted(rng.choice(alive, 2, replace=False).tolist())
        merged.append((a, b))
        alive.remove(b)
    similarity = rng.random(11)
    expected, last = [], np.full(12, np.inf)
    for (a, b), s in zip(merged, similarity, strict=True):
        last[a] = min(s, last[a], last[b])
        expected.append(last[a])
    _kernels.chain.settle(np.array(merged), similarity, np.full(12, np.inf))
    assert similarity.tolist() == expected
    nodes = list(range(12))
    numbered = []
    for i, (a, b) in enumerate(merged):
        numbered.append(sorted((nodes[a], nodes[b])))
        nodes[a] = 12 + i
    merges = np.array(merged)
    _kernels.chain.number(merges, np.arange(12))
    assert merges.tolist() == numbered


def chain_state(near, asked, born, alive):
    return (np.array(near), np.array(asked), np.array(born), np.array(alive))


def test_chains_are_followed_to_the_first_region_whose_neighbour_is_not_known():
    #     0 -> 2 -> 3, whose neighbour is unknown; 1 is gone; 4's has been merged
    near, asked = [2, 0, 3, 0, 5, 0], [3, 0, 3, -1, 3, 3]
    born, alive = [0, 0, 0, 0, 0, 4], [True, False, True, True, True, True]
    state = chain_state(near, asked, born, alive)
    queued, queue = np.zeros(6, bool), np.full(4, -7)
    assert _kernels.chain.plan(*state, queued, queue, 0) == 3
    assert queue.tolist() == [3, 4, 5, -7]
    assert not queued.any()
    short = np.full(1, -7)
    assert _kernels.chain.plan(*state, queued, short, 4) == 1
    assert short.tolist() == [4]
    assert not queued.any()


def test_a_chain_that_runs_in_a_ring_is_reported():
    near, asked, born = [1, 2, 0], [5, 5, 5], [0, 0, 0]
    state = chain_state(near, asked, born, [True] * 3)
    args = (np.zeros(3, bool), np.zeros(3, np.int64), 0)
    assert _kernels.chain.plan(*state, *args) == -1


def test_regions_that_are_nearest_to_each_other_merge():
    near, best = np.array([1, 0, 3, 1, 5, 4]), np.array([0.5, 0.5, 0.7, 0.8, 0.9, 0.9])
    asked, born = np.array([2, 2, 2, 2, 2, 1]), np.array([0, 0, 0, 0, 2, 0])
    alive = np.ones(6, bool)
    merged, similarity = np.full((5, 2), -1), np.full(5, -1.0)
    args = (near, best, asked, born, alive, merged, similarity)
    # 5 asked for 4 before that was born; 3 is nearer to 1 than 1 to 0, which does not
    # matter: 1's own nearest is 0.
    assert _kernels.chain.reciprocal(np.array([1, 2, 4]), *args, 3) == 4
    assert merged.tolist() == [[-1, -1]] * 3 + [[0, 1]] + [[-1, -1]]
    assert similarity.tolist() == [-1, -1, -1, 0.5, -1]
    assert alive.tolist() == [True, False, True, True, True, True]
    assert born.tolist() == [4, 0, 0, 0, 2, 0]
    assert asked.tolist() == [2, 3, 3, 2, 3, 1]


# Lists of entries


def entries(rng, n_regions, ks):
    """Return regions as lists of entries: counts by base cluster, at least one each."""
    table = rng.integers(0, 4, (n_regions, sum(ks)))
    table[np.arange(n_regions), rng.integers(0, sum(ks), n_regions)] += 1
    region, cluster = np.nonzero(table)
    edge = np.searchsorted(region, np.arange(n_regions + 1))
    return table, edge, cluster.astype(np.int32), table[region, cluster]


def clusterings(ks):
    start = np.concatenate([[0], np.cumsum(ks)])
    return start, np.repeat(np.arange(len(ks)), ks).astype(np.int32)


@given(seed=SEEDS, all_pairs=st.booleans(), with_divisor=st.booleans())
def test_similarity_of_two_regions_is_a_mean_over_their_entries(
    seed, all_pairs, with_divisor
):
    rng = np.random.default_rng(seed)
    ks = rng.integers(1, 4, rng.integers(1, 5))
    _, of = clusterings(ks)
    table, edge, cluster, count = entries(rng, 2, ks)
    S, both = (rng.integers(0, 5, (len(of), len(of))).astype(np.float32) for _ in "ab")
    size = np.array([3.0, 5.0])
    counted = both if with_divisor else both[:0, :0]
    state = (edge[:-1], edge[1:], cluster, count.astype(np.int32))
    state += (size, of, S, counted, all_pairs)
    kept = np.ones_like(S) if all_pairs else of[:, None] == of
    total = table[0] @ (S * kept) @ table[1]
    divisor = table[0] @ (both * kept) @ table[1] if with_divisor else 15
    expected = total / divisor if divisor else 0
    assert _kernels.merging.between(0, 1, state) == pytest.approx(expected)


@given(seed=SEEDS)
def test_entries_of_joined_regions_are_added(seed):
    rng = np.random.default_rng(seed)
    table, edge, cluster, count = entries(rng, 3, [3, 4])
    n = len(cluster)
    room = np.full(2 * n, -1, np.int32), np.full(2 * n, -1, np.int32)
    room[0][:n], room[1][:n] = cluster, count
    low, high = edge[:-1].copy(), edge[1:].copy()
    end = _kernels.merging.join(0, 2, low, high, *room, n)
    together = table[0] + table[2]
    assert (low[0], high[0]) == (n, end)
    assert room[0][n:end].tolist() == np.flatnonzero(together).tolist()
    assert room[1][n:end].tolist() == together[together > 0].tolist()
    needed = edge[1] - edge[0] + edge[3] - edge[2]
    for short, expected in ((needed, 0), (needed - 1, -1)):
        tight = tuple(
            np.append(part, part[:short])[: n + short]
            for part in (cluster, count.astype(np.int32))
        )
        low, high = edge[:-1].copy(), edge[1:].copy()
        found = _kernels.merging.join(0, 2, low, high, *tight, n)
        assert min(found, 0) == expected


@given(seed=SEEDS)
def test_regions_are_packed_with_their_most_frequent_labels(seed):
    rng = np.random.default_rng(seed)
    ks = rng.integers(1, 4, 3)
    start, of = clusterings(ks)
    table, edge, cluster, count = entries(rng, 6, ks)
    kept = np.array([4, 1, 3])
    edges = np.concatenate([[0], np.cumsum((edge[1:] - edge[:-1])[kept])])
    packed = np.full((2, edges[-1]), -1, np.int32)
    codes = np.full((3, 3), 9, np.uint8)
    args = (kept, edge[:-1], edge[1:], cluster, count.astype(np.int32), of, start)
    _kernels.merging.pack(*args, edges, *packed, codes)
    expected = [np.flatnonzero(table[x]) for x in kept]
    assert packed[0].tolist() == np.concatenate(expected).tolist()
    assert (
        packed[1].tolist()
        == np.concatenate([table[x][table[x] > 0] for x in kept]).tolist()
    )
    for own, row in zip(codes, table[kept], strict=True):
        for m, k in enumerate(ks):
            part = row[start[m] : start[m] + k]
            assert own[m] == (part.argmax() if part.any() else k)


def literal_merges(table, of, S, all_pairs, limit):
    """Merge the most similar pairs that are nearest to each other, lowest first."""
    regions = {i: table[i].astype(float) for i in range(len(table))}
    sizes = dict.fromkeys(regions, 1.0)
    kept = np.ones_like(S) if all_pairs else of[:, None] == of
    merges = {}

    def value(x, y):
        return regions[x] @ (S * kept) @ regions[y] / (sizes[x] * sizes[y])

    while len(regions) > 1:
        pairs = [(value(x, y), -x, -y) for x in regions for y in regions if x < y]
        s, x, y = max(pairs)
        if s < limit:
            break
        merges[-x, -y] = s
        regions[-x] += regions.pop(-y)
        sizes[-x] += sizes.pop(-y)
    return merges


@given(
    seed=SEEDS,
    all_pairs=st.booleans(),
    limit=st.sampled_from([0.0, 3.0]),
    slack=st.sampled_from([0.0, 0.2, 9.0]),
)
def test_regions_merge_as_far_as_their_lists_tell(seed, all_pairs, limit, slack):
    rng = np.random.default_rng(seed)
    ks = [2, 3]
    _, of = clusterings(ks)
    n = 7
    table, edge, cluster, count = entries(rng, n, ks)
    S = rng.random((5, 5)).astype(np.float32)  # no ties
    S = (S + S.T) / 2
    room = [np.zeros(40 * len(cluster), np.int32) for _ in "ab"]
    room[0][: len(cluster)], room[1][: len(cluster)] = cluster, count
    near = np.array([[y for y in range(n) if y != x] for x in range(n)], np.int32)
    kept = np.ones_like(S) if all_pairs else of[:, None] == of
    value = np.take_along_axis(table @ (S * kept) @ table.T, near, axis=1)
    best = value * (1.00001 + slack * rng.random(near.shape))  # bounds
    limits = np.full(n, limit)
    merged, similarity = np.full((n - 1, 2), -1), np.full(n - 1, -1.0)
    n_merged = _kernels.merging.merge(
        *(edge[:-1].copy(), edge[1:].copy(), *room, len(cluster), np.ones(n), of, S),
        *(S[:0, :0], all_pairs, near, best, limits, merged, similarity),
    )
    found = {
        (a, b): s
        for (a, b), s in zip(merged[:n_merged].tolist(), similarity, strict=False)
    }
    assert found == pytest.approx(literal_merges(table, of, S, all_pairs, limit))


@given(seed=SEEDS, all_pairs=st.booleans(), with_divisor=st.booleans())
def test_regions_of_a_block_list_their_nearest(seed, all_pairs, with_divisor):
    rng = np.random.default_rng(seed)
    n, ks = 150, rng.integers(1, 4, rng.integers(1, 6))
    start, of = clusterings(ks)
    table, edge, cluster, count = entries(rng, n, ks)
    shares = table / 8
    share = (count / 8).astype(np.float32)
    S, both = (rng.integers(1, 5, (len(of), len(of))).astype(np.float32) for _ in "ab")
    S, both = S + S.T, both + both.T
    kept = np.ones_like(S) if all_pairs else (of[:, None] == of)
    value = shares @ (S * kept) @ shares.T
    if with_divisor:
        value = value / np.maximum(shares @ (both * kept) @ shares.T, 1e-30)
    mixed = rng.permutation(n)
    order = np.concatenate([np.sort(mixed[:100]), np.sort(mixed[100:])])
    near, best = np.full((n, 4), -1, np.int32), np.full((n, 4), -1, np.float32)
    args = (edge, cluster, share, start, S, both if with_divisor else both[:0, :0])
    begin = np.array([0, 100, n])
    _kernels.regions.neighbours(*args, all_pairs, order, begin, near, best, 0, 2)
    for block in (order[:100], order[100:]):
        for x in block:
            own = np.sort(value[x, block[block != x]])[::-1][:4]
            assert best[x] == pytest.approx(own, rel=1e-5)
            assert x not in near[x]
            assert value[x, near[x]] == pytest.approx(own, rel=1e-5)
            assert set(near[x].tolist()) <= set(block.tolist())


@given(seed=SEEDS, all_pairs=st.booleans())
def test_similarities_of_regions_are_gathered(seed, all_pairs):
    rng = np.random.default_rng(seed)
    n, ks = 150, rng.integers(1, 4, rng.integers(1, 7))
    start, of = clusterings(ks)
    table, edge, cluster, count = entries(rng, n, ks)
    S = rng.integers(0, 9, (len(of), len(of))) * 1.0
    S = S + S.T + 0.25
    kept = np.ones_like(S) if all_pairs else of[:, None] == of
    expected = np.floor(table / 8 @ (S * kept) @ table.T / 8 + 0.5)
    out = np.full((n, n), 77, np.uint32)
    args = (edge, cluster, count / 8, start, S, all_pairs, out)
    _kernels.regions.gather(*args, 5, 100)
    written = np.zeros((n, n), bool)
    for first in range(5, 100, _kernels.regions.LANES // 2):
        written[first : min(first + _kernels.regions.LANES // 2, 100), first:] = True
    assert (out[~written] == 77).all()
    assert (out[written] == expected[written]).all()


def test_a_neighbour_is_listed_once_and_behind_equals():
    near, best = np.full((1, 3), -1, np.int32), np.full((1, 3), -1.0)
    for y, s in ((5, 0.5), (7, 0.5), (5, 0.9), (2, 0.7), (9, 0.6), (4, 0.6)):
        _kernels.regions.insert(near, best, 0, y, s)
    # insert is asked only where s exceeds the last; (4, 0.6) replaces it
    assert near.tolist() == [[2, 9, 4]]
    assert best.tolist() == [[0.7, 0.6, 0.6]]


# Square matrices


@given(seed=SEEDS)
def test_the_largest_living_entry_of_a_row(seed):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(2, 20))
    row = rng.integers(0, 5, width).astype(np.uint32)
    x = int(rng.integers(width))
    lives = rng.random(width) < 0.7
    lives[(x + 1) % width] = True
    alive = np.where(lives, 0xFFFFFFFF, 0).astype(np.uint32)
    others = [(int(row[z]), -z) for z in range(width) if lives[z] and z != x]
    most, place = max(others)
    assert _kernels.square.largest(row, alive, x) == (-place, most)
    mass = np.where(lives, rng.integers(1, 4, width), np.inf)
    mass[x] = 2
    means = [(row[z] / (2 * mass[z]), -z) for z in range(width) if lives[z] and z != x]
    most, place = max(means)
    sums = row.astype(np.int64)
    assert _kernels.square.largest_mean(sums, mass, x) == (-place, most)


@pytest.mark.parametrize("kind", range(4))
def test_two_rows_become_one(kind):
    rng = np.random.default_rng(kind)
    row, other = rng.integers(0, 1000, (2, 9)).astype(np.uint32)
    a, b = row.astype(float), other.astype(float)
    expected = {
        _kernels.square.AVERAGE: np.floor((3 * a + 5 * b) / 8 + 0.5),
        _kernels.square.SINGLE: np.maximum(a, b),
        _kernels.square.COMPLETE: np.minimum(a, b),
        _kernels.square.PAIR_SUMS: a + b,
    }[kind]
    _kernels.square.combine(row, other, 3, 5, kind)
    assert row.tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [1, 2, 3])
@given(seed=SEEDS)
def test_a_square_that_is_joined_and_packed_holds_what_a_plain_one_does(kind, seed):
    rng = np.random.default_rng(seed)
    n = 8
    plain = rng.integers(1, 50, (n, n))
    plain = plain + plain.T
    square = plain.astype(np.int64).reshape(-1).copy()
    slot, place, size = np.arange(n), np.arange(n), rng.integers(1, 4, n)
    born, updated, made = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, int)
    sizes, now, alive = size.copy(), 0, list(range(n))
    merge = {1: np.maximum, 2: np.minimum, 3: np.add}[kind]
    width = n
    while len(alive) > 2:
        a, b = sorted(rng.choice(alive, 2, replace=False).tolist())
        now = _kernels.square.join(
            *(square, place, size, born, updated, made, now, kind, np.array([[a, b]])),
        )
        plain[a] = merge(plain[a], plain[b])
        plain[:, a] = plain[a]
        sizes[a] += sizes[b]
        alive.remove(b)
        if rng.random() < 0.3:
            width = _kernels.square.pack(square, slot, place, size, born, updated)
            square, slot, size = square[: width**2], slot[:width], size[:width]
            born, updated = born[:width], updated[:width]
            assert slot.tolist() == alive
        assert size[place[alive]].tolist() == sizes[alive].tolist()
        near, best = np.full(n, -1), np.full(n, -1.0)
        lives = np.where(size > 0, 0xFFFFFFFF, 0).astype(np.uint32)
        mass = np.where(size > 0, size, np.inf)
        x = int(rng.choice(alive))
        _kernels.square.scan(
            *(square, slot, place, lives, mass, born, updated, made, now, kind),
            *(np.array([x]), near, best, 0, 1),
        )
        values = plain[x] / (sizes[x] * sizes) if kind == 3 else plain[x]
        expected = max((values[y], -y) for y in alive if y != x)
        assert (best[x], -near[x]) == expected


# Lifting


@given(seed=SEEDS, all_pairs=st.booleans(), missing=st.sampled_from([0, 0.2]))
def test_similarities_are_lifted_to_objects(seed, all_pairs, missing):
    rng = np.random.default_rng(seed)
    ks = rng.integers(1, 4, rng.integers(1, 10))
    start, of = clusterings(ks)
    n = 100
    codes = np.column_stack([rng.integers(0, k, n) for k in ks])
    codes = np.where(rng.random(codes.shape) < missing, ks, codes).astype(np.uint8)
    H = np.zeros((n, start[-1]))
    i, m = np.nonzero(codes < ks)
    H[i, start[m] + codes[i, m]] = 1
    S = rng.integers(0, 9, (start[-1], start[-1])) * 1.0
    S = S + S.T
    is_in = codes < ks
    present = is_in.sum(axis=1)
    pairs = np.outer(present, present) if all_pairs else is_in.astype(int) @ is_in.T
    kept = np.ones_like(S) if all_pairs else of[:, None] == of
    total = H @ (S * kept) @ H.T
    expected = np.divide(total * 3, pairs, out=np.zeros((n, n)), where=pairs > 0)
    out = np.full((n, n), -1.0)
    _kernels.lifting.lift(codes, start, S, all_pairs, present, 3.0, out, 0, 70)
    _kernels.lifting.lift(codes, start, S, all_pairs, present, 3.0, out, 70, n)
    upper = np.triu_indices(n)
    assert out[upper] == pytest.approx(expected[upper])
    _kernels.lifting.mirror(out, 0, n)
    assert out == pytest.approx(expected)


def test_only_the_rows_asked_for_are_mirrored():
    square = np.arange(200 * 200).reshape(200, 200)
    expected = square.copy()
    for i in range(70, 150):
        expected[i, :i] = square[:i, i]
    _kernels.lifting.mirror(square, 70, 150)
    assert (square == expected).all()
