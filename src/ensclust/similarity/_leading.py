"""Sums over random walks from the leading eigenvectors of a graph, in float32.

A = D^-1/2 W D^-1/2 is split into U L U^T, its eigenvalues of largest size, and a rest R
with U^T R = 0. Then A^s = U L^s U^T + R^s, and the sum of A^s D A^s over s = 1..t has

- the terms of s = 1..f, f = 2 or 3, which are multiplied out;
- U (G ∘ K) U^T with G = U^T D U and K_ij = sum_s (l_i l_j)^s over s = f+1..t;
- U M and its transpose with M = sum_s L^s U^T D R^s, thin products, as long as R^s is
  not negligible;
- the sum of R^s D R^s over s = f+1..t, which is left out.

What is left out is bounded: its entry i, j, relative to the roots of the sum's diagonal
entries, is at most max_i d_max |R^2 e_i|^2 mu^(2f-2) / (1 - mu^2) / sum_ii, where mu is
the norm of R. So no entry of Z is off by more than about that.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.linalg import blas

from ensclust._support import parallel

FEWEST = 5  # steps from which this pays off
_WIDTHS = (160, 256)  # vectors that are iterated, at least and at most
_ROUNDS = 4
_TOLERANCE = 5e-6  # for the part of Z that is left out
_RESIDUAL = 2e-6  # of an eigenpair, times the f-th power of its eigenvalue
_NEGLIGIBLE = 1e-8  # power of an eigenvalue and the next one beyond
_SMALL = 3000  # rows up to which one thread multiplies by thin matrices
_STRIP = 512  # rows of A that are float64 at a time
_HOPELESS = 2e-5  # bound after two rounds that further ones will not reach


class Leading(NamedTuple):
    """Eigenvalues of largest size, and what follows from them.

    ``vectors`` are (n, r) float64; ``rest`` is mu, the size of the next eigenvalue;
    ``n_first`` is f.
    """

    eigenvalues: np.ndarray
    vectors: np.ndarray
    rest: float
    n_first: int


def sum_of_walks(A: np.ndarray, root: np.ndarray, steps: int) -> np.ndarray | None:
    """Return the sum of A^s D A^s over s = 1..steps, or None if R is too large.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        The symmetric float32 matrix D^-1/2 W D^-1/2.
    root : ndarray of shape (n,)
        The diagonal of D^1/2, float32.
    steps : int
        Length of the walks, at least FEWEST.

    Returns
    -------
    ndarray of shape (n, n) or None
        float32, with the lower triangle filled. Time 3 to 5 n^3 for any length, memory
        three matrices in addition to A.
    """
    square = A @ A.T
    with parallel.one_blas_thread_if(len(A) < _SMALL):
        found = leading_vectors(A, square, root, steps)
        if found is None:
            return None
        thin = _thin(A, square, root, steps, found)
    # BLAS fills the upper triangle of the transpose.
    total = blas.ssyrk(1.0, (square * root).T, trans=1)
    if found.n_first == 3:
        cube = symmetric_product(square, A)
        cube *= root
        total = blas.ssyrk(1.0, cube.T, trans=1, beta=1.0, c=total, overwrite_c=1)
        del cube
    np.multiply(A, root, out=square)
    total = blas.ssyrk(1.0, square.T, trans=1, beta=1.0, c=total, overwrite_c=1)
    total = blas.ssyr2k(
        1.0,
        found.vectors.T.astype(np.float32),
        thin,
        trans=1,
        beta=1.0,
        c=total,
        overwrite_c=1,
    )
    return total.T


def _thin(
    A: np.ndarray, square: np.ndarray, root: np.ndarray, steps: int, found: Leading
) -> np.ndarray:
    """Return half of (G ∘ K) U^T, and M: the rest of the sum is U times that, twice."""
    values, U, rest, n_first = found
    outer = U.T * (root * root).astype(np.float64)
    inner = outer @ U
    thin = inner * (tail_weights(values, n_first, steps) / 2) @ U.T
    across = (outer - inner @ U.T).astype(np.float32) @ square  # U^T D R^2
    across = across @ (A if n_first == 2 else square)
    for s in range(n_first + 1, steps + 1):
        kept = np.count_nonzero(np.abs(values * rest) ** s > _NEGLIGIBLE)
        across = across[:kept]  # eigenvalues are in descending order of size
        if not kept:
            break
        thin[:kept] += (values[:kept] ** s)[:, None] * across
        across = across @ A
    return thin.astype(np.float32)


def leading_vectors(
    A: np.ndarray, square: np.ndarray, root: np.ndarray, steps: int
) -> Leading | None:
    """Find the eigenvectors outside of which little of the walks is left.

    By subspace iteration with A^2 from a fixed start, until the bound is met for f = 2
    or 3; None if it is not met after some rounds, or is still far off after two.
    """
    n = len(A)
    mass = (root * root).astype(np.float64)
    squares = np.einsum("ij,ij->i", square, square, dtype=np.float64)
    first = _row_sums(A, mass) + _row_sums(square, mass)
    width = min(max(n // 8, _WIDTHS[0]), _WIDTHS[1], n)
    Q = np.random.default_rng(0).standard_normal((n, width), np.float32)
    Q = orthonormal(square @ Q)
    Q = orthonormal(_filtered(square, Q, edge=0.0))
    edge = 0.0
    for i in range(_ROUNDS):
        Q = orthonormal(_filtered(square, Q, edge).astype(np.float64))
        for found in (pairs := _ritz_pairs(A, Q)).settled:
            values, U, rest, n_first = found
            middle = (U.T * mass) @ U * tail_weights(values, n_first, steps)
            diagonal = first + np.einsum("ij,ij->i", U @ middle, U)
            left = squares - ((U * values**2) ** 2).sum(axis=1)
            size = rest ** (2 * n_first - 2) / max(1 - rest**2, 1e-9)
            bound = (left / diagonal).max() * mass.max() * size
            if bound <= _TOLERANCE:
                return found
        if i and bound > _HOPELESS:
            return None
        edge = pairs.edge
    return None


def _filtered(square: np.ndarray, Q: np.ndarray, edge: float) -> np.ndarray:
    """Return A^4 Q or, better, T_4(A / edge) Q, which is small only below the edge."""
    Q = Q.astype(np.float32)
    if not edge:
        return square @ (square @ Q)
    scale = np.float32(2 / edge**2)
    once = scale * (square @ Q)
    once -= Q
    twice = (2 * scale) * (square @ once)
    twice -= 2 * once
    twice -= Q
    return twice


def tail_weights(values: np.ndarray, n_first: int, steps: int) -> np.ndarray:
    """Return the sum of (l_i l_j)^s over s = n_first + 1..steps for all pairs."""
    q = np.multiply.outer(values, values)
    return geometric_sum(q, steps - n_first) * q**n_first


def geometric_sum(q: np.ndarray, steps: int) -> np.ndarray:
    """Return q + q^2 + ... + q^steps by doubling, exact even if q is near 1."""
    total, power = q.copy(), q.copy()
    for bit in bin(steps)[3:]:
        total += power * total
        power *= power
        if bit == "1":
            total = q + q * total
            power *= q
    return total


class _RitzPairs(NamedTuple):
    """Converged pairs, for f = 2 and 3, and the smallest singular value of A Q."""

    settled: list[Leading]
    edge: float


def _ritz_pairs(A: np.ndarray, Q: np.ndarray) -> _RitzPairs:
    # In float64: an eigenvalue near 1 is raised to the power of the steps.
    product = np.empty_like(Q)
    for i, j in parallel.strips(len(A), _STRIP):
        np.matmul(A[i:j].astype(np.float64), Q, out=product[i:j])
    with parallel.one_blas_thread():
        values, turn = np.linalg.eigh(Q.T @ product)
    order = np.argsort(-np.abs(values), kind="stable")
    values, turn = values[order], turn[:, order]
    vectors = Q @ turn
    off = np.linalg.norm(product @ turn - vectors * values, axis=0)
    settled = []
    for n_first in (2, 3):
        loose = off * np.abs(values) ** n_first > _RESIDUAL
        loose[-1] = True  # the last is the size of the rest
        r = int(np.argmax(loose))
        own = np.ascontiguousarray(vectors[:, :r])
        settled.append(Leading(values[:r], own, float(abs(values[r])), n_first))
    with parallel.one_blas_thread():
        least = np.linalg.eigvalsh(product.T @ product)[0]
    return _RitzPairs(settled, float(np.sqrt(max(least, 0))))


def orthonormal(Q: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the columns, which are overwritten."""
    with parallel.one_blas_thread():  # several would wait longer than they work
        return linalg.qr(Q, mode="economic", overwrite_a=True, check_finite=False)[0]


def _row_sums(A: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return the sum of A_ij^2 mass_j over j."""
    return np.einsum("ij,ij,j->i", A, A, mass.astype(np.float32)).astype(np.float64)


def symmetric_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B, known to be symmetric, from its blocks on and above the diagonal."""
    product = np.empty_like(A)
    for i, j in pairwise(np.linspace(0, len(A), 5).astype(int)):
        np.matmul(A[i:j], B[:, i:], out=product[i:j, i:])
        product[j:, i:j] = product[i:j, j:].T
    return product
