"""Random walks between microclusters, every step of them, in float64."""

import numpy as np
from scipy import sparse

from ensclust import _kernels


class Walks:
    """Whole components of the graph of microclusters, and the walks in them.

    First come the norms of the trajectories, by :meth:`measure` for all members, then
    :meth:`settle`, then :meth:`correlate`.

    Parameters
    ----------
    neighbors : sparse array of shape (F, F)
        Symmetric similarities of microclusters.
    sizes : ndarray of shape (F,)
        Objects of each.
    members : ndarray of shape (n,)
        The microclusters of these components.
    steps : int
        Length of the walks.
    """

    dtype: type = np.float64

    def __init__(
        self,
        neighbors: sparse.csr_array,
        sizes: np.ndarray,
        members: np.ndarray,
        steps: int,
    ):
        self.members, self.steps = members, steps
        weights = neighbors[members][:, members]
        self.is_isolated = np.diff(weights.indptr) == 0
        self.squared_norms = np.empty(len(members))
        self._prepare(weights, np.asarray(sizes, np.float64)[members])

    def _prepare(self, weights: sparse.csr_array, sizes: np.ndarray) -> None:
        P = _transitions(weights, sizes)
        self._forward, self._backward = _arrays(P), _arrays(P.T.tocsr())

    @property
    def width(self) -> int:
        """How many columns walk together."""
        return _kernels.walks.WIDTH

    def measure(self, first: int, last: int) -> None:
        """Find the squared norms of some trajectories."""
        _kernels.walks.squared_norms(
            *self._backward, self.steps, self.squared_norms, first, last
        )

    def settle(self) -> None:
        """Prepare products, once all norms are known."""

    def correlate(self, rows: sparse.csc_array, columns, out: np.ndarray) -> None:
        """Fill rows and columns of PTS X, for X given by its rows of these members."""
        norms = np.sqrt(np.where(self.is_isolated, 1.0, self.squared_norms))[:, None]
        given = rows[:, columns].toarray()
        found = self._sum_of_walks(given / norms)[:, : len(columns)] / norms
        found[self.is_isolated] = given[self.is_isolated]
        out[self.members[:, None], columns] = found

    def _sum_of_walks(self, V: np.ndarray) -> np.ndarray:
        """Return the sum of P^s (P^s)^T V over the steps, in ``width`` columns."""
        walks = self._room(V, self.steps)
        _kernels.walks.correlate(*self._backward, *self._forward, walks)
        return walks[0]

    def _room(self, V: np.ndarray, steps: int) -> np.ndarray:
        """Return room for walks of some steps, with V in front and zeros beside it."""
        walks: np.ndarray = np.empty((steps + 1, len(V), self.width), self.dtype)
        walks[0] = 0
        walks[0, :, : V.shape[1]] = V
        return walks


def _transitions(neighbors: sparse.csr_array, sizes: np.ndarray) -> sparse.csr_array:
    """Return P; rows without neighbours stay empty."""
    P = sparse.csr_array(neighbors, dtype=np.float64, copy=True)
    P.data *= np.asarray(sizes, np.float64)[P.indices]
    P.data /= np.repeat(P.sum(axis=1), np.diff(P.indptr))
    return P


def _arrays(P: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays for kernels; SciPy's integers are 32 or 64 bits wide."""
    return P.indptr.astype(np.int64), P.indices.astype(np.int32), P.data
