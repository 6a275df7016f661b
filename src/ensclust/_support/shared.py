"""Process-wide settings, changed temporarily by calls that may overlap."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


class Shared:
    """A setting made by the first of several overlapping calls and undone by the last.

    If each call restored what it found, a call that started during another would
    restore what that one had set.

    Parameters
    ----------
    make : callable
        Changes the setting and returns a function that changes it back.
    """

    def __init__(self, make: Callable[[], Callable[[], Any]]):
        self._make = make
        self._lock = Lock()
        self._inside = 0
        if hasattr(os, "register_at_fork"):  # else a child may find it locked forever
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._lock.release,
            )

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Return a context in which the setting is active."""
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
