"""Clusterings across k or resolution: tree, consensus matrices and CDFs."""

from base64 import b64decode
from itertools import combinations, pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.isotonic import isotonic_regression

import ensclust
from ensclust import (
    ClusteringTreeDisplay,
    ConsensusByKDisplay,
    Ensemble,
    select_k,
)
from ensclust._quality.criteria import cdf_area, consensus_pairs
from ensclust._view.clustering_tree import _apart, _closed, clustering_tree
from ensclust._view.consensus_by_k import consensus_by_k
from ensclust._view.report.facts import collect
from strategies import random_ensemble

mpl.use("Agg")
X, TRUTH = make_blobs(150, n_features=3, centers=4, random_state=1)
RUNS = ensclust.generate(X, 8, base_k=(3, 8), random_state=0)
SWEEP = ensclust.consensus(RUNS, range(2, 7), random_state=0)


def crossings(places, edges):
    """Return how many pairs of lines cross between each two rows."""
    found = 0
    for (a, b), (c, d) in combinations(edges, 2):
        if places[a, 1] == places[c, 1]:
            upper, lower = places[a, 0] - places[c, 0], places[b, 0] - places[d, 0]
            found += upper * lower < 0
    return found


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12), st.floats(0, 2))
def test_places_move_as_little_as_possible(wanted, gap):
    steps = gap * np.arange(len(wanted))
    expected = isotonic_regression(np.array(wanted) - steps) + steps
    np.testing.assert_allclose(_apart(np.array(wanted), gap), expected, atol=1e-9)


