"""AnnData files (h5ad): read labels from obs, features from X or obsm; write labels."""

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ensclust._files.hdf5 import (
    SparseRows,
    check_column,
    refuse_external,
    require_chunk,
)
from ensclust._files.sources import Source, row_blocks
from ensclust._support import memory
from ensclust._support.validation import gibibytes, import_optional

_LARGEST = 2**31  # most bytes that a dense X may take
_SHOWN = 20
# Clustering tools, as in the names of the columns that they write.
_TOOLS = ("leiden", "louvain", "phenograph", "kmeans", "snn_res", "seurat_clusters")


def require_anndata(what: str) -> Any:
    """Return ``anndata.io``, or raise with the install line."""
    return import_optional("anndata.io", f"{what} h5ad", "anndata")


def open_labels(path: Path) -> Source:
    """Return the columns of ``obs``; users name those that are clusterings."""
    with _reading(path) as file:
        names, n_rows = _columns_of(file)

    def blocks(
        positions: list[int], within: range | None = None
    ) -> Iterator[list[np.ndarray]]:
        with _reading(path) as file:
            columns = [check_column(file["obs"], names[i], n_rows) for i in positions]
            for rows in row_blocks(within or range(n_rows), len(positions)):
                yield [_rows_of(column, rows) for column in columns]

    shown = names[1:]
    return Source(
        ["", *shown], n_rows, blocks, index=0, choice=f"obs columns {_listed(shown)}"
    )


def _columns_of(file: Any) -> tuple[list[str], int]:
    """Return the names of the index and columns of obs, and its length."""
    obs = _group(file, "obs")
    if "column-order" not in obs.attrs:  # before AnnData 0.7
        msg = f"{file.filename} was written by an old AnnData. Read and rewrite it."
        raise ValueError(msg)
    names = list(map(str, [obs.attrs["_index"], *obs.attrs["column-order"]]))
    n_rows = len(obs[names[0]])
    check_column(obs, names[0], n_rows)
    return names, n_rows


def _table(file: Any) -> Any:
    """Return obs as a DataFrame, if every column fits in memory."""
    if "column-order" in _group(file, "obs").attrs:
        names, n_rows = _columns_of(file)
        for name in names:
            check_column(file["obs"], name, n_rows)
    return _element(file, "obs")


def _rows_of(column: Any, rows: slice) -> np.ndarray:
    """Return some rows of a column of obs; categories as values, None if missing."""
    if hasattr(column, "keys"):
        if "codes" in column:
            io = require_anndata("reading")
            _require(column["categories"])
            known = io.read_elem(column["categories"])
            codes = column["codes"][rows]
            low, high = (codes.min(), codes.max()) if len(codes) else (0, -1)
            if known.ndim != 1 or low < -1 or high >= len(known):
                msg = (
                    f"{column.name.lstrip('/')} holds codes from {low} to {high} for "
                    f"categories of shape {known.shape}."
                )
                raise ValueError(msg)
            return np.array([*known, None], dtype=object)[codes]  # -1 finds None
        filled = _rows_of(column["values"], rows).astype(object)
        filled[column["mask"][rows]] = None
        return filled
    return column.asstr()[rows] if column.dtype.kind == "O" else column[rows]


def _dense(values: Any, name: str) -> np.ndarray:
    """Return an entry of obsm as an array."""
    if hasattr(values, "tocsr"):
        msg = f"obsm/{name} is sparse; expected a dense array. Store it as one."
        raise ValueError(msg)
    return np.asarray(values)


