"""Progress on stderr: moving on a terminal, plain lines elsewhere."""

import io
import sys

import pytest

from ensclust import _progress, cli


def test_work_that_takes_long_gets_a_plain_line(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with _progress.progress("working") as begin:
        begin("part one")
    assert "ensclust: working: part one\n" in capsys.readouterr().err


def test_work_that_is_short_gets_no_line(capsys):
    with _progress.progress("working") as begin:
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
    with _progress.progress("reading a[1].csv", total=total) as begin:
        begin("part one")
    assert "reading a[1].csv: part one" in terminal.getvalue()


def test_message_stays_apart_from_the_moving_line(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with _progress.progress("working"):
        cli._say("warning", "look out")
    assert any(
        line.rpartition("\x1b[2K")[2].startswith("ensclust: warning: look out")
        for line in terminal.getvalue().splitlines()
    )


def test_terminal_that_cannot_move_gets_no_line(monkeypatch):
    terminal = make_terminal(monkeypatch, "dumb")
    with _progress.progress("working"):
        pass
    assert terminal.getvalue() == ""
