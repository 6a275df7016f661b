"""What is fuzzed: bytes as a file of some kind or as labels; only our errors may occur.

A target returns if the input is valid or is refused with one of our messages, and
raises :class:`NotOursError` for any other error: one from deep inside NumPy, Arrow or
Python, or one that does not name the file. Bytes are not read as h5ad or MATLAB 7.3,
because HDF5's library ends the process on some damaged files. Instead they say what is
changed in the contents of a valid h5ad file or checkpoint (:mod:`fuzz.edits`).
"""

from __future__ import annotations

import os
import tempfile
import traceback
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

import ensclust
from ensclust import CoAssociation, consensus
from ensclust._stream.blocks import Blocks
from ensclust._trees import kept_merges
from ensclust._trees.linkage import LabelSpace, link
from ensclust.io import read_features, read_labels
from fuzz.edits import edited, edits

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


def h5ad(data: bytes) -> None:
    """Read an h5ad file with a sparse X and columns of all kinds, with edits in it.

    The first byte says whether X is stored by rows or by columns, and what is read.
    Each input is read in one way only, which leaves time for five times as many.
    """
    import h5py  # noqa: PLC0415  optional

    first = data[0] if data else 0
    with _folder() as folder:
        path = Path(folder, "file.h5ad")
        path.write_bytes(_cells("csc" if first > 127 else "csr"))
        with h5py.File(path, "r+") as file:
            for name, edit in edits(data[1:], _IN_CELLS):
                old = file[name]
                is_text = old.dtype.kind == "O"
                new = edited(
                    old.asstr()[...].astype("U") if is_text else old[...], edit
                )
                attributes = dict(old.attrs)
                del file[name]
                kind = h5py.string_dtype() if new.dtype.kind == "U" else new.dtype
                file.create_dataset(name, data=new.astype(kind), dtype=kind)
                file[name].attrs.update(attributes)
        columns = (["a"], ["b", "c"])[first // 3 % 2]
        match first % 3:
            case 0:
                _ours(lambda: read_features(path), path)
            case 1:
                _ours(lambda: read_labels(path, columns=columns), path)
            case _:
                _ours(lambda: _load(Blocks(path, columns=columns)), path)


def merges(data: bytes) -> None:
    """Resume a linkage from an edited checkpoint."""
    kept = dict(_merges())
    for name, edit in edits(data, sorted(set(kept) - {"identity"})):
        kept[name] = edited(kept[name], edit)
    with _folder() as folder:
        path = Path(folder, "merges.npz")
        np.savez(path, **kept)
        _ours(
            lambda: link(_operator(), max_memory=1, checkpoint=folder, n_jobs=1), path
        )


def counts(data: bytes) -> None:
    """Resume from edited counts and distinct rows of a stream.

    The first byte says whether clusterings have weights, which need more of them.
    """
    is_weighted = bool(data[:1] and data[0] % 2)
    blocks, kept = _counts(is_weighted=is_weighted)
    names = sorted(
        (stage, name) for stage in kept for name in set(kept[stage]) - {"identity"}
    )
    changed = {stage: dict(arrays) for stage, arrays in kept.items()}
    for (stage, name), edit in edits(data[1:], names):
        changed[stage][name] = edited(changed[stage][name], edit)
    with _folder() as folder:
        for stage, arrays in changed.items():
            np.savez(Path(folder, f"{stage}.npz"), **arrays)
        _ours(lambda: _of_stream(blocks, folder, is_weighted=is_weighted))


TARGETS: dict[str, Callable[[bytes], None]] = {
    function.__name__: function
    for function in (csv, npy, npz, parquet, mat, ensemble, h5ad, merges, counts)
}
_IN_CELLS = (
    *("X/data", "X/indices", "X/indptr", "obs/_index"),
    *("obs/a/codes", "obs/a/categories", "obs/b", "obs/c/values", "obs/c/mask"),
)
_WEIGHTS = [1.0, 1.0, 0.0, 1.0]


@cache
def _cells(form: str) -> bytes:
    """Return an h5ad file of 12 cells and 6 genes."""
    import anndata  # noqa: PLC0415  optional
    import pandas as pd  # noqa: PLC0415  optional
    from scipy import sparse  # noqa: PLC0415  heavy

    obs = pd.DataFrame(
        {
            "a": pd.Categorical(list("xyz") * 4),
            "b": np.arange(12) // 4,
            "c": pd.array([1, 2, None] * 4, "Int64"),
        },
        index=[f"cell{i}" for i in range(12)],
    )
    X = sparse.random(12, 6, 0.5, random_state=0, format=form)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cells.h5ad")
        anndata.AnnData(X, obs=obs).write_h5ad(path)
        return path.read_bytes()


def _labels() -> np.ndarray:
    labels = np.random.default_rng(0).integers(0, 3, (60, 4))
    labels[::7, 1] = -1
    return labels


@cache
def _operator() -> CoAssociation:
    return CoAssociation(ensclust.Ensemble(_labels()))


@cache
def _merges() -> dict[str, np.ndarray]:
    """Return what a linkage that is stopped half-way has saved."""
    usual, rounds = LabelSpace.nearest, []

    def nearest(*args: Any) -> None:
        rounds.append(1)
        if len(rounds) > 3:
            raise KeyboardInterrupt
        usual(*args)

    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.object(LabelSpace, "nearest", nearest),
        mock.patch.object(kept_merges, "INTERVAL", 0.0),
        suppress(KeyboardInterrupt),
    ):
        try:
            link(_operator(), max_memory=1, checkpoint=folder, n_jobs=1)
        finally:
            with np.load(Path(folder, "merges.npz")) as kept:
                found = dict(kept)
    return found


@cache
def _counts(*, is_weighted: bool) -> tuple[Blocks, dict[str, dict[str, np.ndarray]]]:
    """Return a stream, and what a run saves about it, by stage; merges are not read."""
    folder = Path(tempfile.mkdtemp())
    np.save(folder / "labels.npy", _labels()[:24])
    blocks = Blocks(folder / "labels.npy", rows=10)
    kept = folder / "kept"
    _of_stream(blocks, kept, is_weighted=is_weighted)
    return blocks, {path.stem: dict(np.load(path)) for path in kept.glob("*.npz")}


def _of_stream(blocks: Blocks, kept: Path | str, *, is_weighted: bool) -> np.ndarray:
    """Return labels from saved counts and distinct rows, if there are any."""
    weights = _WEIGHTS if is_weighted else None
    options = {"random_state": 0, "n_jobs": 1, "checkpoint": kept}
    return np.asarray(consensus(blocks, 3, "eac", weights=weights, **options))


def _load(blocks: Blocks) -> None:
    for block in blocks:
        block.load()


def _folder() -> tempfile.TemporaryDirectory:
    """Return a directory for one input, in memory if possible."""
    place = "/dev/shm"
    return tempfile.TemporaryDirectory(dir=place if os.access(place, os.W_OK) else None)


def _read(data: bytes, suffix: str, *, in_blocks: bool = False) -> None:
    with _folder() as folder:
        path = Path(folder, f"file{suffix}")
        path.write_bytes(data)
        for read in (read_labels, read_features):
            found = _ours(lambda read=read: read(path), path)
            if found is not None and found.values.shape[1] != len(found.columns):
                raise NotOursError(found)
        if in_blocks:
            _ours(lambda: _load(Blocks(path)), path)


def _ours(call: Callable[[], Any], path: Path | None = None) -> Any:
    """Return the result of a call, None if it is properly refused."""
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
