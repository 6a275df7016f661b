"""Files as blocks of rows: which files, which columns, where blocks begin and end."""

from itertools import accumulate
from pathlib import Path
from typing import Any

from ensclust._files import h5ad, matlab, sources
from ensclust._support.columns import choose_columns
from ensclust._support.containers import as_features, joined

KINDS = (
    "the path of an .npy, .parquet or .h5ad file, of a directory of Parquet files or "
    "of a Zarr array; a Dask, Zarr or NumPy array; a list of arrays; or a function "
    "without arguments that returns an iterator of arrays"
)


def find(path: Path) -> list[Path]:
    """Return the files of a dataset, in the order of their names."""
    if not path.exists():
        msg = f"{path} does not exist."
        raise FileNotFoundError(msg)
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        msg = f"{path} is a directory without .parquet files. Pass {KINDS}."
        raise ValueError(msg)
    for file in files:
        if file.suffix.lower() not in (".npy", ".parquet", ".h5ad"):
            msg = (
                f"{file} cannot be read in blocks. Pass {KINDS}; or leave the engine "
                "out, which reads the whole file into memory."
            )
            raise ValueError(msg)
    return files


def stamp(path: Path) -> tuple[int, int]:
    """Return what distinguishes a file from another that has replaced it."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def choose(path: Path, source: sources.Source, columns, id_column) -> list[int]:
    """Return the positions of the columns to use."""
    if source.choice and columns is None:
        msg = f"{path} has {source.choice}. Name those to use in columns (--columns)."
        raise ValueError(msg)
    return choose_columns(
        path, source.names, columns, id_column, source.index, source.groups
    )[1]


def other_columns(file: Any, own: list, first: Any, names: list) -> ValueError:
    """Return the error for a source whose columns differ from those of the first."""
    found, wanted = (
        ", ".join(some[:20]) + ", ..." * (len(some) > 20) for some in (own, names)
    )
    return ValueError(
        f"{file} has the columns {found}; {first} has {wanted}. Name those to use in "
        "columns (--columns)."
    )


def open_source(path: Path, columns, content: str) -> sources.Source:
    """Return the source of a file."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return sources.open_parquet(path)
    if suffix == ".mat":
        return matlab.open_matlab(path, columns or (), content)
    if suffix != ".h5ad":
        return sources.open_numpy(path, columns or ())
    return (
        h5ad.open_labels(path)
        if content == "labels"
        else h5ad.open_features(path, columns or ())
    )


def load(path: Path, columns, content, used: list[int], a: int, b: int) -> list:
    """Return some columns of the rows from ``a`` to ``b``."""
    parts = list(open_source(path, columns, content).blocks(used, range(a, b)))
    columns = list(map(joined, zip(*parts, strict=True)))
    return columns if content == "labels" else list(map(as_features, columns))


def edges(source: sources.Source, step: int) -> list[int]:
    """Return the boundaries of blocks: those of row groups, unless too large."""
    edges, last = [0], 0
    for end in list(accumulate(source.pieces)) or [source.n_rows]:
        if end - edges[-1] > step and last > edges[-1]:
            edges.append(last)
        edges += range(edges[-1] + step, end, step)
        last = end
    return edges if edges[-1] == last else [*edges, last]
