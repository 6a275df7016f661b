"""Votes of a stream: meta-clusters settled over blocks, as voting does in memory."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensclust._cuts import voting
from ensclust._ensemble.agreement import agreement_of, contingency
from ensclust._stream import tally
from ensclust._stream.passes import either, numbered
from ensclust._support.validation import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ensclust._methods.base import BaseConsensus
    from ensclust._methods.families import MetaClustering
    from ensclust._stream.blocks import Blocks
    from ensclust._stream.passes import Engine
    from ensclust._stream.tally import Tally

NOWHERE = np.iinfo(np.int64).max  # place of the first object of nobody


class Solved(NamedTuple):
    """Labels of a stream: how each block gets them.

    Attributes
    ----------
    work : callable
        ``work(columns, number)`` gives the labels of a block, (n,) int32.
    n_clusters : int
        The number of clusters.
    """

    work: Callable
    n_clusters: int


class Ballot(NamedTuple):
    """How votes went: the first object of each meta-cluster, shared counts (k, Nc)."""

    first: np.ndarray
    shared: np.ndarray | None


class Passes(NamedTuple):
    """What passes that vote have in common."""

    blocks: Blocks
    engine: Engine
    known: Tally
    seed: int

    def ballots(self, metas, weights, *, tables: bool) -> list[Ballot]:
        """Vote by each of several meta-clusterings.

        Without tables, blocks are voted on until every meta-cluster has an object:
        later ones cannot change which objects are first.
        """
        work = partial(
            ballot,
            encoding=self.known.encoding,
            metas=metas,
            vote=partial(
                voting.vote, seed=self.seed, weights=weights, n_jobs=self.engine.n_jobs
            ),
            tables=tables,
        )
        if tables:
            return self.engine.fold(numbered(self.blocks), work, _add_ballots)
        total = None
        for wave in _waves(self.blocks, self.engine):
            found = self.engine.fold(wave, work, _add_ballots)
            total = either(_add_ballots, total, found)
            if total and all((b.first < NOWHERE).all() for b in total):
                break
        return total or []


def first_objects(blocks: Blocks, engine: Engine, work: Callable, k: int) -> np.ndarray:
    """Return the place of the first object of each label, (k,).

    ``work(columns, number)`` gives labels; blocks are worked on until every label is
    found, or to the end.
    """
    first = np.full(k, NOWHERE)
    for wave in _waves(blocks, engine):
        found = engine.fold(wave, partial(_firsts, work=work, k=k), np.minimum)
        first = first if found is None else np.minimum(first, found)
        if (first < NOWHERE).all():
            break
    return first


def _waves(blocks: Blocks, engine: Engine) -> Iterator[list]:
    """Yield the blocks, some at a time, then twice as many."""
    left, size = numbered(blocks), engine.wave
    while wave := list(islice(left, size)):
        yield wave
        size *= 2


def _firsts(columns, number: int, *, work: Callable, k: int) -> np.ndarray:
    return _first_places(work(columns, number), number, k)


def _first_places(labels: np.ndarray, number: int, k: int) -> np.ndarray:
    """Return the place of the first object of each label in a block."""
    values, rows = np.unique(labels, return_index=True)
    first = np.full(k, NOWHERE)
    first[values[values >= 0]] = tally.place(number, rows[values >= 0])
    return first


def ballot(columns, number: int, *, encoding, metas, vote, tables) -> list[Ballot]:
    """Vote in one block."""
    ensemble = encoding.encode(columns)
    found = []
    for meta in metas:
        k = int(meta.max()) + 1
        labels = vote(ensemble, meta)
        first = _first_places(labels, number, k)
        shared = None
        if tables:
            counts = contingency(ensemble, labels)
            shared = np.zeros((k, ensemble.n_base_clusters), np.int64)
            shared[: len(counts)] = counts
        found.append(Ballot(first, shared))
    return found


def _add_ballots(one: list[Ballot], other: list[Ballot]) -> list[Ballot]:
    return [
        Ballot(
            np.minimum(a.first, b.first),
            None if a.shared is None or b.shared is None else a.shared + b.shared,
        )
        for a, b in zip(one, other, strict=True)
    ]


def vote(model: MetaClustering, passes: Passes, k: int) -> Solved:
    """Vote until every meta-cluster has an object, as voting.settle does."""
    known, weights = passes.known, model._weights
    metas = model._partitions(min(k, known.n_base_clusters))
    several = len(metas) > 1
    votes: list = [None] * len(metas)
    while open_ones := [i for i, vote in enumerate(votes) if vote is None]:
        asked = [metas[i] for i in open_ones]
        found = passes.ballots(asked, weights, tables=several)
        for i, vote in zip(open_ones, found, strict=True):
            used = np.flatnonzero(vote.first < NOWHERE)
            if len(used) == len(vote.first):
                votes[i] = vote
            else:
                metas[i] = voting.without_losers(metas[i], used)
    best = 0
    if several:

        def quality(i: int) -> tuple[int, float]:
            nmi = np.nan_to_num(agreement_of(known, votes[i].shared).nmi)
            return int(metas[i].max()), float(np.average(nmi, weights=weights))

        best = max(range(len(metas)), key=quality)
    rank, n_clusters = rank_of(votes[best].first)
    warn_of_fewer(model, n_clusters, k)
    model.meta_labels_ = metas[best]
    model._renumber(rank)
    work = partial(
        vote_block,
        encoding=known.encoding,
        meta_labels=model.meta_labels_,
        weights=weights,
        seed=passes.seed,
        n_jobs=passes.engine.n_jobs,
    )
    return Solved(work, n_clusters)


def vote_block(columns, number: int, *, encoding, **settings) -> np.ndarray:
    """Return the labels of a block by vote."""
    return voting.vote(encoding.encode(columns), **settings)


def rank_of(first: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the number of each label in the order of first objects, and how many."""
    n = int((first < NOWHERE).sum())
    rank = np.full(len(first), -1, np.int32)
    rank[np.argsort(first, kind="stable")[:n]] = np.arange(n, dtype=np.int32)
    return rank, n


def warn_of_fewer(model: BaseConsensus, n_clusters: int, k: Any) -> None:
    """Warn where fewer clusters came out than were asked for."""
    if not isinstance(k, str) and n_clusters < k:
        warn(
            f"{type(model).__name__} formed {n_clusters} of n_clusters={k} clusters: "
            "no more came out of these base clusterings."
        )
