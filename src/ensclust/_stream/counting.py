"""Counting a stream: sums over blocks of label rows.

Everything that is summed is an integer, so neither the size nor the order of blocks can
change a bit of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count, pairwise
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import (
    Ensemble,
    Fragments,
    add_overlaps,
    encode_columns,
    globally,
)
from ensclust._ensemble.flow import Assignment, TooManyRowsError
from ensclust._files.cells import no_label
from ensclust._files.checkpoint import Checkpoint
from ensclust._stream.blocks import Blocks
from ensclust._stream.engines import either, fold
from ensclust._stream.label_stream import LabelStream
from ensclust._support.digests import check_unchanged, checksum
from ensclust._support.encoding import NOWHERE, unite
from ensclust._support.label_texts import are_numbers, meaning
from ensclust._support.validation import explaining, gibibytes


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the label values of a stream become cluster numbers.

    Attributes
    ----------
    noise : str
        What negative labels mean, as in :class:`Ensemble`.
    categories : tuple of ndarray
        The label values of each clustering, sorted; empty until all blocks are counted.
    used : tuple of int or None
        The columns to use; None for all.
    known : dict of int to tuple
        Rows and checksum of each counted block, by its number; the checksum is None if
        unknown.
    """

    noise: str = "missing"
    categories: tuple[np.ndarray, ...] = ()
    used: tuple[int, ...] | None = None
    known: dict[int, tuple[int, int | None]] = field(default_factory=dict)

    def encode(
        self, columns: Sequence[Any], number: int
    ) -> tuple[Ensemble, tuple[int, int]]:
        """Return the rows of one block, encoded by the values of all blocks.

        Until these are known, by its own values, where strings are names, as only the
        end shows whether all of them are numbers. Also return the number of rows and
        their checksum; raise if these have changed since the block was counted.
        """
        used = range(len(columns)) if self.used is None else self.used
        chosen = [columns[m] for m in used]
        codes, values = encode_columns(chosen, self.noise, as_names=True)
        mark = codes.shape[1], checksum([codes, *values])
        if self.known:
            check_unchanged(number, mark, self.known)
        if not self.categories:
            return Ensemble.from_codes(codes, values), mark
        return without_objects(self.categories).translate(codes, values), mark

    def select(self, clusterings: np.ndarray) -> Encoding:
        """Return the encoding of some clusterings (a mask)."""
        chosen = np.flatnonzero(clusterings)
        used = range(len(self.categories)) if self.used is None else self.used
        return replace(
            self,
            categories=tuple(self.categories[m] for m in chosen),
            used=tuple(used[m] for m in chosen),
            known={i: (rows, None) for i, (rows, _) in self.known.items()},
        )


@dataclass(frozen=True, eq=False)
class BlockCounts:
    """The counts of some blocks of rows.

    Attributes
    ----------
    lengths : dict of int to int
        Number of rows of each block, by its number.
    marks : dict of int to int
        Their checksums.
    n_absent : int
        Rows that no clustering contains.
    values : tuple of ndarray
        Label values of each clustering, sorted.
    overlap : ndarray of shape (Nc, Nc)
        Rows that each pair of base clusters shares.
    """

    lengths: dict[int, int]
    marks: dict[int, int]
    n_absent: int
    values: tuple[np.ndarray, ...]
    overlap: np.ndarray

    def __sizeof__(self) -> int:
        """Return bytes, by which Dask plans memory and transfers."""
        return self.overlap.nbytes + sum(column.nbytes for column in self.values)


def count_block(
    columns: Sequence[np.ndarray],
    number: int,
    *,
    encoding: Encoding,
) -> BlockCounts:
    """Count one block; time N M^2 / 2 and memory Nc^2 numbers."""
    ensemble, (n_rows, mark) = encoding.encode(columns, number)
    return BlockCounts(
        {number: n_rows},
        {number: mark},
        int(ensemble.absent().sum()),
        ensemble.categories,
        ensemble.intersections(),
    )


def add(one: BlockCounts, other: BlockCounts) -> BlockCounts:
    """Return the counts of both, on the union of their label values."""
    check_widths(one.lengths, len(one.values), other.lengths, len(other.values))
    with explaining(f"block {min(other.lengths) + 1}", TypeError, raised=TypeError):
        values = tuple(map(unite, one.values, other.values, count()))
    parts = [(part.values, part.overlap) for part in (one, other)]
    overlap = add_overlaps(values, parts)
    return BlockCounts(
        one.lengths | other.lengths,
        one.marks | other.marks,
        one.n_absent + other.n_absent,
        values,
        overlap,
    )


