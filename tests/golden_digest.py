"""A digest of the outputs of the published codes, for clones without them.

``python tests/golden_digest.py`` writes ``golden_digest.xz`` from the outputs: labels
and vectors unchanged, and 16 projections of every other matrix. The first line of the
unpacked content is JSON: the type, shape and position of each array that follows.
"""

import hashlib
import json
import lzma
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).with_suffix(".xz")
N_PROJECTIONS = 16


def is_whole(key: str, values: np.ndarray) -> bool:
    """Whether an array is stored unchanged: labels, vectors, and small arrays."""
    is_plain = values.dtype.kind in "iubU" or values.ndim < 2
    return "labels" in key or values.size <= (40_000 if is_plain else 1000)


def projections(matrix: np.ndarray) -> np.ndarray:
    """Return products of a matrix with random unit vectors from both sides, (16,).

    What is not given (NaN) counts as 0.
    """
    matrix = np.nan_to_num(matrix.reshape(len(matrix), -1).astype(np.float64))
    rng = np.random.default_rng(matrix.shape)
    left, right = (rng.normal(size=(n, N_PROJECTIONS)) for n in matrix.shape)
    left, right = (side / np.linalg.norm(side, axis=0) for side in (left, right))
    return np.einsum("ip,ip->p", left, matrix @ right)


def digest(outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return what is stored of the arrays of one file."""
    kept = {}
    for key, values in outputs.items():
        if is_whole(key, values):
            kept[key] = values
        elif key.endswith("_fragments"):  # those within one are given for some only
            between = np.where(np.eye(len(values)), np.nan, values)
            kept[f"{key} projected"] = projections(between)
            kept[f"{key} diagonal"] = np.diag(values)
        else:
            kept[f"{key} projected"] = projections(values)
    return kept


def difference(ours: np.ndarray, outputs: Mapping[str, np.ndarray], key: str) -> float:
    """Return the largest difference from a matrix, or from its projections.

    What one of the two does not give (NaN) is not compared.
    """
    projected = f"{key} projected"
    if isinstance(outputs, Digest) and projected in set(outputs):
        return np.abs(projections(ours) - outputs[projected]).max()
    return np.nanmax(np.abs(ours - outputs[key]))


def diagonal(outputs: Mapping[str, np.ndarray], key: str) -> np.ndarray:
    """Return the similarities within fragments."""
    is_kept = isinstance(outputs, Digest)
    return outputs[f"{key} diagonal"] if is_kept else np.diag(outputs[key])


@cache
def _stored() -> dict[str, np.ndarray]:
    """Return all arrays that are kept, by file and name; whole numbers are int64."""
    head, _, packed = lzma.decompress(PATH.read_bytes()).partition(b"\n")
    found = {}
    for key, (dtype, shape, place) in json.loads(head).items():
        size = int(np.prod(shape))
        values = np.frombuffer(packed, dtype, size, place).reshape(shape)
        found[key] = values.astype(np.int64) if values.dtype.kind in "iu" else values
    return found


class Digest(Mapping):
    """What the digest has of one file; tests that need a whole matrix are skipped."""

    def __init__(self, name: str):
        self._name = name
        self._values = {
            key.partition("/")[2]: values
            for key, values in _stored().items()
            if key.startswith(f"{name}/")
        }

    def __getitem__(self, key):
        if f"{key} projected" in self._values:
            pytest.skip(f"of {key} in {self._name} only the digest is available")
        return self._values[key]

    def __contains__(self, key):
        return key in self._values or f"{key} projected" in self._values

    @property
    def files(self) -> list[str]:
        """The names of the arrays, as those of an NPZ file."""
        return [key.removesuffix(" projected") for key in self._values]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)


def names() -> list[str]:
    """Return the files that the digest knows."""
    return sorted({key.partition("/")[0] for key in _stored()})


def write(folder: Path) -> None:
    """Write the digest of all files; equal arrays are kept once."""
    places, arrays = {}, {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as outputs:
            for key, values in digest(outputs).items():
                kept = _narrowed(values)
                mark = hashlib.sha256(
                    f"{kept.dtype}{kept.shape}".encode() + kept.tobytes()
                ).hexdigest()
                places[f"{path.stem}/{key}"] = mark
                arrays[mark] = kept
    index, packed = {}, b""
    # Similar arrays are next to each other, which compresses better.
    for mark in sorted(arrays, key=lambda m: (arrays[m].dtype.str, arrays[m].shape, m)):
        index[mark] = arrays[mark].dtype.str, arrays[mark].shape, len(packed)
        packed += arrays[mark].tobytes()
    head = json.dumps({key: index[mark] for key, mark in places.items()})
    PATH.write_bytes(lzma.compress(f"{head}\n".encode() + packed, preset=9))


def _narrowed(values: np.ndarray) -> np.ndarray:
    """Return whole numbers in the smallest type that holds them."""
    if values.dtype.kind not in "iu" or not values.size:
        return values
    ends = values.min(), values.max()
    return values.astype(np.result_type(*map(np.min_scalar_type, ends)))


if __name__ == "__main__":
    from conftest import SHARED

    write(SHARED / "golden")
