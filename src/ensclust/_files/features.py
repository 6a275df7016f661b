"""Convert the cells of a table to features, recording those that are not finite."""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ensclust._files.cells import COMMA_HINT, ID_HINT, Codes
from ensclust._support.containers import as_features
from ensclust._support.encoding import first_places
from ensclust._support.label_texts import COMMA, NOT_CLUSTERED, NUMBER

MISSING = NOT_CLUSTERED | {"NAN", "?"}  # as in C and UCI files


@dataclass
class Odd:
    """The cells of a column that are not finite numbers."""

    n_missing: int = 0
    n_infinite: int = 0
    n_texts: int = 0
    first: tuple[int, int] | None = None  # kind (text, infinite, missing) and place
    value: Any = None  # of the first text, else of the first infinite or missing cell

    @property
    def place(self) -> int | None:
        """Where the first such cell is."""
        return self.first and self.first[1]

    def add(self, value: Any, count: int, place: int) -> None:
        """Count cells of one value, the first of which is at ``place``."""
        if value is None or value != value or str(value).strip() in MISSING:  # noqa: PLR0124
            kind, self.n_missing = 2, self.n_missing + count
        elif isinstance(value, numbers.Real) or NUMBER.fullmatch(str(value).strip()):
            kind, self.n_infinite = 1, self.n_infinite + count
        else:
            kind, self.n_texts = 0, self.n_texts + count
        if self.first is None or (kind, place) < self.first:
            self.first, self.value = (kind, place), value


