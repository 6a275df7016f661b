"""Similarities of base clusters, (Nc, Nc) matrices.

Notation of the paper: W, weights of the cluster graph (eq. 4, Jaccard); P, transition
probabilities of the random walk on it (eq. 5); Z, cosine similarity of the walks'
trajectories (eq. 9). Everything here is of size Nc, the number of base clusters.

Sums over random walks are found without the walks, in the symmetric form
A = D^-1/2 W D^-1/2 with D the degrees, where P^s (P^s)^T is A^s D A^s between D^-1/2.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

from ensclust import _kernels
from ensclust._ensemble.ensemble import Ensemble, as_counts
from ensclust._ensemble.flow import Counts
from ensclust._support import parallel, validation
from ensclust.similarity import _leading

# Above this ratio of largest to smallest degree the closed form loses digits.
_MAX_DEGREE_RATIO = 1e8
_MAX_DOUBLED = 32  # more steps are summed faster in closed form
_MANY = 700  # nodes from which Z need not be exact if it is only compared
_FEW = 2000  # nodes up to which one thread is not much slower, or faster if others work
_STRIP = 256  # rows that are worked on at a time


def jaccard(ensemble: Counts, *, n_jobs: int | None = None) -> np.ndarray:
    """Jaccard coefficient of every pair of base clusters.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings.
    n_jobs : int or None
        Number of threads for counting; None means one per core.

    Returns
    -------
    ndarray of shape (Nc, Nc)
        ``|A ∩ B| / |A ∪ B|`` with unit diagonal; 0 within a clustering. Time
        N M^2 / 2 for counting, memory 2 Nc^2 numbers.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> jaccard(Ensemble([[0, 0], [0, 1], [1, 1]])).round(3)
    array([[1.   , 0.   , 0.5  , 0.333],
           [0.   , 1.   , 0.   , 0.5  ],
           [0.5  , 0.   , 1.   , 0.   ],
           [0.333, 0.5  , 0.   , 1.   ]])
    """
    if not hasattr(ensemble, "intersections"):  # anything that an Ensemble takes
        ensemble = Ensemble(ensemble)
    overlap, sizes = ensemble.intersections(n_jobs=n_jobs), ensemble.sizes
    weights = np.empty(overlap.shape)
    for i, j in parallel.strips(len(overlap), _STRIP):
        union = np.add.outer(sizes[i:j], sizes)
        union -= overlap[i:j]
        # A cluster without objects (a row of Ensemble.take) has an empty union.
        np.maximum(union, 1, out=union)
        np.divide(overlap[i:j], union, out=weights[i:j])
    np.fill_diagonal(weights, 1.0)
    return weights


def propagate(W: Any, steps: int = 20, *, exact: bool = True) -> np.ndarray:
    """Cosine similarity of random-walk trajectories of ``steps`` steps (Z).

    Parameters
    ----------
    W : array-like of shape (n, n) or Ensemble
        Symmetric, non-negative weights of a graph; the diagonal is ignored. For
        an Ensemble, its :func:`jaccard` coefficients.
    steps : int, default=20
        Length t of the trajectories.
    exact : bool, default=True
        Whether Z is exact to float64 rounding. If not, graphs of 700 nodes or more
        are propagated in float32, with errors below 1e-5.

    Returns
    -------
    ndarray of shape (n, n)
        Z in [0, 1] with unit diagonal. A node without neighbours is similar only to
        itself.

    Notes
    -----
    The trajectory of a node is its row of P, P^2, ..., P^t side by side. Their Gram
    matrix ``sum_s P^s (P^s)^T`` is summed without forming them: by doubling, about 11
    products of n x n matrices for t = 20, not 40; beyond 32 steps in closed form from
    an eigendecomposition, whatever t is, unless degrees differ by more than eight
    orders of magnitude. Memory about seven such matrices, eight in closed form.

    With ``exact=False``, and at least 700 nodes, the first two terms of the sum are
    multiplied out in float32, or the first three, and the others follow from the
    leading 100 or so eigenvectors, whatever t is: two to three products. What that
    leaves out of Z is bounded by 5e-6. If the spectrum decays too slowly for that
    bound, as it does for random clusterings, the whole sum is computed by doubling in
    float32, with errors of about 1e-6. Memory about three matrices of float64.

    Examples
    --------
    >>> propagate([[0, 1, 0], [1, 0, 1], [0, 1, 0]], steps=2)
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """
    W, steps = _graph(W), validation.check_steps(steps)
    if exact or len(W) < _MANY:
        return next(propagations(W, [steps]))
    degree = W.sum(axis=1) - W.diagonal()
    linked = degree > 0
    if not linked.any() or _is_uneven(degree[linked]):
        return next(propagations(W, [steps]))
    root = np.sqrt(degree[linked]).astype(np.float32)
    A = (W if linked.all() else W[np.ix_(linked, linked)]).astype(np.float32)
    del W  # which the caller may have given away
    np.fill_diagonal(A, 0)
    A /= root[:, None]
    A /= root
    total = None
    with parallel.one_blas_thread_if(len(A) < _FEW):
        if steps >= _leading.FEWEST:
            total = _leading.sum_of_walks(A, root, steps)
        if total is None:
            total = _gram_by_doubling(A, root, steps)
    del A
    return _among(_cosine(_mirrored(total)), linked)


def propagation_bytes(n_nodes: int, steps: int, *, exact: bool = True) -> int:
    """Return the memory of :func:`propagate`, with that of the graph, in bytes."""
    if not exact and n_nodes >= _MANY:
        return 28 * n_nodes**2  # three and a half matrices of float64
    return (7 if steps <= _MAX_DOUBLED else 8) * 8 * n_nodes**2


def propagations(W: Any, steps: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield :func:`propagate` for several lengths, from one eigendecomposition.

    Parameters
    ----------
    W : array-like of shape (n, n) or Ensemble
        As in :func:`propagate`.
    steps : sequence of int
        Lengths of the trajectories.

    Yields
    ------
    ndarray of shape (n, n)
        Z for each length, in the given order, exact to rounding of float64. Two
        products of n x n matrices each after the eigendecomposition; memory about
        eight such matrices.

    Examples
    --------
    >>> W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> [float(Z[0, 1]) for Z in propagations(W, [1, 2])]
    [0.0, 0.0]
    """
    W = _off_diagonal(W)
    steps = validation.check_lengths(steps)
    degree = W.sum(axis=1)
    linked = degree > 0
    if not linked.all():
        W, degree = W[np.ix_(linked, linked)], degree[linked]
    for gram in grams(W, degree, steps):
        yield _among(_cosine(gram), linked)


