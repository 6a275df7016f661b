"""Data without clusters: unimodal distributions, and draws that resemble the data."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from ensclust._quality.null_model import (
    NULL_KINDS,
    NullModel,
    unimodal,
    unimodal_values,
)

GRID = (np.arange(2000) + 0.5) / 2000


def is_single_peaked(values):
    """Whether numbers rise, then fall."""
    steps = np.sign(np.diff(values))
    steps = steps[steps != 0]
    return (np.diff(steps) <= 0).all()


@given(st.integers(0, 2**31), st.integers(4, 60))
def test_the_closest_distribution_has_one_mode_and_the_same_spread(seed, n):
    rng = np.random.default_rng(seed)
    sample = np.append(rng.normal(size=n), rng.normal(9, 1, n // 2))
    quantile = unimodal(sample)
    places = (np.arange(len(sample)) + 0.5) / len(sample)
    assert quantile(places).std() == pytest.approx(sample.std())
    assert (np.diff(quantile(GRID)) >= 0).all()
    inside = quantile(np.linspace(0.5 / len(sample), 1 - 0.5 / len(sample), 400))
    density = 1 / np.maximum(np.diff(inside), 1e-12)
    # Steps of the grid that reach into the next piece lie between both densities.
    assert is_single_peaked(np.round(np.log(density), 6))


def test_the_frequencies_of_few_values_are_made_unimodal_literally():
    sample = np.repeat([1, 2, 3, 4, 5, 6], [5, 30, 10, 5, 20, 10])
    share = np.array([5, 30, 10, 5, 20, 10]) / 80
    best, least = None, np.inf
    for mode in range(7):
        rising, falling = share[:mode], share[mode:]
        tried = np.concatenate(
            [
                isotonic_regression(rising).x if mode else rising,
                isotonic_regression(falling, increasing=False).x
                if mode < 6
                else falling,
            ]
        )
        farthest = np.abs(np.cumsum(tried) - np.cumsum(share)).max()
        if farthest < least - 1e-12:
            best, least = tried, farthest
    values, counts = np.unique(unimodal_values(sample)(GRID), return_counts=True)
    assert values.tolist() == [1, 2, 3, 4, 5, 6]
    assert counts / len(GRID) == pytest.approx(best, abs=1e-3)
    assert is_single_peaked(best)


def test_of_equally_close_distributions_the_one_with_the_lowest_mode_is_used():
    sample = np.repeat([1, 2, 3, 4, 5], [4, 2, 4, 2, 4])
    _, counts = np.unique(unimodal_values(sample)(GRID), return_counts=True)
    assert counts.tolist() == [500, 375, 375, 375, 375]


@pytest.mark.parametrize(("n_distinct", "keeps_values"), [(9, True), (10, False)])
def test_fewer_distinct_values_than_half_as_many_as_objects_are_kept(
    n_distinct, keeps_values
):
    own = np.arange(20.0) % n_distinct
    drawn = NullModel(own[:, None]).draw("features", np.random.default_rng(0))
    assert (set(drawn[:, 0]) <= set(own)) is keeps_values


def test_a_feature_of_two_values_keeps_them():
    sample = np.repeat([0.0, 1.0], [90, 10])
    assert np.unique(unimodal_values(sample)(GRID)).tolist() == [0, 1]
    assert unimodal_values(sample)(GRID).mean() == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("kind", NULL_KINDS)
def test_draws_have_the_place_spread_and_correlations_of_the_data(kind):
    rng = np.random.default_rng(0)
    mixing = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.1]])
    X = rng.normal(size=(3000, 3)) @ mixing + [5, -5, 0]
    drawn = NullModel(X).draw(kind, rng)
    assert drawn.shape == X.shape
    assert drawn.mean(axis=0) == pytest.approx(X.mean(axis=0), abs=0.15)
    assert np.cov(drawn.T) == pytest.approx(np.cov(X.T), abs=0.25)


@pytest.mark.parametrize("kind", NULL_KINDS)
def test_constant_features_and_equal_objects_can_be_drawn(kind):
    rng = np.random.default_rng(0)
    some = np.column_stack([np.ones(20), rng.normal(size=20)])
    assert np.allclose(NullModel(some).draw(kind, rng)[:, 0], 1)
    # The mean of three times 0.1 is not 0.1.
    for same in (np.ones((5, 2)), np.full((3, 2), 0.1)):
        assert np.allclose(NullModel(same).draw(kind, rng), same, rtol=1e-12)


def test_groups_on_an_axis_are_not_drawn_again():
    rng = np.random.default_rng(0)
    X = np.repeat([0.0, 10.0], 200)[:, None] + rng.normal(size=(400, 1))
    for kind in NULL_KINDS[:2]:
        drawn = NullModel(X).draw(kind, rng)
        between = ((drawn > 3) & (drawn < 7)).mean()
        assert between > 0.1, kind  # of the data: none


def test_features_of_few_values_are_drawn_independently():
    rng = np.random.default_rng(0)
    cells = np.repeat(rng.integers(0, 2, (500, 1)), 3, axis=1)
    drawn = NullModel(cells.astype(float)).draw("features", rng)
    assert set(np.unique(drawn)) == {0, 1}
    assert np.abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.2
