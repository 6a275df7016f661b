"""Fast parsing of many lines of delimited text, if PyArrow is installed.

Whatever PyArrow would read differently is left to the records of ``text``.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from ensclust._support.label_texts import NOT_CLUSTERED

_FIELD = 131_072  # longest cell that the csv module accepts


def parse(
    text: str, delimiter: str, width: int, is_text: Mapping[int, bool]
) -> dict[int, Any] | None:
    """Return columns of some lines as Arrow arrays, None if they are not plain.

    Parameters
    ----------
    text : str
        Whole lines.
    delimiter : str
        What separates cells.
    width : int
        Number of cells per line.
    is_text : mapping of int to bool
        The positions of the columns to return, and whether each holds text, which is
        dictionary-encoded; others hold numbers, with nulls if missing.

    Returns
    -------
    dict of int to Array, or None
        By position, with one row per line. None if a line is blank or of another width,
        if a cell is quoted unusually, very long, or not a number where one is expected,
        or if PyArrow is not installed.
    """
    try:
        import pyarrow as arrow  # noqa: PLC0415  optional, and heavy
        from pyarrow import csv  # noqa: PLC0415
    except ImportError:
        return None
    content = text.encode()
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
    n_lines = len(ends) + (not text.endswith("\n"))
    longest = np.diff(ends, prepend=-1, append=len(content)).max()
    if width == 1 or longest > _FIELD or not _is_plain(text, delimiter):
        return None
    words = arrow.dictionary(arrow.int32(), arrow.string())
    types = {str(i): words if own else arrow.float64() for i, own in is_text.items()}
    try:
        table = csv.read_csv(
            arrow.BufferReader(content),
            csv.ReadOptions(
                use_threads=False,
                block_size=len(content) + 1,
                column_names=[str(i) for i in range(width)],
            ),
            csv.ParseOptions(delimiter=delimiter),
            csv.ConvertOptions(
                check_utf8=False,
                column_types=types,
                null_values=sorted(NOT_CLUSTERED),
                include_columns=list(types),
            ),
        )
    except arrow.ArrowException:
        return None
    if table.num_rows != n_lines:  # there are blank lines
        return None
    return {i: table.column(str(i)).combine_chunks() for i in is_text}


def _is_plain(text: str, delimiter: str) -> bool:
    """Whether Arrow and the csv module agree on lines, cells and quotes."""
    if delimiter == " " or text.count("\r") != text.count("\r\n"):
        return False
    if '"' not in text:
        return True
    edge = rf"[^{re.escape(delimiter)}\r\n]"  # not allowed next to a quoted cell
    quoted = re.compile(rf'(?<!{edge})"[^"\r\n]*"(?!{edge})')
    return 2 * len(quoted.findall(text)) == text.count('"')
