"""Kernels of k-means against plain NumPy: small integers, so that sums are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ensclust import _kernels
from ensclust._cuts.kmeans import Rows, fixed_point, half_norms

LANES = _kernels.kmeans.LANES
KINDS = pytest.mark.parametrize(
    ("is_sparse", "dtype"), [(False, "f4"), (False, "f8"), (True, "f4"), (True, "f8")]
)


def integers(rng, *shape, dtype="f8"):
    return rng.integers(-3, 4, shape).astype(dtype)


def rows_of(X, *, is_sparse):
    return Rows.of(sparse.csr_array(X) if is_sparse else X)


def scores(X, centres, half=None):
    """Return x c - |c|^2 / 2 for all rows and centres."""
    half = half_norms(centres) if half is None else half
    return X.astype("f8") @ centres.T.astype("f8") - half


def nearest_two(values):
    """Return the largest score of each row, the second largest, and whose it is."""
    falling = -np.sort(-values, axis=1)
    return falling[:, 0], falling[:, 1], values.argmax(axis=1)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("n_features", "end"), [(4, 0), (4, 4), (12, 8), (12, 12)])
def test_products_of_a_tile_with_four_centres(n_features, end, dtype):
    rng = np.random.default_rng(n_features + end)
    tile = integers(rng, n_features, LANES, dtype=dtype)
    W, half = (
        integers(rng, 12, n_features, dtype=dtype),
        integers(rng, 12).astype(dtype),
    )
    found = np.full((4, LANES), np.nan, dtype)
    _kernels.kmeans.add_products(tile, W, half, 4, end, found)
    expected = W[4:8, :end] @ tile[:end] - half[4:8, None]
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_features", [4, 12])
@pytest.mark.parametrize(("first", "n_centres"), [(0, 1), (4, 4), (4, 7), (8, 12)])
def test_the_nearest_two_centres_of_a_tile(first, n_centres, n_features, dtype):
    rng = np.random.default_rng(n_centres)
    tile = integers(rng, n_features, LANES, dtype=dtype)
    W = integers(rng, 24, n_features, dtype=dtype)
    half = half_norms(W).astype(dtype)
    last = first + -(-n_centres // 4) * 4
    half[first + n_centres : last] = np.inf
    best, second = np.empty((2, LANES), dtype)
    nearest = np.empty(LANES, np.int32)
    work = np.empty((4, LANES), dtype)
    _kernels.kmeans.nearest_two(tile, W, half, first, last, work, best, second, nearest)
    expected = nearest_two(scores(tile.T, W[first:last], half[first:last]))
    assert best.tolist() == expected[0].tolist()
    assert second.tolist() == expected[1].tolist()
    assert nearest.tolist() == expected[2].tolist()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 4), (4, 12)])
def test_the_nearest_two_centres_of_sparse_rows(first, last, dtype):
    rng = np.random.default_rng(last)
    X = integers(rng, 200, 5, dtype=dtype)
    W = integers(rng, 12, 5, dtype=dtype)
    half = half_norms(W).astype(dtype)
    rows = np.zeros(LANES, np.int64)
    rows[:90] = rng.permutation(200)[:90]
    best, second = np.full((2, LANES), 99, dtype)
    nearest = np.full(LANES, 99, np.int32)
    _, *stored = rows_of(X, is_sparse=True).arrays
    turned = np.ascontiguousarray(W.T)
    _kernels.kmeans.nearest_two_sparse(
        *stored, rows, 90, turned, half, first, last, best, second, nearest
    )
    values = scores(X[rows[:90]], W[first:last])
    expected = nearest_two(np.column_stack([values, np.full(90, -np.inf)]))
    assert best.tolist() == [*expected[0].tolist(), *[99] * 38]
    assert second.tolist() == [*expected[1].tolist(), *[99] * 38]
    assert nearest.tolist() == [*expected[2].tolist(), *[99] * 38]


def test_rows_are_turned_into_a_tile():
    X = integers(np.random.default_rng(0), 200, 5)
    rows = np.zeros(LANES, np.int64)
    rows[:37] = np.arange(199, 162, -1)
    tile = np.full((8, LANES), 9.0)
    _kernels.kmeans.turn(X, rows, 37, tile)
    assert tile[:5, :37].tolist() == X[rows[:37]].T.tolist()
    assert (tile[5:] == 9).all()
    assert (tile[:, 37:] == 9).all()


@KINDS
@pytest.mark.parametrize("scale", [8.0, -8.0])
def test_a_row_is_added_in_fixed_point(scale, is_sparse, dtype):
    X = np.array([[9, 9, 9, 9], [0.3, 0, -1.25, 0.3125], [9, 9, 9, 9]], dtype)
    rows = rows_of(X, is_sparse=is_sparse)
    sums = np.array([100, 200, 300, 400])
    _kernels.kmeans.add_row(*rows.arrays, 1, scale, sums)
    assert sums.tolist() == [
        100 + 2 * np.sign(scale),
        200,
        300 - 10 * np.sign(scale),
        400 + 2 * np.sign(scale),
    ]


@KINDS
def test_rows_are_labelled_with_the_nearest_centre_of_each_run(is_sparse, dtype):
    rng = np.random.default_rng(1)
    X = integers(rng, 400, 5, dtype=dtype)
    runs = [integers(rng, k, 5, dtype=dtype) for k in (3, 8, 1)]
    rows = rows_of(X, is_sparse=is_sparse)
    labels = np.full((3, 400), 99, np.uint8)
    _kernels.kmeans.label(*rows.arrays, *rows.packed(runs), labels, 7, 390)
    for own, centres in zip(labels, runs, strict=True):
        expected = scores(X, centres).argmax(axis=1)
        assert own[7:390].tolist() == expected[7:390].tolist()
    assert (labels[:, :7] == 99).all()
    assert (labels[:, 390:] == 99).all()


@KINDS
def test_rows_are_added_to_their_nearest_centres(is_sparse, dtype):
    rng = np.random.default_rng(2)
    X = integers(rng, 400, 5, dtype=dtype)
    runs = [integers(rng, k, 5, dtype=dtype) for k in (3, 5)]
    rows = rows_of(X, is_sparse=is_sparse)
    W, half, start = rows.packed(runs)
    sums, counts = np.ones((12, 5), np.int64), np.ones(12, np.int64)
    work = np.empty((2, LANES), np.uint8)
    _kernels.kmeans.add_nearest(
        *rows.arrays, W, half, start, 4.0, work, sums, counts, 9, 390
    )
    expected_sums, expected_counts = np.ones((12, 5)), np.ones(12)
    for a, centres in zip(start, runs, strict=False):
        for i, c in enumerate(scores(X, centres).argmax(axis=1)):
            if 9 <= i < 390:
                expected_sums[a + c] += 4 * X[i]
                expected_counts[a + c] += 1
    assert sums.tolist() == expected_sums.tolist()
    assert counts.tolist() == expected_counts.tolist()


@pytest.mark.parametrize("is_dense", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (4, 8), (6, 3), (3, 6)])
def test_centres_are_packed_with_room_up_to_fours(shape, is_dense):
    k, d = shape
    centres = integers(np.random.default_rng(k), k, d, dtype="f4")
    rows = Rows.of(centres if is_dense else sparse.csr_array(centres))
    W, half, _ = rows.packed([integers(np.random.default_rng(9), k, d)])
    _kernels.kmeans.pack(centres, is_dense, W, half)
    expected = rows.packed([centres])
    assert W.tolist() == expected[0].tolist()
    assert half.tolist() == expected[1].tolist()


@pytest.mark.parametrize(
    "moves", [[2.0], [1.0, 3.0, 2.0], [3.0, 0.5, 3.0], [0.0, 0.0], [4.0, 1.0, 2.0]]
)
def test_slack_shrinks_by_a_move_and_the_longest_other(moves):
    found = np.empty(len(moves))
    _kernels.kmeans.losses(np.array(moves), 0.01, 5.0, found)
    others = [max([0, *moves[:c], *moves[c + 1 :]]) for c in range(len(moves))]
    assert found == pytest.approx((np.array(moves) + others) * 1.08 + 0.4)


@pytest.mark.parametrize("shape", [(1, 3), (2, 5), (6, 2), (9, 4)])
def test_separation_is_the_least_distance_of_two_centres(shape):
    centres = np.random.default_rng(shape[0]).normal(size=shape)
    apart = np.linalg.norm(centres[:, None] - centres, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert _kernels.kmeans.separation(centres) == pytest.approx(apart.min())


def slack_of(norm, best, second, error):
    """Return how much farther the second centre is, less what may be rounding."""
    wide = error[0] + error[1] * np.sqrt(norm) + error[2] * norm
    near = np.sqrt(np.maximum(norm - 2 * best + wide, 0))
    far = np.sqrt(np.maximum(norm - 2 * second - wide, 0))
    return far * (1 - error[2]) - near * (1 + error[2])


def test_slack_is_a_lower_bound_with_room_for_rounding():
    rng = np.random.default_rng(0)
    norm, best = rng.uniform(0, 9, (2, LANES))
    second = best - rng.uniform(0, 3, LANES)
    second[::5] = -np.inf
    error = np.array([0.25, 0.5, 0.125])
    expected = slack_of(norm, best, second, error)
    _kernels.kmeans.find_slack(norm, best, second, error)
    assert second == pytest.approx(expected)
    assert np.isinf(second[::5]).all()


@KINDS
def test_a_step_looks_at_rows_without_slack(is_sparse, dtype):
    rng = np.random.default_rng(3)
    X, centres = (integers(rng, n, 5, dtype=dtype) for n in (400, 6))
    rows = rows_of(X, is_sparse=is_sparse)
    W, half, _ = rows.packed([centres])
    labels = rng.integers(-1, 6, 400).astype(np.int32)
    slack = rng.choice([-1.0, 2.0, 5.0], 400).astype(dtype)
    loss = np.array([0, 1, 2, 3, 4, 5], dtype)
    known = labels >= 0
    sums = np.zeros((6, 5), np.int64)
    np.add.at(sums, labels[known], 4 * X[known].astype(np.int64))
    counts = np.bincount(labels[known], minlength=6)
    error = np.array([0.25, 0.125, 0.0625], dtype)
    norms = rows.norms()

    left = slack - loss[np.maximum(labels, 0)]
    looked = left <= 1
    best, second, nearest = nearest_two(scores(X, centres))
    expected = np.where(looked, nearest, labels)
    expected_slack = np.where(looked, slack_of(norms, best, second, error), left)
    n_moved = (expected != labels).sum()
    args = (*rows.arrays, norms, W, half, loss, 1.0, error, 4.0)
    assert _kernels.kmeans.step(*args, labels, slack, sums, counts) == n_moved > 50
    assert labels.tolist() == expected.tolist()
    assert slack == pytest.approx(expected_slack, abs=1e-5)
    known = labels >= 0
    assert not known.all()
    assert counts.tolist() == np.bincount(labels[known], minlength=6).tolist()
    added = np.zeros((6, 5))
    np.add.at(added, labels[known], 4 * X[known])
    assert sums.tolist() == added.tolist()


@KINDS
@pytest.mark.parametrize("k", [1, 5, 6])
def test_iterations_are_those_of_lloyd(k, is_sparse, dtype):
    rng = np.random.default_rng(k)
    X = integers(rng, 300, 5, dtype=dtype)
    X[:100] += 4
    rows = rows_of(X, is_sparse=is_sparse)
    norms = rows.norms()
    longest = float(np.sqrt(norms.max()))
    scale = fixed_point(longest, len(X))
    unit = np.finfo(dtype).eps / 2
    centres = X[rng.choice(300, k, replace=False)].copy()
    moves, apart = np.zeros(k), np.zeros(2)
    labels, slack = np.full(300, -1, np.int32), np.full(300, -np.inf, dtype)
    sums, counts = np.zeros((k, 5), np.int64), np.zeros(k, np.int64)
    W, half, _ = rows.packed([centres])
    before, n_moved = np.full(300, -1), 1
    while n_moved:
        at = centres.copy()
        expected = scores(X, at).argmax(axis=1)
        n_moved = _kernels.kmeans.iterate(
            *rows.arrays, norms, longest, unit, scale, centres, moves, apart,
            *(W, half, labels, slack, sums, counts),
        )  # fmt: skip
        assert labels.tolist() == expected.tolist()
        assert n_moved == (expected != before).sum()
        before = expected
        full = counts > 0
        assert counts.tolist() == np.bincount(expected, minlength=k).tolist()
        means = [X[expected == c].mean(axis=0) for c in np.flatnonzero(full)]
        assert centres[full] == pytest.approx(np.array(means), abs=1e-6)
        assert (centres[~full] == at[~full]).all()
        assert moves == pytest.approx(np.linalg.norm(centres - at, axis=1), abs=1e-5)
        gaps = np.sort(np.linalg.norm(X[:, None] - at, axis=2), axis=1)
        gap = gaps[:, 1] - gaps[:, 0] if k > 1 else np.full(300, np.inf)
        assert (slack <= gap).all()
        if k > 1:
            true = np.linalg.norm(at[:, None] - at, axis=2)
            least = true[np.triu_indices(k, 1)].min()
            assert apart[0] / 2 < apart[1] <= least + 1e-5


def test_only_what_has_moved_is_measured_again():
    X = np.array([[0.0], [1.0], [9.0], [10.0]])
    rows = Rows.of(X)
    state = [rows.norms(), 10.0, 2.0**-53, 4.0]
    centres, moves, apart = (
        np.array([[0.0], [8.0]]),
        np.array([1.0, 0.5]),
        np.array([8.0, 7.5]),
    )
    more = rows.packed([centres])[:2]
    more += (np.full(4, -1, np.int32), np.full(4, -np.inf))
    more += (np.zeros((2, 1), np.int64), np.zeros(2, np.int64))
    _kernels.kmeans.iterate(*rows.arrays, *state, centres, moves, apart, *more)
    assert apart.tolist() == [8, 5.5]
    assert moves.tolist() == [0.5, 1.5]
    assert centres.tolist() == [[0.5], [9.5]]
    _kernels.kmeans.iterate(*rows.arrays, *state, centres, moves, apart, *more)
    assert apart.tolist() == [9, 9]


@KINDS
@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("with_tiles", [False, True])
def test_candidates_leave_the_lesser_distance(with_tiles, chosen, is_sparse, dtype):
    rng = np.random.default_rng(4)
    X = integers(rng, 300, 5, dtype=dtype)
    rows = rows_of(X, is_sparse=is_sparse)
    padded = np.zeros((3 * LANES, 8), dtype)
    padded[:300, :5] = X
    tiles = np.ascontiguousarray(padded.reshape(3, LANES, 8).transpose(0, 2, 1))
    norms = (padded**2).sum(axis=1)
    run_of = np.array([1, 0, 2, 0]) if not chosen else np.array([1, 0, 2, 3])
    W, half, _ = rows.packed([X[[5, 250, 7, 5]]])
    distance = rng.integers(0, 40, (4, 3 * LANES)).astype(dtype)
    distance[:, 300:] = 0
    before = distance.copy()
    totals = np.full((4, 3), -1.0)
    tiles = tiles if with_tiles and not is_sparse else np.empty((0, 0, LANES), dtype)
    _kernels.kmeans.closer(
        *rows.arrays, tiles, norms, W, half, run_of, chosen, distance, totals, 1, 3
    )
    squares = ((X[:, None] - X[[5, 250, 7, 5]]) ** 2).sum(axis=2).T
    left = np.zeros((4, 3 * LANES))
    left[:, :300] = np.minimum(squares, before[run_of, :300])
    expected = left.reshape(4, 3, LANES).sum(axis=2)
    assert totals[:, 1:].tolist() == expected[:, 1:].tolist()
    assert (totals[:, 0] == -1).all()
    if chosen:
        before[run_of, LANES:] = left[:, LANES:]
    assert distance.tolist() == before.tolist()


def test_sums_are_added_up_in_one_order():
    x = np.random.default_rng(0).normal(size=LANES).astype("f4")
    a = x.reshape(8, 16)
    parts = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]))
    eight = parts[:8] + parts[8:]
    four = eight[:4] + eight[4:]
    expected = (four[0] + four[2]) + (four[1] + four[3])
    assert _kernels.kmeans.sum_up(x, np.empty(16, "f4")) == expected
    assert expected == pytest.approx(x.sum(), abs=1e-4)


def test_scores_of_sparse_rows():
    rng = np.random.default_rng(0)
    X, W = integers(rng, 40, 5), integers(rng, 8, 5)
    rows = np.arange(LANES)
    rows[:20] = np.arange(39, 19, -1)
    found = np.full((LANES, 8), 9.0)
    _, *stored = rows_of(X, is_sparse=True).arrays
    half = half_norms(W)
    _kernels.kmeans.score_sparse(
        *stored, rows, 20, np.ascontiguousarray(W.T), half, found
    )
    assert found[:20].tolist() == scores(X[rows[:20]], W).tolist()
    assert (found[20:] == 9).all()


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 300))
def test_rows_are_drawn_in_proportion_to_their_distances(seed, n):
    rng = np.random.default_rng(seed)
    n_tiles = -(-n // LANES)
    distance = np.zeros((2, n_tiles * LANES))
    distance[:, :n] = rng.integers(0, 3, (2, n)) * rng.integers(0, 2, (2, 1))
    totals = distance.reshape(2, n_tiles, LANES).sum(axis=2)
    uniform, run_of = rng.random(9), rng.integers(0, 2, 9)
    drawn = np.full(9, -1)
    _kernels.kmeans.draw(distance, totals, uniform, run_of, n, drawn)
    for u, run, found in zip(uniform, run_of, drawn, strict=True):
        own = distance[run]
        place = np.searchsorted(own.cumsum(), u * own.sum(), side="right")
        assert found == (place if own.any() else int(u * n))


def test_where_sums_end_too_early_the_last_row_that_can_be_is_drawn():
    distance = np.zeros((1, 2 * LANES))
    distance[0, [3, 5, 7]] = 1
    drawn = np.full(2, -1)
    totals, uniform = np.array([[3.5, 0.0]]), np.array([0.99, 0.9])
    _kernels.kmeans.draw(distance, totals, uniform, np.zeros(2, int), 200, drawn)
    assert drawn.tolist() == [7, 7]
