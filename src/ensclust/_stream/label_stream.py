"""Labels of a stream, computed block by block on demand."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ensclust._files.archives import HEADER
from ensclust._stream.blocks import Blocks
from ensclust._stream.engines import Dask, call, fold, with_numbers
from ensclust._support.digests import check_unchanged
from ensclust._support.validation import check_path, import_optional
from ensclust._support.whole_files import (
    beside,
    check_writable,
    refuse_input,
    reserve,
    writing,
)

CHUNK = 2**18  # labels per chunk of a Zarr array: 1 MB
_FORMATS = (".npy", ".parquet", ".zarr")


class _Written(NamedTuple):
    """The result of writing some blocks: cluster sizes, and rows to write later."""

    sizes: list[np.ndarray]
    rest: list[tuple[int, np.ndarray]]  # first row and labels, of chunks not yet full


class LabelStream(np.lib.mixins.NDArrayOperatorsMixin):
    """Labels of a stream of blocks.

    Iterating yields the labels of one block after the other; ``np.asarray``, and any
    operator or function of NumPy, gives all of them. Every use is another pass over the
    blocks; nothing of size N is stored.

    Parameters
    ----------
    blocks : Blocks
        The stream.
    works : list of callable
        For each number of clusters, ``work(columns, number)`` returns the labels of a
        block, or raises if the block has changed.
    n_clusters : list of int
        The numbers of clusters.
    starts : list of int
        First row of each block, and the number of all rows.
    names : list of str or None
        Name of the column for each number of clusters; None if there is only one and
        the labels have no columns.

    Attributes
    ----------
    shape : tuple of int
        (N,), or (N, len(n_clusters)) if n_clusters was a list.
    """

    def __init__(
        self,
        blocks: Blocks,
        works: Sequence[Callable],
        n_clusters: list[int],
        starts: list[int],
        *,
        names: list[str] | None = None,
    ):
        self._blocks = blocks
        self._starts = starts
        self.n_clusters = n_clusters
        self.names = names or ["cluster"]
        self.shape = (starts[-1], len(works)) if names else (starts[-1],)
        self.dtype = np.dtype(np.int32)
        self._work = partial(
            _labelled, works=works, several=names is not None, starts=starts
        )

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"LabelStream(shape={self.shape}, blocks={len(self._starts) - 1})"

    def __iter__(self) -> Iterator[np.ndarray]:
        self._blocks.check_unchanged()
        n_rows = 0
        for number, block in with_numbers(self._blocks):
            value = (
                block.load.compute() if hasattr(block.load, "compute") else block.load
            )
            labels = call(self._work, value, number, block.name)
            if labels is not None:
                n_rows += len(labels)
                yield labels
        check_unchanged(0, (n_rows, None), {0: (len(self), None)})

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.concatenate(list(self)).astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc, method, *inputs, **options) -> Any:
        arrays = [np.asarray(x) if isinstance(x, LabelStream) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **options)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def to_dask(self):
        """Return the labels as a lazy Dask array with the blocks as chunks."""
        array = import_optional("dask.array", "the dask engine", "dask")
        parts = Dask().tasks(enumerate(self._blocks), self._work)
        return array.concatenate(
            [
                array.from_delayed(part, (b - a, *self.shape[1:]), np.int32)
                for part, (a, b) in zip(parts, pairwise(self._starts), strict=False)
                if b > a
            ]
        )

    def sizes(self) -> list[np.ndarray]:
        """Return the size of every cluster, for each number of clusters."""
        return fold(
            self._blocks,
            partial(_sizes, work=self._work, n_clusters=self.n_clusters),
            _add_sizes,
        )

    def write(self, path: str | os.PathLike) -> list[np.ndarray]:
        """Write the labels to a file in one pass, whole or not at all.

        Parameters
        ----------
        path : str or path
            Must end in .npy, or in .parquet or .zarr, which become directories: a
            dataset with one file per block, or an array. With Dask, each worker writes
            what it labels, so all workers must have access to the directory.

        Returns
        -------
        list of ndarray
            For each number of clusters, the size of every cluster.
        """
        check_path(path)
        path = Path(path)
        check_output(path, *self._blocks.paths)
        self._blocks.check_unchanged()
        with beside(path) as part:
            put, fill = self._create(path.suffix.lower(), part)
            work = partial(
                _label_and_put,
                work=self._work,
                put=partial(_put, path, put),
                starts=self._starts,
                n_clusters=self.n_clusters,
            )
            return fold(self._blocks, work, partial(_join, fill=fill)).sizes

    def _create(self, suffix: str, part: Path) -> tuple[Callable, Callable | None]:
        """Return functions that write labels to a new file and fill its chunks."""
        if suffix == ".npy":
            np.lib.format.open_memmap(part, "w+", self.dtype, self.shape)
            reserve(part)
            return partial(_put_npy, part), None
        if suffix == ".parquet":
            import_optional("pyarrow.parquet", "writing Parquet", "parquet")
            part.mkdir()
            return partial(_put_parquet, part, self.names), None
        zarr = import_optional("zarr", "writing Zarr", "zarr")
        rows = min(len(self), max(1, CHUNK // len(self.names)))
        zarr.create_array(
            part,
            shape=self.shape,
            chunks=(rows, *self.shape[1:]),
            dtype=self.dtype,
        )
        fill = partial(_fill, part, rows, len(self))
        return partial(_put_zarr, fill), fill


def check_output(path: Path, *sources: Path) -> None:
    """Raise now if labels of ``sources`` could not be written later."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        msg = f"{path} cannot be written in blocks. Use {', '.join(_FORMATS)}."
        raise ValueError(msg)
    for source in sources:
        refuse_input(path, source)
    if path.exists() and suffix != ".npy":
        msg = f"{path} exists, but must become a directory. Delete or rename it."
        raise FileExistsError(msg)
    check_writable(path)