def open_features(path: Path, wanted: Sequence[str]) -> Source:
    """Return the columns of X, or of the entries of obsm named in ``wanted``."""
    with _reading(path) as file:
        ids = np.asarray(_table(file).index)
        genes = list(map(str, _element(file, "var").index))
        embeddings = {
            name: _dense(_element(file, f"obsm/{name}"), name)
            for name in file.get("obsm", {})
            if name in wanted
        }
        table = np.column_stack([np.empty((len(ids), 0)), *embeddings.values()])
        is_wide = getattr(file.get("X"), "dtype", None) == np.float64
    names, groups = [""], {}
    for name, values in embeddings.items():
        width = values.shape[1] if values.ndim == 2 else 1
        groups[name] = list(range(len(names), len(names) + width))
        names += [f"{name}{i + 1}" for i in range(width)]
    first_gene = len(names)

    def blocks(
        positions: list[int], within: range | None = None
    ) -> Iterator[list[np.ndarray]]:
        chosen = [i - first_gene for i in positions if i >= first_gene]
        width = len(genes) if chosen else len(positions)
        with _reading(path) as file:
            X = (
                _matrix(path, file, (len(ids), len(genes)), len(chosen))
                if chosen
                else None
            )
            for rows in row_blocks(within or range(len(ids)), width):
                expressed = iter(() if X is None else X[rows][:, chosen].T)
                yield [
                    ids[rows]
                    if i == 0
                    else (next(expressed) if i >= first_gene else table[rows, i - 1])
                    for i in positions
                ]

    width = 8 if is_wide and not embeddings else 4
    return Source([*names, *genes], len(ids), blocks, 0, groups, width=width)


def contents(path: Path) -> dict[str, Any]:
    """Return what the file contains: sizes, obs columns with kinds, names in obsm.

    ``left_out`` of a column says why it does not look like a clustering, or is None.
    """
    with _reading(path) as file:
        obs, obsm = _table(file), file.get("obsm", {})
        columns: list[dict[str, Any]] = [
            {
                "name": str(name),
                "kind": str(obs[name].dtype),
                "n_values": int(obs[name].nunique()),
                "n_missing": int(obs[name].isna().sum()),
            }
            for name in obs.columns
        ]
        for column in columns:
            column["left_out"] = _no_clustering(file, len(obs), **column)
        return {
            "n_objects": len(obs),
            "n_genes": len(_element(file, "var")),
            "obs": columns,
            "obsm": {
                name: list(obsm[name].shape)
                for name in obsm
                if hasattr(obsm[name], "shape")
            },
        }


def _no_clustering(
    file: Any, n_objects: int, *, name: str, kind: str, n_values: int, **_: Any
) -> str | None:
    """Return why a column of obs does not look like a base clustering, or None."""
    is_tools = "resolution" in _keys(file, f"uns/{name}/params")
    if {"agreement", "cluster_consensus"} <= _keys(file, f"uns/{name}"):
        return "result of ensclust"
    if kind != "category":
        return "not categorical"
    if n_values < 2:
        return "fewer than two values"
    if n_values > max(2, math.sqrt(n_objects)):
        return "more values than the square root of the number of objects"
    if not is_tools and not any(tool in name.lower() for tool in _TOOLS):
        return "no clustering tool in uns or in the name"
    return None


def _keys(file: Any, path: str) -> set[str]:
    """Return the names in a group; empty if it does not exist."""
    found = file.get(path, {})
    return set(found.keys()) if hasattr(found, "keys") else set()


def colors(path: Path, column: str) -> dict[str, str] | None:
    """Return scanpy's colours of a column of obs by category, None if it has none."""
    with _reading(path) as file:
        own = f"uns/{column}_colors"
        if own not in file or "categories" not in file.get(f"obs/{column}", {}):
            return None
        names = map(str, _element(file, f"obs/{column}/categories"))
        return dict(zip(names, map(str, _element(file, own)), strict=False))


def by_size(labels: np.ndarray, n_clusters: int = 0) -> np.ndarray:
    """Return the clusters, largest first; ties go to the lower number.

    There are at least ``n_clusters``, some of which may have no objects.
    """
    sizes = np.bincount(labels[labels >= 0], minlength=n_clusters)
    return np.argsort(-sizes, kind="stable")


def categorical(labels: np.ndarray, order: np.ndarray | None = None) -> Any:
    """Return labels as scanpy writes them: "0" is the largest cluster, -1 missing.

    Another order of the clusters can be given.
    """
    pandas = import_optional("pandas", "writing h5ad", "anndata")
    order = by_size(labels) if order is None else order
    rank = np.append(np.argsort(order), -1)  # -1 looks up the last
    return pandas.Categorical.from_codes(rank[labels], [*map(str, range(len(order)))])


def check_table(source: Path) -> None:
    """Raise now if :func:`write_copy` could not read obs later."""
    with _reading(source) as file:
        _table(file)


