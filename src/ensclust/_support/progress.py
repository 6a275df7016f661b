"""Progress on stderr: a moving bar on a terminal, plain lines elsewhere.

Work has phases, one after the other, each with a name and a bar of its own that only
moves on. The time left is that of the phase, from how long its work took so far.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer

PATIENCE = 1.0  # seconds; what takes less needs no plain line
INTERVAL = 10.0  # seconds between plain lines about the same work

_shown: ContextVar[Callable[[float, float, str], None] | None] = ContextVar(
    "progress that is shown", default=None
)


def tell(done: float, total: float, phase: str = "") -> None:
    """Say that ``done`` of ``total`` is done, to the progress that is shown, if any.

    ``phase`` names the work, where a call has several kinds of it one after the other.
    """
    if show := _shown.get():
        show(done, total, phase)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name the work inside, whose own phases come behind the name."""
    show = _shown.get()
    if show is None:
        yield
        return
    show(0, 0, name)

    def inside(done: float, total: float, own: str) -> None:
        show(done, total, f"{name}, {own}" if own else name)

    token = _shown.set(inside)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def progress(
    text: str, *, total: float | None = None, quiet: bool = False
) -> Iterator[Callable[..., None]]:
    """Show that work is going on; :func:`tell` says how much of it is done.

    Parameters
    ----------
    text : str
        What is being done.
    total : float, optional
        What all parts of the work take together; one bar is then for all of them.
    quiet : bool
        Show nothing.

    Yields
    ------
    callable
        To be called with the name of a part and what is done of the total.
    """
    if quiet:
        yield lambda *_: None
        return
    moves = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    work = _Work(text)
    with (_moving_line if moves else _plain_lines)(work) as renew:

        def begin(part: str, done: float = 0) -> None:
            work.part = part
            work.move(done, total or 0, "")
            renew(at_once=True)

        def show(done: float, of: float, name: str) -> None:
            work.move(done, of, name)
            renew()

        # Work with parts of its own is not measured by what its parts tell.
        token = _shown.set(show if total is None else None)
        try:
            yield begin
        finally:
            _shown.reset(token)


class _Work:
    """What is being done: its phase, and how much of that is done."""

    def __init__(self, text: str):
        self.text = text
        self.part = self.phase = ""
        self.done = self.total = 0.0
        self.begun = self.last = time.monotonic()
        self._times = Counter({"": 1})

    def move(self, done: float, total: float, phase: str) -> None:
        """Take over what is told: the phase goes on, or the next one begins."""
        is_other = self.total not in (0, total)  # 0 is not known yet
        if phase != self.phase or is_other or done < self.done:
            self.begun = self.last
            self._times[phase] += 1
        self.done, self.total, self.phase = done, total, phase
        self.last = time.monotonic()

    def words(self) -> str:
        """Return what is being done; a phase that comes again has a number."""
        times, phase = self._times[self.phase], self.phase
        if times > 1:
            phase = f"{phase or 'part'} {times}"
        return ": ".join(filter(None, [self.text, phase, self.part]))

    def left(self) -> str:
        """Return in words how long the phase will take, as far as it is known."""
        if not 0 < self.done < self.total:
            return ""
        seconds = (self.last - self.begun) * (self.total - self.done) / self.done
        return f"{in_words(seconds)} left"


def in_words(seconds: float) -> str:
    """Return a time for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@contextmanager
def _moving_line(work: _Work) -> Iterator[Callable[..., None]]:
    from rich import progress as rich  # noqa: PLC0415  not needed without a terminal
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    # One line, however long the names: what the other columns leave is for them.
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = [
        rich.SpinnerColumn(),
        # no markup: names of files may hold [ ]
        rich.TextColumn("{task.description}", markup=False, table_column=rest),
        rich.BarColumn(10),
        rich.TextColumn("{task.fields[share]}"),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[left]}"),
    ]
    console = Console(stderr=True)
    with rich.Progress(*columns, console=console, transient=True, expand=True) as line:
        task = line.add_task(work.text, total=None, share="", left="")

        def renew(**_: bool) -> None:
            line.update(
                task,
                description=work.words(),
                completed=work.done,
                total=work.total or None,
                share=f"{100 * work.done / work.total:3.0f} %" if work.total else "",
                left=work.left(),
            )

        yield renew


@contextmanager
def _plain_lines(work: _Work) -> Iterator[Callable[..., None]]:
    start = last = time.monotonic()
    stream = sys.stderr

    def say(words: str) -> None:
        print(f"ensclust: {words}", file=stream, flush=True)

    def renew(*, at_once: bool = False) -> None:
        nonlocal last
        now, left, words = time.monotonic(), work.left(), work.words()
        if at_once and now - start >= PATIENCE:
            say("; ".join(filter(None, [words, left])))
        elif now - last >= INTERVAL and left:
            last = now
            say(f"{words}: {100 * work.done // work.total:.0f} %, about {left}")
        elif now - last >= INTERVAL and not work.total:
            last = now
            say(words)

    timer = Timer(PATIENCE, say, [work.text])
    timer.daemon = True
    timer.start()
    try:
        yield renew
    finally:
        timer.cancel()
