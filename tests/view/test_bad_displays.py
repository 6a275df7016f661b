"""Wrong input to displays and reports: errors name the argument."""

import numpy as np
import pytest

from bad_input import FOUND, HUGE, LABELS, RUNS, refused, table, with_cell
from ensclust import (
    ECPCSHC,
    ClusterGraphDisplay,
    ClusteringTreeDisplay,
    ConsensusMatrixDisplay,
    DendrogramDisplay,
    SelectKDisplay,
    StabilityDisplay,
    select_k,
    write_report,
)

pyplot = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("plotly")

TREE = ECPCSHC(2, base="precomputed", random_state=0).fit(RUNS).dendrogram_
CHOICE = select_k(np.repeat([[0, 0], [1, 1], [2, 2]], 8, axis=0), [2, 3])
EYE = np.eye(3)


@table(
    (lambda: ConsensusMatrixDisplay.from_ensemble(None, FOUND), "labels is None"),
    (lambda: ConsensusMatrixDisplay.from_ensemble(RUNS, FOUND[:2]), r"shape \(2,\)"),
    (lambda: ConsensusMatrixDisplay.from_ensemble(RUNS, HUGE), "labels holds the num"),
    (
        lambda: ConsensusMatrixDisplay.from_ensemble(RUNS, FOUND, weights=[1]),
        r"weights is \(1,\) for 3 base clusterings",
    ),
    (
        lambda: ConsensusMatrixDisplay.from_ensemble(RUNS, np.full(6, -1)),
        "none of the 6 objects has a cluster",
    ),
    (lambda: StabilityDisplay.from_ensemble(RUNS, "a"), r"labels has shape \(\)"),
    (lambda: StabilityDisplay.from_ensemble(RUNS, HUGE), "labels holds the number"),
    (lambda: StabilityDisplay.from_certainty(3), "certainty is of type int; expected"),
    (lambda: StabilityDisplay(None), "certainty is of type NoneType; expected Cert"),
    (lambda: ClusterGraphDisplay.from_ensemble(None), "labels is None"),
    (lambda: ClusterGraphDisplay.from_ensemble(RUNS, HUGE), "labels holds the number"),
    (lambda: ClusterGraphDisplay("a", [1], [0]), "similarity is not a table of num"),
    (lambda: ClusterGraphDisplay(EYE, [1, 2], [0, 0, 0]), r"sizes has shape \(2,\)"),
    (lambda: ClusterGraphDisplay(EYE, [1, 2, 3], [0]), r"meta_labels has shape \(1,\)"),
    (lambda: ClusterGraphDisplay(EYE, [1, 2, 3], ["a"] * 3), "meta_labels .*type <U1"),
    (lambda: ClusteringTreeDisplay.from_ensemble(None), "labels is None"),
    (lambda: ClusteringTreeDisplay.from_ensemble(RUNS, HUGE), "labels holds the num"),
    (lambda: ClusteringTreeDisplay(RUNS, names=["a"]), "names has 1 entries; expected"),
    (lambda: ClusteringTreeDisplay(RUNS, names="a"), "names is of type str"),
    (
        lambda: ClusteringTreeDisplay(np.zeros((200, 101), int)),
        "101 clusterings; at most 100",
    ),
    (lambda: DendrogramDisplay.from_dendrogram(3), "dendrogram is of type int; expect"),
    (lambda: DendrogramDisplay.from_dendrogram(TREE, 99), "n_clusters=99 is larger"),
    (lambda: TREE.plot(n_clusters="a"), "n_clusters='a' is a str"),
    (lambda: TREE.plot(ax=3), "ax is of type int; expected a matplotlib Axes"),
    (lambda: SelectKDisplay(3), "selection is of type int; expected KSelection"),
    (
        lambda: SelectKDisplay.from_ensemble(RUNS, 3),
        "k_range=3 is not a list of numbers",
    ),
    (lambda: SelectKDisplay.from_ensemble(RUNS, [2], "x"), "method='x' is not supp"),
    (lambda: CHOICE.plot(3), "ax is of type int"),
    (lambda: CHOICE.plot([1, 2]), "axes holds 2 axes; pass 6"),
)
def test_display(call, words):
    try:
        refused(call, words)
    finally:
        pyplot.close("all")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"runs": None}, "labels is None"),
        ({"labels": None}, "labels is None; expected a list or an array"),
        ({"labels": LABELS}, r"labels has shape \(6, 3\); expected \(6,\)"),
        ({"labels": FOUND + 0.5}, "labels is not a clustering: .* = 0.5"),
        ({"labels": [{}] * 6}, r"labels is not a clustering: .* = \{\}"),
        ({"labels": np.full(6, -1)}, "labels has 0 distinct values"),
        ({"truth": [0, "a", {}, 1, 1, 1]}, "truth is not a clustering"),
        ({"truth": np.full(6, np.nan)}, "truth has 0 distinct values"),
        ({"X": [[1, 2], [3]] * 3}, r"X is of shape \(6, 0\)"),
        ({"X": np.zeros((6, 0))}, r"X is of shape \(6, 0\)"),
        ({"X": with_cell(np.nan)[:6]}, "X cannot be drawn: Input X contains NaN"),
        ({"X": [["a"]] * 6}, "X cannot be drawn: could not convert"),
        ({"names": {"a": 1}}, "names is of type dict"),
    ],
)
def test_report(tmp_path, given, words):
    path = tmp_path / "report.html"
    path.write_text("old")
    arguments = {"runs": RUNS, "labels": FOUND, **given}
    refused(lambda: write_report(path, **arguments), words)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
