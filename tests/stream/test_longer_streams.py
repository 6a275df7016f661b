"""More rows of the same clusterings: a fit to the longer stream reuses counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import Blocks, Ensemble, consensus, generate
from ensclust._stream import counting
from ensclust._stream.counting import Encoding, checkpoint_of, tally
from strategies import label_tables, random_ensemble

N_OLD = 200  # of 300 rows


@pytest.fixture
def table():
    table = random_ensemble(300, 6, 4, 0, missing=0.1).labels.copy()
    table[N_OLD:, 2] += 3  # values that only new rows have, among them
    table[N_OLD:, 3] -= 50 * (table[N_OLD:, 3] > 1)  # new noise
    return table


@pytest.fixture
def counted(monkeypatch):
    """The numbers of the blocks that were counted since it was last cleared."""
    numbers, usual = [], counting.count_block

    def count_block(columns, number, *, encoding):
        numbers.append(number)
        return usual(columns, number, encoding=encoding)

    monkeypatch.setattr(counting, "count_block", count_block)
    return numbers


def save(folder, **parts):
    paths = [folder / f"{name}.npy" for name in parts]
    for path, part in zip(paths, parts.values(), strict=True):
        np.save(path, part)
    return [Blocks(path, rows=50) for path in paths]


def write_parquet(path, table, names="abcdef"):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = dict(zip(names, np.asarray(table).T, strict=True))
    parquet.write_table(pyarrow.table(columns), path)


@pytest.mark.parametrize("engine", ["blocks", "dask"])
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("ecpcs-mc", {}),
        ("kcc", {}),  # which keeps distinct rows too
        ("eac", {"noise": "own-cluster"}),
        ("ecpcs-mc", {"weights": [1, 1, 2, 1, 0, 1]}),  # and these some clusterings
    ],
)
def test_a_longer_stream_gives_the_labels_of_all_rows(
    method, options, engine, table, tmp_path, counted
):
    if engine == "dask":
        pytest.importorskip("dask")
    old, new = save(tmp_path, old=table[:N_OLD], new=table[N_OLD:])
    old = Blocks(old, engine=engine)
    keep = {"random_state": 1, "checkpoint": tmp_path / "kept", **options}
    first = consensus(old, 3, method, **keep)
    expected = consensus(table[:N_OLD], 3, method, random_state=1, **options)
    np.testing.assert_array_equal(np.asarray(first), expected)
    longer = old.concat(new)
    assert longer.engine == engine
    counted.clear()
    found = consensus(longer, 3, method, **keep)
    selected = range(6) if "weights" in options else ()  # one more pass, of all
    assert sorted(counted) == sorted([4, 5, *selected])
    expected = consensus(table, 3, method, random_state=1, **options)
    np.testing.assert_array_equal(np.asarray(found), expected)
    counted.clear()
    again = consensus(longer, 3, method, **keep)
    assert not counted
    np.testing.assert_array_equal(np.asarray(again), expected)


@given(st.data())
def test_kept_counts_and_new_ones_add_up(tmp_path_factory, data):
    table = data.draw(label_tables(max_objects=20))
    edges = sorted(data.draw(st.sets(st.integers(1, len(table)), max_size=4)))
    parts = [part for part in np.split(table, edges) if len(part)]
    folder = tmp_path_factory.mktemp("streams")
    order = data.draw(st.permutations(range(len(parts))))
    streams = save(folder, **{f"part{i}": part for i, part in enumerate(parts)})
    for n in range(1, len(parts) + 1):  # the new part may come anywhere
        some = sorted(order[:n])
        blocks = streams[some[0]].concat(*(streams[i] for i in some[1:]))
        found = tally(
            blocks, Encoding(), checkpoint=checkpoint_of(blocks, folder / "kept")
        )
        expected = Ensemble(np.concatenate([parts[i] for i in some]))
        np.testing.assert_array_equal(found.intersections(), expected.intersections())
        assert found.n_absent == expected.absent().sum()
        assert found.has_missing == expected.has_missing
        assert found.starts == [0, *np.cumsum([len(parts[i]) for i in some])]
        for own, values in zip(found.categories, expected.categories, strict=True):
            assert own.tolist() == values.tolist()


@pytest.mark.parametrize("name", ["a", "c", "e"])
def test_a_directory_may_get_more_files(name, table, tmp_path, counted):
    write_parquet(tmp_path / "b.parquet", table[:90])
    write_parquet(tmp_path / "d.parquet", table[90:N_OLD])
    keep = {"random_state": 0, "checkpoint": tmp_path / "kept"}
    consensus(Blocks(tmp_path), 3, **keep)
    write_parquet(tmp_path / f"{name}.parquet", table[N_OLD:])
    counted.clear()
    found = consensus(Blocks(tmp_path), 3, **keep)
    assert counted == ["ace".index(name)]
    parts = {"b": table[:90], "d": table[90:N_OLD], name: table[N_OLD:]}
    whole = np.concatenate([parts[key] for key in sorted(parts)])
    expected = consensus(whole, 3, random_state=0)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_files_in_another_order_are_not_counted_again(table, tmp_path, counted):
    one, other = save(tmp_path, one=table[:N_OLD], other=table[N_OLD:])
    keep = {"random_state": 0, "checkpoint": tmp_path / "kept"}
    for method in ("kcc", "ecpcs-mc"):
        consensus(one.concat(other), 3, method, **keep)
        counted.clear()
        found = consensus(other.concat(one), 3, method, **keep)
        assert not counted
        whole = np.concatenate([table[N_OLD:], table[:N_OLD]])
        expected = consensus(whole, 3, method, random_state=0)
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_file_may_come_twice(table, tmp_path, counted):
    (once,) = save(tmp_path, once=table[:50])
    keep = {"random_state": 0, "checkpoint": tmp_path / "kept"}
    consensus(once, 3, **keep)
    found = consensus(once.concat(once), 3, **keep)
    assert counted == [0, 1]
    expected = consensus(np.tile(table[:50], (2, 1)), 3, random_state=0)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_a_column_of_numbers_becomes_one_of_names(tmp_path, counted):
    texts = np.array([["10", "x"], ["9", "y"], ["NA", "x"], ["9", "x"]] * 5)
    more = np.array([["new", "z"], ["10", "x"]] * 5)
    write_parquet(tmp_path / "a.parquet", texts, "ab")
    keep = {"random_state": 0, "checkpoint": tmp_path / "kept"}
    consensus(Blocks(tmp_path), 2, **keep)
    write_parquet(tmp_path / "b.parquet", more, "ab")
    counted.clear()
    found = consensus(Blocks(tmp_path), 2, **keep)
    assert counted == [1]
    expected = consensus(Blocks(tmp_path), 2, random_state=0)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_labels_of_another_type_are_refused(tmp_path):
    numbers, names = save(
        tmp_path, old=np.zeros((60, 2), int), new=np.full((9, 2), "x")
    )
    consensus(numbers, 1, checkpoint=tmp_path / "kept")
    for keep in ({}, {"checkpoint": tmp_path / "kept"}):
        with pytest.raises(TypeError, match=r"block 3: labels\[:, 0\] mixes"):
            consensus(numbers.concat(names), 1, **keep)


def test_an_old_file_that_changed_is_noticed(table, tmp_path):
    keep = {"random_state": 0, "checkpoint": tmp_path / "kept"}
    old, new = save(tmp_path, old=table[:N_OLD], new=table[N_OLD:])
    consensus(old, 3, **keep)
    np.save(tmp_path / "old.npy", table[: N_OLD - 1])
    changed = Blocks(tmp_path / "old.npy", rows=50)
    for stream in (changed, changed.concat(new), new):
        with pytest.raises(ValueError, match="holds counts of another input"):
            consensus(stream, 3, **keep)
    with pytest.raises(ValueError, match=r"old\.npy has changed since it was opened"):
        old.concat(new).check_unchanged()


def test_columns_in_another_order_are_counted_anew(table, tmp_path):
    write_parquet(tmp_path / "b.parquet", table[:N_OLD])
    keep = {"random_state": 0, "checkpoint": tmp_path / "kept"}
    consensus(Blocks(tmp_path), 3, **keep)
    write_parquet(tmp_path / "a.parquet", table[N_OLD:, ::-1], "fedcba")
    with pytest.raises(ValueError, match="holds counts of another input"):
        consensus(Blocks(tmp_path), 3, **keep)
    found = consensus(Blocks(tmp_path, columns=list("abcdef")), 3, **keep)
    whole = np.concatenate([table[N_OLD:], table[:N_OLD]])
    expected = consensus(whole, 3, random_state=0)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_streams_of_any_kind_are_concatenated(table, tmp_path):
    array = pytest.importorskip("dask.array")
    expected = consensus(table, 3, random_state=0)
    np.save(tmp_path / "a.npy", table[:100])
    start = Blocks(tmp_path / "a.npy")
    longer = start.concat(table[100:150], [table[150:N_OLD], table[N_OLD:]])
    assert [block.name[-7:] for block in longer][1:] == [
        "block 2",
        "block 3",
        "block 4",
    ]
    lazy = start.concat(array.from_array(table[100:], chunks=(70, 6)))
    assert (longer.engine, lazy.engine) == ("blocks", "dask")
    assert len(start) == 1
    for stream in (longer, lazy):
        found = np.asarray(consensus(stream, 3, random_state=0))
        np.testing.assert_array_equal(found, expected)
        with pytest.raises(ValueError, match="needs files, whose changes"):
            consensus(stream, 3, checkpoint=tmp_path / "kept")


def test_features_are_concatenated_too(tmp_path):
    X = np.random.default_rng(0).normal(size=(90, 3))
    np.save(tmp_path / "a.npy", X[:40])
    np.save(tmp_path / "b.npy", X[40:])
    longer = Blocks(tmp_path / "a.npy", content="features").concat(tmp_path / "b.npy")
    runs = generate(longer, 3, base_k=4, random_state=0, out=tmp_path / "runs.npy")
    expected = generate(X, 3, base_k=4, random_state=0).labels
    found = np.concatenate([np.column_stack(block.load()) for block in runs])
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match=r"b\.npy is the input"):
        generate(longer, 3, base_k=4, random_state=0, out=tmp_path / "b.npy")


def test_what_does_not_fit_is_refused(table, tmp_path):
    old, new, wide = save(
        tmp_path, old=table[:N_OLD], new=table[N_OLD:], wide=table[:9, :5]
    )
    with pytest.raises(ValueError, match=r"wide\.npy.* has the columns 1, 2, 3, 4, 5;"):
        old.concat(new, wide)
    with pytest.raises(ValueError, match="block 5 has 2 columns, block 1 has 6"):
        consensus(old.concat(table[:9, :2]), 3)
    with pytest.raises(ValueError, match="a function makes its blocks"):
        old.concat(lambda: iter([table]))
    with pytest.raises(TypeError, match="int is not a stream of blocks"):
        old.concat(3)
    labels = consensus(old.concat(new), 3, random_state=0)
    for path in ("old.npy", "new.npy"):
        with pytest.raises(ValueError, match="is the input"):
            labels.write(tmp_path / path)


@pytest.mark.parametrize("stage", ["counts-missing", "counts-missing-(0, 1, 2)"])
def test_kept_counts_that_lack_a_block_are_damaged(stage, table, tmp_path):
    (blocks,) = save(tmp_path, old=np.abs(table[:N_OLD]))
    weights = [1, 1, 1, 0, 0, 0]
    keep = {"random_state": 0, "checkpoint": tmp_path / "kept", "weights": weights}
    consensus(blocks, 3, **keep)
    path = tmp_path / "kept" / f"{stage}.npz"
    arrays = dict(np.load(path))
    np.savez(path, **{**arrays, "lengths": arrays["lengths"][:-1]})
    with pytest.raises(ValueError, match="is damaged, or holds no counts"):
        consensus(blocks, 3, **keep)
