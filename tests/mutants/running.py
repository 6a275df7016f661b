"""Run the tests that reach a change, in a copy of the repository.

One process imports what the package needs, and forks for each change. The copy, its
compiled kernels and the map of what each test reaches are stored in ``mutants/``.
"""

import ast
import compileall
import gc
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path

from tests.mutants.changes import ROOMS, ROOT, SOURCE, Change

HOME = ROOT / "mutants"
COPY = HOME / "copy"
REACHED = HOME / "reached"

# What the tests import, and the package: loaded once.
_LIBRARIES = (
    "numpy", "scipy.cluster.hierarchy", "scipy.io", "scipy.optimize",
    "scipy.sparse.csgraph", "scipy.sparse.linalg", "scipy.stats", "sklearn.cluster",
    "sklearn.datasets", "sklearn.metrics", "sklearn.model_selection",
    "sklearn.pipeline", "sklearn.utils.estimator_checks", "numba", "pandas",
    "pyarrow.csv", "pyarrow.parquet", "hypothesis.extra.numpy", "click.testing",
    "rich.console", "rich.progress", "rich.table", "h5py", "anndata", "zarr",
    "dask.array", "distributed", "psutil", "coverage",
)  # fmt: skip

# Tests of anything other than the package's source, or that start programs.
_NOT_RUN = {
    f"test_{name}.py"
    for name in (
        "architecture", "benchmarks", "dependencies", "doc_code", "docs", "examples",
        "faults", "fuzz", "mutants", "readme", "report_browser",
    )
}  # fmt: skip

# Tests of what modules define: they import everything, and reach lines of functions
# only by chance.
_OF_DEFINITIONS = ("tests/test_dataclasses.py",)

_START = 12.0  # seconds for imports, and for loading kernels
_COMPILING = 60.0  # for a change of a kernel
_BYTES = 16 * 2**30

FAILED, SURVIVED, TOO_LONG, CRASHED = "failed", "survived", "too long", "crashed"


