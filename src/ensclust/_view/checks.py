"""Checks of the arguments of displays and reports."""

import os
from numbers import Integral
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods.base import Method
from ensclust._quality.k_selection import KSelection
from ensclust._quality.result import Result
from ensclust._support.validation import check_labelling

_MOST_LEVELS = 100  # clusterings below each other


def result_of(estimator: Any) -> Result:
    """Return the result of a fitted consensus method, or raise."""
    expected = "a consensus method of ensclust, such as ECPCSMC, after fit"
    check_kind(estimator, "estimator", Method, expected)
    return estimator._result()


def check_kind(value: Any, name: str, kind: type, expected: str = "") -> None:
    """Raise unless ``value`` is what is drawn, or drawn on."""
    if not isinstance(value, kind):
        msg = (
            f"{name} is of type {type(value).__name__}; expected "
            f"{expected or kind.__name__}."
        )
        raise TypeError(msg)


def check_any(is_clustered: np.ndarray) -> None:
    """Raise if no object has a cluster."""
    if not is_clustered.any():
        msg = (
            f"none of the {len(is_clustered):,} objects has a cluster, so there is "
            "nothing to draw. Pass base clusterings that contain some of them."
        )
        raise ValueError(msg)


def check_clusters(labels: Any, n_objects: int) -> np.ndarray:
    """Return the cluster of each object, -1 for none; categories are numbered."""
    if hasattr(labels, "cat"):  # a categorical column, as in AnnData
        labels = labels.cat.codes
    return check_labelling(labels, n_objects)


def check_sweep(n_clusterings: int) -> None:
    """Raise if there are too many clusterings to draw below each other."""
    if n_clusterings > _MOST_LEVELS:
        msg = (
            f"there are {n_clusterings:,} clusterings; at most {_MOST_LEVELS} can be "
            "drawn. Choose some of them."
        )
        raise ValueError(msg)


def check_limit(value: Any, name: str, most: int) -> int:
    """Return a limit as an int between 1 and ``most``, or raise."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if whole and 1 <= value <= most:
        return int(value)
    msg = (
        f"{name}={value!r}; expected an integer from 1 to {most:,}. No screen shows "
        "more."
    )
    raise ValueError(msg)


def no_page(path: Any) -> TypeError:
    """Return the error for what cannot name the file of a report."""
    return TypeError(
        f"path is {_kind(path)}. Pass the name of a file that ends in .html."
    )


def check_vector(values: Any, what: str, wanted: int, each: str) -> None:
    """Raise unless there is a value for each object or base clustering."""
    rule = f"Pass one {each}."
    if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
        msg = f"{what} is {_kind(values)}; expected a list or an array. {rule}"
        raise TypeError(msg)
    shape = _shape(values)
    if shape != (wanted,):
        found = (
            f"{shape[0]:,} entries; expected {wanted:,}"
            if len(shape) == 1
            else f"shape {shape}; expected ({wanted:,},)"
        )
        msg = f"{what} has {found}. {rule}"
        raise ValueError(msg)


def check_features(X: Any, n_objects: int) -> None:
    """Raise unless ``X`` is a table with one row per object."""
    rule = "Pass numbers, one row per object and one column per feature."
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


def check_rows(n_rows: int, what: str, n_objects: int) -> None:
    """Raise unless there is a row for each object."""
    if n_rows != n_objects:
        msg = (
            f"{what} has {n_rows:,} rows; expected {n_objects:,}. Pass one row per "
            "object, in the order of the base clusterings."
        )
        raise ValueError(msg)


def check_map(map_of: Any, *, has_features: bool) -> None:
    """Raise unless a report has the requested map."""
    known = ("features", "ensemble") if has_features else ("ensemble", "components")
    if map_of is None or map_of in known:
        return
    with_features = "with X" if has_features else "without X"
    msg = (
        f"map_of={map_of!r}; expected {known[0]!r}, {known[1]!r} or None "
        f"{with_features}."
    )
    raise ValueError(msg)


def check_given(
    ensemble: Ensemble, *, X: Any, ids: Any, names: Any, selection: Any, title: Any
) -> None:
    """Raise unless the optional arguments of a report have the right types."""
    if X is not None:
        check_features(X, ensemble.n_objects)
    for name, value, wanted, each in (
        ("ids", ids, ensemble.n_objects, "id per object"),
        ("names", names, ensemble.n_clusterings, "name per base clustering"),
    ):
        if value is not None:
            check_vector(value, name, wanted, each)
    for name, value, kind, expected in (
        ("selection", selection, KSelection, "what ensclust.select_k() returns"),
        ("title", title, str, "a string"),
    ):
        if value is not None and not isinstance(value, kind):
            msg = f"{name} is {_kind(value)}; expected {expected}, or None."
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
    except ValueError:  # rows of different lengths
        return (len(values), 0)
