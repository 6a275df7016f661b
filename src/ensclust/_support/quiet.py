"""Suppress warnings, and keep the warning filters as they were.

``warnings.catch_warnings`` is not thread-safe, and scikit-learn uses it in every array
check, so scikit-learn is called inside a context from this module.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any

from ensclust._support.shared import Shared

_muted: ContextVar[str | None] = ContextVar("our warnings to suppress", default=None)
_module: Any = warnings  # typed as if the filters were no list


def _keep() -> Callable[[], None]:
    filters, entries = _module.filters, list(_module.filters)

    def put_back() -> None:
        filters[:] = entries
        _module.filters = filters

    return put_back


kept_filters = Shared(_keep)


@cache
def _ignored(category: type[Warning], message: str) -> Shared:
    """Return the filter for other packages' warnings that begin with ``message``."""
    pattern = re.compile(message) if message else None
    own = ("ignore", pattern, category, None, 0)

    def add() -> Callable[[], None]:
        _module.filters.insert(0, own)
        return remove

    def remove() -> None:
        with suppress(ValueError):  # others have restored their own filters
            _module.filters.remove(own)

    return Shared(add)


@contextmanager
def ignoring(category: type[Warning], message: str = "") -> Iterator[None]:
    """Suppress other packages' warnings that begin with ``message``, in all threads."""
    with kept_filters(), _ignored(category, message)():  # type: ignore[arg-type]
        yield


@contextmanager
def muted(message: str = "") -> Iterator[None]:
    """Suppress our own warnings that begin with ``message``, in this thread."""
    token = _muted.set(message)
    try:
        yield
    finally:
        _muted.reset(token)


def is_muted(message: str) -> bool:
    """Whether one of our own warnings is suppressed."""
    pattern = _muted.get()
    return pattern is not None and re.match(pattern, message) is not None