def trajectories(W: Any, steps: int) -> np.ndarray:
    """Random-walk trajectories, for your own similarity measure.

    Parameters
    ----------
    W : array-like of shape (n, n) or Ensemble
        As in :func:`propagate`.
    steps : int
        Length t of the walks.

    Returns
    -------
    ndarray of shape (n, steps * n)
        Row i: the probabilities of being at each node after 1, 2, ..., t steps from
        node i; zero for a node without neighbours. ``t - 1`` matrix products.

    Examples
    --------
    >>> trajectories([[0, 1], [1, 0]], steps=2)
    array([[0., 1., 1., 0.],
           [1., 0., 0., 1.]])
    """
    W, steps = _off_diagonal(W), validation.check_steps(steps)
    n = len(W)
    degree = W.sum(axis=1, keepdims=True)
    P = np.divide(W, degree, where=degree > 0, out=np.zeros_like(W))
    walks = np.empty((n, steps * n))
    power = walks[:, :n]
    power[:] = P
    for s in range(1, steps):
        power = np.matmul(power, P, out=walks[:, s * n : (s + 1) * n])
    return walks


def connected_triples(
    W: npt.ArrayLike,
    cluster_counts: npt.ArrayLike,
    *,
    decay: float = 0.8,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Weighted connected triples: clusters of one clustering that share neighbours.

    Parameters
    ----------
    W : array-like of shape (Nc, Nc)
        Jaccard weights; the diagonal is ignored.
    cluster_counts : array-like of shape (M,)
        Clusters of each base clustering (``ensemble.cluster_counts``).
    decay : float, default=0.8
        Similarity of the most similar two clusters of one clustering.
    weights : ndarray of shape (M,) or None
        Weights w of the clusterings that c comes from; None means all equal.

    Returns
    -------
    ndarray of shape (Nc, Nc)
        ``sum_c w min(W_ac, W_bc)`` for clusters a, b of the same clustering, divided by
        the largest such sum and multiplied by ``decay``; unit diagonal, 0 between
        clusterings. Without any triple: the identity. Time ``Nc * sum k_m^2``.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ens = Ensemble([[0, 0], [0, 1], [1, 1], [2, 1]])
    >>> connected_triples(jaccard(ens), ens.cluster_counts)[:3, :3]
    array([[1. , 0.6, 0.6],
           [0.6, 1. , 0.8],
           [0.6, 0.8, 1. ]])
    """
    W, decay = _off_diagonal(W), validation.check_decay(decay)
    counts = validation.check_counts(cluster_counts, len(W))
    mass = None
    if weights is not None:
        mass = np.repeat(validation.check_weights(weights, len(counts)), counts)
    return triples(W, counts, decay, mass)


def triples(
    W: np.ndarray, counts: np.ndarray, decay: float, mass: np.ndarray | None
) -> np.ndarray:
    """Like :func:`connected_triples`, with a weight for each c, (Nc,).

    The diagonal of W is 0.
    """
    similarity = np.zeros_like(W)
    ends = np.cumsum(counts)
    for start, end in zip(ends - counts, ends, strict=True):
        own = W[start:end]
        for a in range(end - start):
            least = np.minimum(own[a], own)
            shared = least.sum(axis=1) if mass is None else least @ mass
            similarity[start + a, start:end] = shared
    np.fill_diagonal(similarity, 0)
    largest = similarity.max(initial=0)
    if largest > 0:
        similarity *= decay / largest
    np.fill_diagonal(similarity, 1)
    return similarity


def shared_neighbors(
    W: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = None
) -> np.ndarray:
    """Return ``sum_c w_c min(W_ac, W_bc)`` for all pairs of nodes a, b, (n, n).

    ``W`` is symmetric and non-negative, ``weights`` are those of the nodes c, (n,).
    Time n^2 / 2 per edge of a node, so that many zeros of W save time.

    Examples
    --------
    >>> W = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
    >>> shared_neighbors(W, np.ones(3))
    array([[1.5, 1. , 0.2],
           [1. , 1.7, 0.4],
           [0.2, 0.4, 1.2]])
    """
    threads = parallel.thread_count(n_jobs)
    sums = np.zeros_like(W)
    parallel.run(
        _kernels.triples.sum_minima,
        [(W, weights, sums, first, threads) for first in range(threads)],
        n_jobs=threads,
    )
    return np.maximum(sums, sums.T)


def within_clusterings(S: np.ndarray, counts: Counts) -> np.ndarray:
    """Return S with 0 between clusters of different clusterings, and unit diagonal."""
    clustering = np.repeat(np.arange(counts.n_clusterings), counts.cluster_counts)
    own = np.where(clustering[:, None] == clustering, S, 0.0)
    np.fill_diagonal(own, 1)
    return own


def simrank(
    ensemble: Counts,
    *,
    decay: float = 0.8,
    updates: int = 3,
    n_jobs: int | None = None,
) -> np.ndarray:
    """SimRank of base clusters on the bipartite graph of objects and clusters.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings.
    decay : float, default=0.8
        Similarity passed on per step.
    updates : int, default=3
        Updates of the cluster similarities, from the identity.
    n_jobs : int or None
        Number of threads for counting; None means one per core.

    Returns
    -------
    ndarray of shape (Nc, Nc)
        C after the given number of updates. Object similarities one update later are
        ``CoAssociation(ensemble, C, pairs="all", decay=decay)``.

    Notes
    -----
    Objects and clusters are updated together, each from the other's last values, but
    no object matrix is formed: object similarities are ``a H C H^T`` with a unit
    diagonal, so their sums over clusters are ``a Q C Q`` plus a correction of the
    diagonal, where ``Q = H^T H``. With missing labels an object's row of H is divided
    by its number of labels. Each update looks back two, since objects are in between:
    time ``updates / 2 * (4 Nc^3 + F M^2)``, memory 5 Nc^2 numbers.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> simrank(Ensemble([[0, 0], [0, 1], [1, 1]])).round(3)
    array([[1.   , 0.144, 0.528, 0.336],
           [0.144, 1.   , 0.032, 0.528],
           [0.528, 0.032, 1.   , 0.144],
           [0.336, 0.528, 0.144, 1.   ]])
    """
    ensemble, decay = as_counts(ensemble), validation.check_decay(decay)
    updates = validation.check_integer(updates, "updates", 0)
    codes, count = ensemble.fragment_codes(), ensemble.fragments().counts
    share = 1 / np.maximum((codes < ensemble.cluster_counts).sum(axis=1), 1)
    Q = _overlap(ensemble, codes, count * share)
    scale = decay / np.multiply.outer(*2 * [np.maximum(ensemble.sizes, 1)])
    C = np.eye(len(Q))
    if updates % 2:  # clusters of an odd update descend from objects' S = I
        C = ensemble.intersections(n_jobs=n_jobs) * scale
        np.fill_diagonal(C, 1)
    own = np.empty(len(codes))
    for _ in range(updates // 2):
        _kernels.bipartite.quadratic(codes, ensemble.offsets, C, own, 0, len(codes))
        correction = count * (1 - decay * share**2 * own)
        C = scale * (decay * (Q @ C @ Q) + _overlap(ensemble, codes, correction))
        np.fill_diagonal(C, 1)
    return C


def cluster_mass(
    counts: Counts,
    weights: np.ndarray | None,
    cluster_weights: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return the weight of each base cluster, (Nc,), or None if all are equal.

    The weights of the clusterings times those of the clusters, each scaled to a mean
    of 1.
    """
    if weights is None and cluster_weights is None:
        return None
    mass = np.ones(counts.n_base_clusters)
    if weights is not None:
        mass = np.repeat(weights / weights.mean(), counts.cluster_counts)
    if cluster_weights is not None:
        mass = mass * (cluster_weights / cluster_weights.mean())
    return mass


def weigh(W: np.ndarray, mass: np.ndarray | None) -> np.ndarray:
    """Return the edges of a graph in which each node occurs as often as its mass."""
    return W if mass is None else W * np.multiply.outer(mass, mass)


def _overlap(ensemble: Counts, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    overlap = np.zeros((ensemble.n_base_clusters, ensemble.n_base_clusters))
    _kernels.bipartite.weighted_overlap(codes, ensemble.offsets, weight, overlap)
    return overlap


def _graph(W: Any) -> np.ndarray:
    """Return the weights of a graph, checked."""
    return validation.check_square(
        jaccard(W) if hasattr(W, "intersections") else W, "W"
    )


def _off_diagonal(W: Any) -> np.ndarray:
    W = _graph(W).copy()
    np.fill_diagonal(W, 0)
    return W


def _is_uneven(degree: np.ndarray) -> bool:
    """Whether degrees above 0 differ so much that digits would be lost."""
    return bool(len(degree) and degree.max() > _MAX_DEGREE_RATIO * degree.min())


def _among(cosine: np.ndarray, linked: np.ndarray) -> np.ndarray:
    """Return Z of all nodes from that of the nodes with neighbours."""
    if linked.all():
        return cosine
    Z = np.eye(len(linked))
    Z[np.ix_(linked, linked)] = cosine
    return Z


def _mirrored(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric float64 matrix whose lower triangle is given."""
    whole = np.empty(lower.shape)
    for i, j in parallel.strips(len(lower), _STRIP):
        whole[i:j, :i] = lower[i:j, :i]
        corner = np.tril(lower[i:j, i:j])
        whole[i:j, i:j] = corner + np.tril(corner, -1).T
        whole[:i, i:j] = whole[i:j, :i].T
    return whole


def _cosine(gram: np.ndarray) -> np.ndarray:
    """Turn a Gram matrix of non-negative vectors into their cosines, in place."""
    scale = 1 / np.sqrt(gram.diagonal())
    gram *= scale[:, None]
    gram *= scale
    np.clip(gram, 0, 1, out=gram)
    np.fill_diagonal(gram, 1)
    return gram


def grams(
    W: np.ndarray, degree: np.ndarray, steps: Sequence[int]
) -> Iterator[np.ndarray]:
    """Yield the sum of P^s (P^s)^T over s = 1..t for each t of ``steps``.

    ``W`` is overwritten. By doubling up to 32 steps; beyond that, or for several t,
    in closed form. Memory six matrices; in closed form seven, eight for several t.
    """
    is_closed = not _is_uneven(degree) and (len(steps) > 1 or steps[0] > _MAX_DOUBLED)
    root = np.sqrt(degree)
    W /= root[:, None]
    W /= root
    spectrum = _spectrum(W, root) if is_closed and len(W) else None
    for length in steps:
        if spectrum is None:
            yield _gram_by_doubling(W, root, length)
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
    kernel = _leading.geometric_sum(np.multiply.outer(eigenvalues, eigenvalues), steps)
    kernel *= inner
    return V @ kernel @ V.T


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
        total += _leading.symmetric_product(power @ total, power)
        if bit == "1":
            total = _square(A * root) + _leading.symmetric_product(A @ total, A)
        if place < len(bits):
            power = _square(power) @ A if bit == "1" else _square(power)
    total /= root[:, None]
    total /= root
    return total


def _square(A: np.ndarray) -> np.ndarray:
    """Return A A^T; BLAS computes only one triangle."""
    return A @ A.T
