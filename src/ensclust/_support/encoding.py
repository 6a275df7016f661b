"""From what users call labels to 0..n-1: one column at a time."""

import math
import numbers
from collections.abc import Iterator
from typing import Any

import numpy as np

from ensclust._support.validation import (
    LABEL_RULE,
    bad_label,
    mixed_labels,
)

NOWHERE = np.iinfo(np.int64).max  # place of a label that nobody has
_ROWS = 2**13  # that are handled at a time: 64 kB of indices


def unmasked(labels: Any) -> np.ndarray:
    """Return labels as an array, None where they are masked."""
    if not isinstance(labels, np.ma.MaskedArray):
        return np.asarray(labels)
    table = labels.data.astype(object)
    table[np.ma.getmaskarray(labels)] = None
    return table


def as_sequence(vector: Any) -> Any:
    """Return what has a length, or raise where one label stands for a clustering."""
    is_text = isinstance(vector, str | bytes)
    if is_text or not hasattr(vector, "__iter__") or getattr(vector, "ndim", 1) == 0:
        msg = (
            f"clusterings holds {vector!r} where one label per object belongs. Give a "
            "list of label vectors, [labels, ...]."
        )
        raise ValueError(msg)
    return vector if hasattr(vector, "__array__") else list(vector)


def as_vector(vector: Any) -> np.ndarray:
    """Return one label vector as a 1-D array, without turning numbers into text."""
    array = unmasked(vector) if hasattr(vector, "__array__") else _objects(vector)
    if array.ndim != 1:
        msg = (
            f"a clustering has shape {array.shape}; expected one label per object. "
            "For an (N, M) table of labels use Ensemble(labels)."
        )
        raise ValueError(msg)
    return array


def _objects(values: list) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def comparable(values: np.ndarray, known: np.ndarray, m: int) -> tuple:
    """Return two sets of label values in types that compare exactly, or raise."""
    if not len(values) or not len(known) or values.dtype.kind == known.dtype.kind:
        return values, known
    if "U" in (values.dtype.kind, known.dtype.kind):
        raise mixed_labels(m, known.tolist()[0], values.tolist()[0])
    return values.astype(object), known.astype(object)  # above 2**63 there is no int64


def unite(one: np.ndarray, other: np.ndarray, m: int) -> np.ndarray:
    """Return the label values of clustering m that either has, sorted, or raise."""
    if not len(one) or not len(other):
        return one if len(one) else other
    one, other = comparable(other, one, m)[::-1]
    if np.array_equal(one, other):
        return one
    both = np.union1d(one, other)
    is_large = both.dtype.kind == "O" and both[0] >= 0  # above 2**63
    return both.astype(np.uint64) if is_large else both


def encode_column(
    column: np.ndarray, index: int, noise: str = "missing"
) -> tuple[np.ndarray, np.ndarray]:
    """Code one label column.

    Parameters
    ----------
    column : ndarray of shape (N,)
        The labels as given.
    index : int
        Number of the column, for messages.
    noise : "missing" or "own-cluster", default="missing"
        Whether negative labels are "not clustered", as NaN and None always are, or
        together one more cluster, whose value is -1.

    Returns
    -------
    codes : ndarray of shape (N,)
        Position of each label among the sorted label values, -1 if not clustered.
    values : ndarray
        The label values that occur, sorted.
    """
    codes, values = _encode(column, index)
    if noise == "missing" or not (is_noise := _is_negative(column)).any():
        return codes, values
    if values.dtype.kind == "U":
        raise mixed_labels(index, values[0].item(), -1)
    codes = np.where(codes < 0, codes, codes + 1)
    values = np.append(-1, values) if len(values) else np.array([-1])
    return np.where(is_noise, 0, codes), values


def noise_of(values: np.ndarray) -> str:
    """Return the ``noise`` under which a column with these values was coded."""
    return "own-cluster" if values.dtype.kind == "i" and -1 in values[:1] else "missing"


def _is_negative(column: np.ndarray) -> np.ndarray:
    if column.dtype.kind in "if":
        return column < 0
    if column.dtype.kind == "O":
        negative = (isinstance(v, numbers.Real) and v < 0 for v in column.tolist())
        return np.fromiter(negative, bool, count=len(column))
    return np.zeros(len(column), dtype=bool)


