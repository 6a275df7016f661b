"""Untrusted HDF5 files: no other file is read, and every index is checked."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from ensclust._support import memory
from ensclust._support.validation import import_optional


def refuse_external(file: Any) -> None:
    """Raise if a part of a file is stored in another file.

    HDF5 would follow the link silently, so an untrusted file could leak the content of
    any file on this machine into the output.
    """
    h5py = import_optional("h5py", "reading HDF5", "anndata")

    def linked(name: Any, link: Any) -> str | None:
        is_external = link.type == h5py.h5l.TYPE_EXTERNAL
        name = name.decode(errors="replace")
        return f"{name} is an external link" if is_external else None

    def stored(name: str, found: Any) -> str | None:
        if not isinstance(found, h5py.Dataset):
            return None
        kind = "a virtual dataset" if found.is_virtual else "external storage"
        return f"{name} is {kind}" if found.is_virtual or found.external else None

    # A visitor stops by returning a value; HDF5 would swallow exceptions.
    found = file.id.links.visit(linked, info=True) or file.visititems(stored)
    if found:
        msg = f"{found}. Other files are not read; write everything into one file."
        raise ValueError(msg)


def check_column(table: Any, name: str, n_rows: int) -> Any:
    """Return a column of a table, or raise unless it has one entry per row."""
    if name.startswith("/") or name not in table:
        msg = f"{table.name.lstrip('/')} lists a column {name!r} that does not exist."
        raise ValueError(msg)
    column = table[name]
    parts = {"": column}
    if hasattr(column, "keys"):
        names = ("codes",) if "codes" in column else ("values", "mask")
        parts = {part: column[part] for part in names}
    for part, found in parts.items():
        shape = getattr(found, "shape", None)
        if shape != (n_rows,):
            where = f"column {name!r}" + f", {part}," * bool(part)
            has = "is not an array" if shape is None else f"has shape {shape}"
            msg = f"{where} {has}; expected {n_rows:,} rows in one dimension."
            raise ValueError(msg)
        require_chunk(found)
    for part, kinds in {"codes": "iu", "mask": "b"}.items():
        if part in parts and parts[part].dtype.kind not in kinds:
            msg = f"column {name!r}: {part} are of type {parts[part].dtype}."
            raise ValueError(msg)
    return column


def require_chunk(dataset: Any) -> None:
    """Raise if one chunk, which is unpacked as a whole, does not fit in memory."""
    memory.require(
        math.prod(dataset.chunks or (0,)) * dataset.dtype.itemsize,
        f"a chunk of {dataset.name.lstrip('/')} of {dataset.file.filename}",
        "Write the file with smaller chunks.",
    )


class SparseRows:
    """The rows of a sparse matrix, read on demand.

    Parameters
    ----------
    group : h5py.Group
        Holds ``data``, ``indices`` and ``indptr``, all of which are checked, as SciPy
        would write wherever they point.
    shape : tuple of int
        Rows and columns.
    by_rows : bool
        Whether the matrix is stored by rows (CSR) or by columns (CSC). The latter is
        read as a whole.
    """

    def __init__(self, group: Any, shape: tuple[int, int], *, by_rows: bool):
        self._shape, self._by_rows = shape, by_rows
        self._n_major, self._n_minor = shape if by_rows else shape[::-1]
        self._data, self._indices = group["data"], group["indices"]
        pointers = group["indptr"]
        if (
            len({getattr(part, "shape", None) for part in (self._data, self._indices)})
            != 1
            or getattr(self._data, "ndim", None) != 1
            or getattr(pointers, "shape", None) != (self._n_major + 1,)
            or self._data.dtype.kind not in "biuf"
            or {self._indices.dtype.kind, pointers.dtype.kind} - set("iu")
        ):
            msg = "data, indices and indptr of X have inconsistent shapes or types."
            raise ValueError(msg)
        for part in (self._data, self._indices, pointers):
            require_chunk(part)
        self._start = pointers[:].astype(np.int64)
        lengths = np.diff(self._start)
        if (
            self._start[0]
            or lengths.min(initial=0) < 0
            or lengths.max(initial=0) > self._n_minor
            or self._start[-1] > len(self._indices)
        ):
            msg = (
                "indptr of X does not increase from 0, in steps of at most "
                f"{self._n_minor:,}, to the {len(self._indices):,} stored entries."
            )
            raise ValueError(msg)

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return some rows as a dense array."""
        if not self._by_rows:
            return self._whole[rows].toarray()
        return self._read(rows.start, rows.stop).toarray()

    @cached_property
    def _whole(self) -> Any:
        """The matrix of a file that stores columns, converted to rows."""
        memory.require(
            2 * int(self._start[-1]) * (self._data.dtype.itemsize + 8),
            f"X of {self._data.file.filename}, which is stored by columns,",
            "Store it by rows (csr_matrix).",
        )
        return self._read(0, self._n_major).T.tocsr()

    def _read(self, first: int, stop: int) -> Any:
        """Return rows, or columns as rows, as a CSR matrix."""
        from scipy.sparse import csr_matrix  # noqa: PLC0415  heavy

        a, b = self._start[first], self._start[stop]
        indices = self._indices[a:b]
        if b > a and not 0 <= indices.min() <= indices.max() < self._n_minor:
            wrong = indices.min() if indices.min() < 0 else indices.max()
            msg = f"indices of X hold {wrong}; expected 0 to {self._n_minor - 1}."
            raise ValueError(msg)
        return csr_matrix(
            (self._data[a:b], indices, self._start[first : stop + 1] - a),
            shape=(stop - first, self._n_minor),
        )
