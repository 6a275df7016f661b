"""One hash of arrays, to know them again."""

import hashlib

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
