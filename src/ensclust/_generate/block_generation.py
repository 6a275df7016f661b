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

from functools import partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ensclust import _kernels
from ensclust._ensemble.ensemble import Ensemble
from ensclust._generate.base_k import default_base_k
from ensclust._generate.clusterers import KMeans, scaled
from ensclust._stream.blocks import Blocks, is_dask_array
from ensclust._stream.passes import engine_of, numbered
from ensclust._stream.tally import check_widths
from ensclust._support import parallel
from ensclust._support.progress import tell
from ensclust._support.validation import (
    check_magnitude,
    check_random_state,
    check_share,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ensclust._generate.generation import EnsembleGenerator
    from ensclust._stream.passes import Engine

SAMPLE = 20_000  # rows, unless max_samples says how many
MANY = 100_000  # rows from which k-means in memory starts from a sample too
_ROWS = 512  # of an array that are added up at a time: scores stay in cache
_BITS = 24  # of the fixed point, as far as sums have room for them
_ROOM = 20  # bits by which rows may exceed the largest of the sample
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
    sample = _start(generator, n, partial(_take, blocks, engine, known))

    def add_up(models: list[KMeans], scale: float) -> list:
        shared = {"mean": generator.mean_, "unit": generator.unit_}
        work = partial(_sums, models=models, scale=scale, **shared)
        return engine.fold(numbered(blocks), work, _add)

    is_all = check_share(generator.max_samples, "max_samples", n, "objects") is None
    has_kmeans = generator.algorithm == "lloyd" and hasattr(generator, "mean_")
    if hasattr(generator, "mean_"):
        _make_room(generator, known)
    if is_all and has_kmeans and len(sample) < n:
        improve(generator, add_up, known, sample)
    labels = blocks.map(partial(_label, generator=_light(generator)))
    generator.stream_ = labels
    if is_dask_array(X):
        generator.stream_ = labels.to_dask(len(generator.models_))
    return generator


def fit_array(generator: EnsembleGenerator, X: np.ndarray) -> EnsembleGenerator:
    """Fit k-means to many rows in memory, as to blocks of them.

    Labels are equal but for rows that rounding puts between two centres. Memory the
    labels, twice: rows are centred anew in each pass, block by block.
    """
    n = len(X)
    sample = _start(generator, n, X.__getitem__)
    known = Survey({0: n}, X.min(axis=0), X.max(axis=0))
    _make_room(generator, known)
    threads = parallel.thread_count(generator.n_jobs)
    n_blocks = -(-n // _ROWS)
    spans = [(a * _ROWS, b * _ROWS) for a, b in parallel.blocks(n_blocks, threads)]

    def blocks(a: int, b: int, size: int = _ROWS) -> Iterator[np.ndarray]:
        for i in range(a, min(b, n), size):
            rows = X[i : min(i + size, b)]
            yield scaled(rows, generator.mean_, generator.unit_)[-1]

    def add_up(models: list[KMeans], scale: float) -> list:
        tasks = [(blocks(a, b), models, scale) for a, b in spans]
        with parallel.one_blas_thread():
            return reduce(_add, parallel.run(_sums_by_blas, tasks, n_jobs=threads))

    if generator.algorithm == "lloyd" and len(sample) < n:
        improve(generator, add_up, known, sample)
    models = generator.models_
    narrow = np.min_scalar_type(max(len(model.centres) for model in models))
    labels = np.empty((len(models), n), narrow)

    def write(a: int, b: int) -> None:
        for X32 in blocks(a, b, 16 * _ROWS):
            for model, own in zip(models, labels, strict=True):
                own[a : a + len(X32)] = model.predict(X32)
            a += len(X32)

    parallel.run(write, spans, n_jobs=threads)
    generator.ensemble_ = Ensemble.from_clusterings(labels, noise=generator.noise)
    return generator


def _start(generator: EnsembleGenerator, n: int, take: Callable) -> np.ndarray:
    """Fit every clusterer to a sample of n rows; return the sample."""
    seed = check_random_state(generator.random_state).randint(2**31 - 1)
    rng = np.random.default_rng(seed)
    asked = check_share(generator.max_samples, "max_samples", n, "objects")
    rows = np.sort(rng.choice(n, min(n, asked or SAMPLE), replace=False))
    sample = take(rows)
    base_k = default_base_k(n) if generator.base_k is None else generator.base_k
    on_sample = clone(generator).set_params(max_samples=1.0, base_k=base_k).fit(sample)
    for name in ("models_", "views_", "n_iter_", "n_features_in_", "mean_", "unit_"):
        if hasattr(on_sample, name):
            setattr(generator, name, getattr(on_sample, name))
    generator.label(sample[:1])  # a clusterer without predict is refused here
    return sample


def _make_room(generator: EnsembleGenerator, known: Survey) -> None:
    """Take a larger unit where rows outside the sample are too large for float32."""
    check_magnitude(np.array([known.low, known.high]))
    largest = np.abs([known.low - generator.mean_, known.high - generator.mean_]).max()
    exponent = int(np.frexp(largest / generator.unit_)[1])
    if exponent <= _ROOM:
        return
    factor = 2.0**exponent
    generator.unit_ *= factor
    for model in generator.models_:
        if isinstance(model, KMeans):
            centres = model.centres.astype(np.float64) / factor
            halves = model.half_norms.astype(np.float64) / factor**2
            model.centres = centres.astype(np.float32)
            model.half_norms = halves.astype(np.float32)


def improve(
    generator: EnsembleGenerator,
    add_up: Callable[[list[KMeans], float], list],
    known: Survey,
    sample: np.ndarray,
) -> None:
    """Improve all k-means clusterings at once, one pass over the rows per round.

    ``add_up(models, scale)`` gives the sums, times the scale, and numbers of the rows
    nearest to each centre of each model.
    """
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
        moving = []
        for model, (sums, counts) in zip(models, add_up(models, scale), strict=True):
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
    return _sums_of(scaled(_table(columns), mean, unit)[-1], models, scale)


def _sums_of(X: np.ndarray, models: list[KMeans], scale: float) -> list:
    """Return the sums and numbers of the rows nearest to each centre of each model."""
    found = []
    for model in models:
        sums = np.zeros(model.centres.shape, np.int64)
        counts = np.zeros(len(sums), np.int64)
        _kernels.assignment.add_rows(X, model.predict(X), scale, sums, counts)
        found.append((sums, counts))
    return found


def _sums_by_blas(blocks: Iterable[np.ndarray], models: list[KMeans], scale) -> list:
    """Do as _sums_of for all of some blocks, by one product for all models.

    Twice as fast; but the last digit of a product may depend on where a row stands in
    its block, so blocks must always be the same.
    """
    start = np.cumsum([0, *(len(model.centres) for model in models)])
    centres = np.ascontiguousarray(np.concatenate([m.centres for m in models]).T)
    half_norms = np.concatenate([model.half_norms for model in models])
    sums, counts = np.zeros(centres.T.shape, np.int64), np.zeros(start[-1], np.int64)
    scores = np.empty((_ROWS, start[-1]), np.float32)
    for X in blocks:
        score = np.matmul(X, centres, out=scores[: len(X)])
        _kernels.assignment.add_best(X, score, half_norms, start, scale, sums, counts)
    return [(sums[a:b], counts[a:b]) for a, b in pairwise(start)]


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