def prepare() -> None:
    """Copy the repository, and import what tests need."""
    os.environ |= {
        "HYPOTHESIS_PROFILE": "mutants",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    parts = ("src", "tests", "docs", "examples", "benchmarks", "fuzz", ".ci")
    made = shutil.ignore_patterns("__pycache__", "_build", "gallery", "reference")
    for part in parts:
        _mirror(ROOT / part, COPY / part, made)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy2(path, COPY)
    for part in ("src", "tests"):
        compileall.compile_dir(COPY / part, quiet=1)
    for name in _LIBRARIES:
        importlib.import_module(name)
    _use(COPY)


def _mirror(source: Path, target: Path, ignore: Callable) -> None:
    """Copy a folder; unchanged files keep their times, and so compiled kernels."""
    shutil.copytree(source, target, ignore=ignore, dirs_exist_ok=True)
    for path in target.rglob("*"):
        is_ours = "__pycache__" not in path.parts and not path.is_dir()
        if is_ours and not (source / path.relative_to(target)).exists():
            path.unlink()


def _foreign(paths: Iterable[str]) -> list[str]:
    ours = (str(HOME), str(ROOT / "src"))
    return [
        path
        for path in paths
        if path not in {"", str(ROOT)} and not path.startswith(ours)
    ]


# Which tests reach which lines


class Reach:
    """For each test the seconds it takes, and for each line the tests that reach it."""

    def __init__(self, found: dict[str, dict], most: float) -> None:
        self.seconds: dict[str, float] = {}
        self.most = most
        self._by_line: dict[tuple[str, int], set[str]] = defaultdict(set)
        self._by_path: dict[str, set[str]] = defaultdict(set)
        for tests in found.values():
            for test, (seconds, lines) in tests.items():
                self.seconds[test] = seconds
                for path, numbers in lines.items():
                    self._by_path[path].add(test)
                    for number in numbers:
                        self._by_line[path, number].add(test)

    def tests(self, change: Change) -> list[str]:
        """Return the tests of a change in the order in which they are run."""
        is_kernel = change.room == "_kernels" and "/_" not in change.path
        if is_kernel:
            tests = self._kernel(change)
        elif change.where in _called_at_import():
            tests = set(self._by_path[change.path])
        else:
            tests = self._lines(change.path, change.lines)
        tests = tests or self._by_path[change.path]
        if change.lines == (0, 0):
            tests = tests | {t for t in self.seconds if t.startswith(_OF_DEFINITIONS)}
        return self._affordable(tests, change)

    def _lines(self, path: str, lines: tuple[int, int]) -> set[str]:
        if lines == (0, 0):
            return set(self._by_path[path])
        found = [self._by_line[path, n] for n in range(lines[0], lines[1] + 1)]
        return set().union(*found)

    def _kernel(self, change: Change) -> set[str]:
        """Return tests of lines that name a kernel, or one that calls it.

        Code outside functions concerns all kernels of the module: "shares.".
        """
        found: set[str] = set()
        module, name = Path(change.path).stem, change.where.partition(".")[0]
        for kernel in _callers(f"{module}.{name}"):
            for path, number in _naming(kernel):
                found |= self._by_line[path, number]
            found |= {test for test in self.seconds if kernel in _text(_file(test))}
        return found

    def _affordable(self, tests: set[str], change: Change) -> list[str]:
        """Return tests worth a few seconds: first a few cases of each function."""
        own = (f"tests/{change.room.strip('_')}/", f"{SOURCE}/{change.path}")
        own += _OF_DEFINITIONS
        seen: Counter[str] = Counter()
        rank = {}
        for test in sorted(tests, key=lambda test: (self.seconds[test], test)):
            is_own, function = test.startswith(own), test.partition("[")[0]
            case = seen[function] // 4 if is_own else 1 + seen[function]
            rank[test] = case, not is_own, self.seconds[test], test
            seen[function] += 1
        kept, files, total = [], set(), 0.0
        for test in sorted(tests, key=rank.__getitem__):
            new = 0.2 * (_file(test) not in files)  # its imports
            if total + self.seconds[test] + new <= self.most or not kept:
                kept.append(test)
                files.add(_file(test))
                total += self.seconds[test] + new
        return kept


def _file(test: str) -> str:
    return test.partition("::")[0]


_texts: dict[str, str] = {}


def _text(path: str) -> str:
    if path not in _texts:
        _texts[path] = (ROOT / path).read_text()
    return _texts[path]


@cache
def _called_at_import() -> set[str]:
    """Return names of functions that decorate others, or are called by modules."""
    names: set[str] = set()
    for path in (ROOT / SOURCE).rglob("*.py"):
        for node in ast.parse(_text(path.relative_to(ROOT).as_posix())).body:
            is_function = isinstance(node, ast.FunctionDef)
            parts = node.decorator_list if is_function else [node]
            inside = [] if isinstance(node, ast.ClassDef) else parts
            for part in (own for top in inside for own in ast.walk(top)):
                if isinstance(part, ast.Call):
                    names.add(getattr(part.func, "id", ""))
                names.add(getattr(part, "id", "") if is_function else "")
    return names - {""}


def _naming(name: str) -> list[tuple[str, int]]:
    """Return the lines of Python code outside kernels that name a kernel."""
    found = []
    for path in sorted((ROOT / SOURCE).rglob("*.py")):
        place = path.relative_to(ROOT / SOURCE).as_posix()
        if not place.startswith("_kernels/"):
            lines = _text(f"{SOURCE}/{place}").splitlines()
            found += [(place, n) for n, line in enumerate(lines, 1) if name in line]
    return found


def _callers(name: str) -> set[str]:
    """Return a kernel and those that call it, directly or not, as module.name."""
    calls = {}
    for path in sorted((ROOT / SOURCE / "_kernels").glob("*.py")):
        body = ast.parse(path.read_bytes()).body
        own = {
            node.name: path.stem for node in body if isinstance(node, ast.FunctionDef)
        }
        for node in body:
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                home = node.module.rpartition(".")[2]
                own |= {alias.name: home for alias in node.names}
        for node in body:
            if isinstance(node, ast.FunctionDef):
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                called = {f"{own[used]}.{used}" for used in names & own.keys()}
                calls[f"{path.stem}.{node.name}"] = called
    found = {name}
    while more := {one for one, called in calls.items() if called & found} - found:
        found |= more
    return found


def reach(workers: int, most: float, rooms: list[str] | None = None) -> Reach:
    """Return what tests reach, all of them or those of some rooms.

    Files whose tests or source have changed are run again.
    """
    REACHED.mkdir(parents=True, exist_ok=True)
    helpers = [p for p in (ROOT / "tests").glob("*.py") if not p.match("test_*")]
    sources = sorted([*(ROOT / SOURCE).rglob("*.py"), *helpers])
    state = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    kept = {}
    for path in _test_files(rooms):
        own = state.copy()
        own.update((ROOT / path).read_bytes())
        kept[path] = REACHED / f"{path.replace('/', '-')}-{own.hexdigest()[:12]}.json"
    jobs = [partial(_trace, *one) for one in kept.items() if not one[1].exists()]
    together([partial(in_child, job, 900) for job in jobs], workers)
    found = {path: file for path, file in kept.items() if file.exists()}
    tests = {path: json.loads(file.read_text()) for path, file in found.items()}
    return Reach(tests, most)


def _test_files(rooms: list[str] | None) -> list[str]:
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    chosen = [path for path in tests if path.name not in _NOT_RUN]
    found = [path.relative_to(ROOT).as_posix() for path in chosen]
    if rooms is None:
        return found
    own = tuple(f"tests/{room.strip('_')}/" for room in rooms) + _OF_DEFINITIONS
    return [path for path in found if path.startswith(own)]


def _trace(path: str, kept: Path) -> int:
    """Run the tests of a file; record which lines each reaches, if it passes."""
    import coverage

    here = str(Path.cwd() / SOURCE)
    tracer = coverage.Coverage(
        data_file=None, config_file=False, include=[f"{here}/*"], messages=False
    )
    watch = _Watch(tracer)
    tracer.start()
    _pytest([path, "-m", "not slow"], [watch])
    tracer.stop()
    lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    data = tracer.get_data()
    for file in data.measured_files():
        place = Path(file).relative_to(here).as_posix()
        for number, tests in data.contexts_by_lineno(file).items():
            for test in tests:
                lines[test][place].append(number)
    passed = {test: (watch.seconds[test], lines[test]) for test in watch.passed}
    kept.write_text(json.dumps(passed))
    return 0


class _Watch:
    """A pytest plugin that informs the tracer which test runs."""

    def __init__(self, tracer) -> None:
        self.tracer = tracer
        self.seconds: dict[str, float] = {}
        self.passed: list[str] = []

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tracer.switch_context(nodeid)
        self._start = time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] = round(time.process_time() - self._start, 3)

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "call" and report.passed:
            self.passed.append(report.nodeid)


