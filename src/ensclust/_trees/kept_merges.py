"""Journal: the state of long work in a file, to go on from after a stop."""

from __future__ import annotations

import hashlib
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust._files.archives import read_arrays
from ensclust._support.whole_files import replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

INTERVAL = 10.0  # seconds between two writings


class Journal:
    """Arrays that are kept in one file, which is replaced whole every few seconds.

    Parameters
    ----------
    path : str or path-like
        The file; it need not exist.
    inputs : iterable of ndarray
        What the work depends on; a file of other work is refused.
    """

    def __init__(self, path: str | os.PathLike, inputs: Iterable[np.ndarray]):
        self.path = Path(path)
        digest = hashlib.sha256()
        for array in inputs:
            digest.update(f"{array.dtype} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).data)
        self._inputs = digest.hexdigest()
        self._saved = time.monotonic()

    def restore(self, state: dict[str, np.ndarray]) -> bool:
        """Fill arrays from the file; return False where there is none."""
        if not self.path.exists():
            self.save(state, at_once=True)  # rather now than after hours
            self.remove()
            return False
        refusal = f"{self._name} is no checkpoint. Name another file, or delete it."
        try:
            found = read_arrays(self.path)
        except ValueError as error:
            raise ValueError(refusal) from error
        if "inputs" not in found:
            raise ValueError(refusal)
        if str(found["inputs"]) != self._inputs:
            msg = (
                f"{self._name} belongs to other clusterings or parameters. Give those "
                "(and the same random_state), name another file, or delete it."
            )
            raise ValueError(msg)
        for name, array in state.items():
            if name not in found or found[name].shape != array.shape:
                raise ValueError(refusal)
        for name, array in state.items():
            array[...] = found[name]
        return True

    def save(self, state: dict[str, np.ndarray], *, at_once: bool = False) -> None:
        """Write the arrays, if the last time is long ago."""
        if at_once or time.monotonic() - self._saved >= INTERVAL:
            with replacing(self.path) as handle:
                arrays: dict[str, Any] = {"inputs": np.array(self._inputs), **state}
                np.savez(handle, **arrays)
            self._saved = time.monotonic()

    def remove(self) -> None:
        """Delete the file: the work is done."""
        self.path.unlink(missing_ok=True)

    @property
    def _name(self) -> str:
        return f"checkpoint={str(self.path)!r}"


@contextmanager
def held_interrupts() -> Iterator[Callable[[], bool]]:
    """Hold Ctrl-C back while state is half changed.

    Yields a function that tells whether it was pressed. Outside of the main thread,
    which alone is interrupted, nothing is held.
    """
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
