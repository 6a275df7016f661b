"""Delimited text: from bytes, possibly compressed, to records with line numbers."""

import csv
import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

from ensclust._files.cells import is_number_or_missing
from ensclust._support.progress import tell
from ensclust._support.validation import import_optional

STDIN = Path("<stdin>")  # stands for "-", also in messages
PACKED = (".gz", ".zst")

_DELIMITERS = "\t;,|"  # commas come late: they may be decimal marks or prose
_SAMPLE = 50  # lines to guess the delimiter from
_PIECE = 2**20  # bytes that are read at a time
_LONGEST = 2**27  # bytes of a line
_MOST_BLANK = 2**20  # in a row: a compressed kB may hold 1e9 of them


class Lines:
    """The lines of a text file, read piece by piece; iterating yields line by line."""

    def __init__(self, path: Path, raw: IO[bytes], stream: Any):
        self._path, self._raw, self._stream = path, raw, stream
        self._size = path.stat().st_size if path.is_file() else 0
        self._encoding = "utf-8-sig"
        self._rest = b""  # of an incomplete line
        self._n_read = 0  # lines
        self.put_back("")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if line := self._piece.readline():
            return line
        self.put_back(self._read())
        if line := self._piece.readline():
            return line
        raise StopIteration

    def piece(self) -> str:
        """Return the lines already read, else the next ones; "" at the end."""
        return self._piece.read() or self._read()

    def put_back(self, text: str) -> None:
        """Put back lines, to be returned next."""
        self._piece = StringIO(text, newline="")

    def _read(self) -> str:
        """Return some whole lines, or the rest at the end."""
        parts = [self._rest]
        cut = 0
        while not cut and (block := self._unpack()):
            cut = block.rfind(b"\n") + 1
            parts.append(block)
            if sum(map(len, parts)) > _LONGEST:
                msg = f"{self._path} has a line of more than {_LONGEST:,} bytes."
                raise ValueError(msg)
        self._rest = parts.pop()[cut:] if cut else b""
        whole = b"".join([*parts, block[:cut]] if cut else parts)
        if self._size:
            tell(min(self._raw.tell(), self._size), self._size)
        try:
            text = whole.decode(self._encoding)
        except UnicodeDecodeError as error:
            msg = (
                f"{self._path} is not UTF-8 text (byte 0x{whole[error.start]:02x}). "
                "Save it as UTF-8, or as NPY or Parquet."
            )
            raise ValueError(msg) from error
        if (at := whole.find(b"\0")) >= 0:
            line = self._n_read + whole.count(b"\n", 0, at) + 1
            msg = (
                f"{self._path}, line {line}: a NUL byte, which is not allowed in text. "
                "Save it as UTF-8, or as NPY or Parquet."
            )
            raise ValueError(msg)
        self._n_read += whole.count(b"\n")
        self._encoding = "utf-8"
        return text

    def _unpack(self) -> bytes:
        try:
            return self._stream.read(_PIECE)
        except (OSError, EOFError, zlib.error) as error:
            msg = f"{self._path} cannot be decompressed: {error}"
            raise ValueError(msg) from error


@contextmanager
def open_lines(path: Path) -> Iterator[Lines]:
    """Open a text file or STDIN, decompressed according to its extension."""
    if path == STDIN and sys.stdin is None:
        msg = "standard input is closed. Name a file, or pipe a table into the command."
        raise OSError(msg)
    raw = sys.stdin.buffer if path == STDIN else path.open("rb")
    try:
        yield Lines(path, raw, _unpacked(path, raw))
    finally:
        if path != STDIN:
            raw.close()


def _unpacked(path: Path, raw: IO[bytes]) -> Any:
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile(fileobj=raw)
    if suffix == ".zst":
        arrow = import_optional("pyarrow", f"reading {path}", "parquet")
        return arrow.CompressedInputStream(arrow.PythonFile(raw, "r"), "zstd")
    return raw