def test_wide_empty_bands_are_closed():
    x = np.array([0.1, 5.0, 0.3, 5.4])
    np.testing.assert_allclose(_closed(x, 0.5), [0, 0.7, 0.2, 1.1])
    labels = np.column_stack([np.arange(60) // 30, np.arange(60) // 30])
    labels[:30, 1] += np.arange(30) // 10 + 2  # one side splits, the other does not
    places = np.sort(clustering_tree(Ensemble(labels)).places[:, 0])
    assert np.diff(places).max() < 0.5


def test_nested_clusterings_have_no_crossings_and_straight_lines():
    labels = np.column_stack([np.arange(64) * 2**level // 64 for level in range(1, 6)])
    shuffled = np.column_stack(
        [np.random.default_rng(m).permutation(64)[column] for m, column in
         enumerate(labels.T)])  # fmt: skip
    tree = clustering_tree(Ensemble(shuffled))
    assert crossings(tree.places, tree.edges) == 0
    assert tree.shares.tolist() == [1.0] * len(tree.edges)
    for upper in np.unique(tree.edges[:, 0]):
        below = tree.places[tree.edges[tree.edges[:, 0] == upper, 1], 0]
        assert tree.places[upper, 0] == pytest.approx(below.mean(), abs=0.1)


def test_edges_count_what_two_clusters_share():
    ensemble = random_ensemble(60, 4, 5, seed=0, missing=0.1)
    tree = clustering_tree(ensemble)
    labels, shown = ensemble.labels, set()
    for upper, lower in pairwise(range(4)):
        for a in range(ensemble.cluster_counts[upper]):
            for b in range(ensemble.cluster_counts[lower]):
                both = int(((labels[:, upper] == a) & (labels[:, lower] == b)).sum())
                if both:
                    known = (labels[:, lower] == b) & (labels[:, upper] >= 0)
                    ends = (ensemble.offsets[upper] + a, ensemble.offsets[lower] + b)
                    shown.add((*ends, both, both / known.sum()))
    found = zip(*tree.edges.T, tree.overlaps, tree.shares, strict=True)
    assert {tuple(map(float, edge)) for edge in found} == {
        tuple(map(float, edge)) for edge in shown
    }


def test_clusters_of_a_row_keep_apart():
    tree = clustering_tree(random_ensemble(200, 6, 9, seed=1))
    for level in range(6):
        row = np.sort(tree.places[tree.places[:, 1] == -level, 0])
        assert np.diff(row).min(initial=1) > 0.05
    assert tree.places[:, 0].min() > 0
    assert tree.places[:, 0].max() < 1


def test_a_sweep_over_k_is_drawn_and_named():
    display = ClusteringTreeDisplay.from_sweep(RUNS, range(2, 7), random_state=0)
    assert display.names == ["k = 2", "k = 3", "k = 4", "k = 5", "k = 6"]
    assert display.ensemble.cluster_counts.tolist() == [2, 3, 4, 5, 6]
    assert display.clusters is not None


def test_columns_of_anndata_are_drawn_in_their_colours():
    obs = pd.DataFrame(SWEEP).astype(str).astype("category")
    obs.columns = [f"leiden_{m}" for m in obs.columns]
    colors = ["#112233", "red", (0, 0, 1), "#ffffffff", "#445566", "#778899"]
    display = ClusteringTreeDisplay.from_ensemble(obs, obs["leiden_4"], colors=colors)
    assert display.names == list(obs.columns)
    shown = display.ax_.collections[1].get_facecolors()
    wanted = [mpl.colors.to_rgba(colors[j]) for j in display.clusters]
    np.testing.assert_allclose(shown, wanted, atol=1e-6)
    with pytest.raises(ValueError, match="2 entries for 6 clusters"):
        display.plot(colors=["red", "blue"])
    with pytest.raises(ValueError, match="'no colour' is not a colour"):
        display.plot(colors=["no colour"] * 6)


@pytest.mark.parametrize("missing", [0, 0.2])
def test_matrices_are_those_of_the_reduced_base_clusterings(missing):
    ensemble = random_ensemble(40, 5, 4, seed=3, missing=missing)
    labels = np.random.default_rng(0).integers(3, size=40)
    (level,) = consensus_by_k(ensemble, [labels], 100)
    reduced = np.full(ensemble.labels.shape, -1)
    for m, column in enumerate(ensemble.labels.T):
        for j in np.unique(column[column >= 0]):
            own = column == j
            reduced[own, m] = np.bincount(labels[own]).argmax()
    rows = level.blocks.rows
    for a, b in combinations(range(40), 2):
        both = (reduced[a] >= 0) & (reduced[b] >= 0)
        share = (reduced[a] == reduced[b])[both].mean() if both.any() else 0
        assert level.blocks.matrix[rows[a], rows[b]] == pytest.approx(share)
    assert level.area == cdf_area(consensus_pairs(ensemble, labels))
    assert level.cdf[-1] == 1


def test_objects_without_a_cluster_are_left_out():
    labels = SWEEP[:, 2].copy()
    labels[:30] = -1
    (level,) = consensus_by_k(RUNS, [labels], 200)
    assert len(level.blocks.rows) == 120
    assert level.n_clusters == 4


def test_the_display_draws_a_panel_for_each_k():
    found = select_k(RUNS, range(2, 9), random_state=0)
    display = ConsensusByKDisplay.from_selection(found, RUNS, [3, 4, 5])
    assert display.ks == [3, 4, 5]
    assert len(display.axes_) == 5
    assert [axes.get_title() for axes in display.axes_[:3]] == [
        *("k = 3", "k = 4", "k = 5")
    ]
    table = {row["k"]: row["cdf_area"] for row in found.table}
    assert display.areas.tolist() == [table[k] for k in (3, 4, 5)]
    growth = display.figure_.axes[-1]
    assert growth.get_ylabel() == "relative growth"
    (line,) = growth.lines
    assert growth.get_ylim()[1] > max(line.get_ydata())  # nothing is cut off
    same = ConsensusByKDisplay.from_ensemble(RUNS, range(3, 6), random_state=0)
    assert [m.shape for m in same.matrices] == [m.shape for m in display.matrices]


def test_a_sample_is_drawn_where_one_was_judged():
    found = select_k(RUNS, range(2, 5), n_sample=60, random_state=0)
    display = ConsensusByKDisplay.from_selection(found, RUNS)
    assert [len(matrix) for matrix in display.matrices] == [60] * 3
    with pytest.raises(ValueError, match="fewer than were judged"):
        ConsensusByKDisplay.from_selection(found, RUNS.take(np.arange(10)))
    with pytest.raises(ValueError, match="ks: 9 is not among"):
        ConsensusByKDisplay.from_selection(found, RUNS, [9])


def test_an_estimator_shows_what_it_chose_from():
    model = ensclust.ECPCSHC("auto", base="precomputed", random_state=0).fit(RUNS)
    display = ConsensusByKDisplay.from_estimator(model)
    assert model.n_clusters_ in display.ks
    model = ensclust.ECPCSHC(3, base="precomputed").fit(RUNS)
    with pytest.raises(ValueError, match="compared no numbers of clusters"):
        ConsensusByKDisplay.from_estimator(model)


def test_ks_around_the_best_are_chosen():
    found = select_k(RUNS, range(2, 11), random_state=0)
    assert found.best_k == 4
    assert found.around_best(100) == list(range(2, 11))
    assert found.around_best(3) == [3, 4, 5]


@pytest.mark.parametrize("given", ["selection", "sweep", "frame"])
def test_a_report_has_the_section(given):
    if given == "selection":
        more = {"selection": select_k(RUNS, range(2, 7), random_state=0)}
        names = [f"k = {k}" for k in range(2, 7)]
    elif given == "sweep":
        more, names = {"sweep": SWEEP}, [f"{k} clusters" for k in range(2, 7)]
    else:
        more = {"sweep": pd.DataFrame(SWEEP).add_prefix("leiden_")}
        names = [f"leiden_{m}" for m in range(5)]
    found = collect(RUNS, TRUTH, **more).sweep
    assert found["names"] == names
    assert [level["k"] for level in found["levels"]] == list(range(2, 7))
    assert sum(found["tree"]["size"]) == 5 * 150
    for level in found["levels"]:
        assert len(b64decode(level["percent"])) == level["n"] ** 2


def test_a_report_without_one_has_no_section():
    assert collect(RUNS, TRUTH).sweep is None
    alone = select_k(RUNS, range(2, 5), criteria=["eigengap"], random_state=0)
    assert collect(RUNS, TRUTH, selection=alone).sweep is None


def test_long_sweeps_are_thinned_and_short_ones_refused():
    found = collect(RUNS, TRUTH, sweep=np.tile(SWEEP, 5)).sweep
    assert (len(found["names"]), found["all"]) == (12, 25)
    with pytest.raises(ValueError, match=r"sweep has 10 rows; expected 150"):
        collect(RUNS, TRUTH, sweep=SWEEP[:10])
