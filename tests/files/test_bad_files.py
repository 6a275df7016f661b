"""Wrong files in and out: each named, with its line; nothing written half."""

import errno
import io
import os

import numpy as np
import pytest

import ensclust
from bad_input import FOUND, LABELS, RUNS, refused, table
from ensclust import Blocks, datasets, scverse
from ensclust.io import check_output, read_features, read_labels, write_labels

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")

CELLS = pandas.DataFrame({"a": [0, 0, 1, 1], "b": list("xxyy"), "f": [0.5, 1, 2, 3]})


def array_file(array):
    handle = io.BytesIO()
    np.save(handle, array)
    return handle.getvalue()


def parquet_file(**columns):
    handle = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), handle)
    return handle.getvalue()


def spoilt(content):
    """Return a file with some bytes in the middle of its data turned round."""
    return content[:60] + bytes(255 - byte for byte in content[60:160]) + content[160:]


def promising_header():
    """Return an array file that claims far more numbers than it has."""
    handle = io.BytesIO()
    facts = {"descr": "<f8", "fortran_order": False, "shape": (10**12, 10**6)}
    np.lib.format.write_array_header_1_0(handle, facts)
    return handle.getvalue() + bytes(64)


LONG = parquet_file(a=list(range(1000)), b=[i % 7 for i in range(1000)])
PAIRS = "a,b\n1,2\n3,4\n"
NESTED = parquet_file(a=[1, 2], b=[[1], [2]])
BYTES = parquet_file(a=[b"x", b"y"])


FILES = [
    (read_labels, "a.csv", "a,b\n1,2,3\n3,4\n", {}, "line 2: found 3 fields"),
    (read_labels, "a.tsv", "a\tb\n1\n", {}, "line 2: found 1 field, expected 2"),
    (read_labels, "a.csv", "a,b\n1,inf\n", {}, "line 2, column 'b': 'inf' is no"),
    (
        read_labels,
        "a.csv",
        "a\n1\n1e400\n",
        {},
        "line 3, column 'a': '1e400' is",
    ),
    (read_labels, "a.csv", f"a\n1\n{'9' * 5000}\n", {}, "line 3, column 'a': '999"),
    (read_features, "a.csv", f"a\n1\n{'9' * 5000}\n", {}, "line 3, column 'a'"),
    (read_labels, "a.csv", b"a,b\n1,\xe9\n", {}, "is not UTF-8 text .byte 0xe9"),
    (read_labels, "a.csv", "x" * 200_000 + ",b\n1,2\n", {}, "record at line 1: fi"),
    (read_labels, "a.csv", "a,a\n1,2\n", {"columns": ["a"]}, "has 2 columns 'a'"),
    (read_labels, "a.csv", PAIRS, {"columns": "ab"}, "columns='ab'; expected a li"),
    (read_labels, "a.csv", PAIRS, {"columns": 3}, "columns=3; expected a list"),
    (read_labels, "a.csv", PAIRS, {"columns": [0]}, "has no column 0"),
    (read_labels, "a.csv", PAIRS, {"columns": [["a"]]}, "columns=.*expected a li"),
    (read_labels, "a.csv", PAIRS, {"id_column": ["a"]}, r"has no column \['a'\]"),
    (read_labels, "a.csv", PAIRS, {"header": "yes"}, "header='yes'; expected True"),
    (read_features, "a.npy", array_file([["a"]]), {}, "row 1, column '1': 'a' is"),
    (read_features, "a.npy", array_file(np.zeros((2, 0))), {}, "has no columns"),
    (read_features, "a.npy", b"\x93NUMPY\x01\x00\xff\xff", {}, "cannot be read as"),
    (read_features, "a.npy", promising_header(), {}, "cannot be read as an array"),
    (read_labels, "a.npy", promising_header(), {}, "cannot be read as an array"),
    (read_labels, "a.npy", array_file(LABELS)[:200], {}, "cannot be read as an ar"),
    (read_labels, "a.npy", array_file(np.zeros((2, 1), "M8[s]")), {}, "datetime64"),
    (read_labels, "a.npy", array_file([[b"a"]]), {}, "column '1' has dtype .S1"),
    (read_labels, "a.npz", b"PK\x03\x04", {}, "a.npz cannot be read as an array"),
    (read_labels, "a.parquet", b"PAR1....PAR1", {}, "cannot be read as Parquet"),
    (read_labels, "a.parquet", LONG[:100], {}, "cannot be read as Parquet"),
    (read_labels, "a.parquet", LONG[:-5], {}, "cannot be read as Parquet"),
    (read_labels, "a.parquet", spoilt(LONG), {}, "cannot be read as Parquet"),
    (read_labels, "a.parquet", NESTED, {}, r"row 1, column 'b': array\(\[1\]\) is"),
    (read_labels, "a.parquet", BYTES, {}, "row 1, column 'a': b'x' is not a label"),
    (read_features, "a.parquet", NESTED, {}, "row 1, column 'b'.*finite number"),
    (read_labels, "a.parquet", parquet_file(a=[]), {}, "contains no objects"),
    (read_labels, "a.parquet", parquet_file(), {}, "contains no objects"),
]


