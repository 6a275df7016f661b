"""Is there more structure than in noise: the same clustering of data without clusters.

With features, noise is drawn by a null model and clustered as the data are. With labels
alone, all that can be told is whether the clusterings agree more than by chance.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.extmath import randomized_svd

from ensclust._ensemble.agreement import pairwise_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._generate.generation import (
    EnsembleGenerator,
    default_base_k,
    draw_base_k,
)
from ensclust._methods import driver
from ensclust._methods.base import BaseConsensus, any_cut_is_fine
from ensclust._quality import criteria as criteria_
from ensclust._quality.null_model import NULL_KINDS, NullModel
from ensclust._support import memory, parallel
from ensclust._support.quiet import muted

_OBJECTS = 500  # that are clustered again and again, unless there are fewer
_CLUSTERINGS = 20  # of each, at most
_AXES = 50  # features, or principal axes of more
_PER_CLUSTER = 5  # objects of a base cluster, at least, where objects are drawn
_TIE = 1e-12
_LEAST_PAC = 1e-3  # below which differences do not count


@dataclass(frozen=True)
class NoiseTest:
    """What came of the data and of draws without clusters, both clustered alike.

    Attributes
    ----------
    observed : dict of str to ndarray of shape (n_ks,)
        Criteria of the data for each k, NaN where there are none; "anmi" is always
        there.
    drawn : dict of str to dict of str to ndarray of shape (B, n_ks)
        The same of the draws, by kind of noise.
    n_objects : int
        Objects that were clustered.
    """

    observed: dict[str, np.ndarray]
    drawn: dict[str, dict[str, np.ndarray]]
    n_objects: int

    @property
    def p(self) -> float:
        """The largest p of all kinds of noise."""
        return max(self.p_of(kind) for kind in self.drawn)

    def p_of(self, kind: str) -> float:
        """Return p = (b + 1) / (B + 1): b of B draws are as clear as the data.

        How clear it is, is the largest ANMI over all k, standardised for each k by the
        data and the draws together, so that the data are one among them.
        """
        values = np.vstack([self.observed["anmi"], self.drawn[kind]["anmi"]])
        off = values - _mean_of(values)
        spread = np.sqrt(_mean_of(off**2))
        clear = np.divide(off, spread, out=np.zeros_like(off), where=spread > _TIE)
        return exceeding(np.where(np.isnan(clear), 0.0, clear).max(axis=1))

    def excess(self, name: str) -> np.ndarray:
        """Return by how much a criterion is better than of noise, for each k.

        The least over all kinds of noise of the difference to its mean; of "pac" the
        log of the ratio, M3C's RCSI.
        """
        own = oriented(name, self.observed[name])
        noise = [_mean_of(drawn[name]) for drawn in self.drawn.values()]
        return np.min([own - oriented(name, mean) for mean in noise], axis=0)

    def near(self, name: str, best: int) -> np.ndarray:
        """Return which k the one at ``best`` does not lead by more than noise allows.

        Its lead is at most the standard deviation of the same difference in draws, the
        largest of all kinds of noise.
        """
        own = oriented(name, self.observed[name])
        noise = [oriented(name, drawn[name]) for drawn in self.drawn.values()]
        leads = [values[:, [best]] - values for values in noise]
        square = [_mean_of((lead - _mean_of(lead)) ** 2) for lead in leads]
        return own[best] - own <= np.sqrt(np.max(square, axis=0))


def oriented(name: str, values: np.ndarray) -> np.ndarray:
    """Return a criterion so that more is clearer: -log of "pac", others as they are."""
    return -np.log(np.maximum(values, _LEAST_PAC)) if name == "pac" else values


def _mean_of(values: np.ndarray) -> np.ndarray:
    """Return the mean of what is defined in each column, else NaN."""
    there = ~np.isnan(values)
    return np.where(there, values, 0).sum(axis=0) / np.where(
        there.any(axis=0), there.sum(axis=0), np.nan
    )


def exceeding(values: np.ndarray) -> float:
    """Return p = (b + 1) / (B + 1): b of B values are not below the first one."""
    return float((values >= values[0] - _TIE).mean())


def noise_test(
    X: Any,
    generator: EnsembleGenerator,
    model: BaseConsensus,
    ks: list[int],
    *,
    names: tuple[str, ...],
    n_draws: int,
    seed: int,
) -> NoiseTest:
    """Cluster the data, and draws without clusters, in the same way.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (N, d)
        Features, validated. Of more than 500 objects so many are drawn, of more than
        50 features the first 50 principal axes are used, by both.
    generator : EnsembleGenerator
        How base clusterings are made; 20 of them at most.
    model : BaseConsensus
        How they are combined.
    ks : list of int
        Numbers of clusters.
    names : tuple of str
        Criteria that are compared beside "anmi": "eigengap", "pac", "cdf_area".
    n_draws : int
        Draws of each kind of noise.
    seed : int
        Decides the objects, the axes, the draws and their clusterings.

    Returns
    -------
    NoiseTest
        Time and memory of 3 ``n_draws`` + 1 ensembles of 500 objects, whatever N.
    """
    seeds = np.random.SeedSequence(seed).spawn(2 + len(NULL_KINDS) * n_draws)
    rng = np.random.default_rng(seeds[0])
    rows = _rows(X, rng)
    drawn_by = int(rng.integers(2**31 - 1))
    generator = _smaller(generator, X.shape[0], len(rows), drawn_by)
    null = NullModel(rows)
    kinds = [kind for kind in NULL_KINDS for _ in range(n_draws)]

    def judged(kind: str | None, own: np.random.SeedSequence) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(own)
        drawn = rows if kind is None else null.draw(kind, rng)
        with parallel.alone(), muted():
            seed = int(rng.integers(2**31 - 1))
            return _judged(drawn, generator, model, ks, names, seed)

    tasks = list(zip([None, *kinds], seeds[1:], strict=True))
    found = parallel.run(judged, tasks, n_jobs=model.n_jobs, phase="noise")
    drawn = {
        kind: {
            name: np.array([found[1 + i][name] for i in places]) for name in found[0]
        }
        for kind, places in zip(
            NULL_KINDS, np.arange(len(kinds)).reshape(-1, n_draws), strict=True
        )
    }
    return NoiseTest(found[0], drawn, len(rows))


def agree_by_chance(ensemble: Ensemble, *, n_draws: int, seed: int) -> float:
    """Return the p of the agreement of clusterings: their mean NMI, labels permuted.

    Of more than 20 clusterings so many are compared. 0 for one clustering, which
    agrees with itself. Time B N M^2 / 2.
    """
    rng = np.random.default_rng(seed)
    columns = list(ensemble.labels.T)
    if len(columns) > _CLUSTERINGS:
        chosen = rng.choice(len(columns), _CLUSTERINGS, replace=False)
        columns = [columns[m] for m in np.sort(chosen)]
    if len(columns) < 2:
        return 0.0
    every = [columns]
    every += [[rng.permutation(own) for own in columns] for _ in range(n_draws)]
    made = [_mean_agreement(Ensemble.from_clusterings(own)) for own in every]
    return exceeding(np.array(made))


def _mean_agreement(ensemble: Ensemble) -> float:
    """Return the mean NMI of all pairs of clusterings; 0 where they share no object."""
    scores = pairwise_nmi(ensemble, n_jobs=1)[
        np.triu_indices(ensemble.n_clusterings, 1)
    ]
    return float(np.nan_to_num(scores).mean()) if len(scores) else 1.0


def _rows(X: Any, rng: np.random.Generator) -> np.ndarray:
    """Return some objects as a dense array of few columns."""
    n, d = X.shape
    if n > _OBJECTS:
        X = X[np.sort(rng.choice(n, _OBJECTS, replace=False))]
    what = f"a test against noise on {X.shape[0]:,} objects of {d:,} features"
    memory.require(3 * 8 * X.shape[0] * d, what, "Use fewer features, or n_null=0.")
    rows = np.asarray(X.toarray() if sparse.issparse(X) else X, np.float64)
    if d <= _AXES:
        return rows
    rows = rows - rows.mean(axis=0)
    left, size, _ = randomized_svd(
        rows, min(_AXES, len(rows)), random_state=int(rng.integers(2**31 - 1))
    )
    return left * size


def _smaller(
    generator: EnsembleGenerator, n: int, n_rows: int, seed: int
) -> EnsembleGenerator:
    """Return a generator for some of n objects, whose numbers of clusters are drawn.

    Data and draws share them, so that they differ by nothing else.
    """
    m = int(generator.n_clusterings)
    base_k = default_base_k(n) if generator.base_k is None else generator.base_k
    ks = draw_base_k(base_k, n, m, np.random.RandomState(seed))
    if n_rows < n:
        ks = [min(k, max(2, n_rows // _PER_CLUSTER)) for k in ks]
    places = np.linspace(0, m - 1, min(m, _CLUSTERINGS)).astype(int)
    return clone(generator).set_params(
        n_clusterings=len(places), base_k=[ks[place] for place in places]
    )


def _judged(
    rows, generator, model, ks: list[int], names: tuple[str, ...], seed: int
) -> dict[str, np.ndarray]:
    """Return the criteria of one data set for each k."""
    own = clone(generator).set_params(random_state=seed)
    ensemble = own.fit_checked(rows).ensemble_
    names = tuple(dict.fromkeys(("anmi", *names)))
    found = {name: np.full(len(ks), np.nan) for name in names}
    if ensemble.n_absent == ensemble.n_objects:
        return found
    ensemble = ensemble.present()
    if "eigengap" in names:
        found["eigengap"] = criteria_.eigengaps(ensemble, ks, n_jobs=1)
    most = len(ensemble.fragments().counts)
    possible = [k for k in ks if k <= most]
    of_labels = [name for name in names if name != "eigengap"]
    if not possible:
        return found
    with any_cut_is_fine():
        cuts = driver.solve(model, ensemble, possible, seed).cuts
    for i, (k, cut) in enumerate(zip(possible, cuts, strict=True)):
        if cut.n_clusters == k:
            values = criteria_.judge(ensemble, cut.labels, of_labels, n_jobs=1)
            for name in of_labels:
                found[name][i] = values[name]
    return found
