"""Progress on stderr: a moving bar on a terminal, plain lines elsewhere.

Work has successive phases, each with a name and a bar that only moves forward. The
time left is that of the current phase, estimated from the time it has taken so far.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer

PATIENCE = 1.0  # seconds; shorter work prints no plain line
INTERVAL = 10.0  # seconds between plain lines about the same work

_shown: ContextVar[Callable[[float, float, str], None] | None] = ContextVar(
    "current progress display", default=None
)


def tell(done: float, total: float, phase: str = "") -> None:
    """Report that ``done`` of ``total`` is done to the progress display, if any.

    ``phase`` names the work if a call does several kinds of it.
    """
    if show := _shown.get():
        show(done, total, phase)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Name the work inside; the names of its phases are appended."""
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
    """Show progress of the work inside, as reported by :func:`tell`.

    Parameters
    ----------
    text : str
        What is being done.
    total : float, optional
        Total of all parts of the work, which then share one bar.
    quiet : bool
        Show nothing.

    Yields
    ------
    callable
        Call it with the name of a part and how much of the total is done.
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

        # If the parts share a total, what they report themselves is ignored.
        token = _shown.set(show if total is None else None)
        try:
            yield begin
        finally:
            _shown.reset(token)


class _Work:
    """The state of the work: its phase, and how much of that is done."""

    def __init__(self, text: str):
        self.text = text
        self.part = self.phase = ""
        self.done = self.total = 0.0
        self.begun = self.last = time.monotonic()
        self._times = Counter({"": 1})

    def move(self, done: float, total: float, phase: str) -> None:
        """Update the state: continue the phase, or begin the next one."""
        is_other = self.total not in (0, total)  # 0 means not yet known
        if phase != self.phase or is_other or done < self.done:
            self.begun = self.last
            self._times[phase] += 1
        self.done, self.total, self.phase = done, total, phase
        self.last = time.monotonic()

    def words(self) -> str:
        """Describe the work; a phase that occurs again is numbered."""
        times, phase = self._times[self.phase], self.phase
        if times > 1:
            phase = f"{phase or 'part'} {times}"
        return ": ".join(filter(None, [self.text, phase, self.part]))

    def left(self) -> str:
        """Return in words how long the phase will still take, if known."""
        if not 0 < self.done < self.total:
            return ""
        seconds = (self.last - self.begun) * (self.total - self.done) / self.done
        return f"{in_words(seconds)} left"


def in_words(seconds: float) -> str:
    """Format a duration in words."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


@contextmanager
def _moving_line(work: _Work) -> Iterator[Callable[..., None]]:
    from rich import progress as rich  # noqa: PLC0415  not needed without a terminal
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Column  # noqa: PLC0415

    # Always one line: names get the width that the other columns leave.
    rest = Column(ratio=1, no_wrap=True, overflow="ellipsis")
    columns = [
        rich.SpinnerColumn(),
        # no markup: file names may contain [ ]
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
