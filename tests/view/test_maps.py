"""Maps of the objects: given coordinates, components, and the ensemble itself."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

import ensclust
from ensclust._view.ensemble_map import _distinct, _neighbours, ensemble_map
from ensclust._view.report import scatter
from ensclust._view.report.facts import collect
from strategies import random_ensemble

X, TRUTH = make_blobs(240, n_features=5, centers=6, random_state=0)
RUNS = ensclust.generate(X, 8, base_k=(6, 12), random_state=0)


@pytest.mark.parametrize("n_columns", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_a_given_embedding_is_shown_as_it_is(kind, n_columns):
    given = X[:, :n_columns]
    shown = collect(RUNS, TRUTH, X=kind(given)).scatter["maps"][0]
    assert shown["of"] == "features"
    assert shown["share"] is None
    found = np.array(shown["axes"]).T
    # Moved and scaled as a whole: neither turned nor mirrored.
    middle = (given.max(axis=0) + given.min(axis=0)) / 2
    scale = np.abs(given - middle).max()
    np.testing.assert_allclose(found, (given - middle) / scale, atol=1e-4)


def test_axes_have_the_names_of_the_columns():
    frame = pd.DataFrame(X[:, :2], columns=["umap 1", "umap 2"])
    maps = collect(RUNS, TRUTH, X=frame).scatter["maps"]
    assert maps[0]["names"] == ["umap 1", "umap 2"]
    maps = collect(RUNS, TRUTH, X=X[:, :2]).scatter["maps"]
    assert maps[0]["names"] == ["column 1", "column 2"]


@pytest.mark.parametrize(
    ("features", "first", "shown"),
    [
        (True, None, ["features", "ensemble"]),
        (True, "ensemble", ["ensemble", "features"]),
        (False, None, ["ensemble", "components"]),
        (False, "components", ["components", "ensemble"]),
    ],
)
def test_the_map_asked_for_comes_first(features, first, shown):
    given = X if features else None
    maps = collect(RUNS, TRUTH, X=given, map_of=first).scatter["maps"]
    assert [one["of"] for one in maps] == shown


@pytest.mark.parametrize(
    ("features", "wrong"), [(False, "features"), (True, "components"), (True, "umap")]
)
def test_other_maps_are_refused(features, wrong):
    with pytest.raises(ValueError, match=f"map_of='{wrong}'; expected"):
        collect(RUNS, TRUTH, X=X if features else None, map_of=wrong)


def test_neighbours_on_the_map_are_often_together():
    labels = ensclust.consensus(RUNS, 6, random_state=0)
    (places,) = [
        np.array(one["axes"]).T
        for one in collect(RUNS, labels).scatter["maps"]
        if one["of"] == "ensemble"
    ]
    squared = ((places[:, None] - places) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    nearest = np.argsort(squared, axis=1)[:, :5]
    assert (labels[nearest] == labels[:, None]).mean() > 0.97


def test_groups_stay_whole_wherever_the_layout_starts():
    labels = ensclust.consensus(RUNS, 6, random_state=0)
    one_hot = scatter._one_hot(RUNS, np.arange(len(X)))
    start = scatter._components(one_hot)[0][:, :2]
    for seed in range(40):
        moved = start * (
            1 + 1e-7 * np.random.default_rng(seed).normal(size=start.shape)
        )
        places = ensemble_map(one_hot, moved)
        squared = ((places[:, None] - places) ** 2).sum(axis=2)
        np.fill_diagonal(squared, np.inf)
        nearest = np.argsort(squared, axis=1)[:, :5]
        assert (labels[nearest] == labels[:, None]).mean() > 0.97, seed


def test_the_map_is_always_the_same():
    rows = np.arange(240)
    one_hot = scatter._one_hot(RUNS, rows)
    start = scatter._components(one_hot)[0][:, :2]
    assert np.array_equal(ensemble_map(one_hot, start), ensemble_map(one_hot, start))


def test_rows_beyond_the_landmarks_join_those_like_them(monkeypatch):
    monkeypatch.setattr("ensclust._view.ensemble_map._LANDMARKS", 60)
    runs = ensclust.generate(X, 12, base_k=(8, 20), random_state=0)
    one_hot = scatter._one_hot(runs, np.arange(240))
    assert len(_distinct(one_hot)[0]) > 120
    start = scatter._components(one_hot)[0][:, :2]
    places = ensemble_map(one_hot, start)
    squared = ((places[:, None] - places) ** 2).sum(axis=2)
    np.fill_diagonal(squared, np.inf)
    together = (one_hot @ one_hot.T).toarray()
    nearest = squared.argmin(axis=1)
    assert together[np.arange(240), nearest].mean() > 2 * together.mean()
    assert (TRUTH[nearest] == TRUTH).mean() > 0.9


def test_each_row_has_the_same_perplexity():
    ensemble = random_ensemble(150, 12, 6, seed=0)
    one_hot = scatter._one_hot(ensemble, np.arange(150))
    distances = 1 - (one_hot @ one_hot.T).toarray()
    joint = _neighbours(distances)
    assert joint == pytest.approx(joint.T)
    assert joint.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("runs", [[[0]], [[0, 1], [0, 1]], [[0, 0], [0, 0], [1, 1]]])
def test_tiny_ensembles_have_a_map(runs):
    facts = collect(ensclust.Ensemble(runs), np.zeros(len(runs), int)).scatter
    assert [one["of"] for one in facts["maps"]] == ["ensemble", "components"]
    assert np.isfinite(facts["maps"][0]["axes"]).all()
