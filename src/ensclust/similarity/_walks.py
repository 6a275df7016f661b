"""Sums over random walks on a graph of base clusters, without the walks.

P are the transition probabilities, D the degrees. All is done in the symmetric form
A = D^-1/2 W D^-1/2, where P^s (P^s)^T is A^s D A^s between D^-1/2.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Above this ratio of largest to smallest degree the closed form loses digits.
_MAX_DEGREE_RATIO = 1e8
_MAX_DOUBLED = 32  # more steps are summed faster in closed form
_LARGE = 4000  # nodes from which float32 saves half the time, with errors of 1e-6


def grams(
    W: np.ndarray, degree: np.ndarray, steps: Sequence[int]
) -> Iterator[np.ndarray]:
    """Yield the sum of P^s (P^s)^T over s = 1..t for each t of ``steps``.

    ``W`` is overwritten. By doubling up to 32 steps, beyond that, or for several t, in
    closed form. Memory six matrices, of float32 above 4,000 nodes; in closed form
    seven, eight for several t.
    """
    is_uneven = len(W) and degree.max() > _MAX_DEGREE_RATIO * degree.min()
    is_closed = not is_uneven and (len(steps) > 1 or steps[0] > _MAX_DOUBLED)
    if len(W) > _LARGE and not (is_uneven or is_closed):
        W, degree = W.astype(np.float32), degree.astype(np.float32)
    root = np.sqrt(degree)
    W /= root[:, None]
    W /= root
    spectrum = _spectrum(W, root) if is_closed and len(W) else None
    for length in steps:
        if spectrum is None:
            gram = _gram_by_doubling(W, root, length)  # float32: symmetric to 1e-6
            yield (gram + gram.T) / 2 if gram.dtype == np.float32 else gram
        else:
            yield _gram_in_closed_form(length, spectrum)


def _spectrum(A: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return eigenvalues of A, which is overwritten, V = D^-1/2 U and G = U^T D U."""
    eigenvalues, U = linalg.eigh(A, overwrite_a=True, check_finite=False, driver="evd")
    scaled = U * root[:, None]
    inner = scaled.T @ scaled
    return eigenvalues, np.divide(U, root[:, None], out=U), inner


def _gram_in_closed_form(steps: int, spectrum: tuple) -> np.ndarray:
    """Sum P^s (P^s)^T over s = 1..steps from the spectrum.

    With eigenvalues l the sum is V (G ∘ K) V^T, where K_ij = sum_s (l_i l_j)^s.
    """
    eigenvalues, V, inner = spectrum
    kernel = _geometric_sum(np.multiply.outer(eigenvalues, eigenvalues), steps)
    kernel *= inner
    return V @ kernel @ V.T


def _geometric_sum(q: np.ndarray, steps: int) -> np.ndarray:
    """Return q + q^2 + ... + q^steps by doubling, exact also where q is near 1."""
    total, power = q.copy(), q.copy()
    for bit in bin(steps)[3:]:
        total += power * total
        power *= power
        if bit == "1":
            total = q + q * total
            power *= q
    return total


def _gram_by_doubling(A: np.ndarray, root: np.ndarray, steps: int) -> np.ndarray:
    """Sum P^s (P^s)^T over s = 1..steps: S_2t = S_t + P^t S_t (P^t)^T.

    A square of A is half a product. The first few terms, the leading three bits of
    ``steps``, are summed one by one, which is cheaper than doubling there. Nothing is
    ever subtracted, so no digits are lost.
    """
    bits = bin(steps)[2:]
    n_first = int(bits[:3], 2)
    power, total = A, _square(A * root)
    to_square = [A]
    for s in range(2, n_first + 1):
        power = power @ A if s % 2 else _square(to_square.pop(0))
        if 2 * s <= n_first:
            to_square.append(power)
        total += _square(power * root)
    for place, bit in enumerate(bits[3:], start=4):
        total += _symmetric_product(power @ total, power)
        if bit == "1":
            total = _square(A * root) + _symmetric_product(A @ total, A)
        if place < len(bits):
            power = _square(power) @ A if bit == "1" else _square(power)
    total /= root[:, None]
    total /= root
    return total


def _square(A: np.ndarray) -> np.ndarray:
    """Return A A^T; BLAS works out one triangle only."""
    return A @ A.T


def _symmetric_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A B, known to be symmetric, from its blocks on and above the diagonal."""
    product = np.empty_like(A)
    for i, j in pairwise(np.linspace(0, len(A), 5).astype(int)):
        np.matmul(A[i:j], B[:, i:], out=product[i:j, i:])
        product[j:, i:j] = product[i:j, j:].T
    return product
