"""Leading eigenvectors of a symmetric matrix, any number of them for one reduction."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack

from ensclust._support import parallel

_SMALL = 1000  # rows up to which one thread works
_LARGE = 4000  # rows from which a few eigenvectors are found by iteration


class _Tridiagonal(NamedTuple):
    """A = Q T Q^T: the tridiagonal T, and Q as Householder reflections."""

    diagonal: np.ndarray
    beside: np.ndarray
    reflections: np.ndarray
    scales: np.ndarray
    n_work: int  # the room of syevr: sizes of blocks, and so rounding, hang on it


class Spectrum:
    """The largest eigenvalues of a symmetric matrix and their vectors.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        A symmetric float64 matrix, which is overwritten.

    Notes
    -----
    The matrix is made tridiagonal once, in time n^3 and in its own memory; after that k
    eigenvectors take time n^2 k by bisection and inverse iteration, and do not hang on
    which others were asked for. These are the steps of LAPACK's ``syevr`` with its
    sizes of blocks: for k < n the result is that of ``scipy.linalg.eigh``, bit by bit.
    Above 4,000 rows, fewer than n / 10 vectors are found by Lanczos iteration instead,
    in time n^2 k.

    Examples
    --------
    >>> eigenvalues, vectors = Spectrum(np.array([[2.0, 1.0], [1.0, 2.0]])).leading(1)
    >>> eigenvalues.round(12), abs(vectors.round(3)).T
    (array([3.]), array([[0.707, 0.707]]))
    """

    def __init__(self, A: np.ndarray):
        self._matrix = A
        self._reduced: _Tridiagonal | None = None

    def __len__(self) -> int:
        return len(self._matrix)

    def leading(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues, ascending, and their vectors, (n, k)."""
        n = len(self)
        if n > _LARGE and k < n // 10:  # some 100 products with a vector, not n of them
            with suppress(sparse.linalg.ArpackNoConvergence):
                return self._iterate(k)
        # On small matrices threads wait for each other longer than they work.
        with parallel.one_blas_thread() if n < _SMALL else nullcontext():
            if self._reduced is None:
                self._reduced = self._reduce()
            return _vectors(self._reduced, k)

    def _iterate(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        start = np.random.default_rng(0).normal(size=len(self))
        n_kept = max(2 * k + 20, 60)
        return sparse.linalg.eigsh(
            self._matrix, k, which="LA", v0=start, ncv=n_kept, tol=0
        )

    def _reduce(self) -> _Tridiagonal:
        # The transpose, which is the same matrix, is in the order of LAPACK. Iteration
        # needs the matrix once more.
        A = self._matrix.copy() if len(self) > _LARGE else self._matrix
        n = len(A)
        n_work = int(lapack.dsyevr_lwork(n, lower=1)[0])
        reflections, diagonal, beside, scales, _ = lapack.dsytrd(
            A.T, lower=1, lwork=n_work - 5 * n, overwrite_a=1
        )
        return _Tridiagonal(diagonal, beside, reflections, scales, n_work - 2 * n)


def _vectors(reduced: _Tridiagonal, k: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(reduced.diagonal)
    if n == 1:  # nothing beside the diagonal, which older SciPy does not take
        return reduced.diagonal.copy(), np.ones((1, 1))
    eigenvalues, vectors = linalg.eigh_tridiagonal(
        reduced.diagonal,
        reduced.beside,
        select="i",
        select_range=(n - k, n - 1),
        check_finite=False,
        lapack_driver="stebz",
    )
    # The first row is no part of the reflections.
    below = np.asfortranarray(vectors[1:])
    product = "L", "N", reduced.reflections[1:, :-1], reduced.scales, below
    vectors[1:] = lapack.dormqr(*product, reduced.n_work, overwrite_c=1)[0]
    return eigenvalues, vectors