class Records:
    """The records of some lines, all with as many cells as the first.

    Parameters
    ----------
    path : Path
        The file, for messages.
    lines : Lines
        The lines, starting with the first.
    delimiter : str, optional
        What separates cells; by default guessed from the first lines.
    """

    def __init__(self, path: Path, lines: Lines, delimiter: str | None = None):
        self.path, self.lines = path, lines
        self.width = 0
        self.line = 1  # the number of the next
        self._skipped = 0  # lines
        sample = list(islice(lines, _SAMPLE))
        self.delimiter = delimiter or _guess_delimiter(sample)
        every = chain(sample, lines)
        self._reader = csv.reader(
            map(str.rstrip, every) if self.delimiter == " " else every,
            delimiter=self.delimiter,
            strict=True,
            skipinitialspace=True,
        )
        self._records = self._parse()

    def take(self, n: int) -> list[tuple[int, list[str]]]:
        """Return line numbers and cells of the next records, at most ``n``."""
        return list(islice(self._records, n))

    def skip(self, n: int) -> None:
        """Count lines that were consumed without this reader."""
        self._skipped += n
        self.line += n

    def _parse(self) -> Iterator[tuple[int, list[str]]]:
        """Yield the records; blank lines are skipped, except in a single column."""
        n_blank = 0  # lines in a row
        while (row := self._next()) is not None:
            line, self.line = self.line, self._reader.line_num + self._skipped + 1
            if not row:
                n_blank += 1
                if n_blank > _MOST_BLANK and self.width != 1:
                    msg = f"{self.path} has over {_MOST_BLANK:,} blank lines in a row."
                    raise ValueError(msg)
                continue
            if self.width == 1:
                yield from ((skipped, [""]) for skipped in range(line - n_blank, line))
            n_blank = 0
            self.width = self.width or len(row)
            if len(row) != self.width:
                raise self._ragged(line, len(row))
            yield line, row

    def _next(self) -> list[str] | None:
        try:
            return next(self._reader, None)
        except csv.Error as error:
            msg = f"{self.path}, record at line {self.line}: {error}."
            raise ValueError(msg) from error

    def _ragged(self, line: int, found: int) -> ValueError:
        is_decimal = self.delimiter == "," and found > self.width
        hint = " If commas are decimal marks, use points instead."
        return ValueError(
            f"{self.path}, line {line}: found {found} field{'s' * (found != 1)}, "
            f"expected {self.width} as in the first row (delimiter "
            f"{self.delimiter!r}).{hint * is_decimal}"
        )


def is_header(rows: list[list[str]]) -> bool:
    """Whether the first row holds names, as defined by ``read_features``."""
    if counts_columns(rows):
        return True
    first = enumerate(map(str.strip, rows[0]))
    names = {i: cell for i, cell in first if not is_number_or_missing(cell)}
    below = {i: {row[i].strip() for row in rows[1:]} for i in names}
    return any(
        below[i] and all(map(is_number_or_missing, below[i])) for i in names
    ) or (bool(names) and not any(name in below[i] for i, name in names.items()))


def counts_columns(rows: list[list[str]]) -> bool:
    """Whether the first row is 0, 1, ..., the default column names of pandas.

    These may follow an empty name, that of the index. With one or two columns, the row
    is taken as data if there are whole numbers below.
    """
    cells = [cell.strip() for cell in rows[0]]
    is_indexed = len(cells) > 1 and not cells[0]
    names = cells[is_indexed:]
    if names != [str(i) for i in range(len(names))]:
        return False
    below = [cell.strip() for row in rows[1:] for cell in row]
    return is_indexed or len(names) > 2 or not any(map(str.isdecimal, below))


def _guess_delimiter(sample: list[str]) -> str:
    """Return the delimiter that splits all records into equally many cells, over 1."""
    rows = [line.strip().split(" ") for line in sample if line.strip()]
    numbers = all(is_number_or_missing(cell) for row in rows for cell in row)
    if numbers and rows and min(map(len, rows)) > 1:  # names may contain spaces
        return " "
    widths = {}
    for delimiter in _DELIMITERS:
        reader = csv.reader(sample, delimiter=delimiter, skipinitialspace=True)
        try:
            counts = [len(row) for row in reader if row]
        except csv.Error:  # too long a cell with this delimiter
            counts = []
        # The sample may end inside a quoted cell.
        widths[delimiter] = counts[:-1] if len(sample) == _SAMPLE else counts
    even = (d for d, n in widths.items() if len(set(n)) == 1 and n[0] > 1)
    return next(even, max(",;\t|", key=lambda delimiter: (widths[delimiter] or [0])[0]))
