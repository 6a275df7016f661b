"""Whether there is more than noise: p, and what select_k makes of it."""

import warnings

import numpy as np
import pytest
from benchmarks.noise import GROUPS, NOISE, groups
from scipy import sparse
from sklearn.datasets import make_blobs

import ensclust
from ensclust import ECPCSHC, consensus, generate, select_k
from ensclust._quality.criteria import suggest_gap
from ensclust._quality.noise_test import NoiseTest, agree_by_chance, noise_test
from ensclust._quality.null_model import NULL_KINDS
from strategies import random_ensemble

QUICK = {"criteria": ["eigengap"], "random_state": 0}
CLEAR, _ = make_blobs(150, centers=5, cluster_std=0.5, random_state=3)
SHAPELESS = np.random.default_rng(0).normal(size=(150, 3))


def test_p_counts_the_draws_that_are_not_below_the_data():
    drawn = np.column_stack([[0.1, 0.5, 0.6, 0.2], np.zeros(4)])
    found = NoiseTest(np.array([0.5, 0.0]), {"axes": drawn, "box": drawn / 2})
    assert found.p_of_gaps == 3 / 5  # of "axes"; of "box" it is 1 / 5
    assert found.p_of_compactness == 1
    assert found.p == 1


def test_compactness_is_standardised_for_each_k_and_the_best_k_counts():
    # The data are unusual for the second k only, where draws differ little.
    drawn = np.array([[0, 5.0, 1.0], [0, 9.0, 1.1], [0, 1.0, 0.9], [0, 4.0, 1.0]])
    found = NoiseTest(np.array([0, 5.0, 3.0]), {"axes": drawn})
    assert found.p_of_compactness == 1 / 5
    assert found.p == 2 / 5


def test_draws_end_early_where_they_settle_the_answer():
    assert noise_test(SHAPELESS, n_draws=39, seed=0).n_draws == 9
    found = noise_test(CLEAR, n_draws=39, seed=0)
    assert (found.n_draws, found.p, set(found.drawn)) == (39, 0.05, set(NULL_KINDS))


def test_noise_is_one_cluster_and_a_warning_says_so():
    with pytest.warns(UserWarning, match=r"told from noise \(p = .*best_k = "):
        found = select_k(X=SHAPELESS, **QUICK)
    assert found.best_k == 1 < min(found.ks)
    assert found.p > 0.05
    assert found.best_k_range == (1,)
    assert "best_k = 1; no more than noise: p = " in repr(found)
    assert "no more than noise" in found._repr_html_()


def test_clusters_are_told_from_noise():
    found = select_k(X=CLEAR, **QUICK)  # warnings are errors here
    assert (found.best_k, found.p, found.decisive) == (5, 0.05, "eigengap")
    assert 5 in found.best_k_range
    assert "more than noise: p = 0.05, 39 draws from each of 5 null" in repr(found)


def test_noise_of_every_kind_is_one_cluster():
    """At the level of the test, 5 %, few of these draws may be rejected."""
    p = [
        noise_test(
            draw(np.random.default_rng([seed, 11]), 200, (2, 8)[seed]),
            n_draws=39,
            seed=seed,
        ).p
        for draw in NOISE.values()
        for seed in (0, 1)
    ]
    assert np.sum(np.array(p) <= 0.05) <= 2


@pytest.mark.parametrize("kind", list(GROUPS)[:5])
def test_groups_that_are_clearly_apart_are_not_noise(kind):
    sizes, apart, widths = GROUPS[kind]
    X = groups(np.random.default_rng(2), sizes[0], widths[0], apart)
    assert noise_test(X, n_draws=39, seed=0).p == 0.05


def test_equal_rows_can_be_clusters():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 30, axis=0)
    assert noise_test(X, n_draws=39, seed=0).p == 0.05


def test_rows_without_spread_are_noise():
    for X in (np.ones((20, 2)), np.eye(3), np.arange(6.0)[:, None]):
        assert noise_test(X, n_draws=39, seed=0).p > 0.05


def test_threads_do_not_change_the_answer():
    one, three = (select_k(X=CLEAR[:80], **QUICK, n_jobs=j) for j in (1, 3))
    assert (one.p, one.scores, one.best_k_range) == (
        three.p,
        three.scores,
        three.best_k_range,
    )


def test_an_ensemble_is_tested_with_its_features():
    runs = generate(CLEAR, 6, base_k=[3, 4, 5, 6, 7, 8], random_state=0)
    found = select_k(runs, range(2, 9), X=CLEAR, **QUICK)
    assert (found.best_k, found.p) == (5, 0.05)


