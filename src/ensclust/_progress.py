"""Progress on stderr: a moving line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 1.0  # seconds; what takes less needs no plain line


@contextmanager
def progress(
    text: str, *, total: int | None = None, quiet: bool = False
) -> Iterator[Callable[[str], None]]:
    """Show that work is going on.

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
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _moving_line(total) as line:
            task = line.add_task(text, total=total)
            started: list[str] = []

            def advance(part: str) -> None:
                description = f"{text}: {part}"
                line.update(task, description=description, completed=len(started))
                started.append(part)

            yield advance
    else:
        with _plain_lines(text) as say:
            yield say


def _moving_line(total: int | None):
    from rich import progress as rich  # noqa: PLC0415  not needed without a terminal
    from rich.console import Console  # noqa: PLC0415

    text = rich.TextColumn("{task.description}", markup=False)  # files may hold [ ]
    columns = [rich.SpinnerColumn(), text]
    if total is None:
        columns += [rich.TimeElapsedColumn()]
    else:
        columns += [
            rich.BarColumn(),
            rich.TimeRemainingColumn(),
            rich.TextColumn("left"),
        ]
    return rich.Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def _plain_lines(text: str) -> Iterator[Callable[[str], None]]:
    start = time.monotonic()
    stream = sys.stderr

    def say(part: str) -> None:
        if time.monotonic() - start >= PATIENCE:
            print(f"ensclust: {text}: {part}", file=stream, flush=True)

    timer = Timer(
        PATIENCE, print, [f"ensclust: {text}"], {"file": stream, "flush": True}
    )
    timer.daemon = True
    timer.start()
    try:
        yield say
    finally:
        timer.cancel()
