"""Fixtures shared by the tests, and where to find outputs of the published codes."""

import inspect
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, Phase, settings

settings.register_profile(
    "ensclust",
    deadline=None,
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
# For a mutant it is enough to know that it fails; the smallest case does not matter.
settings.register_profile(
    "mutants", settings.get_profile("ensclust"), phases=[Phase.explicit, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ensclust"))

# Shells start background jobs with Ctrl-C ignored; programs that tests start and
# interrupt would inherit that.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[1]
MADE = ("_build", "gallery", "reference", "results")  # by the build of the site
SHARED = Path(os.environ.get("ENSCLUST_SHARED", ROOT.parent / "shared"))


# Files whose tests start programs, browsers or clusters; others mark single tests.
SLOW = {
    f"test_{name}.py"
    for name in (
        "bench", "benchmarks", "cli_files", "determinism", "distributed", "doc_code",
        "examples", "faults", "kernel_modes", "read_memory", "readme",
        "report_browser",
    )
}  # fmt: skip


# Files that begin first: one of them would else run alone at the end.
LONGEST = [
    f"test_{name}.py"
    for name in (
        "kernel_modes", "memory", "estimators", "numerics", "frozen", "determinism",
        "examples", "process", "cli_files",
    )
]  # fmt: skip
# Files that only repeat what other tests reach, or that test compiled code; tests of
# kernels as plain Python are measured.
UNMEASURED = {
    f"test_{name}.py"
    for name in ("determinism", "estimators", "golden", "numerics", "smoke")
}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of some files; those of the longest files come first."""
    for item in items:
        if item.path.name in SLOW:
            item.add_marker("slow")
        if item.path.name in UNMEASURED or item.path.parent.name == "kernels":
            item.add_marker("no_cover")
    place = {name: i for i, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONGEST)))


def pages():
    """Return the hand-written pages of docs/."""
    docs = ROOT / "docs"
    found = sorted(docs.rglob("*.md"))
    return [path for path in found if path.relative_to(docs).parts[0] not in MADE]


def unmeasured():
    """Return the environment for a program of which no coverage is measured."""
    measuring = "COVERAGE_PROCESS"
    return {k: v for k, v in os.environ.items() if not k.startswith(measuring)}


def cli_runner():
    """Return a command line runner that keeps stdout and stderr apart."""
    # click 8.1 mixes the two streams by default; later versions have no such option.
    known = inspect.signature(CliRunner).parameters
    return CliRunner(**({"mix_stderr": False} if "mix_stderr" in known else {}))


def pytest_configure():
    """Delete outdated compiled kernels: Numba only checks a kernel's own file."""
    kernels = ROOT / "src" / "ensclust" / "_kernels"
    newest = max(path.stat().st_mtime for path in kernels.glob("*.py"))
    for index in kernels.glob("__pycache__/*.nb[ic]"):
        if index.stat().st_mtime < newest:
            index.unlink(missing_ok=True)


def pytest_terminal_summary(terminalreporter, config):
    """Print how to repeat the order of the tests, which quiet runs hide."""
    seed = config.getoption("randomly_seed", None)
    if seed is not None:
        terminalreporter.write_line(f"Same order again: --randomly-seed={seed}")


@pytest.fixture(autouse=True, scope="session")
def nobody_sets_attributes_of_others():
    """Fail if an attribute of an estimator is set outside its own methods."""
    from ensclust import BaseConsensus, EnsembleGenerator

    package = str(ROOT / "src" / "ensclust")

    def watch(self, name, value):
        caller = sys._getframe(1)
        ours = caller.f_code.co_filename.startswith(package)
        if ours and caller.f_locals.get("self") is not self:
            msg = f"{caller.f_code.co_qualname} sets {name} of a {type(self).__name__}"
            raise AssertionError(msg)
        object.__setattr__(self, name, value)

    with pytest.MonkeyPatch.context() as patch:
        for cls in (BaseConsensus, EnsembleGenerator):
            patch.setattr(cls, "__setattr__", watch, raising=False)
        yield


@pytest.fixture(autouse=True)
def figures_are_closed():
    """Close the figures that doctests have left open, and those of the test."""

    def close():
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")

    close()
    yield
    close()


@pytest.fixture(autouse=True, scope="session")
def nobody_is_told_of_compiling():
    """Make commands print the same whether or not kernels are already compiled."""
    from ensclust._kernels._compiling import compiling

    compiling.is_told = True


@pytest.fixture
def golden():
    """Load an output of a published code, or its digest."""
    import golden_digest

    def load(name):
        path = SHARED / "golden" / f"{name}.npz"
        return np.load(path) if path.exists() else golden_digest.Digest(name)

    return load


@pytest.fixture(scope="session")
def digits_labels():
    """Return 20 k-means clusterings of the digits, and their classes."""
    from sklearn.datasets import load_digits

    from ensclust import generate

    X, y = load_digits(return_X_y=True)
    return generate(X, 20, base_k=(10, 38), random_state=0).labels, y


@pytest.fixture
def no_other_data(monkeypatch):
    """Load datasets from the package, not from a user's directory."""
    monkeypatch.delenv("ENSCLUST_DATA", raising=False)


@pytest.fixture
def store(tmp_path):
    """Return a directory for results of the paper's experiments."""
    from ensclust.paper import _protocol
    from ensclust.paper._store import Store

    store = Store(tmp_path / "results", _protocol.Protocol())
    store.open()
    return store