@pytest.mark.parametrize(
    ("read", "name", "content", "choice", "words"),
    FILES,
    ids=[f"{name}-{words}" for _, name, *_, words in FILES],
)
def test_file(tmp_path, read, name, content, choice, words):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    refused(lambda: read(path, **choice), f"{name}.*{words}|^{words}")


@table(
    (lambda: read_labels(None), "path is of type NoneType; expected a file"),
    (lambda: read_features(3), "path is of type int"),
    (lambda: read_labels(b"a.csv"), "path is of type bytes"),
    (lambda: check_output(None), "path is of type NoneType"),
    (lambda: write_labels("a.csv", None), r"labels has shape \(\) and type object"),
    (lambda: write_labels("a.csv", []), r"labels has shape \(0,\)"),
    (lambda: write_labels("a.csv", FOUND / 2), "type float64; expected integers"),
    (lambda: write_labels("a.npy", np.zeros((2, 2, 2), int)), r"shape \(2, 2, 2\)"),
    (lambda: write_labels("a.csv", LABELS), "names has 1 entries; expected 3"),
    (lambda: write_labels("a.csv", FOUND, names=[]), "names has 0 entries"),
    (lambda: write_labels("a.csv", FOUND, names="c"), "names is of type str"),
    (lambda: write_labels("a.csv", FOUND, ids=[1]), "ids has 1 entries"),
    (lambda: write_labels("a.csv", FOUND, ids=3), "ids is of type int"),
    (lambda: write_labels("a.npz", FOUND, names=[3]), "names contains 3. Use distinct"),
    (lambda: write_labels("a.npz", FOUND, names=["file"]), "names contains 'file'"),
    (lambda: write_labels("a.csv", FOUND, names=["object"]), "names contains 'object'"),
    (
        lambda: write_labels("a.csv", LABELS, names=["a", "b", "a"]),
        "names contains 'a'",
    ),
    (lambda: datasets.load("wine", data_home=3), "path is of type int"),
    (lambda: datasets.info(None), "name=None is not a dataset"),
    (lambda: cells(None), "adata is a NoneType; expected AnnData"),
    (lambda: cells(adata(), 3), r"keys=3 is not a list"),
    (lambda: cells(adata(), ["a"], n_clusters=9), "n_clusters=9 is larger"),
    (lambda: cells(adata(), ["a"], n_clusters=[2, 3]), r"'n_clusters' .*Got \[2, 3\]"),
    (lambda: cells(adata(), ["a"], method="x"), "method='x' is not supported"),
    (lambda: cells(adata(), ["a"], base="kmeans"), "base='kmeans' cannot be set"),
    (lambda: cells(adata(), ["a"], resolutions=1), "resolutions=1 is not a list"),
    (lambda: cells(adata(), ["a"], key_added=None), "key_added=None; expected"),
    (lambda: cells(adata(), ["a"], noise="x"), "noise='x' is not supported"),
)
def test_call(tmp_path, monkeypatch, call, words):
    monkeypatch.chdir(tmp_path)
    refused(call, words)
    assert not list(tmp_path.iterdir())


def adata():
    return anndata.AnnData(obs=CELLS.set_index(CELLS.index.astype(str)))


