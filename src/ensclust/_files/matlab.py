"""MATLAB files of versions 4, 5 and 7.3: matrices of numbers as a table."""

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from ensclust._files.sources import Source, from_arrays, in_words
from ensclust._support import memory
from ensclust._support.quiet import ignoring
from ensclust._support.validation import import_optional

_HEAD = 128  # bytes before the first matrix
_MATRIX, _COMPRESSED = 14, 15  # types of elements
_REAL = range(6, 16)  # classes of matrices: double, single, int8, ..., uint64
_COMPLEX = 0x0800
_TYPES = dict(enumerate(["i1", "u1", "i2", "u2", "i4", "u4", "f4"], 1)) | {
    9: "f8",
    12: "i8",
    13: "u8",
}
_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_CLASSES = {"double", "single", "logical", *_INTEGERS}


def open_matlab(path: Path, wanted: Sequence[str], content: str) -> Source:
    """Return a table of a MATLAB file: the named matrices, or the only one.

    If there is one matrix in addition to vectors, it is the table, and the vectors,
    such as the true classes, are left out. It is transposed if their length matches the
    number of its columns rather than of its rows.
    """
    with _reading(path):
        with path.open("rb") as file:
            is_hdf = file.read(10).startswith((b"MATLAB 7.3", b"\x89HDF"))
        shapes, load = (_survey_hdf if is_hdf else _survey)(path)
    shapes = {n: shape for n, shape in shapes.items() if len(shape) == 2 and min(shape)}
    if not shapes:
        msg = f"{path} contains no matrix of numbers."
        raise ValueError(msg)
    matrices = [name for name, shape in shapes.items() if min(shape) > 1]
    vectors = {max(shape) for shape in shapes.values() if min(shape) == 1} - {1}
    named = [name for name in shapes if name in wanted]
    unknown = [name for name in wanted if not (name in shapes or name.isdecimal())]
    if unknown:
        msg = f"{path} has no matrix {unknown[0]!r}. It contains {in_words(shapes)}."
        raise ValueError(msg)
    if not named and len(matrices) == 1:
        used = matrices
    else:
        used = (
            named or [n for n, shape in shapes.items() if max(shape) > 1] or [*shapes]
        )
    needed = sum(8 * math.prod(shapes[name]) for name in used)
    memory.require(needed, f"reading {path}", "Name fewer matrices (--columns).")
    with _reading(path):
        arrays = load(used)
        for name, array in arrays.items():
            if array.shape != shapes[name] or array.dtype.kind not in "biuf":
                msg = f"{name} is {array.dtype} of shape {array.shape}."
                raise ValueError(msg)
    turned = []
    for name, array in arrays.items():
        n_rows, n_columns = array.shape
        if min(array.shape) == 1:
            arrays[name] = array.ravel()
        elif n_rows not in vectors and n_columns in vectors:
            arrays[name] = array.T
            turned.append(name)
    left_out = {name: shape for name, shape in shapes.items() if name not in used}
    note = f"{content} are {', '.join(used)}" + ", transposed" * bool(turned)
    if left_out:
        note += f"; left out: {in_words(left_out)}"
    return from_arrays(path, arrays, named, note="" if named else note)


def _survey(path: Path) -> tuple[dict[str, tuple[int, ...]], Any]:
    """Return the shapes of matrices of numbers, and a function that loads some."""
    with path.open("rb") as file:
        order = {b"IM": "<", b"MI": ">"}.get(file.read(_HEAD)[-2:])
    if order is None:
        return _survey_old(path)

    def load(names: list[str]) -> dict[str, np.ndarray]:
        found = _matrices(path, order)
        return {name: read(shape) for name, shape, read in found if name in names}

    return {name: shape for name, shape, _ in _matrices(path, order)}, load


