"""Tables of features or labels from files, labels back to files.

Every format is read in blocks of rows, so that memory stays near the size of the table
that comes out. Files are written beside their destination and moved there when whole.
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
_ROWS = 4096  # records converted at a time, fewer where they are long
_CELLS = 2**18
_MUCH = "Pass over it in blocks (Blocks(path), --engine blocks), or use fewer columns."
_INDEX = ("", "object")  # names of a first column that holds ids


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
    empty : ndarray of shape (n_objects, n_columns) or None
        Which labels are -1 because their cells are empty; None if no cell is.
    categories : Table or None
        Columns of texts beside features, as labels, with ``categorical="join"``.
    notes : tuple of str
        What the reader took for ids, left out or filled in, in words.
    texts : tuple of list of str or None
        The names that a column of labels holds: label i stands for ``texts[m][i]``.
    """

    values: np.ndarray
    columns: tuple[str, ...]
    ids: list | None = None
    empty: np.ndarray | None = None
    categories: "Table | None" = None
    notes: tuple[str, ...] = ()
    texts: tuple[list[str] | None, ...] = ()

    def labels(self, noise: str) -> np.ndarray:
        """Return labels for ``Ensemble(labels, noise=noise)``; empty cells are none."""
        if noise == "missing" or self.empty is None:
            return self.values
        return np.ma.array(self.values, mask=self.empty)

    def label_columns(self, noise: str) -> list[Any]:
        """Return the columns of labels; names are what the file has, not numbers."""
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
        A CSV, TSV, NPY, NPZ, Parquet, h5ad or MATLAB file, told by its extension; "-"
        is CSV on standard input. CSV and TSV may be packed (.csv.gz, .csv.zst). Text is
        UTF-8, its delimiter one of comma, semicolon, tab and ``|``, or spaces between
        numbers. Of an h5ad file, X is read; of a MATLAB file, the matrix that is named
        in ``columns``, or the only one.
    columns : sequence of str, optional
        Names of the columns to use, in this order; by default all but the ids. In an
        NPZ or MATLAB file the name of a matrix stands for all its columns; in an h5ad
        file so does the name of an entry of obsm, such as X_pca, and other names are
        genes.
    id_column : str, optional
        The column that names the objects. By default the first column of a table if it
        is called "object", as :func:`write_labels` calls it, or has no name, as pandas
        and R write it; the index of a Parquet or h5ad file; else, if no ``columns`` are
        given, a column of texts that are (nearly) all different if it is the first or
        is called so, such as "id", "name" or "cell_id", or of whole numbers that all
        differ if it is called so.
    header : bool, optional
        Whether a text file's first line holds names. By default it does if it has a
        cell that is no number while the rest of that column is, or else cells that
        are no numbers and never come again in their column, or if it is 0, 1, ..., as
        pandas names columns by default (with a warning).
    exclude : sequence of str, optional
        Names of columns to leave out.
    numeric_only : bool
        Leave out columns that hold any text, as ``categorical="drop"``.
    missing : "refuse", "drop" or "impute"
        What to do with objects that have missing cells (empty, NA, NaN, ? and the
        like): raise, leave them out, or put the median of the column in their place.
        Unless they are refused, columns without any value are left out.
    categorical : "refuse", "drop" or "join"
        What to do with columns that hold any text: raise, leave them out, or return
        them as base clusterings, in ``categories`` of the table. Columns with as many
        texts as would make most clusters single objects are left out by both.

    Returns
    -------
    Table
        With float64 values (or float32, where a binary file holds float32).

    Notes
    -----
    Memory is that of the values, the ids and one block of rows. Text is parsed by
    PyArrow where it is installed, at about the speed of pandas, else in about 0.2
    microseconds a cell; the result is the same.

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
            f"{path}: column {table.columns[0]!r} counts the objects. If it names "
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

    Parameters are those of :func:`read_features`, but of an h5ad file the columns of
    obs are read, and ``columns`` must say which of them are clusterings. Where neither
    ``columns`` nor ``id_column`` is given, a column whose values are (nearly) all
    different is taken for the ids if it is the first or is called so, such as "id",
    "name" or "cell_id"; elsewhere it is refused.

    Returns
    -------
    Table
        With values of the smallest signed integer type that holds them. A column of
        whole numbers keeps them; in any other column the distinct texts become 0, 1,
        ... in sorted order. -1, "not clustered", is an empty cell, a negative number,
        or a word that pandas.read_csv takes for missing, such as NA, N/A, NaN, NULL.

    Notes
    -----
    Memory is that of the values (one byte a label where they are below 128), the ids
    and one block of rows.

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
                f"{path}: column {name!r} gives each of the {len(column)} objects a "
                "label of its own. If it names the objects, pass it as id_column."
            )
    return table


