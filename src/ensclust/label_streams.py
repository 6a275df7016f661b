"""Labels of a stream: made block by block, when they are asked for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust._replace import beside, check_writable, refuse_input
from ensclust._sources import HEADER
from ensclust._validation import import_optional
from ensclust.passes import call, numbered

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from ensclust.ballots import Solved
    from ensclust.blocks import Blocks
    from ensclust.passes import Engine

_FORMATS = (".npy", ".parquet", ".zarr")


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
    several : bool
        Whether labels have a column for each number of clusters.
    starts : list of int
        First row of each block, and the number of all rows.

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
        several: bool = False,
    ):
        self._blocks = blocks
        self._engine = engine
        self._starts = starts
        self.n_clusters = [one.n_clusters for one in solved]
        self.shape = (starts[-1], len(solved)) if several else (starts[-1],)
        self.dtype = np.dtype(np.int32)
        works = [one.work for one in solved]
        self.work: Callable = partial(_columns, works=works) if several else works[0]

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
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
        from ensclust.distributed import lazy_labels  # noqa: PLC0415  a layer above

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
        path = Path(path)
        suffix = path.suffix.lower()
        check_output(path, self._blocks.path)
        with beside(path) as part:
            self._create(suffix, part)
            put = partial(_PUT[suffix], part)
            work = partial(
                _label_and_put,
                work=self.work,
                put=put,
                starts=self._starts,
                n_clusters=self.n_clusters,
            )
            return self._engine.fold(numbered(self._blocks), work, _add)

    def _create(self, suffix: str, part: Path) -> None:
        if suffix == ".npy":
            np.lib.format.open_memmap(part, "w+", self.dtype, self.shape)
        elif suffix == ".parquet":
            import_optional("pyarrow.parquet", "writing Parquet", "parquet")
            part.mkdir()
        else:
            zarr = import_optional("zarr", "writing Zarr", "zarr")
            # No two blocks may share a chunk, which workers would write at once.
            rows = int(
                np.gcd.reduce([n for n in self._starts[:-1] if n] or [len(self)])
            )
            chunks = (rows, *self.shape[1:])
            zarr.create_array(part, shape=self.shape, chunks=chunks, dtype=self.dtype)


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


def _label_and_put(
    columns, number: int, *, work, put, starts, n_clusters
) -> list[np.ndarray]:
    """Label a block, put the labels where they belong, and return cluster sizes."""
    labels = work(columns, number)
    put(number, starts[number], labels)
    return [
        np.bincount(column[column >= 0], minlength=k)
        for column, k in zip(labels.reshape(len(labels), -1).T, n_clusters, strict=True)
    ]


def _add(one: list, other: list) -> list:
    return [a + b for a, b in zip(one, other, strict=True)]


def _put_npy(part: Path, number: int, start: int, labels: np.ndarray) -> None:
    with HEADER:
        mapped = np.lib.format.open_memmap(part, "r+")
    mapped[start : start + len(labels)] = labels
    mapped.flush()


def _put_parquet(part: Path, number: int, start: int, labels: np.ndarray) -> None:
    pyarrow = import_optional("pyarrow", "writing Parquet", "parquet")
    parquet = import_optional("pyarrow.parquet", "writing Parquet", "parquet")
    columns: dict[str, Any] = {"object": np.arange(start, start + len(labels))}
    if labels.ndim == 1:
        columns["cluster"] = labels
    else:
        columns |= {f"cluster{i + 1}": column for i, column in enumerate(labels.T)}
    parquet.write_table(pyarrow.table(columns), part / f"part-{number:06d}.parquet")


def _put_zarr(part: Path, number: int, start: int, labels: np.ndarray) -> None:
    zarr = import_optional("zarr", "writing Zarr", "zarr")
    zarr.open_array(part, mode="r+")[start : start + len(labels)] = labels


_PUT = {".npy": _put_npy, ".parquet": _put_parquet, ".zarr": _put_zarr}
