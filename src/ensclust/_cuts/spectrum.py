"""Leading eigenvectors of a symmetric matrix, for one number of them or many."""

from functools import cached_property, partial

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from ensclust._support import parallel

_SMALL = 1000  # rows up to which one thread works
_MEDIUM = 3000  # the same for iteration, whose products are thin
_LARGE = 1000  # rows from which a few eigenvectors are found by iteration
_NARROWEST = 32  # vectors that are iterated together, then twice as many, and so on
_BLOCKS = 7  # powers of the matrix in one basis
_RESTARTS = 10
_SETTLED = 1e-12  # residual of an eigenvector


class Spectrum:
    """The largest eigenvalues of a symmetric matrix and their vectors.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        A symmetric float64 matrix, which is overwritten unless ``root`` is given.
    root : ndarray of shape (n,) or None
        The eigenvectors are those of A_ij / (root_i root_j); None means of A.
    exact : bool, default=False
        Whether LAPACK computes the vectors for any number of rows.

    Notes
    -----
    The matrix is made tridiagonal once, in time n^3 and in its own memory; after that k
    eigenvectors take time n^2 k by bisection and inverse iteration. These are the steps
    of LAPACK's ``syevr`` with its sizes of blocks: for k < n the result is that of
    ``scipy.linalg.eigh``, bit by bit.

    Above 1,000 rows, fewer than n / 10 vectors are found by block Krylov iteration from
    a fixed start instead, until their residuals are below 1e-12, in time n^2 k. All k
    up to 28, 56, 112, ... share one such iteration. Either way the vectors for k do not
    depend on which others were requested.

    Examples
    --------
    >>> eigenvalues, vectors = Spectrum(np.array([[2.0, 1.0], [1.0, 2.0]])).leading(1)
    >>> eigenvalues.round(12), abs(vectors.round(3)).T
    (array([3.]), array([[0.707, 0.707]]))
    """

    def __init__(
        self, A: np.ndarray, root: np.ndarray | None = None, *, exact: bool = False
    ):
        self._matrix, self._root, self._exact = A, root, exact
        self._iterations: dict[int, _Iteration] = {}

    def __len__(self) -> int:
        return len(self._matrix)

    def leading(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues, ascending, and their vectors, (n, k)."""
        n = len(self)
        if n > _LARGE and k < n // 10 and not self._exact:
            width = _NARROWEST
            while 7 * width < 8 * k:
                width *= 2
            if width not in self._iterations:
                self._iterations[width] = _Iteration(self._matrix, self._root, width)
            found = self._iterations[width].leading(k)
            if found is not None:
                return found
        with parallel.one_blas_thread_if(n < _SMALL):
            return self._vectors(k)

    @cached_property
    def _reduced(self) -> tuple:
        """A = Q T Q^T: Q as Householder reflections, and the tridiagonal T.

        Last comes the workspace of syevr: block sizes, and so rounding, depend on it.
        """
        # The transpose, which is the same matrix, is in the order of LAPACK. Iteration
        # needs the matrix once more.
        may_iterate = len(self) > _LARGE and not self._exact
        A = self._matrix
        if self._root is not None:
            A = A / self._root[:, None]
            A /= self._root
        elif may_iterate:
            A = A.copy()
        n = len(A)
        n_work = int(lapack.dsyevr_lwork(n, lower=1)[0])
        reduced = lapack.dsytrd(A.T, lower=1, lwork=n_work - 5 * n, overwrite_a=1)
        return *reduced[:-1], n_work - 2 * n

    def _vectors(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        reflections, diagonal, beside, scales, n_work = self._reduced
        n = len(diagonal)
        if n == 1:  # nothing off the diagonal, which older SciPy does not accept
            return diagonal.copy(), np.ones((1, 1))
        solve = partial(
            linalg.eigh_tridiagonal,
            diagonal,
            beside,
            select="i",
            select_range=(n - k, n - 1),
            check_finite=False,
        )
        try:
            eigenvalues, vectors = solve(lapack_driver="stebz")
        except linalg.LinAlgError:  # bisection can fail where many are equal
            eigenvalues, vectors = solve(lapack_driver="stemr")
        # The first row is not part of the reflections.
        below = np.asfortranarray(vectors[1:])
        vectors[1:] = lapack.dormqr(
            "L", "N", reflections[1:, :-1], scales, below, n_work, overwrite_c=1
        )[0]
        return eigenvalues, vectors


class _Iteration:
    """Rounds of block Krylov iteration from a fixed start, as many as were needed.

    Each k takes its vectors from the first round in which they have converged, whatever
    other k needed.
    """

    def __init__(self, A: np.ndarray, root: np.ndarray | None, width: int):
        self._matrix = A
        self._root = np.ones((len(A), 1)) if root is None else root[:, None]
        start = np.random.default_rng(0).standard_normal((len(A), width))
        with parallel.one_blas_thread():  # several would wait longer than they work
            self._next = np.linalg.qr(start)[0]
        self._rounds: list[tuple[np.ndarray, np.ndarray, int]] = []

    def leading(self, k: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the k largest eigenvalues and vectors, None without convergence."""
        for i in range(_RESTARTS):
            if i == len(self._rounds):
                with parallel.one_blas_thread_if(len(self._matrix) < _MEDIUM):
                    self._rounds.append(self._go_on())
            values, vectors, n_settled = self._rounds[i]
            if n_settled >= k:
                return values[-k:], vectors[:, -k:].copy()
        return None

    def _go_on(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Return eigenvalues, vectors, and how many of the largest have converged."""
        basis, product = self._krylov(self._next)
        width = self._next.shape[1]
        inner = basis.T @ product
        with parallel.one_blas_thread():  # several would wait longer than they work
            values, turn = linalg.eigh(inner, check_finite=False, driver="evd")
        values, turn = values[-width:], turn[:, -width:]
        self._next = basis @ turn
        off = np.linalg.norm(product @ turn - self._next * values, axis=0)
        is_loose = off[::-1] > _SETTLED * max(abs(values[-1]), 1)
        n_settled = int(np.argmax(is_loose)) if is_loose.any() else width
        return values, self._next, n_settled

    def _krylov(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return an orthonormal basis of Q, A Q, A^2 Q, ... and A times that."""
        width = Q.shape[1]
        basis = np.empty((len(Q), width * _BLOCKS), order="F")
        product = np.empty_like(basis)
        for i in range(_BLOCKS):
            begin, end = width * i, width * (i + 1)
            basis[:, begin:end] = Q
            Q = self._matrix @ (Q / self._root)
            Q /= self._root
            product[:, begin:end] = Q
            if i < _BLOCKS - 1:
                Q = _orthonormal(Q, basis[:, :end])
        return basis, product


def _orthonormal(Q: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return a basis of what Q has beside the orthonormal columns ``known``."""
    with parallel.one_blas_thread():  # several would wait longer than they work
        for _ in range(2):  # one pass leaves too much of the known vectors
            Q = Q - known @ (known.T @ Q)
        return np.linalg.qr(Q)[0]
