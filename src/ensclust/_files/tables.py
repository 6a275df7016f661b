"""Read tables of features or labels from files, and write labels to files.

Every format is read in blocks of rows, so that memory stays close to the size of the
resulting table. Files are written next to their destination and moved when complete.
"""

import csv
import numbers
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np

from ensclust._files import arrow_text, block_files, h5ad
from ensclust._files.cells import Labels
from ensclust._files.cleaning import check_rules, clean
from ensclust._files.features import Features
from ensclust._files.text import (
    PACKED,
    STDIN,
    Lines,
    Records,
    counts_columns,
    is_header,
    open_lines,
)
from ensclust._support import memory
from ensclust._support.columns import choose_columns
from ensclust._support.encoding import Coded
from ensclust._support.progress import tell
from ensclust._support.validation import check_path, import_optional, unexpected, warn
from ensclust._support.whole_files import (
    check_stdout,
    check_writable,
    refuse_input,
    replacing,
    writing,
)

_TEXT = {"": None, ".csv": None, ".txt": None, ".tsv": "\t", ".tab": "\t"}
_FORMATS = (*filter(None, _TEXT), ".npy", ".npz", ".parquet", ".h5ad")
_READ = (*_FORMATS, ".mat", ".csv.gz", ".csv.zst")
_ROWS = 4096  # records converted at a time, fewer if they are long
_CELLS = 2**18
_MUCH = "Read it in blocks (Blocks(path), --engine blocks), or use fewer columns."
_INDEX = ("", "object")  # names of a first column that holds ids


@dataclass(frozen=True, eq=False)
class Table:
    """The content of a file.

    Attributes
    ----------
    values : ndarray of shape (n_objects, n_columns)
        Features as floats, or labels as integers with -1 for "not clustered".
    columns : tuple of str
        Names of the columns; "1", "2", ... if the file has none.
    ids : list or None
        The cells of the id column, as they are in the file.
    empty : ndarray of shape (n_objects, n_columns) or None
        Which labels are -1 because their cells are empty; None if no cell is.
    categories : Table or None
        Text columns, in addition to the features, as labels; with
        ``categorical="join"``.
    notes : tuple of str
        What the reader used as ids, left out or filled in, in words.
    texts : tuple of list of str or None
        The names in a column of labels: label i stands for ``texts[m][i]``.
    """

    values: np.ndarray
    columns: tuple[str, ...]
    ids: list | None = None
    empty: np.ndarray | None = None
    categories: "Table | None" = None
    notes: tuple[str, ...] = ()
    texts: tuple[list[str] | None, ...] = ()

    def labels(self, noise: str) -> np.ndarray:
        """Return labels for ``Ensemble(..., noise=noise)``; empty cells are masked."""
        if noise == "missing" or self.empty is None:
            return self.values
        return np.ma.array(self.values, mask=self.empty)

    def label_columns(self, noise: str) -> list[Any]:
        """Return the columns of labels, with the names that are in the file."""
        columns: list[Any] = list(self.labels(noise).T)
        for m, names in enumerate(self.texts):
            if names is not None:
                negative = np.ma.filled(columns[m] < 0, fill_value=False)
                if noise == "own-cluster" and negative.any():
                    codes = np.where(negative, len(names), self.values[:, m])
                    columns[m] = Coded(codes, [*names, "-1"])
                else:
                    columns[m] = Coded(self.values[:, m], names)
        return columns


