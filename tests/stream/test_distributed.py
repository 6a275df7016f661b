"""Dask gives what memory gives: threads, clusters, killed workers, resumed runs."""

import json
import os
import pickle
import signal
from contextlib import suppress

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, MiniBatchKMeans
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

import ensclust
from conftest import cli_runner
from ensclust import (
    Blocks,
    Ensemble,
    EnsembleGenerator,
    consensus,
    generate,
)
from ensclust._generate import base_kmeans, objects
from ensclust._methods import driver
from ensclust._stream import engines
from ensclust.cli import main
from ensclust.cli._engines import dask_scheduler
from strategies import random_ensemble

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

METHODS = [
    "ecpcs-mc",
    "mcla",
    "kcc",
    "ecc",
    "sec",
    "ecpcs-hc",
    "eac",
    "wct",
    "usenc",
    "gp-mgla",
]


@pytest.fixture(scope="module")
def cluster():
    """Return a cluster of two workers in this process."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def labels():
    return random_ensemble(500, 7, 5, 3, missing=0.03).labels


@pytest.mark.parametrize("method", METHODS)
def test_threads_give_the_labels_of_memory(method, labels):
    expected = consensus(labels, 5, method, random_state=2)
    for chunks in ((60, 3), (500, 7)):
        found = consensus(da.from_array(labels, chunks), 5, method, random_state=2)
        assert isinstance(found, da.Array)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.compute(), expected)


@pytest.mark.parametrize("method", ["ecpcs-mc", "kcc", "eac"])
def test_a_cluster_gives_the_labels_of_memory(method, labels, client):
    expected = consensus(labels, [3, 5], method, random_state=2)
    found = consensus(da.from_array(labels, (60, 7)), [3, 5], method, random_state=2)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.compute(), expected)


def test_chunks_of_unknown_size_are_fine(labels):
    array = da.from_array(labels, (60, 7))
    kept = array[array[:, 0] != 1]  # an unknown number of rows
    expected = consensus(labels[labels[:, 0] != 1], 4, random_state=0)
    found = consensus(kept, 4, random_state=0)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.compute(), expected)


def test_nothing_of_the_size_of_the_data_comes_before_it_is_asked_for(monkeypatch):
    sizes = []
    compute = engines.Dask._compute

    def watch(self, *args):
        result = compute(self, *args)
        sizes[-1] = max(sizes[-1], len(pickle.dumps(result)))
        return result

    monkeypatch.setattr(engines.Dask, "_compute", watch)
    for n in (1000, 8000):
        sizes.append(0)
        table = random_ensemble(n, 4, 3, 0).labels
        consensus(da.from_array(table, (n // 4, 4)), 3, random_state=0)
    assert sizes[0] == pytest.approx(sizes[1], rel=0.02)
    assert sizes[1] < 8000


def test_predict_knows_the_columns_without_weight(labels):
    weights = [0, 1, 1, 2, 1, 0, 1]
    options = {"weights": weights, "base": "precomputed", "random_state": 0}
    for cls in (ensclust.ECPCSMC, ensclust.KCC):
        model = cls(4, **options).fit(Blocks(labels, rows=90))
        known = cls(4, **options).fit(labels)
        np.testing.assert_array_equal(np.asarray(model.labels_), known.labels_)
        np.testing.assert_array_equal(model.predict(labels), known.labels_)


def test_predict_of_too_many_rows_is_the_nearest_centre_too(labels, monkeypatch):
    monkeypatch.setattr(driver, "DEFAULT_MEMORY", 100)
    model = ensclust.KCC(4, base="precomputed", random_state=0, n_init=1)
    model.fit(Blocks(labels, rows=90))
    np.testing.assert_array_equal(model.predict(labels), np.asarray(model.labels_))
    with pytest.raises(TypeError, match="stream of 500 objects are not in memory"):
        model.memberships()


def test_files_are_read_by_the_workers(tmp_path, labels, client):
    np.save(tmp_path / "labels.npy", labels)
    blocks = Blocks(tmp_path / "labels.npy", rows=70, engine="dask")
    stream = consensus(blocks, 5, random_state=1)
    sizes = stream.write(tmp_path / "found.npy")
    expected = consensus(labels, 5, random_state=1)
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), expected)
    np.testing.assert_array_equal(sizes[0], np.bincount(expected))
    np.testing.assert_array_equal(stream.to_dask().compute(), expected)
    np.testing.assert_array_equal(np.asarray(stream), expected)


@pytest.mark.parametrize("method", ["ecpcs-mc", "mcla", "kcc", "ecpcs-hc"])
def test_an_estimator_fits_and_predicts_dask_arrays(method, labels):
    cls = ensclust._methods.METHODS[method]
    array = da.from_array(labels, (90, 7))
    model = cls(4, base="precomputed", random_state=0).fit(array)
    known = cls(4, base="precomputed", random_state=0).fit(labels)
    assert isinstance(model.labels_, da.Array)
    np.testing.assert_array_equal(model.labels_.compute(), known.labels_)
    np.testing.assert_array_equal(model.predict(array).compute(), known.labels_)
    np.testing.assert_array_equal(model.predict(labels[:9]), known.labels_[:9])
    if method in ("ecpcs-mc", "mcla"):
        shares = known.memberships(labels[:9])
        np.testing.assert_array_equal(model.memberships(labels[:9]), shares)
    assert model.n_clusters_ == known.n_clusters_
    for ask in (model.memberships, model.certainty):
        with pytest.raises(TypeError, match="stream of 500 objects are not in memory"):
            ask()


@pytest.fixture(scope="module")
def features():
    X, _ = make_blobs(3000, centers=6, n_features=5, random_state=0)
    return X


@pytest.fixture(scope="module")
def small_sample():
    """Let k-means start from 400 rows, so that passes over all rows matter."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_kmeans, "SAMPLE", 400)
        yield


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("options", [{}, {"max_features": 0.6}, {"projection": 3},
                                     {"max_samples": 300}])  # fmt: skip
