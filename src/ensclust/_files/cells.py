"""Convert the cells of a table to labels.

Buffers grow in place, so that memory stays close to the size of the resulting table.
"""

import decimal
import math
import numbers
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ensclust._support.encoding import Coded, encode_column, first_places
from ensclust._support.label_texts import (
    COMMA,
    LARGEST,
    NOT_CLUSTERED,
    NUMBER,
    are_numbers,
    meaning,
)
from ensclust._support.validation import LABEL_RULE

COMMA_HINT = (
    "Write numbers with a decimal point and without thousands separators: 1.5, not 1,5."
)
ID_HINT = "If this column names the objects, pass it as id_column."
_ID_NAME = re.compile(
    r"(?i:(.*[\W_])?(ids?|names?|index|idx|key|barcode|uuid|object|sample|cell|row)s?|"
    r"unnamed: 0)|.*[a-z]I[dD]s?"
)
_NEARLY = 0.95  # share of distinct values in a column of ids


def named_like_ids(name: str) -> bool:
    """Whether a column is named like one that holds ids."""
    return _ID_NAME.fullmatch(name.strip()) is not None


def is_number_or_missing(cell: str) -> bool:
    """Whether a cell could be part of a column of numbers."""
    return cell in NOT_CLUSTERED or NUMBER.fullmatch(cell) is not None


class Labels:
    """Integer labels; each distinct cell of a column is interpreted once."""

    def __init__(self, path: Path, names: list[str]):
        self.path, self.names = path, names
        self.place = "line"
        self.empty: np.ndarray | None = None  # empty cells, set by values()
        self.texts: list[list[str] | None] = []  # names behind labels 0, 1, ...
        self.notes: list[str] = []
        self._columns = [Codes() for _ in names]

    def add_rows(self, lines: list[int], rows: list[list[str]]) -> None:
        """Take rows of text; ``lines`` are their line numbers."""
        for column, cells in zip(self._columns, zip(*rows, strict=True), strict=True):
            column.add(cells, lines)

    def is_text(self, m: int) -> bool:
        """Whether a column is read as text, dictionary-encoded."""
        return True

    def add_parsed(self, first_line: int, columns: Sequence[Any]) -> bool:
        """Take rows parsed by Arrow, one per line."""
        for known, column in zip(self._columns, columns, strict=True):
            lines = range(first_line, first_line + len(column))
            texts = column.dictionary.to_pylist()
            known.add_coded(texts, column.indices.to_numpy(), lines)
        return True

    def add_columns(self, first_row: int, columns: Sequence[Any]) -> None:
        """Take the next rows of a binary file, as one array per column."""
        self.place = "row"
        columns = [np.asarray(c) if isinstance(c, Coded) else c for c in columns]
        for m, (known, column) in enumerate(zip(self._columns, columns, strict=True)):
            if column.dtype.kind not in "biufUOT":
                msg = (
                    f"{self.path}, column {self.names[m]!r} has dtype {column.dtype}. "
                    f"{LABEL_RULE}"
                )
                raise TypeError(msg)
            rows = range(first_row + 1, first_row + 1 + len(column))
            if column.dtype.kind == "O":
                self._check_objects(m, column, rows)
            known.add_array(column, rows)

    def _check_objects(self, m: int, column: np.ndarray, rows: range) -> None:
        """Raise for lists, bytes and the like, whose repr would pass for a name."""
        plain = (str, numbers.Real, decimal.Decimal, np.bool_, type(None))
        wrong = {kind for kind in set(map(type, column)) if not issubclass(kind, plain)}
        for row, value in zip(rows, column if wrong else (), strict=False):
            if type(value) in wrong:
                msg = (
                    f"{self.path}, row {row}, column {self.names[m]!r}: {value!r} is "
                    f"not a label. {LABEL_RULE}"
                )
                raise ValueError(msg)

    def take_ids(self, *, known: bool) -> tuple[str, list] | None:
        """Remove and return the column of ids, if there is one, or raise.

        Its values are (nearly) all distinct, and it is the first column or named like
        one. Any other such column is rejected, as it is not a clustering either; so are
        all of them if the ids are already ``known``.
        """
        distinct = [
            m
            for m, (name, column) in enumerate(
                zip(self.names, self._columns, strict=True)
            )
            if len(self.names) > 1 and column.are_ids(name)
        ]
        named = [m for m in distinct if named_like_ids(self.names[m])]
        found = [] if known else [*named, *(m for m in distinct if m == 0)][:1]
        wrong = [m for m in distinct if m not in found]
        if wrong:
            raise self._no_clustering(wrong[0])
        if not found:
            return None
        name, column = self.names.pop(found[0]), self._columns.pop(found[0])
        return name, column.cells()

    def _no_clustering(self, m: int) -> ValueError:
        """Return the error for a column that gives each object its own label."""
        column, name = self._columns[m], self.names[m]
        return ValueError(
            f"{self.path}: column {name!r} has {len(column.known):,} values for "
            f"{len(column):,} objects, so it is not a clustering. If it names the "
            "objects, pass it as id_column; otherwise leave it out with exclude "
            "(--exclude), or name the others in columns (--columns)."
        )

    def values(self) -> np.ndarray:
        """Return the labels of the rows added, in the smallest signed type.

        Call it once. Sets ``empty``, (n_rows, n_columns) bool, if there are any empty
        cells, and ``texts``, for each column its names in order, or None for numbers.
        """
        tables = [self._labels_of(m) for m in range(len(self.names))]
        blanks = [
            np.array([text.strip() in NOT_CLUSTERED for text in column.known], bool)
            for column in self._columns
        ]
        dtype = np.min_scalar_type(-1 - max(0, *(int(table.max()) for table in tables)))
        labels = np.empty((len(tables), len(self._columns[0])), dtype)
        empty = np.zeros(labels.shape, bool) if any(b.any() for b in blanks) else None
        for m, table in enumerate(tables):
            codes = self._columns[m].pop()
            labels[m] = table.astype(dtype)[codes]
            if empty is not None:
                empty[m] = blanks[m][codes]
        self.empty = None if empty is None else empty.T
        return labels.T

    def _labels_of(self, m: int) -> np.ndarray:
        """Return the label of each distinct cell of column ``m``."""
        column = self._columns[m]
        texts = [text.strip() for text in column.known]
        label = meaning(texts)
        names = sorted({text for text in texts if label[text] != -1})
        self.texts.append(None if are_numbers(names) else names)
        for text, place in zip(texts, column.places, strict=True):
            if label[text] is None:
                where = f"{self.path}, {self.place} {place}, column {self.names[m]!r}"
                raise no_label(where, text)
        return np.array([label[text] for text in texts], np.int64)


