"""K-means for ensembles against the literal algorithm, in plain NumPy."""

import platform
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import normalized_mutual_info_score as nmi

from conftest import unmeasured
from ensclust import EnsembleGenerator, generate
from ensclust._cuts import kmeans
from ensclust._cuts.kmeans import Rows, converge
from ensclust._generate import base_kmeans
from ensclust._support.features import Frame, extent


def literal_lloyd(X, centres, max_iter, tol):
    """Lloyd's algorithm in float64, empty clusters repaired as documented."""
    X, centres = X.astype(float), centres.astype(float)
    least = tol * X.var(axis=0).mean()
    before = None
    for n_iter in range(1, max_iter + 1):  # noqa: B007  returned
        squared = ((X[:, None] - centres) ** 2).sum(axis=2)
        labels = squared.argmin(axis=1)
        counts = np.bincount(labels, minlength=len(centres))
        new = centres.copy()
        for c in np.flatnonzero(counts):
            new[c] = X[labels == c].mean(axis=0)
        far = ((X - new[labels]) ** 2).sum(axis=1)
        lost = np.flatnonzero(counts == 0)
        order = np.argsort(-far, kind="stable")[: len(lost)]
        order = order[far[order] > 0]
        new[lost[: len(order)]] = X[order]
        shift = ((new - centres) ** 2).sum()
        centres = new
        unmoved = before is not None and np.array_equal(labels, before)
        before = labels
        if not len(order) and (unmoved or shift <= least):
            break
    return centres, n_iter


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7, 16, 33])
def test_runs_are_those_of_the_literal_algorithm(d):
    X, ks, seeds = normal(700, d), [1, 2, 5, 13, 30], [0, 1, 2, 3, 4]
    rows = Rows.of(X)
    starts = kmeans._starts(rows, rows.norms(), ks, seeds, "k-means++", 1)
    found, n_iter = converge(rows, ks, seeds, n_jobs=1)
    for first, centres, taken in zip(starts, found, n_iter, strict=True):
        expected, expected_iter = literal_lloyd(X, X[first], 100, 1e-4)
        np.testing.assert_allclose(centres, expected, atol=2e-5)
        assert taken == expected_iter


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(900, 2), (3000, 16), (800, 60)])
@pytest.mark.parametrize("kind", ["noise", "blobs", "heavy", "grid", "offset"])
def test_bounds_change_nothing_to_the_last_bit(n, d, kind, dtype):
    rng = np.random.default_rng(0)
    X = {
        "noise": lambda: rng.normal(size=(n, d)),
        "blobs": lambda: make_blobs(n, d, centers=7, random_state=0)[0],
        "heavy": lambda: rng.standard_t(1.5, size=(n, d)),
        "grid": lambda: rng.integers(0, 3, size=(n, d)),
        "offset": lambda: rng.normal(size=(n, d)) + 30,
    }[kind]()
    rows = Rows.of(np.asarray(X, dtype))
    options = {"ks": [2, 9, 20, 41], "seeds": [3, 1, 4, 1], "tol": 0.0}
    bounded, n_iter = converge(rows, **options)
    plain, n_plain = converge(rows, **options, bounds=False, n_jobs=1)
    for one, other in zip(bounded, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    assert n_iter == n_plain


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_small_table_is_clustered_as_the_literal_algorithm_does(data):
    """Duplicates, constant columns, k = N, empty clusters, one column, both types."""
    n = data.draw(st.integers(1, 12))
    d = data.draw(st.integers(1, 3))
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    cells = st.sampled_from([-2.0, 0.0, 0.0, 1.0, 5.25])
    rows = st.lists(cells, min_size=d, max_size=d)
    X = np.array(data.draw(st.lists(rows, min_size=n, max_size=n)), dtype)
    k, seed = data.draw(st.integers(1, n)), data.draw(st.integers(0, 9))
    init = data.draw(st.sampled_from(kmeans.INITS))
    own = Rows.of(X)
    (centres,), _ = converge(own, [k], [seed], init=init, tol=0.0)
    (again,), _ = converge(own, [k], [seed], init=init, tol=0.0, bounds=False)
    np.testing.assert_array_equal(centres, again)
    dense = Rows.of(sparse.csr_array(X))
    (other,), _ = converge(dense, [k], [seed], init=init, tol=0.0)
    np.testing.assert_array_equal(centres, other)
    squared = ((X[:, None].astype(float) - centres) ** 2).sum(axis=2)
    labels = base_kmeans.label([base_kmeans.KMeans(centres, whole(), d, 1)], X)[0]
    nearest = squared[np.arange(n), labels]
    assert (nearest <= squared.min(axis=1) + 1e-5).all()
    # At the end no centre moves: it is the mean of its rows, and with as many distinct
    # rows as centres none is lost.
    for c in np.unique(labels):
        np.testing.assert_allclose(centres[c], X[labels == c].mean(axis=0), atol=1e-5)
    if len(np.unique(X, axis=0)) >= k:
        assert len(np.unique(labels)) == k


def whole():
    from ensclust._generate.clusterers import View

    return View()


def test_k_equal_to_n_gives_every_row_a_cluster():
    X = normal(50, 3)
    labels = generate(X, 3, base_k=50, random_state=0).labels
    assert [len(np.unique(column)) for column in labels.T] == [50, 50, 50]


def test_a_cluster_without_rows_gets_the_row_farthest_from_its_centre():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [30.0]])
    run = kmeans._Run(Rows.of(X), np.array([[0.1], [9.0], [500.0]]), bounds=True)
    rows = run.rows
    scale = kmeans.fixed_point(30.0, 5)
    assert run.advance(rows.norms(), 30.0, scale, 0.0)
    np.testing.assert_allclose(run.centres[:, 0], [0.1, 19.5, 9.0])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_k_means_plus_plus_draws_in_proportion_to_squared_distances(kind):
    """The second centre, given the first, by a chi-square test of 20,000 draws."""
    X = np.array([[0.0, 0], [1, 0], [3, 0], [0, 2], [5, 5], [0, 0]], np.float32)
    n_runs = 20_000
    rows = Rows.of(kind(X))
    starts = kmeans._starts(
        rows, rows.norms(), [2] * n_runs, range(n_runs), "classic-k-means++", 2
    )
    pairs = np.array(starts)
    first = np.bincount(pairs[:, 0], minlength=6)
    assert stats.chisquare(first).pvalue > 1e-3
    for i in range(6):
        squared = ((X - X[i]).astype(float) ** 2).sum(axis=1)
        seen = np.bincount(pairs[pairs[:, 0] == i, 1], minlength=6)
        assert (seen[squared == 0] == 0).all()
        expected = squared[squared > 0] / squared.sum() * seen.sum()
        assert stats.chisquare(seen[squared > 0], expected).pvalue > 1e-3


