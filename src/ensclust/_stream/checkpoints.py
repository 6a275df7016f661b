"""Counts of a stream on disk, so that an interrupted run need not count again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust._files.archives import read_arrays
from ensclust._stream.tally import Counts, Rows
from ensclust._support.whole_files import replacing

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Checkpoint:
    """A directory with what was counted; without one, nothing is kept.

    Parameters
    ----------
    folder : Path or None
        The directory; it is made if it is not there.
    identity : str
        Tells the input from others, so that no counts of another are taken.
    """

    folder: Path | None = None
    identity: str = ""

    def __post_init__(self) -> None:
        if self.folder is None:
            return
        if not self.identity:
            msg = (
                f"checkpoint={str(self.folder)!r} needs an input whose changes show: "
                "files. Pass Blocks(path) (with engine='dask' for Dask), not an array "
                "or a function."
            )
            raise ValueError(msg)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or error
            msg = f"checkpoint={str(self.folder)!r} cannot be a directory: {why}."
            raise OSError(msg) from error

    def load(self, stage: str) -> Any:
        """Return what a stage found, None if it is not there."""
        path = self._path(stage)
        if path is None or not path.exists():
            return None
        try:
            arrays = read_arrays(path)
            identity, found = str(arrays["identity"]), _from_arrays(arrays)
        except (ValueError, TypeError, KeyError) as error:
            msg = (
                f"{path} is damaged, or holds no counts. Delete it or name another "
                "directory."
            )
            raise ValueError(msg) from error
        if identity != self.identity:
            msg = (
                f"{path} holds counts of another input, or of this one before it "
                "changed. Delete it or name another directory."
            )
            raise ValueError(msg)
        return found

    def save(self, stage: str, found: Counts | Rows) -> None:
        """Write what a stage found, whole or not at all."""
        path = self._path(stage)
        if path is None:
            return
        with replacing(path) as handle:
            np.savez(handle, identity=np.array(self.identity), **_to_arrays(found))

    def _path(self, stage: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{stage}.npz"


def _to_arrays(found: Counts | Rows) -> dict[str, Any]:
    if isinstance(found, Rows):
        return vars(found)
    lengths = np.array(list(found.lengths.items()), np.int64).reshape(-1, 2)
    values = {f"values{m}": column for m, column in enumerate(found.values)}
    absent = np.array(found.n_absent)
    return {"lengths": lengths, "absent": absent, "overlap": found.overlap, **values}


def _from_arrays(arrays: dict[str, np.ndarray]) -> Counts | Rows:
    if "first" in arrays:
        return Rows(arrays["columns"], arrays["counts"], arrays["first"])
    n_columns = sum(name.startswith("values") for name in arrays)
    return Counts(
        dict(arrays["lengths"].tolist()),
        int(arrays["absent"]),
        tuple(arrays[f"values{m}"] for m in range(n_columns)),
        arrays["overlap"],
    )
