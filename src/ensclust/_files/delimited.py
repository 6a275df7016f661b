"""Delimited text (CSV, TSV) to records: delimiter, quotes, header, line numbers."""

from __future__ import annotations

import csv
import sys
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from ensclust._files.cells import is_number_or_missing
from ensclust._support.progress import tell

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

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
    if any(below[i] and all(map(is_number_or_missing, below[i])) for i in names):
        return True
    return bool(names) and not any(name in below[i] for i, name in names.items())


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
        lines: Iterator[str] = chain(sample, stream)
        if delimiter == " ":
            lines = map(str.rstrip, lines)
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
                found = f"found {len(row)} field{'s' * (len(row) != 1)}"
                msg = (
                    f"{path}, line {line}: {found}, expected {width} as in the first "
                    f"row (delimiter {delimiter!r})."
                )
                if delimiter == "," and len(row) > width:
                    msg += " If commas are decimal marks here, write points instead."
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
    for delimiter, counts in widths.items():
        if len(set(counts)) == 1 and counts[0] > 1:
            return delimiter
    return max(",;\t|", key=lambda delimiter: (widths[delimiter] or [0])[0])
