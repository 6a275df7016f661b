"""Numbers and strings for readers and pages: plain, short, without NaN."""

from math import isnan
from typing import Any

import numpy as np

_LONGEST = 60  # characters of an id or a name


def rounded(values: Any, digits: int = 4) -> list:
    """Return rounded numbers for JSON, None for NaN."""
    found = np.round(np.asarray(values, np.float64), digits).tolist()
    return [None if isnan(value) else value for value in found]


def percent(values: np.ndarray) -> list:
    """Return shares as whole percents, None for NaN."""
    return [None if isnan(v) else int(v) for v in np.rint(100 * values).tolist()]


def counted(n: int, what: str) -> str:
    """Return a count with its noun, as in "1 object" and "1,200 objects"."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def shortened(value: Any) -> str:
    """Shorten a string in the middle, as ids often differ only at their end."""
    text, half = str(value), _LONGEST // 2 - 1
    return text if len(text) <= _LONGEST else f"{text[:half]} … {text[-half:]}"
