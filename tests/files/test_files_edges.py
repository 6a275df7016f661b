"""Edge cases of files that some change to the source would break."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.io import savemat

from ensclust import datasets
from ensclust._files import archives, block_files, cleaning, h5ad, tables
from ensclust._files.cells import Codes
from ensclust._files.profile import profile
from ensclust.io import read_features, read_labels

KINDS = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]


@pytest.mark.parametrize("kind", KINDS)
def test_matrices_of_matlab_may_have_any_type_of_numbers(tmp_path, kind):
    X = np.array([[100, 2, 3], [4, 5, 6]], kind)
    savemat(tmp_path / "X.mat", {"X": X})
    assert (read_features(tmp_path / "X.mat").values == X).all()


@pytest.mark.parametrize("kind", ["single", "double", "int32", "logical"])
def test_matrices_of_matlab_7_3_are_known_by_their_class(tmp_path, kind):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.mat", "w") as file:
        file["X"] = np.array([[1, 0, 1], [0, 1, 1]], np.float32)
        file["X"].attrs["MATLAB_class"] = np.bytes_(kind)
        file["unknown"] = np.zeros(2)  # of no class: numbers, but no matrix
        file["words"] = np.array([[99, 100]], np.uint16)
        file["words"].attrs["MATLAB_class"] = np.bytes_("char")
    table = read_features(tmp_path / "X.mat")
    assert table.values.tolist() == [[1, 0], [0, 1], [1, 1]]


def test_a_second_column_of_ids_is_no_clustering(tmp_path):
    rows = "".join(f"a{i},b{i},{i % 3}\n" for i in range(12))
    path = tmp_path / "runs.csv"
    path.write_text(f"first,cell_id,run\n{rows}")
    with pytest.raises(ValueError, match="'first' has 12 values"):
        read_labels(path)
    path.write_text(f"first,second,run\n{rows}")
    with pytest.raises(ValueError, match="'second' has 12 values"):
        read_labels(path)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ("abab", True),
        ("abcabc", True),
        ("abcdab", False),
        ("ab", True),
        ("aaaa", False),
    ],
)
def test_texts_may_be_clusters_if_half_as_many_as_objects(cells, expected):
    column = Codes()
    column.add(cells, range(len(cells)))
    assert cleaning.may_be_clusters(column) is expected


@pytest.mark.parametrize(
    ("values", "role"),
    [([1, 2, 3, 1, 2, 3], "label or feature"), ([1, 2, 3, 4, 1, 2], "feature")],
)
def test_whole_numbers_may_be_labels_if_half_as_many_as_objects(tmp_path, values, role):
    path = tmp_path / "X.csv"
    path.write_text("x,y\n" + "".join(f"{v},{v + 0.5}\n" for v in values))
    assert [column["role"] for column in profile(path)["columns"]] == [role, "feature"]


def test_entries_of_h5ad_are_as_large_as_all_their_arrays(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.h5", "w") as file:
        file["group/a"] = np.zeros((5, 7), np.float32)
        file["group/b"] = np.zeros(3, np.int64)
        assert h5ad._size(file["group/a"]) == 140
        assert h5ad._size(file["group"]) == 164


def test_only_arrays_that_are_asked_for_are_read(tmp_path):
    np.savez(tmp_path / "X.npz", a=np.zeros(3), b=np.ones(4))
    assert list(archives.read_arrays(tmp_path / "X.npz", ["b"])) == ["b"]
    assert list(archives.read_arrays(tmp_path / "X.npz")) == ["a", "b"]


def test_other_arrays_may_have_other_lengths_than_those_that_are_named(tmp_path):
    np.savez(tmp_path / "X.npz", a=np.zeros((3, 2)), b=np.ones(4), c=np.arange(3.0))
    table = read_features(tmp_path / "X.npz", columns=["c", "a"])
    assert table.values.tolist() == [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
    assert table.columns == ("c", "a1", "a2")


@pytest.mark.parametrize(
    ("pieces", "step", "expected"),
    [
        ([3, 3, 3, 10], 5, [0, 3, 6, 9, 14, 19]),
        ([3, 2, 4], 5, [0, 5, 9]),
        ([], 10, [0, 10, 19]),
        ([], 19, [0, 19]),
    ],
)
def test_blocks_end_with_row_groups_unless_these_are_too_large(pieces, step, expected):
    source = SimpleNamespace(pieces=pieces, n_rows=19)
    assert block_files.edges(source, step) == expected


def test_texts_are_the_same_in_every_block_of_lines(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("ensclust._files.text._SAMPLE", 3)
    monkeypatch.setattr("ensclust._files.tables._ROWS", 4)
    cells = ["red", "blue", "red", "", "green", "blue"] * 5
    lines = "".join(f"{i}.5,{cell}\n" for i, cell in enumerate(cells))
    path = tmp_path / "X.csv"
    path.write_text(f"x,colour\n{lines}")
    table = read_features(path, categorical="join", missing="impute")
    names = ["blue", "green", "red"]
    expected = [names.index(cell) if cell else -1 for cell in cells]
    assert table.categories.values[:, 0].tolist() == expected
    assert table.values[:, 0].tolist() == [i + 0.5 for i in range(30)]


def test_a_matrix_of_no_class_is_one_of_numbers(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "X.mat", "w") as file:
        file["X"] = np.array([[1.5, 0, 1], [0, 1, 1]])
    assert read_features(tmp_path / "X.mat").values.tolist() == [
        [1.5, 0],
        [0, 1],
        [1, 1],
    ]


def test_names_that_come_twice_in_an_old_file_of_matlab_are_no_warning(tmp_path):
    parts = []
    for i in range(2):
        path = tmp_path / f"{i}.mat"
        savemat(path, {"X": np.arange(6.0).reshape(3, 2) + i}, format="4")
        parts.append(path.read_bytes())
    (tmp_path / "X.mat").write_bytes(b"".join(parts))
    assert read_features(tmp_path / "X.mat").values[0, 0] in {0, 1}


def test_the_delimiter_is_not_one_within_quotes_after_a_space(tmp_path):
    path = tmp_path / "X.csv"
    path.write_text('a;b\n1; "x,y,z"\n2; "u"\n3; "v,w"\n4; "x"\n')
    table = read_features(path, columns=["a"])
    assert table.values[:, 0].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("first", [0, 1])
def test_whole_numbers_that_all_differ_are_distinct_from_zero_on(first):
    assert tables._all_distinct(np.arange(first, first + 3))
    assert not tables._all_distinct(np.arange(-1, 3))
    assert not tables._all_distinct(np.arange(2))
    assert not tables._all_distinct(np.array([1, 2, 2]))


def test_empty_cells_are_no_value_of_a_column_of_texts(tmp_path):
    path = tmp_path / "X.csv"
    path.write_text("x,colour\n1.5,red\n2.5,\n3.5,blue\n4.5,red\n")
    colour = profile(path)["columns"][1]
    assert (colour["n_values"], colour["examples"]) == (2, ["red", "blue"])
    assert colour["n_missing"] == 1


def test_what_is_known_of_datasets_cannot_be_changed():
    assert isinstance(datasets.info("bc").class_names, tuple)
    assert isinstance(datasets.info("bc").class_counts, tuple)