def test_features_are_scaled_as_the_base_clusterings_are():
    X = np.column_stack([CLEAR, 1e4 * np.random.default_rng(0).normal(size=150)])
    with pytest.warns(UserWarning, match="All are scaled"):
        found = select_k(X=X, scale="auto", **QUICK)
    assert found.p == 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert select_k(X=X, **QUICK).best_k == 1


def test_without_draws_features_are_not_tested():
    found = select_k(X=CLEAR, n_null=0, **QUICK)
    assert (found.best_k, found.p) == (5, None)


def test_wide_and_sparse_features_are_tested_on_principal_axes():
    rng = np.random.default_rng(0)
    means = np.repeat(np.eye(3, 60) * 12, 30, axis=0)
    X = sparse.csr_array(rng.poisson(0.3 + means))
    found = select_k(X=X, k_range=range(2, 7), **QUICK)
    assert (found.best_k, found.p) == (3, 0.05)


def test_an_estimator_with_features_is_tested_and_labels_alone_are_not():
    with pytest.warns(UserWarning, match="cannot be told from noise"):
        model = ECPCSHC("auto", random_state=0).fit(SHAPELESS)
    assert (model.n_clusters_, model.labels_.max()) == (1, 0)
    assert model.selection_.p > 0.05
    labels = ECPCSHC("auto", base="precomputed").fit(
        random_ensemble(120, 12, 4, seed=0)
    )
    assert labels.selection_.p is None
    assert "labels alone cannot tell clusters from noise" in repr(labels.selection_)


def test_labels_that_agree_by_chance_are_one_cluster():
    labels = np.random.default_rng(1).integers(0, 4, (150, 10))
    with pytest.warns(UserWarning, match="agree no more than by chance"):
        found = select_k(labels, random_state=0)
    assert (found.best_k, found.best_k_range) == (1, (1,))
    with pytest.warns(UserWarning, match="agree no more"):
        assert consensus(labels, "auto", random_state=0).max() == 0


def test_agreement_by_chance_needs_two_clusterings():
    same = np.repeat([0, 1], 20)
    both = ensclust.Ensemble.from_clusterings([same, same])
    assert agree_by_chance(both, n_draws=39, seed=0) == 1 / 40
    one = both.select(np.array([True, False]))
    assert agree_by_chance(one, n_draws=39, seed=0) == 1 / 40


def test_numbers_that_halves_of_the_clusterings_suggest_cannot_be_told_apart():
    coarse, fine = np.repeat([0, 1, 2], 20), np.arange(60) // 10
    mixed = np.column_stack([coarse] * 6 + [fine] * 6)
    found = select_k(mixed, range(2, 10), criteria=["eigengap"], random_state=0)
    assert {3, 6} <= set(found.best_k_range)
    sure = select_k(mixed[:, :6], range(2, 10), criteria=["eigengap"], random_state=0)
    assert sure.best_k_range == (3,)
    knee = select_k(mixed, range(2, 10), criteria=["anmi"], random_state=0)
    assert knee.best_k in knee.best_k_range


def test_the_last_k_needs_a_gap_above_the_next_one():
    assert suggest_gap([2, 3, 4], np.array([0.1, 0.2, 0.3, 0.1])) == 4
    assert suggest_gap([2, 3, 4], np.array([0.1, 0.2, 0.3, 0.4])) == 3
    assert suggest_gap([4], np.array([0.3, 0.4])) == 4


def test_the_last_k_is_not_the_answer_for_want_of_better():
    labels = generate(np.random.default_rng(3).normal(size=(300, 10)), random_state=0)
    for last in range(3, 13):
        with pytest.warns(UserWarning, match="stands out"):
            found = select_k(labels, range(2, last + 1), criteria=["anmi"])
        assert found.best_k < last


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, TypeError, "neither base clusterings nor features"),
        ({"X": CLEAR, "n_null": 5}, ValueError, "n_null=5 draws.*at least 39, or 0"),
        ({"X": CLEAR, "n_null": -1}, ValueError, "n_null=-1"),
        ({"X": CLEAR, "scale": "wide"}, ValueError, "scale='wide'"),
        ({"ensemble": [[0, 1], [1, 1]], "X": CLEAR}, ValueError, "X has 150 rows, but"),
        ({"X": [["a"]]}, ValueError, "X is not a table"),
    ],
)
def test_wrong_input_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        select_k(**options)
