"""Blocks: a table as a stream of row blocks that can be read independently."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, pairwise
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import label_columns
from ensclust._files import block_files, sources, zarr_arrays
from ensclust._files.block_files import KINDS
from ensclust._support.digests import digest
from ensclust._support.kinds import is_dask_array
from ensclust._support.validation import check_choice, check_integer, import_optional

CELLS = 2**23  # cells per block: 64 MB of int64


@dataclass(frozen=True)
class Block:
    """Some rows of a table.

    Attributes
    ----------
    name : str
        Where they come from, for messages.
    load : callable, or delayed value
        Returns their columns; it can be sent to another process.
    n_rows : int or None
        How many there are, if known.
    identity : str
        Identifies them across runs; empty if that is not possible.
    """

    name: str
    load: Any
    n_rows: int | None = None
    identity: str = ""


class Blocks:
    """A table of N rows that is never in memory as a whole.

    Parameters
    ----------
    source : path, array, list of arrays, callable or Blocks
        An .npy, .parquet or .h5ad file; a directory of Parquet files, read in the order
        of their names, or of a Zarr array; a Dask, Zarr or NumPy array (memory-mapped
        or not); a list of arrays; or a function without arguments that returns an
        iterator of arrays. Every pass calls the function again; a bare generator, which
        would be empty in the second pass, raises. A block whose rows differ from those
        of the previous pass raises with its name.
    rows : int or None, default=None
        Rows per block, if the source leaves a choice; None means about 2^23 cells, in
        whole row groups or chunks. Never changes a result.
    columns : sequence of str or None
        Names of the columns of a file to use, as in :func:`ensclust.io.read_labels`;
        required for an h5ad file.
    id_column : str or None
        The column of a file that names the objects, which is left out.
    content : "labels" or "features", default="labels"
        What a file holds.
    engine : "blocks" or "dask", default="blocks"
        What reads the blocks: this process, one after the other, or Dask, with the
        active scheduler; blocks of a Dask array always use Dask.

    Attributes
    ----------
    engine : str
        As above.
    paths : list of Path
        The files or directories that are read, if known.
    names : list of str or None
        Names of the columns of files; None for anything else.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 1], [0, 0], [1, 0], [1, 1]])
    >>> Blocks(labels, rows=3)
    Blocks(blocks=2, engine='blocks')
    >>> [block.name for block in Blocks(labels, rows=3)]
    ['rows 1 to 3', 'rows 4 to 4']
    """

    is_stream = True

    def __init__(
        self,
        source: Any,
        *,
        rows: int | None = None,
        columns: Sequence[str] | None = None,
        id_column: str | None = None,
        content: str = "labels",
        engine: str = "blocks",
    ):
        self.engine = check_choice(engine, "engine", ("blocks", "dask"))
        check_choice(content, "content", ("labels", "features"))
        _check_use(source, rows=rows, columns=columns, id_column=id_column)
        self.paths: list[Path] = []
        self.names: list[str] | None = None
        self._list: list[Block] = []
        self._stamps: list[tuple[str, int, int]] = []
        self._content = content
        # What the function returned, and how many blocks; shared by all copies.
        self._last: list = [None, None]
        self._function: Callable | None = None
        self._maps: tuple[Callable, ...] = ()  # applied to the function's blocks
        if isinstance(source, Blocks):
            self.__dict__.update(source.__dict__)
            self.engine = "dask" if engine == "dask" else source.engine
        elif isinstance(source, str | os.PathLike):
            self._open(Path(source), rows, columns, id_column, content)
        elif is_dask_array(source):
            self._take_dask(source)
        elif isinstance(source, Generator):
            msg = (
                "labels is a generator, which can be iterated only once. Pass the "
                "function that makes it: consensus(make_blocks, ...), not "
                "consensus(make_blocks(), ...)."
            )
            raise TypeError(msg)
        elif callable(source):
            self._function = _without_arguments(source)
        elif hasattr(source, "shape"):
            self._take_array(source, rows)
        elif isinstance(source, list | tuple):
            self._list = _number(source)
        else:
            msg = f"{type(source).__name__} is not a stream of blocks. Pass {KINDS}."
            raise TypeError(msg)
        if self._function is not None and self.engine == "dask":
            msg = (
                'engine="dask" needs blocks that can be read in any order, which a '
                "function cannot provide. Pass files, or a Dask array."
            )
            raise ValueError(msg)

    def __repr__(self) -> str:
        n = "unknown" if self._function else len(self._list)
        of = "".join(f"{str(path)!r}, " for path in self.paths[:3])
        more = "..., " if len(self.paths) > 3 else ""
        return f"Blocks({of}{more}blocks={n}, engine={self.engine!r})"

    def __iter__(self) -> Iterator[Block]:
        if self._function is None:
            return iter(self._list)
        arrays = self._function()
        if hasattr(arrays, "__next__") and arrays is self._last[0]:
            msg = (
                f"{self._function!r} returned the same iterator twice, which can be "
                "iterated only once. It must return a new one each time."
            )
            raise TypeError(msg)
        self._last[0] = arrays
        return self._from_function(arrays)

    def _from_function(self, arrays: Any) -> Iterator[Block]:
        """Yield the blocks that a function returned, naming one that fails."""
        if not hasattr(arrays, "__iter__"):
            msg = f"{self._function!r} returned {type(arrays).__name__}. Pass {KINDS}."
            raise TypeError(msg)
        i, left = 0, iter(arrays)
        while True:
            try:
                array = next(left)
            except StopIteration:
                break
            except Exception as error:
                msg = f"block {i + 1}: {type(error).__name__}: {error}"
                raise ValueError(msg) from error
            load = partial(columns_of, array)
            for function in self._maps:
                load = _then(function, load, i)
            i += 1
            yield Block(f"block {i}", load)
        if self._last[1] not in (None, i):
            msg = (
                f"got {i} blocks; the previous pass had {self._last[1]}. A stream must "
                "yield the same rows in every pass."
            )
            raise ValueError(msg)
        self._last[1] = i

    @property
    def n_blocks(self) -> int | None:
        """The number of blocks; None if a function makes them."""
        return len(self._list) if self._function is None else None

    def __len__(self) -> int:
        """Return the number of blocks, or raise if it is unknown."""
        if self._function is not None:
            msg = f"{self!r} has no length: a function makes its blocks."
            raise TypeError(msg)
        return len(self._list)

    def __bool__(self) -> bool:
        return True

    def check_unchanged(self) -> None:
        """Raise if a file has changed since it was opened."""
        for name, *stamp in self._stamps:
            path = Path(name)
            if not path.exists() or list(block_files.stamp(path)) != stamp:
                msg = (
                    f"{name} has changed since it was opened, so its counts are no "
                    "longer valid. Open it again."
                )
                raise ValueError(msg)

    def concat(self, *others: Any) -> Blocks:
        """Return the stream with more rows of the same clusterings.

        Parameters
        ----------
        *others : Blocks, or any source for them
            More rows, with the same columns in the same order; equal label values are
            the same base cluster. If one of them uses Dask, the result does.

        Notes
        -----
        With ``checkpoint=``, a fit to the longer stream starts from the counts saved by
        a fit to some of its files, and only counts the blocks of the others.

        More clusterings of the same objects cannot be joined to a stream, because the
        pairs of old and new base clusters have not been counted. Write all columns to
        one source; in memory, use :meth:`ensclust.Ensemble.join`.

        Examples
        --------
        >>> import numpy as np
        >>> Blocks(np.array([[0, 1], [1, 1]])).concat(np.array([[2, 1]]))
        Blocks(blocks=2, engine='blocks')
        """
        make = partial(Blocks, content=self._content, engine=self.engine)
        parts = [self, *map(make, others)]
        whole = copy(self)
        for part in parts:
            if part._function is not None:
                msg = (
                    f"{part!r} cannot be concatenated: a function makes its blocks. "
                    "Make the function return the other blocks too."
                )
                raise ValueError(msg)
            whole.names = whole.names or part.names
            if part.names and whole.names and part.names != whole.names:
                raise block_files.other_columns(part, part.names, self, whole.names)
        blocks = enumerate((block for part in parts for block in part), start=1)
        whole._list = [
            block if block.identity else replace(block, name=f"block {i}")
            for i, block in blocks
        ]
        whole._stamps = [stamp for part in parts for stamp in part._stamps]
        whole.paths = [path for part in parts for path in part.paths]
        if any(part.engine == "dask" for part in parts):
            whole.engine = "dask"
        return whole

    @property
    def path(self) -> Path | None:
        """The file or directory that is read; None if unknown or several."""
        return self.paths[0] if len(self.paths) == 1 else None

    @property
    def identity(self) -> list[str] | None:
        """What identifies each block across runs; None if that is not possible."""
        known = [block.identity for block in self._list]
        return known if self._function is None and all(known) else None

    def map(self, function: Callable) -> Blocks:
        """Return the stream of ``function(columns, number)``, which makes labels.

        ``function`` takes the columns of a block and its number, returns a list of
        columns, and can be sent to another process.
        """
        other = copy(self)
        other._maps = (*self._maps, function)
        other._list = [
            replace(block, load=_then(function, block.load, number), identity="")
            for number, block in enumerate(self._list)
        ]
        return other

    def to_dask(self, n_columns: int) -> Any:
        """Return integer labels as a lazy Dask array; chunk sizes may be unknown."""
        array = import_optional("dask.array", "the dask engine", "dask")
        delayed = import_optional("dask", "the dask engine", "dask").delayed
        return array.concatenate(
            [
                array.from_delayed(
                    delayed(_stack)(block.load),
                    (nan if block.n_rows is None else block.n_rows, n_columns),
                    int,
                )
                for block in self
            ],
            allow_unknown_chunksizes=True,
        )

    def _open(self, path, rows, columns, id_column, content) -> None:
        if zarr_arrays.is_zarr(path):
            files = sorted(file for file in path.rglob("*") if file.is_file())
            known = _identity(files)
            self._take_array(zarr_arrays.open_array(path), rows, f"{path}, ")
            self._list = [
                replace(block, identity=f"{block.name}: {known}")
                for block in self._list
            ]
        else:
            files = block_files.find(path)
            names = None
            for file in files:
                source = block_files.open_source(file, columns, content)
                used = block_files.choose(file, source, columns, id_column)
                own = [source.names[i] for i in used]
                names = names or own
                if sorted(own) != sorted(names):
                    raise block_files.other_columns(file, own, files[0], names)
                if own != names:
                    used = [source.names.index(name) for name in names]
                edges = block_files.edges(source, _step(rows, len(used), 1))
                known = _identity([file], content, names)
                for a, b in pairwise(edges):
                    load = partial(block_files.load, file, columns, content, used, a, b)
                    name = f"{file}, {_rows(a, b)}"
                    self._list.append(Block(name, load, b - a, f"{name}: {known}"))
            self.names = names
        self.paths = [path]
        self._stamps = [_stamp(file) for file in files]

    def _take_dask(self, array) -> None:
        if array.ndim != 2 or not array.shape[1]:
            msg = (
                f"labels is a Dask array of shape {array.shape}; expected two "
                "dimensions, with one row per object."
            )
            raise ValueError(msg)
        whole = array.rechunk({1: -1})
        spans = pairwise([0, *accumulate(whole.chunks[0])])
        parts = zip(whole.to_delayed().ravel(), spans, strict=True)
        self._list = [
            Block(f"block {i}", part)  # chunk sizes may be unknown
            if isnan(b)
            else Block(f"block {i}, {_rows(int(a), int(b))}", part, int(b - a))
            for i, (part, (a, b)) in enumerate(parts, start=1)
        ]
        self.engine = "dask"

    def _take_array(self, array: Any, rows: int | None, prefix: str = "") -> None:
        if len(array.shape) != 2 or 0 in array.shape:
            msg = (
                f"got an array of shape {array.shape}; expected one row per object, "
                "with at least one row and one column."
            )
            raise ValueError(msg)
        if (file := sources.whole_file(array)) is not None:
            return self._open(file, rows, None, None, "")  # quicker to send
        mapped = getattr(array, "filename", None)
        self.paths = [Path(mapped)] if mapped else []
        pieces = getattr(array, "chunks", None)
        step = _step(rows, array.shape[1], pieces[0] if pieces else 1)
        spans = pairwise([*range(0, array.shape[0], step), array.shape[0]])
        here = isinstance(array, np.ndarray)  # then only the rows of a block are sent
        self._list = [
            Block(
                f"{prefix}{_rows(a, b)}",
                partial(columns_of, array[a:b])
                if here
                else partial(_slice, array, a, b),
                b - a,
            )
            for a, b in spans
        ]
        return None


def as_blocks(value: Any, content: str = "labels") -> Blocks:
    """Return Blocks unchanged, anything else as Blocks."""
    return value if isinstance(value, Blocks) else Blocks(value, content=content)


def _identity(files: list[Path], *use: Any) -> str:
    """Return what identifies files and how they are used."""
    return digest(repr(([_stamp(file) for file in files], use)).encode())


def _stamp(file: Path) -> tuple[str, int, int]:
    return str(file), *block_files.stamp(file)


def columns_of(value: Any) -> list[Any]:
    """Return the columns of one block, each contiguous in memory."""
    is_plain = isinstance(value, np.ndarray) and not np.ma.isMaskedArray(value)
    if is_plain and value.ndim == 2 and 0 not in value.shape:
        return list(np.ascontiguousarray(value.T))
    return label_columns(value)


def _then(function: Callable, load: Any, number: int) -> Any:
    if not hasattr(load, "dask"):
        return partial(_apply, function, load, number)
    delayed = import_optional("dask", "the dask engine", "dask").delayed
    return delayed(_apply)(function, load, number)


def _apply(function: Callable, load: Any, number: int) -> list[np.ndarray]:
    return function(load() if callable(load) else columns_of(load), number)


def _stack(load: Any) -> np.ndarray:
    return np.column_stack(load() if callable(load) else load).astype(int, copy=False)


def _number(arrays: Sequence) -> list[Block]:
    if not arrays:
        msg = f"got an empty list. Pass {KINDS}."
        raise ValueError(msg)
    return [
        Block(f"block {i + 1}", partial(columns_of, array))
        for i, array in enumerate(arrays)
    ]


def _check_use(source: Any, **given: Any) -> None:
    """Raise for arguments that come too late for a source, or are for files only."""
    if isinstance(source, str | os.PathLike):
        return
    for name, value in given.items():
        if value is not None and isinstance(source, Blocks):
            msg = (
                f"{name}={value!r} is too late for Blocks. Pass it where they are made."
            )
            raise ValueError(msg)
        if value is not None and name != "rows":
            msg = f"{name}={value!r} is for files; got {type(source).__name__}."
            raise ValueError(msg)


def _without_arguments(function: Callable) -> Callable:
    try:
        inspect.signature(function).bind()
    except TypeError as error:
        msg = f"{function!r} needs arguments ({error}). Pass {KINDS}."
        raise TypeError(msg) from error
    except ValueError:  # some functions in C have no signature
        pass
    return function


def _step(rows: int | None, n_columns: int, piece: int) -> int:
    """Return the rows per block, in whole pieces unless given by the user."""
    usual = max(1, CELLS // n_columns // piece) * piece
    return usual if rows is None else check_integer(rows, "rows")


def _slice(array: Any, a: int, b: int) -> list[np.ndarray]:
    return columns_of(np.asarray(array[a:b]))


def _rows(a: int, b: int) -> str:
    return f"rows {a + 1} to {b}"
