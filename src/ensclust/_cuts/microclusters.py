"""Microclusters: groups of objects that no base clustering separates.

Notation of the PTGP paper: MCA, co-association of microclusters; P, transition
probabilities of a random walk between elite neighbours; PTS, cosine similarity of the
walks' trajectories. F microclusters are the fragments of an ensemble.
"""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ensclust import _kernels
from ensclust._cuts.short_walks import ShortWalks
from ensclust._cuts.walks import Walks
from ensclust._ensemble.flow import Counts
from ensclust._support import parallel
from ensclust._support.validation import check_steps
from ensclust._trees.coassociation import CoAssociation, mirrored

_MANY = 2000  # microclusters from which walks need not be exact
_MOST = 20  # neighbours and steps, at most
_STRIP = 256  # rows of PTS that are computed at a time
_ROWS = 512  # components are combined until they have this many microclusters


def published_size(n_microclusters: int) -> int:
    """Return the published number of neighbours, and of steps.

    ``min(20, floor(sqrt(F) / 2))``, and 1 if that is 0 (F below 4).

    Examples
    --------
    >>> published_size(128), published_size(10**6)
    (5, 20)
    """
    return min(_MOST, max(1, int(np.sqrt(n_microclusters) / 2)))


def elite_neighbors(
    ensemble: Counts, n_neighbors: int, *, n_jobs: int | None = None
) -> sparse.csr_array:
    """Return the co-association of each microcluster with its closest others.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings.
    n_neighbors : int
        Others at least as close as the ``n_neighbors``-th closest are kept: more in
        case of ties, fewer if the co-association is 0.
    n_jobs : int or None
        Number of threads; None means one per core.

    Returns
    -------
    sparse array of shape (F, F)
        Symmetric: a pair is stored if either of the two keeps the other. Time F^2 M
        look-ups, memory 12 bytes per pair; no F x F matrix.

    Notes
    -----
    Co-association is a ratio of two small integers, the number of clusterings that put
    both together and of those that contain both, so it is ranked exactly by counting.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ensemble = Ensemble([[0, 0, 0], [0, 0, 1], [1, 0, 1]])
    >>> elite_neighbors(ensemble, 1).toarray().round(3)
    array([[0.   , 0.667, 0.   ],
           [0.667, 0.   , 0.667],
           [0.   , 0.667, 0.   ]])
    """
    codes = CoAssociation(ensemble).codes
    values, rank = _ranked_ratios(ensemble)
    shared = (codes, ensemble.offsets, rank, len(values), n_neighbors)
    spans = parallel.strips(len(codes), _kernels.walks.LANES)
    found = parallel.run_spans(_kernels.walks.closest, spans, shared, n_jobs=n_jobs)
    count, others, ranks = (np.concatenate(parts) for parts in zip(*found, strict=True))
    indptr = np.concatenate([[0], np.cumsum(count)])
    kept = sparse.csr_array(
        (values[ranks], others, indptr), shape=(len(codes), len(codes))
    )
    return sparse.csr_array(kept.maximum(kept.T))


def trajectory_similarity(
    counts: Counts,
    n_neighbors: int | None,
    steps: int | None,
    n_jobs: int | None,
    *,
    exact: bool = True,
) -> tuple["TrajectorySimilarity", dict[str, int]]:
    """Return the similarity of microclusters, and the numbers that were used.

    None means the published number. Fewer than 2,000 microclusters are always exact.
    """
    sizes = counts.fragments().counts
    rule = published_size(len(sizes))
    n_neighbors, steps = n_neighbors or rule, steps or rule
    neighbors = elite_neighbors(counts, n_neighbors, n_jobs=n_jobs)
    found = TrajectorySimilarity(
        neighbors, sizes, steps, exact=is_exact(len(sizes), exact), n_jobs=n_jobs
    )
    return found, {"n_neighbors_": n_neighbors, "steps_": steps}


def is_exact(n_microclusters: int, exact: bool) -> bool:  # noqa: FBT001
    """Return whether walks are exact: if requested, or if there are few."""
    return exact or n_microclusters < _MANY


