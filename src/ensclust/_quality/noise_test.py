"""Is there any structure? Compare the data with draws that have no clusters.

With features, the gaps between k-means clusters and their compactness are compared with
those in data drawn from null models. With labels alone, all that can be tested is
whether the clusterings agree more than by chance.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ensclust import _kernels
from ensclust._cuts import kmeans
from ensclust._ensemble.agreement import pairwise_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.null_model import NULL_KINDS, NullModel
from ensclust._support import memory, parallel

N_OBJECTS = 1000  # objects that are tested; a sample if there are more
_AXES = 20  # features that are tested; principal axes if there are more
_KS = (2, 3, 4, 5, 7, 10, 14, 20)  # numbers of clusters of the k-means runs
_PER_CLUSTER = 5  # objects of a cluster, at least
_CLUSTERINGS = 20  # that are compared by agree_by_chance, at most
_FIRST = 9  # draws of each kind after which the answer may be clear
_TIE = 1e-12
_NOTHING = 1e-300


@dataclass(frozen=True, eq=False)
class NoiseTest:
    """What was measured on the data, and on draws without clusters.

    Attributes
    ----------
    observed : ndarray of shape (1 + n_ks,)
        What :func:`measure` returns for the data.
    drawn : dict of str to ndarray of shape (B, 1 + n_ks)
        The same for B draws, by kind of null model.
    """

    observed: np.ndarray
    drawn: dict[str, np.ndarray]

    @property
    def n_draws(self) -> int:
        """Number of draws of each kind."""
        return len(next(iter(self.drawn.values())))

    @property
    def p(self) -> float:
        """Twice the smaller p of gaps and of compactness; at most 1."""
        return min(1.0, 2 * min(self.p_of_gaps, self.p_of_compactness))

    @property
    def p_of_gaps(self) -> float:
        """The largest p of all kinds, by the widest gap between clusters."""
        return max(
            exceeding(self.observed[0], drawn[:, 0]) for drawn in self.drawn.values()
        )

    @property
    def p_of_compactness(self) -> float:
        """The largest p of all kinds, by the most unusual compactness over all k.

        Compactness is standardised for each k by the data and the draws together.
        """
        found = []
        for drawn in self.drawn.values():
            values = np.vstack([self.observed, drawn])[:, 1:]
            off = values - values.mean(axis=0)
            scale = np.maximum(values.std(axis=0), _TIE)
            largest = (off / scale).max(axis=1)
            found.append(exceeding(largest[0], largest[1:]))
        return max(found)


def exceeding(observed: float, drawn: np.ndarray) -> float:
    """Return p = (b + 1) / (B + 1) if b of B draws are not below the observed."""
    return (1 + int(np.sum(drawn >= observed - _TIE))) / (1 + len(drawn))


def noise_test(
    rows: np.ndarray, *, n_draws: int, seed: int, n_jobs: int | None = None
) -> NoiseTest:
    """Measure the data, and draws without clusters, in the same way.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Features of a few hundred objects.
    n_draws : int
        Draws from each kind of null model. If the first 9 already show that the data
        are not unusual by either measure, no more are drawn.
    seed : int
        Determines the draws and the k-means runs.
    n_jobs : int or None
        Number of threads; does not change the result.

    Returns
    -------
    NoiseTest
        Time is that of 8 k-means runs on n objects for each of 5 ``n_draws`` + 1
        datasets.
    """
    seeds = np.random.SeedSequence(seed).spawn(1 + n_draws)
    null = NullModel(rows)

    def measured(kind: str, own: np.random.SeedSequence) -> np.ndarray:
        rng = np.random.default_rng([*own.generate_state(4), NULL_KINDS.index(kind)])
        with parallel.alone():
            return measure(null.draw(kind, rng), int(rng.integers(2**31 - 1)))

    def draw(some: list[np.random.SeedSequence]) -> dict[str, np.ndarray]:
        tasks = [(kind, own) for kind in NULL_KINDS for own in some]
        found = parallel.run(measured, tasks, n_jobs=n_jobs, phase="noise")
        each = np.array(found).reshape(len(NULL_KINDS), len(some), -1)
        return dict(zip(NULL_KINDS, each, strict=True))

    observed = measure(rows, int(seeds[0].generate_state(1)[0] >> 1))
    first = NoiseTest(observed, draw(seeds[1 : 1 + _FIRST]))
    least = 1 / (1 + first.n_draws) + _TIE
    if n_draws <= _FIRST or min(first.p_of_gaps, first.p_of_compactness) > least:
        return first
    more = draw(seeds[1 + _FIRST :])
    drawn = {kind: np.vstack([first.drawn[kind], more[kind]]) for kind in NULL_KINDS}
    return NoiseTest(observed, drawn)


def measure(X: np.ndarray, seed: int) -> np.ndarray:
    """Return the widest gap between k-means clusters, and their compactness for each k.

    K-means is run with 2 to 20 clusters. Each cluster and its closest neighbour, the
    one that is the second nearest to most of its objects, are projected on the line
    through their centres, as many objects of one as of the other, those next to the
    border. The gap is the largest dip of all these projections, times the square root
    of the number of objects: small if there are no gaps, however skewed or heavy-tailed
    the data are; clusters of fewer than 5 objects do not count. The
    compactness is minus the log of the sum of squared distances to the centres, as in
    the gap statistic.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Features.
    seed : int
        Determines the k-means runs.

    Returns
    -------
    ndarray of shape (1 + n_ks,)
        The gap, then the compactness for each k.
    """
    X = np.ascontiguousarray(X, np.float64)
    ks = [k for k in _KS if k <= max(2, len(X) // _PER_CLUSTER)]
    seeds = np.random.default_rng(seed).integers(2**31 - 1, size=len(ks)).tolist()
    gaps, compact = [], []
    for centres in kmeans.converge(kmeans.Rows.of(X), ks, seeds, n_jobs=1)[0]:
        apart = np.empty(len(centres))
        inertia = _kernels.dip.isolation(X, centres, _PER_CLUSTER, apart)
        gaps.append(apart.max())
        compact.append(-np.log(max(inertia, _NOTHING)))
    return np.array([max(gaps), *compact])


def sample_rows(X: Any, rng: np.random.Generator) -> np.ndarray:
    """Return some rows of an array or CSR matrix, dense."""
    n, d = X.shape
    if n > N_OBJECTS:
        X = X[np.sort(rng.choice(n, N_OBJECTS, replace=False))]
    what = f"a test against noise on {X.shape[0]:,} objects of {d:,} features"
    memory.require(3 * 8 * X.shape[0] * d, what, "Use fewer features, or n_null=0.")
    return np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64)


def principal_axes(rows: np.ndarray) -> np.ndarray:
    """Return rows unchanged or, with more than 20 features, on their first 20 axes."""
    if rows.shape[1] <= _AXES:
        return rows
    rows = rows - rows.mean(axis=0)
    left, size, _ = np.linalg.svd(rows, full_matrices=False)
    return left[:, :_AXES] * size[:_AXES]


def agree_by_chance(ensemble: Ensemble, *, n_draws: int, seed: int) -> float:
    """Return p of the agreement of clusterings: their mean NMI against permuted ones.

    At most 20 clusterings are compared. A single clustering agrees with itself:
    1 / (1 + ``n_draws``). Time B N M^2 / 2.
    """
    rng = np.random.default_rng(seed)
    columns = list(ensemble.labels.T)
    if len(columns) > _CLUSTERINGS:
        chosen = rng.choice(len(columns), _CLUSTERINGS, replace=False)
        columns = [columns[m] for m in np.sort(chosen)]
    if len(columns) < 2:
        return 1 / (1 + n_draws)
    drawn = [
        _mean_agreement([rng.permutation(own) for own in columns])
        for _ in range(n_draws)
    ]
    return exceeding(_mean_agreement(columns), np.array(drawn))


def _mean_agreement(columns: list[np.ndarray]) -> float:
    """Return the mean NMI of all pairs of clusterings; 0 if they share no object."""
    ensemble = Ensemble.from_clusterings(columns)
    pairs = np.triu_indices(ensemble.n_clusterings, 1)
    return float(np.nan_to_num(pairwise_nmi(ensemble, n_jobs=1)[pairs]).mean())