def read_features(
    path: str | os.PathLike,
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    header: bool | None = None,
    exclude: Sequence[str] | None = None,
    numeric_only: bool = False,
    missing: str = "refuse",
    categorical: str = "refuse",
) -> Table:
    r"""Read a table of numbers, one row per object.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, NPY, NPZ, Parquet, h5ad or MATLAB file, recognised by its extension;
        "-" is CSV on standard input. CSV and TSV may be compressed (.csv.gz, .csv.zst).
        Text is UTF-8, delimited by comma, semicolon, tab or ``|``, or by spaces between
        numbers. From an h5ad file, X is read; from a MATLAB file, the matrix named in
        ``columns``, or the only one.
    columns : sequence of str, optional
        Names of the columns to use, in this order; by default all but the ids. In an
        NPZ or MATLAB file, the name of a matrix stands for all its columns. In an h5ad
        file, so does the name of an entry of obsm, such as X_pca; other names are
        genes.
    id_column : str, optional
        The column that names the objects. By default, the first column of a table if it
        is called "object", as :func:`write_labels` does, or has no name, as pandas and
        R do; or the index of a Parquet or h5ad file. Otherwise, if ``columns`` is not
        given: a text column with (nearly) all distinct values if it is the first or
        named like ids, such as "id", "name" or "cell_id", or a column of distinct whole
        numbers if it is named like ids.
    header : bool, optional
        Whether the first line of a text file holds column names. By default it does if
        one of its cells is not a number while the rest of that column is, or if it has
        cells that are not numbers and do not recur in their column, or if it is 0, 1,
        ..., the default column names of pandas (with a warning).
    exclude : sequence of str, optional
        Names of columns to leave out.
    numeric_only : bool
        Leave out columns that contain text, like ``categorical="drop"``.
    missing : "refuse", "drop" or "impute"
        What to do with missing cells (empty, NA, NaN, ? and the like): raise, leave out
        their objects, or fill in the median of the column. Unless they raise, columns
        without any value are left out.
    categorical : "refuse", "drop" or "join"
        What to do with columns that contain text: raise, leave them out, or return them
        as base clusterings, in ``categories`` of the table. Columns with so many values
        that most clusters would be single objects are left out in either case.

    Returns
    -------
    Table
        With float64 values, or float32 if a binary file holds float32.

    Notes
    -----
    Memory is that of the values, the ids and one block of rows. Text is parsed by
    PyArrow if it is installed, at about the speed of pandas, otherwise in about 0.2
    microseconds per cell; the result is the same.

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
    rule = check_rules(
        missing=missing, categorical=categorical, numeric_only=numeric_only
    )
    choice = {"columns": columns, "id_column": id_column, "exclude": exclude}
    cells, ids = read_cells(path, Features, header=header, **choice)
    done = clean(cells, ids, guess=columns is None, missing=missing, categorical=rule)
    joined = None
    if done.joined:
        names, labels = zip(*done.joined, strict=True)
        joined = Table(np.column_stack(labels), names, done.ids)
    values = done.values
    table = Table(
        values, tuple(done.names), done.ids, categories=joined, notes=tuple(done.notes)
    )
    if columns is None and values.shape[1] > 1 and _counts_objects(values[:, 0]):
        warn(
            f"{path}: column {table.columns[0]!r} numbers the objects. If it names "
            "them, pass it as id_column."
        )
    return table


def read_labels(
    path: str | os.PathLike,
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    header: bool | None = None,
    exclude: Sequence[str] | None = None,
) -> Table:
    r"""Read base clusterings, one row per object and one column per clustering.

    Parameters are those of :func:`read_features`, except that from an h5ad file columns
    of obs are read, and ``columns`` must name those that are clusterings. If neither
    ``columns`` nor ``id_column`` is given, a column whose values are (nearly) all
    distinct is used as ids if it is the first or named like ids, such as "id", "name"
    or "cell_id"; otherwise it raises.

    Returns
    -------
    Table
        With values of the smallest signed integer type that holds them. A column of
        whole numbers keeps them; in any other column, the distinct strings become 0, 1,
        ... in sorted order. -1, "not clustered", is an empty cell, a negative number,
        or a word that pandas.read_csv treats as missing, such as NA, N/A, NaN, NULL.

    Notes
    -----
    Memory is that of the values (one byte per label if they are below 128), the ids and
    one block of rows.

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
           [ 2,  1]], dtype=int8)
    """
    choice = {"columns": columns, "id_column": id_column, "exclude": exclude}
    cells, ids = read_cells(path, Labels, header=header, **choice)
    table = _labels_table(cells, ids, guess=columns is None)
    for name, column in zip(table.columns, table.values.T, strict=True):
        if _all_distinct(column):
            warn(
                f"{path}: column {name!r} gives each of the {len(column)} objects its "
                "own label. If it names the objects, pass it as id_column."
            )
    return table


def check_output(
    path: str | os.PathLike, *, source: str | os.PathLike | None = None
) -> None:
    """Raise now if :func:`write_labels` could not write to ``path`` later."""
    check_path(path)
    given, path = os.fspath(path), Path(path)
    if given == "-":
        check_stdout()
        return
    suffix = _suffix(path, _FORMATS)
    if suffix == ".parquet":
        import_optional("pyarrow.parquet", "writing Parquet", "parquet")
    if suffix == ".h5ad":
        _check_copy(path, source)
    refuse_input(path, source)
    check_writable(given)
    if suffix == ".h5ad" and source is not None and Path(source).is_file():
        h5ad.check_table(Path(source))


def write_labels(
    path: str | os.PathLike,
    labels: np.ndarray,
    *,
    names: Sequence[str] = ("cluster",),
    ids: Sequence | None = None,
    source: str | os.PathLike | None = None,
    overwrite: bool = False,
) -> None:
    """Write labels to a file, whole or not at all.

    Parameters
    ----------
    path : str or path
        A CSV, TSV, NPY, NPZ, Parquet or h5ad file, chosen by its extension; "-" is CSV
        on standard output. An NPY file contains only the labels.
    labels : ndarray of shape (n_objects,) or (n_objects, len(names))
        One or more labels per object.
    names : sequence of str
        Names of the label columns.
    ids : sequence, optional
        Values of the first column, "object"; by default 0, 1, ...
    source : str or path, optional
        The h5ad file that the objects come from. An h5ad output is a copy of it with
        the labels as categories in obs, where -1 is a missing value and clusters are
        numbered by size, as in scanpy.
    overwrite : bool
        Whether to replace columns of obs that have these names in the copy. By default
        they raise ValueError.
    """
    check_output(path, source=source)
    labels = np.asarray(labels)
    objects, columns = labelled_columns(labels, names, ids)
    if Path(path).suffix.lower() == ".h5ad":
        h5ad.check_free(Path(source or ""), {"obs": names}, overwrite=overwrite)
    if str(path) == "-":
        with writing("standard output"):
            write_rows(sys.stdout, ",", objects, columns)
            sys.stdout.flush()
        return
    path = Path(path)
    suffix = path.suffix.lower()
    with replacing(path) as handle:
        if suffix == ".npy":
            np.save(handle, labels)
        elif suffix == ".npz":
            arrays: dict[str, Any] = {"object": np.array(objects), **columns}
            np.savez_compressed(handle, **arrays)
        elif suffix == ".parquet":
            parquet = import_optional("pyarrow.parquet", "writing Parquet", "parquet")
            pyarrow = import_optional("pyarrow", "writing Parquet", "parquet")
            parquet.write_table(pyarrow.table({"object": objects, **columns}), handle)
        elif suffix == ".h5ad":
            obs = {name: h5ad.categorical(own) for name, own in columns.items()}
            h5ad.write_copy(Path(source or ""), handle, obs)
        else:
            text = TextIOWrapper(handle, "utf-8", newline="")
            write_rows(text, _TEXT[suffix] or ",", objects, columns)
            text.detach()


def read_cells(
    path, kind, *, columns=None, id_column=None, header=None, exclude=None
) -> tuple[Any, list | None]:
    """Read any format; return the cells as an instance of ``kind``, and the ids."""
    check_path(path)
    if header not in (None, True, False):
        raise unexpected(header, "header", "True, False or None")
    path = STDIN if str(path) == "-" else Path(path)
    suffix = _suffix(path)
    if path != STDIN:
        _check_readable(path)
    if suffix in _TEXT:
        return _read_text(path, kind, header, columns, id_column, exclude)
    wanted = [*(columns or ()), *filter(None, [id_column])]
    source = block_files.open_source(
        path, wanted, "labels" if kind is Labels else "features"
    )
    if source.choice and columns is None:
        msg = f"{path} has {source.choice}. Name those to use in columns (--columns)."
        raise ValueError(msg)
    if not source.n_rows:
        msg = f"{path} contains no objects."
        raise ValueError(msg)
    id_at, used = choose_columns(
        path, source.names, columns, id_column, source.index, source.groups, exclude
    )
    memory.require(
        source.n_rows * len(used) * (1 if kind is Labels else source.width),
        f"the table of {path}",
        _MUCH,
    )
    cells = kind(path, [source.names[i] for i in used])
    cells.notes += [source.note] * bool(source.note)
    ids: list = []
    done = 0
    for block in source.blocks([*used, *([] if id_at is None else [id_at])]):
        cells.add_columns(done, block[: len(used)])
        ids += [] if id_at is None else block[-1].tolist()
        done += len(block[0])
        tell(done, source.n_rows)
    return cells, None if id_at is None else ids


def _read_text(path, kind, header, columns, id_column, exclude) -> tuple:
    with open_lines(path) as lines:
        records = Records(path, lines, _TEXT[_suffix(path)])
        first_line = records.take(1)
        if not first_line:
            msg = f"{path} is empty; expected a table with one row per object."
            raise ValueError(msg)
        first = [cell.strip() for cell in first_line[0][1]]
        n_rows = min(_ROWS, max(256, _CELLS // len(first)))
        block = [*first_line, *records.take(n_rows - 1)]
        rows = [row for _, row in block]
        has_header = is_header(rows) if header is None else header
        if header is None and len(rows) > 1 and counts_columns(rows):
            warn(
                f"{path}: the first line, 0, 1, ..., is used as column names. If it is "
                "data, pass header=False (--no-header)."
            )
        names = first if has_header else [str(i + 1) for i in range(len(first))]
        index = 0 if has_header and len(names) > 1 and names[0] in _INDEX else None
        id_at, used = choose_columns(
            path, names, columns, id_column, index, exclude=exclude
        )
        if has_header and len(block) == 1:
            msg = f"{path} has a header line ({', '.join(first[:5])}) but no objects."
            raise ValueError(msg)
        cells = kind(path, [names[i] for i in used])
        ids: list[str] | None = None if id_at is None else []
        _add_records(block[has_header:], used, id_at, cells, ids)
        _add_rest(records, lines, n_rows, used, id_at, cells, ids)
    return cells, ids


def _add_records(block: list, used: list[int], id_at, cells, ids) -> None:
    rows = [row for _, row in block]
    if id_at is not None:
        ids += [row[id_at].strip() for row in rows]
    if rows and used != list(range(len(rows[0]))):
        rows = [[row[i] for i in used] for row in rows]
    if rows:
        cells.add_rows([line for line, _ in block], rows)


def _add_rest(
    records: Records, lines: Lines, n_rows: int, used: list[int], id_at, cells, ids
) -> None:
    """Add what follows the first block, with Arrow if possible, else by records."""
    while text := lines.piece():
        memory.require(16 * len(text), f"the table of {records.path}", _MUCH)
        is_text = {i: cells.is_text(m) for m, i in enumerate(used)}
        is_text |= {} if id_at is None else {id_at: True}
        columns = arrow_text.parse(text, records.delimiter, records.width, is_text)
        if (
            columns is not None
            and id_at not in used
            and cells.add_parsed(records.line, [columns[i] for i in used])
        ):
            records.skip(len(columns[used[0]]))
            if id_at is not None:
                ids += [text.strip() for text in columns[id_at].to_pylist()]
        else:
            lines.put_back(text)
            _add_records(records.take(n_rows), used, id_at, cells, ids)


def _labels_table(cells: Labels, ids: list | None, *, guess: bool) -> Table:
    """Return the labels that were read; ``guess`` if no columns were named."""
    if guess and (found := cells.take_ids(known=ids is not None)):
        name, ids = found
        cells.notes.append(f"column {name!r} is used as object names")
    values, notes = cells.values(), tuple(cells.notes)
    return Table(
        values,
        tuple(cells.names),
        ids,
        cells.empty,
        notes=notes,
        texts=tuple(cells.texts),
    )


def _all_distinct(column: np.ndarray) -> bool:
    head = column[:1000]
    return (
        len(column) >= 3
        and bool(column.min() >= 0)
        and len(np.unique(head)) == len(head)
        and len(np.unique(column)) == len(column)
    )


def _counts_objects(column: np.ndarray) -> bool:
    """Whether a column of features numbers the rows consecutively."""
    is_whole = len(column) >= 10 and bool((column == np.floor(column)).all())
    return is_whole and bool((np.diff(np.sort(column)) == 1).all())


def _suffix(path: Path, known: Sequence[str] = _READ) -> str:
    """Return the extension that gives the format, without that of compression."""
    suffix = path.suffix.lower()
    if suffix in PACKED and known == _READ:
        inner = Path(path.stem).suffix.lower()
        if inner in _TEXT:
            return inner
        suffix = inner + suffix
    if suffix and suffix not in known:
        msg = f"{path} ends in {suffix!r}. Use one of {', '.join(known)}."
        raise ValueError(msg)
    return suffix


def _check_readable(path: Path) -> None:
    if not path.exists():
        msg = f"{path} does not exist."
        raise FileNotFoundError(msg)
    if path.is_dir():
        msg = (
            f"{path} is a directory; expected a file. With --engine blocks or dask, "
            "cluster and consensus read directories of Parquet files and Zarr arrays."
        )
        raise IsADirectoryError(msg)
    if not os.access(path, os.R_OK):
        msg = f"{path} cannot be read: permission denied."
        raise PermissionError(msg)


def _check_copy(path: Path, source: str | os.PathLike | None) -> None:
    """Check that an h5ad output has an h5ad input to copy."""
    h5ad.require_anndata("writing")
    if source is None or Path(source).suffix.lower() != ".h5ad":
        came = "there is none" if source is None else f"the input is {source}"
        msg = f"{path} would be a copy of an h5ad input, but {came}. Write a CSV file."
        raise ValueError(msg)


def labelled_columns(labels: np.ndarray, names: Any, ids: Any) -> tuple[list, dict]:
    """Return the ids and the columns by name, or raise if they do not match."""
    if labels.ndim not in (1, 2) or not labels.size or labels.dtype.kind not in "iu":
        msg = (
            f"labels has shape {labels.shape} and type {labels.dtype}; expected "
            "integers, one row per object and one column per clustering."
        )
        raise ValueError(msg)
    table = labels.reshape(len(labels), -1)
    _check_length("names", names, table.shape[1])
    if ids is not None:
        _check_length("ids", ids, len(table))
    reserved = ("object", "file", "allow_pickle")  # ids, and keywords of NumPy
    for name in names:
        if not isinstance(name, str) or name in reserved or list(names).count(name) > 1:
            msg = f"names contains {name!r}. Use distinct strings, not {reserved}."
            raise ValueError(msg)
    columns = dict(zip(names, table.T, strict=True))
    return list(range(len(table))) if ids is None else _plain(list(ids)), columns


def _check_length(name: str, given: Any, wanted: int) -> None:
    if not hasattr(given, "__len__") or isinstance(given, str):
        msg = f"{name} is of type {type(given).__name__}; expected a list of {wanted}."
        raise TypeError(msg)
    if len(given) != wanted:
        msg = (
            f"{name} has {len(given)} entries; expected {wanted}. Pass one name per "
            "column of labels and one id per row."
        )
        raise ValueError(msg)


def write_rows(stream, delimiter: str, objects: list, columns: dict) -> None:
    """Write ids and labels as text."""
    # Python only quotes its own line ends, but other programs end lines at \r.
    texts = (text for text in [*columns, *objects] if isinstance(text, str))
    is_split = any("\r" in text for text in texts)
    writer = csv.writer(
        stream,
        delimiter=delimiter,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if is_split else csv.QUOTE_MINIMAL,
    )
    writer.writerow(["object", *columns])
    writer.writerows(
        zip(objects, *(column.tolist() for column in columns.values()), strict=True)
    )


def _plain(ids: list) -> list:
    """Return ids of one kind, which every format can hold, else as strings."""
    kinds = (str, numbers.Integral, numbers.Real)
    is_plain = any(all(isinstance(one, kind) for one in ids) for kind in kinds)
    return ids if is_plain else ["" if one is None else str(one) for one in ids]
