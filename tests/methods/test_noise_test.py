"""Whether there is more than noise: p, corrected criteria, and what select_k says."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import ensclust
from ensclust import ECPCSHC, EnsembleGenerator, consensus, generate, select_k
from ensclust._methods.noise_test import NoiseTest, agree_by_chance
from ensclust._quality.k_selection import DEFAULTS
from strategies import random_ensemble

QUICK = {"criteria": DEFAULTS, "random_state": 0}
CLEAR, _ = make_blobs(150, centers=5, cluster_std=0.5, random_state=3)
NOISE = np.random.default_rng(0).normal(size=(150, 3))


def literal(anmi):
    """Return a NoiseTest of two kinds of noise, the second a little clearer."""
    kinds = {"anmi": np.array(anmi[1:])}
    kinds["pac"] = 1 - kinds["anmi"]
    more = {name: values + 0.01 for name, values in kinds.items()}
    own = {"anmi": np.array(anmi[0]), "pac": 1 - np.array(anmi[0])}
    return NoiseTest(own, {"axes": kinds, "radius": more}, 10)


@given(
    st.lists(
        st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.7, np.nan]), min_size=3, max_size=3),
        min_size=3,
        max_size=8,
    )
)
def test_p_is_the_share_of_draws_as_clear_as_the_data(anmi):
    """By definition: standardised for each k, the largest of each, then its rank."""
    clear = []
    for row in anmi:
        best = 0.0 if any(map(np.isnan, row)) else -np.inf
        for value, column in zip(row, zip(*anmi, strict=True), strict=True):
            known = [x for x in column if not np.isnan(x)]
            spread = np.std(known) if known else 0.0
            is_defined = not np.isnan(value) and spread > 1e-12
            own = (value - np.mean(known)) / spread if is_defined else 0.0
            best = max(best, own)
        clear.append(best)
    expected = np.mean(np.array(clear) >= clear[0] - 1e-9)
    assert literal(anmi).p_of("axes") == pytest.approx(expected)


def test_p_is_the_largest_of_all_kinds_of_noise():
    found = literal([[0.9], [0.895], [0.2]])
    assert found.p_of("axes") == pytest.approx(1 / 3)
    assert found.p_of("radius") == pytest.approx(2 / 3)  # 0.905 exceeds 0.9
    assert found.p == found.p_of("radius")


def test_corrected_criteria_are_differences_to_the_mean_of_the_closest_noise():
    anmi = [[0.5, 0.9, 0.7], [0.4, 0.5, 0.6], [0.6, 0.5, 0.4]]
    found = literal(anmi)
    assert found.excess("anmi") == pytest.approx([-0.01, 0.39, 0.19])
    # log(mean PAC of noise) - log(PAC), M3C's RCSI
    assert found.excess("pac") == pytest.approx(np.log([0.5 / 0.5, 5, 0.5 / 0.3]))
    # Leads of the second k over the third are -0.1 and 0.1 in noise, 0.2 in the data.
    assert found.near("anmi", 1).tolist() == [False, True, False]
    wider = literal([anmi[0], [0.4, 0.5, 0.8], [0.6, 0.5, 0.2]])
    assert wider.near("anmi", 1).tolist() == [False, True, True]


def test_a_k_that_noise_lacks_has_no_excess():
    found = literal([[0.5, 0.9], [0.4, np.nan], [0.6, np.nan]])
    assert np.isnan(found.excess("anmi")).tolist() == [False, True]


def test_noise_is_one_cluster_and_said_to_be():
    with pytest.warns(
        UserWarning, match=r"is clearer than in noise \(p = .* best_k = 1"
    ):
        found = select_k(X=NOISE, **QUICK)
    assert found.best_k == 1 < min(found.ks)
    assert found.p > 0.05
    assert found.best_k_range == (1,)
    assert "no clearer than noise: p = " in repr(found)


def test_clusters_are_clearer_than_noise():
    found = select_k(X=CLEAR, **QUICK)  # warnings are errors here
    assert (found.best_k, found.p, found.decisive) == (5, 0.05, "eigengap")
    assert 5 in found.best_k_range
    assert "clearer than noise: p = 0.05, 19 draws of each of 3 kinds" in repr(found)
    assert [row["eigengap"] for row in found.table] == list(found.scores["eigengap"])


def test_threads_do_not_change_the_answer():
    one, three = (select_k(X=CLEAR[:80], **QUICK, n_jobs=j) for j in (1, 3))
    assert one == three


def test_an_ensemble_and_its_features_are_tested_with_its_numbers_of_clusters():
    runs = generate(CLEAR, 6, base_k=[3, 4, 5, 6, 7, 8], random_state=0)
    found = select_k(runs, range(2, 9), X=CLEAR, **QUICK)
    assert (found.best_k, found.p) == (5, 0.05)
    own = EnsembleGenerator(6, base_k=(3, 8))
    assert select_k(runs, range(2, 9), X=CLEAR, generator=own, **QUICK).p == 0.05


def test_all_corrected_criteria_are_there_with_features():
    found = select_k(X=CLEAR[:80], k_range=range(2, 7), random_state=0)
    assert {"anmi_excess", "rcsi", "area_excess"} < set(found.scores)


def test_wide_and_sparse_features_are_tested_on_principal_axes():
    from scipy import sparse

    rng = np.random.default_rng(0)
    groups = np.repeat(np.eye(3, 60) * 12, 30, axis=0)
    X = sparse.csr_array(rng.poisson(0.3 + groups))
    found = select_k(X=X, k_range=range(2, 7), **QUICK)
    assert (found.best_k, found.p) == (3, 0.05)


def test_an_estimator_with_features_is_tested_and_labels_alone_are_not():
    with pytest.warns(UserWarning, match="clearer than in noise"):
        model = ECPCSHC("auto", random_state=0).fit(NOISE)
    assert (model.n_clusters_, model.labels_.max()) == (1, 0)
    assert model.selection_.p > 0.05
    labels = ECPCSHC("auto", base="precomputed").fit(
        random_ensemble(120, 12, 4, seed=0)
    )
    assert labels.selection_.p is None
    assert "labels alone do not tell" in repr(labels.selection_)


def test_labels_that_agree_by_chance_are_one_cluster():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, (150, 10))
    with pytest.warns(UserWarning, match="agree no more than by chance"):
        found = select_k(labels, random_state=0)
    assert (found.best_k, found.best_k_range) == (1, (1,))
    with pytest.warns(UserWarning, match="agree no more"):
        assert consensus(labels, "auto", random_state=0).max() == 0


def test_agreement_by_chance_is_told_of_two_clusterings_and_not_of_one():
    same = np.repeat([0, 1], 20)
    both = ensclust.Ensemble.from_clusterings([same, same])
    assert agree_by_chance(both, n_draws=19, seed=0) == 0.05
    assert agree_by_chance(both.select(np.array([True, False])), n_draws=19, seed=0) < 1


def test_a_criterion_that_grows_to_the_end_does_not_answer_the_last_k():
    rng = np.random.default_rng(3)
    labels = generate(rng.normal(size=(300, 10)), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for last in range(3, 13):
            found = select_k(labels, range(2, last + 1), criteria=["anmi"])
            assert found.best_k < last


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "select_k got no X"),
        ({"X": CLEAR, "n_null": 5}, ValueError, "n_null=5 draws.*at least 19, or 0"),
        ({"X": CLEAR, "n_null": -1}, ValueError, "n_null=-1"),
        ({"X": CLEAR, "generator": "kmeans"}, TypeError, "is no EnsembleGenerator"),
        (
            {"ensemble": CLEAR[:9].astype(int), "criteria": ["rcsi"]},
            ValueError,
            "X=...",
        ),
        ({"ensemble": [[0, 1], [1, 1]], "X": CLEAR}, ValueError, "X has 150 rows, the"),
        ({"X": [["a"]]}, ValueError, "X is no table"),
    ],
)
def test_wrong_input_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        select_k(**options)
