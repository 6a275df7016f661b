"""Labels of a stream: made block by block, when they are asked for."""

from __future__ import annotations

from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from ensclust._files.archives import HEADER
from ensclust._generate import block_generation
from ensclust._stream.ballots import Solved
from ensclust._stream.blocks import Blocks
from ensclust._stream.passes import call, engine_of, numbered
from ensclust._support.validation import check_path, import_optional
from ensclust._support.whole_files import (
    beside,
    check_writable,
    refuse_input,
    reserve,
    writing,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from ensclust._generate.generation import EnsembleGenerator
    from ensclust._stream.passes import Engine

CHUNK = 2**18  # labels per chunk of a Zarr array: 1 MB
_FORMATS = (".npy", ".parquet", ".zarr")


class _Written(NamedTuple):
    """What came of writing some blocks: cluster sizes, and rows to be written later."""

    sizes: list[np.ndarray]
    rest: list[tuple[int, np.ndarray]]  # first row and labels, of chunks not yet full


class LabelStream:
    """Consensus labels of a stream of blocks.

    Iterating gives the labels of one block after the other, ``np.asarray`` all of them.
    Every use is one more pass over the blocks; nothing of size N is kept.

    Parameters
    ----------
    blocks, engine : Blocks, Engine
        The stream, and who passes over it.
    solved : list of Solved
        How each block gets its labels, for each number of clusters.
    starts : list of int
        First row of each block, and the number of all rows.
    names : list of str or None
        Name of the column for each number of clusters; None where there is only one,
        and labels have no columns.

    Attributes
    ----------
    shape : tuple of int
        (N,), or (N, len(n_clusters)) where n_clusters was a list.
    """

    def __init__(
        self,
        blocks: Blocks,
        engine: Engine,
        solved: list[Solved],
        starts: list[int],
        *,
        names: list[str] | None = None,
    ):
        self._blocks = blocks
        self._engine = engine
        self._starts = starts
        self.n_clusters = [one.n_clusters for one in solved]
        self.names = names or ["cluster"]
        self.shape = (starts[-1], len(solved)) if names else (starts[-1],)
        self.dtype = np.dtype(np.int32)
        works = [one.work for one in solved]
        self.work: Callable = partial(_columns, works=works) if names else works[0]

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"LabelStream(shape={self.shape}, blocks={len(self._starts) - 1})"

    def __iter__(self) -> Iterator[np.ndarray]:
        self._blocks.check_unchanged()
        for number, block in numbered(self._blocks):
            lazy = hasattr(block.load, "compute")
            value = block.load.compute() if lazy else block.load
            labels = call(self.work, value, number, block.name)
            if labels is not None:
                yield labels

    def __array__(self, dtype=None, copy=None) -> np.ndarray:
        return np.concatenate(list(self)).astype(dtype or self.dtype, copy=False)

    def to_dask(self):
        """Return the labels as a lazy Dask array with the blocks as chunks."""
        from ensclust._stream.distributed import lazy_labels  # noqa: PLC0415  a layer above

        return lazy_labels(self._blocks, self.work, self.shape, self._starts)

    def write(self, path: str | os.PathLike) -> list[np.ndarray]:
        """Write the labels to a file in one pass, whole or not at all.

        Parameters
        ----------
        path : str or path
            Ends in .npy; or in .parquet or .zarr, which become directories: a dataset
            with a file for each block, or an array. With Dask, each worker writes what
            it labels, so workers must reach the same directory.

        Returns
        -------
        list of ndarray
            For each number of clusters the number of objects of every cluster.
        """
        check_path(path)
        path = Path(path)
        suffix = path.suffix.lower()
        check_output(path, self._blocks.path)
        self._blocks.check_unchanged()
        with beside(path) as part:
            put, fill = self._create(suffix, part)
            work = partial(
                _label_and_put,
                work=self.work,
                put=partial(_put, path, put),
                starts=self._starts,
                n_clusters=self.n_clusters,
            )
            combine = partial(_join, fill=fill)
            return self._engine.fold(numbered(self._blocks), work, combine).sizes

    def _create(self, suffix: str, part: Path) -> tuple[Callable, Callable | None]:
        """Return what puts labels into a new file, and what fills chunks of one."""
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
        chunks = (rows, *self.shape[1:])
        zarr.create_array(part, shape=self.shape, chunks=chunks, dtype=self.dtype)
        fill = partial(_fill, part, rows, len(self))
        return partial(_put_zarr, fill), fill


def check_output(path: Path, source: Path | None) -> None:
    """Raise now what would stop labels of ``source`` from being written later."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        msg = f"{path} cannot be written in blocks. Use {', '.join(_FORMATS)}."
        raise ValueError(msg)
    refuse_input(path, source)
    if path.exists() and suffix != ".npy":
        msg = f"{path} exists, and would become a directory. Delete it or name another."
        raise FileExistsError(msg)
    check_writable(path)


def _columns(columns, number: int, *, works: list) -> np.ndarray:
    return np.column_stack([work(columns, number) for work in works])


def _label_and_put(columns, number: int, *, work, put, starts, n_clusters) -> _Written:
    """Label a block, put the labels where they belong, and return cluster sizes."""
    labels = work(columns, number)
    if len(labels) != (expected := starts[number + 1] - starts[number]):
        msg = f"{len(labels)} rows came; there were {expected} in the pass before."
        raise ValueError(msg)
    rest = put(number, starts[number], labels)
    sizes = [
        np.bincount(column[column >= 0], minlength=k)
        for column, k in zip(labels.reshape(len(labels), -1).T, n_clusters, strict=True)
    ]
    return _Written(sizes, rest or [])


def _put(path: Path, put: Callable, *block: Any) -> list | None:
    with writing(path):  # or the error would name the block that is read
        return put(*block)


def _join(one: _Written, other: _Written, *, fill: Callable | None) -> _Written:
    sizes = [_sum(a, b) for a, b in zip(one.sizes, other.sizes, strict=True)]
    rest = one.rest + other.rest
    return _Written(sizes, fill(rest) if fill else rest)


def _sum(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the sum of two counts of which one may be longer."""
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
    """Write the chunks that pieces of labels fill; return what is left of them.

    So no chunk is written by two workers, however blocks and chunks lie.
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
            zarr = import_optional("zarr", "writing Zarr", "zarr")
            whole = labels[first - start : last - start]
            zarr.open_array(part, mode="r+")[first:last] = whole
            ends = ((start, labels[: first - start]), (last, labels[last - start :]))
            rest += [(at, left.copy()) for at, left in ends if len(left)]
        else:
            rest.append((start, labels))
    return rest


def write_generated(generator: EnsembleGenerator, X: Any, path: Any) -> Blocks:
    """Fit a generator and write its labels block by block; return Blocks of the file.

    Memory one block of features and its labels.
    """
    if sparse.issparse(X):
        msg = (
            "X is sparse, which out= does not take. Leave it out, or pass the rows as "
            "dense blocks."
        )
        raise ValueError(msg)
    check_path(path)
    blocks = Blocks(X, content="features")
    check_output(Path(path), blocks.path)
    known = block_generation.survey(blocks)
    labels = block_generation.fit(generator, blocks, known).stream_
    solved = [Solved(partial(_column, m=m), 0) for m in range(len(generator.models_))]
    names = [f"clustering{m}" for m in range(len(solved))]
    starts = [0, *accumulate(known.lengths[i] for i in sorted(known.lengths))]
    LabelStream(labels, engine_of(blocks), solved, starts, names=names).write(path)
    return Blocks(path)


def _column(columns, number: int, *, m: int) -> np.ndarray:
    return columns[m]
