"""Progress on stderr: moving on a terminal, plain lines elsewhere."""

import io
import re
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
    progress.tell(1, 2)  # without a listener: no harm


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


@pytest.fixture
def lines(monkeypatch, capsys):
    """Make plain lines come at once, and return what reads them."""

    def read():
        return capsys.readouterr().err.splitlines()

    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    return read


def shares(lines):
    return [
        (words, int(share.removesuffix(" %")))
        for words, share in (line.split(",")[0].rsplit(": ", 1) for line in lines)
    ]


def test_every_phase_has_a_name_and_only_moves_on(lines):
    with progress.progress("clustering"):
        for done in (2, 8):
            progress.tell(done, 10, "passes")
        for _ in range(2):
            progress.tell(1, 4, "labels")
            progress.tell(3, 4, "labels")
    assert shares(lines()) == [
        ("ensclust: clustering: passes", 20),
        ("ensclust: clustering: passes", 80),
        ("ensclust: clustering: labels", 25),
        ("ensclust: clustering: labels", 75),
        ("ensclust: clustering: labels 2", 25),
        ("ensclust: clustering: labels 2", 75),
    ]


def test_work_without_a_name_that_begins_again_is_another_part(lines):
    with progress.progress("counting"):
        for total in (5, 5, 10):
            progress.tell(4, total)
            progress.tell(0, total)
    assert shares(lines()) == [
        ("ensclust: counting", 80),
        ("ensclust: counting: part 2", 80),
        ("ensclust: counting: part 4", 40),
    ]


def test_phases_of_named_work_come_behind_its_name(lines):
    with progress.progress("comparing"):
        for name in ("eac", "kcc"):
            with progress.phase(name):
                progress.tell(1, 2)
                progress.tell(1, 4, "merges")
    told = [line.split(", about")[0].removeprefix("ensclust: ") for line in lines()]
    assert told == [
        "comparing: eac",
        "comparing: eac: 50 %",
        "comparing: eac, merges: 25 %",
        "comparing: kcc",
        "comparing: kcc: 50 %",
        "comparing: kcc, merges: 25 %",
    ]
    with progress.phase("nobody listens"):
        progress.tell(1, 2)


def test_time_left_is_that_of_the_phase(monkeypatch, lines):
    clock = iter([0.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress.progress("clustering"):
        progress.tell(1, 2, "first centres")
        progress.tell(2, 2, "first centres")
        progress.tell(1, 11, "passes")
    assert [line.rpartition("about ")[2] for line in lines()] == [
        "10 s left",
        "3 min left",
    ]


@pytest.mark.parametrize("phase", ["passes", "a phase with a name that is very long"])
def test_the_moving_line_is_one_line_of_a_terminal(monkeypatch, phase):
    monkeypatch.setenv("COLUMNS", "80")
    terminal = make_terminal(monkeypatch)
    with progress.progress("clustering 1,000,000 objects") as _:
        progress.tell(3, 4, phase)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    lines = [line for line in re.split(r"[\r\n]+", shown) if line.strip()]
    assert all(len(line) <= 80 for line in lines)
    assert any("75 %" in line and " left" in line for line in lines)