def cells(data, keys=("a",), n_clusters=2, **more):
    scverse.consensus(data, keys, n_clusters=n_clusters, **more)


def test_h5ad_that_is_cut_short_is_named(tmp_path):
    path = tmp_path / "cells.h5ad"
    adata().write_h5ad(path)
    path.write_bytes(path.read_bytes()[:3000])
    refused(lambda: read_labels(path, columns=["a"]), "cells.h5ad cannot be read as h5")


def scalar_obs(file):
    del file["obs"]
    file["obs"] = 5


def nameless_obs(file):
    file["obs"].attrs["_index"] = "none"


def no_categories(file):
    del file["obs/b/categories"]


def wide_x(file):
    attributes = dict(file["X"].attrs)
    del file["X"]
    file.create_dataset("X", (4, 10**10), "f8", chunks=(4, 100))
    file["X"].attrs.update(attributes)


@pytest.mark.parametrize(
    ("damage", "features"),
    [
        (scalar_obs, False),
        (scalar_obs, True),
        (nameless_obs, False),
        (nameless_obs, True),
        (no_categories, False),
        (wide_x, True),
    ],
)
def test_a_damaged_h5ad_file_is_named(tmp_path, damage, features):
    path = tmp_path / "cells.h5ad"
    data = anndata.AnnData(np.ones((4, 2)), obs=adata().obs)
    data.obs["b"] = data.obs["b"].astype("category")
    data.write_h5ad(path)
    with h5py.File(path, "r+") as file:
        damage(file)

    def read():
        return read_features(path) if features else read_labels(path, columns=["b"])

    refused(read, r"cells.h5ad (cannot be read as h5ad|is damaged|was written by)")


@pytest.mark.slow
def test_a_table_of_100000_columns_is_read(tmp_path):
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{i}" for i in range(100_000))
    path.write_text(names + "\n" + ",".join(["1"] * 100_000) + "\n")
    assert read_labels(path).values.shape == (1, 100_000)


def test_quoted_newlines_and_byte_order_marks_are_no_errors(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text('\ufeff"a","b"\n"x\ny",1\nz,2\nz,1\n', encoding="utf-8")
    found = read_labels(path)
    assert (found.columns, found.values.tolist()) == (
        ("a", "b"),
        [[0, 1], [1, 2], [1, 1]],
    )


@pytest.mark.parametrize("name", ["a.csv", "a.npz", "a.parquet"])
def test_ids_of_several_kinds_are_written_as_texts(tmp_path, name):
    write_labels(tmp_path / name, FOUND[:4], ids=[None, 1, "b", {}])
    assert read_labels(tmp_path / name).ids == ["", "1", "b", "{}"]


# --- faults of the disk

WRITERS = {
    "a.csv": lambda path: write_labels(path, FOUND),
    "a.tsv": lambda path: write_labels(path, FOUND),
    "a.npy": lambda path: write_labels(path, FOUND),
    "a.npz": lambda path: write_labels(path, FOUND),
    "a.parquet": lambda path: write_labels(path, FOUND),
    "a.html": lambda path: ensclust.write_report(path, RUNS, FOUND),
    "b.npy": lambda path: ensclust.consensus(Blocks(LABELS), 2).write(path),
}


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("fault", ["space", "pathlib.Path.replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, name, fault
):
    if fault == "space":  # a file that is mapped asks for it, others write
        fault = "os.posix_fallocate" if name == "b.npy" else "os.fsync"
    path = tmp_path / name
    path.write_text("old")
    monkeypatch.setattr(fault, full)
    words = rf"{name} could not be written: No space left on device\.$"
    refused(lambda: WRITERS[name](path), words)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")  # noqa: PTH110
def test_a_device_that_is_full_is_named():
    words = "/dev/full could not be written: No space left on device"
    refused(lambda: write_labels("/dev/full", FOUND), words)


def test_a_full_disk_is_not_blamed_on_the_block_that_was_read(tmp_path, monkeypatch):
    stream = ensclust.consensus(Blocks(LABELS, rows=2), 2)
    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    refused(lambda: stream.write(tmp_path / "a.parquet"), r"a\.parquet could not be wr")
    assert not list(tmp_path.iterdir())
