"""Encode labels of any kind as 0..n-1, one column at a time."""

import decimal
import math
import numbers
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ensclust._support.label_texts import (
    NOT_CLUSTERED,
    NUMBER,
    are_numbers,
    meaning,
    text_number,
    whole,
)
from ensclust._support.validation import (
    LABEL_RULE,
    bad_label,
    mixed_labels,
)

NOWHERE = np.iinfo(np.int64).max  # place of a label that does not occur
_ROWS = 2**13  # handled at a time: 64 kB of indices


class Coded:
    """A column stored as codes and distinct values, like a categorical.

    Parameters
    ----------
    codes : ndarray of shape (N,)
        Position of each cell among the values; -1 for a missing cell.
    values : sequence
        The values; some may not occur.
    """

    ndim = 1

    def __init__(self, codes: np.ndarray, values: Sequence):
        self.codes, self.values = codes, values

    def __len__(self) -> int:
        return len(self.codes)

    def tolist(self) -> list:
        """Return the cells, None for missing ones."""
        return np.asarray(self).tolist()

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        known = np.empty(len(self.values) + 1, object)  # the last is None
        known[:-1] = list(self.values)
        return known[self.codes].astype(dtype or object)


def as_sequence(vector: Any) -> Any:
    """Return a sized label vector, or raise if a single label was passed."""
    is_text = isinstance(vector, str | bytes)
    if is_text or not hasattr(vector, "__iter__") or getattr(vector, "ndim", 1) == 0:
        msg = (
            f"clusterings holds {vector!r}; expected one label per object. Pass a "
            "list of label vectors, [labels, ...]."
        )
        raise ValueError(msg)
    return vector if hasattr(vector, "__array__") else list(vector)


def comparable(values: np.ndarray, known: np.ndarray, m: int) -> tuple:
    """Return two sets of label values in types that compare exactly, or raise.

    Strings are read as numbers if the known values are numbers.
    """
    kinds = values.dtype.kind, known.dtype.kind
    if not len(values) or not len(known) or kinds[0] == kinds[1]:
        return values, known
    if "U" in kinds:
        texts = values.tolist() if kinds[0] == "U" else [""]
        read = [text_number(text) for text in texts if NUMBER.fullmatch(text)]
        if len(read) < len(texts) or None in read:
            raise mixed_labels(m, known.tolist()[0], values.tolist()[0])
        values = np.array(read)
    return values.astype(object), known.astype(object)  # int64 ends at 2**63


def unite(one: np.ndarray, other: np.ndarray, m: int) -> np.ndarray:
    """Return the sorted union of two sets of label values, or raise."""
    if not len(one) or not len(other):
        return one if len(one) else other
    if (one.dtype.kind == "U") != (other.dtype.kind == "U"):
        raise mixed_labels(m, one.tolist()[0], other.tolist()[0])
    if one.dtype.kind == other.dtype.kind:
        return one if np.array_equal(one, other) else np.union1d(one, other)
    return integers(sorted({*one.tolist(), *other.tolist()}))  # int64 with uint64


