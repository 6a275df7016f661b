"""Edge cases of shared code that some change to the source would break."""

import io
import os
import re
import signal
import sys
import threading
import time
import warnings
from types import ModuleType

import numpy as np
import pytest

from ensclust import Ensemble
from ensclust._support import (
    containers,
    features,
    kinds,
    notebook,
    parallel,
    plain,
    progress,
    validation,
)
from ensclust._support.encoding import Coded
from ensclust._support.label_texts import NOT_CLUSTERED, meaning, text_number
from ensclust._support.shared import Shared


def test_overlapping_calls_make_a_setting_once_and_undo_it_once():
    log = []

    def make():
        log.append("made")
        return lambda: log.append("undone")

    shared = Shared(make)
    with shared():
        with shared():
            assert log == ["made"]
        assert log == ["made"]
    assert log == ["made", "undone"]
    with shared():
        assert log == ["made", "undone", "made"]


class OnlyAnArray:
    """A vector of an unknown library."""

    def __array__(self, dtype=None, copy=None):
        return np.array([2, 0, 2], dtype)


def test_whatever_turns_into_an_array_is_a_column():
    assert containers.as_column(OnlyAnArray()).tolist() == [2, 0, 2]


def test_categories_that_are_numbers_are_features():
    codes = np.array([1, 0, -1, 1])
    found = containers.as_features(Coded(codes, [1.5, 2]))
    assert found.dtype == np.float64
    assert np.array_equal(found, [2, 1.5, np.nan, 2], equal_nan=True)
    texts = containers.as_features(Coded(codes, ["a", "b"]))
    assert texts.tolist() == ["b", "a", None, "b"]


def test_arrays_of_zarr_are_streams():
    zarr = pytest.importorskip("zarr")
    assert kinds.is_stream(zarr.zeros((3, 2)))
    assert not kinds.is_stream(np.zeros((3, 2)))


@pytest.mark.parametrize("label", [2.0**63, np.inf, -np.inf, 0.5])
def test_floats_that_are_no_labels_are_refused(label):
    with pytest.raises(ValueError, match=r"labels\[1, 0\]"):
        Ensemble(np.array([[0.0], [label], [1.0]]))


def test_the_largest_float_below_the_limit_is_a_label():
    largest = np.nextafter(2.0**63, 0)
    ensemble = Ensemble(np.array([[largest], [0.0]]))
    assert ensemble.categories[0].tolist() == [0, int(largest)]


def test_a_column_may_be_masked_as_a_whole():
    labels = np.ma.array([[1, 5], [1, 6], [2, 7]], mask=[[0, 1], [0, 1], [0, 1]])
    ensemble = Ensemble(labels)
    assert ensemble.cluster_counts.tolist() == [2, 0]
    assert ensemble.labels[:, 1].tolist() == [-1, -1, -1]


def test_words_for_missing_are_those_of_pandas():
    parsers = pytest.importorskip("pandas._libs.parsers")
    words = set(parsers.STR_NA_VALUES)
    assert set(NOT_CLUSTERED) == words
    assert {meaning([word, "a"])[word] for word in words} == {-1}


@pytest.mark.parametrize("package", ["ensclust", "sklearn", "joblib"])
def test_a_warning_is_at_the_line_outside_of_libraries(package):
    inside = ModuleType(f"{package}.inside")
    exec("def call(f): f('be careful')", vars(inside))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = sys._getframe().f_lineno + 1
        inside.call(validation.warn)
    assert [(w.filename, w.lineno) for w in caught] == [(__file__, line)]


def test_the_spread_is_that_of_most_objects_unless_they_are_equal():
    sample = np.array([[0.0, 0], [1, 3], [2, 6], [3, 9], [1000, 12]])
    median, spread = features._middle(sample)
    assert median.tolist() == [2, 6]
    assert spread == np.hypot(1, 3)
    median, spread = features._middle(np.array([[5.0], [5], [5], [9]]))
    assert (median.tolist(), spread) == ([5], 1)


@pytest.mark.parametrize(
    ("spread", "ratio"),
    [
        ([0, 0, 0, 2, 6], 3),
        ([8, 1, 2, 4], 4),
        ([1, 2, 3, 4, 12], 4),
        ([5], 1),
        ([0], 1),
    ],
)
def test_the_largest_spread_is_compared_with_the_median_of_those_above_zero(
    spread, ratio
):
    assert features._ratio(np.array(spread, float)) == ratio


def test_the_bar_of_the_moving_line_has_a_length(monkeypatch):
    rich = pytest.importorskip("rich.progress")
    seen = []
    update = rich.Progress.update

    def watch(self, task, **values):
        update(self, task, **values)
        seen.append((self.tasks[0].completed, self.tasks[0].total))

    monkeypatch.setattr(rich.Progress, "update", watch)
    work = progress._Work("reading")
    with progress._moving_line(work) as renew:
        renew()
        work.move(3, 4, "")
        renew()
    assert seen == [(0, None), (3, 4)]


def test_arrays_of_dask_are_streams():
    dask = pytest.importorskip("dask.array")
    assert kinds.is_dask_array(dask.zeros((3, 2)))
    assert kinds.is_stream(dask.zeros((3, 2)))


def test_times_that_are_missing_are_no_labels():
    pandas = pytest.importorskip("pandas")
    labels = np.array([[pandas.NaT], [pandas.NA], [None], ["a"]], object)
    assert Ensemble(labels).labels[:, 0].tolist() == [-1, -1, -1, 0]


