"""KeptMerges: the state of a long linkage in a file, to go on from after a stop."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ensclust._files.checkpoint import Checkpoint
from ensclust._support.digests import digest

INTERVAL = 10.0  # seconds between two writings
_STAGE = "merges"
_OTHER = "other clusterings or parameters, or another random_state"


class KeptMerges:
    """The state of a linkage in a checkpoint, written every few seconds.

    Parameters
    ----------
    folder : Path
        The directory of the checkpoint.
    inputs : iterable of ndarray
        What the work depends on; merges of other work are refused.
    """

    def __init__(self, folder: Path, inputs: Iterable[np.ndarray]):
        parts = ((f"{x.dtype} {x.shape} ".encode(), x) for x in inputs)
        identity = digest(*(part for pair in parts for part in pair))
        self._kept = Checkpoint(folder, identity, "merges", _OTHER)
        self._saved = time.monotonic()

    @property
    def path(self) -> Path:
        """The file that holds the merges."""
        return self._kept.path(_STAGE)

    def restore(self, state: dict[str, np.ndarray]) -> bool:
        """Fill arrays from the file; return False where there is none."""
        found = self._kept.load(_STAGE)
        if found is None:
            self.save(state, at_once=True)  # rather now than after hours
            self.path.unlink()
            return False
        if any(n not in found or found[n].shape != state[n].shape for n in state):
            raise self._kept.damaged(_STAGE)
        for name, array in state.items():
            array[...] = found[name]
        return True

    def save(self, state: dict[str, np.ndarray], *, at_once: bool = False) -> None:
        """Write the arrays, if the last time is long ago."""
        if at_once or time.monotonic() - self._saved >= INTERVAL:
            self._kept.save(_STAGE, state)
            self._saved = time.monotonic()

    def remove(self) -> None:
        """Delete the file: the work is done."""
        self._kept.remove(_STAGE)


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
