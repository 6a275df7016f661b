"""Tables of features or labels from files, labels back to files.

Text (CSV, TSV) is read in blocks with the standard library; NPY, NPZ and Parquet are
read whole. Files are written beside their destination and moved there when complete.
"""

from __future__ import annotations

import csv
import os
import secrets
import shutil
import sys
import warnings
import zipfile
from contextlib import closing, contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from ensclust._cells import Features, Labels
from ensclust._delimited import STDIN, is_header, read_records
from ensclust._validation import import_optional

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TEXT = {"": None, ".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
_READABLE = (*filter(None, _TEXT), ".npy", ".npz", ".parquet")
_WRITABLE = (*filter(None, _TEXT), ".npy", ".parquet")
_ROWS = 4096  # records converted at a time


@dataclass(frozen=True, eq=False)
class Table:
    """What a file holds.

    Attributes
    ----------
    values : ndarray of shape (n_objects, n_columns)
        Features as floats, or labels as integers with -1 for "not clustered".
    columns : tuple of str
        Names of the columns; "1", "2", ... where the file has none.
    ids : list or None
        The cells of the id column, as they are in the file.
    """

    values: np.ndarray
    columns: tuple[str, ...]
    ids: list | None = None


def read_features(
    path: str | os.PathLike,
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    header: bool | None = None,
) -> Table:
    r"""Read a table of numbers, one row per object.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, NPY, NPZ (one array) or Parquet file, told by its extension; "-"
        is CSV on standard input. Text is UTF-8, its delimiter one of comma,
        semicolon, tab and ``|``, or spaces between numbers.
    columns : sequence of str, optional
        Names of the columns to use, in this order; by default all but the ids.
    id_column : str, optional
        The column that names the objects. By default the index column that pandas or
        R have written, if there is one: the unnamed first column of a text file.
    header : bool, optional
        Whether a text file's first line holds names. By default it does if it has a
        cell that is no number while the rest of that column is, or else cells that
        are no numbers and never come again in their column.

    Returns
    -------
    Table
        With float64 values (or float32, where a binary file holds float32).

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "flowers.csv")
    ...     _ = path.write_text("name,length,width\nrose,5,2\ntulip,7,3\n")
    ...     table = read_features(path, id_column="name")
    >>> table.columns, table.ids
    (('length', 'width'), ['rose', 'tulip'])
    >>> table.values
    array([[5., 2.],
           [7., 3.]])
    """
    return _read(path, columns, id_column, header, Features)


def read_labels(
    path: str | os.PathLike,
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    header: bool | None = None,
) -> Table:
    r"""Read base clusterings, one row per object and one column per clustering.

    Parameters are those of :func:`read_features`.

    Returns
    -------
    Table
        With int64 values. A column of whole numbers keeps them; in any other column
        the distinct texts become 0, 1, ... in sorted order. -1, "not clustered", is
        an empty cell, a negative number, or one of NA, NaN, None and null.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     _ = path.write_text("run1,run2\n1,b\n1,NA\n2,a\n2,b\n")
    ...     read_labels(path).values
    array([[ 1,  1],
           [ 1, -1],
           [ 2,  0],
           [ 2,  1]])
    """
    table = _read(path, columns, id_column, header, Labels)
    for name, column in zip(table.columns, table.values.T, strict=True):
        if _all_distinct(column):
            warnings.warn(
                f"{path}: column {name!r} gives each of the {len(column)} objects a "
                "label of its own. If it names the objects, pass it as id_column "
                "(--id-column).",
                stacklevel=2,
            )
    return table


def check_output(path: str | os.PathLike) -> None:
    """Raise now what would stop :func:`write_labels` from writing to ``path`` later."""
    given, path = os.fspath(path), Path(path)
    if given == "-":
        return
    suffix = _suffix(path, _WRITABLE)
    if suffix == ".parquet":
        import_optional("pyarrow.parquet", "writing Parquet", "parquet")
    if given.endswith(os.sep) or path.is_dir():
        msg = f"{given} is a directory; the output must be a file."
        raise IsADirectoryError(msg)
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        msg = f"{path} cannot be written: there is no directory {path.parent}."
        raise FileNotFoundError(msg)
    for place in [path] if _is_device(path) else [folder, path]:
        if place.exists() and not os.access(place, os.W_OK):
            msg = f"{path} cannot be written: no permission to write to {place}."
            raise PermissionError(msg)


def write_labels(
    path: str | os.PathLike,
    labels: np.ndarray,
    *,
    names: Sequence[str] = ("cluster",),
    ids: Sequence | None = None,
) -> None:
    """Write labels to a file, whole or not at all.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, NPY or Parquet file, told by its extension; "-" is CSV on
        standard output. An NPY file holds the labels only.
    labels : ndarray of shape (n_objects,) or (n_objects, len(names))
        One or more labels per object.
    names : sequence of str
        Names of the label columns.
    ids : sequence, optional
        What the first column, "object", shows; by default 0, 1, ...
    """
    check_output(path)
    objects = list(range(len(labels)) if ids is None else ids)
    columns = dict(zip(names, labels.reshape(len(labels), -1).T, strict=True))
    if str(path) == "-":
        _write_rows(sys.stdout, ",", objects, columns)
        return
    path = Path(path)
    suffix = path.suffix.lower()
    with _replacing(path) as handle:
        if suffix == ".npy":
            np.save(handle, labels)
        elif suffix == ".parquet":
            parquet = import_optional("pyarrow.parquet", "writing Parquet", "parquet")
            pyarrow = import_optional("pyarrow", "writing Parquet", "parquet")
            parquet.write_table(pyarrow.table({"object": objects, **columns}), handle)
        else:
            text = TextIOWrapper(handle, "utf-8", newline="")
            _write_rows(text, _TEXT[suffix] or ",", objects, columns)
            text.detach()


def _read(path, columns, id_column, header, kind: type[Features | Labels]) -> Table:
    """Read any format; ``kind`` turns cells into numbers."""
    path = STDIN if str(path) == "-" else Path(path)
    suffix = _suffix(path, _READABLE)
    if path != STDIN:
        _check_readable(path)
    if suffix in _TEXT:
        return _read_text(path, columns, id_column, header, kind)
    read = _read_parquet if suffix == ".parquet" else _read_numpy
    names, index, load = read(path)
    id_at, used = _choose(path, names, columns, id_column, index)
    cells = kind(path, [names[i] for i in used])
    values = cells.from_columns([load(i) for i in used])
    if not len(values):
        msg = f"{path} holds no objects."
        raise ValueError(msg)
    ids = None if id_at is None else load(id_at).tolist()
    return Table(values, tuple(cells.names), ids)


def _read_text(path, columns, id_column, header, kind) -> Table:
    with closing(read_records(path, _TEXT[path.suffix.lower()])) as records:
        block = list(islice(records, _ROWS))
        if not block:
            msg = f"{path} is empty; expected a table with one row per object."
            raise ValueError(msg)
        first = [cell.strip() for cell in block[0][1]]
        has_header = is_header([row for _, row in block]) if header is None else header
        names = first if has_header else [str(i + 1) for i in range(len(first))]
        index = 0 if has_header and len(names) > 1 and names[0] == "" else None
        id_at, used = _choose(path, names, columns, id_column, index)
        cells = kind(path, [names[i] for i in used])
        ids: list[str] = []
        block = block[1:] if has_header else block
        while block:
            rows = [row for _, row in block]
            if id_at is not None:
                ids += [row[id_at].strip() for row in rows]
            if used != list(range(len(first))):
                rows = [[row[i] for i in used] for row in rows]
            cells.add([line for line, _ in block], rows)
            block = list(islice(records, _ROWS))
    if not cells.blocks:
        msg = f"{path} has a header line ({', '.join(first[:5])}) but no objects."
        raise ValueError(msg)
    return Table(cells.values(), tuple(cells.names), None if id_at is None else ids)


def _choose(path, names, columns, id_column, index) -> tuple[int | None, list[int]]:
    """Return the positions of the id column and of the columns to use."""
    id_at = index if id_column is None else _position(path, names, id_column)
    if columns is None:
        used = [i for i in range(len(names)) if i not in (id_at, index)]
    else:
        used = [_position(path, names, name) for name in columns]
    if not used:
        msg = f"{path} has no columns to use besides the ids (columns={columns!r})."
        raise ValueError(msg)
    return id_at, used


def _position(path, names: Sequence[str], name: str) -> int:
    if names.count(name) == 1:
        return names.index(name)
    shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    number = "no column" if name not in names else f"{names.count(name)} columns"
    msg = f"{path} has {number} {name!r}. Its columns are {shown}."
    raise ValueError(msg)


def _all_distinct(column: np.ndarray) -> bool:
    head = column[:1000]
    if len(column) < 3 or column.min() < 0 or len(np.unique(head)) < len(head):
        return False
    return len(np.unique(column)) == len(column)


def _read_numpy(path: Path):
    """Return the names of the columns, no index, and a function that gives one."""
    try:
        loaded = np.load(path, allow_pickle=False)
        arrays = {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        msg = f"{path} cannot be read as an array: {error}"
        raise ValueError(msg) from error
    if len(arrays) != 1:
        msg = f"{path} holds {len(arrays)} arrays ({', '.join(arrays)}); expected one."
        raise ValueError(msg)
    (table,) = arrays.values()
    if table.ndim not in (1, 2):
        msg = (
            f"{path} holds an array of shape {table.shape}; expected rows and columns."
        )
        raise ValueError(msg)
    table = table.reshape(len(table), -1) if table.ndim == 1 else table
    return [str(i + 1) for i in range(table.shape[1])], None, lambda i: table[:, i]


def _read_parquet(path: Path):
    """Return the names of the columns, pandas' index, and a function that gives one."""
    parquet = import_optional("pyarrow.parquet", "reading Parquet", "parquet")
    try:
        file = parquet.ParquetFile(path)
    except ValueError as error:
        msg = f"{path} cannot be read as Parquet: {error}"
        raise ValueError(msg) from error
    schema = file.schema_arrow
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [schema.names.index(name) for name in index if name in schema.names]

    def load(i: int) -> np.ndarray:
        column = file.read(columns=[schema.names[i]]).column(0)
        if hasattr(column.type, "index_type"):  # categories
            column = column.cast(column.type.value_type)
        return column.to_numpy()

    return schema.names, index[0] if len(index) == 1 else None, load


def _suffix(path: Path, accepted: tuple[str, ...]) -> str:
    suffix = path.suffix.lower()
    if suffix and suffix not in accepted:
        msg = f"{path} ends in {suffix!r}. Use one of {', '.join(accepted)}."
        raise ValueError(msg)
    return suffix


def _check_readable(path: Path) -> None:
    if not path.exists():
        msg = f"{path} does not exist."
        raise FileNotFoundError(msg)
    if path.is_dir():
        msg = f"{path} is a directory; expected a file."
        raise IsADirectoryError(msg)
    if not os.access(path, os.R_OK):
        msg = f"{path} cannot be read: permission denied."
        raise PermissionError(msg)


def _is_device(path: Path) -> bool:
    """Whether ``path`` is a pipe or device: written to, never replaced."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of ``path`` when all is written."""
    if _is_device(path):
        with path.open("wb") as handle:
            yield handle
        return
    target = Path(os.path.realpath(path))
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        if target.exists():
            shutil.copymode(target, part)
        part.replace(target)
    except OSError as error:
        msg = f"{path} could not be written: {error.strerror or error}."
        raise OSError(msg) from error
    finally:
        part.unlink(missing_ok=True)


def _write_rows(stream, delimiter: str, objects: list, columns: dict) -> None:
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["object", *columns])
    labels = (column.tolist() for column in columns.values())
    writer.writerows(zip(objects, *labels, strict=True))
