"""Kernels are compiled on first use: it is said once, and no part of other times."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ensclust._kernels import _compiling
from ensclust._kernels._compiling import Compiling, stopwatch

NOTICE = "ensclust: compiling kernels, once after installation\n"


@pytest.fixture
def clock(monkeypatch):
    """Return a clock of which the tests move the hand."""
    now = [0.0]
    monkeypatch.setattr(_compiling.time, "perf_counter", lambda: now[0])
    return now


def test_it_is_said_once_and_timed_as_a_whole(clock, capsys):
    state = Compiling()
    for seconds in (1.0, 2.0):
        state.begin()
        clock[0] += seconds
        state.begin()  # a kernel that the first one calls
        clock[0] += seconds
        state.end()
        state.end()
        clock[0] += 100.0
    assert state.seconds == 6.0
    assert capsys.readouterr().err == NOTICE


def test_without_a_cache_it_is_said_how_to_have_one(capsys):
    state = Compiling()
    state.is_kept = False
    state.begin()
    assert "in each process: set NUMBA_CACHE_DIR" in capsys.readouterr().err


def test_a_stopwatch_stands_still_while_kernels_are_compiled(clock, monkeypatch):
    state = Compiling()
    state.is_told = True
    monkeypatch.setattr(_compiling, "compiling", state)
    seconds = stopwatch()
    clock[0] += 1.0
    state.begin()
    clock[0] += 50.0
    state.end()
    clock[0] += 2.0
    assert seconds() == 3.0


@pytest.mark.slow
def test_the_first_command_that_compiles_says_so(tmp_path):
    np.save(tmp_path / "runs.npy", np.array([[0, 0], [0, 0], [1, 1], [1, 1]]))
    command = [sys.executable, "-m", "ensclust", "consensus", "runs.npy", "-k", "2"]

    def errors(cache, *more):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / cache)}
        done = subprocess.run(
            [*command, *more],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stderr

    assert errors("one").count(NOTICE) == 1
    assert NOTICE not in errors("one")
    assert errors("two", "-q") == ""
