"""MATLAB files of versions 4, 5 and 7.3: the table among their matrices is found."""

import struct
import sys
import zlib

import numpy as np
import pytest
from scipy.io import savemat

from bad_input import refused
from conftest import cli_runner
from ensclust._support import memory
from ensclust.cli import main
from ensclust.io import read_features, read_labels

RUNS = np.random.default_rng(0).integers(1, 4, (30, 5))
TRUTH = np.repeat([1.0, 2.0, 3.0], 10)


def save(path, version, **matrices):
    """Write matrices as MATLAB does: two axes at least, in 7.3 the last one first."""
    matrices = {name: np.atleast_2d(array) for name, array in matrices.items()}
    if version != "7.3":
        savemat(path, matrices, format=version[0], do_compression=version == "5z")
        return path
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in matrices.items():
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        file.create_group("#refs#")
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(116))
    return path


every = pytest.mark.parametrize("version", ["4", "5", "5z", "7.3"])


@every
@pytest.mark.parametrize("truth", [TRUTH[:, None], TRUTH])
def test_the_matrix_of_labels_is_found_beside_the_truth(tmp_path, version, truth):
    path = save(tmp_path / "runs.mat", version, gt=truth, members=RUNS * 1.0, k=3.0)
    table = read_labels(path)
    assert (table.values == RUNS).all()
    assert table.columns == ("1", "2", "3", "4", "5")
    shape = " x ".join(map(str, np.atleast_2d(truth).shape))
    (note,) = table.notes
    assert note.startswith("labels are members; left out: ")
    assert f"gt ({shape})" in note
    named = read_labels(path, columns=["gt"])
    assert (named.values[:, 0] == TRUTH).all()
    assert named.notes == ()
    both = read_labels(path, columns=["members", "gt"])
    assert both.columns == (*(f"members{i}" for i in range(1, 6)), "gt")


@every
def test_a_matrix_of_clusterings_by_objects_is_turned_round(tmp_path, version):
    path = save(tmp_path / "runs.mat", version, y=TRUTH, E=RUNS.T)
    table = read_labels(path)
    assert (table.values == RUNS).all()
    assert table.notes == ("labels are E, transposed; left out: y (1 x 30)",)


@every
def test_features_are_read(tmp_path, version):
    X = np.random.default_rng(0).normal(size=(40, 3))
    path = save(tmp_path / "data.mat", version, fea=X, gnd=np.arange(40))
    table = read_features(path)
    assert (table.values == X).all()
    assert table.notes == ("features are fea; left out: gnd (1 x 40)",)
    assert (read_features(path, columns=["fea"]).values == X).all()


@every
def test_several_matrices_want_a_choice(tmp_path, version):
    path = save(tmp_path / "two.mat", version, A=RUNS, B=RUNS[:, :2], y=TRUTH)
    refused(lambda: read_labels(path), r"has A \(30 x 5\), B \(30 x 2\).*--columns")
    assert read_labels(path, columns=["B"]).values.shape == (30, 2)


def test_vectors_are_columns(tmp_path):
    path = save(tmp_path / "runs.mat", "5", a=RUNS[:, 0], b=RUNS[:, 1:2])
    table = read_labels(path)
    assert table.columns == ("a", "b")
    assert (table.values == RUNS[:, :2]).all()
    assert table.notes == ("labels are a, b",)


def test_what_is_no_matrix_of_numbers_is_left_alone(tmp_path):
    path = tmp_path / "odd.mat"
    odd = {"s": {"a": 1}, "c": np.array([1, "x"], object), "t": "text", "z": RUNS * 1j}
    savemat(path, odd)
    refused(lambda: read_labels(path, columns=["s"]), "odd.mat")
    savemat(path, {"s": {"a": 1}, "t": "text"})
    refused(lambda: read_labels(path), "odd.mat contains no matrix of numbers")


def test_a_link_out_of_the_file_is_not_followed(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = save(tmp_path / "runs.mat", "7.3", A=RUNS)
    other = save(tmp_path / "other.mat", "7.3", secret=RUNS)
    with h5py.File(path, "r+") as file:
        file["B"] = h5py.ExternalLink(str(other), "/secret")
    refused(lambda: read_labels(path, columns=["B"]), "has no matrix 'B'. It contains")


def test_h5py_is_asked_for_by_name(tmp_path, monkeypatch):
    path = save(tmp_path / "runs.mat", "7.3", A=RUNS)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match=r'pip install "ensclust\[matlab\]"'):
        read_labels(path)


@pytest.mark.parametrize("version", ["5", "7.3"])
def test_a_matrix_is_measured_before_it_is_read(tmp_path, version, monkeypatch):
    path = save(tmp_path / "large.mat", version, A=np.zeros((1000, 50)))
    monkeypatch.setattr(memory, "available", lambda: 2**16)
    refused(lambda: read_labels(path), r"reading .*large.mat needs")


def test_a_bomb_is_unpacked_as_far_as_its_shape_says(tmp_path, monkeypatch):
    path = save(tmp_path / "bomb.mat", "5", A=RUNS)
    whole = path.read_bytes()
    matrix = bytearray(whole[128:])
    packed = zlib.compress(
        bytes(matrix[:48]) + struct.pack("<II", 9, 2**25) + bytes(2**25)
    )
    path.write_bytes(whole[:128] + struct.pack("<II", 15, len(packed)) + packed)
    refused(lambda: read_labels(path), "bomb.mat.* claims 33,554,432 bytes")


def test_the_commands_take_matlab_files(tmp_path):
    path = save(tmp_path / "runs.mat", "5", members=RUNS, gt=TRUTH)
    done = cli_runner().invoke(main, ["consensus", str(path), "-k", "3", "--seed", "0"])
    assert done.exit_code == 0, done.stderr
    assert "runs.mat: labels are members; left out: gt (1 x 30)" in done.stderr
    assert len(done.stdout.split()) == 31
    found = cli_runner().invoke(main, ["info", str(path)])
    assert "30 objects, 5 clusterings" in found.stdout


def test_a_shortage_of_memory_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "old.mat"
    savemat(path, {"labels": np.array([[0, 1], [1, 1]])}, format="4")

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("scipy.io.loadmat", fail)
    with pytest.raises(MemoryError, match=r"old.mat cannot be read .* too much memory"):
        read_labels(path)