def check_widths(one: dict, n_columns: int, other: dict, n_others: int) -> None:
    """Raise if some blocks, keyed by number, have more columns than others."""
    if n_columns != n_others:
        msg = (
            f"block {min(other) + 1} has {n_others} columns, block {min(one) + 1} has "
            f"{n_columns}. Every block must have the same columns."
        )
        raise ValueError(msg)


def fix_encoding(
    counts: BlockCounts, encoding: Encoding
) -> tuple[BlockCounts, Encoding]:
    """Decide which columns of strings are numbers, and return the final encoding."""
    values, places = [], []
    for m, texts in enumerate(counts.values):
        own, place = texts, np.arange(len(texts))
        given = texts.tolist() if texts.dtype.kind == "U" else []
        label = meaning(given)
        for text in given:
            if label[text] is None:
                where = f"column {m + 1}"
                raise no_label(where, text)
        if given and are_numbers(given):
            labels = np.array([label[text] for text in given], np.int64)
            own, place = np.unique(labels, return_inverse=True)
        values.append(own)
        places.append(place)
    offsets = np.cumsum([0, *map(len, values)])
    at = globally(places, offsets)
    overlap = np.zeros((offsets[-1], offsets[-1]), np.int64)
    np.add.at(overlap, np.ix_(at, at), counts.overlap)
    known = replace(encoding, categories=tuple(values))
    return replace(counts, values=tuple(values), overlap=overlap), known


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct label rows of some blocks, in lexicographic order.

    Attributes
    ----------
    columns : ndarray of shape (M, F)
        Their codes.
    counts, first : ndarray of shape (F,)
        The number of objects with each row, and the position of the first.
    """

    columns: np.ndarray
    counts: np.ndarray
    first: np.ndarray

    def __sizeof__(self) -> int:
        """Return bytes, by which Dask plans memory and transfers."""
        return self.columns.nbytes + self.counts.nbytes + self.first.nbytes


def distinct(rows: Ensemble, start: int) -> Rows:
    """Return the distinct rows among some rows; time a few sorts."""
    fragments = rows.fragments()
    first = np.full(len(fragments.counts), rows.n_objects)
    np.minimum.at(first, fragments.inverse, np.arange(rows.n_objects))
    return Rows(rows.columns[:, first], fragments.counts, start + first)


def merge(one: Rows, other: Rows, *, categories: tuple, budget: int) -> Rows:
    """Return the distinct rows of both, or raise if they exceed the budget."""
    columns = np.concatenate([one.columns, other.columns], axis=1)
    inverse = Ensemble.from_codes(columns, categories).fragments().inverse
    n = int(inverse.max()) + 1
    counts, first = np.zeros(n, np.int64), np.full(n, NOWHERE)
    np.add.at(counts, inverse, np.concatenate([one.counts, other.counts]))
    np.minimum.at(first, inverse, np.concatenate([one.first, other.first]))
    row = np.empty(n, np.int64)
    row[inverse] = np.arange(len(inverse))
    return _affordable(Rows(columns[:, row], counts, first), budget)


def without_objects(categories: Sequence[np.ndarray]) -> Ensemble:
    """Return an ensemble with base clusters but no objects."""
    dtype = np.min_scalar_type(max(map(len, categories)))  # top value: the sentinel
    return Ensemble.from_codes(np.empty((len(categories), 0), dtype), categories)


class Tally:
    """Counts of a stream of blocks, summed over its label rows.

    Implements what a method may ask (:class:`ensclust._ensemble.flow.Counts`), except
    for anything per object.

    Parameters
    ----------
    blocks : Blocks
        The stream.
    counted : BlockCounts
        The result of counting it.
    encoding : Encoding
        How its labels become cluster numbers.
    checkpoint : Checkpoint or None
        Where passes save their results.
    budget : int
        Bytes that the distinct label rows may take.

    Attributes
    ----------
    n_objects, n_absent : int
        Rows of the stream, and those that no clustering contains.
    offsets, sizes, categories, cluster_counts, has_missing
        As in an :class:`Ensemble`.
    starts : list of int
        The first row of each block, and the number of all rows.
    """

    in_memory = False

    def __init__(self, blocks, counted, encoding, *, checkpoint=None, budget=0):
        self._blocks: Blocks | None = blocks
        self._counted = counted
        self._checkpoint = checkpoint
        self._budget = budget
        self._rows: Rows | TooManyRowsError | None = None
        self.encoding = encoding
        self.categories = counted.values
        frame = without_objects(counted.values)
        self.offsets, self.cluster_counts = frame.offsets, frame.cluster_counts
        self.n_clusterings = frame.n_clusterings
        self.n_base_clusters = frame.n_base_clusters
        self.sizes = np.diagonal(counted.overlap)
        lengths = [counted.lengths.get(i, 0) for i in range(max(counted.lengths) + 1)]
        self.starts = [0, *np.cumsum(lengths).tolist()]
        self.n_objects, self.n_absent = self.starts[-1], counted.n_absent
        self.has_missing = self._lacks_labels()

    def intersections(self, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the counts of each pair of base clusters."""
        return self._counted.overlap.copy()

    def select(self, clusterings: np.ndarray) -> Tally:
        """Return the counts of some clusterings (a mask), in another pass."""
        return tally(
            self._stream(),
            self.encoding.select(clusterings),
            checkpoint=self._checkpoint,
            budget=self._budget,
        )

    def present(self) -> Tally:
        """Return the counts of the objects that some clustering contains."""
        other = Tally.__new__(Tally)  # a copy would drop the stream, as pickling does
        vars(other).update(vars(self))
        other.n_objects, other.n_absent = self.n_objects - self.n_absent, 0
        other.has_missing = other._lacks_labels()
        return other

    def _lacks_labels(self) -> bool:
        return int(self.sizes.sum()) < self.n_objects * self.n_clusterings

    def fragments(self) -> Fragments:
        """Return the distinct label rows; each stands for its objects.

        Takes another pass the first time. Raises TooManyRowsError if they exceed the
        budget.
        """
        return self._fragments

    @cached_property
    def _fragments(self) -> Fragments:
        rows = self._distinct_rows()
        labels = np.ascontiguousarray(
            Ensemble.from_codes(rows.columns, self.categories).labels
        )
        return Fragments(labels, np.arange(len(labels)), rows.counts)

    def fragment_codes(self) -> np.ndarray:
        """Return the distinct label rows for kernels, (F, M) unsigned."""
        rows = self._distinct_rows()
        return Ensemble.from_codes(rows.columns, self.categories).fragment_codes()

    def first_objects(self, labels: np.ndarray, n_labels: int) -> np.ndarray:
        """Return the first object of each label of the distinct rows."""
        first = np.full(n_labels, NOWHERE)
        np.minimum.at(first, labels, self._distinct_rows().first)
        return first

    def fold(self, work: Callable, add: Callable, *, until: Any = None) -> Any:
        """Return ``work(rows, first)`` of all blocks, combined, in another pass."""
        return fold(
            self._stream(),
            partial(_on_rows, encoding=self.encoding, starts=self.starts, work=work),
            add,
            until=until,
        )

    def take(self, objects: np.ndarray) -> Ensemble:
        """Return the label rows of some objects, in order, in another pass."""
        found = self.fold(partial(_chosen, objects=np.sort(objects)), dict.__or__)
        columns = np.concatenate([found[start] for start in sorted(found)], axis=1)
        return Ensemble.from_codes(columns, self.categories)

    def recode(self, labels: Any) -> Ensemble:
        """Return labels of other objects, numbered by the base clusters of these."""
        return without_objects(self.categories).recode(labels)

    def label_stream(
        self, assignments: list[Assignment], ks: list[int], names: list[str] | None
    ) -> LabelStream:
        """Return the labels of the stream, computed block by block on demand."""
        return LabelStream(
            self._stream(),
            [
                partial(_label, encoding=self.encoding, assignment=assignment)
                for assignment in assignments
            ],
            ks,
            self.starts,
            names=names,
        )

    def _distinct_rows(self) -> Rows:
        if self._rows is None:
            try:
                self._rows = self._find_rows()
            except TooManyRowsError as error:
                self._rows = error
        if isinstance(self._rows, TooManyRowsError):
            raise self._rows
        return self._rows

    def _find_rows(self) -> Rows:
        """Return the distinct rows, without the one that is in no clustering."""
        stage = f"rows-{self.encoding.noise}-{self.encoding.used}"
        known = {
            "frame": without_objects(self.categories),
            "sizes": self.sizes,
            "n_objects": self.starts[-1],
        }
        rows = _load(self._checkpoint, stage, partial(_rows_of, **known))
        if rows is None:
            rows = self.fold(
                distinct,
                partial(merge, categories=self.categories, budget=self._budget),
            )
            _affordable(rows, self._budget)
            if self._checkpoint:
                self._checkpoint.save(stage, vars(rows))
        there = (rows.columns != np.iinfo(rows.columns.dtype).max).any(axis=0)
        return Rows(rows.columns[:, there], rows.counts[there], rows.first[there])

    def _stream(self) -> Blocks:
        if self._blocks is None:
            msg = "the stream of these counts was not saved with them."
            raise TypeError(msg)
        return self._blocks

    def __len__(self) -> int:
        return self.n_objects

    def __getstate__(self) -> dict:
        """Return the counts without the stream, which may not exist elsewhere."""
        kept = {n: v for n, v in vars(self).items() if n != "_fragments"}
        return {**kept, "_blocks": None, "_checkpoint": None}

    def __repr__(self) -> str:
        return (
            f"Tally(n_objects={self.n_objects}, n_clusterings={self.n_clusterings}, "
            f"n_base_clusters={self.n_base_clusters})"
        )