def _encode(column: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    kind = column.dtype.kind
    if kind in "biu":
        return _encode_integers(column.astype(np.uint8) if kind == "b" else column)
    if kind == "f":
        return _encode_integers(_whole(column, index))
    if kind in "US":
        return np.unique(column, return_inverse=True)[::-1]
    if kind in "OT":
        return _encode_objects(column, index)
    msg = f"labels[:, {index}] has dtype {column.dtype}. {LABEL_RULE}"
    raise TypeError(msg)


def _encode_integers(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    low, high = int(column.min()), int(column.max())
    if high < 0:
        return np.full(len(column), -1), np.zeros(0, np.int64)
    if high > max(1024, 2 * len(column)):  # a table of all values would be too long
        values, codes = np.unique(column, return_inverse=True)
        n_negative = int(np.searchsorted(values, 0))
        values = values.astype(np.int64) if high < 2**63 else values
        return np.maximum(codes - n_negative, -1), values[n_negative:]
    # One slot more: negative labels are clipped to -1 and find -1 there.
    present = np.zeros(high + 2, dtype=bool)
    clipped = column if low >= 0 else np.maximum(column, -1)
    for piece in pieces(clipped):
        present[piece] = True
    values = np.flatnonzero(present[:-1])
    if low >= 0 and len(values) == high + 1:
        return column, values  # they are codes already
    # The narrowest type that has room for -1, and for one more as noise may add it.
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
    """Return where each of the labels 0, 1, ... stands first, ``NOWHERE`` if nowhere.

    One pass, which ends when all are found; only around a new label others are sorted.
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
    """Return the number of each label by first appearance, and how many appear.

    ``first`` is where each stands first; a label that stands nowhere becomes -1.
    """
    n = int((first < NOWHERE).sum())
    rank = np.full(len(first), -1, np.int32)
    rank[np.argsort(first, kind="stable")[:n]] = np.arange(n, dtype=np.int32)
    return rank, n


def _whole(column: np.ndarray, index: int) -> np.ndarray:
    """Return float labels as int64, -1 for NaN and negative numbers."""
    keep = column >= 0  # False for NaN
    wrong = (column == np.inf) | (column == -np.inf) | (column >= 2.0**63)
    wrong |= keep & (column != np.floor(column))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise bad_label(row, index, column[row].item())
    return np.where(keep, column, -1).astype(np.int64)


def _encode_objects(column: np.ndarray, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Code a column of Python objects: each distinct one is looked at once."""
    lookup: dict[Any, int] = {}
    try:
        first_seen = np.fromiter(
            (lookup.setdefault(value, len(lookup)) for value in column.tolist()),
            np.int64,
            count=len(column),
        )
    except TypeError as error:
        row = next(i for i, value in enumerate(column) if not _is_hashable(value))
        raise bad_label(row, index, column[row]) from error
    given = list(lookup)
    kept = [position for position, value in enumerate(given) if not _is_missing(value)]
    is_text = bool(kept) and isinstance(given[kept[0]], str)
    for position in kept:
        value = given[position]
        if not _is_label(value):
            raise bad_label(int(np.argmax(first_seen == position)), index, value)
        if isinstance(value, str) != is_text:
            raise mixed_labels(index, given[kept[0]], value)
    kept.sort(key=lambda position: given[position])
    position_to_code = np.full(len(given), -1, np.int64)
    position_to_code[kept] = np.arange(len(kept))
    values = [given[place] if is_text else int(given[place]) for place in kept]
    return position_to_code[first_seen], np.array(values)


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_missing(value: Any) -> bool:
    is_none = value is None or type(value).__name__ in ("NAType", "NaTType")
    number = float(value) if isinstance(value, numbers.Real) else 0.0
    return is_none or math.isnan(number) or -math.inf < number < 0


def _is_label(value: Any) -> bool:
    return isinstance(value, str | numbers.Integral | np.bool_) or (
        isinstance(value, numbers.Real) and float(value).is_integer()
    )
