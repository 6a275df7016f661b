"""Streams of blocks give what the same labels in memory give."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ensclust
from ensclust import Blocks, Ensemble, consensus
from ensclust._cuts import onehot_kmeans
from ensclust._methods import driver
from ensclust._stream import label_stream
from ensclust._stream.counting import Encoding, add, count_block, fix_encoding
from strategies import label_tables, random_ensemble

# SRS may separate objects with equal rows; see test_distributed.
METHODS = [name for name in ensclust.methods() if name != "srs"]


@pytest.fixture(scope="module")
def labels():
    table = random_ensemble(700, 8, 5, 0, missing=0.05).labels.copy()
    table[[3, 401]] = -1  # in no clustering
    table[600:, 2] += 40  # values that first appear late
    return table


def in_memory(labels, k, method, **options):
    with pytest.warns(UserWarning, match="2 of 700 objects"):
        return consensus(labels, k, method, random_state=7, **options)


def streamed(source, k, method, **options):
    with pytest.warns(UserWarning, match="2 of 700 objects"):
        return np.asarray(consensus(source, k, method, random_state=7, **options))


@pytest.mark.parametrize("method", METHODS)
def test_blocks_give_the_labels_of_memory(method, labels):
    expected = in_memory(labels, 5, method)
    found = streamed(Blocks(labels, rows=99), 5, method)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [11, 64, 700, 10_000])
@pytest.mark.parametrize("method", ["ecpcs-mc", "mcla", "kcc"])
def test_labels_do_not_depend_on_the_size_of_blocks(method, rows, labels):
    expected = in_memory(labels, 4, method)
    np.testing.assert_array_equal(
        streamed(Blocks(labels, rows=rows), 4, method), expected
    )


@pytest.mark.parametrize("options", [{"weights": "agreement"},
                                     {"weights": "size"},
                                     {"weights": [0, 1, 1, 2, 1, 0, 1, 1]},
                                     {"noise": "own-cluster"}])  # fmt: skip
def test_weights_and_noise_count_as_in_memory(options, labels):
    labels = np.where(labels.max(axis=1, keepdims=True) < 0, 0, labels)
    expected = consensus(labels, [3, 5], random_state=0, **options)
    found = consensus(Blocks(labels, rows=50), [3, 5], random_state=0, **options)
    assert found.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.slow
@given(label_tables(max_objects=30), st.integers(1, 7), st.integers(1, 3))
@pytest.mark.filterwarnings("ignore:.* formed:UserWarning")
@pytest.mark.filterwarnings("ignore:.* no base clustering:UserWarning")
def test_any_table_gives_the_labels_of_memory(table, rows, k):
    k = min(k, len(table))
    for method in ("ecpcs-mc", "ecc", "eac"):
        expected = consensus(table, k, method, random_state=1)
        found = consensus(Blocks(table, rows=rows), k, method, random_state=1)
        np.testing.assert_array_equal(np.asarray(found), expected)


@given(label_tables(max_objects=20), st.integers(1, 20))
def test_counts_of_two_parts_add_up_to_those_of_the_whole(table, cut):
    encoding = Encoding()
    parts = [part for part in (table[:cut], table[cut:]) if len(part)]
    counts = [
        count_block(list(part.T), i, encoding=encoding) for i, part in enumerate(parts)
    ]
    for order in (counts, counts[::-1]):
        total = order[0] if len(order) == 1 else add(*order)
        ensemble = Ensemble(table)
        np.testing.assert_array_equal(total.overlap, ensemble.intersections())
        assert total.n_absent == ensemble.absent().sum()
        for own, expected in zip(total.values, ensemble.categories, strict=True):
            np.testing.assert_array_equal(own, expected)


def write_parquet(path, table, group=90):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {f"c{m}": column for m, column in enumerate(table.T)}
    parquet.write_table(pyarrow.table(columns), path, row_group_size=group)


@pytest.mark.parametrize("rows", [None, 50, 250])
def test_a_directory_of_parquet_files_is_one_table(tmp_path, labels, rows):
    for i, part in enumerate(np.array_split(labels, 3)):
        write_parquet(tmp_path / f"part{i}.parquet", part)
    found = streamed(Blocks(tmp_path, rows=rows), 5, "ecpcs-mc")
    np.testing.assert_array_equal(found, in_memory(labels, 5, "ecpcs-mc"))


@pytest.mark.parametrize(
    "kind", ["npy", "mapped", "parquet", "zarr", "list", "function"]
)
def test_every_source_gives_the_same_labels(tmp_path, labels, kind):
    path = tmp_path / f"labels.{kind}"
    if kind in ("npy", "mapped"):
        np.save(tmp_path / "labels.npy", labels)
        source = tmp_path / "labels.npy"
        source = np.load(source, mmap_mode="r") if kind == "mapped" else source
    elif kind == "parquet":
        write_parquet(path, labels)
        source = path
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.create_array(path, shape=labels.shape, chunks=(64, 8), dtype="i4")
        array[:] = labels
        source = path
    else:
        parts = np.array_split(labels, 5)
        source = parts if kind == "list" else lambda: iter(parts)
    blocks = Blocks(source, rows=100)
    if kind in ("npy", "mapped", "zarr"):
        assert max(block.n_rows for block in blocks) <= 128
    found = streamed(blocks, 5, "ecpcs-mc")
    np.testing.assert_array_equal(found, in_memory(labels, 5, "ecpcs-mc"))


def test_a_dask_array_of_unknown_lengths_is_read_in_its_pieces():
    array = pytest.importorskip("dask.array")
    table = random_ensemble(60, 4, 3, 0).labels
    lazy = array.from_array(table, (25, 4))
    blocks = Blocks(lazy[lazy[:, 0] >= 0])
    assert [block.name for block in blocks] == ["block 1", "block 2", "block 3"]
    kept = table[table[:, 0] >= 0]
    found = np.asarray(consensus(blocks, 3, "eac", random_state=0))
    np.testing.assert_array_equal(found, consensus(kept, 3, "eac", random_state=0))


def table_of(blocks):
    return np.concatenate([np.column_stack(block.load()) for block in blocks])


@pytest.mark.parametrize("fortran", [False, True])
def test_a_view_of_a_memory_map_is_what_is_read(tmp_path, fortran):
    path = tmp_path / "labels.npy"
    table = np.arange(12).reshape(6, 2)
    np.save(path, np.asfortranarray(table) if fortran else table)
    mapped = np.load(path, mmap_mode="r")
    assert Blocks(mapped).path == path
    square = mapped[:2]
    for view in (mapped[::-1], mapped[:, ::-1], mapped[2:], square.T, square):
        np.testing.assert_array_equal(table_of(Blocks(view, rows=2)), view)
    as_float = mapped.view(np.float64)
    np.testing.assert_array_equal(table_of(Blocks(as_float)), as_float)
    edited = np.load(path, mmap_mode="c")
    edited[1] = 7
    np.testing.assert_array_equal(table_of(Blocks(edited)), edited)


def test_columns_of_a_directory_are_joined_by_name(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, columns in (("a", ("x", "y")), ("b", ("y", "x"))):
        table = pyarrow.table({column: [ord(column)] for column in columns})
        parquet.write_table(table, tmp_path / f"{name}.parquet")
    assert table_of(Blocks(tmp_path)).tolist() == [[120, 121]] * 2
    parquet.write_table(pyarrow.table({"x": [1], "z": [1]}), tmp_path / "c.parquet")
    match = r"c.parquet has the columns x, z; .*a.parquet has x, y. Name those"
    with pytest.raises(ValueError, match=match):
        Blocks(tmp_path)
    assert table_of(Blocks(tmp_path, columns=["x"])).tolist() == [[120], [120], [1]]


def test_columns_of_obs_are_read_in_blocks(tmp_path):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    table = random_ensemble(120, 3, 4, 1).labels
    columns = {"a": pandas.Categorical(table[:, 0].astype(str)), "b": table[:, 1]}
    columns |= {"c": [f"t{v}" for v in table[:, 2]], "other": 0}
    obs = pandas.DataFrame(columns, index=[f"cell{i}" for i in range(120)])
    obs.loc["cell7", "a"] = None
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(np.zeros((120, 2), np.float32), obs=obs).write_h5ad(path)
    with pytest.raises(ValueError, match="obs columns 'a', 'b', 'c', 'other'"):
        Blocks(path)
    from ensclust.io import read_labels

    names = ["a", "b", "c"]
    expected = consensus(read_labels(path, columns=names).values, 3, random_state=0)
    found = consensus(Blocks(path, columns=names, rows=17), 3, random_state=0)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_texts_of_a_file_mean_what_they_mean_when_read_as_a_whole(tmp_path):
    from ensclust.io import read_labels

    rng = np.random.default_rng(0)
    numbers = rng.choice(["10", "9", "2.0", "NA", "-1", " 2"], 80)
    names = rng.choice(["b", "a", "7", "NA"], 80)
    names[:40] = "7"  # names come late
    names[names == "NA"] = "c"
    path = tmp_path / "texts.parquet"
    write_parquet(path, np.stack([numbers, names, numbers[::-1]], axis=1), group=16)
    expected = consensus(read_labels(path).values, 3, random_state=0)
    found = consensus(Blocks(path, rows=16), 3, random_state=0)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_the_same_row_group_can_be_cut_anywhere(tmp_path):
    table = np.arange(90).reshape(30, 3)
    write_parquet(tmp_path / "t.parquet", table, group=7)
    for rows in (1, 4, 7, 13, 30):
        blocks = list(Blocks(tmp_path / "t.parquet", rows=rows))
        parts = [np.column_stack(block.load()) for block in blocks]
        np.testing.assert_array_equal(np.concatenate(parts), table)
        assert max(map(len, parts)) <= rows
        assert [block.n_rows for block in blocks] == list(map(len, parts))


@pytest.mark.parametrize("suffix", [".npy", ".parquet", ".zarr"])
@pytest.mark.parametrize("k", [4, [3, 4]])
@pytest.mark.parametrize("engine", ["blocks", "dask"])
@pytest.mark.parametrize("rows", [7, 70, 300])
def test_labels_are_written_block_by_block(
    tmp_path, suffix, k, engine, rows, monkeypatch
):
    if engine == "dask":
        pytest.importorskip("distributed")
    monkeypatch.setattr(label_stream, "CHUNK", 64)
    table = random_ensemble(300, 6, 4, 2).labels
    path = tmp_path / f"labels{suffix}"
    blocks = Blocks(table, rows=rows, engine=engine)
    sizes = consensus(blocks, k, random_state=0).write(path)
    expected = consensus(table, k, random_state=0)
    np.testing.assert_array_equal(
        sizes[-1], np.bincount(expected.reshape(300, -1)[:, -1])
    )
    if suffix == ".npy":
        found = np.load(path)
    elif suffix == ".zarr":
        stored = pytest.importorskip("zarr").open_array(path)
        assert stored.chunks[0] == 64 // len(sizes)
        found = stored[:]
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        assert table["object"].to_pylist() == list(range(300))
        assert table.column_names[1:] == (["cluster"] if k == 4 else ["k3", "k4"])
        found = np.column_stack([column.to_numpy() for column in table.columns[1:]])
        found = found.reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_output_is_whole_or_not_there(tmp_path):
    table = random_ensemble(50, 4, 3, 0).labels
    calls = []

    def blocks():
        calls.append(1)
        yield table
        if len(calls) > 2:  # the pass that writes
            msg = "the disk is gone"
            raise ValueError(msg)

    stream = consensus(blocks, 3, random_state=0)
    with pytest.raises(ValueError, match="the disk is gone"):
        stream.write(tmp_path / "labels.npy")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"labels.csv cannot be written in blocks"):
        stream.write(tmp_path / "labels.csv")
    (tmp_path / "there.parquet").mkdir()
    with pytest.raises(FileExistsError, match="Delete or rename it"):
        stream.write(tmp_path / "there.parquet")
    (tmp_path / "file.zarr").touch()
    with pytest.raises(FileExistsError, match="Delete or rename it"):
        stream.write(tmp_path / "file.zarr")


def test_the_input_is_never_the_output(tmp_path):
    path, folder = tmp_path / "labels.npy", tmp_path / "runs"
    np.save(path, random_ensemble(50, 4, 3, 0).labels)
    before = path.read_bytes()
    for source in (path, np.load(path, mmap_mode="r")[::-1]):
        with pytest.raises(ValueError, match=r"labels.npy is the input. Choose"):
            consensus(Blocks(source), 3).write(path)
    assert path.read_bytes() == before
    folder.mkdir()
    write_parquet(folder / "part.parquet", np.load(path))
    with pytest.raises(ValueError, match="is inside the input"):
        consensus(Blocks(folder), 3).write(folder / "found.parquet")


def test_an_error_names_the_block(tmp_path):
    table = random_ensemble(60, 4, 3, 0).labels.astype(float)
    table[45, 2] = 1.5
    np.save(tmp_path / "labels.npy", table)
    with pytest.raises(
        ValueError, match=r"labels.npy, rows 41 to 60: labels\[5, 2\] = 1.5"
    ):
        consensus(Blocks(tmp_path / "labels.npy", rows=20), 3)


@pytest.mark.parametrize(("source", "error", "message"), [
    ((x for x in []), TypeError, "only once. Pass the function"),
    (7, TypeError, "int is not a stream of blocks"),
    ([], ValueError, "an empty list"),
    (np.zeros(3), ValueError, r"shape \(3,\)"),
    ("no/such.npy", FileNotFoundError, "does not exist"),
    (__file__, ValueError, "cannot be read in blocks"),
])  # fmt: skip
def test_what_is_no_stream_is_refused(source, error, message):
    with pytest.raises(error, match=message):
        Blocks(source)


def test_what_a_stream_cannot_do_is_said_before_it_is_read():
    def blocks():
        raise AssertionError

    with pytest.raises(ValueError, match="Choose k on a sample"):
        consensus(blocks, "auto")
    with pytest.raises(ValueError, match="init numbers objects"):
        consensus(blocks, 2, "kcc", init=[0, 1])
    with pytest.raises(ValueError, match="can be read in any order"):
        Blocks(blocks, engine="dask")
    with pytest.raises(ValueError, match="stream has no objects"):
        consensus(lambda: iter(()), 2)
    uneven = Blocks([np.zeros((4, 2), int), np.zeros((4, 3), int)])
    for ask in (partial(consensus, uneven, 2), partial(ensclust.generate, uneven, 2)):
        with pytest.raises(ValueError, match=r"^block 2 has 3 columns, block 1 has 2"):
            ask()
    with pytest.raises(TypeError, match=r"^block 2: .*mixes int"):
        consensus(Blocks([np.zeros((4, 1), int), np.full((4, 1), "a")]), 2)


def test_blocks_of_blocks_take_the_engine_that_is_asked_for():
    table = np.zeros((4, 2), int)
    assert Blocks(Blocks(table), engine="dask").engine == "dask"
    assert Blocks(Blocks(table, engine="dask")).engine == "dask"
    with pytest.raises(ValueError, match="can be read in any order"):
        Blocks(Blocks(lambda: iter([table])), engine="dask")


def test_what_a_stream_is_can_be_seen(tmp_path):
    labels = np.tile([[0, 1], [1, 0]], (5, 1))
    np.save(tmp_path / "l.npy", labels)
    assert "l.npy', blocks=1, engine='dask')" in repr(
        Blocks(tmp_path / "l.npy", engine="dask")
    )
    assert repr(Blocks(lambda: iter([labels]))).startswith("Blocks(blocks=unknown, ")
    found = consensus(Blocks(labels, rows=4), 2, "kcc", random_state=0)
    assert repr(found) == "LabelStream(shape=(10,), blocks=3)"


def test_predict_says_how_to_pass_over_a_stream(labels):
    model = ensclust.ECPCSMC(4, base="precomputed", random_state=0).fit(labels[10:99])
    blocks = Blocks(labels[10:99], rows=40)
    with pytest.raises(TypeError, match="Predict block by block"):
        model.predict(blocks)
    parts = [model.predict(np.column_stack(block.load())) for block in blocks]
    np.testing.assert_array_equal(np.concatenate(parts), model.labels_)


def test_numbers_in_texts_are_told_from_names():
    columns = [np.array(["10", "9", "NA"]), np.array(["10", "x", "9"])]
    encoding = Encoding()
    counts, encoding = fix_encoding(
        count_block(columns, 0, encoding=encoding), encoding
    )
    assert [values.tolist() for values in counts.values] == [[9, 10], ["10", "9", "x"]]
    np.testing.assert_array_equal(
        encoding.encode(columns, 0)[0].labels, [[1, 0], [0, 2], [-1, 1]]
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["kcc", "ecc", "sec", "kmodes"])
def test_kmeans_needs_no_list_of_distinct_rows(method, labels, monkeypatch):
    """From the rows that it draws it gives the labels that memory gives from them."""
    drawn = []
    draw = onehot_kmeans.draw

    def watch(*args):
        drawn.append(draw(*args))
        return drawn[-1]

    monkeypatch.setattr(driver, "DEFAULT_MEMORY", 2000)
    monkeypatch.setattr(onehot_kmeans, "draw", watch)
    found = streamed(Blocks(labels, rows=99), 5, method, n_init=8)
    objects = np.array([start.objects for start in drawn[0][0]])
    assert objects.shape == (8, 5)
    expected = in_memory(labels, 5, method, init=objects)
    np.testing.assert_array_equal(found, expected)
    again = streamed(Blocks(labels, rows=350), 5, method, n_init=8)
    np.testing.assert_array_equal(again, found)


def test_kmeans_over_blocks_fills_empty_clusters(monkeypatch):
    table = random_ensemble(200, 4, 3, 5).labels
    monkeypatch.setattr(driver, "DEFAULT_MEMORY", 100)
    runs = [
        np.asarray(consensus(Blocks(table, rows=rows), 30, "kcc", random_state=0))
        for rows in (33, 200)
    ]
    np.testing.assert_array_equal(*runs)
    assert runs[0].max() == 29


def test_linkage_of_too_many_rows_says_what_to_use(labels):
    with pytest.raises(MemoryError, match="Use ecpcs-mc or mcla"):
        consensus(Blocks(labels[10:300], rows=99), 5, "ecpcs-hc", max_memory=1000)


def test_features_are_surveyed_once(monkeypatch):
    from ensclust import ECPCSMC
    from ensclust._generate import objects

    surveys, usual = [], objects._survey

    def survey(columns, number):
        surveys.append(number)
        return usual(columns, number)

    monkeypatch.setattr(objects, "_survey", survey)
    X = np.random.default_rng(0).normal(size=(90, 3))
    ECPCSMC(3, 4, random_state=0).fit(Blocks(X, rows=40, content="features"))
    assert surveys == [0, 1, 2]


def test_masked_labels_of_blocks_are_missing_as_in_memory():
    labels = random_ensemble(120, 4, 5, seed=3).labels
    masked = np.ma.masked_array(labels, np.arange(labels.size).reshape(120, 4) % 5 == 0)
    expected = consensus(masked, 3, random_state=0)
    for blocks in (Blocks(masked, rows=50), Blocks([masked[:70], masked[70:]])):
        found = np.asarray(consensus(blocks, 3, random_state=0))
        np.testing.assert_array_equal(found, expected)


def test_a_file_that_changed_since_it_was_counted_is_refused(tmp_path):
    labels = random_ensemble(120, 4, 5, seed=3).labels
    np.save(tmp_path / "runs.npy", labels)
    stream = consensus(Blocks(tmp_path / "runs.npy"), 3, random_state=0)
    np.save(tmp_path / "runs.npy", labels[:60])
    for use in (list, lambda stream: stream.write(tmp_path / "out.npy")):
        with pytest.raises(ValueError, match=r"runs\.npy has changed since it was op"):
            use(stream)
    assert not (tmp_path / "out.npy").exists()


def test_a_function_that_fails_or_gives_other_rows_is_told(tmp_path):
    labels = random_ensemble(120, 4, 5, seed=3).labels
    with pytest.raises(ValueError, match="block 1: ZeroDivisionError: division by"):
        consensus(lambda: (1 / 0 for _ in range(3)), 3)
    once = iter([labels[:50], labels[50:]])
    with pytest.raises(TypeError, match="returned the same iterator twice"):
        consensus(lambda: once, 3)
    left = [labels[:50]]
    stream = consensus(lambda: iter([*left, labels[50:]]), 3, random_state=0)
    left[0] = labels[:40]
    with pytest.raises(ValueError, match="block 1: it has 40 rows; the previous"):
        stream.write(tmp_path / "out.npy")
    assert not (tmp_path / "out.npy").exists()


@pytest.mark.parametrize("cell", [[1], b"a", {"x": 1}])
def test_cells_that_are_no_labels_are_refused_in_blocks_too(cell, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"a": range(9), "b": [cell] * 9})
    parquet.write_table(table, tmp_path / "runs.parquet")
    with pytest.raises(ValueError, match="is not a label"):
        consensus(Blocks(tmp_path / "runs.parquet"), 2)


def test_one_huge_value_among_many_rows_is_a_cluster_of_its_own(monkeypatch):
    from ensclust import generate
    from ensclust._generate import base_kmeans

    monkeypatch.setattr(base_kmeans, "SAMPLE", 50)
    X = np.random.default_rng(0).normal(size=(2000, 4))
    X[7, 0] = 1e40
    runs = generate(X, 1, base_k=2, random_state=0)
    assert sorted(np.bincount(runs.labels[:, 0])) == [1, 1999]


def longer(blocks, pass_number):
    blocks[1] = np.concatenate([blocks[1], blocks[1][:pass_number]])


def another(blocks, pass_number):
    blocks[1][7] = pass_number % 3


def swapped(blocks, pass_number):
    blocks[1] = np.roll(blocks[1], pass_number, axis=0)


def renamed(blocks, pass_number):
    blocks[1] += 3 * pass_number


def fewer(blocks, pass_number):
    if pass_number > 1:
        del blocks[2]


def more(blocks, pass_number):
    blocks += [blocks[0]] * (pass_number - 1)


USES = {
    "np.asarray": np.asarray,
    "list": list,
    "to_dask": lambda stream: stream.to_dask().compute(),
    "sizes": lambda stream: stream.sizes(),
}
CHANGES = {longer: "block 2: it has 102 rows; the previous pass had 101"}
CHANGES |= dict.fromkeys(
    (another, swapped, renamed), "block 2: its 100 rows differ from those of the prev"
)
CHANGES |= {
    fewer: "got 2 blocks; the previous pass had 3",
    more: "block 4: it has 100 rows|got 4 blocks; the previous pass had 3",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("words", [False, True])
def test_a_stream_whose_rows_change_between_passes_is_refused(change, use, words):
    if use == "to_dask":
        pytest.importorskip("dask")
    known = np.random.default_rng(0).integers(0, 3, (3, 100, 4))
    passes = [0]

    def make():
        blocks = [part.copy() for part in known]
        change(blocks, passes[0] + 1)
        return iter([part.astype(str) for part in blocks] if words else blocks)

    stream = consensus(make, 3, method="ecpcs-mc", random_state=0)
    assert np.asarray(stream).shape == stream.shape  # as long as nothing changes
    passes[0] += 1
    with pytest.raises(ValueError, match=CHANGES[change]):
        USES[use](stream)
    passes[0] = -1

    def changing():
        passes[0] += 1
        return make()

    with pytest.raises(ValueError, match=r"block|rows"):
        USES[use](consensus(changing, 3, method="ecpcs-mc", random_state=0))


@pytest.mark.parametrize("scale", [None, "standard", "robust"])
@pytest.mark.parametrize("change", [longer, another, fewer])
def test_features_that_change_in_any_pass_are_refused(change, scale, monkeypatch):
    from ensclust import ECPCSMC
    from ensclust._generate import base_kmeans

    monkeypatch.setattr(base_kmeans, "SAMPLE", 60)  # so that k-means passes over all
    known = np.random.default_rng(0).normal(size=(3, 100, 4))
    passes, bad, whole = [0], [0], []

    def changing():
        passes[0] += 1
        blocks = [part.copy() for part in known]
        if passes[0] == bad[0]:
            change(blocks, 2)
        yield from blocks
        whole.append(passes[0])  # one pass looks at the first block only

    def run():
        model = ECPCSMC(3, 3, random_state=0, base_k=4, scale=scale)
        np.asarray(model.fit(changing).labels_)

    run()
    assert len(whole) >= (8 if scale == "standard" else 6)
    for number in tuple(whole):
        passes[0], bad[0] = 0, number
        with pytest.raises(ValueError, match=r"^block [23]: |^got . blocks"):
            run()
