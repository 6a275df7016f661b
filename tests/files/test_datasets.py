"""ensclust.datasets: sources, their order, and what is checked."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest
import scipy.sparse
import sklearn.datasets

from conftest import ROOT
from ensclust import datasets
from ensclust.datasets import _load, _openml
from ensclust.datasets._verify import content_checksum, verify

SHARED = Path(os.environ.get("ENSCLUST_SHARED", ROOT.parent / "shared" / "datasets"))
needs_shared = pytest.mark.skipif(
    not (SHARED / "wine.npz").is_file(),
    reason="the reference copies are not here; set ENSCLUST_SHARED to their directory",
)
INSTALLED = ["bc", "ecoli", "lr", "ls", "mnist", "pd", "wine", "yeast"]
REORDERED = {"bc", "lr", "pd"}


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No directory from the environment and no network: a test opts in to either."""

    def offline(**_):
        msg = "no network in tests"
        raise URLError(msg)

    monkeypatch.delenv("ENSCLUST_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)


@pytest.fixture
def serve(monkeypatch):
    """Make fetch_openml answer with the given table and record how it was called."""

    def serve(data, target, feature_names=()):
        calls = []

        def fetch_openml(**arguments):
            calls.append(arguments)
            return SimpleNamespace(
                data=data, target=target, feature_names=list(feature_names)
            )

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
        return calls

    return serve


@pytest.fixture
def no_bundle(monkeypatch, tmp_path):
    monkeypatch.setattr(_load, "_BUNDLE", tmp_path / "nothing")


def save(directory, name, X, y):
    np.savez(directory / f"{name}.npz", X=X, y=y)


def reference(name):
    with np.load(SHARED / f"{name}.npz", allow_pickle=False) as archive:
        return archive["X"].astype(float), archive["y"].astype(int)


def labelled_rows(X, y):
    """Return the rows with their labels in lexicographic order."""
    table = np.column_stack([X, y])
    return table[np.lexsort(table.T[::-1])]


# Names and registry


def test_names_are_the_ten_datasets_in_order():
    expected = "bc ctg ecoli gisette lr ls mnist pd wine yeast"
    assert datasets.names() == expected.split()


@pytest.mark.parametrize("name", datasets.names())
def test_registry_entry_is_complete_and_consistent(name):
    entry = datasets.info(name)
    assert entry.name == name
    assert sum(entry.class_counts) == entry.n_objects
    assert len(entry.class_counts) == len(entry.class_names) == entry.n_clusters
    for text in (entry.title, entry.licence, entry.attribution, entry.source):
        assert text
    assert entry.by_hand.startswith("By hand: ")
    assert entry.provider or entry.openml_id


def test_only_gisette_has_no_checksum_and_it_has_a_value_range_instead():
    bare = [name for name in datasets.names() if datasets.info(name).checksum is None]
    assert bare == ["gisette"]
    assert datasets.info("gisette").value_range == (0, 999)


@pytest.mark.parametrize("name", ["iris", "", None, 3, ["wine"]])
def test_unknown_name_is_an_error_that_lists_the_names(name):
    with pytest.raises(
        ValueError, match=r"is not a dataset\. Use one of bc, ctg, ecoli"
    ):
        datasets.load(name)


def test_import_does_not_import_sklearn():
    code = "import sys, ensclust.datasets; sys.exit('sklearn' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# What an installation already has


@pytest.mark.parametrize("name", INSTALLED)
def test_installed_dataset_loads_offline_and_is_verified(name):
    entry = datasets.info(name)
    dataset = datasets.load(name, download=False)
    assert dataset.X.dtype == np.float64
    assert dataset.y.dtype == np.int64
    assert dataset.X.shape == (entry.n_objects, entry.n_features)
    assert (dataset.n_objects, dataset.n_features) == dataset.X.shape
    assert tuple(np.bincount(dataset.y)) == entry.class_counts
    assert dataset.checksum == entry.checksum
    assert dataset.n_clusters == entry.n_clusters
    assert dataset.origin == entry.provider


@needs_shared
@pytest.mark.parametrize("name", INSTALLED)
def test_installed_dataset_has_the_labelled_rows_of_the_reference_copy(name):
    dataset = datasets.load(name)
    X, y = reference(name)
    if name not in REORDERED:
        np.testing.assert_array_equal(dataset.X, X)
        np.testing.assert_array_equal(dataset.y, y)
    np.testing.assert_array_equal(
        labelled_rows(dataset.X, dataset.y), labelled_rows(X, y)
    )


def test_bundled_files_are_small_and_their_licences_are_stated():
    bundled = [n for n in INSTALLED if datasets.info(n).provider == "bundled"]
    files = sorted(_load._BUNDLE.glob("*.npz"))
    assert [path.stem for path in files] == sorted(bundled)
    assert sum(path.stat().st_size for path in files) < 1_300_000
    licences = (_load._BUNDLE / "DATA_LICENSES.md").read_text("utf-8")
    for name in bundled:
        entry = datasets.info(name)
        section = licences.split(f"## {name}.npz")[1].split("##")[0]
        for text in (entry.licence, entry.attribution, entry.source, entry.built_from):
            assert text in section


def test_each_load_returns_fresh_arrays():
    first = datasets.load("wine")
    first.X[:] = 0
    assert datasets.load("wine").X.any()


def test_repr_shows_the_name_and_no_arrays():
    text = repr(datasets.load("wine"))
    assert "name='wine'" in text
    assert "array" not in text


# data_home and ENSCLUST_DATA


@needs_shared
@pytest.mark.parametrize("name", [n for n in datasets.names() if n != "gisette"])
def test_reference_directory_passes_verification(name, monkeypatch):
    monkeypatch.setenv("ENSCLUST_DATA", str(SHARED))
    dataset = datasets.load(name)
    X, y = reference(name)
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.y, y)
    assert dataset.origin == str(SHARED / f"{name}.npz")


