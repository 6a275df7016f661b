"""The best of several methods."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import ensclust
from common_checks import assert_checks_pass
from ensclust import BestConsensus, consensus
from ensclust._methods import METHODS, best
from ensclust.metrics import mean_nmi
from strategies import random_ensemble

NAMES = ["kcc", "eac", "ecpcs-mc"]
ENSEMBLE = random_ensemble(90, 10, 5, seed=0, noise=0.5)


@pytest.mark.slow
def test_scikit_learns_checks_pass_and_run():
    assert_checks_pass(BestConsensus(3, methods=["eac", "kcc"]), at_least=48)


def test_the_method_that_agrees_best_with_the_inputs_is_kept():
    model = BestConsensus(5, methods=NAMES, base="precomputed", random_state=3)
    model.fit(ENSEMBLE)
    alone = {n: consensus(ENSEMBLE, 5, n, random_state=3) for n in NAMES}
    anmi = {name: mean_nmi(ENSEMBLE, labels) for name, labels in alone.items()}
    ranked = sorted(NAMES, key=anmi.get, reverse=True)
    assert [row["method"] for row in model.comparison_] == ranked
    assert [row["anmi"] for row in model.comparison_] == [anmi[n] for n in ranked]
    assert model.best_method_ == ranked[0]
    assert np.array_equal(model.labels_, alone[ranked[0]])
    assert all(row["n_clusters"] == 5 for row in model.comparison_)
    assert all(row["seconds"] > 0 for row in model.comparison_)


def test_a_list_of_k_is_decided_for_each_k():
    several = consensus(ENSEMBLE, [2, 5], "best", methods=NAMES, random_state=0)
    for column, k in zip(several.T, (2, 5), strict=True):
        one = consensus(ENSEMBLE, k, "best", methods=NAMES, random_state=0)
        assert np.array_equal(column, one)


def test_a_method_with_fewer_clusters_comes_last_without_a_warning():
    table = np.column_stack([np.arange(12), np.arange(12) // 2, np.arange(12) // 3])
    model = BestConsensus(
        9, methods=["ecpcs-mc", "eac"], base="precomputed", random_state=0
    )
    assert model.fit(table).n_clusters_ == 9
    counts = [row["n_clusters"] for row in model.comparison_]
    assert counts == sorted(counts, reverse=True)


def test_of_equally_good_methods_the_first_is_kept():
    table = np.repeat([[0, 0], [1, 1]], 4, axis=0)
    for names in (["eac", "kcc"], ["kcc", "eac"]):
        model = BestConsensus(2, methods=names, base="precomputed", random_state=0)
        assert model.fit(table).best_method_ == names[0]


def test_many_distinct_rows_leave_the_linear_methods(monkeypatch):
    model = BestConsensus(3, random_state=0).fit(load_iris().data)
    assert {row["method"] for row in model.comparison_} == set(best.QUICK)
    monkeypatch.setattr(best, "MANY_ROWS", 10)
    model.fit(load_iris().data)
    assert {row["method"] for row in model.comparison_} == set(best.LINEAR)


def test_missing_and_absent_objects_are_fine():
    labels = random_ensemble(60, 8, 3, seed=1, missing=0.2).labels.copy()
    labels[7] = -1
    with pytest.warns(UserWarning, match="1 of 60 objects are in no") as caught:
        found = consensus(labels, 3, "best", methods=NAMES, random_state=0)
    assert len(caught) == 1
    assert found[7] == -1
    assert found.max() == 2


def test_a_random_state_object_or_none_is_taken():
    rng = np.random.RandomState(0)
    for state in (rng, None):
        labels = consensus(ENSEMBLE, 5, "best", methods=NAMES, random_state=state)
        assert labels.max() == 4


@pytest.mark.parametrize("names", [[], "eac"])
def test_methods_must_be_a_list_of_names(names):
    with pytest.raises(ValueError, match="methods"):
        consensus(ENSEMBLE, 2, "best", methods=names)


def test_an_unknown_method_is_refused_with_the_list():
    with pytest.raises(ValueError, match=r"methods='best' is not known.*'eac'"):
        consensus(ENSEMBLE, 2, "best", methods=["eac", "best"])


def test_best_is_no_method_of_the_table():
    assert "best" not in METHODS
    assert "best" not in ensclust.methods()
    with pytest.raises(ValueError, match=r"method='nosuch' is not known.*'best'"):
        consensus(ENSEMBLE, 2, "nosuch")