def tally(
    blocks: Blocks,
    encoding: Encoding,
    *,
    checkpoint: Checkpoint | None = None,
    budget: int = 0,
) -> Tally:
    """Return the counts of a stream, in one pass: Nc^2 numbers and one block.

    Blocks whose counts are saved are not read. Counts of a subset of the clusterings
    are encoded by the values of all blocks, so they are repeated for more blocks.
    """
    is_known = bool(encoding.categories)
    stage = f"counts-{encoding.noise}" + (f"-{encoding.used}" if is_known else "")
    make = partial(_counts_of, blocks=blocks, known=encoding.categories)
    found = _load(checkpoint, stage, make, some=not is_known)
    if found is None or len(found.lengths) != blocks.n_blocks:
        known = found.lengths if found else ()
        rest = fold(blocks, partial(count_block, encoding=encoding), add, skip=known)
        found = either(add, found, rest)
        if found is None:
            msg = "the stream has no objects. Pass at least one block with a row."
            raise ValueError(msg)
        if checkpoint:
            checkpoint.save(stage, _arrays_of(found))
    if not is_known:
        found, encoding = fix_encoding(found, encoding)
    known = {i: (rows, found.marks.get(i)) for i, rows in found.lengths.items()}
    encoding = replace(encoding, known=known)
    return Tally(blocks, found, encoding, checkpoint=checkpoint, budget=budget)


