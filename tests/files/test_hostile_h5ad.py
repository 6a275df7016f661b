"""Damaged and hostile h5ad files: no index is believed, no other file is read."""

import numpy as np
import pytest

from bad_input import refused
from conftest import cli_runner
from ensclust import Blocks, consensus
from ensclust._support import memory
from ensclust.cli import main
from ensclust.io import check_output, read_features, read_labels, write_labels

h5py = pytest.importorskip("h5py")
anndata = pytest.importorskip("anndata")
pandas = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

N = 40
ARRAY = {"encoding-type": "array", "encoding-version": "0.2.0"}


@pytest.fixture
def cells(tmp_path):
    """Return a function that writes an h5ad file with something changed in it."""

    def write(change=None, form="csr", name="cells.h5ad"):
        obs = pandas.DataFrame(
            {
                "a": pandas.Categorical(list("xy") * (N // 2)),
                "b": pandas.Categorical(list("xxyz") * (N // 4)),
                "c": pandas.array([1, 2, None, 3] * (N // 4), "Int64"),
            },
            index=[f"cell{i}" for i in range(N)],
        )
        X = sparse.random(N, 6, 0.5, random_state=0, format=form)
        anndata.AnnData(X, obs=obs).write_h5ad(tmp_path / name)
        if change:
            with h5py.File(tmp_path / name, "r+") as file:
                change(file)
        return tmp_path / name

    return write


def setting(place, at, value):
    return lambda file: file[place].__setitem__(at, value)


def replaced(place, value):
    """Return a change that puts another array in a place."""

    def change(file):
        del file[place]
        file[place] = value
        if isinstance(value, np.ndarray):
            file[place].attrs.update(ARRAY)

    return change


POINTERS = (
    "indptr of X does not increase from 0, in steps of at most (6|40), to the 120"
)
SHAPES = "data, indices and indptr of X have inconsistent shapes or types"
BAD_SPARSE = {
    "index above": (setting("X/indices", 0, 41), "indices of X hold 41; expected 0 to"),
    "index below": (setting("X/indices", 5, -1), "indices of X hold -1; expected 0 to"),
    "index far": (setting("X/indices", 0, 2**31 - 1), "indices of X hold 2147483647"),
    "negative pointer": (setting("X/indptr", 3, -5), POINTERS),
    "first pointer": (setting("X/indptr", 0, 1), POINTERS),
    "far pointer": (setting("X/indptr", 3, 10**6), POINTERS),
    "last pointer": (setting("X/indptr", -1, 121), POINTERS),
    "too few pointers": (replaced("X/indptr", np.zeros(3, "i4")), SHAPES),
    "pointers as floats": (replaced("X/indptr", np.zeros(N + 1)), SHAPES),
    "huge pointers": (replaced("X/indptr", np.full(N + 1, 2**64 - 1, "u8")), SHAPES),
    "too few indices": (replaced("X/indices", np.zeros(9, "i4")), SHAPES),
    "square indices": (replaced("X/indices", np.zeros((12, 10), "i4")), SHAPES),
    "texts as data": (replaced("X/data", np.array([b"x"] * 120)), SHAPES),
}


@pytest.mark.parametrize("form", ["csr", "csc"])
@pytest.mark.parametrize("case", BAD_SPARSE)
def test_indices_of_a_sparse_matrix_are_checked(cells, form, case):
    change, words = BAD_SPARSE[case]
    if case == "huge pointers":
        words = SHAPES if form == "csc" else POINTERS  # a pointer per column, not row
    path = cells(change, form)
    refused(lambda: read_features(path), f"cells.h5ad cannot be read as h5ad: {words}")
    blocks = Blocks(path, content="features")
    refused(lambda: [block.load() for block in blocks], words)


def test_more_entries_than_a_row_has_columns_are_refused(cells):
    def change(file):
        for name in ("data", "indices", "indptr"):
            del file[f"X/{name}"]
        for name in ("data", "indices"):  # takes no space
            file["X"].create_dataset(name, (10**12,), "i4", chunks=(2**16,))
        file["X/indptr"] = np.arange(N + 1) * (10**12 // N)

    refused(lambda: read_features(cells(change)), "at most 6, to the")


@pytest.mark.parametrize("form", ["csr", "csc"])
def test_entries_that_come_twice_are_added(cells, form):
    path = cells(form=form)
    with h5py.File(path) as file:
        start, indices = file["X/indptr"][:], file["X/indices"][:]
        data = file["X/data"][:]
    twice = np.flatnonzero(np.diff(start) > 1)[0]
    indices[start[twice] + 1] = indices[start[twice]]
    path = cells(lambda file: file["X/indices"].__setitem__(..., indices), form)
    kind = getattr(sparse, f"{form}_matrix")
    expected = kind((data, indices, start), shape=(N, 6)).toarray()
    assert (read_features(path).values == expected).all()


BAD_COLUMNS = {
    "code below": ("a", setting("obs/a/codes", 0, -3), "obs/a holds codes from -3 to"),
    "code above": ("a", setting("obs/a/codes", 0, 2), "obs/a holds codes from 0 to 2"),
    "codes as floats": ("a", replaced("obs/a/codes", np.zeros(N)), "codes are of type"),
    "square categories": (
        "a",
        replaced("obs/a/categories", np.zeros((2, 2))),
        "obs/a holds codes from 0 to 1 for categories of shape",
    ),
    "short": ("b", replaced("obs/b", np.zeros(9, "i1")), r"'b' has shape \(9,\)"),
    "long": ("b", replaced("obs/b", np.zeros(50, "i1")), r"'b' has shape \(50,\)"),
    "square": ("b", replaced("obs/b", np.zeros((N, 2))), r"'b' has shape \(40, 2\)"),
    "short codes": ("a", replaced("obs/a/codes", np.zeros(9, "i1")), "'a', codes, has"),
    "short mask": ("c", replaced("obs/c/mask", np.zeros(9, "?")), "'c', mask, has"),
    "places": ("c", replaced("obs/c/mask", np.full(N, -1)), "mask are of type int64"),
    "group of values": (
        "c",
        replaced("obs/c/values", h5py.SoftLink("/obs/c")),
        "'c', values, is not an array; expected 40 rows",
    ),
    "the matrix": (
        "/X",
        lambda file: file["obs"].attrs.__setitem__("column-order", ["a", "/X"]),
        "obs lists a column '/X' that does not exist",
    ),
    "no such": (
        "d",
        lambda file: file["obs"].attrs.__setitem__("column-order", ["a", "d"]),
        "obs lists a column 'd' that does not exist",
    ),
}


@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_columns_of_obs_are_checked(cells, case):
    name, change, words = BAD_COLUMNS[case]
    path = cells(change)
    refused(
        lambda: read_labels(path, columns=[name]),
        f"cells.h5ad cannot be read as h5ad: .*{words}",
    )
    refused(lambda: consensus(Blocks(path, columns=[name]), 2), words)


@pytest.mark.parametrize("kind", [np.uint8, np.uint32])
def test_codes_without_a_sign_are_read(cells, kind):
    codes = np.arange(N) % 2
    path = cells(replaced("obs/a/codes", codes.astype(kind)))
    assert read_labels(path, columns=["a"]).values[:, 0].tolist() == [0, 1] * 20
    damaged = cells(replaced("obs/a/codes", (codes + 7).astype(kind)))
    refused(lambda: read_labels(damaged, columns=["a"]), "holds codes from 7 to 8 for")


def test_sparse_entries_of_obsm_are_named(cells):
    path = cells()
    table = anndata.read_h5ad(path)
    table.obsm["X_s"] = sparse.csr_matrix(np.eye(N))
    table.write_h5ad(path)
    refused(lambda: read_features(path, columns=["X_s"]), "obsm/X_s is sparse")


@pytest.mark.parametrize("case", [c for c in BAD_COLUMNS if "code" not in c])
def test_a_copy_of_a_bad_table_is_refused_before_the_work(cells, case, monkeypatch):
    name, change, _ = BAD_COLUMNS[case]
    path = cells(change)
    monkeypatch.setattr("ensclust._methods.base.Method._combine", None)
    monkeypatch.setattr("ensclust._methods.estimators.BaseConsensus._fit_cuts", None)
    copy = path.with_name("copy.h5ad")
    other = "a" if name == "b" else "b"
    for command in (["consensus", "--columns", other], ["cluster"]):
        words = [*command, str(path), "-k", "2", "-o", str(copy)]
        result = cli_runner().invoke(main, words)
        assert result.exit_code == 2, result.stderr
        assert "cells.h5ad cannot be read as h5ad" in result.stderr
        assert not copy.exists()


def external(file):
    del file["obs/a"]
    file["obs"].create_dataset("a", (N,), "i8", external=[("secret", 0, 8 * N)])
    file["obs/a"].attrs.update(ARRAY)


def virtual(file):
    layout = h5py.VirtualLayout((N,), "i1")
    layout[:] = h5py.VirtualSource("other.h5ad", "/obs/a/codes", (N,))
    del file["obs/a"]
    file["obs"].create_virtual_dataset("a", layout)
    file["obs/a"].attrs.update(ARRAY)


def linked(place):
    def change(file):
        del file[place]
        file[place] = h5py.ExternalLink("other.h5ad", f"/{place}")

    return change


ELSEWHERE = {
    "storage": (external, "obs/a is external storage"),
    "virtual": (virtual, "obs/a is a virtual dataset"),
    **{
        place: (linked(place), f"{place} is an external link")
        for place in ("X", "X/data", "obs", "obs/a", "obs/a/codes", "var", "uns")
    },
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_nothing_of_another_file_is_read(cells, tmp_path, case):
    change, words = ELSEWHERE[case]
    (tmp_path / "secret").write_bytes(np.arange(N).tobytes())
    cells(name="other.h5ad")
    path = cells(change)
    words = f"cells.h5ad cannot be read as h5ad: {words}. Other files are not read"
    refused(lambda: read_features(path), words)
    refused(lambda: read_labels(path, columns=["a", "b"]), words)
    refused(lambda: check_output(tmp_path / "copy.h5ad", source=path), words)
    result = cli_runner().invoke(main, ["info", str(path)])
    assert result.exit_code == 2
    assert "Other files are not read" in result.stderr


def test_links_within_the_file_are_followed(cells):
    def change(file):
        file["obs/d"] = h5py.SoftLink("/obs/a")
        file["uns/loop"] = file["uns"]
        file["obs"].attrs["column-order"] = ["a", "d"]

    found = read_labels(cells(change), columns=["a", "d"]).values
    assert (found[:, 0] == found[:, 1]).all()


def test_an_input_that_is_not_there_is_named_before_its_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["consensus", "no.h5ad", "--columns", "a", "-k", "2", "-o", "copy.h5ad"]
    result = cli_runner().invoke(main, words)
    assert result.exit_code == 2
    assert "no.h5ad does not exist." in result.stderr


def test_a_chunk_is_measured_before_it_is_unpacked(cells, monkeypatch):
    def change(file):
        del file["X"]
        file.create_dataset("X", (N, 6), "f8", maxshape=(None, 6), chunks=(10**6, 6))
        file["X"].attrs.update(ARRAY)

    path = cells(change)
    monkeypatch.setattr(memory, "available", lambda: 10**6)
    refused(
        lambda: read_features(path), "a chunk of X of .* needs 0.0447 GiB of memory"
    )


def test_entries_of_the_input_are_not_lost_without_a_word(cells):
    path = cells()
    copy, again = path.with_name("copy.h5ad"), path.with_name("again.h5ad")
    words = ["consensus", str(path), "--columns", "a,b", "-k", "2", "-o", str(copy)]
    assert cli_runner().invoke(main, words).exit_code == 0
    labels = np.arange(N) % 2

    words = ["consensus", str(copy), "--columns", "a,b", "-k", "2", "-o", str(again)]
    result = cli_runner().invoke(main, words)
    assert result.exit_code == 2
    assert (
        'copy.h5ad already has obs["consensus"], obs["consensus_certainty"], '
        'obsm["consensus_memberships"], uns["consensus"]. Pass --overwrite to replace'
    ) in result.stderr
    assert not again.exists()
    assert cli_runner().invoke(main, [*words, "--overwrite"]).exit_code == 0

    refused(
        lambda: write_labels(again, labels, names=["b"], source=copy),
        r'copy.h5ad already has obs\["b"\]. Pass overwrite=True to replace it',
    )
    write_labels(again, labels, names=["b"], source=copy, overwrite=True)
    assert read_labels(again, columns=["b"]).values.ravel().tolist() == labels.tolist()

    words = ["compare", str(again), "--columns", "a,b", "-k", "2", "--methods", "kcc"]
    assert cli_runner().invoke(main, [*words, "-o", str(copy)]).exit_code == 0
    result = cli_runner().invoke(
        main, [*words[:1], str(copy), *words[2:], "-o", str(again)]
    )
    assert result.exit_code == 2
    assert 'copy.h5ad already has obs["kcc"]. Pass --overwrite' in result.stderr
