"""Kernels with the bounds of arrays checked, and as plain Python: the same results."""

import ast
import json
import os
import subprocess
import sys

import pytest

import kernel_walk
from conftest import unmeasured


@pytest.fixture(scope="module")
def digests():
    return kernel_walk.walk()


def walk_with(environment):
    """Return what the walk prints in a process with this environment."""
    done = subprocess.run(
        [sys.executable, kernel_walk.__file__],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def kernels():
    """Return the names of all kernels."""
    for path in kernel_walk.KERNELS.glob("[a-z]*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                yield f"{path.stem}.{node.name}"


def test_no_kernel_leaves_the_bounds_of_an_array(digests, tmp_path):
    # A separate cache: compiled code does not show whether it checks bounds.
    own = {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "NUMBA_OPT": "0",
        "PYTHONWARNINGS": "ignore",
    }
    assert walk_with(unmeasured() | own)["digests"] == digests


def test_every_kernel_is_plain_python_with_the_same_results(digests):
    found = walk_with({**os.environ, "NUMBA_DISABLE_JIT": "1"})
    assert found["digests"] == digests
    assert set(kernels()) - set(found["visited"]) == set()