class _Only:
    """A pytest plugin that runs selected tests, in the given order."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list) -> None:
        items[:] = [item for item in items if item.nodeid in self.place]
        items.sort(key=lambda item: self.place[item.nodeid])


def _pytest(args: list[str], plugins: list) -> int:
    import pytest

    options = ["-q", "--no-header", "--assert=plain", "--tb=short"]
    return int(pytest.main([*options, *args], plugins=plugins))


# One change


def try_change(change: Change, tests: list[str], seconds: float) -> str:
    """Return the outcome of a change."""
    if not tests:
        return SURVIVED
    in_kernel = change.room == "_kernels"
    limit = _START + 4 * seconds + _COMPILING * in_kernel
    with _changed(change):
        status = in_child(lambda: _run(tests), limit)
    if os.WIFSIGNALED(status):
        by = os.WTERMSIG(status)
        if by in {signal.SIGTERM, signal.SIGINT}:
            sys.exit("the tests were ended from outside")
        return TOO_LONG if by in {signal.SIGXCPU, signal.SIGKILL} else CRASHED
    return SURVIVED if os.WEXITSTATUS(status) == 0 else FAILED


def _run(tests: list[str]) -> int:
    """Run tests; those after the first two files only if these pass."""
    files = list(dict.fromkeys(map(_file, tests)))
    for part in filter(None, (files[:2], files[2:])):
        if status := _pytest(["-x", *part], [_Only(tests)]):
            return status
    return 0


@contextmanager
def _changed(change: Change):
    """Change the file in the copy; compiled kernels are set aside."""
    path = Path.cwd() / SOURCE / change.path
    source, stat = path.read_bytes(), path.stat()
    # Old, so that conftest keeps other kernels; distinct, so that no cache is used.
    age = 10 + int(change.id[:6], 16)
    path.write_bytes(change.apply(source))
    os.utime(path, (stat.st_mtime - age, stat.st_mtime - age))
    kernels = Path.cwd() / SOURCE / "_kernels"
    aside = Path.cwd() / "compiled"
    if change.room == "_kernels":
        stale = _importing(path.stem, kernels)
        shutil.rmtree(aside, ignore_errors=True)
        (kernels / "__pycache__").rename(aside)
        (kernels / "__pycache__").mkdir()
        for file in aside.iterdir():
            if file.name.split(".")[0] not in stale:
                os.link(file, kernels / "__pycache__" / file.name)
    try:
        yield
    finally:
        path.write_bytes(source)
        os.utime(path, (stat.st_mtime, stat.st_mtime))
        if change.room == "_kernels":
            shutil.rmtree(kernels / "__pycache__")
            aside.rename(kernels / "__pycache__")


def _importing(name: str, kernels: Path) -> set[str]:
    """Return a module of kernels and those that contain its compiled code."""
    if name.startswith("_"):  # how kernels are compiled, not a kernel itself
        return set()
    texts = {path.stem: path.read_text() for path in kernels.glob("*.py")}
    found = {name}
    while (
        more := {
            other
            for other, text in texts.items()
            if any(f"_kernels.{one} import" in text for one in found)
        }
        - found
    ):
        found |= more
    return found


def in_child(work: Callable[[], int], seconds: float) -> int:
    """Call ``work`` in a fork with limited CPU time; return its status."""
    pid = os.fork()
    if not pid:
        status = 70
        with suppress(BaseException):
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.setsid()
            out = os.open("output.txt", os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.dup2(out, 2)
            cpu = int(seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 2))
            resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
            status = work()
        os._exit(status)
    deadline = time.monotonic() + 20 * seconds  # others may use the CPU
    try:
        done, status = 0, 0
        while not done:
            time.sleep(0.01)
            done, status = os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > deadline:
                with suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
    finally:
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)  # and the processes it started
    return status


def preload(room: str) -> None:
    """Import the rooms before ``room``, which do not import it."""
    if room in {"_support", "modules"}:  # __init__ imports a module of _support
        return
    for name in ROOMS[: ROOMS.index(room)]:
        for path in sorted((SOURCE / name).rglob("*.py")):
            place = path.relative_to("src").with_suffix("")
            importlib.import_module(".".join(place.parts).removesuffix(".__init__"))
    if early := [name for name in sys.modules if name.startswith(f"ensclust.{room}")]:
        sys.exit(f"{early} cannot be changed: an earlier room imports it")


def together(jobs: Iterable[Callable[[], None]], workers: int) -> None:
    """Call each job in its own fork, some at a time; others survive a failure."""
    running: set[int] = set()
    n_failed = 0
    # Signals that end this process end its workers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("the run was ended"))
    try:
        for job in jobs:
            if len(running) == workers:
                n_failed += _wait_for_one(running)
            running.add(_start(job))
        while running:
            n_failed += _wait_for_one(running)
    finally:
        for pid in running:
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)
    if n_failed:
        print(f"{n_failed} workers failed: run again for the rest", flush=True)


def _start(job: Callable[[], None]) -> int:
    """Return the process that runs a job."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        job()
        status = 0
    except SystemExit:
        pass
    except BaseException:
        traceback.print_exc()
    os._exit(status)


def _wait_for_one(running: set[int]) -> bool:
    """Wait until a worker ends; return whether it failed."""
    pid, status = os.wait()
    running.remove(pid)
    return status != 0


@contextmanager
def entered(room: str):
    """Work in a copy of the copy, with everything imported that comes before a room."""
    with tempfile.TemporaryDirectory(prefix=room, dir=HOME) as own:
        copy = Path(own) / "copy"
        shutil.copytree(COPY, copy)
        _use(copy)
        preload(room)
        gc.collect()
        gc.freeze()  # existing objects are not examined again in each fork
        yield


def _use(copy: Path) -> None:
    sys.path[:] = [str(copy / "src"), str(copy), *_foreign(sys.path)]
    os.environ["PYTHONPATH"] = f"{copy / 'src'}:{copy}"
    os.chdir(copy)
