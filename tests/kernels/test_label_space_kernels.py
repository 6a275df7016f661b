"""Kernels of linkage without a matrix, against sums over all pairs of objects."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ensclust import _kernels
from ensclust._kernels.square import AVERAGE, COMPLETE, PAIR_SUMS, SINGLE

SEEDS = st.integers(0, 2**32 - 1)
KINDS = {"equal clusterings": False, "all pairs": True}


class Drawn:
    """Label rows with weights, similarities of base clusters, and regions of rows."""

    def __init__(self, seed, *, n=14, all_pairs=False, missing=False, identity=False):
        rng = np.random.default_rng(seed)
        self.ks = rng.integers(2, 5, size=rng.integers(1, 7))
        self.start = np.concatenate([[0], np.cumsum(self.ks)])
        self.codes = np.stack([rng.integers(k, size=n) for k in self.ks], axis=1)
        self.is_present = np.ones(self.codes.shape, bool)
        if missing:
            self.is_present = rng.random(self.codes.shape) < 0.7
        self.weight = rng.integers(1, 4, size=n)
        half = rng.integers(0, 900, size=(self.start[-1],) * 2)
        self.S = (half + half.T).astype(np.uint64)
        if identity:
            self.S, all_pairs = np.zeros((0, 0), np.uint64), False
        self.all_pairs = all_pairs
        self.region = rng.integers(max(2, n // 3), size=n)
        self.widest = int(self.ks.max())

    def similarity(self, i, j):
        """Return what one object of row i and one of row j have in common."""
        total = 0
        for m in np.flatnonzero(self.is_present[i]):
            others = np.flatnonzero(self.is_present[j]) if self.all_pairs else [m]
            for q in others:
                if not self.is_present[j, q]:
                    continue
                a = self.start[m] + self.codes[i, m]
                b = self.start[q] + self.codes[j, q]
                total += int(self.S[a, b]) if len(self.S) else int(a == b)
        return total

    def pair_sum(self, rows, others):
        """Return the sum over all pairs of objects of two lists of rows."""
        return sum(
            self.similarity(i, j) * int(self.weight[i] * self.weight[j])
            for i in rows
            for j in others
        )

    def rows(self, dtype=np.uint32):
        """Return edge, slots and count: each label row a histogram of its objects."""
        first = np.arange(len(self.ks)) * self.widest
        edge = np.concatenate([[0], np.cumsum(self.is_present.sum(axis=1))])
        slots = (self.codes + first)[self.is_present].astype(np.int32)
        count = np.repeat(self.weight, self.is_present.sum(axis=1)).astype(dtype)
        return edge, slots, count

    def linked(self):
        """Return the regions' rows as linked lists, their first rows, and sizes."""
        next_member = np.full(len(self.codes), -1)
        lists = [np.flatnonzero(self.region == one) for one in np.unique(self.region)]
        for members in lists:
            next_member[members[:-1]] = members[1:]
        return lists, next_member


def blocks_of(drawn, height):
    """Return where the slots of each block begin, by clustering, and these slots."""
    edge, slots, _ = drawn.rows()
    used_edge, used = [], []
    for a in range(0, len(drawn.codes), height):
        own = np.unique(slots[edge[a] : edge[min(a + height, len(drawn.codes))]])
        first = np.arange(len(drawn.ks) + 1) * drawn.widest
        used_edge.append(len(used) + np.searchsorted(own, first))
        used += own.tolist()
    return np.array(used_edge), np.array(used, np.int32)


def levels_of(drawn):
    """Return what the search reads about blocks, groups and parts."""
    block, wide = _kernels.labelspace.BLOCK, _kernels.labelspace.WIDE
    return [blocks_of(drawn, block * wide**level) for level in range(3)]


def mean_of(drawn, rows, others):
    """Return the mean over pairs of objects, of those present in a clustering."""
    pairs = drawn.weight[rows].sum() * drawn.weight[others].sum()
    if not drawn.is_present.all():
        present = drawn.is_present * drawn.weight[:, None]
        pairs = present[rows].sum(axis=0) @ present[others].sum(axis=0)
    return drawn.pair_sum(rows, others) / pairs if pairs else 0.0


