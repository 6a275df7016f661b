"""Edge cases of quality that some change to the source would break."""

import numpy as np
import pytest

from ensclust import ECPCSMC, Ensemble
from ensclust._quality import criteria
from ensclust._quality.comparison import Comparison
from ensclust._quality.halves import SplitHalf
from ensclust._quality.k_selection import KSelection
from ensclust._quality.noise_test import measure, noise_test, principal_axes


def test_the_margin_of_a_cluster_is_the_mean_of_its_own_objects():
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    runs = [np.where(rng.random(60) < 0.2 * (m % 3), 0, truth) for m in range(9)]
    sure = ECPCSMC(3, base="precomputed", random_state=0).fit(np.array(runs).T)
    sure = sure.certainty()
    own = [sure.margin[sure.labels == j].mean() for j in range(3)]
    assert len(set(own)) == 3
    assert sure.clusters()["mean_margin"].tolist() == own


@pytest.mark.parametrize(
    ("best", "gap", "expected"),
    [(1, 0.0, True), (2, 0.0, False), (2, 0.5, True), (4, 0.0, False)],
)
def test_no_number_of_clusters_stands_out_of_noise(best, gap, expected):
    anmi = np.array([0.1, 0.2, 0.25])
    found = criteria.stands_out(
        [2, 3, 4], anmi, best, lambda _: 1.0, lambda: np.array([gap, np.nan])
    )
    assert found is expected


def test_criteria_choose_by_a_rule_that_is_known():
    rules = {criterion.rule for criterion in criteria.CRITERIA.values()}
    assert rules <= {"largest", "smallest", "knee"}


def test_a_seed_determines_the_test_against_noise():
    X = np.random.default_rng(0).normal(size=(60, 2))
    one, same, other = (noise_test(X, n_draws=2, seed=seed) for seed in (1, 1, 2))
    assert one.observed.tolist() == same.observed.tolist()
    assert one.observed.tolist() != other.observed.tolist()
    for kind, drawn in one.drawn.items():
        assert drawn.tolist() == same.drawn[kind].tolist()


@pytest.mark.parametrize(
    ("n", "n_ks"), [(9, 1), (24, 3), (25, 4), (49, 5), (50, 6), (100, 8), (500, 8)]
)
def test_data_are_measured_with_clusters_of_at_least_five_objects(n, n_ks):
    """The numbers of clusters are 2, 3, 4, 5, 7, 10, 14 and 20."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    assert len(measure(X, 0)) == 1 + n_ks


def test_up_to_20_features_are_tested_as_they_are():
    rows = np.random.default_rng(0).normal(size=(30, 25)) + 7
    assert np.array_equal(principal_axes(rows[:, :20]), rows[:, :20])
    assert principal_axes(rows).shape == (30, 20)
    assert principal_axes(rows).mean(axis=0) == pytest.approx(np.zeros(20))


def test_a_selection_without_clusterings_fits_no_ensemble():
    empty = KSelection("eac", (2, 3), {"lifetime": (0.1, 0.2)}, {"lifetime": 3}, 4)
    assert empty.fits(Ensemble([[0, 0], [0, 1], [1, 1], [1, 0]])) is False


def test_a_comparison_of_halves_as_plain_numbers():
    nmi, nothing = np.array([0.5, 1.0]), np.full(2, np.nan)
    halves = SplitHalf("eac", 6, nmi, nmi, nothing, np.array([0.25, np.nan]))
    facts = halves.to_dict()
    assert facts["nmi"] == {"mean": 0.75, "std": 0.25, "splits": [0.5, 1.0]}
    assert facts["ecs"] == {"mean": None, "std": None, "splits": [None, None]}
    assert facts["objects"] == [0.25, None]


@pytest.mark.parametrize(("n", "n_parts"), [(12, 1), (13, 2)])
def test_a_matrix_of_methods_is_divided_only_if_it_is_wider_than_a_terminal(n, n_parts):
    methods = tuple(f"m{i:02}" for i in range(n))
    labels, ones = np.zeros((4, n), int), np.ones(n)
    shown = repr(Comparison(methods, labels, ones, np.ones((n, n)), ones))
    matrix = shown.partition("NMI between the results\n")[2].splitlines()
    assert len(matrix) == n_parts * (n + 1)
    assert 74 < max(map(len, matrix)) <= 80