def test_of_several_candidates_the_one_that_leaves_least_is_taken():
    X, k, seed = normal(300, 4), 12, 7
    rows = Rows.of(X)
    (chosen,) = kmeans._starts(rows, rows.norms(), [k], [seed], "k-means++", 1)
    uniform = np.random.default_rng(seed).random((k, 2 + int(np.log(k))))
    assert chosen[0] == int(uniform[0, 0] * 300)
    left = ((X.astype(float) - X[chosen[0]]) ** 2).sum(axis=1)
    for j in range(1, k):
        ends = np.cumsum(left)
        drawn = np.searchsorted(ends, uniform[j] * ends[-1], side="right")
        after = [
            np.minimum(left, ((X.astype(float) - X[i]) ** 2).sum(axis=1)) for i in drawn
        ]
        best = int(np.argmin([own.sum() for own in after]))
        assert chosen[j] == drawn[best]
        left = after[best]


def test_random_starts_are_distinct_rows():
    rows = Rows.of(normal(40, 2))
    for chosen in kmeans._starts(rows, rows.norms(), [40, 9], [0, 1], "random", 1):
        assert len(np.unique(chosen)) == len(chosen)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_threads_change_nothing(n_jobs):
    X = normal(2500, 9)
    options = {"base_k": (2, 40), "random_state": 0}
    expected = generate(X, 7, n_jobs=1, **options)
    assert generate(X, 7, n_jobs=n_jobs, **options) == expected


def test_starts_of_many_runs_are_those_of_a_few(monkeypatch):
    X = normal(500, 3)
    expected = generate(X, 9, base_k=(2, 20), random_state=0)
    monkeypatch.setattr(kmeans, "_MAX_DISTANCES", 5000)
    assert generate(X, 9, base_k=(2, 20), random_state=0) == expected