def check_free(
    source: Path, entries: Mapping[str, Sequence[str]], *, overwrite: bool
) -> None:
    """Raise if a copy would replace entries, given by place (obs, obsm, uns)."""
    with _reading(source) as file:
        taken = [
            f'{place}["{name}"]'
            for place, names in entries.items()
            for name in names
            if name in _keys(file, place)
        ]
    if taken and not overwrite:
        msg = (
            f"{source} already has {', '.join(taken)}. Pass overwrite=True to replace "
            "it in the copy."
        )
        raise ValueError(msg)


def write_copy(
    source: Path,
    handle: IO[bytes],
    obs: dict[str, Any],
    obsm: dict[str, np.ndarray] | None = None,
    uns: dict[str, Any] | None = None,
) -> None:
    """Write a copy of ``source`` with additional columns and entries.

    Everything else is copied unchanged, so memory does not depend on the size of X.
    """
    io = require_anndata("writing")
    h5py = import_optional("h5py", "writing h5ad", "anndata")
    with source.open("rb") as original:
        shutil.copyfileobj(original, handle)
    with h5py.File(handle, "r+") as file:
        table = io.read_elem(file["obs"])
        for name, values in obs.items():
            if len(values) != len(table):
                msg = f"{source} has {len(table)} objects; got {len(values)} labels."
                raise ValueError(msg)
            table[name] = values
        io.write_elem(file, "obs", table)
        for place, entries in (("obsm", obsm), ("uns", uns)):
            for name, value in (entries or {}).items():
                if place not in file:
                    io.write_elem(file, place, {})
                io.write_elem(file[place], name, value)


@contextmanager
def _reading(path: Path) -> Iterator[Any]:
    """Open a file, and name it in the errors of HDF5 and AnnData."""
    require_anndata("reading")
    h5py = import_optional("h5py", "reading h5ad", "anndata")
    if not path.exists():
        msg = f"{path} does not exist."
        raise FileNotFoundError(msg)
    try:
        with h5py.File(path, "r") as file:
            refuse_external(file)
            yield file
    except Exception as error:
        if isinstance(error, MemoryError) or str(path) in str(error):
            raise
        msg = f"{path} cannot be read as h5ad: {error}"
        raise ValueError(msg) from error


def _element(file: Any, name: str) -> Any:
    element = _group(file, name)
    _require(element)
    return require_anndata("reading").read_elem(element)


def _require(element: Any) -> None:
    memory.require(
        _size(element),
        f"{element.name.lstrip('/')} of {element.file.filename}",
        "Name other columns (--columns).",
    )


def _size(element: Any) -> int:
    """Return the declared size of the arrays of an element in bytes."""
    if hasattr(element, "values"):
        return sum(map(_size, element.values()))
    if element is None:
        msg = "an entry cannot be opened."
        raise ValueError(msg)
    return math.prod(element.shape or ()) * element.dtype.itemsize


def _group(file: Any, name: str) -> Any:
    if name not in file:
        msg = f"{file.filename} cannot be read as h5ad: it has no {name}."
        raise ValueError(msg)
    return file[name]


def _matrix(path: Path, file: Any, shape: tuple[int, int], n_columns: int) -> Any:
    """Return X as an array to slice, without reading it."""
    X = file.get("X")
    is_dense = hasattr(X, "shape")
    if X is None:
        msg = f"{path} has no X. Name an entry of obsm in columns (--columns)."
    elif (found := tuple(map(int, X.shape if is_dense else X.attrs["shape"]))) != shape:
        msg = (
            f"{path} is damaged: X has shape {found}, but obs and var have {shape[0]} "
            f"and {shape[1]} rows."
        )
    elif is_dense:
        require_chunk(X)
        return X
    elif (needed := 8 * shape[0] * n_columns) > _LARGEST:
        names = _listed(list(file.get("obsm", {})))
        msg = (
            f"{path}: X is sparse; {n_columns} of its columns as dense numbers take "
            f"{gibibytes(needed)}. Name an entry of obsm ({names}) or some genes in "
            "columns (--columns)."
        )
    else:
        form = require_anndata("reading").sparse_dataset(X).format
        return SparseRows(X, shape, by_rows=form == "csr")
    raise ValueError(msg)


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." * (len(names) > _SHOWN))
    return shown or "none"