class TrajectorySimilarity:
    """Cosine similarity of random-walk trajectories (PTS), as an operator.

    Parameters
    ----------
    neighbors : sparse array of shape (F, F)
        Symmetric similarities of microclusters with zero diagonal.
    sizes : ndarray of shape (F,)
        Objects of each microcluster: a walk goes to g in proportion to the similarity
        times the size of g.
    steps : int
        Length T of the walks.
    exact : bool, default=True
        Whether PTS is exact to float64 rounding. If not, it is computed in float32,
        with estimated errors below 1e-4.
    n_jobs : int or None
        Number of threads; None means one per core.

    Notes
    -----
    The trajectory of f is its row of P, P^2, ..., P^T side by side. A microcluster
    without neighbours has none: it is similar only to itself.

    No power of P is formed. Their row norms come from walks that start at 32
    microclusters at a time, in time T nnz(P) F; components of the graph are processed
    one by one, which divides that by their number. Memory 24 bytes per pair of
    neighbours and, in each thread, 256 (T + 1) F bytes.

    With ``exact=False`` walks are cut short, see :class:`ShortWalks`: 5 to 8 of 20
    steps are usually enough, in half the time each. Memory 8 bytes per pair of
    neighbours, F^2 / 4 for eigenvectors and, in each thread, 256 (f + 2) F bytes for f
    steps.

    Examples
    --------
    >>> path = sparse.csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]])
    >>> similarity = TrajectorySimilarity(path, np.ones(3), steps=2)
    >>> similarity.product(sparse.eye_array(3)).round(3)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    def __init__(
        self,
        neighbors: sparse.csr_array,
        sizes: np.ndarray,
        steps: int,
        *,
        exact: bool = True,
        n_jobs: int | None = None,
    ):
        self.shape = neighbors.shape
        self.steps = check_steps(steps)
        kind = Walks if exact else ShortWalks
        tasks = [
            (neighbors, sizes, members, self.steps)
            for members in _components(neighbors)
        ]
        # One thread, because the last digits would depend on the number of threads.
        with parallel.one_blas_thread():
            self._parts = parallel.run(kind, tasks, n_jobs=n_jobs)
            spans = [
                (part, *span)
                for part in self._parts
                for span in parallel.strips(len(part.members), part.width)
            ]
            parallel.run(kind.measure, spans, n_jobs=n_jobs)
            parallel.run(kind.settle, [(part,) for part in self._parts], n_jobs=n_jobs)

    def product(self, X, *, n_jobs: int | None = None) -> np.ndarray:
        """Return PTS X for a sparse X of shape (F, c), as (F, c) float64 or float32.

        Time 2 T nnz(P) c, again divided by the number of components if the columns of X
        are not spread over all of them.
        """
        X = sparse.csr_array(X, dtype=np.float64)
        out = np.zeros(X.shape, self._parts[0].dtype)
        tasks = []
        for part in self._parts:
            rows = X[part.members].tocsc()
            used = np.flatnonzero(np.diff(rows.indptr))
            spans = parallel.strips(len(used), part.width)
            tasks += [(part, rows, used[a:b], out) for a, b in spans]
        with parallel.one_blas_thread():
            parallel.run(type(part).correlate, tasks, n_jobs=n_jobs)
        return out

    def fixed_point(self, unit: float, *, n_jobs: int | None = None) -> np.ndarray:
        """Return PTS in whole units, (F, F) uint32, exactly symmetric.

        Time 2 T nnz(P) F; memory 4 F^2 bytes.
        """
        n = self.shape[0]
        square = np.empty((n, n), np.uint32)
        whole = sparse.eye_array(n, format="csc")
        for a, b in parallel.strips(n, _STRIP):
            rows = self.product(whole[:, a:b], n_jobs=n_jobs).T
            square[a:b] = np.rint(np.clip(rows, 0, 1) / unit)
        return mirrored(square, n_jobs)


def _ranked_ratios(ensemble: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Return the possible co-associations, ascending, and the position of each ratio.

    The ratio together / both is number together (M + 1) + both; 0 / 0 counts as 0.
    """
    m = ensemble.n_clusterings
    together, both = np.divmod(np.arange((m + 1) ** 2), m + 1)
    occurs = (together <= both) & (ensemble.has_missing | (both == m))
    ratio = np.where(occurs, together, 0) / np.maximum(both, 1)
    # Correctly rounded, so equal fractions are equal floats.
    values, rank = np.unique(ratio, return_inverse=True)
    return values, rank.astype(np.uint16 if len(rank) <= 2**16 else np.int32)


def _components(graph: sparse.csr_array) -> list[np.ndarray]:
    """Return the members of the graph's components, small ones together."""
    component = csgraph.connected_components(graph, directed=False)[1]
    order = np.argsort(component, kind="stable")
    parts, first = [], 0
    for last in np.cumsum(np.bincount(component)):
        if last - first >= _ROWS or last == len(order):
            parts.append(order[first:last])
            first = last
    return parts
