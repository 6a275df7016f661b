"""NPY and NPZ files: plain arrays, whose size is known before they are read."""

import math
import zipfile
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import IO

import numpy as np
from numpy.lib import format as npy

from ensclust._support import memory

# NumPy parses the header of an NPY file with Python's compiler, which fails in Python
# 3.11 if two threads do so at once ("AST constructor recursion depth mismatch").
HEADER = Lock()
_TRAILING = 2**24  # bytes that may follow the arrays in an archive, in all
_ZIP_HEADER = 30  # bytes of a member before its name
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_arrays(
    path: Path, names: Collection[str] | None = None
) -> dict[str, np.ndarray]:
    """Return the arrays of an NPZ file, or that of an NPY file, memory-mapped, as "".

    Parameters
    ----------
    path : Path
        The file; its content, not its name, determines the format.
    names : collection of str or None
        The arrays of an NPZ file to read; None reads all.

    Returns
    -------
    dict of str to ndarray
        Nothing is unpickled: an array of Python objects raises ValueError, as does any
        file that is damaged or truncated. Raises MemoryError before the first array is
        read if they do not all fit. Time and memory are those of the arrays that are
        read.
    """
    try:
        with path.open("rb") as file:
            if file.read(2) == b"PK":
                return _read_archive(path, names)
            file.seek(0)
            _check_array(file, path.stat().st_size)
        with HEADER:
            return {"": np.load(path, mmap_mode="r", allow_pickle=False)}
    except MemoryError:
        raise
    except Exception as error:  # NumPy parses Python: damage may raise anything
        raise ValueError(str(error) or type(error).__name__) from error


def _read_archive(path: Path, names: Collection[str] | None) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(path) as archive:
        check_packing(archive)
        members = {
            info.filename.removesuffix(".npy"): info
            for info in archive.infolist()
            if names is None or info.filename.removesuffix(".npy") in names
        }
        needed = trailing = 0
        for info in members.values():
            with archive.open(info) as file:
                needed += (own := _check_array(file, info.file_size))
                trailing += (after := info.file_size - file.tell() - own)
            if trailing > _TRAILING:
                msg = f"{info.filename} has {after:,} bytes after its array."
                raise ValueError(msg)
        memory.require(
            needed,
            f"reading {path}",
            "Save the arrays as NPY or Parquet, which are read in blocks.",
        )
        arrays = {}
        for name, info in members.items():
            with HEADER, archive.open(info) as file:
                arrays[name] = npy.read_array(file, allow_pickle=False)
                while file.read(2**20):  # the rest is part of the checksum
                    pass
        return arrays


def check_packing(archive: zipfile.ZipFile) -> None:
    """Raise if a member is not compressed as NumPy and skops do it, or shares bytes.

    Python unpacks other methods without a limit: a few kB may become GB in memory. So
    they may if many members are the same bytes of the file.
    """
    members = sorted(archive.infolist(), key=lambda info: info.header_offset)
    for one, other in pairwise(members):
        if one.header_offset + _ZIP_HEADER + one.compress_size > other.header_offset:
            msg = f"{one.filename} and {other.filename} overlap in the archive."
            raise ValueError(msg)
    for info in members:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            msg = (
                f"{info.filename} uses compression method {info.compress_type}; "
                "expected deflate, or none."
            )
            raise ValueError(msg)


def _check_array(file: IO[bytes], size: int) -> int:
    """Return the bytes of an array from its header, or raise; the file has ``size``."""
    if not size:
        msg = "it is empty."
    elif file.read(len(npy.MAGIC_PREFIX)) != npy.MAGIC_PREFIX:
        msg = "it is not an NPY or NPZ file."
    elif (version := tuple(file.read(2))) not in _HEADERS:
        msg = f"version {version} of the format is not supported."
    else:
        with HEADER:
            shape, _, dtype = _HEADERS[version](file)
        needed, held = math.prod(shape) * dtype.itemsize, size - file.tell()
        if dtype.hasobject:
            msg = "it holds Python objects, which are never loaded."
        elif min(shape, default=0) >= 0 and needed <= held:
            return needed
        else:
            msg = (
                f"its header promises an array of shape {shape} and type {dtype}, "
                f"{needed:,} bytes, but only {max(0, held):,} bytes follow."
            )
    raise ValueError(msg)
