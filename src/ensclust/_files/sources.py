"""Binary tables (NPY, NPZ, Parquet) as columns, read in blocks of rows."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from pathlib import Path

import numpy as np

from ensclust._files.archives import read_arrays
from ensclust._support.containers import arrow_column
from ensclust._support.validation import explaining, import_optional

_CELLS = 2**18  # numbers converted at a time
_LEAN = {"pre_buffer": False, "buffer_size": 2**16}  # pages, not row groups


@dataclass(frozen=True, eq=False)
class Source:
    """The columns of a binary file, before any of it is read.

    Attributes
    ----------
    names : list of str
        Names of the columns.
    n_rows : int
        Number of objects.
    blocks : callable
        Takes the positions of columns and a range of rows (None for all); yields blocks
        of rows as lists of columns: arrays, masked arrays or Coded.
    index : int or None
        The column that names the objects by convention of the format.
    groups : dict of str to list of int
        Names that stand for several columns.
    choice : str
        What there is to choose from, if columns must be named.
    pieces : list of int
        Numbers of rows of the pieces in which the file is stored; empty if reading can
        start anywhere at no cost.
    width : int
        Minimum number of bytes per feature once read.
    note : str
        What was chosen from the file, if anything.
    """

    names: list[str]
    n_rows: int
    blocks: Callable[..., Iterator[list[np.ndarray]]]
    index: int | None = None
    groups: dict[str, list[int]] = field(default_factory=dict)
    choice: str = ""
    pieces: list[int] = field(default_factory=list)
    width: int = 4
    note: str = ""


def row_blocks(rows: range, n_columns: int) -> Iterator[slice]:
    """Yield slices of a range of rows that hold a bounded number of cells."""
    step = max(1, _CELLS // max(1, n_columns))
    for start in rows[::step]:
        yield slice(start, min(start + step, rows.stop))


def open_numpy(path: Path, wanted: Sequence[str]) -> Source:
    """Return the arrays of an NPY or NPZ file as one table.

    Of several arrays, those named in ``wanted`` are used, by default all. A matrix X
    has columns X1, X2, ... and can be named as a whole, X; the columns of a file with a
    single array are 1, 2, ...
    """
    return from_arrays(path, _load(path), wanted)


def from_arrays(
    path: Path, arrays: dict[str, np.ndarray], wanted: Sequence[str], note: str = ""
) -> Source:
    """Return arrays as one table, see :func:`open_numpy`."""
    named = {name: arrays[name] for name in arrays if name in wanted} or arrays
    shapes = {name: array.shape for name, array in arrays.items()}
    n_rows = _length(path, named, shapes)
    several = len(arrays) > 1
    names: list[str] = []
    groups: dict[str, list[int]] = {}
    for name, array in named.items():
        width = array.shape[1] if array.ndim == 2 else 1
        groups[name] = list(range(len(names), len(names) + width))
        names += (
            [name]
            if several and array.ndim == 1
            else [f"{name * several}{i + 1}" for i in range(width)]
        )
    columns = [(name, i) for name, at in groups.items() for i in range(len(at))]
    index = names.index("object") if "object" in names else None
    mixed = len(named) > 1 and any(array.ndim == 2 for array in named.values())

    def blocks(
        positions: list[int], within: range | None = None
    ) -> Iterator[list[np.ndarray]]:
        for rows in row_blocks(within or range(n_rows), len(positions)):
            # Mapped again, so that the pages of earlier blocks are released.
            mapped = _load(path) if path.suffix.lower() == ".npy" else arrays
            chosen = ((mapped[name], i) for name, i in (columns[p] for p in positions))
            block = [
                np.asarray(a[rows] if a.ndim == 1 else a[rows, i]) for a, i in chosen
            ]
            for column in block:
                if column.dtype.kind == "U":
                    _check_text(path, column)
            yield block

    width = 4 if any(a.dtype == np.float32 for a in named.values()) else 8
    return Source(
        names,
        n_rows,
        blocks,
        index,
        groups,
        in_words(shapes) * mixed,
        width=width,
        note=note,
    )


def _length(path: Path, named: dict[str, np.ndarray], shapes: dict) -> int:
    """Return the number of rows of arrays, or raise if they do not form a table."""
    for name, array in named.items():
        if array.ndim not in (1, 2) or not array.dtype.itemsize:
            what = f"array {name!r}" if name else "an array"
            msg = (
                f"{path} has {what} of shape {array.shape}, {array.dtype}; expected "
                "rows and columns."
            )
            raise ValueError(msg)
    lengths = {len(array) for array in named.values()}
    if len(lengths) != 1:
        msg = (
            f"{path} has arrays of different length: {in_words(shapes)}. Name those "
            "that describe the same objects in columns (--columns)."
        )
        raise ValueError(msg)
    if not (n_rows := lengths.pop()):
        msg = f"{path} contains no objects."
        raise ValueError(msg)
    return n_rows


def whole_file(array: np.ndarray) -> Path | None:
    """Return the NPY file that an array maps completely, or None.

    Views do not qualify, nor do copy-on-write maps, which may differ from the file.
    """
    path = Path(getattr(array, "filename", None) or "")
    is_shared = isinstance(array, np.memmap) and array.mode != "c"
    if not is_shared or path.suffix.lower() != ".npy" or not path.exists():
        return None
    own, root = _load(path)[""], array
    while isinstance(root.base, np.ndarray):
        root = root.base
    same = array.ctypes.data == root.ctypes.data and all(
        getattr(array, name) == getattr(own, name)
        for name in ("offset", "dtype", "shape", "strides")
    )
    return path if same else None


def _load(path: Path) -> dict[str, np.ndarray]:
    with explaining(f"{path} cannot be read as an array", ValueError):
        return read_arrays(path)


def _check_text(path: Path, column: np.ndarray) -> None:
    """Raise for invalid character codes, which Python cannot decode."""
    codes = np.ascontiguousarray(column).view(f"{column.dtype.byteorder}u4")
    if codes.size and codes.max() > sys.maxunicode:
        msg = f"{path} contains text with the invalid character code {codes.max()}."
        raise ValueError(msg)


def in_words(shapes: dict[str, tuple[int, ...]]) -> str:
    """Return "X (150 x 4), y (150)"."""
    return ", ".join(
        f"{name} ({' x '.join(map(str, shape))})" for name, shape in shapes.items()
    )


def open_parquet(path: Path) -> Source:
    """Return the columns of a Parquet file; row groups are decoded piece by piece."""
    parquet = import_optional("pyarrow.parquet", "reading Parquet", "parquet")
    with _reading_parquet(path), parquet.ParquetFile(path) as file:
        schema, meta = file.schema_arrow, file.metadata
        index = (schema.pandas_metadata or {}).get("index_columns", [])
    name, count = max(Counter(schema.names).items(), key=itemgetter(1), default=("", 0))
    if count > 1:
        msg = f"{path} has {count} columns {name!r}. Rename them."
        raise ValueError(msg)
    index = [schema.names.index(name) for name in index if name in schema.names]
    index = index or [0] * (schema.names[:1] == ["object"])

    def blocks(
        positions: list[int], within: range | None = None
    ) -> Iterator[list[np.ndarray]]:
        names = [schema.names[i] for i in positions]
        # Requested rows are held anyway, and at once they need no copy.
        rows = len(within) if within else max(1024, _CELLS // len(names))
        wanted = {"columns": list(dict.fromkeys(names)), "use_threads": False}
        groups, done, stop = _row_groups(pieces, within)
        with _reading_parquet(path), parquet.ParquetFile(path, **_LEAN) as opened:
            for batch in opened.iter_batches(rows, groups, **wanted):
                first, last = max(0, -done), min(batch.num_rows, stop - done)
                done += batch.num_rows
                if first < last:
                    part = batch.slice(first, last - first)
                    yield [arrow_column(part.column(name)) for name in names]
            if done < stop:
                msg = f"{stop - done} of its {meta.num_rows} rows are missing."
                raise ValueError(msg)

    pieces = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
    if sum(pieces) != meta.num_rows:
        msg = (
            f"{path} is damaged: it claims {meta.num_rows} rows, but its row groups "
            f"have {sum(pieces)}. Write it again."
        )
        raise ValueError(msg)
    width = 4 if "float" in map(str, schema.types) else 8  # Arrow's name for float32
    return Source(
        list(schema.names),
        meta.num_rows,
        blocks,
        index[0] if len(index) == 1 else None,
        pieces=pieces,
        width=width,
    )


def _reading_parquet(path: Path) -> AbstractContextManager[None]:
    """Name the file in the errors of Arrow."""
    arrow = import_optional("pyarrow", "reading Parquet", "parquet")
    return explaining(
        f"{path} cannot be read as Parquet",
        *(arrow.ArrowException, ValueError, OSError),
    )


def _row_groups(pieces: list[int], within: range | None) -> tuple[list[int], int, int]:
    """Return the row groups that contain some rows, and where those begin and end.

    Positions count from the first row wanted, which follows ``-begin`` others.
    """
    if within is None:
        return list(range(len(pieces))), 0, sum(pieces)
    starts = [0, *accumulate(pieces)]
    groups = [
        i
        for i, n in enumerate(pieces)
        if starts[i] < within.stop and starts[i] + n > within.start
    ]
    return groups, starts[groups[0]] - within.start if groups else 0, len(within)
