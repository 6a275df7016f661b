"""Base clusterings of features that come in blocks.

Every clusterer is first fitted to a sample of the rows. For k-means that is the start:
then all clusterings are improved together, one pass over the blocks per iteration of
Lloyd's algorithm, which assigns rows to the nearest of all M k centres and adds them up
in fixed point, so that neither the size of blocks nor their order changes a bit. With
``max_samples`` below 1.0 or as a number, and for any other clusterer with ``predict``
(MiniBatchKMeans, GaussianMixture, Birch, a Pipeline), the sample is all that is learned
from. In a last pass, made by whoever uses the labels, blocks are labelled.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ensclust import _kernels
from ensclust._stream.blocks import Blocks, as_blocks
from ensclust._stream.counting import check_widths
from ensclust._stream.engines import fold
from ensclust._support import parallel
from ensclust._support.features import scaled
from ensclust._support.progress import tell
from ensclust._support.validation import check_magnitude, check_random_state

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
    found = fold(as_blocks(X, "features"), _survey, _join)
    if found is None:
        msg = "X holds no objects. Give at least one block with a row."
        raise ValueError(msg)
    return found


class Fitted(NamedTuple):
    """Base clusterers that were fitted, and what they see of the features.

    Attributes
    ----------
    models, views : list
        The clusterers, and the features that each of them sees.
    n_iter : int
        The most iterations that one of them took.
    mean, unit : ndarray, float, or None
        What features are centred and scaled by for k-means; None without any.
    """

    models: list
    views: list
    n_iter: int
    mean: Any
    unit: Any

    @property
    def nbytes(self) -> int:
        """Bytes of the centres, where there are such."""
        return sum(model.centres.nbytes for model in self.kmeans)

    @property
    def kmeans(self) -> list:
        """Those of the clusterers that are our own k-means."""
        return [model for model in self.models if getattr(model, "is_own", False)]

    def label(self, X: Any) -> list[np.ndarray]:
        """Return the labels that the base clusterers give to new objects."""
        for model in self.models:
            if not hasattr(model, "predict"):
                msg = (
                    f"{type(model).__name__} cannot label new objects (it has no "
                    'predict). Use base="kmeans" or a clusterer with predict, or label '
                    'the objects yourself and use base="precomputed".'
                )
                raise TypeError(msg)
        own = self.kmeans
        X32 = scaled(X, self.mean, self.unit)[-1] if own else None
        return [
            model.predict(X32 if model in own else view.of(X))
            for model, view in zip(self.models, self.views, strict=True)
        ]


def fit_blocks(
    fitted: Fitted, blocks: Blocks, known: Survey, sample: np.ndarray, max_iter: int
) -> Fitted:
    """Improve by all rows what was fitted to a sample of them; see :func:`improve`.

    ``max_iter`` of 0 leaves them as they are.
    """
    if not fitted.kmeans:
        return fitted
    fitted = _make_room(fitted, known)

    def add_up(models: list, scale: float) -> list:
        work = partial(
            _sums, models=models, mean=fitted.mean, unit=fitted.unit, scale=scale
        )
        return fold(blocks, work, _add)

    if max_iter and len(sample) < known.n_objects:
        return improve(fitted, add_up, known, sample, max_iter)
    return fitted


def fit_array(
    fitted: Fitted, X: np.ndarray, sample: np.ndarray, max_iter: int, n_jobs: int | None
) -> tuple[Fitted, np.ndarray]:
    """Improve k-means by many rows in memory, and label these, as blocks of them.

    Labels are equal but for rows that rounding puts between two centres. Memory the
    labels, twice: rows are centred anew in each pass, block by block.
    """
    n = len(X)
    known = Survey({0: n}, X.min(axis=0), X.max(axis=0))
    fitted = _make_room(fitted, known)
    threads = parallel.thread_count(n_jobs)
    spans = [
        (a * _ROWS, b * _ROWS) for a, b in parallel.blocks(-(-n // _ROWS), threads)
    ]

    def blocks(a: int, b: int, size: int = _ROWS) -> Iterator[np.ndarray]:
        for i in range(a, min(b, n), size):
            yield scaled(X[i : min(i + size, b)], fitted.mean, fitted.unit)[-1]

    def add_up(models: list, scale: float) -> list:
        tasks = [(blocks(a, b), models, scale) for a, b in spans]
        with parallel.one_blas_thread():
            return reduce(_add, parallel.run(_sums_by_blas, tasks, n_jobs=threads))

    if max_iter and len(sample) < n:
        fitted = improve(fitted, add_up, known, sample, max_iter)
    models = fitted.models
    narrow = np.min_scalar_type(max(len(model.centres) for model in models))
    labels = np.empty((len(models), n), narrow)

    def write(a: int, b: int) -> None:
        for X32 in blocks(a, b, 16 * _ROWS):
            for model, own in zip(models, labels, strict=True):
                own[a : a + len(X32)] = model.predict(X32)
            a += len(X32)

    parallel.run(write, spans, n_jobs=threads)
    return fitted, labels


def label_stream(fitted: Fitted, blocks: Blocks) -> Blocks:
    """Return the labels of blocks of features, made anew in each pass over them."""
    return blocks.map(partial(_label, fitted=fitted))


def sample_rows(n: int, n_sample: int | None, random_state: Any) -> np.ndarray:
    """Return the numbers of the rows that clusterers are fitted to first, in order."""
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    return np.sort(rng.choice(n, min(n, n_sample or SAMPLE), replace=False))


def _make_room(fitted: Fitted, known: Survey) -> Fitted:
    """Take a larger unit where rows outside the sample are too large for float32."""
    check_magnitude(np.array([known.low, known.high]))
    exponent = int(np.frexp(_largest(fitted, known))[1])
    if exponent <= _ROOM:
        return fitted
    factor = 2.0**exponent
    for model in fitted.kmeans:
        model.shrink(factor)
    return fitted._replace(unit=fitted.unit * factor)


def _largest(fitted: Fitted, known: Survey) -> float:
    """Return the largest feature, centred and scaled."""
    return float(
        np.abs(np.array([known.low, known.high]) - fitted.mean).max() / fitted.unit
    )


def improve(
    fitted: Fitted,
    add_up: Callable[[list, float], list],
    known: Survey,
    sample: np.ndarray,
    max_iter: int,
) -> Fitted:
    """Improve all k-means clusterings at once, one pass over the rows per round.

    ``add_up(models, scale)`` gives the sums, times the scale, and numbers of the rows
    nearest to each centre of each model.
    """
    most = max(_largest(fitted, known), 1.0) * known.n_objects
    scale = 2.0 ** min(_BITS, 62 - int(np.ceil(np.log2(most))))
    least = _TOLERANCE * scaled(sample, fitted.mean, fitted.unit)[-1].var(axis=0).mean()
    models = fitted.kmeans
    views = {id(m): v for m, v in zip(fitted.models, fitted.views, strict=True)}
    for done in range(max_iter):
        if not models:
            break
        tell(done, max_iter)
        moving = []
        for model, (sums, counts) in zip(models, add_up(models, scale), strict=True):
            view, old = views[id(model)], model.centres
            rows = sums / (scale * np.maximum(counts, 1)[:, None])
            rows = np.where(counts[:, None] > 0, rows, old)
            seen = np.ascontiguousarray(view.of(rows.astype(np.float32)))
            model.place(seen, view, sample.shape[1], n_iter=done + 1)
            if ((model.centres.astype(np.float64) - old) ** 2).sum() > least:
                moving.append(model)
        models = moving
    return fitted._replace(
        n_iter=max(getattr(model, "n_iter_", 1) for model in fitted.models)
    )


def _survey(columns: Sequence[np.ndarray], number: int) -> Survey:
    table = _table(columns)
    return Survey({number: len(table)}, table.min(axis=0), table.max(axis=0))


def _join(one: Survey, other: Survey) -> Survey:
    check_widths(one.lengths, len(one.low), other.lengths, len(other.low))
    return Survey(
        one.lengths | other.lengths,
        np.minimum(one.low, other.low),
        np.maximum(one.high, other.high),
    )


def _table(columns: Sequence[np.ndarray]) -> np.ndarray:
    """Return a block of features as float64, or float32 where all columns are."""
    check_numbers(columns)
    narrow = all(column.dtype == np.float32 for column in columns)
    return np.column_stack(columns).astype(np.float32 if narrow else np.float64)


def check_numbers(columns: Sequence[np.ndarray]) -> None:
    """Raise unless the columns of a block hold finite numbers."""
    for m, column in enumerate(columns):
        if column.dtype.kind not in "biuf" or not np.isfinite(column).all():
            where = (
                int(np.argmin(np.isfinite(column)))
                if column.dtype.kind in "biuf"
                else 0
            )
            msg = (
                f"X[{where}, {m}] = {column[where]!r} in this block; features are "
                "finite numbers."
            )
            raise ValueError(msg)


def take(blocks: Blocks, known: Survey, rows: np.ndarray) -> np.ndarray:
    """Return some rows, by number, in order."""
    lengths = [known.lengths.get(i, 0) for i in range(max(known.lengths) + 1)]
    wanted = {
        i: rows[(rows >= a) & (rows < b)] - a
        for i, (a, b) in enumerate(pairwise(np.cumsum([0, *lengths])))
    }
    found = fold(blocks, partial(_rows, wanted=wanted), operator.or_)
    return np.concatenate([found[number] for number in sorted(found)])


def _rows(columns, number: int, *, wanted: dict[int, np.ndarray]) -> dict:
    return {number: _table([column[wanted[number]] for column in columns])}


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


def _sums_by_blas(blocks: Iterable[np.ndarray], models: list, scale) -> list:
    """Do as _sums for all of some blocks, by one product for all models.

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


def _label(columns, *, fitted: Fitted) -> list[np.ndarray]:
    return [np.asarray(labels) for labels in fitted.label(_table(columns))]
