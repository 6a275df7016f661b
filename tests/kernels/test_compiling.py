"""Kernels are compiled on first use: reported once, and not part of other times."""

import errno
import gc
import importlib.util
import io
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


@pytest.mark.parametrize("is_on", [True, False])
def test_garbage_is_collected_after_compilation_as_before(is_on):
    state = Compiling()
    state.is_told = True
    (gc.enable if is_on else gc.disable)()
    try:
        for depth in (1, 2):
            for _ in range(depth):
                state.begin()
                assert not gc.isenabled()
            for left in reversed(range(depth)):
                state.end()
                assert gc.isenabled() == (is_on and not left)
    finally:
        gc.enable()


def test_without_a_cache_it_is_said_how_to_have_one(capsys):
    state = Compiling()
    state.is_kept = False
    state.begin()
    state.end()
    assert "in each process: set NUMBA_CACHE_DIR" in capsys.readouterr().err


class Full(io.StringIO):
    """A stream without room."""

    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device", text)


@pytest.mark.parametrize("stderr", [None, Full()], ids=["closed", "full"])
def test_a_stderr_that_takes_nothing_stops_no_work(stderr, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", stderr)
    state = Compiling()
    state.begin()
    state.end()
    assert state.is_told
    assert capsys.readouterr().out == ""


KERNEL = """
from ensclust._kernels._jit import jit

@jit
def twice(x):
    return 2 * x
"""


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("size", [0, 30, 200])
def test_half_a_file_of_the_cache_is_compiled_anew(suffix, size, tmp_path):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)

    def load():
        spec = importlib.util.spec_from_file_location(f"kernel_{suffix}_{size}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.twice(21) == 42
        return sum(module.twice.stats.cache_hits.values())

    assert [load(), load()] == [0, 1]
    (file,) = tmp_path.rglob(f"*{suffix}")
    os.truncate(file, size)
    assert [load(), load()] == [0, 1]


def test_a_cache_that_cannot_be_written_stops_no_work(tmp_path, monkeypatch):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("kernel_full", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module.twice._cache._cache_file, "save", full)
    assert module.twice(21) == 42


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
