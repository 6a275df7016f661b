"""Base clusterings of features that come in blocks.

Every clusterer is first fitted to a sample of the rows. For k-means that is the start:
then all clusterings are improved together, one pass over the blocks per iteration of
Lloyd's algorithm, which assigns rows to the nearest of all M k centres and adds them up
in fixed point, so that neither the size of blocks nor their order changes a bit. With
``max_samples`` below 1.0 or as a number, and for any other clusterer with ``predict``
(MiniBatchKMeans, GaussianMixture, Birch, a Pipeline), the sample is all that is learned
from. In a last pass, made by whoever uses the labels, blocks are labelled.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ensclust import _kernels
from ensclust._base_clusterers import KMeans, scaled
from ensclust._progress import tell
from ensclust._validation import check_random_state, check_share
from ensclust.blocks import Blocks, is_dask_array
from ensclust.generation import default_base_k
from ensclust.passes import engine_of, numbered
from ensclust.tally import check_widths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust.generation import EnsembleGenerator
    from ensclust.passes import Engine

SAMPLE = 20_000  # rows, unless max_samples says how many
_BITS = 24  # of the fixed point, as far as sums have room for them
_TOLERANCE = 1e-4  # share of the variance below which a shift of centres ends a run


class Survey(NamedTuple):
    """What one pass finds out about features: rows of each block, and their range."""

    lengths: dict[int, int]
    low: np.ndarray
    high: np.ndarray

    @property
    def n_objects(self) -> int:
        """The number of rows."""
        return sum(self.lengths.values())


def survey(X: Any) -> Survey:
    """Pass over features once; refuse what is no finite number."""
    blocks = Blocks(X, content="features")
    found = engine_of(blocks).fold(numbered(blocks), _survey, _join)
    if found is None:
        msg = "X holds no objects. Give at least one block with a row."
        raise ValueError(msg)
    return found


def fit(
    generator: EnsembleGenerator, X: Any, known: Survey | None = None
) -> EnsembleGenerator:
    """Fit a generator to blocks of features, surveyed now unless they are known.

    ``generator.stream_`` has the labels: Blocks, or a lazy Dask array for a Dask array.
    Time a pass to survey, one to take the sample, and for k-means one per iteration;
    memory one block, the sample and M k d numbers. Rows are labelled anew in each pass
    over ``stream_``: keep them with Dask's ``persist`` where that is dear.
    """
    blocks = Blocks(X, content="features")
    engine = engine_of(blocks)
    known = known or survey(blocks)
    n = known.n_objects
    seed = check_random_state(generator.random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    asked = check_share(generator.max_samples, "max_samples", n, "objects")
    rows = np.sort(rng.choice(n, min(n, asked or SAMPLE), replace=False))
    sample = _take(blocks, engine, known, rows)
    base_k = default_base_k(n) if generator.base_k is None else generator.base_k
    on_sample = clone(generator).set_params(max_samples=1.0, base_k=base_k).fit(sample)
    for name in ("models_", "views_", "n_iter_", "n_features_in_", "mean_", "unit_"):
        if hasattr(on_sample, name):
            setattr(generator, name, getattr(on_sample, name))
    generator.label(sample[:1])  # a clusterer without predict is refused here
    if asked is None and len(rows) < n and hasattr(generator, "mean_"):
        improve(generator, blocks, engine, known, sample)
    labels = blocks.map(partial(_label, generator=_light(generator)))
    generator.stream_ = labels
    if is_dask_array(X):
        generator.stream_ = labels.to_dask(len(generator.models_))
    return generator


def improve(
    generator: EnsembleGenerator,
    blocks: Blocks,
    engine: Engine,
    known: Survey,
    sample: np.ndarray,
) -> None:
    """Improve all k-means clusterings at once, one pass over the blocks per round."""
    mean, unit = generator.mean_, generator.unit_
    largest = np.abs([known.low - mean, known.high - mean]).max() / unit
    bits = 62 - int(np.ceil(np.log2(max(largest, 1.0) * known.n_objects)))
    scale = 2.0 ** min(_BITS, bits)
    least = _TOLERANCE * scaled(sample, mean, unit)[-1].var(axis=0).mean()
    models = [model for model in generator.models_ if isinstance(model, KMeans)]
    views = {id(m): v for m, v in zip(generator.models_, generator.views_, strict=True)}
    n_features = sample.shape[1]
    rounds = generator.max_iter
    for done in range(rounds):
        if not models:
            break
        tell(done, rounds)
        work = partial(_sums, models=models, mean=mean, unit=unit, scale=scale)
        totals = engine.fold(numbered(blocks), work, _add)
        moving = []
        for model, (sums, counts) in zip(models, totals, strict=True):
            view, old = views[id(model)], model.centres
            rows = sums / (scale * np.maximum(counts, 1)[:, None])
            rows = np.where(counts[:, None] > 0, rows, old)
            seen = view.of(rows.astype(np.float32))
            model.place(np.ascontiguousarray(seen), view, n_features)
            model.n_iter_ = done + 1
            if ((model.centres.astype(np.float64) - old) ** 2).sum() > least:
                moving.append(model)
        models = moving
    generator.n_iter_ = max(getattr(model, "n_iter_", 1) for model in generator.models_)


def _survey(columns: Sequence[np.ndarray], number: int) -> Survey:
    table = _table(columns)
    return Survey({number: len(table)}, table.min(axis=0), table.max(axis=0))


def _join(one: Survey, other: Survey) -> Survey:
    check_widths(one.lengths, len(one.low), other.lengths, len(other.low))
    lengths = {**one.lengths, **other.lengths}
    low, high = np.minimum(one.low, other.low), np.maximum(one.high, other.high)
    return Survey(lengths, low, high)


def _table(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return a block of features as float64, or float32 where all columns are."""
    for m, column in enumerate(columns):
        if column.dtype.kind not in "biuf" or not np.isfinite(column).all():
            is_number = column.dtype.kind in "biuf"
            where = int(np.argmin(np.isfinite(column))) if is_number else 0
            msg = (
                f"X[{where}, {m}] = {column[where]!r} in this block; features are "
                "finite numbers."
            )
            raise ValueError(msg)
    narrow = all(column.dtype == np.float32 for column in columns)
    return np.column_stack(columns).astype(np.float32 if narrow else np.float64)


