"""Arguments of a report that cannot be meant, told by their names."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ensclust._quality.k_selection import KSelection


def check_path(path: Any) -> None:
    """Raise unless ``path`` can name a file."""
    if not isinstance(path, (str, os.PathLike)):
        msg = f"path is {_kind(path)}. Give the name of a file that ends in .html."
        raise TypeError(msg)


def check_vector(values: Any, what: str, wanted: int, each: str) -> None:
    """Raise unless there is a value for each object or base clustering."""
    rule = f"Give one {each}."
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        msg = f"{what} is {_kind(values)}; expected a list or an array. {rule}"
        raise TypeError(msg)
    shape = _shape(values)
    if len(shape) != 1:
        msg = f"{what} has shape {shape}; expected ({wanted:,},). {rule}"
        raise ValueError(msg)
    if shape[0] != wanted:
        msg = f"{what} has {shape[0]:,} entries; expected {wanted:,}. {rule}"
        raise ValueError(msg)


def check_features(X: Any, n_objects: int) -> None:
    """Raise unless ``X`` is a table with a row per object."""
    rule = "Give numbers, one row per object and one column per feature."
    if isinstance(X, (str, os.PathLike)):
        msg = f"X is the path {os.fspath(X)!r}. Read the file first. {rule}"
        raise TypeError(msg)
    shape = _shape(X)
    if len(shape) != 2 or not shape[1]:
        what = f"of shape {shape}" if shape else _kind(X)
        msg = f"X is {what}; expected ({n_objects:,}, n_features). {rule}"
        raise ValueError(msg)
    if shape[0] != n_objects:
        msg = f"X has {shape[0]:,} rows; expected {n_objects:,}. {rule}"
        raise ValueError(msg)


def check_rest(selection: Any, title: Any) -> None:
    """Raise unless the choice of k and the heading are of their kinds."""
    if selection is not None and not isinstance(selection, KSelection):
        msg = (
            f"selection is {_kind(selection)}; expected what ensclust.select_k() "
            "returns, or None."
        )
        raise TypeError(msg)
    if title is not None and not isinstance(title, str):
        msg = f"title is {_kind(title)}; expected a string, or None."
        raise TypeError(msg)


def _kind(value: Any) -> str:
    """Return what a value is, for a message."""
    if value is None:
        return "None"
    shown = f" ({value!r})" if isinstance(value, (int, float, str)) else ""
    return f"of type {type(value).__name__}{shown}"


def _shape(values: Any) -> tuple[int, ...]:
    """Return the shape of an array, of a table, or of nested lists."""
    if hasattr(values, "shape"):
        return tuple(values.shape)
    try:
        return np.shape(values)
    except ValueError:  # rows of unlike lengths
        return (len(values), 0)
