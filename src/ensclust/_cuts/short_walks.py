"""Random walks between microclusters, cut short: in float32, to four digits.

A walk goes from i to j with probability P_ij, in proportion to symmetric weights. So
P = B^-1/2 N B^1/2 with a symmetric N and the diagonal B of the weights' sums, and the
trajectories' products, sum_s P^s (P^s)^T, are those of S = sum_s N^s B N^s between
B^-1/2, which cancels in the cosine: PTS_ij = S_ij / sqrt(S_ii S_jj).

After a few steps little is left of a walk outside the leading eigenvectors U of N,
with eigenvalues L: N^s = U L^s U^T + R^s, where R^s is soon negligible. The terms of
s = 1..f are walked; in the others, N^s B N^s is replaced by

    U L^s G L^s U^T + U L^s U^T B R^s + R^s B U L^s U^T,    G = U^T B U,

which lacks R^s B R^s. The diagonal of this is known in advance for each s. Every walk
is compared with it, and continues until the difference, and what it will add up to in
later steps, is small enough. If it never is, all steps are walked.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ensclust import _kernels
from ensclust._cuts.walks import Walks
from ensclust.similarity._leading import orthonormal, tail_weights

_TOLERANCE = 4e-5  # for the share of S_ii that is left out; PTS is off by twice that
_FEWEST = 8  # steps: eigenvectors do not pay for shorter walks
_SHARE = 40  # microclusters per vector that is iterated
_WIDTHS = (8, 512)  # fewest and most vectors
_USUAL = 8  # steps that are walked, assumed for the memory
_SETTLED = 2e-5  # residual of an eigenpair, times the 8th power of its eigenvalue
_DEGREE = 12  # of the Chebyshev polynomial
_LEAST_EDGE = 0.3  # float32 does not hold the polynomial's values for less


def walking_bytes(n: int, steps: int, n_threads: int) -> int:
    """Return the memory of walks between n microclusters, without that of the graph."""
    vectors = 4 * n * min(n // _SHARE, _WIDTHS[1])
    walks = 256 * (min(steps, _USUAL) + 4) * n * n_threads
    return max(2 * vectors + walks, 6 * vectors)


class Leading(NamedTuple):
    """Eigenpairs of largest size, a bound on the others' sizes, and U^T B U."""

    eigenvalues: np.ndarray
    vectors: np.ndarray
    rest: float
    inner: np.ndarray