@pytest.mark.parametrize(
    ("n_jobs", "n_threads"), [(1, 1), (3, 3), (-1, 4), (-2, 3), (-4, 1), (-9, 1)]
)
def test_threads_are_counted_from_either_end(monkeypatch, n_jobs, n_threads):
    monkeypatch.setattr(parallel.joblib, "cpu_count", lambda: 4)
    assert parallel.thread_count(n_jobs) == n_threads
    with parallel.alone():
        assert parallel.thread_count(n_jobs) == 1


@pytest.mark.parametrize(("phase", "expected"), [(None, []), ("go", [1, 2, 3])])
def test_only_work_with_a_phase_tells_how_far_it_is(monkeypatch, phase, expected):
    told = []
    monkeypatch.setattr(parallel, "tell", lambda done, *_: told.append(done))
    parallel.run(lambda x: x, [(0,)] * 3, n_jobs=1, phase=phase)
    assert told == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99, "99 s"), (100, "2 min"), (5999, "100 min"), (6000, "1.7 h")],
)
def test_times_are_told_in_words(seconds, words):
    assert progress.in_words(seconds) == words


def test_a_far_object_is_told_by_its_row_in_the_sample_or_in_all():
    sample = np.random.default_rng(0).normal(size=(200, 2))
    sample[7, 1] = 1e6
    said, cure = features.uneven(sample)
    assert "row 7 (1e+06 in column 1)" in said
    assert cure
    said, _ = features.uneven(sample, rows=np.arange(1000, 1200))
    assert "row 1007 (" in said


@pytest.mark.parametrize(
    ("text", "label"),
    [("-1e30", -1), ("1e30", None), ("-inf", None), ("inf", None), ("1e3", 1000)],
)
def test_texts_of_huge_numbers_are_labels_only_if_negative(text, label):
    assert text_number(text) == label


def test_the_text_for_noise_may_stand_beside_numbers_unless_it_is_a_cluster():
    labels = np.array([["-1"], [3], ["-1"]], object)
    assert Ensemble(labels).labels[:, 0].tolist() == [-1, 0, -1]
    with pytest.raises(TypeError, match="mixes"):
        Ensemble(labels, noise="own-cluster")


@pytest.mark.parametrize("bad", [0.5, (1, 2)])
def test_a_bad_label_of_a_masked_column_is_told_with_its_place(bad):
    column = np.ma.masked_all(3, float if bad == 0.5 else object)
    column[1], column[2] = bad, 1
    with pytest.raises(ValueError, match=rf"labels\[1, 1\] = {re.escape(repr(bad))}"):
        Ensemble.from_clusterings([[0, 1, 1], column])


@pytest.mark.parametrize("kind", [float, int, bool, "U1", object])
def test_masked_cells_add_no_cluster(kind):
    column = np.ma.array(np.array([1, 0, 1, 0]).astype(kind), mask=[1, 0, 0, 1])
    for noise in ("missing", "own-cluster"):
        found = Ensemble.from_clusterings([column], noise=noise)
        assert found.labels[:, 0].tolist() == [-1, 0, 1, -1]


@pytest.mark.parametrize("wrong", ["abc", [["a", "b"], ["c", "d"]], [[None, "x"]]])
def test_what_is_no_matrix_of_numbers_is_of_a_wrong_type(wrong):
    with pytest.raises(TypeError, match="W is not a table of numbers"):
        validation.check_square(wrong, "W")


def test_weights_of_base_clusters_are_floats_whatever_came():
    found = validation.check_cluster_weights([1, 1], 2)
    assert (found.dtype, found.tolist()) == (np.float64, [1, 1])
    with pytest.raises(ValueError, match="one per base cluster"):
        validation.check_cluster_weights(["a", "b"], 2)


def test_texts_are_on_the_left_of_their_column_and_numbers_on_the_right():
    html = notebook.table("c", ["name", "n"], [["a", 1], ["b", 2]])
    assert re.findall("text-align:(.*?);", html) == ["left", "right"] * 3


def test_names_in_the_moving_line_are_no_markup(monkeypatch):
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.progress("reading [red]a[/red].csv"):
        pass
    assert "[red]a[/red].csv" in stream.getvalue()


def test_masked_features_are_missing():
    column = np.ma.array([1, 2, 3], mask=[False, True, False])
    found = containers.as_features(column)
    assert np.array_equal(found, [1, np.nan, 3], equal_nan=True)


def test_weights_of_objects_may_be_as_many_as_can_be_counted():
    most = validation._MOST_OBJECTS
    assert validation.check_sample_weight([1, most - 1], 2).sum() == most
    with pytest.raises(ValueError, match="sample_weight"):
        validation.check_sample_weight([1, most], 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_finds_a_setting_unlocked_that_a_thread_was_making():
    begun = threading.Event()

    def make():
        begun.set()
        time.sleep(0.2)
        return lambda: None

    shared = Shared(make)

    def use():
        with shared():
            pass

    thread = threading.Thread(target=use)
    thread.start()
    begun.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)  # ends it, if it waits for ever
        use()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    thread.join()


@pytest.mark.parametrize(
    ("length", "expected"), [(60, 60), (61, 29 + 3 + 29), (200, 29 + 3 + 29)]
)
def test_long_texts_keep_both_ends(length, expected):
    text = "".join(chr(ord("a") + i % 26) for i in range(length))
    found = plain.shortened(text)
    assert len(found) == expected
    assert (found[:29], found[-29:]) == (text[:29], text[-29:])


@pytest.mark.parametrize(("spread", "is_lossy"), [(1e3, True), (1e5, False)])
def test_float32_is_left_where_it_moves_objects_by_a_share_of_their_distance(
    spread, is_lossy
):
    X = 1e6 + np.random.default_rng(0).normal(0, spread, (600, 8))
    narrow, wide = (features.Frame(None, 1.0, kind) for kind in ("float32", "float64"))
    assert features._loses(narrow, wide, X) == is_lossy
