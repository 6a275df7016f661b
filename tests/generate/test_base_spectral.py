"""Spectral base clusterings against the transfer cut, written out in plain NumPy."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score as ari

from conftest import cli_runner
from ensclust import ECPCSMC, Blocks, Ensemble, EnsembleGenerator, _kernels, generate
from ensclust._cuts.kmeans import Rows, half_norms
from ensclust._generate import base_kmeans, base_spectral
from ensclust._support.features import Frame, extent
from ensclust.cli import main
from ensclust.io import load_model, save_model

BLOBS = make_blobs(3000, centers=6, n_features=5, random_state=0)[0]
MOONS = make_moons(600, noise=0.05, random_state=0)
RINGS = make_circles(600, noise=0.03, factor=0.5, random_state=0)


def squared(X, R):
    """Return all squared distances, in float64."""
    return ((X[:, None].astype(float) - R.astype(float)) ** 2).sum(axis=2)


def literal_affinity(X, R, n_nearest=5):
    """Return B, (N, p): the Gaussian of the distance to the nearest representatives."""
    D = squared(X, R)
    near = np.argsort(D, axis=1, kind="stable")[:, :n_nearest]
    own = np.take_along_axis(D, near, 1)
    sigma = np.sqrt(own).mean()
    B = np.zeros(D.shape)
    np.put_along_axis(B, near, np.exp(-own / (2 * sigma**2)), 1)
    return B, sigma


def literal_points(B, k):
    """Return unit rows in the space of k eigenvectors of the bipartite graph of B.

    By its definition: the generalised eigenproblem E f = g D f of all N + p nodes. The
    published code takes each eigenvector times its eigenvalue.
    """
    n, p = B.shape
    E = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((p, p))]])
    root = 1 / np.sqrt(E.sum(axis=1))
    values, vectors = np.linalg.eigh(root[:, None] * E * root)
    points = (root[:, None] * vectors * values)[:n, : -k - 1 : -1]
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def fitted(X, k, p, seed=0):
    return base_spectral._fit_run(X, k, p, seed)


@pytest.mark.parametrize(("k", "d"), [(2, 2), (3, 7), (7, 4), (12, 3)])
def test_a_run_is_the_transfer_cut_written_out(k, d):
    X = make_blobs(300, d, centers=4, cluster_std=2, random_state=k)[0]
    model = fitted(X.astype(np.float32), k, 40)
    B, sigma = literal_affinity(X, model.representatives)
    assert model.precision == pytest.approx(1 / sigma**2, rel=1e-5)
    shares = B / B.sum(axis=1, keepdims=True)
    width = model.table.shape[1] - k
    points = shares @ model.table[:, :width].astype(float)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    expected = literal_points(B, k)
    # The same up to the signs of eigenvectors, and turns among equal eigenvalues.
    np.testing.assert_allclose(points @ points.T, expected @ expected.T, atol=1e-3)
    centres = np.linalg.lstsq(model.table[:, :k], model.table[:, width:], rcond=None)[0]
    np.testing.assert_allclose(half_norms(centres.T), model.half_centres, rtol=1e-3)
    distance = squared(points[:, :k], centres.T)
    chosen = distance[np.arange(300), model.predict(X.astype(np.float32))]
    np.testing.assert_allclose(chosen, distance.min(axis=1), atol=1e-4)


def test_the_clusters_are_those_of_k_means_of_the_points():
    X = make_blobs(400, 3, centers=5, random_state=1)[0].astype(np.float32)
    model = fitted(X, 5, 50)
    points = literal_points(literal_affinity(X, model.representatives)[0], 5)
    expected = KMeans(5, n_init=5, random_state=0).fit(points).labels_
    assert ari(model.predict(X), expected) == 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_nearest_are_those_of_the_definition(data):
    """Any order of equals but the first is wrong; rows are dense or sparse."""
    dtype = data.draw(st.sampled_from([np.float32, np.float64]))
    n, d, p = (data.draw(st.integers(1, most)) for most in (300, 6, 30))
    cells = st.sampled_from([-2.0, 0.0, 0.0, 1.0, 3.5])
    X = data.draw(npst.arrays(dtype, (n, d), elements=cells))
    R = data.draw(npst.arrays(dtype, (p, d), elements=cells))
    a = data.draw(st.integers(0, n - 1))
    q = min(p, 5)
    score = X.astype(float) @ R.T.astype(float) - half_norms(R)
    expected = np.argsort(-score, axis=1, kind="stable")[a:, :q]
    for own in (X, sparse.csr_array(X)):
        rows = Rows.of(own)
        known = base_spectral._packed(rows, R, half_norms(R))
        near, found = base_spectral._nearest(rows, known, a)
        np.testing.assert_array_equal(near, expected)
        np.testing.assert_array_equal(
            found, np.take_along_axis(score[a:], expected, axis=1)
        )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_shares_points_and_labels_are_those_of_the_definition(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n, p, k = (data.draw(st.integers(1, most)) for most in (20, 12, 9))
    q = min(p, 5)
    near = np.array([rng.permutation(p)[:q] for _ in range(n)], np.int32)
    score = rng.normal(size=(n, q)) * 10.0 ** rng.integers(-2, 4)
    precision = data.draw(st.sampled_from([0.0, 0.1, 30.0]))
    share = score.copy()
    _kernels.spectral.share_out(share, precision)
    expected = np.exp((score - score.max(axis=1, keepdims=True)) * precision)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(share, expected, rtol=1e-12)
    table = rng.normal(size=(p, 16 + k)).astype(np.float32)
    mixed = np.array(
        [w @ table[own].astype(float) for w, own in zip(share, near, strict=True)]
    )
    points = np.empty((n, 16), np.float32)
    _kernels.spectral.embed(near, share, np.ascontiguousarray(table[:, :16]), points)
    size = np.linalg.norm(mixed[:, :16], axis=1, keepdims=True)
    np.testing.assert_allclose(points, mixed[:, :16] / size, atol=1e-4)
    half = rng.random(k).astype(np.float32)
    labels = np.empty(n, np.uint8)
    _kernels.spectral.label(near, share, table, half, labels)
    value = mixed[:, 16:] - size * half
    chosen = value[np.arange(n), labels]
    np.testing.assert_allclose(chosen, value.max(axis=1), atol=1e-4)


@pytest.mark.parametrize(("X", "y"), [MOONS, RINGS])
def test_shapes_are_told_apart_that_k_means_cannot(X, y):
    options = {"base_k": 2, "random_state": 0}
    spectral = generate(X, 5, base="spectral", **options).labels
    assert min(ari(y, column) for column in spectral.T) > 0.95
    plain = generate(X, 5, **options).labels
    assert max(ari(y, column) for column in plain.T) < 0.6
    assert ari(y, ECPCSMC(2, base="spectral", random_state=0).fit(X).labels_) > 0.95


def test_digits_are_found_better_than_by_k_means():
    X, y = load_digits(return_X_y=True)
    found = {
        base: np.mean([ari(y, column) for column in generate(
            X, 5, base=base, base_k=10, random_state=0).labels.T])
        for base in ("kmeans", "spectral")
    }  # fmt: skip
    assert found["spectral"] > found["kmeans"] + 0.05


def test_lists_are_used_in_turn():
    options = {"base_k": 4, "random_state": 0}
    both = generate(BLOBS, 5, base=["kmeans", "spectral"], **options).labels
    alone = {
        base: generate(BLOBS, 5, base=base, **options).labels
        for base in ("kmeans", "spectral")
    }
    for m, column in enumerate(both.T):
        base = ("kmeans", "spectral")[m % 2]
        np.testing.assert_array_equal(column, alone[base][:, m])
    three = [KMeans(n_init=1), "spectral", "kmeans"]
    generator = EnsembleGenerator(6, base=three, **options).fit(BLOBS)
    kinds = [KMeans, base_spectral.Spectral, base_kmeans.KMeans] * 2
    assert [type(model) for model in generator.models_] == kinds
    np.testing.assert_array_equal(
        generator.transform(BLOBS), generator.ensemble_.labels
    )


PARTS = [
    {},
    {"max_samples": 0.5},
    {"max_features": 0.6},
    {"projection": 3},
    {"scale": "standard"},
    {"max_samples": 300, "max_features": 0.6, "projection": 2, "scale": "robust"},
]


@pytest.mark.parametrize("options", PARTS)
@pytest.mark.parametrize("sample", [500, 20_000])
def test_neither_threads_nor_storage_change_labels(options, sample, monkeypatch):
    monkeypatch.setattr(base_kmeans, "SAMPLE", sample)
    options = {"base": "spectral", "random_state": 0, **options}
    generator = EnsembleGenerator(4, n_jobs=1, **options).fit(BLOBS)
    labels = generator.ensemble_.labels
    np.testing.assert_array_equal(generator.transform(BLOBS), labels)
    np.testing.assert_array_equal(generator.transform(BLOBS[7:8]), labels[7:8])
    threads = generate(BLOBS, 4, n_jobs=3, **options).labels
    np.testing.assert_array_equal(threads, labels)
    # Sparse features are not centred, and projected with other rounding.
    if not {"scale", "projection"} & options.keys():
        stored = generate(sparse.csr_array(BLOBS), 4, **options).labels
        np.testing.assert_array_equal(stored, labels)


@pytest.mark.parametrize(
    "options", [part for part in PARTS if "max_samples" not in part]
)
@pytest.mark.parametrize("rows", [17, 1000])
def test_blocks_change_no_label(options, rows, monkeypatch):
    monkeypatch.setattr(base_kmeans, "SAMPLE", 500)
    options = {"base": ["spectral", "kmeans"], "random_state": 0, **options}
    blocks = generate(Blocks(BLOBS, rows=rows), 4, **options)
    found = np.concatenate([np.column_stack(block.load()) for block in blocks])
    expected = generate(BLOBS, 4, **options).labels
    np.testing.assert_array_equal(Ensemble(found).labels, expected)


def test_dask_arrays_change_no_label(monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setattr(base_kmeans, "SAMPLE", 500)
    options = {"base": "spectral", "random_state": 0}
    lazy = generate(da.from_array(BLOBS, (310, 2)), 4, **options)
    expected = generate(BLOBS, 4, **options).labels
    np.testing.assert_array_equal(Ensemble(lazy.compute()).labels, expected)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_small_table_is_clustered(data):
    """Duplicates, constant columns, k up to N: at most k clusters, equals together."""
    n, d = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 3))
    cells = st.sampled_from([-2.0, 0.0, 0.0, 1.0, 5.25])
    X = data.draw(npst.arrays(float, (n, d), elements=cells))
    k = data.draw(st.integers(1, n))
    generator = EnsembleGenerator(2, base="spectral", base_k=k, random_state=0).fit(X)
    labels = generator.ensemble_.labels
    assert labels.min() >= 0
    assert labels.max() < k
    _, row = np.unique(X, axis=0, return_inverse=True)
    for column in labels.T:
        pairs = np.column_stack([row.ravel(), column])
        assert len(np.unique(pairs, axis=0)) == row.max() + 1
    np.testing.assert_array_equal(generator.transform(X), labels)


@pytest.mark.parametrize("k", [1, 2, 50])
def test_as_many_clusters_as_asked_for(k):
    X = np.random.default_rng(0).random((50, 3))
    labels = generate(X, 3, base="spectral", base_k=k, random_state=0).labels
    assert [len(np.unique(column)) for column in labels.T] == [k] * 3


@pytest.mark.parametrize(
    "X",
    [
        np.ones((50, 3)),
        np.random.default_rng(0).normal(size=(200, 900)),
        np.random.default_rng(0).normal(size=(200, 2)) + 1e9,
        np.random.default_rng(0).normal(size=(200, 2)) * 1e-30,
        np.vstack([np.random.default_rng(0).random((99, 2)), [[1e12, 0]]]),
    ],
    ids=["equal", "wide", "far", "tiny", "outlier"],
)
@pytest.mark.filterwarnings("ignore:The largest:UserWarning")
@pytest.mark.filterwarnings("ignore:Nearly all:UserWarning")
def test_unusual_features_are_clustered(X):
    generator = EnsembleGenerator(3, base="spectral", base_k=3, random_state=0).fit(X)
    np.testing.assert_array_equal(generator.transform(X), generator.ensemble_.labels)
    found = [len(np.unique(column)) for column in generator.ensemble_.labels.T]
    assert found == [1 if np.ptp(X) == 0 else 3] * 3


def test_where_float32_loses_digits_float64_is_taken():
    X, y = np.vstack([MOONS[0], MOONS[0] + 1e6]), np.append(MOONS[1], MOONS[1] + 2)
    assert Frame.of(X, *extent(X)).dtype == "float64"
    labels = generate(X, 3, base="spectral", base_k=4, random_state=0).labels
    assert max(ari(y, column) for column in labels.T) > 0.95


def test_representatives_are_as_many_as_documented():
    assert base_spectral.n_representatives(10**6, 20_000, 50) == 400
    assert base_spectral.n_representatives(10**6, 30_000, 600) == 601
    assert base_spectral.n_representatives(100, 100, 3) == 50
    assert base_spectral.n_representatives(4, 4, 4) == 4
    assert base_spectral.n_representatives(1, 1, 1) == 1


def test_runs_differ():
    labels = generate(BLOBS, 4, base="spectral", base_k=9, random_state=0).labels
    assert ari(labels[:, 0], labels[:, 1]) < 1


def test_models_are_kept_in_files(tmp_path):
    pytest.importorskip("skops")
    model = ECPCSMC(3, 4, base=["spectral", "kmeans"], random_state=0).fit(BLOBS)
    expected = model.predict(BLOBS + 0.1)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    np.testing.assert_array_equal(again.predict(BLOBS + 0.1), expected)
    pickled = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(pickled.predict(BLOBS + 0.1), expected)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("representatives", lambda x: x[:, 1:]),
        ("half_norms", lambda x: x[1:]),
        ("table", lambda x: x[:, 1:]),
        ("table", lambda x: x[1:]),
        ("half_centres", lambda x: x[1:]),
        ("precision", lambda x: -x),
        ("precision", lambda x: np.inf),
    ],
)
def test_a_file_whose_arrays_do_not_fit_is_refused(name, change):
    generator = EnsembleGenerator(2, base="spectral", random_state=0).fit(BLOBS)
    generator._check_loaded()
    model = generator.models_[0]
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(ValueError, match=r"half_|representatives|table|precision"):
        generator._check_loaded()


def test_the_command_line_offers_them(tmp_path):
    table = tmp_path / "X.csv"
    np.savetxt(table, MOONS[0], delimiter=",", header="a,b", comments="")
    out = tmp_path / "out.csv"
    line = ["cluster", str(table), "-k", "2", "--seed", "0", "-q", "-o", str(out)]
    for given_base, base in (
        ("spectral", "spectral"),
        ("kmeans,spectral", ["kmeans", "spectral"]),
    ):
        result = cli_runner().invoke(main, [*line, "--base", given_base])
        assert result.exit_code == 0, result.output
        found = np.loadtxt(out, delimiter=",", skiprows=1, dtype=int)[:, -1]
        model = ECPCSMC(2, base=base, random_state=0).fit(MOONS[0])
        np.testing.assert_array_equal(found, model.labels_)


def test_too_many_clusters_for_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("ensclust._support.memory.available", lambda: 10**6)
    with pytest.raises(MemoryError, match=r"spectral clusterings with.*base_k"):
        generate(BLOBS, 2, base="spectral", base_k=1500, random_state=0)


def test_representatives_of_many_features_need_memory_too(monkeypatch):
    X = np.random.default_rng(0).normal(size=(300, 400)).astype(np.float32)
    monkeypatch.setattr("ensclust._support.memory.available", lambda: 2**22)
    generate(X, 1, base="spectral", base_k=2, random_state=0)
    with pytest.raises(MemoryError, match=r"clusters of 400 features.*projection=50"):
        generate(X, 20, base="spectral", base_k=2, random_state=0)
