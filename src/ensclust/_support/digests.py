"""Hashes of arrays, to know them again."""

import hashlib
import zlib
from collections.abc import Iterable

import numpy as np


def digest(*parts: np.ndarray | bytes) -> str:
    """Return 64 hexadecimal digits for the bytes of all parts, one after the other.

    Types and shapes count only where a part says them.

    Examples
    --------
    >>> digest(np.array([1, 2], "u1"), b"ab") == digest(bytes([1, 2]) + b"ab")
    True
    """
    found = hashlib.sha256()
    for part in parts:
        found.update(
            part if isinstance(part, bytes) else np.ascontiguousarray(part).data
        )
    return found.hexdigest()


def checksum(arrays: Iterable[np.ndarray]) -> int:
    """Return a number of 32 bits for some arrays: less sure, 1.5 GB in a second.

    Examples
    --------
    >>> rows = np.array([[1, 2], [2, 1]])
    >>> checksum([rows]) == checksum([rows[::-1]])
    False
    """
    found = 0
    for array in arrays:
        is_plain = array.dtype.kind not in "UO"
        content = array if is_plain else repr(array.tolist()).encode()
        found = zlib.crc32(np.ascontiguousarray(content).data, found)
    return found


def check_unchanged(number: int, found: tuple, known: dict[int, tuple]) -> None:
    """Raise where a block is not what it was in a pass before.

    ``found`` is its number of rows and checksum, ``known`` these of all blocks.
    """
    rows, mark = known.get(number, (0, None))
    advice = "A stream must give the same rows in every pass."
    if found[0] != rows:
        msg = f"{found[0]} rows came; there were {rows} in the pass before. {advice}"
        raise ValueError(msg)
    if mark is not None and found[1] != mark:
        msg = f"its {rows} rows are not those of the pass before. {advice}"
        raise ValueError(msg)
