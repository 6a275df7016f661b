"""Progress on stderr: a moving bar on a terminal, plain lines elsewhere."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from threading import Timer

PATIENCE = 1.0  # seconds; what takes less needs no plain line
INTERVAL = 10.0  # seconds between plain lines about the same work

_shown: ContextVar[Callable[[int, int, str], None] | None] = ContextVar(
    "progress that is shown", default=None
)


def tell(done: int, total: int, phase: str = "") -> None:
    """Say that ``done`` of ``total`` is done, to the progress that is shown, if any.

    ``phase`` names the work, where a call has several kinds of it one after the other.
    """
    if show := _shown.get():
        show(done, total, phase)


@contextmanager
def progress(
    text: str, *, total: int | None = None, quiet: bool = False
) -> Iterator[Callable[[str], None]]:
    """Show that work is going on; :func:`tell` says how much of it is done.

    Parameters
    ----------
    text : str
        What is being done.
    total : int, optional
        Number of parts; with it a terminal shows the time left.
    quiet : bool
        Show nothing.

    Yields
    ------
    callable
        To be called at the start of each part with its name.
    """
    if quiet:
        yield lambda _: None
        return
    moves = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    with (_moving_line if moves else _plain_lines)(text, total) as (begin, show):
        # Work with parts of its own is not measured by what its parts tell.
        token = _shown.set(show if total is None else None)
        try:
            yield begin
        finally:
            _shown.reset(token)


@contextmanager
def _moving_line(text: str, total: int | None):
    from rich import progress as rich  # noqa: PLC0415  not needed without a terminal
    from rich.console import Console  # noqa: PLC0415

    columns = [
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),  # files may hold [ ]
        rich.BarColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[left]}"),
    ]
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as line:
        task = line.add_task(text, total=total, left="left" if total else "")
        numbers = count()

        def begin(part: str) -> None:
            line.update(task, description=f"{text}: {part}", completed=next(numbers))

        def show(done: int, of: int, phase: str) -> None:
            words = f"{text}: {phase}" if phase else text
            line.update(task, description=words, completed=done, total=of, left="left")

        yield begin, show


@contextmanager
def _plain_lines(text: str, _total: int | None):
    start = last = begun = time.monotonic()
    now_of: tuple[int, str] = (0, "")
    stream = sys.stderr

    def say(words: str) -> None:
        print(f"ensclust: {words}", file=stream, flush=True)

    def begin(part: str) -> None:
        if time.monotonic() - start >= PATIENCE:
            say(f"{text}: {part}")

    def show(done: int, of: int, phase: str) -> None:
        nonlocal last, begun, now_of
        now = time.monotonic()
        if (of, phase) != now_of:  # the next kind of work
            begun, now_of = now, (of, phase)
        if now - last >= INTERVAL and 0 < done < of:
            last = now
            left = (now - begun) * (of - done) / done
            words = f"{text}: {phase}" if phase else text
            say(f"{words}: {100 * done // of} %, about {left:.0f} s left")

    timer = Timer(PATIENCE, say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield begin, show
    finally:
        timer.cancel()