def test_data_home_is_preferred_to_the_environment_and_the_bundle(
    tmp_path, monkeypatch
):
    wine = datasets.load("wine")
    for place in ("argument", "environment"):
        (tmp_path / place).mkdir()
        save(tmp_path / place, "wine", wine.X, wine.y)
    monkeypatch.setenv("ENSCLUST_DATA", str(tmp_path / "environment"))
    assert datasets.load("wine").origin == str(tmp_path / "environment" / "wine.npz")
    dataset = datasets.load("wine", data_home=tmp_path / "argument")
    assert dataset.origin == str(tmp_path / "argument" / "wine.npz")


def test_directory_without_the_file_falls_through_to_the_bundle(tmp_path):
    assert datasets.load("ecoli", data_home=tmp_path).origin == "bundled"


def test_empty_environment_variable_counts_as_unset(monkeypatch):
    monkeypatch.setenv("ENSCLUST_DATA", "")
    assert datasets.load("ecoli").origin == "bundled"


def test_directory_that_does_not_exist_is_an_error_naming_its_argument(
    tmp_path, monkeypatch
):
    missing = tmp_path / "missing"
    with pytest.raises(NotADirectoryError, match=r"data_home='.*missing' is not a dir"):
        datasets.load("wine", data_home=missing)
    monkeypatch.setenv("ENSCLUST_DATA", str(missing))
    with pytest.raises(NotADirectoryError, match=r"ENSCLUST_DATA='.*missing' is not"):
        datasets.load("wine")


# What is refused


def test_wrong_shape_is_an_error_with_file_both_shapes_and_cure(tmp_path):
    wine = datasets.load("wine")
    save(tmp_path, "wine", wine.X[:, :12], wine.y)
    message = (
        r"wine\.npz is not the dataset 'wine': X has shape \(178, 12\).*"
        r"expected \(178, 13\).*Replace the file.*load_wine"
    )
    with pytest.raises(ValueError, match=message):
        datasets.load("wine", data_home=tmp_path)


def test_wrong_class_counts_are_an_error_with_both_counts(tmp_path):
    wine = datasets.load("wine")
    y = wine.y.copy()
    y[0] = 2
    save(tmp_path, "wine", wine.X, y)
    message = r"objects per label are \{0: 58, 1: 71, 2: 49\}, expected \{0: 59, 1: 71"
    with pytest.raises(ValueError, match=message):
        datasets.load("wine", data_home=tmp_path)


def test_labels_from_one_are_an_error(tmp_path):
    wine = datasets.load("wine")
    save(tmp_path, "wine", wine.X, wine.y + 1)
    with pytest.raises(
        ValueError, match=r"objects per label are \{1: 59, 2: 71, 3: 48"
    ):
        datasets.load("wine", data_home=tmp_path)


def test_one_changed_value_is_an_error_with_both_checksums(tmp_path):
    wine = datasets.load("wine")
    X = wine.X.copy()
    X[7, 3] = np.nextafter(X[7, 3], np.inf)
    save(tmp_path, "wine", X, wine.y)
    found, expected = content_checksum(X, wine.y), wine.checksum
    with pytest.raises(ValueError, match=f"checksum {found}, expected {expected}"):
        datasets.load("wine", data_home=tmp_path)


def test_two_swapped_labels_are_an_error(tmp_path):
    wine = datasets.load("wine")
    y = wine.y.copy()
    y[[0, -1]] = y[[-1, 0]]
    save(tmp_path, "wine", wine.X, y)
    with pytest.raises(ValueError, match="checksum"):
        datasets.load("wine", data_home=tmp_path)


