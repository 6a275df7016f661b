"""Cells of a table to numbers: features or labels, by block of rows or by column."""

from __future__ import annotations

import math
import re
from array import array
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ensclust._validation import LABEL_RULE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NOT_CLUSTERED = frozenset({"", "NA", "<NA>", "NaN", "nan", "NAN", "None", "null"})

# Narrower than float(), which takes "1_2": a number to Python, a name to people.
_NUMBER = re.compile(r"[+-]?(inf|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.I)


def is_number_or_missing(cell: str) -> bool:
    """Whether a cell could stand in a column of numbers."""
    return cell in NOT_CLUSTERED or _NUMBER.fullmatch(cell) is not None


class Features:
    """Finite numbers, from blocks of text rows or from whole columns."""

    def __init__(self, path: Path, names: list[str]):
        self.path, self.names = path, names
        self.blocks: list[np.ndarray] = []

    def add(self, lines: list[int], rows: list[list[str]]) -> None:
        """Take rows of text; ``lines`` are their line numbers."""
        cells = list(chain.from_iterable(rows))
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
            valid = bool(np.isfinite(values).all()) and "_" not in "".join(cells)
        except ValueError:
            valid = False
        if not valid:
            i = next(i for i, cell in enumerate(cells) if not _is_finite(cell))
            row, m = divmod(i, len(self.names))
            self._refuse(f"line {lines[row]}", m, cells[i])
        self.blocks.append(values.reshape(len(rows), -1))

    def values(self) -> np.ndarray:
        """Return the rows added so far."""
        return np.concatenate(self.blocks)

    def from_columns(self, columns: list[np.ndarray]) -> np.ndarray:
        """Return the columns of a binary file as one table."""
        for m, column in enumerate(columns):
            numeric = column.dtype.kind in "biuf"
            wrong = ~np.isfinite(column) if numeric else np.ones(len(column), bool)
            if wrong.any():
                row = int(np.argmax(wrong))
                self._refuse(f"row {row}", m, column.tolist()[row])
        table = np.column_stack(columns)
        return table if table.dtype == np.float32 else table.astype(np.float64)

    def _refuse(self, place: str, m: int, value: Any) -> NoReturn:
        where = f"{self.path}, {place}, column {self.names[m]!r}"
        msg = (
            f"{where}: {value!r} is not a finite number. To leave a column out, name "
            "the others in columns (--columns)."
        )
        raise ValueError(msg)


class Labels:
    """Integer labels; each distinct text of a column is interpreted once."""

    def __init__(self, path: Path, names: list[str]):
        self.path, self.names = path, names
        self.blocks: list[np.ndarray] = []
        self.texts: list[dict[str, int]] = [{} for _ in names]
        self.lines = array("q")

    def add(self, lines: list[int], rows: list[list[str]]) -> None:
        """Take rows of text; ``lines`` are their line numbers."""
        self.lines.extend(lines)
        columns = zip(self.texts, zip(*rows, strict=True), strict=True)
        self.blocks.append(np.array([_codes(cells, known) for known, cells in columns]))

    def values(self) -> np.ndarray:
        """Return the labels of the rows added so far."""
        codes = np.concatenate(self.blocks, axis=1)
        texts = [list(known) for known in self.texts]
        return np.array([self._decode(m, texts[m], c) for m, c in enumerate(codes)]).T

    def from_columns(self, columns: list[np.ndarray]) -> np.ndarray:
        """Return the labels of a binary file's columns."""
        return np.array([self._column(m, c) for m, c in enumerate(columns)]).T

    def _column(self, m: int, column: np.ndarray) -> np.ndarray:
        if column.dtype.kind not in "biufUO":
            where = f"{self.path}, column {self.names[m]!r}"
            msg = f"{where} has dtype {column.dtype}. {LABEL_RULE}"
            raise TypeError(msg)
        if np.can_cast(column.dtype, np.int64):
            return np.maximum(column.astype(np.int64), -1)
        known: dict[str, int] = {}
        codes = _codes(("" if v is None else str(v) for v in column.tolist()), known)
        return self._decode(m, list(known), codes)

    def _decode(self, m: int, texts: list[str], codes: np.ndarray) -> np.ndarray:
        """Return the labels of column ``m``, whose cells are ``texts[codes]``."""
        texts = [text.strip() for text in texts]
        label = {text: _whole(text) for text in texts if _NUMBER.fullmatch(text)}
        label |= dict.fromkeys(NOT_CLUSTERED, -1)
        present = sorted({text for text in texts if label.get(text) != -1})
        if not all(text in label for text in present):  # names, perhaps with numbers
            label |= {text: position for position, text in enumerate(present)}
        for code, text in enumerate(texts):
            if label[text] is None:
                row = int(np.argmax(codes == code))
                place = f"line {self.lines[row]}" if self.lines else f"row {row}"
                where = f"{self.path}, {place}, column {self.names[m]!r}"
                msg = f"{where}: {text!r} is no label. {LABEL_RULE}"
                raise ValueError(msg)
        return np.array([label[text] for text in texts], np.int64)[codes]


def _is_finite(cell: str) -> bool:
    return bool(_NUMBER.fullmatch(cell.strip())) and math.isfinite(float(cell))


def _codes(cells: Iterable[str], known: dict[str, int]) -> np.ndarray:
    """Return the cells as numbers by first appearance, going on from what is known."""
    return np.array([known.setdefault(cell, len(known)) for cell in cells], np.int32)


def _whole(number: str) -> int | None:
    """Return a number as a label: -1 if negative, None if it can be none."""
    try:
        value = int(number)
    except ValueError:
        if not float(number).is_integer():
            return -1 if -math.inf < float(number) < 0 else None
        value = int(float(number))
    return max(value, -1) if value < 2**63 else None