def encode_column(
    column: Any, index: int, noise: str = "missing", *, as_names: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Encode one label column.

    Parameters
    ----------
    column : ndarray, masked array or Coded of shape (N,)
        The labels as given.
    index : int
        Number of the column, for messages.
    noise : "missing" or "own-cluster", default="missing"
        Whether negative labels mean "not clustered", as NaN and None always do, or
        form one extra cluster, whose value is -1.
    as_names : bool, default=False
        Whether strings stay names even if all of them are whole numbers, as in a block
        of rows when other blocks may hold names.

    Returns
    -------
    codes : ndarray of shape (N,)
        Position of each label among the sorted label values, -1 if not clustered.
    values : ndarray
        The label values that occur, sorted.
    """
    if isinstance(column, Coded):
        return _encode_distinct(
            column.values, column.codes, index, noise, as_names=as_names
        )
    if isinstance(column, np.ma.MaskedArray):
        return _encode_masked(column, index, noise, as_names=as_names)
    kind = column.dtype.kind
    if kind in "SU":
        texts, codes = np.unique(column, return_inverse=True)
        given = texts.tolist() if kind == "U" else [_decoded(t) for t in texts.tolist()]
        return _encode_distinct(given, codes, index, noise, as_names=as_names)
    if kind in "OT":
        return _encode_objects(column, index, noise, as_names=as_names)
    if kind not in "biuf":
        msg = f"labels[:, {index}] has dtype {column.dtype}. {LABEL_RULE}"
        raise TypeError(msg)
    if kind == "f":
        is_noise = column < 0
        codes, values = _encode_integers(_whole(column, index))
    else:
        column = column.astype(np.uint8) if kind == "b" else column
        is_noise = column < 0
        codes, values = _encode_integers(column)
    if noise == "missing" or not is_noise.any():
        return codes, values
    codes = np.where(codes < 0, codes, codes + 1)
    return np.where(is_noise, 0, codes), integers([-1, *values.tolist()])


def noise_of(values: np.ndarray) -> str:
    """Return the ``noise`` with which a column of these values was encoded."""
    own = "-1" if values.dtype.kind == "U" else -1
    return "own-cluster" if len(values) and (values == own).any() else "missing"


def integers(values: list[int]) -> np.ndarray:
    """Return sorted integers as an array of a type that holds them exactly."""
    if not values or values[-1] < 2**63:
        return np.array(values, np.int64)
    return np.array(values, np.uint64 if values[0] >= 0 else object)


def _encode_masked(
    column: np.ma.MaskedArray, index: int, noise: str, *, as_names: bool
) -> tuple[np.ndarray, np.ndarray]:
    missing = np.ma.getmaskarray(column)
    if missing.all():
        return np.full(len(column), -1), np.zeros(0, np.int64)
    filled = column.data.copy()
    filled[missing] = _BLANK.get(filled.dtype.kind, filled[np.argmin(missing)])
    codes, values = encode_column(filled, index, noise, as_names=as_names)
    return np.where(missing, -1, codes.astype(np.int64, copy=False)), values


def _encode_objects(
    column: np.ndarray, index: int, noise: str, *, as_names: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Encode a column of Python objects, reading each distinct one once."""
    lookup: dict[Any, int] = {}
    try:
        codes = np.fromiter(
            (lookup.setdefault(value, len(lookup)) for value in column.tolist()),
            np.int64,
            count=len(column),
        )
    except TypeError as error:
        row = next(i for i, value in enumerate(column) if not _is_hashable(value))
        raise bad_label(row, index, column[row]) from error
    return _encode_distinct(list(lookup), codes, index, noise, as_names=as_names)


def _check_kinds(found: list, texts: list[str], index: int, noise: str) -> None:
    """Raise if a column mixes strings and numbers that would be clusters."""
    least = -1 if noise == "own-cluster" else 0
    numbered = [n for n in found if isinstance(n, int) and n >= least]
    named = [text for text in texts if text != "-1" or noise == "own-cluster"]
    if numbered and named:
        kinds = [named[0], numbered[0]]
        kinds.sort(key=found.index)
        raise mixed_labels(index, *kinds)


def _encode_distinct(
    given: Sequence, codes: np.ndarray, index: int, noise: str, *, as_names: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Encode a column given by its distinct values, some of which may not occur."""
    there = np.zeros(len(given) + 1, bool)
    there[codes] = True  # -1 is the last
    found: list[Any] = [None] * len(given)
    for i in np.flatnonzero(there[:-1]).tolist():
        found[i] = _read(given[i])
        if found[i] is _NO_LABEL:
            raise bad_label(int(np.argmax(codes == i)), index, given[i])
    texts = [label for label in found if isinstance(label, str)]
    _check_kinds(found, texts, index, noise)
    if texts and not as_names:
        known = meaning(texts)
        wrong = next((text for text in texts if known[text] is None), None)
        if wrong is not None:
            row = int(np.argmax(codes == found.index(wrong)))
            raise bad_label(row, index, wrong)
        if are_numbers(texts):
            found = [known.get(label, label) for label in found]
    left_out = () if noise == "own-cluster" else (-1, "-1")
    values = sorted({v for v in found if v is not None and v not in left_out})
    place = {value: i for i, value in enumerate(values)}
    table = np.array([*(place.get(label, -1) for label in found), -1], np.int64)
    is_text = bool(values) and isinstance(values[0], str)
    return table[codes], np.array(values) if is_text else integers(values)


def _encode_integers(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = int(column.min()), int(column.max())
    if high < 0:
        return np.full(len(column), -1), np.zeros(0, np.int64)
    if high > max(1024, 2 * len(column)):  # a lookup table would be too long
        values, codes = np.unique(column, return_inverse=True)
        n_negative = int(np.searchsorted(values, 0))
        values = values.astype(np.int64) if high < 2**63 else values
        return np.maximum(codes - n_negative, -1), values[n_negative:]
    # One extra slot: negative labels are clipped to -1 and find -1 there.
    present = np.zeros(high + 2, dtype=bool)
    clipped = column if low >= 0 else np.maximum(column, -1)
    for piece in pieces(clipped):
        present[piece] = True
    values = np.flatnonzero(present[:-1])
    if low >= 0 and len(values) == high + 1:
        return column, values  # already encoded
    # The narrowest type with room for -1 and for a cluster of noise.
    position = np.full(high + 2, -1, np.min_scalar_type(-len(values) - 1))
    position[values] = np.arange(len(values))
    return look_up(position, clipped, np.empty(len(column), position.dtype)), values


def pieces(column: np.ndarray) -> Iterator[np.ndarray]:
    """Yield a column in parts whose temporary copies stay in cache."""
    for first in range(0, len(column), _ROWS):
        yield column[first : first + _ROWS]


def look_up(table: np.ndarray, places: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write ``table[places]`` into ``out`` and return it."""
    for part, own in zip(pieces(places), pieces(out), strict=True):
        own[:] = table[part]
    return out


def first_places(labels: np.ndarray, n_labels: int) -> np.ndarray:
    """Return where each label 0, 1, ... occurs first, ``NOWHERE`` if it does not.

    A single pass that stops once all are found; only pieces with a new label are
    sorted.
    """
    first = np.full(n_labels, NOWHERE)
    seen = np.append(np.zeros(n_labels, bool), True)
    start = 0
    for piece in pieces(labels):
        if not seen[piece].all():
            values, place = np.unique(piece, return_index=True)
            new = ~seen[values]
            first[values[new]] = start + place[new]
            seen[values] = True
            if seen.all():
                break
        start += len(piece)
    return first


def ranks(first: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the rank of each label by first appearance, and how many appear.

    ``first`` is where each label occurs first; a label that does not occur becomes -1.
    """
    n = int((first < NOWHERE).sum())
    rank = np.full(len(first), -1, np.int32)
    rank[np.argsort(first, kind="stable")[:n]] = np.arange(n, dtype=np.int32)
    return rank, n


def _whole(column: np.ndarray, index: int) -> np.ndarray:
    """Return float labels as int64, -1 for NaN and negative numbers."""
    column = column.astype(np.float64) if column.dtype.itemsize < 8 else column
    keep = column >= 0  # False for NaN
    wrong = (column == np.inf) | (column == -np.inf) | (column >= 2.0**63)
    wrong |= keep & (column != np.floor(column))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise bad_label(row, index, column[row].item())
    return np.where(keep, column, -1).astype(np.int64)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


_NO_LABEL = object()
_BLANK = {"f": np.nan, "O": None, "U": ""}  # not a label; other types have none


def _read(value: Any) -> Any:
    """Return an int or a str; -1 if negative, None if missing, or _NO_LABEL.

    A string means what it means in a file: "NA" is missing, and "-3", "-1.0" and all
    other negative numbers become "-1".
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, str):
        text = value.strip()
        if text in NOT_CLUSTERED:
            return None
        is_number = NUMBER.fullmatch(text)
        return "-1" if is_number and text_number(text) == -1 else text
    if not isinstance(value, numbers.Real | decimal.Decimal):
        return _NO_LABEL
    if value != value:  # noqa: PLR0124  NaN
        return None
    label = None if value in (math.inf, -math.inf) else whole(value)
    return _NO_LABEL if label is None else label


def _decoded(text: bytes) -> Any:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text  # rejected as a label
