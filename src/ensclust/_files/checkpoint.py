"""Checkpoint: a directory with what an unfinished run has found, to go on from."""

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
    """What some stages of a run found: a file of arrays each, replaced whole.

    Parameters
    ----------
    folder : Path
        The directory; it is made if it is not there.
    identity : str
        Tells what the run depends on from anything else: what others kept is refused.
    content, other : str
        What is kept, and whose it may be instead, for messages.
    """

    folder: Path
    identity: str
    content: str
    other: str

    @staticmethod
    def make_folder(folder: str | os.PathLike) -> Path:
        """Make the directory of a checkpoint, or say why it cannot be one."""
        check_path(folder)
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = (
                f"checkpoint={str(folder)!r} cannot be a directory: "
                f"{error.strerror or error}."
            )
            raise OSError(msg) from error
        return Path(folder)

    def load(self, stage: str) -> dict[str, np.ndarray] | None:
        """Return the arrays of a stage, None if there are none."""
        path = self.path(stage)
        if not path.exists():
            return None
        try:
            arrays = read_arrays(path)
            identity = str(arrays.pop("identity"))
        except (ValueError, TypeError, KeyError) as error:
            raise self.damaged(stage) from error
        if identity != self.identity:
            msg = (
                f"{path} holds {self.content} of {self.other}. Delete it or name "
                "another directory."
            )
            raise ValueError(msg)
        return arrays

    def save(self, stage: str, arrays: dict[str, Any]) -> None:
        """Write the arrays of a stage, whole or not at all."""
        with replacing(self.path(stage)) as handle:
            np.savez(handle, identity=np.array(self.identity), **arrays)

    def remove(self, stage: str) -> None:
        """Delete what a stage kept; the directory stays."""
        self.path(stage).unlink(missing_ok=True)

    def damaged(self, stage: str) -> ValueError:
        """Return the error for a file that does not hold what it should."""
        return ValueError(
            f"{self.path(stage)} is damaged, or holds no {self.content}. Delete it or "
            "name another directory."
        )

    def path(self, stage: str) -> Path:
        """Return the file of a stage."""
        return self.folder / f"{stage}.npz"
