"""Element-centric similarity against its definition by random walks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust._ensemble.agreement import element_shares, table_ecs
from ensclust.metrics import ecs, element_similarity

ALPHA = 0.9


def pagerank(labels):
    """Return the personalised PageRank of each object, (N, N), by definition.

    A walk goes from an object to its cluster, from there to any of its objects, and
    starts again with probability 1 - alpha.
    """
    member = labels[:, None] == np.unique(labels)
    step = (member / member.sum(axis=0)) @ member.T
    eye = np.eye(len(labels))
    return (1 - ALPHA) * np.linalg.inv(eye - ALPHA * step)


def by_definition(one, other):
    apart = np.abs(pagerank(one) - pagerank(other)).sum(axis=1)
    return 1 - apart / (2 * ALPHA)  # the corrected L1 distance


@st.composite
def pairs(draw, least=0):
    n = draw(st.integers(1, 30))
    columns = st.lists(st.integers(least, 5), min_size=n, max_size=n)
    return np.array(draw(columns)), np.array(draw(columns))


@given(pairs())
def test_it_is_the_corrected_distance_of_pageranks(pair):
    expected = by_definition(*pair)
    np.testing.assert_allclose(element_similarity(*pair), expected, atol=1e-9)
    assert ecs(*pair) == pytest.approx(expected.mean(), abs=1e-9)


@given(pairs(least=-1))
def test_objects_without_a_label_are_left_out_of_both(pair):
    both = (pair[0] >= 0) & (pair[1] >= 0)
    found = element_shares(*pair)
    assert np.isnan(found[~both]).all()
    if both.any():
        expected = by_definition(pair[0][both], pair[1][both])
        np.testing.assert_allclose(found[both], expected, atol=1e-9)


@given(pairs())
def test_it_is_symmetric_and_blind_to_names(pair):
    one, other = pair
    found = element_similarity(one, other)
    assert np.array_equal(found, element_similarity(other, one))
    names = np.array([f"group {5 - x}" for x in one])
    assert np.array_equal(found, element_similarity(names, other - 3))
    assert ecs(one, names) == 1.0


def test_of_a_table_with_empty_lines_and_of_an_empty_one():
    table = np.array([[2, 0, 0], [0, 0, 0], [1, 0, 3]])
    one, other = [0, 0, 2, 2, 2, 2], [0, 0, 0, 2, 2, 2]
    assert table_ecs(table) == pytest.approx(ecs(one, other))
    assert np.isnan(table_ecs(np.zeros((2, 3), int)))
    assert np.isnan(element_shares(np.array([-1]), np.array([0]))).all()


def test_as_many_clusters_as_objects_take_no_table():
    n = 200_000
    order = np.random.default_rng(0).permutation(n)
    assert ecs(order, np.arange(n)) == 1.0
    assert ecs(order, np.arange(n) // 2) == 0.5