def no_label(where: str, text: str) -> ValueError:
    """Return the error for a cell that is not a label."""
    why = f"is not a label. {LABEL_RULE}"
    if COMMA.fullmatch(text):
        why = f"is not a label. {COMMA_HINT}"
    elif float(text) > LARGEST and math.isfinite(float(text)):
        why = f"is above 2**63 - 1, the largest integer label. {ID_HINT}"
    return ValueError(f"{where}: {text!r} {why}")


class Codes:
    """A growing column: the distinct cells, and a small integer code per row."""

    def __init__(self) -> None:
        self.known: defaultdict[str, int] = defaultdict()  # cell -> code
        self.known.default_factory = self.known.__len__  # by first appearance
        self.places: list[int] = []  # where each occurred first
        self.holds_integers = False  # from a binary file, not text
        self._dtype: type[np.unsignedinteger] = np.uint8
        self._buffer = bytearray()

    def __len__(self) -> int:
        return len(self._buffer) // np.dtype(self._dtype).itemsize

    def add(self, cells: Iterable[str], places: Sequence[int]) -> None:
        """Take the text of some rows."""
        before = len(self.known)
        codes = np.fromiter(map(self.known.__getitem__, cells), np.uint32, len(places))
        if len(self.known) > before:
            values, first = np.unique(codes, return_index=True)
            self.places += [places[i] for i in first[values >= before]]
        self._append(codes)

    def add_array(self, column: np.ndarray, places: Sequence[int]) -> None:
        """Take the values of some rows; numbers are sorted, not looked up singly."""
        if column.dtype.kind in "biu":
            self.holds_integers = True
            codes, values = encode_column(column, 0, "own-cluster")
            codes = np.where(codes < 0, len(values), codes)  # masked cells
            self.add_coded([*map(str, values.tolist()), ""], codes, places)
        elif column.dtype.kind == "f":
            values, codes = np.unique(column, return_inverse=True)
            self.add_coded(list(map(str, values.tolist())), codes, places)
        else:
            self.add(map(_spelt, column.tolist()), places)

    def add_coded(
        self, texts: list[str], codes: np.ndarray, places: Sequence[int]
    ) -> None:
        """Take some rows as positions in a list of strings."""
        if not all(text in self.known for text in texts):
            # Strings that do not occur are not added.
            for i in np.sort(first_places(codes, len(texts))).tolist():
                if i < len(places) and texts[codes[i]] not in self.known:
                    self.known[texts[codes[i]]]  # by first appearance
                    self.places.append(places[i])
        known = [self.known.get(text, 0) for text in texts]
        self._append(np.array(known, np.uint32)[codes])

    def are_ids(self, name: str) -> bool:
        """Whether the cells of a column of this name are ids of objects.

        They are (nearly) all distinct, none is missing, and no number has a fraction.
        Unless the column is named like ids, most are text, or all are whole numbers, at
        least 10 of them, since fewer may be distinct by chance.
        """
        n, n_known = len(self), len(self.known)
        if n < 3 or n_known < (n if n < 20 else _NEARLY * n):
            return False
        texts = {text.strip() for text in self.known}
        if len(texts) < n_known or texts & NOT_CLUSTERED:
            return False
        others = [text for text in texts if not text.isdecimal()]
        if any(NUMBER.fullmatch(text) or COMMA.fullmatch(text) for text in others):
            return False
        is_likely = 2 * len(others) >= n_known if others else n >= 10
        return is_likely or named_like_ids(name)

    def cells(self) -> list:
        """Return the cells of all rows as in the file, and release them."""
        texts = [text.strip() for text in self.known]
        known = list(map(int, texts)) if self.holds_integers else texts
        return [known[code] for code in self.pop().tolist()]

    def pop(self) -> np.ndarray:
        """Return the codes of all rows, and release them."""
        codes, self._buffer = np.frombuffer(self._buffer, self._dtype), bytearray()
        return codes

    def _append(self, codes: np.ndarray) -> None:
        needed = np.min_scalar_type(len(self.known)).type
        if np.dtype(needed).itemsize > np.dtype(self._dtype).itemsize:
            wider = np.frombuffer(self._buffer, self._dtype).astype(needed)
            self._dtype, self._buffer = needed, bytearray(wider)
        self._buffer.extend(codes.astype(self._dtype))


def _spelt(value: Any) -> str:
    """Return a value as an equivalent string."""
    if isinstance(value, bool | np.bool_):
        return str(int(value))
    return "" if value is None else str(value)
