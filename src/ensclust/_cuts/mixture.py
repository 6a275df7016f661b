"""A mixture of classes of label rows, fitted by expectation maximisation.

Within a class, labels of different clusterings are independent, so the log-probability
of a row is M look-ups in a table of base clusters. It runs on the distinct label rows
with their numbers of objects. Responsibilities are added up row by row and never kept,
by one thread for each start, in the order of the rows: threads cannot change a bit.

If there are too many distinct rows to keep, one pass over the label rows serves all
starts. Responsibilities are then multiples of a unit, so that their sums are exact and
do not depend on the blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ensclust import _kernels
from ensclust._cuts.onehot_kmeans import Rows, Unweighted, draw, draw_rows
from ensclust._ensemble.contents import check_array, check_same
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts, Cut, TooManyRowsError
from ensclust._support import parallel

# In place of log 0. If some label of a row is impossible in every class, the class with
# the fewest such labels is the likeliest, and among these the other labels decide.
_IMPOSSIBLE = -1e6
_LEAN = 0.1  # share of its own row in an initial class; the rest is that of all objects
_CELLS = 2**20  # responsibilities in a block
_PATIENCE = 3  # numbers of classes without improvement after which the search ends


class Mixture(NamedTuple):
    """The classes.

    Attributes
    ----------
    table : ndarray of shape (Nc + 1, k)
        Log-probability of each label in each class, times the weight of its clustering;
        the last row is 0, for "not clustered".
    log_share : ndarray of shape (k,)
        Log-probability of each class.
    """

    table: np.ndarray
    log_share: np.ndarray


class Fitted(NamedTuple):
    """The result of one start, or the best of several."""

    mixture: Mixture
    objective: float
    log_likelihood: float
    n_iter: int
    bic: float = np.nan


@dataclass(frozen=True, eq=False)
class Posterior:
    """An Assignment: the likeliest class, and how likely each of them is.

    Attributes
    ----------
    mixture : Mixture
        The classes.
    offsets : ndarray of shape (M + 1,)
        First base cluster of each clustering.
    names : ndarray of shape (k,)
        The label of each class, -1 for one that is the likeliest for no object, which
        new objects cannot join.
    """

    fitted: ClassVar[dict[str, Any]] = {}

    mixture: Mixture
    offsets: np.ndarray
    names: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(part.nbytes for part in self.mixture)

    def renumbered(self, rank: np.ndarray) -> Posterior:
        """Return the same with other numbers; ties still go to the first class."""
        names = rank[self.names]
        log_share = np.where(names < 0, -np.inf, self.mixture.log_share)
        mixture = self.mixture._replace(log_share=log_share)
        return replace(self, names=names, mixture=mixture)

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless each class has a probability of each base cluster."""
        n, k = counts.n_base_clusters, len(self.names)
        check_same("offsets", self.offsets, counts.offsets)
        check_array("table", self.mixture.table, (n + 1, k), kinds="f")
        check_array("log_share", self.mixture.log_share, (k,), kinds="f")
        check_array("names", self.names, (k,), low=-1, stop=n_clusters)

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the likeliest class of each row, -1 for a row in no clustering."""
        return self.label_rows(np.ascontiguousarray(rows.labels), n_jobs)

    def label_rows(self, labels: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Like :meth:`label`, for rows, (n, M)."""
        likeliest = self._pass(labels, lambda shares: shares.argmax(axis=1), n_jobs)
        found = self.names[likeliest]
        found[(labels < 0).all(axis=1)] = -1
        return found

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return how likely each class is, (n, k); 0 for a row in no clustering."""
        labels, used = np.ascontiguousarray(rows.labels), self.names >= 0
        memberships = np.zeros((len(labels), self.names.max() + 1))
        memberships[:, self.names[used]] = self._pass(
            labels, lambda shares: shares[:, used], n_jobs
        )
        memberships[(labels < 0).all(axis=1)] = 0
        return memberships

    def _pass(self, labels: np.ndarray, use: Callable, n_jobs) -> np.ndarray:
        """Return a result from the responsibilities of all rows, block by block."""
        n_blocks = -(-len(labels) * len(self.names) // _CELLS)
        spans = parallel.blocks(len(labels), n_blocks)

        def work(*span: int) -> np.ndarray:
            return use(
                _kernels.mixture.responsibilities(
                    labels, self.offsets, *self.mixture, *span
                )
            )

        return np.concatenate(parallel.run(work, spans, n_jobs=n_jobs))


@dataclass(frozen=True, eq=False)
class Mixtures:
    """A Solution: a mixture for each number of classes, each from scratch.

    Attributes
    ----------
    settings : dict
        The parameters of :func:`fit_mixture`.
    known : dict of int to Fitted
        Mixtures that have been fitted already.
    """

    settings: dict[str, Any]
    known: dict[int, Fitted] = field(default_factory=dict)

    def fitted(self, n_classes: int, counts: Counts) -> Fitted:
        """Return the mixture of ``n_classes`` classes."""
        if n_classes not in self.known:
            self.known[n_classes] = fit_mixture(counts, n_classes, **self.settings)
        return self.known[n_classes]

    def cut(self, n_clusters: int, counts: Counts) -> Cut:
        """Fit from several starts; the likeliest is kept."""
        found = self.fitted(n_clusters, counts)
        k = len(found.mixture.log_share)
        names = np.arange(k, dtype=np.int32)
        assignment = Posterior(found.mixture, counts.offsets, names)
        fitted = {
            "log_likelihood_": found.log_likelihood,
            "bic_": found.bic,
            "n_iter_": found.n_iter,
        }
        try:
            fragments = counts.fragments()
        except TooManyRowsError:
            return Cut(assignment, k, fitted)
        labels = assignment.label_rows(fragments.labels, self.settings["n_jobs"])
        return Cut(assignment, k, fitted, labels[fragments.inverse])

    def least_bic(self, counts: Counts) -> int:
        """Return the number of classes with the smallest BIC.

        From 1 upwards, at most the number of clusters of the finest clustering, until
        three numbers in a row are no better than the best.
        """
        best, least = 1, np.inf
        for k in range(1, int(counts.cluster_counts.max()) + 1):
            value = self.fitted(k, counts).bic
            if value < least:
                best, least = k, value
            elif k - best == _PATIENCE:
                break
        return best


def fit_mixture(
    counts: Counts,
    n_classes: int,
    *,
    n_init: int = 10,
    max_iter: int = 200,
    tol: float = 1e-6,
    smoothing: float = 0.0,
    weights: np.ndarray | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Fitted:
    """Fit a mixture of classes to label rows by expectation maximisation.

    Parameters
    ----------
    counts : Counts
        The objects; each must be in some clustering.
    n_classes : int
        Number of classes; at most one per distinct row is used.
    n_init, max_iter : int
        Random starts, and rounds per start.
    tol : float
        A start ends when the log-likelihood grows by at most this share of it.
    smoothing : float
        Number of objects added to every label of every class.
    weights : ndarray of shape (M,) or None
        Exponents of the clusterings' probabilities, scaled to a mean of 1.
    seed : int
        Determines the rows to start from.
    n_jobs : int or None
        Number of threads, at most one per start; None means one per core. Never changes
        the result.

    Returns
    -------
    Fitted
        From the start with the largest log-likelihood. Time F M k per round and start
        for F distinct rows; memory F M labels and a few Nc x k tables per start.

    Examples
    --------
    >>> from ensclust import Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 0], [1, 1], [1, 1]])
    >>> float(round(fit_mixture(ensemble, 2).log_likelihood / np.log(0.5), 6))
    4.0
    """
    nothing = np.zeros((0, counts.n_clusterings), np.int32)
    known = Rows.single(nothing, counts.offsets, counts.sizes)
    if weights is None:
        weights = np.ones(counts.n_clusterings)
    model = Model(known, weights / weights.mean(), smoothing)
    try:
        rows = Rows.of(counts)
    except TooManyRowsError:
        n_objects = counts.n_objects
        model = replace(model, unit=2.0 ** (n_objects.bit_length() - 52))
        drawn, _ = draw(counts, known, Unweighted(), seed, n_init, n_classes)
        firsts = [one.labels for one in drawn]
        expect = partial(_expect_blocks, counts, model)
    else:
        n_objects = int(rows.counts.sum())
        rngs = [np.random.default_rng((seed, s)) for s in range(n_init)]
        firsts = [rows.labels[draw_rows(rng, rows.counts, n_classes)] for rng in rngs]
        expect = partial(expect_rows, rows, n_jobs)
    starts = [model.near(first) for first in firsts]
    runs = climb(model, starts, expect, max_iter=max_iter, tol=tol)
    best = max(runs, key=lambda run: run.objective)
    n_parameters = model.n_parameters(len(best.mixture.log_share))
    bic = n_parameters * float(np.log(n_objects)) - 2 * best.log_likelihood
    return best._replace(bic=bic)


@dataclass(frozen=True, eq=False)
class Model:
    """The settings that all classes share.

    Attributes
    ----------
    rows : Rows
        The base clusters; no rows.
    weights : ndarray of shape (M,)
        Exponents of the clusterings' probabilities.
    smoothing : float
        Number of objects added to every label of every class.
    unit : float
        Responsibilities are multiples of it; 0 for no restriction.
    """

    rows: Rows
    weights: np.ndarray
    smoothing: float = 0.0
    unit: float = 0.0

    @cached_property
    def shares(self) -> np.ndarray:
        """Shares of the base clusters in the objects of their clustering, (Nc, 1)."""
        present = np.maximum(self.rows.per_clustering(self.rows.sizes), 1)
        return (self.rows.sizes / present[self.rows.clustering])[:, None]

    def n_parameters(self, k: int) -> int:
        """Return the number of free parameters of k classes."""
        n_base = self.rows.per_clustering((self.rows.sizes > 0).astype(np.int64))
        return k - 1 + k * int(np.maximum(n_base - 1, 0).sum())

    def near(self, labels: np.ndarray) -> Mixture:
        """Return classes that each lean towards the labels of a row, (k, M)."""
        members = np.repeat((1 - _LEAN) * self.shares, len(labels), axis=1)
        row, m = np.nonzero(labels >= 0)
        members[self.rows.start[m] + labels[row, m], row] += _LEAN
        n_objects = self.rows.per_clustering(self.rows.sizes).max()
        return self.maximised(n_objects * members, np.ones(len(labels)))

    def maximised(self, members: np.ndarray, mass: np.ndarray) -> Mixture:
        """Return the likeliest classes of given responsibilities.

        If no member of a class is in a clustering, the class has the shares of all
        objects there.
        """
        total = self.rows.per_clustering(members)
        nobody = (total == 0)[self.rows.clustering]
        members = np.where(nobody, self.shares, np.maximum(members, self.unit / 2))
        members += self.smoothing
        chance = members / self.rows.per_clustering(members)[self.rows.clustering]
        table = np.full((len(members) + 1, len(mass)), _IMPOSSIBLE)
        np.log(chance, out=table[:-1], where=chance > 0)
        table[:-1] *= self.weights[self.rows.clustering, None]
        table[-1] = 0
        with np.errstate(divide="ignore"):
            return Mixture(table, np.log(mass / mass.sum()))

    def penalty(self, mixture: Mixture) -> float:
        """Return what smoothing adds to the log-likelihood that is maximised."""
        return self.smoothing * mixture.table.sum() if self.smoothing else 0.0


def climb(
    model: Model,
    starts: list[Mixture],
    expect: Callable,
    *,
    max_iter: int,
    tol: float,
) -> list[Fitted]:
    """Improve all starts, each until it gains at most ``tol`` of its objective.

    ``expect(mixtures)`` passes over the rows, and returns for each mixture the members,
    the mass and the log-likelihood, as the kernel adds them up. Returns the last
    mixture of each start that such a pass has evaluated.
    """
    runs: dict[int, Fitted] = {}
    ahead = dict(enumerate(starts))
    for n in range(1, max_iter + 1):
        found = zip(list(ahead), expect(list(ahead.values())), strict=True)
        for s, (members, mass, parts) in found:
            mixture, log_likelihood = ahead.pop(s), float(parts.sum())
            objective = log_likelihood + model.penalty(mixture)
            before = runs[s].objective if s in runs else -np.inf
            runs[s] = Fitted(mixture, objective, log_likelihood, n)
            if objective - before > tol * abs(objective):
                ahead[s] = model.maximised(members, mass)
        if not ahead:
            break
    return [runs[s] for s in range(len(starts))]


def expect_rows(rows: Rows, n_jobs: int | None, mixtures: list[Mixture]) -> list:
    """Pass over distinct rows, one thread per mixture."""
    tasks = [(rows, mixture) for mixture in mixtures]
    return parallel.run(_expect, tasks, n_jobs=n_jobs)


def _expect(rows: Rows, mixture: Mixture, unit: float = 0.0) -> tuple:
    k = len(mixture.log_share)
    sums = np.zeros((len(rows.sizes), k)), np.zeros(k), np.zeros(2)
    fixed = (rows.labels, rows.start, rows.counts, *mixture, unit)
    _kernels.mixture.expect(*fixed, *sums, 0, len(rows.labels))
    return sums


def _expect_blocks(counts: Counts, model: Model, mixtures: list[Mixture]) -> list:
    """Pass over blocks of label rows, once for all mixtures."""
    return counts.fold(partial(_expect_block, model=model, mixtures=mixtures), _add)


def _expect_block(rows: Ensemble, start: int, *, model, mixtures) -> list:
    labels = rows.labels[~rows.absent()]
    own = Rows.single(labels, model.rows.start, model.rows.sizes)
    return [_expect(own, mixture, model.unit) for mixture in mixtures]


def _add(one: list, other: list) -> list:
    return [
        tuple(a + b for a, b in zip(*pair, strict=True))
        for pair in zip(one, other, strict=True)
    ]
