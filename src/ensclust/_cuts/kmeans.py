"""K-means for ensembles: all runs on the same objects, step by step.

Runs start from k-means++ and converge by Lloyd's algorithm on rows in memory, all of
them or a sample. Rows that certainly keep their centre are skipped, by one bound for
each row and run, which is exact: labels and centres are those
of the plain algorithm to the last bit. Then passes over all objects, in memory or not,
improve the centres (:func:`improve`). Centres are means of sums in fixed point,
so that neither threads nor blocks nor their order changes a bit.

A cluster that loses all its rows gets the row that is farthest from its own centre, as
in scikit-learn; in passes over all objects its centre does not move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ensclust import _kernels
from ensclust._support import parallel
from ensclust._support.progress import tell

INITS = ("k-means++", "classic-k-means++", "random")
MAX_BOUNDS = 2**28  # bytes of bounds; with more rows, no row is skipped
_MAX_DISTANCES = 2**24  # that k-means++ keeps; up to these, runs are processed together
_MAX_TILES = 2**24  # numbers that k-means++ keeps as tiles, in addition to the rows
_CHUNK = 2**20  # cells that are processed at a time
_REST = 1e-3  # largest share of all squared distances of a drawn row


class Rows(NamedTuple):
    """Rows as kernels take them: an array, or the three arrays of a CSR matrix."""

    X: Any  # None if rows are sparse
    data: Any  # None if they are dense, as the next two
    indices: Any
    indptr: Any
    shape: tuple[int, int]
    dtype: np.dtype

    @classmethod
    def of(cls, X: Any) -> Rows:
        """Return the rows of an array or CSR matrix of floats."""
        if not sparse.issparse(X):
            whole = np.ascontiguousarray(X)
            return cls(whole, None, None, None, X.shape, X.dtype)
        X = X if X.has_sorted_indices else X.sorted_indices()
        start = X.indptr.astype(np.int64)
        return cls(None, X.data, X.indices, start, X.shape, X.dtype)

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays, as the first arguments of a kernel."""
        return self[:4]

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Return some rows as an array."""
        if self.X is not None:
            return self.X[rows]
        shape = self.shape
        whole = sparse.csr_array((self.data, self.indices, self.indptr), shape=shape)
        return whole[rows].toarray()

    def chunks(self) -> list[tuple[int, int]]:
        """Return ranges of rows that are small as arrays."""
        return parallel.strips(self.shape[0], max(1, _CHUNK // self.shape[1]))

    def norms(self, dtype: Any = None) -> np.ndarray:
        """Return the squared norm of each row, in the rows' type or a given one."""
        norms = np.empty(self.shape[0], dtype or self.dtype)
        for a, b in self.chunks():
            part = self.take(np.arange(a, b)).astype(np.float64)
            norms[a:b] = np.einsum("ij,ij->i", part, part)
        return norms

    def spread(self) -> float:
        """Return the mean of the variances of the features."""
        n = self.shape[0]
        sums = squares = 0.0
        for a, b in self.chunks():
            part = self.take(np.arange(a, b)).astype(np.float64)
            sums, squares = sums + part.sum(axis=0), squares + (part**2).sum(axis=0)
        return float(np.mean(np.maximum(squares / n - (sums / n) ** 2, 0)))

    def packed(
        self, centres: list[np.ndarray], halves: list[np.ndarray] | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the centres of runs as kernels take them: W, half and start.

        ``halves`` are half the squared norms of centres, if they should not be computed
        from the centres.
        """
        own = [half_norms(c) for c in centres] if halves is None else halves
        start = np.cumsum([0, *(_four(len(c)) for c in centres)])
        n_columns = _four(self.shape[1]) if self.X is not None else self.shape[1]
        W = np.zeros((start[-1], n_columns), self.dtype)
        half = np.full(start[-1], np.inf, self.dtype)
        for a, run, norms in zip(start, centres, own, strict=False):
            W[a : a + len(run), : self.shape[1]] = run
            half[a : a + len(run)] = norms
        return (W if self.X is not None else np.ascontiguousarray(W.T)), half, start


def half_norms(centres: np.ndarray) -> np.ndarray:
    """Return half the squared norm of each centre."""
    return (centres.astype(np.float64) ** 2).sum(axis=1) / 2


def converge(
    rows: Rows,
    ks: list[int],
    seeds: list[int],
    *,
    init: str | list[np.ndarray] = "k-means++",
    max_iter: int = 100,
    tol: float = 1e-4,
    n_jobs: int | None = None,
    bounds: bool = True,
) -> tuple[list[np.ndarray], list[int]]:
    """Return the centres of each run, and the iterations that it took.

    Parameters
    ----------
    rows : Rows
        The objects.
    ks, seeds : list of int
        Number of clusters and seed of each run.
    init : str or list of ndarray
        One of INITS: best of 2 + log(k) candidates for each centre, as in scikit-learn;
        one candidate, as in the original algorithm; or random rows. A list gives the
        rows of each run.
    max_iter : int
        Maximum number of iterations of each run.
    tol : float
        A run ends when the sum of the squared moves of its centres is at most this
        share of the mean variance of the features, or no row changes its centre.
    n_jobs : int or None
        Number of threads; does not change the result.
    bounds : bool
        Whether to skip rows that certainly keep their centre. Does not change the
        result. Memory 8 bytes per row and run during the call, 4 without.

    Notes
    -----
    Time ``n k d`` per iteration and run without bounds, about 10 to 50 % of that with
    them; starts take ``n k d log(k)`` per run.
    """
    norms = rows.norms()
    first = _starts(rows, norms, ks, seeds, init, n_jobs)
    bounds = bounds and 8 * len(norms) * len(ks) <= MAX_BOUNDS
    longest = float(np.sqrt(norms.max()))
    scale = fixed_point(longest, len(norms))
    least = tol * rows.spread()
    runs = [_Run(rows, rows.take(chosen), bounds=bounds) for chosen in first]
    done: list[_Run] = []
    stopped: list[bool] = []

    def finish(run: _Run) -> None:
        try:
            while run.n_iter < max_iter and not stopped:
                tell(len(done), len(runs), f"k-means of {len(norms):,} objects")
                if not run.advance(norms, longest, scale, least):
                    break
        except BaseException:  # such as Ctrl-C: the other threads stop too
            stopped.append(True)
            raise
        done.append(run)

    tasks = sorted(runs, key=lambda run: -len(run.centres))  # the longest first
    parallel.run(finish, [(run,) for run in tasks], n_jobs=n_jobs)
    return [run.centres for run in runs], [run.n_iter for run in runs]


def fixed_point(largest: float, n: int) -> float:
    """Return the scale, a power of two, at which sums of n such numbers fit 64 bits."""
    room = 62 - int(np.ceil(np.log2(max(n, 2)))) - int(np.frexp(float(largest))[1])
    return 2.0 ** min(room, 1000)


class _Run:
    """One run: its centres, and what is known about its rows."""

    def __init__(self, rows: Rows, centres: np.ndarray, *, bounds: bool):
        n, k = rows.shape[0], len(centres)
        self.rows = rows
        self.centres = centres
        self.n_iter = 0
        self.labels = np.full(n, -1, np.int32)
        self.slack = np.full(n, -np.inf, rows.dtype) if bounds else None
        self.moves = np.zeros(k)
        self.apart = np.zeros(2)
        self.W, self.half, _ = rows.packed([centres])
        self.sums = np.zeros((k, rows.shape[1]), np.int64)
        self.counts = np.zeros(k, np.int64)

    def advance(
        self, norms: np.ndarray, longest: float, scale: float, least: float
    ) -> bool:
        """Perform one iteration; return whether another one is worthwhile."""
        slack, unit = self.slack, np.finfo(norms.dtype).eps / 2
        if slack is None:
            slack = np.full(len(norms), -np.inf, norms.dtype)
        n_moved = _kernels.kmeans.iterate(
            *self.rows.arrays,
            *(norms, longest, unit, scale, self.centres, self.moves, self.apart),
            *(self.W, self.half, self.labels, slack, self.sums, self.counts),
        )
        self.n_iter += 1
        if self._repair():
            return True
        return bool(n_moved > 0 and np.square(self.moves).sum() > least)

    def _repair(self) -> bool:
        """Move centres without rows to the rows that are farthest from their own."""
        lost = np.flatnonzero(self.counts == 0)
        if not len(lost):
            return False
        far = np.empty(len(self.labels))
        for a, b in self.rows.chunks():
            own = self.rows.take(np.arange(a, b)).astype(np.float64)
            far[a:b] = ((own - self.centres[self.labels[a:b]]) ** 2).sum(axis=1)
        order = np.argsort(-far, kind="stable")[: len(lost)]
        order = order[far[order] > 0]  # there may be too few distinct rows
        moved = lost[: len(order)]
        self.centres[moved] = self.rows.take(order)
        self.moves[moved] = np.inf
        return len(order) > 0


def _starts(
    rows: Rows,
    norms: np.ndarray,
    ks: list[int],
    seeds: list[int],
    init: str | list[np.ndarray],
    n_jobs: int | None,
) -> list[np.ndarray]:
    """Return the rows that the centres of each run start from."""
    if not isinstance(init, str):
        return init
    rngs = [np.random.default_rng(seed) for seed in seeds]
    if init == "random":
        own = zip(rngs, ks, strict=True)
        return [rng.choice(rows.shape[0], k, replace=False) for rng, k in own]
    greedy = init == "k-means++"
    trials = [2 + int(np.log(k)) if greedy else 1 for k in ks]
    uniform = [rng.random((k, t)) for rng, k, t in zip(rngs, ks, trials, strict=True)]
    at_once = max(1, _MAX_DISTANCES // len(norms))
    return [
        chosen
        for a, b in parallel.strips(len(ks), at_once)
        for chosen in _PlusPlus(rows, norms, n_jobs).draw(ks[a:b], uniform[a:b])
    ]


class _PlusPlus:
    """K-means++ for several runs at once.

    A row is drawn as the next centre with a probability in proportion to its squared
    distance to the nearest centre so far; of several such candidates, the one that
    leaves the smallest sum of distances is kept.
    """

    def __init__(self, rows: Rows, norms: np.ndarray, n_jobs: int | None):
        lanes = _kernels.kmeans.LANES
        self.rows = rows
        self.n_jobs = parallel.thread_count(
            n_jobs
        )  # determined once, not in every step
        self.n_tiles = -(-len(norms) // lanes)
        self.norms = np.zeros(self.n_tiles * lanes, rows.dtype)
        self.norms[: len(norms)] = norms
        self.tiles = np.empty((0, 0, lanes), rows.dtype)
        n_columns = _four(rows.shape[1])
        if rows.X is not None and len(self.norms) * n_columns <= _MAX_TILES:
            whole = np.zeros((len(self.norms), n_columns), rows.dtype)
            whole[: len(norms), : rows.shape[1]] = rows.X
            turned = whole.reshape(self.n_tiles, lanes, n_columns).transpose(0, 2, 1)
            self.tiles = np.ascontiguousarray(turned)

    def draw(self, ks: list[int], uniform: list[np.ndarray]) -> list[np.ndarray]:
        """Return the rows of k centres for each run, by k rows of random numbers."""
        n, m = self.rows.shape[0], len(ks)
        starts = [np.empty(k, np.int64) for k in ks]
        distance = np.full((m, len(self.norms)), np.inf, self.rows.dtype)
        distance[:, n:] = 0
        totals = np.empty((m, self.n_tiles))
        for j in range(max(ks)):
            tell(j, max(ks), "first centres")
            active = [run for run in range(m) if ks[run] > j]
            trials = [1 if j == 0 else uniform[run].shape[1] for run in active]
            run_of = np.repeat(active, trials)
            numbers = np.concatenate(
                [uniform[run][j, :t] for run, t in zip(active, trials, strict=True)]
            )
            drawn = (numbers * n).astype(np.int64)
            if j:
                _kernels.kmeans.draw(distance, totals, numbers, run_of, n, drawn)
            if sum(trials) > len(active):
                potential = self._left_by(drawn, run_of, distance).sum(axis=1)
                ends = np.cumsum([0, *trials])
                best = [a + int(potential[a:b].argmin()) for a, b in pairwise(ends)]
                drawn, run_of = drawn[best], run_of[best]
            totals[active] = self._left_by(drawn, run_of, distance, chosen=True)
            for run, row in zip(active, drawn, strict=True):
                starts[run][j] = row
            self._leave_out(drawn, np.array(active), distance, totals)
        return starts

    def _leave_out(self, drawn, runs, distance, totals) -> None:
        """Set rounding errors of drawn rows to 0, so that they are not drawn again."""
        left = distance[runs, drawn] > _REST * totals[runs].sum(axis=1)
        for run, row in zip(runs[left], drawn[left], strict=True):
            distance[run, row] = 0
            tile = row // _kernels.kmeans.LANES
            own = distance[run].reshape(self.n_tiles, -1)[tile]
            totals[run, tile] = math.fsum(own.tolist())

    def _left_by(
        self, drawn: np.ndarray, run_of: np.ndarray, distance, *, chosen: bool = False
    ) -> np.ndarray:
        """Return the distances that candidates would leave, summed by tile."""
        rows = self.rows
        W, half, _ = rows.packed([rows.take(drawn)])
        # Candidates are padded to a multiple of four with infinitely distant ones.
        run_of = np.concatenate([run_of, np.zeros(len(half) - len(run_of), np.int64)])
        totals = np.empty((len(half), self.n_tiles))
        shared = (self.tiles, self.norms, W, half, run_of, chosen, distance, totals)
        spans = parallel.blocks(self.n_tiles, self.n_jobs)
        work = _kernels.kmeans.closer
        parallel.run_spans(work, spans, (*rows.arrays, *shared), n_jobs=self.n_jobs)
        return totals[: len(drawn)]


def improve(
    centres: list[np.ndarray],
    add_up: Callable[[list[int], list[np.ndarray]], list],
    *,
    n_passes: int,
    scale: float,
    least: list[float],
) -> tuple[list[np.ndarray], list[int]]:
    """Move the centres of all runs by passes over all objects; return passes of each.

    ``add_up(runs, centres)`` gives the sums, times ``scale``, and the numbers of the
    rows nearest to each centre of some runs. A run ends when the sum of the squared
    moves of its centres is at most its ``least``.
    """
    centres, passes = list(centres), [0] * len(centres)
    moving = list(range(len(centres)))
    for _ in range(n_passes):
        if not moving:
            break
        still = []
        found = add_up(moving, [centres[run] for run in moving])
        for run, (sums, counts) in zip(moving, found, strict=True):
            new = means(sums, counts, scale, centres[run])
            shift = ((new.astype(np.float64) - centres[run]) ** 2).sum()
            centres[run], passes[run] = new, passes[run] + 1
            if shift > least[run]:
                still.append(run)
        moving = still
    return centres, passes


def means(
    sums: np.ndarray, counts: np.ndarray, scale: float, old: np.ndarray
) -> np.ndarray:
    """Return the means of clusters; those without rows do not move."""
    new = (sums / (scale * np.maximum(counts, 1)[:, None])).astype(old.dtype)
    return np.where(counts[:, None] > 0, new, old)


def add_nearest(
    rows: Rows, centres: list[np.ndarray], scale: float, n_jobs: int | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the sums, times ``scale``, and numbers of the rows nearest to centres."""
    W, half, start = rows.packed(centres)
    narrow = np.min_scalar_type(max(map(len, centres)))
    spans = parallel.blocks(rows.shape[0], parallel.thread_count(n_jobs))

    def add(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        sums = np.zeros((len(half), rows.shape[1]), np.int64)
        counts = np.zeros(len(half), np.int64)
        labels = np.empty((len(centres), _kernels.kmeans.LANES), narrow)
        _kernels.kmeans.add_nearest(
            *rows.arrays, W, half, start, scale, labels, sums, counts, a, b
        )
        return sums, counts

    found = parallel.run(add, spans, n_jobs=n_jobs)
    sums, counts = (sum(parts) for parts in zip(*found, strict=True))
    ends = [(a, a + len(run)) for a, run in zip(start, centres, strict=False)]
    return [(sums[a:b], counts[a:b]) for a, b in ends]


def label(
    rows: Rows,
    centres: list[np.ndarray],
    halves: list[np.ndarray],
    labels: np.ndarray,
    n_jobs: int | None = None,
) -> None:
    """Write the nearest centre of each row in each run into ``labels``, (M, n)."""
    shared = (*rows.arrays, *rows.packed(centres, halves), labels)
    spans = parallel.blocks(rows.shape[0], parallel.thread_count(n_jobs))
    parallel.run_spans(_kernels.kmeans.label, spans, shared, n_jobs=n_jobs)


def _four(n: int) -> int:
    """Return the next multiple of four."""
    return -(-n // 4) * 4
