"""Kernels against their definitions, where other tests rarely reach them."""

import numpy as np
import pytest

from ensclust import _kernels
from ensclust._cuts import kmeans


@pytest.mark.parametrize("n_features", [1, 3, 4, 5, 8, 11])
def test_the_nearest_centre_is_that_of_least_distance(n_features):
    rng = np.random.default_rng(n_features)
    X = rng.integers(-4, 5, (40, n_features)).astype(np.float32)
    centres = rng.integers(-4, 5, (6, n_features)).astype(np.float32)
    half = (centres**2).sum(axis=1) / 2
    labels = np.full(40, -1, np.int32)
    columns = np.ascontiguousarray(centres.T)
    _kernels.assignment.nearest_centre(X, columns, half, labels, 5, 40)
    squares = ((X[:, None] - centres) ** 2).sum(axis=2)
    assert labels.tolist() == [-1] * 5 + squares.argmin(axis=1)[5:].tolist()


def test_scores_are_mean_memberships():
    codes = np.array([[0, 1, 255, 1], [0, 0, 1, 255]], np.uint8)
    start = np.array([0, 2, 4])
    meta, weight = np.array([0, 1, 1, -1]), np.array([1.0, 2, 3, 4])
    count, scores = np.array([2.0, 4]), np.full((4, 2), 9.0)
    _kernels.voting.score(codes, start, meta, weight, count, scores, 0, 4)
    assert scores.tolist() == [[0.5, 0.75], [0, 1.25], [0, 0], [0, 0.5]]


@pytest.mark.parametrize("n_features", [3, 4, 9])
@pytest.mark.parametrize("k", [2, 5, 8])
def test_k_means_ends_at_the_means_of_what_is_nearest(n_features, k):
    rng = np.random.default_rng(k)
    X = rng.integers(-9, 10, (300, n_features)).astype(np.float64)
    rows = kmeans.Rows.of(X)
    (centres,), _ = kmeans.converge(
        rows, [k], [0], init="k-means++", max_iter=100, tol=0, n_jobs=1
    )
    labels = np.empty((1, 300), np.uint8)
    kmeans.label(rows, [centres], [kmeans.half_norms(centres)], labels, 1)
    nearest = ((X[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert labels[0].tolist() == nearest.tolist()
    means = [X[nearest == c].mean(axis=0) for c in range(k)]
    assert np.allclose(centres, means)
