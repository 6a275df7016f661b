"""Valid files with invalid contents: bytes say what is changed in them.

An edit is four bytes: which array, what is done to it, where, and by which number. This
fuzzes how we handle contents, and bypasses HDF5's library, which ends the process on
some damaged files, and checksums of archives, which few random bytes survive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

NUMBERS = (
    *(0, 1, 2, 3, 5, 6, 7, 11, 12, 13, 39, 40, 41, 127, 128, 255, 256, 2**31 - 1),
    *(2**31, 2**32, 2**53, 2**62, 2**63 - 1, -1, -2, -3, -5, -128, -(2**31), -(2**63)),
    *(0.5, 1e300, float("nan"), float("inf"), float("-inf")),
)
_KINDS = ("i1", "u1", "i4", "i8", "u8", "f4", "f8", "?", "S3", "U2")


def edits(data: bytes, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name of the array, and the three other bytes, of each edit."""
    for i in range(0, len(data) - 3, 4):
        yield names[data[i] % len(names)], data[i + 1 : i + 4]


def edited(array: np.ndarray, edit: bytes) -> np.ndarray:
    """Return an array after one edit; unchanged if the edit is not possible."""
    kind, at, which = edit
    number = NUMBERS[which % len(NUMBERS)]
    flat = array.reshape(-1).copy()
    with np.errstate(all="ignore"):
        try:
            match kind % 10:
                case 0 | 1 | 2 | 3:
                    flat[at % max(1, len(flat))] = number
                case 4:
                    flat[:] = number
                case 5:
                    # Not dtype.type(number): np.bytes_(2**31) is two gigabytes.
                    flat[at % max(1, len(flat)) :] += np.array(number, flat.dtype)
                case 6:
                    return array[at % (len(array) + 1) :]
                case 7:
                    return np.concatenate([array, array[: at % (len(array) + 1)]])
                case 8:
                    return array.astype(_KINDS[at % len(_KINDS)])
                case _:
                    return np.roll(array[..., None] if at % 7 == 0 else array, at)
        except (TypeError, ValueError, IndexError, OverflowError):
            return array
    return flat.reshape(array.shape)
