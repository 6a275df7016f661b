"""Consensus over a stream of blocks: counts, a small problem, labels block by block.

A pass over the blocks either adds up something small or gives labels; engines make
them. Methods are those of memory, unchanged: they see a Tally, which answers as the
ensemble would.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust import _kernels
from ensclust._methods.best import BestConsensus
from ensclust._methods.families import MetaClustering
from ensclust._methods.kcc import OneHotMethod
from ensclust._stream import block_kmeans, tally
from ensclust._stream.ballots import (
    NOWHERE,
    Passes,
    Solved,
    rank_of,
    vote,
    warn_of_fewer,
)
from ensclust._stream.passes import TooManyRowsError, numbered
from ensclust._stream.tally import Encoding, Tally
from ensclust._support.validation import gibibytes, warn
from ensclust._trees.coassociation import DEFAULT_MEMORY

if TYPE_CHECKING:
    from ensclust._methods.base import BaseConsensus
    from ensclust._stream.blocks import Blocks
    from ensclust._stream.checkpoints import Checkpoint
    from ensclust._stream.passes import Engine


def solve(
    model: BaseConsensus,
    blocks: Blocks,
    ks: list,
    engine: Engine,
    checkpoint: Checkpoint,
) -> tuple[Tally, list[Solved]]:
    """Return the counts of a stream and its labels for each number of clusters.

    ``model`` is left as :meth:`fit` would leave it, but for what is per object.
    """
    check_method(model, ks)
    known = whole = count(model, blocks, engine, checkpoint)
    total = sum(known.lengths.values())
    ks = [model._check_k(k, total) for k in ks]
    model.weights_ = model._find_weights(known)
    if model.weights_ is not None and not model.weights_.all():
        chosen = known.encoding.select(model.weights_ > 0)
        known = count(model, blocks, engine, checkpoint, chosen)
    if known.n_absent:
        warn(
            f"{known.n_absent} of {total} objects are in no base clustering; their "
            "consensus label is -1."
        )
    if not known.n_objects:
        return whole, [Solved(_nobody, 0) for _ in ks]
    if isinstance(model, MetaClustering):
        passes = Passes(blocks, engine, known, model._seed)
        cuts = [vote(model, passes, k) for k in _prepare(model, known, ks)]
        model._drop_graph()
        return whole, cuts
    try:
        known = find_rows(model, blocks, engine, known, checkpoint)
    except TooManyRowsError:
        if not isinstance(model, OneHotMethod):
            raise
        ks = _prepare(model, known, ks)
        return whole, [block_kmeans.solve(model, blocks, engine, known, k) for k in ks]
    n_rows = len(known.fragments().counts)
    cuts = []
    for k in _prepare(model, known, ks):
        fit = k if isinstance(k, str) else min(k, n_rows)
        cuts.append(_cut(model, known, fit, k))
    model._drop_graph()
    return whole, cuts


def _prepare(model: BaseConsensus, known: Tally, ks: list) -> list:
    model._prepared = known
    # What is per object is not known: who is absent, and the labels of rows as yet.
    model._absent, model._row_labels = np.zeros(0, bool), np.zeros(0, np.int32)
    model._require_memory(known)
    model._prepare(known)
    return [k if isinstance(k, str) else min(k, known.n_objects) for k in ks]


def check_method(model: BaseConsensus, ks: list) -> None:
    """Raise what a stream cannot do, before it is read."""
    if isinstance(model, BestConsensus) or "auto" in ks:
        what = 'method="best"' if isinstance(model, BestConsensus) else "k = auto"
        msg = (
            f"{what} needs the labels in memory. Choose on a sample, with "
            "select_k(sample) or compare(sample, k), and name what it found."
        )
        raise ValueError(msg)
    if isinstance(model, OneHotMethod) and not isinstance(model.init, str):
        msg = (
            "init numbers objects, which a stream cannot look up. Use "
            'init="random", or pass the labels as an array.'
        )
        raise ValueError(msg)


def count(
    model: BaseConsensus,
    blocks: Blocks,
    engine: Engine,
    checkpoint: Checkpoint,
    encoding: Encoding | None = None,
) -> Tally:
    """Return the counts of a stream, in one pass: Nc^2 numbers and one block."""
    is_known = encoding is not None
    encoding = encoding or Encoding(model.noise, blocks.holds_cells)
    stage = f"counts-{model.noise}" + (f"-{encoding.used}" if is_known else "")
    found = checkpoint.load(stage)
    if found is None:
        work = partial(tally.count, encoding=encoding, n_jobs=engine.n_jobs)
        found = engine.fold(numbered(blocks), work, tally.add)
        if found is None:
            msg = "the stream holds no objects. Give at least one block with a row."
            raise ValueError(msg)
        checkpoint.save(stage, found)
    if not is_known:
        found, encoding = tally.settle_numbers(found, encoding)
    return Tally(found, encoding)


def find_rows(
    model: BaseConsensus,
    blocks: Blocks,
    engine: Engine,
    known: Tally,
    checkpoint: Checkpoint,
) -> Tally:
    """Return the tally with its distinct rows, in one more pass."""
    budget = getattr(model, "max_memory", DEFAULT_MEMORY)
    encoding = known.encoding
    stage = f"rows-{encoding.noise}-{encoding.used}"
    rows = checkpoint.load(stage)
    if rows is None:
        work = partial(tally.distinct, encoding=encoding)
        combine = partial(_merge, encoding=encoding, budget=budget)
        rows = engine.fold(numbered(blocks), work, combine)
        checkpoint.save(stage, _affordable(rows, budget))
    return known.with_rows(rows)


def _merge(one: tally.Rows, other: tally.Rows, *, encoding: Encoding, budget: int):
    return _affordable(tally.merge(one, other, encoding=encoding), budget)


def _affordable(rows: tally.Rows, budget: int) -> tally.Rows:
    """Return rows that fit the budget, or raise; it does not matter how they came."""
    needed = rows.__sizeof__()
    if needed > budget:
        msg = (
            f"more than {len(rows.counts):,} distinct label rows take over "
            f"{gibibytes(needed)}; the budget is {gibibytes(budget)}. Use ecpcs-mc or "
            "mcla, whose memory does not depend on them, fewer or coarser base "
            "clusterings, or raise max_memory."
        )
        raise TooManyRowsError(msg)
    return rows


def _cut(model: BaseConsensus, known: Tally, k: Any, wanted: Any) -> Solved:
    """Return the labels of the distinct rows, numbered by their first objects."""
    assert known.rows is not None
    labels = np.asarray(model._cut(k))
    first = np.full(int(labels.max()) + 1, NOWHERE)
    np.minimum.at(first, labels, known.rows.first)
    rank, n_clusters = rank_of(first)
    warn_of_fewer(model, n_clusters, wanted)
    model._renumber(rank)
    model._row_labels = rank[labels]
    work = partial(
        look_up,
        encoding=known.encoding,
        codes=known.fragment_codes(),
        labels=model._row_labels,
    )
    return Solved(work, n_clusters)


def look_up(columns, number: int, *, encoding, codes, labels) -> np.ndarray:
    """Return the labels of a block whose rows are all known, -1 if in no clustering."""
    ensemble = encoding.encode(columns)
    place = np.empty(len(ensemble.fragments().counts), np.int64)
    _kernels.nearest.find_rows(codes, ensemble.fragment_codes(), place)
    return np.append(labels, np.int32(-1))[place][ensemble.fragments().inverse]


def _nobody(columns, number: int) -> np.ndarray:
    return np.full(len(columns[0]), -1, np.int32)
