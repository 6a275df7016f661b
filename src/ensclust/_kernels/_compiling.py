"""Announce the compilation of kernels once, and keep it out of measured times.

Numba is not imported here, so that a clock can be read before it is.
"""

import gc
import sys
import time
from collections.abc import Callable
from contextlib import suppress


class Compiling:
    """Compilation in this process, and the time it has taken so far."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.is_kept = True  # on disk, for the next process
        self.is_told = False
        self._depth = 0  # a kernel compiles those that it calls
        self._start = 0.0
        self._collects = False

    def begin(self) -> None:
        """Record that Numba starts to compile a kernel."""
        if not self._depth:
            self._start = time.perf_counter()
            # Numba makes many objects that live on. Looking for garbage among them
            # takes a seventh of the time.
            self._collects = gc.isenabled()
            gc.disable()
        self._depth += 1
        if not self.is_told:
            self.is_told = True
            self._tell()

    def _tell(self) -> None:
        from multiprocessing import parent_process  # noqa: PLC0415  slow to import

        if parent_process():  # which prints it for all its children
            return
        when = (
            "once after installation"
            if self.is_kept
            else "in each process: set NUMBA_CACHE_DIR to a directory to keep them in"
        )
        if sys.stderr is None:  # closed; print would write to stdout
            return
        with suppress(OSError, ValueError):  # full, or closed later
            print(f"ensclust: compiling kernels, {when}", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Record that a kernel has been compiled."""
        self._depth -= 1
        if not self._depth:
            self.seconds += time.perf_counter() - self._start
            if self._collects:
                gc.enable()


compiling = Compiling()


def stopwatch() -> Callable[[], float]:
    """Return a function that gives the seconds from now on, compilation excluded."""
    start = time.perf_counter() - compiling.seconds
    return lambda: time.perf_counter() - compiling.seconds - start
