"""Sums over walks from leading eigenvectors, against the sums multiplied out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from ensclust import Ensemble, similarity
from ensclust.similarity import _leading, _measures


def clustered(n_groups=12, m=15, k=50, n=3000, seed=0):
    """Return clusterings that split the same groups at random."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, n_groups, n)
    parts = max(1, k // n_groups)
    return Ensemble(group[:, None] * parts + rng.integers(0, parts, (n, m)))


def walks_of(W):
    """Return A and the root of the degrees, in float32."""
    W = W - np.diag(W.diagonal())
    root = np.sqrt(W.sum(axis=1))
    return (W / root[:, None] / root).astype(np.float32), root.astype(np.float32)


def literal_sum(A, root, steps):
    A, D = A.astype(np.float64), np.diag(root.astype(np.float64) ** 2)
    total, power = 0, np.eye(len(A))
    for _ in range(steps):
        power = power @ A
        total = total + power @ D @ power
    return total


@pytest.mark.parametrize("steps", [5, 20, 64])
@pytest.mark.parametrize("n_first", [2, 3])
def test_the_sum_is_that_of_all_walks(steps, n_first, monkeypatch):
    A, root = walks_of(similarity.jaccard(clustered()))
    if n_first == 3:  # of two the bound is not met
        pairs = _leading._ritz_pairs

        def without_two(A, Q):
            found = pairs(A, Q)
            return found._replace(settled=found.settled[1:])

        monkeypatch.setattr(_leading, "_ritz_pairs", without_two)
    total = _leading.sum_of_walks(A, root, steps)
    expected = literal_sum(A, root, steps)
    scale = np.sqrt(np.multiply.outer(expected.diagonal(), expected.diagonal()))
    assert total.dtype == np.float32
    assert np.abs(np.tril((total - expected) / scale)).max() < 1e-5


def test_a_bound_that_is_not_met_is_no_sum(monkeypatch):
    A, root = walks_of(similarity.jaccard(clustered()))
    monkeypatch.setattr(_leading, "_TOLERANCE", 1e-12)
    assert _leading.sum_of_walks(A, root, 20) is None


@pytest.mark.parametrize("isolated", [0, 3])
def test_z_is_right_to_1e_5_with_few_vectors(isolated, monkeypatch):
    W = similarity.jaccard(clustered(seed=1))
    W[:isolated] = W[:, :isolated] = 0
    monkeypatch.setattr(_measures, "_MANY", 100)
    Z = similarity.propagate(W, exact=False)
    assert np.abs(Z - similarity.propagate(W)).max() < 1e-5
    assert np.allclose(Z, Z.T, rtol=0, atol=1e-12)
    assert (Z.diagonal() == 1).all()


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=5),
    st.integers(2, 3),
    st.integers(4, 70),
)
def test_weights_of_the_tail_are_those_of_the_literal_sum(values, n_first, steps):
    values = np.array(values)
    q = np.multiply.outer(values, values)
    expected = sum(q**s for s in range(n_first + 1, steps + 1))
    found = _leading.tail_weights(values, n_first, steps)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-12)


@given(st.integers(3, 30), st.sampled_from([0.0, 0.4, 0.9]), st.integers(0, 1000))
def test_vectors_are_filtered_by_a_polynomial_that_is_small_below_the_edge(
    n, edge, seed
):
    rng = np.random.default_rng(seed)
    A, Q = rng.uniform(-1, 1, (n, n)), rng.normal(size=(n, 2))
    A = (A + A.T) / np.linalg.norm(A + A.T, 2)
    values, vectors = np.linalg.eigh(A)
    if edge:
        wanted = np.polynomial.chebyshev.chebval(values / edge, [0, 0, 0, 0, 1])
    else:
        wanted = values**4
    expected = (vectors * wanted) @ (vectors.T @ Q)
    found = _leading._filtered((A @ A).astype(np.float32), Q, edge)
    size = 1 + np.abs(wanted).max()
    assert np.abs(found - expected).max() < 1e-4 * size


def test_the_edge_is_the_least_that_is_left_of_a_vector():
    A, _ = walks_of(similarity.jaccard(clustered(n=500)))
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(len(A), 9)))[0]
    left = np.linalg.svd(A.astype(np.float64) @ Q, compute_uv=False)
    assert _leading._ritz_pairs(A, Q).edge == pytest.approx(left.min(), rel=1e-9)


def test_the_start_is_fixed():
    A, root = walks_of(similarity.jaccard(clustered(n=500)))
    one, other = (_leading.sum_of_walks(A, root, 20) for _ in range(2))
    assert np.array_equal(np.tril(one), np.tril(other))


@given(st.integers(1, 30), st.integers(0, 1000))
def test_a_symmetric_product_is_the_product(n, seed):
    B = np.random.default_rng(seed).normal(size=(n, n))
    B += B.T
    square = B @ B
    assert np.allclose(_leading.symmetric_product(square, B), square @ B)


def test_exact_is_the_definition_also_for_many_nodes():
    W = similarity.jaccard(clustered(seed=2))
    assert len(W) >= 700
    assert np.allclose(similarity.propagate(W), reference.propagate(W, 20), atol=1e-9)
