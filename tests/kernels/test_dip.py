"""Hartigan's dip against its definition, a linear program."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

from ensclust import _kernels

VALUES = st.lists(st.integers(0, 12), min_size=1, max_size=14)


def literal_dip(sample):
    """Return the least distance of a sample from any unimodal distribution function.

    For each mode: heights of a function at the distinct values, two at the mode, where
    it may jump; convex before, concave after, and as close to the sample as possible.
    """
    at, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts) / len(sample)
    below = upto - counts / len(sample)
    return min(_distance(at, below, upto, mode) for mode in range(len(at)))


def _distance(at, below, upto, mode):
    places = [*range(mode + 1), *range(mode, len(at))]  # the mode twice
    n = len(places)
    rows, limits = [], []

    def require(limit, **weights):  # a sum of weighted heights is at most the limit
        row = np.zeros(n + 1)
        for name, weight in weights.items():
            row[n if name == "far" else int(name[1:])] += weight
        rows.append(row)
        limits.append(limit)

    for i, j in enumerate(places):
        lowest = below[j] if i == mode else upto[j]
        highest = upto[j] if i == mode + 1 else below[j]
        require(-lowest, **{f"h{i}": -1, "far": -1})
        require(highest, **{f"h{i}": 1, "far": -1})
        if i:
            require(0, **{f"h{i - 1}": 1, f"h{i}": -1})
    for i in range(1, n - 1):
        if i in (mode, mode + 1):
            continue
        before = 1 / (at[places[i]] - at[places[i - 1]])
        after = 1 / (at[places[i + 1]] - at[places[i]])
        sign = 1 if i < mode else -1  # the slope rises, or falls
        curve = {f"h{i - 1}": -before, f"h{i}": before + after, f"h{i + 1}": -after}
        require(0, **{name: sign * weight for name, weight in curve.items()})
    aim = np.append(np.zeros(n), 1.0)
    found = linprog(aim, A_ub=np.array(rows), b_ub=limits, bounds=(0, 1))
    return found.fun


@given(VALUES)
def test_the_dip_is_the_distance_from_the_closest_unimodal_distribution(values):
    sample = np.sort(np.array(values, float))
    assert _kernels.dip.dip(sample) == pytest.approx(literal_dip(sample), abs=1e-7)


@given(st.integers(0, 2**31), st.integers(1, 200))
def test_the_dip_does_not_change_with_place_scale_and_direction(seed, n):
    sample = np.sort(np.random.default_rng(seed).normal(size=n))
    own = _kernels.dip.dip(sample)
    assert 0 <= own <= 0.25
    assert _kernels.dip.dip(8 * sample + 1) == pytest.approx(own, abs=1e-9)
    assert _kernels.dip.dip(-sample[::-1]) == pytest.approx(own, abs=1e-9)


def test_two_equal_points_far_apart_have_the_largest_dip():
    assert _kernels.dip.dip(np.repeat([0.0, 1.0], 50)) == pytest.approx(0.25)
    assert _kernels.dip.dip(np.arange(50.0)) == pytest.approx(0.5 / 50)
    assert _kernels.dip.dip(np.ones(5)) == 0


@given(st.integers(0, 2**31), st.integers(2, 6), st.integers(1, 4))
def test_clusters_are_compared_with_their_neighbour_across_the_border(seed, k, d):
    rng = np.random.default_rng(seed)
    X, centres = rng.normal(size=(30, d)), rng.normal(size=(k, d))
    found = np.empty(k)
    inertia = _kernels.dip.isolation(X, centres, 3, found)
    distance = cdist(X, centres, "sqeuclidean")
    assert inertia == pytest.approx(distance.min(axis=1).sum())
    label, second = np.argsort(distance, axis=1)[:, :2].T
    for a in range(k):
        b = np.bincount(second[label == a], minlength=k).argmax()
        along = X @ (centres[a] - centres[b])
        own, other = np.sort(along[label == a]), np.sort(along[label == b])
        m = min(len(own), len(other))
        expected = 0.0
        if m >= 3:
            border = np.sort(np.append(own[:m], other[len(other) - m :]))
            expected = (2 * m) ** 0.5 * _kernels.dip.dip(border)
        assert found[a] == pytest.approx(expected, abs=1e-9)
