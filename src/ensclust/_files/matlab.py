"""MATLAB files: matrices of numbers, by SciPy, or from version 7.3 on by h5py."""

import math
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ensclust._files.sources import Source, from_arrays, in_words
from ensclust._support import memory
from ensclust._support.validation import import_optional

_HEAD = 128  # bytes before the first matrix
_COMPRESSED = 15  # the type of an element that is packed
_STEP = 2**16
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_CLASSES = {"double", "single", "logical", *_INTEGERS}


def open_matlab(path: Path, wanted: Sequence[str], content: str) -> Source:
    """Return a table of a MATLAB file: the matrices that are named, or the only one.

    A matrix beside vectors is taken to be the table, and the vectors, such as the true
    classes, are left out. It is turned round if its columns, not its rows, are as many
    as they have entries.
    """
    with _reading(path):
        with path.open("rb") as file:
            is_hdf = file.read(10).startswith((b"MATLAB 7.3", b"\x89HDF"))
        shapes, load = (_survey_hdf if is_hdf else _survey)(path)
    shapes = {n: shape for n, shape in shapes.items() if len(shape) == 2 and min(shape)}
    if not shapes:
        msg = f"{path} holds no matrix of numbers."
        raise ValueError(msg)
    matrices = [name for name, shape in shapes.items() if min(shape) > 1]
    vectors = {max(shape) for shape in shapes.values() if min(shape) == 1} - {1}
    named = [name for name in shapes if name in wanted]
    if not named and len(matrices) == 1:
        used = matrices
    else:
        used = (
            named or [n for n, shape in shapes.items() if max(shape) > 1] or [*shapes]
        )
    needed = sum(8 * math.prod(shapes[name]) for name in used)
    memory.require(needed, f"reading {path}", "Name fewer matrices (--columns).")
    with _reading(path):
        arrays = {name: np.asarray(array) for name, array in load(used).items()}
    turned = []
    for name, array in arrays.items():
        n_rows, n_columns = array.shape
        if min(array.shape) == 1:
            arrays[name] = array.ravel()
        elif n_rows not in vectors and n_columns in vectors:
            arrays[name] = array.T
            turned.append(name)
    left_out = {name: shape for name, shape in shapes.items() if name not in used}
    note = f"{content} are {', '.join(used)}" + ", turned round" * bool(turned)
    if left_out:
        note += f"; left out: {in_words(left_out)}"
    return from_arrays(path, arrays, named, note="" if named else note)


def _survey(path: Path) -> tuple[dict[str, tuple[int, ...]], Any]:
    """Return the shapes of matrices of numbers, and a function that loads some."""
    from scipy.io import loadmat, matlab, whosmat  # noqa: PLC0415  heavy

    if matlab.matfile_version(path, appendmat=False)[0] == 1:  # version 5
        _check_size(path)
    shapes = {
        name: tuple(map(int, shape))
        for name, shape, kind in whosmat(path, appendmat=False)
        if kind in _CLASSES
    }

    def load(names: list[str]) -> dict[str, np.ndarray]:
        found = loadmat(path, appendmat=False, variable_names=names)
        return {name: _checked(name, found[name], shapes[name]) for name in names}

    return shapes, load


def _check_size(path: Path) -> None:
    """Raise if what is packed in a file does not fit into memory; keep none of it."""
    total = 0
    with path.open("rb") as file:
        order = "big" if file.read(_HEAD)[-2:] == b"MI" else "little"
        while len(tag := file.read(8)) == 8:
            kind = int.from_bytes(tag[:4], order)  # type: ignore[arg-type]
            size = int.from_bytes(tag[4:], order)  # type: ignore[arg-type]
            end = file.tell() + size
            unpacker = zlib.decompressobj()
            while kind == _COMPRESSED and (part := file.read(min(_STEP, size))):
                size -= len(part)
                while part:
                    total += len(unpacker.decompress(part, 16 * _STEP))
                    part = unpacker.unconsumed_tail
                memory.require(total, f"unpacking {path}", "Save its tables as NPY.")
            file.seek(end)


def _survey_hdf(path: Path) -> tuple[dict[str, tuple[int, ...]], Any]:
    """Return the same of a file of version 7.3, whose axes are the other way round."""
    h5py = import_optional("h5py", "reading MATLAB 7.3", "matlab")
    with h5py.File(path, "r") as file:
        shapes = {
            name: tuple(map(int, file[name].shape[::-1]))
            for name in file
            if isinstance(file.get(name, getlink=True), h5py.HardLink)
            and isinstance(file[name], h5py.Dataset)
            and file[name].dtype.kind in "biuf"
            and not (file[name].is_virtual or file[name].external)
            and _class_of(file[name]) in _CLASSES
        }

    def load(names: list[str]) -> dict[str, np.ndarray]:
        with h5py.File(path, "r") as file:
            return {name: file[name][()].T for name in names}

    return shapes, load


def _class_of(dataset: Any) -> str:
    kind = dataset.attrs.get("MATLAB_class", "double")
    return kind.decode() if isinstance(kind, bytes) else str(kind)


def _checked(name: str, array: Any, shape: tuple[int, ...]) -> np.ndarray:
    if array.shape != shape or array.dtype.kind not in "biuf":
        msg = f"matrix {name!r} is {array.dtype} of shape {array.shape}, not {shape}."
        raise ValueError(msg)
    return array


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name the file in whatever SciPy and HDF5 say about what is damaged."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that come twice
            yield
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        msg = f"{path} cannot be read as a MATLAB file: {error}"
        raise ValueError(msg) from error
