"""What is fuzzed: bytes as a file of some kind or as labels; only our errors come out.

A target returns where input is good and where it is refused in our own words, and
raises :class:`NotOursError` for any other error: one from deep inside NumPy, Arrow or
Python, or one that does not name the file. h5ad and MATLAB 7.3 are no targets: HDF5's
own library ends the process on some damaged files.
"""

from __future__ import annotations

import tempfile
import traceback
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ensclust
from ensclust._stream.blocks import Blocks
from ensclust.io import read_features, read_labels

if TYPE_CHECKING:
    from collections.abc import Callable

CORPUS = Path(__file__).parent / "corpus"
_OURS = str(Path(ensclust.__file__).parent)
_KINDS = (ValueError, TypeError, OSError, MemoryError)
_CELLS = (
    *(0, 1, 2, 7, 255, 256, -1, -2, 2**31, 2**62, 2**63, 2**64, 2**70, -(2**70)),
    *(0.0, 1.0, 1.5, -0.5, 1e30, float("nan"), float("inf"), float("-inf")),
    *("", "a", "b", "1", "-1", "nan", "\ud800", None, True, False),
    *(b"", b"a", 1j, (), (1,), ([],), [], [1], {}, object()),
)


class NotOursError(Exception):
    """An error that users should never see."""


def csv(data: bytes) -> None:
    """Read text as labels and as features."""
    _read(data, ".csv")


def npy(data: bytes) -> None:
    """Read an array as a whole and in blocks."""
    _read(data, ".npy", in_blocks=True)


def npz(data: bytes) -> None:
    """Read an archive of arrays."""
    _read(data, ".npz")


def parquet(data: bytes) -> None:
    """Read a Parquet file as a whole and in blocks."""
    _read(data, ".parquet", in_blocks=True)


def mat(data: bytes) -> None:
    """Read a MATLAB file of version 4 or 5."""
    if not data.startswith((b"MATLAB 7.3", b"\x89HDF")):
        _read(data, ".mat")


def ensemble(data: bytes) -> None:
    """Make an ensemble of cells that the bytes choose, and number others by it."""
    if len(data) < 3:
        return
    n_columns = data[0] % 5 + 1
    cells = [_CELLS[byte % len(_CELLS)] for byte in data[2:]]
    rows = [cells[i : i + n_columns] for i in range(0, len(cells), n_columns)]
    noise = ("missing", "own-cluster")[data[1] % 2]
    made = _ours(lambda: ensclust.Ensemble(rows, noise=noise))
    vectors = list(zip(*rows, strict=False))
    other = _ours(lambda: ensclust.Ensemble.from_clusterings(vectors, noise=noise))
    for one in filter(None, (made, other)):
        labels = one.labels
        if labels.min() < -1 or (labels.max(axis=0) >= one.cluster_counts).any():
            raise NotOursError(labels)
        if (one.fragments().labels[one.fragments().inverse] != labels).any():
            raise NotOursError(labels)
        _ours(lambda one=one: one.recode(rows[::-1]))


TARGETS: dict[str, Callable[[bytes], None]] = {
    function.__name__: function for function in (csv, npy, npz, parquet, mat, ensemble)
}


def _read(data: bytes, suffix: str, *, in_blocks: bool = False) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file{suffix}")
        path.write_bytes(data)
        for read in (read_labels, read_features):
            found = _ours(lambda read=read: read(path), path)
            if found is not None and found.values.shape[1] != len(found.columns):
                raise NotOursError(found)
        if in_blocks:
            _ours(lambda: [block.load() for block in Blocks(path)], path)


def _ours(call: Callable[[], Any], path: Path | None = None) -> Any:
    """Return what a call gives, None where it is refused as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return call()
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        is_ours = isinstance(error, _KINDS) and last.filename.startswith(_OURS)
        is_said = is_ours and (last.line or "").startswith("raise")
        if not is_said or (path is not None and path.name not in str(error)):
            raise NotOursError(error) from error
        return None