class Features:
    """Numbers, row by row; NaN for cells that are not finite numbers.

    Attributes
    ----------
    odd : list of Odd
        For each column, its cells that are not finite numbers.
    texts : dict of int to Codes
        All cells of each column that contains text; missing ones are empty.
    """

    def __init__(self, path: Path, names: list[str]):
        self.path, self.names = path, names
        self.dtype: np.dtype = np.dtype(np.float64)
        self.place = "line"
        self.notes: list[str] = []
        self.odd = [Odd() for _ in names]
        self.texts: dict[int, Codes] = {}
        self._buffer = bytearray()

    def add_rows(self, lines: list[int], rows: list[list[str]]) -> None:
        """Take rows of text; ``lines`` are their line numbers."""
        cells = list(chain.from_iterable(rows))
        values = None if self.texts else _finite(cells)
        if values is None:
            columns = [
                self._add_cells(m, lines, column)
                for m, column in enumerate(zip(*rows, strict=True))
            ]
            values = np.stack(columns, axis=1)
        self._buffer.extend(np.ascontiguousarray(values))

    def is_text(self, m: int) -> bool:
        """Whether a column has contained text so far."""
        return m in self.texts

    def add_parsed(self, first_line: int, columns: Sequence[Any]) -> bool:
        """Take rows parsed by Arrow, one per line; False if not possible."""
        columns = list(columns)
        arrays = {
            m: column.to_numpy(zero_copy_only=False)
            for m, column in enumerate(columns)
            if m not in self.texts
        }
        missing = {m: ~np.isfinite(array) for m, array in arrays.items()}
        counts = {m: int(wrong.sum()) for m, wrong in missing.items()}
        for m, count in counts.items():
            is_new = count and self.odd[m].place is None  # Arrow drops the word
            if is_new or columns[m].null_count != count:  # some are infinite
                return False
        for m, count in counts.items():
            self.odd[m].n_missing += count
        for m in self.texts:
            words, codes = columns[m].dictionary.to_pylist(), columns[m].indices
            arrays[m] = self._add_coded(m, first_line, words, codes.to_numpy())
        self._buffer.extend(np.stack([arrays[m] for m in range(len(columns))], axis=1))
        return True

    def add_columns(self, first_row: int, columns: Sequence[Any]) -> None:
        """Take the next rows of a binary file, as one array per column."""
        self.place = "row"
        columns = list(map(as_features, columns))
        if not self._buffer and all(c.dtype == np.float32 for c in columns):
            self.dtype = np.dtype(np.float32)
        arrays = [
            self._add_numbers(m, first_row + 1, column)
            if column.dtype.kind in "biuf" and m not in self.texts
            else self._add_values(m, first_row + 1, _listed(column))
            for m, column in enumerate(columns)
        ]
        block = np.stack(arrays, axis=1, dtype=self.dtype, casting="unsafe")
        self._buffer.extend(np.ascontiguousarray(block))

    def values(self) -> np.ndarray:
        """Return the rows added so far."""
        return np.frombuffer(self._buffer, self.dtype).reshape(-1, len(self.names))

    def _add_cells(self, m: int, lines: list[int], cells: tuple[str, ...]) -> Any:
        values = None if m in self.texts else _finite(cells)
        if values is not None:
            return values
        known: dict[str, int] = {}
        codes = [known.setdefault(cell.strip(), len(known)) for cell in cells]
        return self._add_coded(m, lines, list(known), np.array(codes))

    def _add_values(self, m: int, first_row: int, values: list) -> np.ndarray:
        """Take a column of any kind; text in the file stays text."""
        known: dict[Any, int] = {}
        shown: list[Any] = []
        codes = []
        for value in values:
            key = (type(value), str(value))
            if key not in known:
                known[key] = len(known)
                # Lists of a nested column are text: an array is neither true nor false.
                shown.append(str(value) if isinstance(value, np.ndarray) else value)
            codes.append(known[key])
        return self._add_coded(m, first_row, shown, np.array(codes), typed=True)

    def _add_numbers(self, m: int, first_row: int, column: np.ndarray) -> np.ndarray:
        wrong = ~np.isfinite(column)
        for value in np.unique(column[wrong]).tolist() if wrong.any() else ():
            is_it = np.isnan(column) if math.isnan(value) else column == value
            place = first_row + int(np.argmax(is_it))
            self.odd[m].add(value, int(is_it.sum()), place)
        return column

    def _add_coded(
        self,
        m: int,
        lines: list[int] | int,
        known: list,
        codes: np.ndarray,
        *,
        typed=False,
    ) -> np.ndarray:
        """Take a column by its distinct values, at ``lines`` or starting there."""
        found = np.array([_number(value, typed=typed) for value in known], np.float64)
        places = range(lines, lines + len(codes)) if isinstance(lines, int) else lines
        counts = np.bincount(codes, minlength=len(known))
        first = first_places(codes, len(known))
        for i in np.flatnonzero(np.isnan(found) & (counts > 0)).tolist():
            self.odd[m].add(known[i], int(counts[i]), places[first[i]])
        if self.odd[m].n_texts:
            if m not in self.texts:
                self.texts[m] = Codes()
                before = self.values()[:, m].tolist()
                self.texts[m].add(map(_spelt, before), range(len(before)))
            self.texts[m].add_coded(list(map(_spelt, known)), codes, places)
        return found[codes]

    def refuse(self, wrong: list[int]) -> ValueError:
        """Return the error for columns with cells that are not finite numbers."""
        commas = [m for m in wrong if COMMA.fullmatch(str(self.odd[m].value).strip())]
        wrong = commas[:1] or wrong  # one cause, one cure
        if len(wrong) > 1:
            named = ", ".join(
                f"{self.names[m]!r} ({self._about(m)})" for m in wrong[:20]
            )
            return ValueError(
                f"{self.path}: {len(wrong)} of {len(self.names)} columns have cells "
                f"that are not finite numbers: {named}{', ...' * (len(wrong) > 20)}. "
                f"{self._remedies(wrong)}"
            )
        (m,) = wrong
        value, place = self.odd[m].value, self.odd[m].place
        is_empty = value is None or str(value).strip() == ""
        said = " is empty; expected" if is_empty else f": {value!r} is not"
        hint = self._remedies(wrong)
        if commas:
            hint = COMMA_HINT
        elif m == 0 and len(self.names) > 1 and self.odd[m].n_texts:
            hint = f"{ID_HINT} {hint}"
        return ValueError(
            f"{self.path}, {self.place} {place}, column {self.names[m]!r}{said} a "
            f"finite number. {hint}"
        )

    def _about(self, m: int) -> str:
        odd = self.odd[m]
        said = [
            *[f"{odd.n_texts:,} text"] * bool(odd.n_texts),
            *[f"{odd.n_missing:,} missing"] * bool(odd.n_missing),
            *[f"{odd.n_infinite:,} infinite"] * bool(odd.n_infinite),
        ]
        is_empty = odd.value is None or str(odd.value).strip() == ""
        value = "" if is_empty else f" {odd.value!r}"
        return f"{', '.join(said)}; first{value} in {self.place} {odd.place}"

    def _remedies(self, wrong: list[int]) -> str:
        odd = [self.odd[m] for m in wrong]
        return " ".join([
            "Leave out columns with exclude (--exclude).",
            *["Text columns: leave out with numeric_only, or use as base "
              'clusterings with categorical="join".']
            * any(one.n_texts for one in odd),
            *['Missing cells: missing="drop" or missing="impute".']
            * any(one.n_missing and not one.n_texts for one in odd),
        ])  # fmt: skip


def _listed(column: np.ndarray) -> list:
    """Return values as a list; dates as strings, as they would become numbers."""
    return (column.astype(str) if column.dtype.kind in "Mm" else column).tolist()


def _finite(cells: Sequence[str]) -> np.ndarray | None:
    """Return cells as numbers, None if any is not a finite number."""
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return None
    return values if np.isfinite(values).all() and "_" not in "".join(cells) else None


def _number(value: Any, *, typed: bool) -> float:
    """Return a value as a finite number, else NaN."""
    if typed:
        number = float(value) if isinstance(value, numbers.Real) else math.nan
    else:
        try:  # float accepts fewer blanks than strip
            text = value.strip()
            number = float(text) if NUMBER.fullmatch(text) else math.nan
        except ValueError:
            number = math.nan
    return number if math.isfinite(number) else math.nan


def _spelt(value: Any) -> str:
    """Return a cell of a text column, "" if it is missing."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    text = "" if value is None or value != value else str(value).strip()  # noqa: PLR0124
    return "" if text in MISSING else text
