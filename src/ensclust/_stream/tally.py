"""An ensemble that is known by its counts: what passes over blocks of rows add up to.

Everything that is summed is an integer, so neither the size of blocks nor the order in
which they come can change a bit of what follows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ensclust._ensemble.ensemble import Ensemble, Fragments
from ensclust._files.cells import meaning, no_label, present_texts
from ensclust._support.validation import mixed_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

_NUMBER = 40  # bits of an object's place that hold its row in the block


@dataclass(frozen=True)
class Encoding:
    """How the label values of a stream become cluster numbers.

    Attributes
    ----------
    noise : str
        What negative labels mean, as in :class:`Ensemble`.
    holds_cells : bool
        Whether texts are cells of a file.
    are_numbers : tuple of bool
        The columns of texts that turned out to hold whole numbers only.
    categories : tuple of ndarray
        The label values of each clustering, sorted; empty until all are known.
    used : tuple of int or None
        The columns to use; None is all.
    """

    noise: str = "missing"
    holds_cells: bool = False
    are_numbers: tuple[bool, ...] = ()
    categories: tuple[np.ndarray, ...] = ()
    used: tuple[int, ...] | None = None

    def first(self, columns: Sequence[np.ndarray]) -> Ensemble:
        """Return the rows of one block, coded by their own values."""
        return Ensemble.from_clusterings(self._cleaned(columns), noise=self.noise)

    def encode(self, columns: Sequence[np.ndarray]) -> Ensemble:
        """Return the rows of one block, coded by the values of all blocks."""
        known = Ensemble.__new__(Ensemble)
        largest = max(map(len, self.categories), default=0)
        dtype = np.min_scalar_type(largest)  # its top value is the sentinel
        known._adopt(np.empty((len(self.categories), 0), dtype), self.categories)
        return known.recode_columns(self._cleaned(columns))

    def _cleaned(self, columns: Sequence[np.ndarray]) -> list[np.ndarray]:
        used = range(len(columns)) if self.used is None else self.used
        chosen = [columns[m] for m in used]
        if not self.holds_cells:
            return chosen
        numbers = self.are_numbers or (False,) * len(chosen)
        pairs = zip(chosen, numbers, strict=True)
        return [_cells(column, is_number=is_number) for column, is_number in pairs]

    def select(self, clusterings: np.ndarray) -> Encoding:
        """Return the encoding of some clusterings (a mask)."""
        chosen = np.flatnonzero(clusterings)
        used = range(len(self.categories)) if self.used is None else self.used
        return replace(
            self,
            are_numbers=tuple(self.are_numbers[m] for m in chosen),
            categories=tuple(self.categories[m] for m in chosen),
            used=tuple(used[m] for m in chosen),
        )


def _cells(column: np.ndarray, *, is_number: bool) -> np.ndarray:
    if column.dtype.kind not in "OUT":
        return column
    texts = present_texts(column)
    if not is_number:
        return texts
    known, codes = np.unique([text or "" for text in texts], return_inverse=True)
    label = meaning(known.tolist())
    return np.array([label[text] for text in known.tolist()], np.int64)[codes]


@dataclass(frozen=True)
class Counts:
    """What is known of some blocks of rows.

    Attributes
    ----------
    lengths : dict of int to int
        Rows of each block, by its number.
    n_absent : int
        Rows that no clustering contains.
    values : tuple of ndarray
        Label values of each clustering, sorted.
    overlap : ndarray of shape (Nc, Nc)
        Rows that each pair of base clusters shares.
    """

    lengths: dict[int, int]
    n_absent: int
    values: tuple[np.ndarray, ...]
    overlap: np.ndarray

    def __sizeof__(self) -> int:
        """Return bytes; Dask plans memory and transfers by it."""
        return self.overlap.nbytes + sum(column.nbytes for column in self.values)


def count(
    columns: Sequence[np.ndarray],
    number: int,
    *,
    encoding: Encoding,
    n_jobs: int | None = 1,
) -> Counts:
    """Count one block; time N M^2 / 2 and memory Nc^2 numbers."""
    if encoding.categories:
        ensemble = encoding.encode(columns)
    else:
        ensemble = encoding.first(columns)
    return Counts(
        {number: ensemble.n_objects},
        int(ensemble.absent().sum()),
        ensemble.categories,
        ensemble.intersections(n_jobs=n_jobs),
    )


def add(one: Counts, other: Counts) -> Counts:
    """Return the counts of both; label values that only one has are made room for."""
    check_widths(one.lengths, len(one.values), other.lengths, len(other.values))
    pairs = list(enumerate(zip(one.values, other.values, strict=True)))
    try:
        values = tuple(_union(m, left, right) for m, (left, right) in pairs)
    except TypeError as error:
        msg = f"block {min(other.lengths) + 1}: {error}"
        raise TypeError(msg) from error
    if all(len(v) == len(left) == len(right) for v, (_, (left, right)) in
           zip(values, pairs, strict=True)):  # fmt: skip
        overlap = one.overlap + other.overlap
    else:
        offsets = np.cumsum([0, *map(len, values)])
        overlap = np.zeros((offsets[-1], offsets[-1]), np.int64)
        for part in (one, other):
            places = [
                offset + np.searchsorted(whole, own)
                for offset, whole, own in zip(
                    offsets, values, part.values, strict=False
                )
            ]
            at = np.concatenate(places).astype(np.int64)
            overlap[np.ix_(at, at)] += part.overlap
    lengths = {**one.lengths, **other.lengths}
    return Counts(lengths, one.n_absent + other.n_absent, values, overlap)


def check_widths(one: dict, n_columns: int, other: dict, n_others: int) -> None:
    """Raise where some blocks, keys of their lengths, have more columns than others."""
    if n_columns != n_others:
        msg = (
            f"block {min(other) + 1} has {n_others} columns, block {min(one) + 1} has "
            f"{n_columns}. Give the same columns in every block."
        )
        raise ValueError(msg)


def _union(m: int, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    if not len(one) or not len(other):
        return one if len(one) else other
    if (one.dtype.kind == "U") != (other.dtype.kind == "U"):
        raise mixed_labels(m, one[0].item(), other[0].item())
    return one if np.array_equal(one, other) else np.union1d(one, other)


def _globally(places: Sequence[np.ndarray], offsets: np.ndarray) -> np.ndarray:
    """Return places within clusterings as places among all base clusters."""
    parts = zip(offsets[:-1], places, strict=True)
    return np.concatenate([first + place for first, place in parts]).astype(np.int64)


def settle_numbers(counts: Counts, encoding: Encoding) -> tuple[Counts, Encoding]:
    """Decide which columns of texts hold numbers, and know the encoding of all rows."""
    values, places, numbers = [], [], []
    for m, texts in enumerate(counts.values):
        own, place = texts, np.arange(len(texts))
        is_text = encoding.holds_cells and texts.dtype.kind == "U"
        if is_text:
            label = meaning(texts.tolist())
            for text in texts.tolist():
                if label[text] is None:
                    where = f"column {m + 1}"
                    raise no_label(where, text)
            labels = np.array([label[text] for text in texts.tolist()], np.int64)
            is_text = not np.array_equal(labels, place)  # names are 0, 1, ... in order
            if is_text:
                own, place = np.unique(labels, return_inverse=True)
        numbers.append(is_text)
        values.append(own)
        places.append(place)
    offsets = np.cumsum([0, *map(len, values)])
    at = _globally(places, offsets)
    overlap = np.zeros((offsets[-1], offsets[-1]), np.int64)
    np.add.at(overlap, np.ix_(at, at), counts.overlap)
    known = replace(encoding, are_numbers=tuple(numbers), categories=tuple(values))
    return replace(counts, values=tuple(values), overlap=overlap), known


@dataclass(frozen=True)
class Rows:
    """The distinct label rows of some blocks, in lexicographic order.

    Attributes
    ----------
    columns : ndarray of shape (M, F)
        Their codes.
    counts, first : ndarray of shape (F,)
        How many objects have each, and the place of the first of them.
    """

    columns: np.ndarray
    counts: np.ndarray
    first: np.ndarray

    def __sizeof__(self) -> int:
        """Return bytes; Dask plans memory and transfers by it."""
        return self.columns.nbytes + self.counts.nbytes + self.first.nbytes


def distinct(columns: Sequence[np.ndarray], number: int, *, encoding: Encoding) -> Rows:
    """Return the distinct rows of one block; time a few sorts."""
    ensemble = encoding.encode(columns)
    fragments = ensemble.fragments()
    row = np.full(len(fragments.counts), ensemble.n_objects)
    np.minimum.at(row, fragments.inverse, np.arange(ensemble.n_objects))
    return Rows(ensemble.columns[:, row], fragments.counts, place(number, row))


def merge(one: Rows, other: Rows, *, encoding: Encoding) -> Rows:
    """Return the distinct rows of both."""
    columns = np.concatenate([one.columns, other.columns], axis=1)
    both = Ensemble.__new__(Ensemble)
    both._adopt(columns, encoding.categories)
    inverse = both.fragments().inverse
    n = int(inverse.max()) + 1
    counts, first = np.zeros(n, np.int64), np.full(n, np.iinfo(np.int64).max)
    np.add.at(counts, inverse, np.concatenate([one.counts, other.counts]))
    np.minimum.at(first, inverse, np.concatenate([one.first, other.first]))
    row = np.empty(n, np.int64)
    row[inverse] = np.arange(len(inverse))
    return Rows(columns[:, row], counts, first)


def place(number: int, row: np.ndarray) -> np.ndarray:
    """Return places that are in the order of the objects, int64."""
    return (number << _NUMBER) + row.astype(np.int64)


class Tally(Ensemble):
    """Counts of an ensemble, and perhaps its distinct rows, in place of its labels.

    Everything that a method asks of an ensemble at the level of base clusters, and of
    its fragments, is answered as by the ensemble itself; what is per object is not.
    """

    def __init__(self, counts: Counts, encoding: Encoding, rows: Rows | None = None):
        dtype = np.min_scalar_type(max(map(len, counts.values)))  # top: the sentinel
        columns = np.empty((len(counts.values), 0), dtype)
        self._adopt(columns if rows is None else rows.columns, counts.values)
        self.lengths = counts.lengths
        self.n_absent = counts.n_absent
        self.encoding = encoding
        self.rows = rows
        self._overlap = counts.overlap

    @property
    def n_objects(self) -> int:
        """The objects that some clustering contains."""
        return sum(self.lengths.values()) - self.n_absent

    @property
    def sizes(self) -> np.ndarray:
        """Objects per base cluster, shape (Nc,)."""
        return np.diagonal(self._overlap)

    def intersections(self, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the counts of each pair of base clusters."""
        return self._overlap.copy()

    @cached_property
    def _fragments(self) -> Fragments:
        """The distinct rows; each is its own object."""
        rows = self.rows or in_memory(self).rows  # type: ignore[attr-defined]
        labels = np.ascontiguousarray(self.labels)
        return Fragments(labels, np.arange(len(labels)), rows.counts)

    def with_rows(self, rows: Rows) -> Tally:
        """Return the tally with the distinct rows, but for one in no clustering."""
        counts = Counts(self.lengths, self.n_absent, self.categories, self._overlap)
        there = (rows.columns != np.iinfo(rows.columns.dtype).max).any(axis=0)
        kept = Rows(rows.columns[:, there], rows.counts[there], rows.first[there])
        return Tally(counts, self.encoding, kept)

    def starts(self) -> list[int]:
        """Return the first row of each block, and the number of all rows."""
        lengths = [self.lengths.get(i, 0) for i in range(max(self.lengths) + 1)]
        return [0, *np.cumsum(lengths).tolist()]


def in_memory(ensemble: Ensemble) -> Ensemble:
    """Return an ensemble whose labels are in memory, or raise."""
    if isinstance(ensemble, Tally):
        msg = (
            f"the labels of this stream of {ensemble.n_objects:,} objects are not in "
            "memory. Pass those of some objects, such as a sample, or fit to an array."
        )
        raise TypeError(msg)
    return ensemble