def test_base_clusterings_do_not_depend_on_blocks_or_engine(features, options):
    options |= {"base_k": (4, 9), "random_state": 0}
    runs = [
        generate(da.from_array(features, (chunk, 2)), 5, **options).compute()
        for chunk in (3000, 310)
    ]
    blocks = generate(Blocks(features, rows=500), 5, **options)
    runs.append(np.concatenate([np.column_stack(b.load()) for b in blocks]))
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])
    assert runs[0].shape == (3000, 5)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("options", [{}, {"max_features": 0.6}, {"projection": 3},
                                     {"effort": 1}])  # fmt: skip
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_many_rows_in_memory_are_clustered_as_blocks_of_them(
    features, options, n_jobs, monkeypatch
):
    options |= {"base_k": (4, 9), "random_state": 0}
    monkeypatch.setattr(objects, "_CELLS", 333)
    stream = generate(Blocks(features, rows=500), 5, **options)
    expected = np.concatenate([np.column_stack(b.load()) for b in stream])
    generator = EnsembleGenerator(5, n_jobs=n_jobs, **options).fit(features)
    np.testing.assert_array_equal(generator.ensemble_.labels, Ensemble(expected).labels)
    np.testing.assert_array_equal(
        generator.transform(features), generator.ensemble_.labels
    )


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("name", ["runs.npy", "runs.parquet", "runs.zarr"])
@pytest.mark.parametrize("lazy", [False, True])
def test_base_clusterings_are_written_as_they_are_made(features, name, lazy, tmp_path):
    options = {"base_k": (4, 9), "random_state": 0}
    X = da.from_array(features, (700, 5)) if lazy else features
    written = generate(X, 5, out=tmp_path / name, **options)
    stream = generate(Blocks(features), 5, **options)
    expected = np.concatenate([np.column_stack(b.load()) for b in stream])
    found = np.concatenate([np.column_stack(b.load()) for b in written])
    np.testing.assert_array_equal(found, expected)
    assert list(tmp_path.iterdir()) == [tmp_path / name]


