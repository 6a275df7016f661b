"""K-means on one-hot rows over blocks, where the distinct rows are too many to keep.

All starts advance together, one pass over the blocks per round, by the tables and the
kernel of ``_cuts.onehot_kmeans``; what is summed are integers. Only the rows to
start from are drawn otherwise: every object has a clock, a hash of the seed and its
number, and those that ring first are taken, so that a row is drawn with a chance
proportional to its number of objects, as in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ensclust import _kernels
from ensclust._cuts.onehot_kmeans import Problem, Rows
from ensclust._methods.sec import SEC
from ensclust._stream.ballots import Solved, first_objects, rank_of, warn_of_fewer
from ensclust._stream.passes import numbered

if TYPE_CHECKING:
    from ensclust._methods.kcc import OneHotMethod
    from ensclust._stream.blocks import Blocks
    from ensclust._stream.passes import Engine
    from ensclust._stream.tally import Encoding, Tally


@dataclass
class _Start:
    """One descent: where it is, and the tables of its last round that improved."""

    rng: np.random.Generator
    spare: np.ndarray
    centres: tuple[np.ndarray, np.ndarray]
    repaired: bool = False  # with a row that the centres before did not have
    stands: bool = False  # still, as no centre has moved
    is_done: bool = False
    tables: Any = None
    accepted: Any = None
    last: Any = None  # members and mass of that round
    trace: list[float] = field(default_factory=list)


class _Shared(NamedTuple):
    """What work on a block needs to know."""

    encoding: Encoding
    divergence: Any
    start: np.ndarray
    sizes: np.ndarray
    edges: list[int]  # first row of each block

    def rows(self, columns) -> Rows:
        """Return the rows of a block that are in some clustering."""
        ensemble = self.encoding.encode(columns)
        labels = np.ascontiguousarray(ensemble.labels)
        return Rows(labels, np.ones(len(labels), np.int64), self.start, self.sizes)


def solve(
    model: OneHotMethod, blocks: Blocks, engine: Engine, known: Tally, k: int
) -> Solved:
    """Return the labels of the best of several starts; time a pass per round."""
    edges = known.starts()
    shared = _Shared(
        known.encoding, model._divergence(), known.offsets, known.sizes, edges
    )
    drawn, mass = draw(shared, blocks, engine, model._seed, model.n_init, k)
    nothing = np.zeros((0, known.n_clusterings), np.int32)
    rows = Rows(nothing, np.zeros(0, np.int64), known.offsets, known.sizes)
    problem = Problem(
        rows,
        shared.divergence,
        model.max_iter,
        model._tolerance,
        repair=model._repairs(),
        threads=1,
    )
    problem.cluster_mass = mass
    if isinstance(model, SEC):
        # Its tables leave out a constant, at most 1 per object; a sum of fractions
        # would depend on the blocks. So inertia_ is right up to a constant here.
        problem.constant = float(known.n_objects)
    starts = [
        _begin(problem, shared, first.labels, np.random.default_rng((model._seed, s)))
        for s, first in enumerate(drawn)
    ]
    for _ in range(model.max_iter):
        if not (going := [start for start in starts if not start.is_done]):
            break
        for start in going:
            start.tables = problem._tables(*start.centres, start.spare)
        work = partial(_assign_all, shared=shared, tables=[s.tables for s in going])
        totals = engine.fold(numbered(blocks), work, _add)
        for start, total in zip(going, totals, strict=True):
            _advance(problem, start, total, model._tolerance)
        if problem.repair:
            _repair(shared, blocks, engine, going)
        for start in going:
            start.is_done |= start.stands and not start.repaired
    best = min(starts, key=lambda start: start.trace[-1])
    model.inertia_, model.n_iter_ = best.trace[-1], len(best.trace)
    label = partial(_label, shared=shared, tables=best.accepted)
    rank, n_clusters = rank_of(first_objects(blocks, engine, label, k))
    warn_of_fewer(model, n_clusters, k)
    return Solved(partial(_ranked, work=label, rank=rank), n_clusters)


def _begin(problem: Problem, shared: _Shared, labels: np.ndarray, rng) -> _Start:
    n_base = np.diff(problem.rows.start)[:, None]
    spare = (rng.random((len(n_base), len(labels))) * n_base).astype(np.int64)
    centres = problem._empty(len(labels))
    for j, row in enumerate(labels):
        _put(shared, centres, j, row)
    return _Start(rng, spare, centres)


def _put(shared: _Shared, centres, j: Any, row: np.ndarray) -> None:
    """Make one row the only member of centre j."""
    one = Rows(row[None], np.ones(1, np.int64), shared.start, shared.sizes)
    there = row >= 0
    centres[0][(shared.start[:-1] + row)[there], j] = 1
    centres[1][there, j] = shared.divergence.weights(one)[0]


def _advance(problem: Problem, start: _Start, totals, tolerance: float) -> None:
    """Take a round, or undo it and stop, as onehot_kmeans does."""
    objective = problem._objective(*start.tables, *totals)
    settled = bool(start.trace) and not start.repaired
    if settled and start.trace[-1] - objective < tolerance:
        start.is_done = True
        return
    stands = settled and all(map(np.array_equal, start.last, totals))
    start.trace.append(objective)
    start.accepted, start.last = start.tables, totals
    start.centres = (totals[0].copy(), totals[1].copy())
    start.repaired, start.stands = False, stands


def _repair(shared, blocks, engine, starts: list[_Start]) -> None:
    """Make a random row the only member of each empty centre, if one can help."""
    for start in starts:
        empty = np.flatnonzero(~start.centres[1].any(axis=0))
        if start.is_done or not len(empty):
            continue
        mixed = partial(_differs, tables=start.accepted, totals=start.last)
        own_seed = int(start.rng.integers(2**62))
        (chosen,), _ = draw(shared, blocks, engine, own_seed, 1, len(empty), mixed)
        for j, row in zip(empty, chosen.labels, strict=False):
            _put(shared, start.centres, j, row)
        start.repaired = bool(len(chosen.labels))


class Drawn(NamedTuple):
    """Rows whose clocks ring first, in that order, and the numbers of their objects."""

    clocks: np.ndarray
    labels: np.ndarray
    objects: np.ndarray


def draw(
    shared: _Shared, blocks, engine: Engine, seed: int, n_init: int, k: int, among=None
) -> tuple[list[Drawn], np.ndarray]:
    """Draw k distinct rows for each start, in one pass; also sum weights (Nc,)."""
    work = partial(_ring, shared=shared, seed=seed, n_init=n_init, k=k, among=among)
    return engine.fold(numbered(blocks), work, partial(_earliest, k=k))


def _ring(columns, number: int, *, shared, seed, n_init, k, among):
    rows = shared.rows(columns)
    weights = shared.divergence.weights(rows)
    allowed = (rows.labels >= 0).any(axis=1)
    if among is not None:
        allowed &= among(rows, weights)
    objects = np.flatnonzero(allowed) + shared.edges[number]
    labels = rows.labels[allowed]
    drawn = []
    for s in range(n_init):
        clocks = _clocks(seed, s, objects)
        order = np.argsort(clocks, kind="stable")
        drawn.append(_distinct(clocks[order], labels[order], objects[order], k))
    return drawn, rows.per_cluster(weights)


def _clocks(seed: int, start: int, objects: np.ndarray) -> np.ndarray:
    """Return an exponential time for each object, a hash of the seed and its number."""
    h = objects.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    h += np.uint64((seed * 0xD1B54A32D192ED03 + start) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        h = (h ^ (h >> np.uint64(shift))) * np.uint64(factor)
    h ^= h >> np.uint64(31)
    return -np.log(((h >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53)


def _distinct(clocks, labels, objects, k: int) -> Drawn:
    """Return the first k rows that differ; what comes in is in order."""
    reach = 4 * k
    while True:
        _, first = np.unique(labels[:reach], axis=0, return_index=True)
        first = np.sort(first)[:k]
        if len(first) == k or reach >= len(labels):
            return Drawn(clocks[first], labels[first], objects[first])
        reach *= 4


def _earliest(one, other, *, k: int):
    (left, mass), (right, more) = one, other
    drawn = []
    for pair in zip(left, right, strict=True):
        clocks, labels, objects = map(np.concatenate, zip(*pair, strict=True))
        order = np.lexsort((objects, clocks))
        drawn.append(_distinct(clocks[order], labels[order], objects[order], k))
    return drawn, mass + more


def _nearest(rows: Rows, weights: np.ndarray, tables) -> tuple:
    """Return the nearest centre of each row, and members and mass of each centre."""
    table, slope = tables
    k = table.shape[1]
    members = np.zeros((len(rows.sizes), k), np.int64)
    mass = np.zeros((rows.labels.shape[1], k), np.int64)
    nobody = np.full(len(rows.labels), -1, np.int32)
    nearest, lead = np.empty_like(nobody), np.empty(len(nobody))
    fixed = (rows.labels, rows.start, rows.counts, weights, table, slope)
    state = (np.zeros((2, k)), 0.0, nobody, nearest, lead, members, mass)
    _kernels.onehot.assign(*fixed, *state, 0, len(nobody))
    return nearest, members, mass


def _assign_all(columns, number: int, *, shared, tables) -> list:
    rows = shared.rows(columns)
    weights = shared.divergence.weights(rows)
    return [_nearest(rows, weights, table)[1:] for table in tables]


def _add(one: list, other: list) -> list:
    return [(a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True)]


def _differs(rows: Rows, weights: np.ndarray, *, tables, totals) -> np.ndarray:
    """Return which rows are not all that their centre consists of."""
    nearest = _nearest(rows, weights, tables)[0]
    members, mass = totals
    differs = np.zeros(len(nearest), bool)
    for m, first in enumerate(rows.start[:-1]):
        there = np.flatnonzero(rows.labels[:, m] >= 0)
        own = nearest[there]
        share = members[first + rows.labels[there, m], own] * weights[there]
        differs[there] |= share != mass[m, own]
    return differs


def _label(columns, number: int, *, shared, tables) -> np.ndarray:
    rows = shared.rows(columns)
    nearest = _nearest(rows, shared.divergence.weights(rows), tables)[0]
    return np.where((rows.labels >= 0).any(axis=1), nearest, np.int32(-1))


def _ranked(columns, number: int, *, work, rank) -> np.ndarray:
    return np.append(rank, np.int32(-1))[work(columns, number)]
