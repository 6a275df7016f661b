"""The leading eigenvectors against those of LAPACK in one go."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from threadpoolctl import threadpool_limits

from ensclust._cuts.spectrum import Spectrum


def symmetric(n, rank, seed):
    factor = np.random.default_rng(seed).normal(size=(n, rank))
    return factor @ factor.T


@given(
    n=st.integers(1, 60),
    rank=st.integers(1, 60),
    seed=st.integers(0, 1000),
    data=st.data(),
)
def test_spectrum_is_that_of_eigh(n, rank, seed, data):
    A = symmetric(n, rank, seed)
    k = data.draw(st.integers(1, n))
    expected = linalg.eigh(A, eigvals_only=True)[n - k :]
    scale = max(expected[-1], 1)
    eigenvalues, vectors = Spectrum(A.copy()).leading(k)
    assert np.allclose(eigenvalues, expected, rtol=0, atol=1e-10 * scale)
    assert np.allclose(A @ vectors, vectors * eigenvalues, rtol=0, atol=1e-8 * scale)
    assert np.allclose(vectors.T @ vectors, np.eye(k), atol=1e-10)


def test_many_equal_eigenvalues_do_not_matter():
    # Of these LAPACK's bisection finds none.
    rng = np.random.default_rng(0)
    A = np.eye(743) / 3
    A[:40, :40] = symmetric(40, 3, 0)
    order = rng.permutation(743)
    A = A[np.ix_(order, order)]
    eigenvalues, vectors = Spectrum(A.copy()).leading(3)
    assert np.allclose(eigenvalues, linalg.eigvalsh(A)[-3:])
    assert np.allclose(A @ vectors, vectors * eigenvalues, atol=1e-8)


@pytest.mark.parametrize("n", [2, 7, 40, 150, 600])
def test_the_bits_are_those_of_eigh(n):
    A = symmetric(n, n, 1)
    shared = Spectrum(A.copy())
    for k in {1, n // 3, n - 1} - {0}:
        with threadpool_limits(1):
            expected = linalg.eigh(A, subset_by_index=[n - k, n - 1])
        for one, other in zip(shared.leading(k), expected, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("n", [30, 1200])
def test_what_else_was_asked_for_does_not_matter(n):
    A = symmetric(n, n, 0)
    shared = Spectrum(A.copy())
    for k in (7, 2, n // 2, 2):
        alone = Spectrum(A.copy()).leading(k)
        for one, other in zip(shared.leading(k), alone, strict=True):
            assert one.tobytes() == other.tobytes()


def test_a_matrix_of_zeros_has_orthonormal_vectors():
    eigenvalues, vectors = Spectrum(np.zeros((5, 5))).leading(3)
    assert not eigenvalues.any()
    assert np.allclose(vectors.T @ vectors, np.eye(3))