def test_many_bounds_are_dropped_without_a_difference(monkeypatch):
    X = normal(500, 3)
    expected = generate(X, 9, base_k=(2, 20), random_state=0)
    monkeypatch.setattr(kmeans, "MAX_BOUNDS", 100)
    assert generate(X, 9, base_k=(2, 20), random_state=0) == expected


@pytest.mark.parametrize("density", [0.02, 0.3, 0.9])
@pytest.mark.parametrize("shift", [0.0, 50.0])
def test_sparse_rows_are_clustered_like_dense_ones(density, shift):
    X = sparse.random(600, 40, density, random_state=0, format="csr")
    X.data += shift
    X = sparse.csr_array(X)
    for options in ({}, {"max_features": 0.5}, {"max_samples": 0.6}):
        settings = {"base_k": (2, 25), "random_state": 0, **options}
        dense = EnsembleGenerator(6, **settings).fit(X.toarray())
        rare = EnsembleGenerator(6, **settings).fit(X)
        assert rare.ensemble_ == dense.ensemble_
        assert np.array_equal(rare.transform(X.toarray()), dense.transform(X))


def test_unsorted_sparse_rows_are_taken():
    X = sparse.random(300, 30, 0.2, random_state=0, format="csr")
    backwards = X.copy()
    for i in range(300):
        own = slice(X.indptr[i], X.indptr[i + 1])
        backwards.indices[own] = X.indices[own][::-1]
        backwards.data[own] = X.data[own][::-1]
    backwards.has_sorted_indices = False
    options = {"base_k": 9, "random_state": 0}
    assert generate(backwards, 4, **options) == generate(X, 4, **options)


def agreement(X, y, k):
    """Return how well our runs and scikit-learn's find the groups, at best of each."""
    dense = X.toarray() if sparse.issparse(X) else X
    ours = generate(X, 5, base_k=k, random_state=0).labels.T
    theirs = [KMeans(k, n_init=1, random_state=s).fit_predict(dense) for s in range(5)]
    return max(nmi(y, c) for c in ours), max(nmi(y, c) for c in theirs)


def groups():
    return make_blobs(1500, 8, centers=6, random_state=3)


def test_an_outlier_does_not_cost_the_others_their_digits():
    X, y = groups()
    X[17, 2] = 1e8
    with pytest.warns(UserWarning, match="because of a few outliers"):
        ours, theirs = agreement(X, y, 7)
    assert ours > theirs - 0.01 > 0.95


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("far", [1e6, 1e8, 1e10])
def test_a_row_far_out_is_one_cluster_and_named(far, form):
    X, y = make_blobs(500, 6, centers=4, cluster_std=0.8, random_state=2)
    X[0] = far
    said = re.escape(f"a few outliers: row 0 ({far:.6g} in column ")
    with pytest.warns(UserWarning, match=said):
        ours, theirs = agreement(form(X), y, 5)
    assert ours > theirs - 0.01 > 0.97


def test_several_rows_far_out_are_named():
    X = normal(2500, 3)
    X[[5, 9]] = 1e5
    with pytest.warns(UserWarning, match=r"outliers: rows 5, 9 \(100000 in column 0\)"):
        generate(X, 2, random_state=0)
    X[1000:1400] = 1e5  # a cluster
    generate(X, 2, random_state=0)


def test_a_few_rows_of_hundreds_are_named():
    X = normal(500, 3)
    X[:3] *= 1e8
    with pytest.warns(UserWarning, match="outliers: rows 2, 0, 1 "):
        generate(X, 2, random_state=0)
    X[:40] = 1e5  # a cluster
    generate(X, 2, random_state=0)


def test_rows_far_out_have_their_own_numbers_beyond_the_sample():
    X = normal(22_000, 3)
    X[21_990:] = 1e5
    with pytest.warns(UserWarning, match=r"outliers: rows 219\d\d, 219\d\d"):
        generate(X, 1, base_k=2, max_iter=1, random_state=0)


def test_columns_far_from_zero_lose_nothing():
    X, y = groups()
    ours, theirs = agreement(X + 1e6, y, 6)
    assert ours > theirs - 0.01 > 0.97


