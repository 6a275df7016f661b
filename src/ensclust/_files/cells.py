"""Cells of a table to numbers, features or labels, and delimited text to such cells.

Both classes keep what they have read in buffers that grow in place, so that memory
stays near the size of the table they return.
"""

import csv
import math
import numbers
import re
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ensclust._support.encoding import encode_column
from ensclust._support.progress import tell
from ensclust._support.validation import LABEL_RULE

NOT_CLUSTERED = frozenset({"", "NA", "<NA>", "NaN", "nan", "NAN", "None", "null"})

# Narrower than float(), which takes "1_2": a number to Python, a name to people.
_NUMBER = re.compile(r"[+-]?(inf|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.I)
_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)

_LARGEST = 2**63 - 1
_COMMA_HINT = (
    "Write numbers with a decimal point and without thousands separators: 1.5, not 1,5."
)
_ID_HINT = "If this column names the objects, pass it as id_column (--id-column)."
_ID_NAME = re.compile(
    r"(.*[\W_])?(ids?|names?|index|idx|key|barcode|uuid|object|sample|cell|row|"
    r"unnamed: 0)|.*[a-z]I[dD]s?",
    re.I,
)
_NEARLY = 0.95  # of the objects have a value of their own in a column of ids


def named_like_ids(name: str) -> bool:
    """Whether the name of a column says that it names the objects."""
    return _ID_NAME.fullmatch(name.strip()) is not None


def is_number_or_missing(cell: str) -> bool:
    """Whether a cell could stand in a column of numbers."""
    return cell in NOT_CLUSTERED or _NUMBER.fullmatch(cell) is not None


class Features:
    """Finite numbers, row by row."""

    def __init__(self, path: Path, names: list[str]):
        self.path, self.names = path, names
        self.dtype: np.dtype = np.dtype(np.float64)
        self._buffer = bytearray()

    def add_rows(self, lines: list[int], rows: list[list[str]]) -> None:
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
            self._refuse(f"line {lines[row]}", m, cells[i].strip())
        self._buffer.extend(values)

    def add_columns(self, first_row: int, columns: Sequence[np.ndarray]) -> None:
        """Take the next rows of a binary file, as one array per column."""
        for m, column in enumerate(columns):
            numeric = column.dtype.kind in "biuf"
            wrong = ~np.isfinite(column) if numeric else np.ones(len(column), bool)
            if wrong.any():
                row = int(np.argmax(wrong))
                self._refuse(f"row {first_row + row + 1}", m, column[row : row + 1])
        if not self._buffer and all(c.dtype == np.float32 for c in columns):
            self.dtype = np.dtype(np.float32)
        block = np.stack(columns, axis=1, dtype=self.dtype, casting="unsafe")
        self._buffer.extend(np.ascontiguousarray(block))

    def values(self) -> np.ndarray:
        """Return the rows added so far."""
        return np.frombuffer(self._buffer, self.dtype).reshape(-1, len(self.names))

    def _refuse(self, place: str, m: int, value: Any) -> NoReturn:
        value = value.tolist()[0] if isinstance(value, np.ndarray) else value

        wrong = " is empty; expected" if value in ("", None) else f": {value!r} is not"
        is_text = isinstance(value, str) and value not in NOT_CLUSTERED
        if is_text and _COMMA.fullmatch(value):
            hint = _COMMA_HINT
        elif is_text and m == 0 and len(self.names) > 1:
            hint = _ID_HINT
        else:
            hint = "To leave a column out, name the others in columns (--columns)."
        msg = (
            f"{self.path}, {place}, column {self.names[m]!r}{wrong} a finite number. "
            f"{hint}"
        )
        raise ValueError(msg)


