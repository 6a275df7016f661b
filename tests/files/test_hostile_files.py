"""Files that would run code, or take all memory, are refused by every reader.

What a report makes of hostile names: test_report, test_report_browser, test_html.
"""

import ast
import copy
import io
import json
import pickle
import zipfile

import numpy as np
import pytest

import ensclust
from conftest import ROOT, cli_runner
from ensclust import Blocks, CoAssociation, consensus, datasets
from ensclust._support import memory
from ensclust._trees.linkage import link
from ensclust.cli import _info, main
from ensclust.io import read_features, read_labels
from strategies import random_ensemble

SOURCE = ROOT / "src" / "ensclust"


class Trap:
    """Unpickling it writes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return exec, (f"open({str(self.path)!r}, 'w').close()",)


@pytest.fixture
def trap(tmp_path):
    """Return what to pickle; loading it fails the test."""
    sprung = tmp_path / "sprung"
    yield Trap(sprung)
    assert not sprung.exists()


def array_file(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=True)
    return file.getvalue()


def write_objects(path, trap):
    """Write an array of objects as NPY or, by the name, NPZ."""
    array = np.array([[trap, 1], [2, 3]], dtype=object)
    if path.suffix == ".npz":
        np.savez(path, X=array, y=array, allow_pickle=True)
    else:
        path.write_bytes(array_file(array))


def header(shape, dtype="<f8"):
    """Return an NPY file that has a head and hardly a body."""
    file = io.BytesIO()
    facts = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, facts)
    return file.getvalue() + bytes(64)


def write_zip(path, **files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"{name}.npy", content)


READERS = {
    "read_features": read_features,
    "read_labels": read_labels,
    "consensus": lambda path: consensus(path, 2),
    "fit": lambda path: ensclust.KCC(2, base="precomputed").fit(path),
    "inspect": _info.describe,
}
every_reader = pytest.mark.parametrize("read", READERS.values(), ids=READERS)


@every_reader
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_no_reader_unpickles(tmp_path, trap, read, suffix):
    path = tmp_path / f"data{suffix}"
    write_objects(path, trap)
    with pytest.raises(ValueError, match=f"data{suffix} .* Python objects, which are"):
        read(path)


def test_no_reader_takes_a_bare_pickle(tmp_path, trap):
    path = tmp_path / "data.npy"
    path.write_bytes(pickle.dumps(trap))
    for read in (*READERS.values(), Blocks):
        with pytest.raises(ValueError, match="it is not an NPY or NPZ file"):
            read(path)


def test_blocks_do_not_unpickle(tmp_path, trap):
    write_objects(tmp_path / "data.npy", trap)
    with pytest.raises(ValueError, match="Python objects, which are never loaded"):
        Blocks(tmp_path / "data.npy")


@pytest.mark.parametrize(
    "codecs",
    [
        {"compressor": {"id": "pickle"}, "filters": None},
        {"compressor": None, "filters": [{"id": "pickle"}]},
    ],
)
def test_zarr_chunks_are_not_unpickled(tmp_path, trap, codecs):
    pytest.importorskip("zarr")
    shape = {"shape": [4, 2], "chunks": [4, 2], "dtype": "<i8", "order": "C"}
    facts = {"zarr_format": 2, "fill_value": 0, **shape, **codecs}
    (tmp_path / ".zarray").write_text(json.dumps(facts))
    (tmp_path / "0.0").write_bytes(pickle.dumps(trap))
    with pytest.raises(ValueError, match="holds pickled Python objects"):
        consensus(Blocks(tmp_path), 2)


def test_zarr_attributes_may_name_pickles(tmp_path):
    zarr = pytest.importorskip("zarr")
    array = zarr.create_array(tmp_path / "z", shape=(4, 2), chunks=(2, 2), dtype="i8")
    array[:] = [[0, 0], [0, 0], [1, 1], [1, 1]]
    array.attrs["name"] = "made.pickle"
    labels = consensus(Blocks(tmp_path / "z"), 2, random_state=0)
    assert np.asarray(labels).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "command",
    [
        ["cluster", "{}", "-k", "2"],
        ["consensus", "{}", "-k", "2"],
        ["consensus", "{}", "-k", "2", "--engine", "blocks", "-o", "labels.npy"],
        ["select-k", "{}"],
        ["compare", "{}", "-k", "2"],
        ["info", "{}"],
        ["certainty", "{}", "{}"],
        ["report", "{}", "{}", "-o", "page.html"],
    ],
    ids=lambda command: " ".join(command[:1]),
)
def test_no_command_unpickles(tmp_path, trap, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_objects(tmp_path / "data.npy", trap)
    words = [word.format(tmp_path / "data.npy") for word in command]
    result = cli_runner().invoke(main, words)
    assert result.exit_code == 2
    assert "Python objects, which are never loaded" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.npy"]


def test_datasets_and_checkpoints_do_not_unpickle(tmp_path, trap):
    write_objects(tmp_path / "wine.npz", trap)
    with pytest.raises(ValueError, match=r"wine\.npz.*Python objects"):
        datasets.load("wine", data_home=tmp_path)
    operator = CoAssociation(random_ensemble(50, 5, 4, 0))
    write_objects(tmp_path / "merges.npz", trap)
    with pytest.raises(ValueError, match="is damaged, or holds no merges"):
        link(operator, max_memory=1, checkpoint=tmp_path)
    np.save(tmp_path / "runs.npy", operator.ensemble.labels)
    (tmp_path / "kept").mkdir()
    write_objects(tmp_path / "kept" / "counts-missing.npz", trap)
    with pytest.raises(ValueError, match="is damaged, or holds no counts"):
        consensus(Blocks(tmp_path / "runs.npy"), 3, checkpoint=tmp_path / "kept")


def test_the_source_has_nothing_that_unpickles_or_runs_text():
    refused = {"pickle", "dill", "cloudpickle", "shelve", "marshal"}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names}
                names.add(getattr(node, "module", None))
                assert not names & refused, path
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("eval", "exec", "joblib.load"), path
                assert not called.endswith("read_pickle"), path
                if called in ("np.load", "npy.read_array"):
                    assert "allow_pickle=False" in ast.unparse(node), path


@pytest.mark.parametrize("shape", [(10**15, 3), (10**30, 3), (2**62, 2**62), (-5, 3)])
def test_a_head_that_promises_too_much_is_not_believed(tmp_path, shape):
    (tmp_path / "data.npy").write_bytes(header(shape))
    write_zip(tmp_path / "data.npz", X=header(shape))
    for path in tmp_path.iterdir():
        for read in (read_features, read_labels):
            with pytest.raises(ValueError, match="but only 64 bytes follow"):
                read(path)
    with pytest.raises(ValueError, match="but only 64 bytes follow"):
        Blocks(tmp_path / "data.npy")


def test_an_archive_of_other_files_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "data.npz", "w") as archive:
        archive.writestr("readme.txt", "no array at all")
    with pytest.raises(ValueError, match="it is not an NPY or NPZ file"):
        read_labels(tmp_path / "data.npz")


def test_what_follows_an_array_in_an_archive_is_checked_too(tmp_path):
    write_zip(tmp_path / "data.npz", X=array_file(np.eye(3)) + bytes(2**22))
    assert read_features(tmp_path / "data.npz").values.shape == (3, 3)


@pytest.mark.parametrize("n_bytes", [2**25, 2**62])
def test_an_array_is_not_followed_by_bytes_without_end(tmp_path, n_bytes):
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open("X.npy", "w", force_zip64=True) as member:
            member.write(array_file(np.eye(3)) + bytes(2**25))
        archive.getinfo("X.npy").file_size = n_bytes  # as its directory says
    for read in (read_features, read_labels):
        with pytest.raises(ValueError, match=r"X.npy has [\d,]+ bytes after its array"):
            read(path)


def test_few_bytes_after_many_arrays_are_many(tmp_path):
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(3):
            archive.writestr(f"X{i}.npy", array_file(np.eye(3)) + bytes(2**23))
    with pytest.raises(
        ValueError, match=r"X2\.npy has 8,388,608 bytes after its array"
    ):
        read_features(path)


def test_members_that_are_the_same_bytes_are_refused(tmp_path):
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", array_file(np.eye(3)))
        again = copy.copy(archive.getinfo("X.npy"))
        again.filename = "Y.npy"
        archive.filelist.append(again)
    with pytest.raises(ValueError, match=r"X\.npy and Y\.npy overlap in the archive"):
        read_features(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_unpacks_without_a_limit_is_refused(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "data.npz", "w", method) as archive:
        archive.writestr("X.npy", array_file(np.eye(3)) + bytes(2**22))
    for read in (read_features, read_labels):
        with pytest.raises(ValueError, match=f"X.npy uses compression method {method}"):
            read(tmp_path / "data.npz")


@pytest.fixture
def little_memory(monkeypatch):
    """Let a machine have 64 kB."""
    monkeypatch.setattr(memory, "available", lambda: 2**16)


MUCH = r"needs [\d.e-]+ GiB of memory; 6\.1e-05 GiB are available\. "


@pytest.mark.usefixtures("little_memory")
def test_an_archive_is_measured_before_it_is_unpacked(tmp_path):
    content = array_file(np.zeros((100_000, 2)))
    write_zip(tmp_path / "bomb.npz", X=content)
    assert (tmp_path / "bomb.npz").stat().st_size < 4000  # packed 400 to 1
    with pytest.raises(MemoryError, match=rf"reading .*bomb.npz {MUCH}Save the arrays"):
        read_features(tmp_path / "bomb.npz")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("suffix", [".npy", ".parquet"])
def test_a_table_is_measured_before_it_is_read(tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    table = np.zeros((100_000, 2))
    if suffix == ".npy":
        np.save(path, table)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.table({"a": table[:, 0], "b": table[:, 1]}), path)
        assert path.stat().st_size < 20_000  # equal values are stored once
    for read in (read_features, read_labels):
        with pytest.raises(MemoryError, match=rf"table of .*{MUCH}Read it in"):
            read(path)
    result = cli_runner().invoke(main, ["cluster", str(path), "-k", "2"])
    assert result.exit_code == 2
    assert "of memory; 6.1e-05 GiB are available." in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.usefixtures("little_memory")
def test_an_h5ad_file_is_measured_before_it_is_read(tmp_path):
    h5py = pytest.importorskip("h5py")
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(np.zeros((4, 3))).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["var/_index"]
        file["var"].create_dataset("_index", (10**9,), "i8", chunks=(1000,))
    with pytest.raises(MemoryError, match=f"var of .*cells.h5ad {MUCH}Name other"):
        read_features(path)


@pytest.mark.parametrize("suffix", ["h5ad", "npy", "parquet"])
@pytest.mark.parametrize(("dtype", "size"), [("f4", 4), ("f8", 8)])
def test_features_take_the_memory_of_their_own_type(
    tmp_path, monkeypatch, suffix, dtype, size
):
    X = np.zeros((10, 800), dtype)
    path = tmp_path / f"features.{suffix}"
    if suffix == "h5ad":
        pytest.importorskip("anndata").AnnData(X).write_h5ad(path)
    elif suffix == "npy":
        np.save(path, X)
    else:
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        columns = {str(i): column for i, column in enumerate(X.T)}
        parquet.write_table(pyarrow.table(columns), path)
    monkeypatch.setattr(memory, "available", lambda: size * X.size)
    assert read_features(path).values.dtype == dtype
    monkeypatch.setattr(memory, "available", lambda: size * X.size - 1)
    with pytest.raises(MemoryError, match="the table of"):
        read_features(path)


@pytest.mark.usefixtures("little_memory")
def test_a_chunk_of_zarr_is_measured_before_it_is_read(tmp_path):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "z", shape=(10**9, 2), chunks=(10**8, 1), dtype="i8")
    with pytest.raises(MemoryError, match=rf"100,000,000 rows of .*{MUCH}Store it in"):
        Blocks(tmp_path / "z")