def _matrices(path: Path, order: str) -> Iterator[tuple[str, tuple[int, ...], Any]]:
    """Yield name, shape and reader of each matrix of real numbers in version 5.

    Our own reader, since SciPy's crashes the process on some damaged files. A
    matrix is only unpacked when it is read, and only as far as its shape requires.
    """
    with path.open("rb") as file:
        file.seek(_HEAD)
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(f"{order}II", tag)
            end = file.tell() + size
            stream: Any = file
            if kind == _COMPRESSED:
                stream = _Unpacked(file, size)
                kind, _ = struct.unpack(f"{order}II", stream.read(8))
            if kind == _MATRIX:
                flags = struct.unpack(f"{order}II", _part(stream, order, 8)[1])[0]
                dims = _part(stream, order, 256)[1]
                shape = struct.unpack(f"{order}{len(dims) // 4}i", dims)
                name = _part(stream, order, 256)[1].decode()
                if flags & 0xFF in _REAL and not flags & _COMPLEX and min(shape) >= 0:
                    yield name, shape, partial(_read_matrix, stream, order)
            file.seek(end)


def _read_matrix(stream: Any, order: str, shape: tuple[int, ...]) -> np.ndarray:
    kind, content = _part(stream, order, 8 * math.prod(shape))
    if kind not in _TYPES:
        msg = f"its numbers have type {kind}, which does not exist."
        raise ValueError(msg)
    return np.frombuffer(content, order + _TYPES[kind]).reshape(shape, order="F")


def _part(stream: Any, order: str, most: int) -> tuple[int, bytes]:
    """Return type and content of the next part of a matrix, up to ``most`` bytes."""
    tag = stream.read(8)
    kind, size = struct.unpack(f"{order}II", tag)
    if kind >> 16:  # up to four bytes are within the tag
        return kind & 0xFFFF, tag[4 : 4 + min(4, kind >> 16)]
    content = stream.read(size) if size <= most else b""
    if size > most or len(content) < size:
        msg = f"a part of it claims {size:,} bytes; expected at most {most:,}."
        raise ValueError(msg)
    stream.read(-size % 8)  # parts start at multiples of 8
    return kind, content


class _Unpacked:
    """A compressed part of a file, unpacked only as far as it is read."""

    def __init__(self, file: IO[bytes], size: int):
        self._file, self._left = file, size
        self._unpacker = zlib.decompressobj()
        self._packed = b""

    def read(self, size: int) -> bytes:
        """Return the next bytes, fewer at the end."""
        parts = []
        while size:
            if not self._packed:
                self._packed = self._file.read(min(self._left, 2**16))
                self._left -= len(self._packed)
            part = self._unpacker.decompress(self._packed, size)
            is_over = not part and not self._packed
            self._packed = self._unpacker.unconsumed_tail
            if is_over or (not part and self._unpacker.eof):
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _survey_old(path: Path) -> tuple[dict[str, tuple[int, ...]], Any]:
    """Return the same for a file of version 4, using SciPy."""
    from scipy.io import loadmat, matlab, whosmat  # noqa: PLC0415  heavy

    if matlab.matfile_version(path, appendmat=False)[0]:
        msg = "its header is damaged."
        raise ValueError(msg)
    shapes = {
        name: tuple(map(int, shape))
        for name, shape, kind in whosmat(path, appendmat=False)
        if kind in _CLASSES
    }

    def load(names: list[str]) -> dict[str, np.ndarray]:
        found = loadmat(path, appendmat=False, variable_names=names)
        return {name: found[name] for name in names}

    return shapes, load


def _survey_hdf(path: Path) -> tuple[dict[str, tuple[int, ...]], Any]:
    """Return the same for a file of version 7.3, whose axes are reversed."""
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


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Name the file in the errors of SciPy and HDF5."""
    try:
        with ignoring(Warning):  # about duplicate names
            yield
    except ImportError:
        raise
    except Exception as error:
        no_memory = isinstance(error, MemoryError)
        cause = error if str(error) or not no_memory else "it asks for too much memory."
        msg = f"{path} cannot be read as a MATLAB file: {cause}"
        raise (MemoryError if no_memory else ValueError)(msg) from error