def test_another_row_order_is_accepted_and_kept(tmp_path):
    wine = datasets.load("wine")
    save(tmp_path, "wine", wine.X[::-1], wine.y[::-1])
    dataset = datasets.load("wine", data_home=tmp_path)
    np.testing.assert_array_equal(dataset.X, wine.X[::-1])
    assert dataset.checksum == wine.checksum


def test_missing_values_are_an_error_with_their_number(tmp_path):
    wine = datasets.load("wine")
    X = wine.X.copy()
    X[:2, 0] = np.nan
    save(tmp_path, "wine", X, wine.y)
    with pytest.raises(ValueError, match="2 values of X are NaN or infinite"):
        datasets.load("wine", data_home=tmp_path)


def test_labels_that_are_no_integers_are_an_error(tmp_path):
    wine = datasets.load("wine")
    save(tmp_path, "wine", wine.X, wine.y.astype(float))
    with pytest.raises(ValueError, match=r"y has dtype float64, expected .* integers"):
        datasets.load("wine", data_home=tmp_path)


def test_pickled_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "wine.npz", X=np.array([{}], dtype=object), y=np.zeros(1, int))
    with pytest.raises(ValueError, match=r"wine\.npz cannot be read.*plain arrays"):
        datasets.load("wine", data_home=tmp_path)


@pytest.mark.parametrize("content", [b"", b"not an archive", b"PK\x03\x04 cut short"])
def test_file_that_is_no_archive_is_an_error_naming_it(tmp_path, content):
    (tmp_path / "wine.npz").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"wine\.npz cannot be read as a NumPy archive"
    ):
        datasets.load("wine", data_home=tmp_path)


def test_damaged_archive_is_an_error_naming_it(tmp_path):
    content = bytearray((_load._BUNDLE / "ecoli.npz").read_bytes())
    content[300:400] = bytes(100)
    (tmp_path / "ecoli.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"ecoli\.npz cannot be read"):
        datasets.load("ecoli", data_home=tmp_path)


def test_archive_without_y_is_an_error_naming_it(tmp_path):
    np.savez(tmp_path / "wine.npz", X=np.zeros((178, 13)))
    with pytest.raises(ValueError, match=r"wine\.npz cannot be read.*KeyError.*y"):
        datasets.load("wine", data_home=tmp_path)


def test_scaled_gisette_is_refused_by_its_value_range():
    entry = replace(
        datasets.info("gisette"), n_objects=2, n_features=2, class_counts=(1, 1)
    )
    arguments = {"entry": entry, "origin": "gisette.npz", "remedy": ""}
    verify([[0, 999], [3, 4]], [0, 1], **arguments)
    for X in ([[-1, 1], [0, 1]], [[0, 1000], [0, 1]], [[0, 0.5], [0, 1]]):
        with pytest.raises(ValueError, match=r"expected integers in \[0, 999\]"):
            verify(X, [0, 1], **arguments)


def test_checksum_does_not_distinguish_negative_zero():
    assert content_checksum([[0.0]], [0]) == content_checksum([[-0.0]], [0])


# OpenML


@pytest.mark.parametrize("name", ["ctg", "gisette"])
def test_unavailable_dataset_is_an_error_that_says_how_to_get_it(name, tmp_path):
    with pytest.raises(datasets.DatasetUnavailable) as caught:
        datasets.load(name, data_home=tmp_path)
    message = str(caught.value)
    assert f"has no {name}.npz" in message
    assert "no network in tests" in message
    assert "data_home= or ENSCLUST_DATA" in message
    assert datasets.info(name).by_hand in message
    assert isinstance(caught.value, FileNotFoundError)


def test_download_false_does_not_ask_openml(serve):
    calls = serve(np.zeros((1, 1)), ["1"])
    with pytest.raises(datasets.DatasetUnavailable, match="download=False"):
        datasets.load("ctg", download=False)
    assert not calls


@pytest.mark.usefixtures("no_bundle")
def test_dataset_that_openml_lacks_is_unavailable_without_its_bundle():
    with pytest.raises(datasets.DatasetUnavailable, match=r"OpenML does not .*\. Put "):
        datasets.load("mnist")


def test_network_trouble_gives_no_warning(monkeypatch, tmp_path):
    # The request itself fails, so that scikit-learn's own retry and warning take part.
    monkeypatch.undo()
    monkeypatch.delenv("ENSCLUST_DATA", raising=False)
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))

    def urlopen(*_, **__):
        msg = "unreachable"
        raise URLError(msg)

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(datasets.DatasetUnavailable, match="unreachable"):
        datasets.load("ctg")


