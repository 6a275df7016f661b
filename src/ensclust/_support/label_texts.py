"""Strings as labels: names, whole numbers, or "not clustered"."""

import decimal
import math
import re
from collections.abc import Iterable
from typing import Any

# The words that pandas.read_csv treats as missing.
NOT_CLUSTERED = frozenset(
    (
        *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan"),
        *("1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a"),
        *("nan", "null"),
    )
)
# Narrower than float(), which accepts "1_2": a number to Python, a name to people.
NUMBER = re.compile(r"[+-]?(inf|(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)", re.ASCII | re.I)
COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)
LARGEST = 2**63 - 1  # for numbers written as strings


def whole(number: Any) -> int | None:
    """Return a finite number as a label: -1 if negative, None if it has a fraction.

    Exact: nothing is converted to float.
    """
    if number < 0:
        return -1
    # Numbers written with thousands of zeros are never expanded. The bound is a float,
    # which Python compares exactly: NumPy 1 cannot compare a long double with such an
    # int.
    return int(number) if number < 2.0**64 and number == int(number) else None


def text_number(text: str) -> int | None:
    """Return a numeric string as a label: -1 if negative, None if it is not a label."""
    if text.isdecimal() and len(text) < 19:
        return int(text)
    if not math.isfinite(float(text)) or abs(float(text)) > 2.0**64:
        return -1 if -math.inf < float(text) < 0 else None
    try:
        label = whole(decimal.Decimal(text))
    except decimal.DecimalException:  # an exponent with very many digits
        return None
    return label if label is None or label <= LARGEST else None


def meaning(texts: Iterable[str]) -> dict[str, int | None]:
    """Return the label of each cell of a column, None for cells that are not labels.

    A column of whole numbers keeps them; names become 0, 1, ... in sorted order. -1 is
    "not clustered": a word for missing, or a negative number.
    """
    label = {text: text_number(text) for text in texts if NUMBER.fullmatch(text)}
    label |= dict.fromkeys(NOT_CLUSTERED, -1)
    present = sorted({text for text in texts if label.get(text) != -1})
    if all(map(COMMA.fullmatch, present)) and present:
        label |= dict.fromkeys(present)  # neither labels nor names
    elif not are_numbers(present):  # names, possibly mixed with numbers
        label |= {text: position for position, text in enumerate(present)}
    return label


def are_numbers(texts: Iterable[str]) -> bool:
    """Whether all strings that are not missing are numbers."""
    return all(NUMBER.fullmatch(text) for text in texts)