def checkpoint_of(blocks: Blocks, folder: Any) -> Checkpoint:
    """Return the checkpoint of a stream of files, whose changes can be detected."""
    if (identity := blocks.identity) is None:
        msg = (
            f"checkpoint={str(folder)!r} needs files, whose changes can be detected. "
            "Pass Blocks(path) (with engine='dask' for Dask), not an array or a "
            "function."
        )
        raise ValueError(msg)
    return Checkpoint(
        Checkpoint.make_folder(folder),
        identity,
        "counts",
        "another input, or of this one before it changed",
    )


def _load(
    checkpoint: Checkpoint | None, stage: str, make: Callable, *, some: bool = False
) -> Any:
    """Return ``make(arrays, numbers of blocks)`` of what a stage saved.

    None if it saved nothing, or, unless ``some`` are enough, not for all blocks in
    order.
    """
    if checkpoint is None:
        return None
    arrays, numbers = checkpoint.load_some(stage)
    if arrays is None or not (some or checkpoint.are_all(numbers)):
        return None
    try:
        return make(arrays, numbers)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise checkpoint.damaged(stage) from error


def _counts_of(
    arrays: dict[str, np.ndarray],
    numbers: list[int],
    *,
    blocks: Blocks,
    known: Sequence[np.ndarray],
) -> BlockCounts:
    """Return saved counts of blocks, given the current numbers of the blocks.

    Raises if they cannot belong to the blocks.
    """
    n_columns = sum(name.startswith("values") for name in arrays)
    found = BlockCounts(
        _renumbered(arrays["lengths"], numbers),
        _renumbered(arrays["marks"], numbers) if "marks" in arrays else {},
        int(arrays["absent"]),
        tuple(arrays[f"values{m}"] for m in range(n_columns)),
        arrays["overlap"],
    )
    counted = {i: block.n_rows for i, block in enumerate(blocks) if i in numbers}
    lengths = {i: n_rows for i, n_rows in counted.items() if n_rows}
    n_objects = sum(lengths.values())
    n_named = len(blocks.names or ())
    offsets = np.cumsum([0, *map(len, found.values)])
    overlap, sizes = found.overlap, found.overlap.diagonal()
    if (
        arrays["lengths"].dtype != np.int64
        or found.lengths != lengths
        or not 0 <= found.n_absent <= n_objects
        or n_columns != (len(known) or n_named or n_columns)
        or not all(map(_are_values, found.values))
        or (known and not all(map(np.array_equal, found.values, known)))
        or overlap.dtype != np.int64
        or overlap.shape != (offsets[-1], offsets[-1])
        or (overlap < 0).any()
        or (overlap > n_objects).any()
        or (overlap != overlap.T).any()
        or any(
            (overlap[:, a:b].sum(axis=1) > sizes).any() for a, b in pairwise(offsets)
        )
    ):
        msg = "the counts contradict each other or the blocks."
        raise ValueError(msg)
    return found