def _labelled(columns, number: int, *, works, several: bool, starts) -> np.ndarray:
    expected = starts[number + 1] - starts[number] if number < len(starts) - 1 else 0
    check_unchanged(number, (len(columns[0]), None), {number: (expected, None)})
    found = [work(columns, number) for work in works]
    return np.column_stack(found) if several else found[0]


def _label_and_put(columns, number: int, *, work, put, starts, n_clusters) -> _Written:
    """Label a block, write the labels, and return cluster sizes."""
    labels = work(columns, number)
    rest = put(number, starts[number], labels) or []
    return _Written(_count(labels, n_clusters), rest)


def _sizes(columns, number: int, *, work: Callable, n_clusters) -> list[np.ndarray]:
    return _count(work(columns, number), n_clusters)


def _count(labels: np.ndarray, n_clusters: list[int]) -> list[np.ndarray]:
    columns = labels.reshape(len(labels), -1).T
    return [
        np.bincount(column[column >= 0], minlength=k)
        for column, k in zip(columns, n_clusters, strict=True)
    ]


def _add_sizes(one: list[np.ndarray], other: list[np.ndarray]) -> list[np.ndarray]:
    return list(map(_sum, one, other))


def _put(path: Path, put: Callable, *block: Any) -> list | None:
    with writing(path):  # else the error would name the block being read
        return put(*block)


def _join(one: _Written, other: _Written, *, fill: Callable | None) -> _Written:
    rest = one.rest + other.rest
    return _Written(_add_sizes(one.sizes, other.sizes), fill(rest) if fill else rest)


def _sum(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sum of two arrays of counts of possibly different length."""
    short, long = sorted((one, other), key=len)
    return long + np.pad(short, (0, len(long) - len(short)))


def _put_npy(part: Path, number: int, start: int, labels: np.ndarray) -> None:
    with HEADER:
        mapped = np.lib.format.open_memmap(part, "r+")
    mapped[start : start + len(labels)] = labels
    mapped.flush()


def _put_parquet(
    part: Path, names: list[str], number: int, start: int, labels: np.ndarray
) -> None:
    pyarrow = import_optional("pyarrow", "writing Parquet", "parquet")
    parquet = import_optional("pyarrow.parquet", "writing Parquet", "parquet")
    columns: dict[str, Any] = {"object": np.arange(start, start + len(labels))}
    columns |= zip(names, labels.reshape(len(labels), -1).T, strict=True)
    parquet.write_table(pyarrow.table(columns), part / f"part-{number:06d}.parquet")


def _put_zarr(fill: Callable, number: int, start: int, labels: np.ndarray) -> list:
    return fill([(start, labels)])


def _fill(part: Path, rows: int, n_objects: int, pieces: list) -> list:
    """Write the chunks that are complete; return the remaining pieces.

    This way no chunk is written by two workers, however blocks and chunks align.
    """
    runs: list[tuple[int, list[np.ndarray]]] = []
    stop = -1
    for start, labels in sorted(pieces, key=lambda piece: piece[0]):
        if start != stop:
            runs.append((start, []))
        runs[-1][1].append(labels)
        stop = start + len(labels)
    rest = []
    for start, parts in runs:
        labels = np.concatenate(parts)
        stop = start + len(labels)
        first = -(-start // rows) * rows
        last = stop if stop == n_objects else stop // rows * rows
        if first < last:
            array = import_optional("zarr", "writing Zarr", "zarr").open_array(
                part, mode="r+"
            )
            array[first:last] = labels[first - start : last - start]
            ends = ((start, labels[: first - start]), (last, labels[last - start :]))
            rest += [(at, left.copy()) for at, left in ends if len(left)]
        else:
            rest.append((start, labels))
    return rest