def nearest_literally(drawn, lists):
    """Return the first row and similarity of the nearest other region of each."""
    found = []
    for i, own in enumerate(lists):
        means = [
            -1.0 if j == i else mean_of(drawn, own, other)
            for j, other in enumerate(lists)
        ]
        found.append((lists[int(np.argmax(means))][0], max(means)))
    return found


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize(
    "options",
    [{}, {"all_pairs": True}, {"missing": True}, {"identity": True}],
    ids=["complete", "all pairs", "missing", "identity"],
)
@given(seed=SEEDS)
def test_the_nearest_region_has_the_largest_mean_over_pairs_of_objects(
    options, dtype, seed
):
    drawn = Drawn(seed, **options)
    lists, next_member = drawn.linked()
    n = len(drawn.codes)
    size, present = np.zeros(n), np.zeros((0, 0))
    is_first = np.zeros(n, bool)
    for members in lists:
        size[members[0]] = drawn.weight[members].sum()
        is_first[members[0]] = True
    if options.get("missing"):
        present = np.zeros(drawn.codes.shape)
        for members in lists:
            own = drawn.is_present[members] * drawn.weight[members, None]
            present[members[0]] = own.sum(axis=0)
    queue = np.flatnonzero(is_first)
    block = _kernels.labelspace.BLOCK
    far = [one[0] for one in lists if len(np.unique(one // block)) > 1]
    far = np.array(far, np.int64)
    near, best = np.full(n, -1), np.full(n, np.nan)
    # Fewer lanes than regions, and more.
    for width in (2, 8):
        tables = np.empty((drawn.widest * len(drawn.ks), width), dtype)
        n_compared = _kernels.labelspace.nearest(
            drawn.start, drawn.S, drawn.all_pairs, *drawn.rows(), np.arange(n),
            np.arange(n), next_member, size, present, *levels_of(drawn), far, queue,
            near, best, tables, 0, len(queue),
        )  # fmt: skip
        assert 1 <= n_compared <= len(lists) * -(-len(lists) // width)
        if len(lists) == 1:
            continue
        for members, expected in zip(
            lists, nearest_literally(drawn, lists), strict=True
        ):
            first = members[0]
            assert best[first] == pytest.approx(expected[1], rel=1e-12)
            known = mean_of(drawn, members, lists_of(lists, near[first]))
            assert known == pytest.approx(expected[1], rel=1e-12)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@given(seed=SEEDS)
def test_rows_in_many_blocks_have_the_lowest_nearest_row(dtype, seed):
    """Some blocks hold copies of rows, so that many are equally near."""
    n = 3 * _kernels.labelspace.BLOCK * _kernels.labelspace.WIDE // 2
    drawn = Drawn(seed, n=n)
    drawn.codes = drawn.codes[np.arange(n) // 3 % 40]
    drawn.weight[:] = 1
    own = [np.eye(k, dtype=int)[drawn.codes[:, m]] for m, k in enumerate(drawn.ks)]
    total = sum(
        x @ drawn.S[a:b, a:b].astype(int) @ x.T
        for x, (a, b) in zip(own, pairwise(drawn.start), strict=True)
    )
    np.fill_diagonal(total, -1)
    near, best, queue = np.full(n, -1), np.full(n, np.nan), np.arange(n)
    tables = np.empty((drawn.widest * len(drawn.ks), 8), dtype)
    _kernels.labelspace.nearest(
        drawn.start, drawn.S, drawn.all_pairs, *drawn.rows(), queue, queue,
        np.full(n, -1), np.ones(n), np.zeros((0, 0)), *levels_of(drawn), queue[:0],
        queue, near, best, tables, 0, n,
    )  # fmt: skip
    assert np.array_equal(near, total.argmax(axis=1))
    assert np.array_equal(best, total.max(axis=1))


@pytest.mark.parametrize("height", [1, 4, 20])
@given(seed=SEEDS)
def test_a_block_uses_the_slots_of_its_rows(height, seed):
    drawn = Drawn(seed, missing=True)
    edge, slots, _ = drawn.rows()
    expected = blocks_of(drawn, height)
    used_edge, used = np.full(expected[0].shape, -1), np.full(len(slots), -1, np.int32)
    n = _kernels.labelspace.summarise(
        edge, slots, drawn.widest, height, used_edge, used
    )
    assert np.array_equal(used_edge, expected[0])
    assert np.array_equal(used[:n], expected[1])


@given(seed=SEEDS)
def test_the_bound_of_a_block_is_what_its_largest_slots_add_up_to(seed):
    drawn = Drawn(seed, n=30)
    tables = np.random.default_rng(seed).integers(
        0, 99, (drawn.widest * len(drawn.ks), 3), dtype=np.uint32
    )
    edge, used = blocks_of(drawn, 10)
    for b, row in enumerate(edge):
        own, scratch = np.empty((2, 3), np.uint32)
        _kernels.labelspace.bound_block(edge, used, b, tables, own, scratch)
        parts = [tables[used[first:last]] for first, last in pairwise(row)]
        assert own.tolist() == sum(part.max(axis=0) for part in parts).tolist()


def lists_of(lists, first):
    return next(members for members in lists if members[0] == first)


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("missing", [False, True])
@given(seed=SEEDS)
def test_packed_rows_are_the_histograms_of_regions(missing, dtype, seed):
    drawn = Drawn(seed, missing=missing)
    lists, next_member = drawn.linked()
    kept = np.array([members[0] for members in lists])
    n_slots = drawn.widest * len(drawn.ks)
    edge = np.full(len(kept) + 1, -1)
    given_rows = (*drawn.rows(dtype), next_member, kept, n_slots, edge)
    none = np.empty(0, np.int32), np.empty(0, dtype)
    n = _kernels.labelspace.pack(*given_rows, *none)
    slots, count = np.full(n, -1, np.int32), np.zeros(n, dtype)
    assert _kernels.labelspace.pack(*given_rows, slots, count) == n
    for i, members in enumerate(lists):
        expected = np.zeros(n_slots, int)
        for row in members:
            for m in np.flatnonzero(drawn.is_present[row]):
                slot = m * drawn.widest + drawn.codes[row, m]
                expected[slot] += drawn.weight[row]
        own = slice(edge[i], edge[i + 1])
        assert slots[own].tolist() == np.flatnonzero(expected).tolist()
        assert count[own].tolist() == expected[expected > 0].tolist()


@pytest.mark.parametrize("n", [14, 70])  # fewer and more than lanes and buffers hold
@pytest.mark.parametrize("kind", [AVERAGE, PAIR_SUMS], ids=["means", "sums"])
@pytest.mark.parametrize("all_pairs", KINDS.values(), ids=KINDS)
@given(seed=SEEDS)
def test_the_matrix_of_regions_has_their_means_or_sums(all_pairs, kind, n, seed):
    drawn = Drawn(seed, n=n, all_pairs=all_pairs)
    size = drawn.weight.astype(float)
    out = np.full((n, n), -1, np.int64)
    for a, b in ((0, n // 2), (n // 2, n)):
        _kernels.labelspace.gather(
            drawn.start, drawn.S, drawn.all_pairs, drawn.widest, *drawn.rows(), size,
            kind, out, a, b,
        )  # fmt: skip
    rng = np.random.default_rng(seed)
    for i, j in np.sort(rng.integers(n, size=(40, 2))):
        expected = drawn.pair_sum([i], [j])
        if kind == AVERAGE:
            expected = int(np.floor(expected / (size[i] * size[j]) + 0.5))
        assert out[i, j] == expected


@given(seed=SEEDS)
def test_regions_are_joined_in_the_order_of_the_pairs(seed):
    drawn = Drawn(seed, missing=True)
    n = len(drawn.codes)
    order = np.random.default_rng(seed).permutation(n)
    is_far = np.zeros(n, bool)
    merged = np.array([(order[0], one) for one in order[1:5]])
    place, last = np.arange(n), np.arange(n)
    next_member = np.full(n, -1)
    size = drawn.weight.astype(float)
    present = drawn.is_present * size[:, None]
    expected = size[order[:5]].sum(), present[order[:5]].sum(axis=0)
    _kernels.labelspace.join(is_far, place, next_member, last, size, present, merged)
    chain, row = [], order[0]
    while row >= 0:
        chain.append(row)
        row = next_member[row]
    assert chain == order[:5].tolist()
    is_apart = len(np.unique(order[:5] // _kernels.labelspace.BLOCK)) > 1
    assert np.flatnonzero(is_far).tolist() == [order[0]] * is_apart
    assert last[order[0]] == order[4]
    assert size[order[0]] == expected[0]
    assert not size[order[1:5]].any()
    assert np.allclose(present[order[0]], expected[1])


# The first merges


@pytest.mark.parametrize("n", [9, 80])  # fewer and more than the lanes
@pytest.mark.parametrize("all_pairs", KINDS.values(), ids=KINDS)
@given(seed=SEEDS)
def test_the_closest_row_is_the_lowest_of_the_most_similar(all_pairs, n, seed):
    drawn = Drawn(seed, n=n, all_pairs=all_pairs)
    codes, S = drawn.codes.astype(np.uint8), drawn.S.astype(np.uint32)
    near, best = np.zeros(n, np.int64), np.zeros(n, np.uint32)
    near[0] = 1
    for a, b in ((0, n // 3), (n // 3, n)):
        _kernels.pairing.closest(
            codes, drawn.start, S, drawn.all_pairs, near, best, a, b
        )
    for i in range(0, n, 7):
        row = [-1 if j == i else drawn.similarity(i, j) for j in range(n)]
        assert best[i] == max(row)
        assert near[i] == int(np.argmax(row)) or max(row) == 0


@pytest.mark.parametrize("n", [9, 150])  # fewer and more than lanes and buffers hold
@pytest.mark.parametrize(
    "kind",
    [AVERAGE, SINGLE, COMPLETE, PAIR_SUMS],
    ids=["average", "single", "complete", "sums"],
)
@settings(max_examples=20)
@given(seed=SEEDS)
def test_regions_of_one_row_or_two_are_lifted_to_a_matrix(kind, n, seed):
    drawn = Drawn(seed, n=n, all_pairs=bool(seed % 2))
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 3, size=n)
    edge = np.concatenate([[0], np.cumsum(lengths)])
    edge = edge[: np.searchsorted(edge, n, side="right")]
    edge[-1] = n if n - edge[-2] <= 2 else edge[-1]
    r = len(edge) - 1
    weight = drawn.weight.astype(np.int64)
    share = np.array([weight[a] / weight[a:b].sum() for a, b in pairwise(edge)])
    dtype = np.int64 if kind == PAIR_SUMS else np.uint32
    out = np.zeros((r, r), dtype)
    for a, b in ((0, r // 2), (r // 2, r)):
        _kernels.pairing.gather(
            drawn.codes.astype(np.uint8), drawn.start, drawn.S.astype(dtype),
            drawn.all_pairs, weight, edge, share, kind, out, a, b,
        )  # fmt: skip
    for y, s in np.sort(rng.integers(r, size=(30, 2))):
        rows = np.arange(edge[y], edge[y + 1]), np.arange(edge[s], edge[s + 1])
        pairs = [drawn.similarity(i, j) for i in rows[0] for j in rows[1]]
        if kind == AVERAGE:  # rounded after each of two steps
            assert abs(out[y, s] - mean_of(drawn, *rows)) <= 1
        else:
            expected = {
                SINGLE: max(pairs),
                COMPLETE: min(pairs),
                PAIR_SUMS: drawn.pair_sum(*rows),
            }
            assert out[y, s] == expected[kind]