def test_sparse_columns_with_a_large_mean_lose_nothing():
    X, y = groups()
    rare = np.random.default_rng(0).random((1500, 2)) < 0.7
    X[:, 6:] = np.where(rare, 0, X[:, 6:])
    X[:, 0] += 1e5
    ours, theirs = agreement(sparse.csr_matrix(X), y, 6)
    assert ours > theirs - 0.01 > 0.9


def test_groups_that_float32_cannot_tell_apart_are_clustered_in_float64():
    X, y = groups()
    X[y % 2 == 1] += 1e7  # far from the others, near to each other
    low, high = extent(X)
    assert Frame.of(X, low, high).dtype == "float64"
    ours, theirs = agreement(X, y, 6)
    assert ours > theirs - 0.01 > 0.9


def test_usual_features_are_float32_and_not_copied():
    X = normal(400, 6)
    frame = Frame.of(X, *extent(X))
    assert frame == (None, 1.0, "float32")
    assert frame.place(X) is X


@pytest.mark.parametrize("scale", [1e-12, 1e9])
def test_features_of_another_size_get_a_unit(scale):
    X = normal(400, 6).astype(float) * scale
    frame = Frame.of(X, *extent(X))
    assert 0.1 < np.abs(frame.place(X)).mean() < 2
    assert np.log2(frame.unit) == int(np.log2(frame.unit))


@pytest.mark.parametrize("effort", ["auto", "full", 0, 1, 4])
def test_effort_says_how_often_all_objects_move_the_centres(effort, monkeypatch):
    monkeypatch.setattr(base_kmeans, "SAMPLE", 300)
    X = make_blobs(2000, 3, centers=12, cluster_std=4, random_state=0)[0]
    passes = []
    usual = kmeans.improve

    def improve(*args, **options):
        found = usual(*args, **options)
        passes.append(max(found[1]))
        return found

    monkeypatch.setattr(kmeans, "improve", improve)
    generate(X, 4, base_k=6, effort=effort, random_state=0)
    expected = {"auto": range(5, 101), "full": range(5, 101)}.get(effort, [effort])
    assert passes[0] in expected


def test_more_passes_give_tighter_clusters(monkeypatch):
    monkeypatch.setattr(base_kmeans, "SAMPLE", 300)
    X = normal(6000, 4)

    def inertia(effort):
        labels = generate(X, 6, base_k=6, effort=effort, random_state=0).labels
        return sum(
            X[column == c].var(axis=0).sum() * (column == c).sum()
            for column in labels.T
            for c in range(6)
        )

    found = [inertia(effort) for effort in (0, 1, "full")]
    assert found[0] > found[1] > found[2]


def test_a_sample_has_enough_objects_for_every_centre():
    assert len(base_kmeans.sample_rows(10**6, [100], 0)) == 20_000
    assert len(base_kmeans.sample_rows(10**6, [100, 2000], 0)) == 100_000
    assert len(base_kmeans.sample_rows(5000, [100], 0)) == 5000
    rows = base_kmeans.sample_rows(50_000, [3], 0)
    assert (np.diff(rows) > 0).all()


def test_labels_do_not_depend_on_the_rows_around_them():
    X = normal(5000, 11)
    generator = EnsembleGenerator(5, base_k=(3, 50), random_state=0).fit(X)
    labels = generator.ensemble_.labels
    order = np.random.default_rng(1).permutation(5000)
    assert np.array_equal(generator.transform(X[order]), labels[order])
    for i in (0, 129, 4999):
        assert np.array_equal(generator.transform(X[i : i + 1]), labels[i : i + 1])


PROGRAM = """
import hashlib
import numpy as np
from ensclust import generate

X = np.random.default_rng(0).standard_t(3, size=(2000, 11))
for features in (X, X.astype(np.float32), X + 1e9):
    labels = generate(features, 6, base_k=(2, 40), random_state=0).labels
    print(hashlib.sha256(np.ascontiguousarray(labels).tobytes()).hexdigest())
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names a processor of Intel")
def test_labels_do_not_depend_on_the_width_of_vectors(tmp_path):
    def labels(**variables):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=unmeasured() | variables,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    narrow = labels(NUMBA_CPU_NAME="haswell", NUMBA_CPU_FEATURES="", **cache)
    assert len(narrow) == 3
    assert narrow == labels()
