"""A digest of what the published codes return, for clones that lack their outputs.

``python tests/golden_digest.py`` writes ``golden_digest.npz`` from the outputs: labels
and vectors as they are, and of every other matrix 16 projections.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).with_suffix(".npz")
N_PROJECTIONS = 16


def is_whole(key: str, values: np.ndarray) -> bool:
    """Whether an array is kept as it is: labels, vectors, and what is small."""
    is_plain = values.dtype.kind in "iubU" or values.ndim < 2
    return "labels" in key or values.size <= (40_000 if is_plain else 1000)


def projections(matrix: np.ndarray) -> np.ndarray:
    """Return products of a matrix with random unit vectors from both sides, (16,)."""
    matrix = matrix.reshape(len(matrix), -1).astype(np.float64)
    rng = np.random.default_rng(matrix.shape)
    left, right = (rng.normal(size=(n, N_PROJECTIONS)) for n in matrix.shape)
    left, right = (side / np.linalg.norm(side, axis=0) for side in (left, right))
    return np.einsum("ip,ip->p", left, matrix @ right)


def digest(outputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return what is kept of the arrays of one file."""
    kept = {}
    for key, values in outputs.items():
        if is_whole(key, values):
            kept[key] = values
        else:
            kept[f"{key} projected"] = projections(values)
    return kept


def _widened(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int64) if values.dtype.kind in "iu" else values


class Digest(Mapping):
    """What the digest has of one file; tests that need a whole matrix are skipped."""

    def __init__(self, name: str):
        self._name = name
        with np.load(PATH) as stored:
            index = dict(np.char.partition(stored["index"], "=")[:, ::2])
            self._values = {
                key.partition("/")[2]: _widened(stored[place])
                for key, place in index.items()
                if key.startswith(f"{name}/")
            }

    def __getitem__(self, key):
        if f"{key} projected" in self._values:
            pytest.skip(f"of {key} in {self._name} only the digest is at hand")
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
    with np.load(PATH) as stored:
        return sorted({str(entry).partition("/")[0] for entry in stored["index"]})


def write(folder: Path) -> None:
    """Write the digest of all files; equal arrays are kept once."""
    index, arrays = [], {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as outputs:
            for key, values in digest(outputs).items():
                kept = values
                if values.dtype.kind in "iu" and values.size:
                    kept = values.astype(
                        np.promote_types(
                            np.min_scalar_type(values.min()),
                            np.min_scalar_type(values.max()),
                        )
                    )
                place = hashlib.sha256(
                    f"{kept.dtype}{kept.shape}".encode() + kept.tobytes()
                ).hexdigest()[:16]
                arrays[place] = kept
                index.append(f"{path.stem}/{key}={place}")
    np.savez_compressed(PATH, index=np.array(index), **arrays)


if __name__ == "__main__":
    from conftest import SHARED

    write(SHARED / "golden")
