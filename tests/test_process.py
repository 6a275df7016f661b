"""The process: what a call leaves behind, and modes and streams that it may meet."""

import io
import os
import signal
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import Birch, KMeans, MiniBatchKMeans
from threadpoolctl import threadpool_info, threadpool_limits

import ensclust
from conftest import unmeasured
from ensclust._methods import METHODS

OPTIMIZED = """
import numpy as np, ensclust
for name in ensclust.__all__:
    getattr(ensclust, name)
X = np.random.default_rng(0).normal(size=(40, 3))
from ensclust._methods import METHODS
for name in METHODS:
    estimator = METHODS[name](2, 4, random_state=0).fit(X)
    print(name, *estimator.predict(X[:5]))
class Own(ensclust.EAC):
    pass
Own(2).fit(X)
"""
RUNS = np.random.default_rng(0).integers(0, 4, (60, 6))
X = np.random.default_rng(0).normal(size=(60, 4))
BASE = [KMeans(3, n_init=1, max_iter=1), MiniBatchKMeans(3, n_init=1), Birch()]

# Calls of every kind: those that set limits of threads, filters of warnings or handlers
# of signals, or call what does; with the error that they are to raise, if any.
CALLS = {
    **{
        f"consensus {name}": (lambda name=name: ensclust.consensus(RUNS, 3, name), None)
        for name in METHODS
    },
    "generate": (lambda: ensclust.generate(X, 6), None),
    "generate by clusterers": (lambda: ensclust.generate(X, 6, base=BASE), None),
    "generate that fails": (
        lambda: ensclust.generate(X, 6, base=[KMeans(), Failing()]),
        RuntimeError,
    ),
    "generate from text": (lambda: ensclust.generate([["a"]] * 60), ValueError),
    "fit of features": (lambda: ensclust.ECPCSMC(3).fit(X).predict(X), None),
    "fit of complex numbers": (lambda: ensclust.EAC(3).fit(X * 1j), ValueError),
    "select_k": (lambda: ensclust.select_k(RUNS), None),
    "compare": (lambda: ensclust.compare(RUNS, 3, ["eac", "ptgp"]), None),
    "stability": (lambda: ensclust.stability(KMeans(3, n_init=1), X, n=6), None),
    "stability that fails": (
        lambda: ensclust.stability(Failing(), X, n=6),
        RuntimeError,
    ),
    "nmi": (lambda: ensclust.metrics.nmi(RUNS[:, 0], RUNS[:, 1]), None),
    "ari": (lambda: ensclust.metrics.ari(RUNS[:, 0], RUNS[:, 1]), None),
    "blocks": (lambda: ensclust.consensus(ensclust.Blocks(RUNS), 3), None),
}


class Failing(KMeans):
    """A clusterer that fails half way."""

    def fit(self, X, y=None, sample_weight=None):
        super().fit(X)
        msg = "no more"
        raise RuntimeError(msg)

    def fit_predict(self, X, y=None, sample_weight=None):
        return self.fit(X)


def state():
    """Return what belongs to the whole process."""
    kept = {thread.name for thread in threading.enumerate()}
    return {
        "pools": [
            (pool["filepath"], pool["num_threads"])
            for pool in threadpool_info()
            if pool["user_api"] == "blas"
        ],
        "filters": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "SIGINT": signal.getsignal(signal.SIGINT),
        "threads": sorted(name for name in kept if not name.startswith("ensclust")),
    }


def call(name):
    work, error = CALLS[name]
    if error is None:
        return work()
    try:
        work()
    except error:
        return None
    pytest.fail(f"{name} did not fail")


@pytest.fixture
def before(monkeypatch):
    """Return the state, with a limit and filters that somebody has set."""
    for name in CALLS:  # load and compile
        call(name)
    with threadpool_limits(3, user_api="blas"):
        monkeypatch.setattr(warnings, "filters", list(warnings.filters))
        warnings.simplefilter("ignore", UserWarning)
        yield state()


@pytest.mark.filterwarnings("ignore")
def test_a_call_leaves_the_process_as_it_was(before):
    for name in CALLS:
        call(name)
        assert state() == before, name


@pytest.mark.filterwarnings("ignore")
def test_calls_at_the_same_time_leave_the_process_as_it_was(before):
    with ThreadPoolExecutor(4) as threads:
        order = np.random.default_rng(0).permutation(3 * list(CALLS))
        list(threads.map(call, order.tolist()))
    assert state() == before


def test_only_our_own_thread_goes_without_warnings():
    """Somebody who tries a k beside us does not take our warning away."""
    from ensclust._support.quiet import muted

    lone = [[0, 0], [0, 0], [1, 1], [1, 1]]
    inside, done = threading.Event(), threading.Event()

    def other():
        with muted():
            inside.set()
            done.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(60)
    try:
        with pytest.warns(UserWarning, match="formed 2 of n_clusters=3"):
            ensclust.consensus(lone, 3)
        with warnings.catch_warnings(), muted():
            warnings.simplefilter("error")
            ensclust.consensus(lone, 3)
    finally:
        done.set()
        thread.join()


def run(command, **options):
    return subprocess.run(
        [sys.executable, *command], text=True, check=False, timeout=300, **options
    )


@pytest.mark.slow
def test_without_docstrings_methods_do_the_same():
    # Plain Python: kernels without docstrings would all be compiled once more.
    plain = unmeasured() | {"NUMBA_DISABLE_JIT": "1"}
    bare = run(["-OO", "-c", OPTIMIZED], capture_output=True, env=plain)
    assert bare.returncode == 0, bare.stderr
    labels = io.StringIO()
    with redirect_stdout(labels):
        exec(OPTIMIZED, {"__name__": "own"})
    assert bare.stdout == labels.getvalue() != ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="streams are closed by the shell")
@pytest.mark.parametrize("stderr", ["full", "closed", "pipe"])
def test_a_stderr_that_takes_nothing_changes_no_result(stderr, tmp_path):
    if stderr == "full" and not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    runs = tmp_path / "runs.csv"
    np.savetxt(runs, RUNS, fmt="%d", delimiter=",")
    close = {"closed": lambda: os.close(2)}.get(stderr)

    def status(*words):
        if stderr == "pipe":
            ours, theirs = os.pipe()
            os.close(ours)  # nobody will read
        else:
            theirs = os.open("/dev/full" if stderr == "full" else os.devnull, os.O_RDWR)
        done = run(
            ["-m", "ensclust", *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=theirs,
            preexec_fn=close,
        )
        os.close(theirs)
        assert done.stdout == ""
        return done.returncode

    written = tmp_path / "labels.csv"
    assert status("consensus", runs, "-k", 3, "-o", written) == 0
    assert len(written.read_text().splitlines()) == len(RUNS) + 1
    written.unlink()
    assert status("consensus", runs, "-k", 99, "-o", written) == 2
    assert status("consensus", runs, "-k", "x", "-o", written) == 2
    assert not written.exists()
