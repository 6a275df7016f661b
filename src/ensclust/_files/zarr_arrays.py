"""Zarr arrays on disk, opened only if reading them runs no foreign code."""

import json
from pathlib import Path
from typing import Any

from ensclust._support import memory
from ensclust._support.validation import explaining, import_optional

_METADATA = ("zarr.json", ".zarray")


def is_zarr(path: Path) -> bool:
    """Whether a directory holds a Zarr array."""
    return path.is_dir() and any((path / name).exists() for name in _METADATA)


def open_array(path: Path) -> Any:
    """Return a Zarr array, which is read chunk by chunk.

    Raises if it is compressed with pickle, whether or not zarr would read it, or if a
    row of chunks does not fit in memory.
    """
    zarr = import_optional("zarr", "reading Zarr", "zarr")
    wrong = (ValueError, TypeError, KeyError, OSError)
    with explaining(f"{path} cannot be read as a Zarr array", *wrong):
        metadata = [(path / n).read_text() for n in _METADATA if (path / n).exists()]
        if any(_names_pickle(json.loads(text)) for text in metadata):
            msg = "it holds pickled Python objects, which are never loaded."
            raise ValueError(msg)
        array = zarr.open_array(path, mode="r")
    if len(array.shape) == 2:
        rows = min(array.shape[0], array.chunks[0])
        memory.require(
            rows * array.shape[1] * array.dtype.itemsize,
            f"reading {rows:,} rows of {path}, one chunk,",
            "Store it in smaller chunks.",
        )
    return array


def _names_pickle(value: Any) -> bool:
    """Whether any codec in the metadata is pickle."""
    if isinstance(value, list):
        return any(map(_names_pickle, value))
    if not isinstance(value, dict):
        return False
    inner = (part for key, part in value.items() if key != "attributes")
    return any(
        str(value.get(key, "")).endswith("pickle") for key in ("id", "name")
    ) or any(map(_names_pickle, inner))