@pytest.mark.usefixtures("no_bundle")
@pytest.mark.parametrize("quote", [False, True])
def test_openml_class_names_become_the_registered_labels(serve, monkeypatch, quote):
    with np.load(Path(_load.__file__).parent / "data" / "ecoli.npz") as archive:
        X, y = archive["X"], archive["y"]
    class_names = datasets.info("ecoli").class_names
    target = [f"'{class_names[i]}'" if quote else class_names[i] for i in y]
    calls = serve(X, target)
    dataset = datasets.load("ecoli")
    np.testing.assert_array_equal(dataset.y, y)
    assert dataset.origin == "OpenML 39"
    assert calls[0]["data_id"] == 39


@pytest.mark.usefixtures("no_bundle")
def test_incomplete_records_of_bc_are_dropped(serve):
    with np.load(Path(_load.__file__).parent / "data" / "bc.npz") as archive:
        X, y = archive["X"].astype(float), archive["y"]
    incomplete = np.full((16, 9), 1.0)
    incomplete[:, 5] = np.nan
    target = np.array(["benign", "malignant"])[y].tolist() + ["benign"] * 16
    serve(np.vstack([X, incomplete]), target)
    assert datasets.load("bc").X.shape == (683, 9)


@pytest.mark.parametrize("target", [["-1", "1"], [-1, 1], [-1.0, 1.0]])
def test_sparse_data_and_numeric_classes_are_understood(serve, target):
    serve(scipy.sparse.csr_array([[0, 5], [7, 0]]), target)
    X, y = _openml.fetch(datasets.info("gisette"))
    np.testing.assert_array_equal(X, [[0, 5], [7, 0]])
    np.testing.assert_array_equal(y, [0, 1])


def test_openml_class_that_is_not_registered_is_an_error(serve):
    serve(np.zeros((2, 5000)), ["1", "2"])
    with pytest.raises(ValueError, match=r"OpenML 41026 has the classes \['2'\]"):
        datasets.load("gisette")


def test_openml_data_of_another_shape_are_an_error_with_a_cure(serve):
    serve(np.zeros((2, 5000)), ["1", "-1"])
    with pytest.raises(ValueError, match=r"OpenML 41026 is not .*clear_data_home"):
        datasets.load("gisette")


CTG_NAMES = [f"V{i}" for i in range(1, 36)]
# The second record of OpenML 1466: date, b, e, LBE, LB, AC, FM, UC, ASTV, MSTV, ALTV,
# MLTV, DL, DS, DP, Width to Tendency, ten class indicators.
CTG_MEASURED = [45, 5, 632, 132, 132, 4, 0, 4, 17, 2.1, 0, 10.4, 2, 0, 0]
CTG_HISTOGRAM = [130, 68, 198, 6, 1, 141, 136, 140, 12, 0]
CTG_RECORD = [*CTG_MEASURED, *CTG_HISTOGRAM, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_ctg_columns_become_the_21_attributes_with_counts_per_second(serve):
    serve(np.array([CTG_RECORD]), ["6"], CTG_NAMES)
    X, y = _openml.fetch(datasets.info("ctg"))
    rates = [4 / 627, 0, 4 / 627, 2 / 627, 0, 0]
    expected = [132, *rates, 17, 2.1, 0, 10.4, *CTG_HISTOGRAM]
    np.testing.assert_array_equal(X, [expected])
    np.testing.assert_array_equal(y, [5])


@needs_shared
def test_ctg_in_the_layout_of_openml_passes_verification(serve):
    X, y = reference("ctg")
    table = np.zeros((len(X), 35))
    seconds = np.array([shortest_duration(rates) for rates in X[:, 1:7]])
    counts = np.rint(X[:, 1:7] * seconds[:, None])
    table[:, 2] = seconds
    table[:, [5, 6, 7, 12, 13, 14]] = counts
    table[:, [4, 8, 9, 10, 11, *range(15, 25)]] = X[:, [0, *range(7, 21)]]
    calls = serve(table, [str(label + 1) for label in y], CTG_NAMES)
    dataset = datasets.load("ctg")
    np.testing.assert_array_equal(dataset.X, X)
    assert dataset.origin == "OpenML 1466"
    assert calls[0]["data_id"] == 1466


def shortest_duration(rates):
    """Return the fewest seconds for which the rates are whole counts."""
    seconds = np.arange(1, 4001)[:, None]
    exact = np.rint(rates * seconds) / seconds == rates
    return int(np.argmax(exact.all(axis=1))) + 1


def test_ctg_with_other_columns_is_an_error_that_shows_them(serve):
    serve(np.array([CTG_RECORD[:34]]), ["6"], CTG_NAMES[:34])
    with pytest.raises(ValueError, match=r"OpenML 1466 has the columns \['V1'.*V35"):
        datasets.load("ctg")
