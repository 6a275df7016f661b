"""Checkpoint: a directory from which an interrupted run resumes."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ensclust._files.archives import read_arrays
from ensclust._support.validation import check_path
from ensclust._support.whole_files import replacing


@dataclass(frozen=True)
class Checkpoint:
    """Saved results of the stages of a run: one file of arrays each, replaced whole.

    Parameters
    ----------
    folder : Path
        The directory; created if it does not exist.
    identity : str or list of str
        Identifies everything that the run depends on; files of other runs are rejected.
        A list identifies it part by part; results for some of the parts, saved before
        there were more, are accepted.
    content, other : str
        What is saved, and what else a file may belong to, for messages.
    """

    folder: Path
    identity: str | list[str]
    content: str
    other: str

    @staticmethod
    def make_folder(folder: str | os.PathLike) -> Path:
        """Create the directory of a checkpoint, or raise."""
        check_path(folder)
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = (
                f"checkpoint={str(folder)!r} cannot be used as a directory: "
                f"{error.strerror or error}."
            )
            raise OSError(msg) from error
        return Path(folder)

    def load(self, stage: str) -> dict[str, np.ndarray] | None:
        """Return the arrays of a stage, None if not saved for exactly these parts."""
        arrays, places = self.load_some(stage)
        return arrays if self.are_all(places) else None

    def load_some(self, stage: str) -> tuple[dict[str, np.ndarray] | None, list[int]]:
        """Return the arrays of a stage, and the numbers of the parts they cover."""
        path = self.path(stage)
        if not path.exists():
            return None, []
        try:
            arrays = read_arrays(path)
            kept = arrays.pop("identity").ravel().tolist()
        except (ValueError, TypeError, KeyError) as error:
            raise self.damaged(stage) from error
        left: dict[str, list[int]] = {}
        for place, part in enumerate(self._parts):
            left.setdefault(part, []).append(place)
        places = [left[part].pop(0) for part in kept if left.get(part)]
        if not kept or len(places) < len(kept):
            msg = (
                f"{path} holds {self.content} of {self.other}. Delete it or choose "
                "another directory."
            )
            raise ValueError(msg)
        return arrays, places

    def are_all(self, places: list[int]) -> bool:
        """Return whether these are the numbers of all parts, in order."""
        return places == list(range(len(self._parts)))

    @property
    def _parts(self) -> list[str]:
        return [self.identity] if isinstance(self.identity, str) else self.identity

    def save(self, stage: str, arrays: dict[str, Any]) -> None:
        """Write the arrays of a stage, whole or not at all."""
        with replacing(self.path(stage)) as handle:
            np.savez(handle, identity=np.array(self.identity), **arrays)

    def remove(self, stage: str) -> None:
        """Delete the file of a stage; the directory is kept."""
        self.path(stage).unlink(missing_ok=True)

    def damaged(self, stage: str) -> ValueError:
        """Return the error for a file that does not hold what it should."""
        return ValueError(
            f"{self.path(stage)} is damaged, or holds no {self.content}. Delete it or "
            "choose another directory."
        )

    def path(self, stage: str) -> Path:
        """Return the file of a stage."""
        return self.folder / f"{stage}.npz"