def check_output(
    path: str | os.PathLike, *, source: str | os.PathLike | None = None
) -> None:
    """Raise now what would stop :func:`write_labels` from writing to ``path`` later."""
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
        A CSV, TSV, NPY, NPZ, Parquet or h5ad file, told by its extension; "-" is CSV
        on standard output. An NPY file holds the labels only.
    labels : ndarray of shape (n_objects,) or (n_objects, len(names))
        One or more labels per object.
    names : sequence of str
        Names of the label columns.
    ids : sequence, optional
        What the first column, "object", shows; by default 0, 1, ...
    source : str or path, optional
        The h5ad file that the objects come from. An h5ad output is a copy of it with
        the labels as categories in obs. There -1 is a missing value, and clusters are
        numbered by size, as scanpy's are.
    overwrite : bool
        Whether columns of obs that have these names are replaced in the copy. By
        default they are a ValueError.
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
    """Read any format; return the cells, as ``kind`` keeps them, and the ids."""
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
        msg = f"{path} holds {source.choice}. Name those to use in columns (--columns)."
        raise ValueError(msg)
    if not source.n_rows:
        msg = f"{path} holds no objects."
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
                f"{path}: the first line, 0, 1, ..., is taken for names of columns. If "
                "it holds data, say header=False (--no-header)."
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
    """Add what follows the first block: by Arrow, or by records where it cannot."""
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
        cells.notes.append(f"column {name!r} is taken for the names of the objects")
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
    """Whether a column of features numbers the rows, whole numbers without gaps."""
    is_whole = len(column) >= 10 and bool((column == np.floor(column)).all())
    return is_whole and bool((np.diff(np.sort(column)) == 1).all())


def _suffix(path: Path, known: Sequence[str] = _READ) -> str:
    """Return the ending that tells the format; that of text before it was packed."""
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
            f"{path} is a directory; expected a file. With --engine dask, cluster and "
            "consensus read directories of Parquet files and Zarr arrays."
        )
        raise IsADirectoryError(msg)
    if not os.access(path, os.R_OK):
        msg = f"{path} cannot be read: permission denied."
        raise PermissionError(msg)


def _check_copy(path: Path, source: str | os.PathLike | None) -> None:
    """Check that an h5ad output has an h5ad input to be a copy of."""
    h5ad.require_anndata("writing")
    if source is None or Path(source).suffix.lower() != ".h5ad":
        came = "there is none" if source is None else f"the input is {source}"
        msg = f"{path} would be a copy of an h5ad input, but {came}. Write a CSV file."
        raise ValueError(msg)


def labelled_columns(labels: np.ndarray, names: Any, ids: Any) -> tuple[list, dict]:
    """Return the ids and the columns by name, or raise where they do not fit."""
    if labels.ndim not in (1, 2) or not labels.size or labels.dtype.kind not in "iu":
        msg = (
            f"labels has shape {labels.shape} and type {labels.dtype}; expected "
            "integers, a row per object and a column per clustering."
        )
        raise ValueError(msg)
    table = labels.reshape(len(labels), -1)
    _check_length("names", names, table.shape[1])
    if ids is not None:
        _check_length("ids", ids, len(table))
    reserved = ("object", "file", "allow_pickle")  # ids, and words of NumPy
    for name in names:
        if not isinstance(name, str) or name in reserved or list(names).count(name) > 1:
            msg = f"names holds {name!r}. Give texts that differ, and not {reserved}."
            raise ValueError(msg)
    columns = dict(zip(names, table.T, strict=True))
    return list(range(len(table))) if ids is None else _plain(list(ids)), columns


def _check_length(name: str, given: Any, wanted: int) -> None:
    if not hasattr(given, "__len__") or isinstance(given, str):
        msg = f"{name} is of type {type(given).__name__}; expected a list of {wanted}."
        raise TypeError(msg)
    if len(given) != wanted:
        msg = (
            f"{name} has {len(given)} entries; expected {wanted}. Give a name per "
            "column of labels, an id per row."
        )
        raise ValueError(msg)


def write_rows(stream, delimiter: str, objects: list, columns: dict) -> None:
    """Write ids and labels as text."""
    # Python quotes only what ends its own lines, and other programs end theirs at \r.
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
    """Return ids of one kind, which every format can hold: else as text."""
    kinds = (str, numbers.Integral, numbers.Real)
    is_plain = any(all(isinstance(one, kind) for one in ids) for kind in kinds)
    return ids if is_plain else ["" if one is None else str(one) for one in ids]
