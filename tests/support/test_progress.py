"""Progress on stderr: moving on a terminal, plain lines elsewhere."""

import io
import sys

import pytest

from ensclust import cli
from ensclust._support import progress


def test_work_that_takes_long_gets_a_plain_line(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress("working") as begin:
        begin("part one")
    assert "ensclust: working: part one\n" in capsys.readouterr().err


def test_work_that_is_short_gets_no_line(capsys):
    with progress.progress("working") as begin:
        begin("part one")
    assert capsys.readouterr().err == ""


def make_terminal(monkeypatch, kind="xterm"):
    """Make standard error a terminal, and return what it shows."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setenv("TERM", kind)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


@pytest.mark.parametrize("total", [None, 2])
def test_terminal_gets_a_moving_line(monkeypatch, total):
    terminal = make_terminal(monkeypatch)
    with progress.progress("reading a[1].csv", total=total) as begin:
        begin("part one")
    assert "reading a[1].csv: part one" in terminal.getvalue()


def test_message_stays_apart_from_the_moving_line(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with progress.progress("working"):
        cli._say("warning", "look out")
    assert any(
        line.rpartition("\x1b[2K")[2].startswith("ensclust: warning: look out")
        for line in terminal.getvalue().splitlines()
    )


def test_terminal_that_cannot_move_gets_no_line(monkeypatch):
    terminal = make_terminal(monkeypatch, "dumb")
    with progress.progress("working"):
        pass
    assert terminal.getvalue() == ""


def test_what_is_told_moves_the_bar_of_the_work_around_it(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with progress.progress("reading"):
        progress.tell(1, 2)
    assert "left" in terminal.getvalue()
    progress.tell(1, 2)  # nobody listens: no harm


def test_long_work_says_now_and_then_how_much_is_left(monkeypatch, capsys):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with progress.progress("reading") as _:
        progress.tell(1, 4)
        progress.tell(4, 4)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("ensclust: reading: 25 %, about ")


def test_work_in_parts_is_not_moved_by_what_its_parts_tell(monkeypatch, capsys):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with progress.progress("demo", total=3):
        progress.tell(1, 4)
    assert capsys.readouterr().err == ""
