"""What a file of labels says: ids and named columns, checked before it is written."""

from __future__ import annotations

import csv
import numbers
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def labelled_columns(labels: np.ndarray, names: Any, ids: Any) -> tuple[list, dict]:
    """Return the ids and the columns by name, or raise where they do not fit."""
    if labels.ndim not in (1, 2) or not labels.size or labels.dtype.kind not in "iu":
        msg = (
            f"labels has shape {labels.shape} and type {labels.dtype}; expected "
            "integers, a row per object and a column per clustering."
        )
        raise ValueError(msg)
    table = labels.reshape(len(labels), -1)
    _check_length("names", names, table.shape[1])
    if ids is not None:
        _check_length("ids", ids, len(table))
    reserved = ("object", "file", "allow_pickle")  # ids, and words of NumPy
    for name in names:
        if not isinstance(name, str) or name in reserved or list(names).count(name) > 1:
            msg = f"names holds {name!r}. Give texts that differ, and not {reserved}."
            raise ValueError(msg)
    columns = dict(zip(names, table.T, strict=True))
    return list(range(len(table))) if ids is None else _plain(list(ids)), columns


def _check_length(name: str, given: Any, wanted: int) -> None:
    if not hasattr(given, "__len__") or isinstance(given, str):
        msg = f"{name} is of type {type(given).__name__}; expected a list of {wanted}."
        raise TypeError(msg)
    if len(given) != wanted:
        rule = "Give a name per column of labels, an id per row."
        msg = f"{name} has {len(given)} entries; expected {wanted}. {rule}"
        raise ValueError(msg)


def write_rows(stream, delimiter: str, objects: list, columns: dict) -> None:
    """Write ids and labels as text."""
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["object", *columns])
    labels = (column.tolist() for column in columns.values())
    writer.writerows(zip(objects, *labels, strict=True))


def _plain(ids: list) -> list:
    """Return ids of one kind, which every format can hold: else as text."""
    for kind in (str, numbers.Integral, numbers.Real):
        if all(isinstance(one, kind) for one in ids):
            return ids
    return ["" if one is None else str(one) for one in ids]