class ShortWalks(Walks):
    """Walks that end when their leading eigenvectors say enough about the rest.

    Notes
    -----
    With nnz pairs of neighbours: time n nnz for each step that is walked, usually 5 to
    8 of 20, and before that about 60 products with n / 40 vectors, at most 512. Memory
    8 nnz bytes, six times that of the vectors while they are iterated, and twice after
    that; 512 n bytes per thread for the norms and 256 (f + 4) n for products, with f
    steps walked.
    """

    dtype = np.float32

    def _prepare(self, weights: sparse.csr_array, sizes: np.ndarray) -> None:
        degree = weights @ sizes
        scale = np.sqrt(sizes / np.where(degree == 0, 1.0, degree))
        data = weights.data * scale[weights.indices]
        data *= np.repeat(scale, np.diff(weights.indptr))
        self._graph = (
            weights.indptr.astype(np.int64),
            weights.indices.astype(np.int32),
            data.astype(np.float32),
        )
        self._mass = (sizes * degree).astype(np.float32)
        self._walked = np.zeros(len(sizes), np.int64)
        self._expected = np.zeros((0, len(sizes)))
        self._leading = self._find_leading() if self.steps >= _FEWEST else None
        if self._leading is not None:
            self._expected = self._expect(self._leading)

    @property
    def width(self) -> int:
        """How many columns walk together."""
        return _kernels.symmetric.WIDTH

    def measure(self, first: int, last: int) -> None:
        """Find the squared norms of some trajectories."""
        decay = 0.0 if self._leading is None else self._leading.rest**2
        self._walked[first:last] = _kernels.symmetric.squared_norms(
            *self._graph,
            self._mass,
            self.steps,
            self._expected,
            decay,
            _TOLERANCE,
            self.squared_norms,
            first,
            last,
        )

    def settle(self) -> None:
        """Prepare products: the number of steps to walk, and a factor of the rest."""
        self._expected = self._expected[:0]
        self._n_first = int(self._walked.max())
        self._thin = None
        if self._leading is None or self._n_first == self.steps:
            return
        values, U, _, inner = self._leading
        thin = U @ (inner * tail_weights(values, self._n_first, self.steps) / 2)
        for s, across in enumerate(self._crossings(self._leading), start=1):
            if s > self._n_first:
                thin += across * values**s
        self._thin = thin.astype(np.float32)

    def _sum_of_walks(self, V: np.ndarray) -> np.ndarray:
        """Return the sum of N^s B N^s V over the steps, in ``width`` columns."""
        walks = self._room(V, self._n_first)
        rest: np.ndarray | float = 0.0
        if self._thin is not None and self._leading is not None:
            U = self._leading.vectors
            rest = U @ (self._thin.T @ walks[0]) + self._thin @ (U.T @ walks[0])
        _kernels.symmetric.correlate(*self._graph, self._mass, walks)
        return walks[0] + rest

    def _expect(self, leading: Leading) -> np.ndarray:
        """Return the diagonal of the approximation of N^s B N^s, (steps, n)."""
        values, U, _, inner = leading
        found = np.empty((self.steps, len(U)))
        inner = inner.astype(np.float32)
        for s, across in enumerate(self._crossings(leading)):
            scaled = U * (values ** (s + 1)).astype(np.float32)
            found[s] = np.einsum("ij,ij->i", scaled, scaled @ inner + 2 * across)
        return found

    def _crossings(self, leading: Leading) -> Iterator[np.ndarray]:
        """Yield R^s B U for s = 1, 2, ..., steps."""
        U = leading.vectors
        across = U * self._mass[:, None] - U @ leading.inner.astype(np.float32)
        for _ in range(self.steps):
            across = self._product(across)
            yield across

    def _find_leading(self) -> Leading | None:
        """Return the leading eigenpairs, or None if the others are not small.

        By subspace iteration from a fixed start, the second round with a Chebyshev
        polynomial that is small only below the least Ritz value.
        """
        n = len(self.members)
        width = min(n // _SHARE, _WIDTHS[1])
        if width < _WIDTHS[0]:
            return None
        Q = np.random.default_rng(0).standard_normal((n, width), np.float32)
        for _ in range(2):
            for _ in range(4):
                Q = self._product(Q)
            Q = orthonormal(Q)
        values, vectors, _ = self._ritz_pairs(Q)
        filtered = self._filtered(vectors, abs(values[-1])).astype(np.float64)
        Q = orthonormal(filtered).astype(np.float32)
        values, vectors, off = self._ritz_pairs(Q)
        is_loose = off * np.abs(values) ** 8 > _SETTLED
        is_loose[4 * width // 5 :] = True
        r = int(np.argmax(is_loose))
        rest = max(float(abs(values[r])), _LEAST_EDGE)  # smaller ones do not converge
        # Half the steps would not be enough.
        if r == 0 or rest**self.steps > _TOLERANCE:
            return None
        U = np.ascontiguousarray(vectors[:, :r])
        inner = (U.T * self._mass) @ U
        return Leading(values[:r], U, rest, inner.astype(np.float64))

    def _ritz_pairs(self, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Ritz values, largest first, vectors, and the norms of residuals."""
        product = self._product(Q)
        values, turn = np.linalg.eigh((Q.T @ product).astype(np.float64))
        order = np.argsort(-np.abs(values), kind="stable")
        values, turn = values[order], turn[:, order].astype(np.float32)
        vectors = Q @ turn
        off = product @ turn - vectors * values.astype(np.float32)
        return values, vectors, np.linalg.norm(off, axis=0)

    def _filtered(self, Q: np.ndarray, edge: float) -> np.ndarray:
        """Return T(N / edge) Q, with T a Chebyshev polynomial."""
        scale = np.float32(1 / max(edge, _LEAST_EDGE))
        before, now = Q, scale * self._product(Q)
        for _ in range(_DEGREE - 1):
            before, now = now, 2 * scale * self._product(now) - before
        return now

    def _product(self, X: np.ndarray) -> np.ndarray:
        """Return N X."""
        (n, width), found = X.shape, np.empty_like(X)
        tile, out = (np.zeros((n, self.width), np.float32) for _ in range(2))
        for first in range(0, width, self.width):
            last = min(first + self.width, width)
            tile[:, : last - first] = X[:, first:last]
            _kernels.symmetric.multiply(*self._graph, tile, self._mass[:0], out)
            found[:, first:last] = out[:, : last - first]
        return found
