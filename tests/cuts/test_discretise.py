"""The discretisation against its definition, one start after the other."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ensclust import _kernels, similarity
from ensclust._cuts import discretise
from ensclust._cuts.partition import NormalisedCut
from ensclust.metrics import ari
from strategies import random_ensemble


def literal(rows, start):
    """Rotate from one start, round by round."""
    n, k = rows.shape
    rotation, closeness = np.empty((k, k)), np.zeros(n)
    rotation[:, 0] = rows[start]
    for j in range(1, k):
        closeness += np.abs(rows @ rotation[:, j - 1])
        rotation[:, j] = rows[np.argmin(closeness)]
    labels = np.full(n, -1)
    for _ in range(discretise.MAX_ROUNDS):
        axis = np.argmax(rows @ rotation, axis=1)
        if np.array_equal(axis, labels):
            break
        labels = axis
        left, _, right = np.linalg.svd(np.eye(k)[labels].T @ rows)
        rotation = right.T @ left.T
    return labels


def unit_rows(n, k, seed):
    rows = np.random.default_rng(seed).normal(size=(n, k))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(n=st.integers(12, 60), k=st.integers(2, 5), seed=st.integers(0, 10**6))
def test_starts_end_where_each_would_end_alone(n, k, seed):
    rows = unit_rows(n, k, seed)
    starts = np.arange(0, n, 3)
    found = discretise.partitions(rows, starts)
    for start, parts in zip(starts, found, strict=True):
        expected = literal(rows, start)
        if len(np.unique(expected)) == k:  # else the rotation is not unique
            assert ari(parts, expected) == 1.0


def test_starts_of_an_ensemble_end_where_each_would_end_alone():
    Z = similarity.propagate(similarity.jaccard(random_ensemble(400, 20, 8, seed=1)))
    rows = NormalisedCut(Z).embedding(6)[1]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    starts = np.arange(0, len(rows), 5)
    for start, parts in zip(starts, discretise.partitions(rows, starts), strict=True):
        assert ari(parts, literal(rows, start)) == 1.0


@given(n=st.integers(1, 30), k=st.integers(1, 6), seed=st.integers(0, 10**6))
def test_first_axes_are_the_farthest_rows_and_each_row_takes_the_nearest(n, k, seed):
    rows = unit_rows(n, k, seed)
    for start, nearest in enumerate(discretise.first_partitions(rows, np.arange(n))):
        axes = [start]
        for _ in range(1, k):
            axes.append(int(np.argmin(np.abs(rows @ rows[axes].T).sum(axis=1))))
        products = rows @ rows[axes].T
        chosen = products[np.arange(n), nearest]
        assert np.allclose(chosen, products.max(axis=1), rtol=0, atol=1e-12)


@given(k=st.integers(1, 8), size=st.floats(1e-9, 1), seed=st.integers(0, 10**6))
def test_rotations_are_those_of_the_singular_vectors(k, size, seed):
    sums = np.random.default_rng(seed).normal(size=(k, k))
    sums[:, 0] *= size  # down to the size at which squares are not used
    left, values, right = np.linalg.svd(sums)
    rotation = discretise._rotation(sums)
    error = 1e-13 + 1e-15 * (values[0] / values[-1]) ** 2
    assert np.allclose(rotation @ rotation.T, np.eye(k), rtol=0, atol=10 * error)
    assert np.allclose(rotation, right.T @ left.T, rtol=0, atol=100 * error)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 99))
def test_parts_are_numbered_by_first_appearance_and_their_rows_summed(axis, seed):
    rows = np.random.default_rng(seed).normal(size=(len(axis), 5))
    parts, sums = np.full(len(axis), -7), np.zeros((5, 5))
    number = np.full(5, -1)
    n_parts = _kernels.parts.sum_rows(rows, np.array(axis), number, parts, sums)
    order = list(dict.fromkeys(axis))
    assert parts.tolist() == [order.index(one) for one in axis]
    assert n_parts == len(order)
    assert np.allclose(sums, np.eye(5)[axis].T @ rows, rtol=0, atol=1e-12)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=20), st.integers(0, 99))
def test_weights_within_parts_are_summed(labels, seed):
    n, inside = len(labels), np.full(5, np.nan)
    graph = np.random.default_rng(seed).random((n, n))
    members = np.argsort(labels, kind="stable")
    begin = np.searchsorted(np.sort(labels), np.arange(6))
    _kernels.parts.sum_within(graph, members, begin, inside)
    indicator = np.eye(5)[labels]
    assert np.allclose(inside, np.diag(indicator.T @ graph @ indicator), rtol=1e-12)
