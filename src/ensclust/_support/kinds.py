"""Kinds of input: a stream of rows, or rows in memory."""

from collections.abc import Generator
from typing import Any


def pandas_index(labels: Any) -> Any:
    """Return the index of a pandas DataFrame, or of Series in a list, or None."""
    tables = labels if isinstance(labels, list | tuple) else [labels]
    return next((own.index for own in tables if hasattr(own, "iloc")), None)


def is_dask_array(value: Any) -> bool:
    """Whether ``value`` is a Dask array, without importing Dask."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def is_stream(value: Any) -> bool:
    """Whether ``value`` is, or must be treated as, a stream of blocks."""
    return (
        getattr(type(value), "is_stream", False)  # Blocks declare it
        or isinstance(value, Generator)
        or is_dask_array(value)
        or (callable(value) and not hasattr(value, "shape"))
        or type(value).__module__.split(".")[0] == "zarr"
    )
