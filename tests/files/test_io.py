"""Files in, files out: what is accepted, what is refused and with which words."""

import csv
import io
import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

from ensclust.io import check_output, read_features, read_labels, write_labels


@pytest.fixture
def file(tmp_path):
    """Return a function that writes text or bytes to a file of that name."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# --- files that cannot be read


def test_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nosuch.csv does not exist"):
        read_features(tmp_path / "nosuch.csv")


def test_directory_is_refused(tmp_path):
    (tmp_path / "data.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"data.csv is a directory"):
        read_features(tmp_path / "data.csv")


def test_unreadable_file_is_named(file, monkeypatch):
    path = file("data.csv", "1,2\n")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may read anything
    with pytest.raises(PermissionError, match=r"data.csv cannot be read: permission"):
        read_features(path)


def test_unknown_extension_is_refused_with_the_list(file):
    with pytest.raises(ValueError, match=r"ends in '.xlsx'. Use one of .csv"):
        read_features(file("data.xlsx", "1"))


# --- ids and choice of columns


def test_id_column_is_kept_as_it_is_and_not_used(file):
    table = read_features(file("data.csv", "x,name\n1,007\n2,b\n"), id_column="name")
    assert table.columns == ("x",)
    assert table.ids == ["007", "b"]


def test_unnamed_first_column_is_the_index(file):
    table = read_features(file("data.csv", ',x,y\n0,1,2\n1,3,4\n"2",5,6\n'))
    assert table.columns == ("x", "y")
    assert table.ids == ["0", "1", "2"]


def test_columns_are_used_in_the_order_given(file):
    table = read_features(file("data.csv", "a,b,c\n1,2,x\n4,5,y\n"), columns=["b", "a"])
    assert table.columns == ("b", "a")
    assert table.values.tolist() == [[2, 1], [5, 4]]


def test_columns_without_header_are_counted_from_one(file):
    table = read_features(file("data.csv", "1,2\n3,4\n"), columns=["2"])
    assert table.values.tolist() == [[2], [4]]


@pytest.mark.parametrize(
    ("text", "choice", "message"),
    [
        ("a,b\n1,2\n", {"columns": ["z"]}, "no column 'z'. Its columns are 'a', 'b'"),
        ("a,a\n1,2\n", {"id_column": "a"}, "has 2 columns 'a'"),
        ("a\n1\n2\n", {"id_column": "a"}, "no columns to use other than the ids"),
    ],
)
def test_choice_of_columns_that_cannot_be_is_refused(file, text, choice, message):
    with pytest.raises(ValueError, match=message):
        read_features(file("data.csv", text), **choice)


# --- arrays and Parquet


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_npy_keeps_the_float_type(tmp_path, dtype):
    X = np.arange(6, dtype=dtype).reshape(3, 2)
    np.save(tmp_path / "data.npy", X)
    values = read_features(tmp_path / "data.npy").values
    assert values.dtype == dtype
    assert (values == X).all()


def test_npz_of_one_array_is_read(tmp_path):
    np.savez(tmp_path / "labels.npz", labels=[[0, 1], [0, -4], [1, 1]])
    values = read_labels(tmp_path / "labels.npz").values
    assert values.tolist() == [[0, 1], [0, -1], [1, 1]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([0, 0, 1], [0, 0, 1]),
        ([True, False, True], [1, 0, 1]),
        (np.array([2, 2**62], np.uint64), [2, 2**62]),
        ([1.0, np.nan, 2.0, 1.0, -1.0], [1, -1, 2, 1, -1]),
        (["b", "a", "", "b"], [1, 0, -1, 1]),
    ],
)
def test_npy_vector_is_one_column_of_labels(tmp_path, labels, expected):
    np.save(tmp_path / "labels.npy", labels)
    values = read_labels(tmp_path / "labels.npy").values
    assert values.tolist() == [[label] for label in expected]


def test_npz_vectors_of_one_length_are_columns_by_name(tmp_path):
    np.savez(tmp_path / "labels.npz", a=[1, 1, 2], b=["x", "y", "x"])
    table = read_labels(tmp_path / "labels.npz")
    assert table.columns == ("a", "b")
    assert table.values.tolist() == [[1, 0], [1, 1], [2, 0]]


def test_npz_with_a_matrix_among_others_wants_a_choice(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=[[1, 2], [3, 4]], y=[0, 1], names=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"different length: X \(2 x 2\), y \(2\), na"):
        read_features(path)
    np.savez(path, X=[[1, 2], [3, 4]], y=[0, 1])
    with pytest.raises(ValueError, match=r"has X \(2 x 2\), y \(2\). Name those to"):
        read_features(path)
    table = read_features(path, columns=["X"], id_column="y")
    assert table.columns == ("X1", "X2")
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert table.ids == [0, 1]


@pytest.mark.parametrize("shape", [(), (2, 2, 2)])
def test_array_of_another_shape_is_refused(tmp_path, shape):
    np.save(tmp_path / "data.npy", np.zeros(shape))
    with pytest.raises(ValueError, match="expected rows and columns"):
        read_features(tmp_path / "data.npy")


def test_array_without_rows_is_refused(tmp_path):
    np.save(tmp_path / "data.npy", np.zeros((0, 3)))
    with pytest.raises(ValueError, match=r"data.npy contains no objects"):
        read_features(tmp_path / "data.npy")


def test_pickled_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "data.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"data.npy cannot be read as an array"):
        read_features(tmp_path / "data.npy")


@pytest.mark.parametrize("name", ["data.npy", "data.npz", "data.parquet"])
@pytest.mark.parametrize("content", [b"", b"no such format"])
def test_broken_binary_file_is_refused_by_name(file, name, content):
    with pytest.raises(ValueError, match=f"{name} cannot be read as"):
        read_features(file(name, content))


def test_npy_feature_that_is_not_finite_is_named_by_row(tmp_path):
    np.save(tmp_path / "data.npy", [[1.0, 2.0], [3.0, np.nan]])
    with pytest.raises(ValueError, match=r"data.npy, row 2, column '2': nan is not"):
        read_features(tmp_path / "data.npy")


def test_npy_fraction_is_no_label(tmp_path):
    np.save(tmp_path / "labels.npy", [[1.0], [0.5], [1.0]])
    with pytest.raises(ValueError, match=r"labels.npy, row 2, column '1': '0.5' is no"):
        read_labels(tmp_path / "labels.npy")


def test_npy_of_complex_numbers_is_refused(tmp_path):
    np.save(tmp_path / "data.npy", np.array([[1j]]))
    with pytest.raises(TypeError, match="complex128"):
        read_labels(tmp_path / "data.npy")
    with pytest.raises(ValueError, match="1j is not a finite number"):
        read_features(tmp_path / "data.npy")


def test_parquet_labels_may_be_categories_with_nulls(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "leiden": pandas.Categorical(["x", None, "y", "x"]),
            "k": pandas.array([1, 2, None, 1], dtype="Int64"),
        }
    )
    frame.to_parquet(tmp_path / "labels.parquet")
    values = read_labels(tmp_path / "labels.parquet").values
    assert values.tolist() == [[0, 1], [-1, 2], [1, -1], [0, 1]]


def test_parquet_index_gives_the_ids(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0], "y": [3, 4]}, index=["cell1", "cell2"])
    frame.to_parquet(tmp_path / "data.parquet")
    table = read_features(tmp_path / "data.parquet")
    assert table.columns == ("x", "y")
    assert table.ids == ["cell1", "cell2"]


def test_parquet_text_among_features_is_named(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0], "colour": ["red"]})
    frame.to_parquet(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"row 1, column 'colour': 'red' is not"):
        read_features(tmp_path / "data.parquet")
    values = read_features(tmp_path / "data.parquet", columns=["x"]).values
    assert values.tolist() == [[1.0]]


def test_parquet_without_pyarrow_gives_the_install_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'pip install "ensclust\[parquet\]"'):
        check_output(tmp_path / "labels.parquet")


# --- standard input and output


def test_dash_reads_standard_input_and_leaves_it_open(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(b"a,b\n1,2\n"))
    monkeypatch.setattr(sys, "stdin", stream)
    assert read_features("-").values.tolist() == [[1, 2]]
    assert not stream.closed


def test_error_in_standard_input_says_so(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,b\n1,x\n")))
    with pytest.raises(ValueError, match=r"^<stdin>, line 2, column 'b': 'x'"):
        read_features("-")


def test_dash_writes_csv_to_standard_output(capsys):
    write_labels("-", np.array([0, 1]))
    assert capsys.readouterr().out == "object,cluster\n0,0\n1,1\n"


# --- writing


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("labels.csv", 'object,k2,k3\n"a,b",0,0\nc,1,2\n'),
        ("labels.tsv", "object\tk2\tk3\na,b\t0\t0\nc\t1\t2\n"),
    ],
)
def test_text_output_has_a_header_and_quotes(tmp_path, name, expected):
    labels = np.array([[0, 0], [1, 2]])
    write_labels(tmp_path / name, labels, names=["k2", "k3"], ids=["a,b", "c"])
    assert (tmp_path / name).read_text() == expected


def test_npy_output_holds_the_labels_only(tmp_path):
    write_labels(tmp_path / "labels.npy", np.array([2, 0, 1]), ids=["a", "b", "c"])
    assert np.load(tmp_path / "labels.npy").tolist() == [2, 0, 1]


def test_parquet_output_reads_back(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "labels.parquet"
    write_labels(path, np.array([0, 0, 1]), ids=["a", "b", "c"])
    table = read_labels(path, id_column="object")
    assert table.columns == ("cluster",)
    assert table.values.ravel().tolist() == [0, 0, 1]
    assert table.ids == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["labels.csv", "labels.npy", "labels.parquet"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, name, error
):
    path = tmp_path / name
    path.write_text("old")

    def fail(_):
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        write_labels(path, np.array([0, 1]))
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_full_disk_is_reported_with_the_path(tmp_path, monkeypatch):
    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"labels.csv could not be written: No sp"):
        write_labels(tmp_path / "labels.csv", np.array([0]))


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_rewritten_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("old")
    path.chmod(0o640)
    write_labels(path, np.array([0]))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name == "nt", reason="symbolic links")
def test_link_stays_a_link_and_its_target_is_rewritten(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    write_labels(link, np.array([0]))
    assert link.is_symlink()
    assert target.read_text() == "object,cluster\n0,0\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_labels(pipe, np.array([5]))
        assert os.read(reader, 100) == b"object,cluster\n0,5\n"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# --- what is known before the long work


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("no/labels.csv", FileNotFoundError, "directory .*no does not exist"),
        ("labels.xls", ValueError, "ends in '.xls'. Use one of .csv"),
        ("", IsADirectoryError, "is a directory; the output must be"),
        ("new/", IsADirectoryError, "new/ is a directory; the output must be"),
    ],
)
def test_output_that_cannot_be_is_known_early(tmp_path, name, error, message):
    with pytest.raises(error, match=message):
        check_output(f"{tmp_path}/{name}")


@pytest.mark.parametrize("refused", ["labels.csv", ""])
def test_output_without_permission_is_known_early(tmp_path, monkeypatch, refused):
    (tmp_path / "labels.csv").write_text("old")
    # root may write anywhere
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path / refused)
    with pytest.raises(PermissionError, match="no permission to write to"):
        check_output(tmp_path / "labels.csv")


def test_checking_the_output_leaves_no_trace(tmp_path):
    check_output(tmp_path / "labels.csv")
    check_output("-")
    assert not list(Path(tmp_path).iterdir())


@pytest.mark.parametrize("ids", [["a\rb", "c"], ["a\r", "c"], ["a\r\nb", "\r"]])
def test_ids_with_a_carriage_return_are_quoted(tmp_path, ids):
    path = tmp_path / "labels.csv"
    write_labels(path, np.array([0, 1]), ids=ids)
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    assert [row[0] for row in rows] == ["object", *ids]
    first = path.read_bytes().split(b"\n", 1)[1]
    assert first.startswith(b'"')
    write_labels(path, np.array([0, 1]), ids=["a", "c"])
    assert path.read_text() == "object,cluster\na,0\nc,1\n"
