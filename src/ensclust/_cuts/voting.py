"""From meta-clusters to objects: every object goes where most of its clusters went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ensclust import _kernels
from ensclust._ensemble.agreement import agreement_of, contingency
from ensclust._ensemble.contents import check_array
from ensclust._ensemble.ensemble import Ensemble
from ensclust._ensemble.flow import Counts, Cut
from ensclust._support import parallel
from ensclust._support.encoding import NOWHERE, first_places


@dataclass(frozen=True, eq=False)
class Vote:
    """An Assignment: each object goes to the meta-cluster that holds it most often.

    The score of a meta-cluster is the mean, over its base clusters, of the object's
    membership, times the weight of the base cluster; the mean is weighted by the
    clusterings that they come from. Ties are decided by a hash of the seed and the
    label row: equal rows get equal labels, wherever they are.

    Attributes
    ----------
    meta_labels : ndarray of shape (Nc,)
        Meta-cluster of each base cluster, -1 for none.
    seed : int
        Determines ties.
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings; None means all equal.
    cluster_weights : ndarray of shape (Nc,) or None
        Weights of the base clusters, above 0; None means 1 each.
    """

    meta_labels: np.ndarray
    seed: int
    weights: np.ndarray | None = None
    cluster_weights: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the meta-clusters."""
        return self.meta_labels.nbytes

    @property
    def fitted(self) -> dict[str, Any]:
        """The meta-clusters, by the numbers of the labels."""
        return {"meta_labels_": self.meta_labels}

    def renumbered(self, rank: np.ndarray) -> Vote:
        """Return the same with other numbers of clusters."""
        meta = np.where(self.meta_labels >= 0, rank[self.meta_labels], -1)
        return replace(self, meta_labels=meta)

    def label(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the winner of each row, -1 without any vote; time M per row."""
        winner = np.empty(rows.n_objects, np.int32)
        votes = (*self._votes(rows), np.uint64(self.seed))
        self._run(_kernels.voting.vote, rows, votes, winner, n_jobs)
        return winner

    def memberships(self, rows: Ensemble, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the scores scaled to sum to 1, 0 without any vote; memory 8 N k."""
        votes = self._votes(rows)
        scores = np.empty((rows.n_objects, len(votes[-1])))
        self._run(_kernels.voting.score, rows, votes, scores, n_jobs)
        total = scores.sum(axis=1, keepdims=True)
        return np.divide(scores, total, out=scores, where=total > 0)

    def check(self, counts: Counts, n_clusters: int) -> None:
        """Raise unless base clusters vote for existing clusters."""
        shape = (counts.n_base_clusters,)
        check_array("meta_labels", self.meta_labels, shape, low=-1, stop=n_clusters)
        check_array("seed", np.array(self.seed), (), low=0, stop=2**64)
        if self.weights is not None:
            shape = (counts.n_clusterings,)
            check_array("weights", self.weights, shape, kinds="f", low=0)
        if self.cluster_weights is not None:
            shape = (counts.n_base_clusters,)
            check_array("weights", self.cluster_weights, shape, kinds="f", low=0)

    def without_losers(self, used: np.ndarray) -> Vote:
        """Return a vote without unused meta-clusters, numbered without gaps."""
        rank = np.full(self.meta_labels.max() + 2, -1)
        rank[used] = np.arange(len(used))
        return replace(self, meta_labels=rank[self.meta_labels])

    def _votes(self, rows: Ensemble) -> tuple[np.ndarray, ...]:
        """Return meta labels, weights of votes, (Nc,), and their divisors."""
        meta = np.asarray(self.meta_labels, np.int64)
        weights = np.ones(rows.n_clusterings) if self.weights is None else self.weights
        weight = np.repeat(weights, rows.cluster_counts).astype(np.float64)
        divisor = np.bincount(meta[meta >= 0], weight[meta >= 0])
        if self.cluster_weights is not None:
            weight *= self.cluster_weights
        return meta, weight, divisor

    def _run(self, kernel, rows: Ensemble, votes: tuple, out: np.ndarray, n_jobs):
        spans = parallel.blocks(rows.n_objects, parallel.thread_count(n_jobs))
        parallel.run_spans(
            kernel, spans, (rows.columns, rows.offsets, *votes, out), n_jobs=n_jobs
        )


@dataclass(frozen=True, eq=False)
class MetaClusters:
    """A Solution: a graph of base clusters, whose parts the objects vote for.

    Attributes
    ----------
    partitions : callable
        ``partitions(k)`` gives one or more partitions of the base clusters, (Nc,) each;
        the one whose labels share most with the inputs is kept.
    seed, weights, cluster_weights
        Those of the vote.
    fitted : dict
        Fitted attributes of every cut.
    n_jobs : int or None
        Number of threads; None means one per core.
    """

    partitions: Callable[[Any], list[np.ndarray]]
    seed: int
    weights: np.ndarray | None
    fitted: dict[str, Any]
    n_jobs: int | None = None
    cluster_weights: np.ndarray | None = None

    def cut(self, n_clusters: int | None, counts: Counts) -> Cut:
        """Partition the base clusters, and let objects vote."""
        most = counts.n_base_clusters
        parts = self.partitions(None if n_clusters is None else min(n_clusters, most))
        own = (self.seed, self.weights, self.cluster_weights)
        votes = [Vote(meta, *own) for meta in parts]
        vote, ballot = settle(counts, votes, n_jobs=self.n_jobs)
        return Cut(vote, len(ballot.first), self.fitted, ballot.labels, ballot.first)


class Ballot(NamedTuple):
    """How a vote went.

    Attributes
    ----------
    first : ndarray of shape (k,)
        The first object of each meta-cluster.
    shared : ndarray of shape (k, Nc) or None
        Objects that each meta-cluster shares with each base cluster, if requested.
    labels : ndarray or None
        The winners, if all objects voted at once.
    """

    first: np.ndarray
    shared: np.ndarray | None
    labels: np.ndarray | None


def settle(
    counts: Counts, votes: list[Vote], *, n_jobs: int | None = None
) -> tuple[Vote, Ballot]:
    """Vote until every meta-cluster has an object; return the best of several votes.

    Base clusters of a meta-cluster that wins no object lose their vote (meta label -1),
    so that new objects cannot fall into it either. The best vote has the most clusters,
    then shares most with the base clusterings. One pass over the objects per round; for
    a single vote it ends when every meta-cluster has an object.
    """
    votes, several = list(votes), len(votes) > 1
    ballots: list[Any] = [None] * len(votes)
    while asked := [i for i, ballot in enumerate(ballots) if ballot is None]:
        work = partial(
            _ballots,
            votes=[votes[i] for i in asked],
            tables=several,
            keep=counts.in_memory,
            n_jobs=n_jobs,
        )
        found = counts.fold(work, _add, until=None if several else _all_have_won)
        for i, ballot in zip(asked, found, strict=True):
            used = np.flatnonzero(ballot.first < NOWHERE)
            if len(used) == len(ballot.first):
                ballots[i] = ballot
            else:
                votes[i] = votes[i].without_losers(used)

    def quality(i: int) -> tuple[int, float]:
        nmi = np.nan_to_num(agreement_of(counts, ballots[i].shared).nmi)
        return len(ballots[i].first), float(np.average(nmi, weights=votes[i].weights))

    best = max(range(len(votes)), key=quality) if several else 0
    return votes[best], ballots[best]


def _ballots(
    rows: Ensemble, start: int, *, votes: list[Vote], tables, keep, n_jobs
) -> list[Ballot]:
    """Vote on some rows; ``start`` is the number of the first."""
    found = []
    for vote in votes:
        k = int(vote.meta_labels.max()) + 1
        labels = vote.label(rows, n_jobs=n_jobs)
        first = first_places(labels, k)
        first[first < NOWHERE] += start
        shared = None
        if tables:
            shared = np.zeros((k, rows.n_base_clusters), np.int64)
            counted = contingency(rows, labels)
            shared[: len(counted)] = counted
        found.append(Ballot(first, shared, labels if keep else None))
    return found


def _add(one: list[Ballot], other: list[Ballot]) -> list[Ballot]:
    return [
        Ballot(
            np.minimum(a.first, b.first),
            None if a.shared is None or b.shared is None else a.shared + b.shared,
            None,
        )
        for a, b in zip(one, other, strict=True)
    ]


def _all_have_won(ballots: list[Ballot]) -> bool:
    return all((ballot.first < NOWHERE).all() for ballot in ballots)