def _take(blocks, engine: Engine, known: Survey, rows: np.ndarray) -> np.ndarray:
    """Return some rows, by number, in order."""
    lengths = [known.lengths.get(i, 0) for i in range(max(known.lengths) + 1)]
    edges = np.cumsum([0, *lengths])
    wanted = {
        i: rows[(rows >= a) & (rows < b)] - a
        for i, (a, b) in enumerate(pairwise(edges))
    }
    found = engine.fold(numbered(blocks), partial(_rows, wanted=wanted), _both)
    return np.concatenate([found[number] for number in sorted(found)])


def _rows(columns, number: int, *, wanted: dict[int, np.ndarray]) -> dict:
    return {number: _table([column[wanted[number]] for column in columns])}


def _both(one: dict, other: dict) -> dict:
    return {**one, **other}


def _sums(columns, number: int, *, models, mean, unit, scale) -> list:
    """Return the sums and numbers of the rows nearest to each centre of each model."""
    X = scaled(_table(columns), mean, unit)[-1]
    found = []
    for model in models:
        sums = np.zeros(model.centres.shape, np.int64)
        counts = np.zeros(len(sums), np.int64)
        _kernels.assignment.add_rows(X, model.predict(X), scale, sums, counts)
        found.append((sums, counts))
    return found


def _add(one: list, other: list) -> list:
    return [(a + c, b + d) for (a, b), (c, d) in zip(one, other, strict=True)]


def _light(generator: EnsembleGenerator) -> EnsembleGenerator:
    """Return what labels need of a generator."""
    light = clone(generator)
    for name in ("models_", "views_", "mean_", "unit_"):
        if hasattr(generator, name):
            setattr(light, name, getattr(generator, name))
    return light


def _label(columns, *, generator: EnsembleGenerator) -> list[np.ndarray]:
    return [np.asarray(labels) for labels in generator.label(_table(columns))]