def _are_values(values: np.ndarray) -> bool:
    """Whether these may be the sorted label values of a clustering: numbers or text."""
    if values.ndim != 1 or values.dtype.kind not in "iuU":
        return False
    # The cluster of noise is -1; other negative labels mean "not clustered".
    is_low = values.dtype.kind == "i" and len(values) and values[0] < -1
    return not is_low and bool((values[1:] > values[:-1]).all())


def _renumbered(pairs: np.ndarray, numbers: list[int]) -> dict[int, int]:
    """Return what was saved for blocks, in order, by their current numbers."""
    kept = [value for _, value in sorted(pairs.tolist())]
    return dict(zip(numbers, kept, strict=True))


def _rows_of(
    arrays: dict[str, np.ndarray],
    _numbers: list[int],
    *,
    frame: Ensemble,
    sizes: np.ndarray,
    n_objects: int,
) -> Rows:
    """Return saved rows, or raise if they cannot have been counted."""
    rows = Rows(**arrays)
    columns, counts, first = rows.columns, rows.counts, rows.first
    top = frame.cluster_counts[:, None]
    is_sound = (
        columns.dtype == frame.columns.dtype
        and columns.shape == (frame.n_clusterings, len(counts))
        and bool(((columns < top) | (columns == frame.missing)).all())
        and counts.dtype == first.dtype == np.int64
        and counts.shape == first.shape
        and bool((counts > 0).all() and (counts <= n_objects).all())
        and bool((first >= 0).all() and (first < n_objects).all())
        and int(counts.sum()) == n_objects
    )
    if is_sound:
        own = Ensemble.from_codes(columns, frame.categories).fragments()
        are_in_order = np.array_equal(own.inverse, np.arange(len(counts)))
        found = [
            np.bincount(column[column < k], counts[column < k], k)
            for column, k in zip(columns, frame.cluster_counts, strict=True)
        ]
        is_sound = are_in_order and np.array_equal(np.concatenate(found), sizes)
    if not is_sound:
        msg = "the rows contradict each other or the counts."
        raise ValueError(msg)
    return rows


def _arrays_of(found: BlockCounts) -> dict[str, Any]:
    return {
        "lengths": np.array(list(found.lengths.items()), np.int64).reshape(-1, 2),
        "marks": np.array(list(found.marks.items()), np.int64).reshape(-1, 2),
        "absent": np.array(found.n_absent),
        "overlap": found.overlap,
        **{f"values{m}": column for m, column in enumerate(found.values)},
    }


def in_memory(counts: Any) -> Ensemble:
    """Return an ensemble whose labels are in memory, or raise."""
    if not counts.in_memory:
        msg = (
            f"the labels of this stream of {counts.n_objects:,} objects are not in "
            "memory. Pass those of some objects, such as a sample, or fit to an array."
        )
        raise TypeError(msg)
    return counts


def _on_rows(columns, number: int, *, encoding, starts, work) -> Any:
    """Apply ``work`` to the label rows of a block."""
    rows, _ = encoding.encode(columns, number)
    return work(rows, starts[number])


def _label(columns, number: int, *, encoding, assignment: Assignment) -> np.ndarray:
    return assignment.label(encoding.encode(columns, number)[0])


def _chosen(rows: Ensemble, start: int, *, objects: np.ndarray) -> dict:
    own = objects[(objects >= start) & (objects < start + len(rows))] - start
    return {start: rows.columns[:, own]}


def _affordable(rows: Rows, budget: int) -> Rows:
    """Return rows that fit the budget, or raise, whatever their order."""
    needed = rows.__sizeof__()
    if needed > budget:
        msg = (
            f"more than {len(rows.counts):,} distinct label rows take over "
            f"{gibibytes(needed)}; the budget is {gibibytes(budget)}. Use ecpcs-mc or "
            "mcla, whose memory does not depend on them, use fewer or coarser base "
            "clusterings, or raise max_memory."
        )
        raise TooManyRowsError(msg)
    return rows
