"""KeptMerges: the state of a long linkage, saved in a file to resume from."""

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ensclust._files.checkpoint import Checkpoint
from ensclust._support.digests import digest

INTERVAL = 10.0  # seconds between two saves
_STAGE = "merges"
_OTHER = "other clusterings or parameters, or another random_state"


class KeptMerges:
    """The state of a linkage in a checkpoint, written every few seconds.

    Parameters
    ----------
    folder : Path
        The directory of the checkpoint.
    inputs : iterable of ndarray
        What the linkage depends on; merges of other inputs are refused.
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
        """Fill arrays from the file; return False if there is none."""
        found = self._kept.load(_STAGE)
        if found is None:
            self.save(state, at_once=True)  # an error now, rather than after hours
            self.path.unlink()
            return False
        for name, array in state.items():
            own = found.get(name, np.zeros(()))
            if own.shape != array.shape or own.dtype != array.dtype:
                raise self.damaged()
            array[...] = own
        if not _is_sound(**state):
            raise self.damaged()
        return True

    def damaged(self) -> ValueError:
        """Return the error for a file that linkage cannot have written."""
        return self._kept.damaged(_STAGE)

    def save(self, state: dict[str, np.ndarray], *, at_once: bool = False) -> None:
        """Write the arrays, if enough time has passed since the last save."""
        if at_once or time.monotonic() - self._saved >= INTERVAL:
            self._kept.save(_STAGE, state)
            self._saved = time.monotonic()

    def remove(self) -> None:
        """Delete the file when the work is done."""
        self._kept.remove(_STAGE)


def _is_sound(near, best, asked, born, alive, merged, similarity) -> bool:
    """Return whether the merges form a forest, and all known chains end.

    Kernels use all of these indices without checks.
    """
    n, n_merged = len(alive), int(np.count_nonzero(~alive))
    now = np.arange(n_merged)
    if n_merged == n or not _all_within(merged[:n_merged], 0, n):
        return False
    kept, gone = merged[:n_merged].T
    until, last = np.full(n, n_merged), np.zeros(n, np.int64)
    until[gone], last[kept] = now, now + 1
    if (
        (kept >= gone).any()
        or alive[gone].any()
        or len(np.unique(gone)) < n_merged
        or (until[kept] <= now).any()  # merged after it was gone
        or not np.array_equal(born, last)
        or not _all_within(asked, -1, n_merged + 1)
        or not _all_within(near, 0, n)
        or not np.isfinite(best).all()
        or not np.isfinite(similarity[:n_merged]).all()
    ):
        return False
    is_known = alive & (asked >= born) & alive[near] & (born[near] <= asked)
    end = np.where(is_known, near, np.arange(n))
    for _ in range(n.bit_length()):  # each time twice as far along the chains
        end = end[end]
    return not is_known[end].any()


def _all_within(numbers: np.ndarray, low: int, stop: int) -> bool:
    return bool(((numbers >= low) & (numbers < stop)).all())


@contextmanager
def held_interrupts() -> Iterator[Callable[[], bool]]:
    """Defer Ctrl-C while the state is inconsistent.

    Yields a function that returns whether it was pressed. Does nothing outside the
    main thread, the only one that is interrupted.
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
