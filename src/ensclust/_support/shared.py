"""Settings of the whole process, changed for a while by calls that may overlap."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


class Shared:
    """A setting that the first of overlapping calls makes, and the last one undoes.

    Were each call to put back what it found, one that came while another was going on
    would put back what that one had set.

    Parameters
    ----------
    make : callable
        Changes the setting and returns a function that changes it back.
    """

    def __init__(self, make: Callable[[], Callable[[], Any]]):
        self._make = make
        self._lock = Lock()
        self._inside = 0
        if hasattr(os, "register_at_fork"):  # or a child could find it locked for good
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._lock.release,
            )

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Return a context in which the setting is made."""
        with self._lock:
            if not self._inside:
                self._undo = self._make()
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    self._undo()