class Labels:
    """Integer labels; each distinct cell of a column is interpreted once."""

    def __init__(self, path: Path, names: list[str]):
        self.path, self.names = path, names
        self.place = "line"
        self.empty: np.ndarray | None = None  # cells that are so, once there are values
        self._columns = [_Codes() for _ in names]

    def add_rows(self, lines: list[int], rows: list[list[str]]) -> None:
        """Take rows of text; ``lines`` are their line numbers."""
        for column, cells in zip(self._columns, zip(*rows, strict=True), strict=True):
            column.add(cells, lines)

    def add_columns(self, first_row: int, columns: Sequence[np.ndarray]) -> None:
        """Take the next rows of a binary file, as one array per column."""
        self.place = "row"
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
        """Raise for lists, bytes and the like, whose texts would pass for names."""
        plain = (str, numbers.Real, np.bool_, type(None))
        wrong = {kind for kind in set(map(type, column)) if not issubclass(kind, plain)}
        for row, value in zip(rows, column if wrong else (), strict=False):
            if type(value) in wrong:
                msg = (
                    f"{self.path}, row {row}, column {self.names[m]!r}: {value!r} is "
                    f"no label. {LABEL_RULE}"
                )
                raise ValueError(msg)

    def take_ids(self, *, known: bool) -> tuple[str, list] | None:
        """Take out the column that names the objects, if one does, or raise.

        Such a column has (nearly) no value twice. It is the first, or its name says
        so; any other is refused, since it is no clustering either, and so is every one
        if the ids are already ``known``.
        """
        distinct = [m for m in range(len(self.names)) if self._may_be_ids(m)]
        named = [m for m in distinct if named_like_ids(self.names[m])]
        found = [] if known else [*named, *(m for m in distinct if m == 0)][:1]
        wrong = [m for m in distinct if m not in found]
        if wrong:
            raise self._no_clustering(wrong[0])
        if not found:
            return None
        name, column = self.names.pop(found[0]), self._columns.pop(found[0])
        cells = [text.strip() for text in column.known]
        ids = [cells[code] for code in column.pop().tolist()]
        return name, list(map(int, ids)) if column.holds_integers else ids

    def _no_clustering(self, m: int) -> ValueError:
        """Return the error for a column that gives each object a label of its own."""
        column, name = self._columns[m], self.names[m]
        return ValueError(
            f"{self.path}: column {name!r} has {len(column.known):,} values for "
            f"{len(column):,} objects, so it is no clustering. If it names them, pass "
            "it as id_column (--id-column); else name the others in columns "
            "(--columns)."
        )

    def _may_be_ids(self, m: int) -> bool:
        """Whether a column beside others has names or numbers, hardly any twice.

        Fewer than 10 numbers may be so by chance, unless the column's name says more.
        """
        column = self._columns[m]
        n, n_known = len(column), len(column.known)
        if len(self.names) == 1 or n < 3 or n_known < (n if n < 20 else _NEARLY * n):
            return False
        texts = {text.strip() for text in column.known}
        if len(texts) < n_known or texts & NOT_CLUSTERED:
            return False
        if not all(map(_NUMBER.fullmatch, texts)):
            return True
        is_known = n >= 10 or named_like_ids(self.names[m])
        return is_known and all(map(str.isdecimal, texts))

    def values(self) -> np.ndarray:
        """Return the labels of the rows added, in the smallest signed type; once.

        Sets ``empty``, (n_rows, n_columns) bool, if there are any empty cells.
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
        """Return the label that each distinct cell of column ``m`` stands for."""
        column = self._columns[m]
        texts = [text.strip() for text in column.known]
        label = meaning(texts)
        for text, place in zip(texts, column.places, strict=True):
            if label[text] is None:
                where = f"{self.path}, {self.place} {place}, column {self.names[m]!r}"
                raise no_label(where, text)
        return np.array([label[text] for text in texts], np.int64)


def meaning(texts: Iterable[str]) -> dict[str, int | None]:
    """Return the label that each cell of a column stands for, None where it is none.

    A column of whole numbers keeps them; names become 0, 1, ... in sorted order.
    """
    label = {text: _whole(text) for text in texts if _NUMBER.fullmatch(text)}
    label |= dict.fromkeys(NOT_CLUSTERED, -1)
    present = sorted({text for text in texts if label.get(text) != -1})
    if all(map(_COMMA.fullmatch, present)) and present:
        label |= dict.fromkeys(present)  # no labels, and surely no names
    elif not all(text in label for text in present):  # names, perhaps with numbers
        label |= {text: position for position, text in enumerate(present)}
    return label


def no_label(where: str, text: str) -> ValueError:
    """Return the error for a cell that is no label."""
    why = f"is no label. {LABEL_RULE}"
    if _COMMA.fullmatch(text):
        why = f"is no label. {_COMMA_HINT}"
    elif float(text) > _LARGEST and math.isfinite(float(text)):
        why = f"is above 2**63 - 1, the largest integer label. {_ID_HINT}"
    return ValueError(f"{where}: {text!r} {why}")


def present_texts(column: np.ndarray) -> np.ndarray:
    """Return a column of texts without spaces around them, None if not clustered."""
    for kind in {type(value) for value in column}:
        if issubclass(kind, bytes | list | tuple | dict | np.ndarray):
            value = next(value for value in column if type(value) is kind)
            msg = f"{value!r} is no label. {LABEL_RULE}"
            raise ValueError(msg)
    texts, codes = np.unique([str(v).strip() for v in column], return_inverse=True)
    known = meaning(texts.tolist())
    shown = [None if known[text] == -1 else text for text in texts.tolist()]
    return np.array(shown, dtype=object)[codes]


class _Codes:
    """A growing column: each distinct cell once, and a small integer for each row."""

    def __init__(self) -> None:
        self.known: defaultdict[str, int] = defaultdict()  # cell -> code
        self.known.default_factory = self.known.__len__  # by first appearance
        self.places: list[int] = []  # where each was seen first
        self.holds_integers = False  # of a binary file, not texts
        self._dtype: type[np.unsignedinteger] = np.uint8
        self._buffer = bytearray()

    def __len__(self) -> int:
        return len(self._buffer) // np.dtype(self._dtype).itemsize

    def add(self, cells: Iterable[str], places: Sequence[int]) -> None:
        """Take the texts of some rows."""
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
            codes, values = encode_column(column, 0)  # code -1 finds the last entry
            texts = [*map(str, values.tolist()), "-1"]
        elif column.dtype.kind == "f":
            values, codes = np.unique(column, return_inverse=True)
            texts = list(map(str, values.tolist()))
        else:
            self.add(("" if v is None else str(v) for v in column.tolist()), places)
            return
        for value in np.unique(codes):
            if self.known[texts[value]] == len(self.places):  # it is new
                self.places.append(places[int(np.argmax(codes == value))])
        self._append(
            np.array([self.known.get(text, 0) for text in texts], np.uint32)[codes]
        )

    def pop(self) -> np.ndarray:
        """Return the codes of all rows and forget them."""
        codes, self._buffer = np.frombuffer(self._buffer, self._dtype), bytearray()
        return codes

    def _append(self, codes: np.ndarray) -> None:
        needed = np.min_scalar_type(len(self.known)).type
        if np.dtype(needed).itemsize > np.dtype(self._dtype).itemsize:
            wider = np.frombuffer(self._buffer, self._dtype).astype(needed)
            self._dtype, self._buffer = needed, bytearray(wider)
        self._buffer.extend(codes.astype(self._dtype))


def _is_finite(cell: str) -> bool:
    try:  # float knows fewer blanks than strip
        return bool(_NUMBER.fullmatch(cell.strip())) and math.isfinite(float(cell))
    except ValueError:
        return False


def _whole(number: str) -> int | None:
    """Return a number as a label: -1 if negative, None if it can be none."""
    try:
        value = int(number)
    except ValueError:
        if not float(number).is_integer():
            return -1 if -math.inf < float(number) < 0 else None
        value = int(float(number))
    return max(value, -1) if value <= _LARGEST else None


STDIN = Path("<stdin>")  # stands for "-", also in messages

_DELIMITERS = "\t;,|"  # commas come late: they may be decimal marks or prose
_SAMPLE = 50  # lines to guess the delimiter from
_TOLD = 8192  # records between two reports of progress


def read_records(
    path: Path, delimiter: str | None = None
) -> Generator[tuple[int, list[str]], None, None]:
    """Yield (line number, cells) for each record; all have as many cells as the first.

    Parameters
    ----------
    path : Path
        A file in UTF-8, or STDIN.
    delimiter : str, optional
        What separates cells; by default guessed from the first lines.
    """
    handle = sys.stdin.buffer if path == STDIN else path.open("rb")
    stream = TextIOWrapper(handle, "utf-8-sig", newline="")
    size = path.stat().st_size if path.is_file() else 0
    try:
        for number, record in enumerate(_parse(path, stream, delimiter)):
            if size and number % _TOLD == 0:
                tell(handle.tell(), size)
            yield record
    except UnicodeDecodeError as error:
        msg = (
            f"{path} is not UTF-8 text (byte 0x{error.object[error.start]:02x}). "
            "Save it as UTF-8, or as NPY or Parquet."
        )
        raise ValueError(msg) from error
    finally:
        stream.detach()
        if path != STDIN:
            handle.close()


def is_header(rows: list[list[str]]) -> bool:
    """Whether the first of some rows holds names, as ``read_features`` defines it."""
    if counts_columns(rows):
        return True
    first = enumerate(map(str.strip, rows[0]))
    names = {i: cell for i, cell in first if not is_number_or_missing(cell)}
    below = {i: {row[i].strip() for row in rows[1:]} for i in names}
    return any(
        below[i] and all(map(is_number_or_missing, below[i])) for i in names
    ) or (bool(names) and not any(name in below[i] for i, name in names.items()))


def counts_columns(rows: list[list[str]]) -> bool:
    """Whether the first of some rows is 0, 1, ..., as pandas names columns by default.

    It may follow an empty name, that of the index. Of one or two columns it is taken
    for data where there are whole numbers below.
    """
    cells = [cell.strip() for cell in rows[0]]
    is_indexed = len(cells) > 1 and not cells[0]
    names = cells[is_indexed:]
    if names != [str(i) for i in range(len(names))]:
        return False
    below = [cell.strip() for row in rows[1:] for cell in row]
    return is_indexed or len(names) > 2 or not any(map(str.isdecimal, below))


def _parse(
    path: Path, stream: Iterator[str], delimiter: str | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield the records; blank lines are none, but in a single column empty cells."""
    start, width, blank = 1, 0, []
    try:
        sample = list(islice(stream, _SAMPLE))
        delimiter = delimiter or _guess_delimiter(sample)
        every = chain(sample, stream)
        lines = map(str.rstrip, every) if delimiter == " " else every
        reader = csv.reader(
            lines, delimiter=delimiter, strict=True, skipinitialspace=True
        )
        for row in reader:
            line, start = start, reader.line_num + 1
            if not row:
                blank.append(line)
                continue
            if width == 1:
                yield from ((skipped, [""]) for skipped in blank)
            blank.clear()
            width = width or len(row)
            if len(row) != width:
                is_decimal = delimiter == "," and len(row) > width
                hint = " If commas are decimal marks here, write points instead."
                msg = (
                    f"{path}, line {line}: found {len(row)} field"
                    f"{'s' * (len(row) != 1)}, expected {width} as in the first row "
                    f"(delimiter {delimiter!r}).{hint * is_decimal}"
                )
                raise ValueError(msg)
            yield line, row
    except csv.Error as error:
        msg = f"{path}, record at line {start}: {error}."
        raise ValueError(msg) from error


def _guess_delimiter(sample: list[str]) -> str:
    """Return the delimiter that gives all records the same number of cells, above 1."""
    rows = [line.strip().split(" ") for line in sample if line.strip()]
    numbers = all(is_number_or_missing(cell) for row in rows for cell in row)
    if numbers and rows and min(map(len, rows)) > 1:  # names may hold spaces
        return " "
    widths = {}
    for delimiter in _DELIMITERS:
        reader = csv.reader(sample, delimiter=delimiter, skipinitialspace=True)
        try:
            counts = [len(row) for row in reader if row]
        except csv.Error:  # a line of very many cells is none with another delimiter
            counts = []
        # The sample may end inside a quoted cell.
        widths[delimiter] = counts[:-1] if len(sample) == _SAMPLE else counts
    even = (d for d, n in widths.items() if len(set(n)) == 1 and n[0] > 1)
    return next(even, max(",;\t|", key=lambda delimiter: (widths[delimiter] or [0])[0]))