def test_a_file_that_labels_cannot_go_to_is_refused_first(features, tmp_path):
    with pytest.raises(ValueError, match=r"cannot be written in blocks\. Use \.npy"):
        generate(features, 5, out=tmp_path / "runs.csv")
    np.save(tmp_path / "X.npy", features)
    with pytest.raises(ValueError, match="input"):
        generate(Blocks(tmp_path / "X.npy"), 5, out=tmp_path / "X.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "X.npy"), features)


@pytest.mark.usefixtures("small_sample")
def test_all_clusterings_are_at_a_minimum_of_their_own(features):
    labels = generate(
        da.from_array(features, (700, 5)), 4, base_k=6, random_state=1
    ).compute()
    for column in labels.T:
        centres = np.array([features[column == c].mean(axis=0) for c in range(6)])
        distances = ((features[:, None] - centres) ** 2).sum(axis=2)
        assert (distances.argmin(axis=1) == column).mean() > 0.995


@pytest.mark.usefixtures("small_sample")
def test_any_clusterer_with_predict_is_fitted_to_a_sample(features):
    X = da.from_array(features, (700, 5))
    base = [MiniBatchKMeans(n_init=1), GaussianMixture(), "kmeans"]
    labels = generate(X, 3, base=base, base_k=6, random_state=0).compute()
    assert labels.shape == (3000, 3)
    assert [len(np.unique(column)) for column in labels.T] == [6, 6, 6]
    with pytest.raises(TypeError, match="cannot label new objects"):
        generate(X, 1, base=AgglomerativeClustering(), base_k=3)


@pytest.mark.usefixtures("small_sample")
@pytest.mark.parametrize("method", ["ecpcs-mc", "kcc"])
def test_an_estimator_fits_features_that_come_in_blocks(features, method):
    cls = ensclust._methods.METHODS[method]
    X = da.from_array(features, (700, 5))
    model = cls(6, 12, base_k=(6, 12), random_state=0).fit(X)
    labels = model.labels_.compute()
    _, y = make_blobs(3000, centers=6, n_features=5, random_state=0)
    assert ensclust.metrics.ari(labels, y) > 0.8
    np.testing.assert_array_equal(model.predict(features), labels)
    np.testing.assert_array_equal(model.predict(X).compute(), labels)
    again = cls(6, 12, base_k=(6, 12), random_state=0).fit(Blocks(features, rows=999))
    np.testing.assert_array_equal(np.asarray(again.labels_), labels)


def test_features_that_are_no_numbers_are_refused_by_block(features):
    X = features.copy()
    X[2500, 1] = np.nan
    with pytest.raises(ValueError, match=r"block 4, rows 2101 to 2800: X\[400, 1\] = "):
        generate(da.from_array(X, (700, 5)), 2, random_state=0)


@pytest.mark.parametrize(
    "engine", [["blocks"], ["dask"], ["dask", "--scheduler", "threads"]]
)
def test_the_command_line_passes_over_blocks(tmp_path, labels, engine):
    np.save(tmp_path / "labels.npy", labels)
    command = ["consensus", str(tmp_path / "labels.npy"), "-k", "3,5", "--seed", "4"]
    command += ["-o", str(tmp_path / "found.npy"), "--json", "--engine", *engine]
    result = cli_runner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_objects"] == 500
    expected = consensus(labels, [3, 5], random_state=4)
    np.testing.assert_array_equal(np.load(tmp_path / "found.npy"), expected)


@pytest.mark.parametrize("ks", ["4", "3,4"])
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_the_command_line_writes_the_same_with_every_engine(
    tmp_path, labels, ks, suffix, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    np.save("labels.npy", labels)
    command = ["consensus", "labels.npy", "-k", ks, "--seed", "4", "--json", "-o"]
    facts, found = [], []
    for engine in ("memory", "blocks"):
        output = f"{engine}{suffix}"
        result = cli_runner().invoke(main, [*command, output, "--engine", engine])
        assert result.exit_code == 0, result.output
        facts.append(json.loads(result.stdout))
        if suffix == ".npy":
            found.append(np.load(output).tolist())
        else:
            parquet = pytest.importorskip("pyarrow.parquet")
            found.append(parquet.read_table(output).to_pydict())
    assert found[0] == found[1]
    assert facts[1].pop("engine") == "blocks"
    for name in facts[0].keys() - {"seconds", "output"}:
        assert facts[0][name] == facts[1][name]
    assert facts[0].keys() == facts[1].keys()


def test_k_auto_is_refused_before_features_are_read():
    def blocks():
        raise AssertionError

    with pytest.raises(ValueError, match="k = auto needs the labels in memory"):
        ensclust.ECPCSMC("auto").fit(blocks)


def test_the_command_line_clusters_features_over_blocks(tmp_path, features):
    np.save(tmp_path / "data.npy", features)
    command = ["cluster", str(tmp_path / "data.npy"), "-k", "6", "--seed", "0"]
    command += ["--n-clusterings", "5", "--engine", "dask"]
    result = cli_runner().invoke(
        main, [*command, "-o", str(tmp_path / "found.parquet")]
    )
    assert result.exit_code == 0, result.output
    assert "3,000 objects" in result.stderr
    assert (tmp_path / "found.parquet" / "part-000000.parquet").exists()


@pytest.mark.parametrize(("options", "message"), [
    (["--engine", "dask"], "- cannot be written in blocks. Use .npy, "),
    (["--scheduler", "threads"], "--scheduler needs --engine dask"),
    (["--engine", "blocks", "-o", "no/dir/x.npy"], "directory no/dir does not exist"),
    (["--engine", "blocks", "-o", "labels.npy"], "labels.npy is the input"),
    (["--engine", "blocks", "-o", "there.zarr"], "there.zarr exists"),
    (["--engine", "blocks", "-o", "x.npy", "--no-header"], "are for text files"),
    (["--engine", "dask", "-o", "x.npy", "--scheduler", "no"], "--scheduler no"),
])  # fmt: skip
def test_the_command_line_says_what_is_wrong(
    tmp_path, labels, options, message, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    np.save("labels.npy", labels)
    (tmp_path / "there.zarr").mkdir()
    command = ["consensus", "labels.npy", "-k", "3", *options]
    result = cli_runner().invoke(main, command)
    assert result.exit_code == 2
    assert message in result.stderr


def test_processes_leave_errors_and_interrupts_to_the_command(labels, capfd):
    table = labels.astype(float)
    table[130, 4] = 0.5
    with dask_scheduler("processes"):
        client = distributed.default_client()
        handlers = client.run(lambda: signal.getsignal(signal.SIGINT)).values()
        with pytest.raises(ValueError, match=r"labels\[130, 4\] = 0.5"):
            consensus(Blocks(table, engine="dask"), 3)
    assert set(handlers) == {signal.SIG_IGN}  # Ctrl-C is not for workers
    assert capfd.readouterr().err == ""


def test_labels_are_right_when_a_worker_is_killed(tmp_path, labels):
    """The worker that reads the fourth block dies of it, once."""
    killed = tmp_path / "killed"

    def deadly(block, block_info=None):
        is_fourth = block_info and block_info[0]["chunk-location"][0] == 3
        if is_fourth and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster),
    ):
        array = da.from_array(labels, (60, 7)).map_blocks(deadly, dtype=labels.dtype)
        found = consensus(array, 5, random_state=2).compute()
    assert killed.exists()
    np.testing.assert_array_equal(found, consensus(labels, 5, random_state=2))


def test_an_error_on_a_worker_names_file_and_rows(tmp_path, labels, client):
    table = labels.astype(float)
    table[130, 4] = 0.5
    np.save(tmp_path / "labels.npy", table)
    blocks = Blocks(tmp_path / "labels.npy", rows=100, engine="dask")
    match = r"labels.npy, rows 101 to 200: labels\[30, 4\] = 0.5"
    with pytest.raises(ValueError, match=match):
        consensus(blocks, 3)


@pytest.mark.parametrize("method", ["ecpcs-mc", "kcc"])
@pytest.mark.parametrize("engine", ["blocks", "dask"])
def test_an_interrupted_run_goes_on_from_its_counts(
    tmp_path, labels, method, engine, monkeypatch
):
    np.save(tmp_path / "labels.npy", labels)
    kept = tmp_path / "kept"
    options = {"random_state": 1, "checkpoint": kept}

    def blocks():
        return Blocks(tmp_path / "labels.npy", rows=90, engine=engine)

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # after the counts, and the distinct rows
        patch.setattr("ensclust._cuts.voting.settle", interrupt)
        patch.setattr("ensclust._cuts.onehot_kmeans._best_of", interrupt)
        with pytest.raises(KeyboardInterrupt):
            consensus(blocks(), 4, method, **options)
    assert not list(kept.glob(".*"))  # nothing half written
    with monkeypatch.context() as patch:
        patch.setattr("ensclust._stream.counting.count_block", interrupt)
        patch.setattr("ensclust._stream.counting.distinct", interrupt)
        found = np.asarray(consensus(blocks(), 4, method, **options))
    expected = consensus(labels, 4, method, random_state=1)
    np.testing.assert_array_equal(found, expected)


def test_counts_of_another_input_are_refused(tmp_path, labels):
    path = tmp_path / "labels.npy"
    np.save(path, labels)
    consensus(Blocks(path), 3, checkpoint=tmp_path / "kept")
    np.save(path, labels[:400])
    with pytest.raises(ValueError, match="holds counts of another input"):
        consensus(Blocks(path), 3, checkpoint=tmp_path / "kept")
    for unknown in (Blocks(labels), da.from_array(labels)):  # changes do not show
        with pytest.raises(ValueError, match=r"detected. Pass Blocks\(path\)"):
            consensus(unknown, 3, checkpoint=tmp_path / "kept")


def test_counts_that_are_damaged_are_refused(tmp_path, labels):
    np.save(tmp_path / "labels.npy", labels)
    blocks, kept = Blocks(tmp_path / "labels.npy"), tmp_path / "kept"
    consensus(blocks, 3, checkpoint=kept)
    counts = kept / "counts-missing.npz"
    whole = counts.read_bytes()
    np.savez(tmp_path / "other.npz", labels=labels)
    other = (tmp_path / "other.npz").read_bytes()
    for content in (b"", b"text", other, whole[:99], whole[:-9]):
        counts.write_bytes(content)
        with pytest.raises(ValueError, match="is damaged, or holds no counts"):
            consensus(blocks, 3, checkpoint=kept)
    known = consensus(labels, 3, random_state=0)
    for i in range(0, len(whole), 97):  # some bits, such as those of a date, are unused
        counts.write_bytes(whole[:i] + bytes([whole[i] ^ 255]) + whole[i + 1 :])
        with suppress(ValueError):
            found = consensus(blocks, 3, random_state=0, checkpoint=kept)
            np.testing.assert_array_equal(np.asarray(found), known)
