"""Streams of blocks and Dask arrays: consensus, fit, and the engine that is Dask.

Work on blocks becomes tasks of a Dask graph, what they give is combined in a tree, and
the small problem between the passes is solved here. Whatever scheduler is active makes
the passes: threads, a ``distributed.Client`` of a LocalCluster or of a cluster.
"""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust._generate import block_generation
from ensclust._stream import passes, streams
from ensclust._stream.blocks import Block, Blocks, is_dask_array
from ensclust._stream.checkpoints import Checkpoint
from ensclust._stream.label_streams import LabelStream
from ensclust._support import parallel
from ensclust._support.progress import tell
from ensclust._support.validation import import_optional

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ensclust._methods.base import BaseConsensus

_FAN_IN = 8  # results that one task combines
_TASKS = 4  # per thread and pass, where tasks read blocks themselves
_LARGE = 2**22  # bytes from which shared data is kept out of the graph


def consensus(
    labels: Any,
    ks: list,
    model: BaseConsensus,
    checkpoint: Any = None,
    *,
    several: bool,
) -> Any:
    """Return the consensus of a stream: what :func:`ensclust.consensus` says.

    A lazy Dask array for a Dask array, else a :class:`LabelStream`.
    """
    model._start()
    stream = _solve(model, labels, ks, several=several, checkpoint=checkpoint)
    return stream.to_dask() if is_dask_array(labels) else stream


def fit(model: BaseConsensus, X: Any, seed: int) -> BaseConsensus:
    """Fit an estimator to a stream of labels or, by ``model.base``, of features."""
    streams.check_method(model, [model.n_clusters])
    labels = X
    if not model._is_precomputed():
        known = block_generation.survey(X)
        generator = model._generator(known.n_objects, seed)
        model.generator_ = block_generation.fit(generator, X, known)
        labels = model.generator_.stream_
    stream = _solve(model, labels, [model.n_clusters], several=False)
    lazy: Any = stream.to_dask() if is_dask_array(X) else stream
    model.labels_ = lazy
    model.n_clusters_ = stream.n_clusters[0]
    model.n_features_in_ = model.ensemble_.n_clusterings
    if not model._is_precomputed():
        model.generator_.ensemble_ = model.ensemble_
        model.n_features_in_ = model.generator_.n_features_in_
    return model


def _solve(model, labels, ks: list, *, several: bool, checkpoint=None) -> LabelStream:
    blocks = Blocks(labels)
    engine = passes.engine_of(blocks)
    folder = None if checkpoint is None else Path(checkpoint)
    kept = Checkpoint(folder, blocks.identity if folder else "")
    if folder and hasattr(model, "checkpoint"):  # a tree keeps its merges too
        model.checkpoint = folder / "merges.npz"
    model.ensemble_, solved = streams.solve(model, blocks, ks, engine, kept)
    starts = model.ensemble_.starts()
    names = [f"k{k}" for k in ks] if several else None
    return LabelStream(blocks, engine, solved, starts, names=names)


class Dask:
    """Passes over blocks as tasks of a Dask graph, combined in a tree."""

    n_jobs: int | None = 1  # the scheduler's threads are enough
    wave = 4

    def __init__(self) -> None:
        self.delayed = import_optional("dask", "the dask engine", "dask").delayed

    def fold(self, blocks: Iterable[tuple[int, Block]], work, combine) -> Any:
        """Return ``work(columns, number)`` of all blocks, combined; None for none."""
        parts, share = list(blocks), _share(combine)
        if not parts:
            return None
        if hasattr(parts[0][1].load, "dask"):
            leaves = self.tasks(parts, work)
        else:  # blocks that a task reads itself: one after the other, adding as it goes
            run, shared = self.delayed(_fold), _share(work)
            spans = parallel.blocks(len(parts), _TASKS * _n_threads())
            leaves = [run(shared, share, parts[a:b]) for a, b in spans]
        level, join = leaves, self.delayed(_combine)
        while len(level) > 1:
            groups = range(0, len(level), _FAN_IN)
            level = [join(share, level[i : i + _FAN_IN]) for i in groups]
        return self._compute(level[0], leaves)

    def tasks(self, blocks: Iterable[tuple[int, Block]], work: Callable) -> list:
        """Return a delayed value for each block."""
        run, share = self.delayed(passes.call), _share(work)
        return [run(share, block.load, i, block.name) for i, block in blocks]

    def _compute(self, root: Any, leaves: list) -> Any:
        """Compute a value, telling how many of the leaves are done."""
        client = _client()
        if client is None:
            return root.compute()
        distributed = import_optional("distributed", "the dask engine", "dask")
        # Small values that follow the leaves, so that these need not be kept.
        marks = [self.delayed(_mark)(leaf) for leaf in leaves]
        future, *marks = client.compute([root, *marks])
        for done, mark in enumerate(distributed.as_completed(marks)):
            if mark.status == "error":
                break
            tell(done + 1, len(marks))
        return future.result()


def lazy_labels(
    blocks: Blocks, work: Callable, shape: tuple[int, ...], starts: list[int]
) -> Any:
    """Return labels as a Dask array, a chunk per block."""
    array = import_optional("dask.array", "the dask engine", "dask")
    parts = Dask().tasks(enumerate(blocks), work)
    return array.concatenate(
        [
            array.from_delayed(part, (b - a, *shape[1:]), np.int32)
            for part, (a, b) in zip(parts, pairwise(starts), strict=False)
            if b > a
        ]
    )


def _fold(work: Callable, combine: Callable, parts: list[tuple[int, Block]]) -> Any:
    return passes.Local().fold(parts, work, combine)


def _n_threads() -> int:
    client = _client()
    return sum(client.nthreads().values()) if client else parallel.thread_count()


def _combine(combine: Callable, parts: list) -> Any:
    return reduce(lambda one, other: passes.either(combine, one, other), parts)


def _mark(_: Any) -> None:
    return None


def _client() -> Any:
    """Return the client of a cluster that is active, or None."""
    distributed = import_optional("distributed", "the dask engine", "dask")
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _share(value: Any) -> Any:
    """Return something that tasks share, once in the graph or once on each worker."""
    dask = import_optional("dask", "the dask engine", "dask")
    client = _client()
    own = getattr(value, "keywords", {}).values()
    if client is not None and sum(getattr(v, "nbytes", 0) for v in own) > _LARGE:
        return client.scatter(value, broadcast=True, hash=False)
    return dask.delayed(value, traverse=False)
