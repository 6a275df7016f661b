"""NMI and ARI of two clusterings against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from ensclust.metrics import ari, nmi


@st.composite
def pairs(draw):
    n = draw(st.integers(1, 40))
    columns = st.lists(st.integers(-2, 6), min_size=n, max_size=n)
    return np.array(draw(columns)), np.array(draw(columns))


def assert_same(one, other):
    expected = normalized_mutual_info_score(one, other, average_method="geometric")
    assert nmi(one, other) == pytest.approx(expected, rel=0, abs=1e-12)
    expected = adjusted_rand_score(one, other)
    assert ari(one, other) == pytest.approx(expected, rel=0, abs=1e-12)


@given(pairs())
def test_they_are_those_of_scikit_learn(pair):
    assert_same(*pair)


@pytest.mark.parametrize("n", [1, 2, 1000])
def test_so_are_those_of_one_cluster_and_of_clusters_of_one(n):
    every, none = np.arange(n), np.zeros(n, int)
    for one in (every, none, every // 2):
        for other in (every, none):
            assert_same(one, other)


def test_texts_are_labels():
    assert_same(np.array(["a", "b", "a"]), np.array(["x", "y", "z"]))


def test_independent_clusterings_share_exactly_nothing():
    one, other = np.divmod(np.arange(21 * 35), 35)
    assert 0 <= nmi(one, other) < 1e-14
    assert 0 <= nmi(one, one) <= 1


def test_as_many_clusters_as_objects_take_no_table_of_pairs():
    every = np.arange(100_000)
    assert nmi(every, every) == ari(every, every) == 1
    assert nmi(every, every // 2) == pytest.approx(0.9694297297211408, abs=1e-12)
