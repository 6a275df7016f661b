"""Count the modules that a task passes through: ``python -m benchmarks.walks``.

Five walks on iris, each run once before it is counted, so that lazy imports, caches and
compilation are done. Counted in all threads: the modules of the package that are
entered, the (named) functions, and the pairs of modules of which one calls the other.
The caller is the nearest function of the package further up the stack of the thread; a
call without one makes no pair. Support and kernels, see SUPPORT, and all pairs with
them, are left out of the first three columns; the last three columns include them,
except for compiled functions, whose calls Python does not see.

``--source DIR`` walks through the package of another checkout. Only public names are
used, so that different versions can be compared:

    python -m benchmarks.walks --source DIR --json before.json
    python -m benchmarks.walks --before before.json
"""

from __future__ import annotations

import argparse
import gc
import inspect
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import sources
from benchmarks.sources import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    import numpy as np

# Modules, or folders of them, that any other may use: by the layout of the package,
# which is "rooms" where it has a folder _support.
SUPPORT = {
    "flat": (
        "_kernels",
        "_documentation",
        "_encoding",
        "_html",
        "_memory",
        "_parallel",
        "_progress",
        "_replace",
        "_validation",
    ),
    "rooms": ("_kernels", "_support"),
}
BARS = {"modules": 0.7, "pairs": 0.6}  # at most, relative to before
COUNTS = ("modules", "functions", "pairs")
PACKAGES = ("numpy", "scikit-learn", "numba", "dask", "joblib", "click")
ROWS = 40  # of a block
WORKER = "from benchmarks import walks; walks.worker()"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("walks", nargs="*", metavar="WALK", help=", ".join(WALKS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    parser.add_argument("--before", type=Path, metavar="FILE", help="compare with it")
    parser.add_argument("--source", type=Path, metavar="DIR", default=ROOT,
                        help="a checkout, instead of this one")  # fmt: skip
    options = parser.parse_args(arguments)
    if unknown := set(options.walks) - set(WALKS):
        parser.error(f"unknown walk {', '.join(sorted(unknown))}; use {[*WALKS]}")
    before = json.loads(options.before.read_text()) if options.before else None
    found = measure(options.source, options.walks)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))
    if before:
        print(f"\n{comparison(before, found)}")


def measure(source: Path = ROOT, walks: list[str] | None = None) -> dict[str, Any]:
    """Walk in a fresh process, through the package in ``source``/src."""
    environment, folder = sources.environment(source), source.resolve() / "src"
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(folder), *(walks or WALKS)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    return {**sources.commit(source), **json.loads(done.stdout.splitlines()[-1])}


def worker() -> None:
    """Print what was counted, as one line of JSON; see :func:`measure`."""
    import ensclust

    folder, *names = sys.argv[1:]
    package = Path(ensclust.__file__).resolve().parent
    if package.parent != Path(folder):
        sys.exit(f"ensclust was imported from {package.parent}, not from {folder}")
    layout = "rooms" if (package / "_support").is_dir() else "flat"
    counter = Counter(Path(ensclust.__file__).parent)
    # Threads of a pool, and their profilers, persist from the first run.
    threading.setprofile(counter.profile)
    found = {}
    with tempfile.TemporaryDirectory(prefix="ensclust-walks-") as folder:
        inputs = prepare(Path(folder))
        for name in names:
            walk = WALKS[name](inputs)
            walk()
            with counter.counting() as counts:
                walk()
            found[name] = figures(counts, SUPPORT[layout])
    facts = {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "cores": os.cpu_count(),
        "layout": layout,
        "support": SUPPORT[layout],
    }
    print(json.dumps({**facts, "walks": found}))


@dataclass
class Counts:
    """What a walk entered: functions as (module, name, line), pairs of modules."""

    functions: set[tuple[str, str, int]] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)


class Counter:
    """Records the calls of functions whose files are in a folder."""

    def __init__(self, folder: Path):
        self.folder = f"{folder}{os.sep}"
        self.counts: Counts | None = None

    @contextmanager
    def counting(self) -> Iterator[Counts]:
        """Count inside, without the garbage collector, which may run at any time."""
        counts = Counts()
        gc.collect()
        gc.disable()
        sys.setprofile(self.profile)
        self.counts = counts
        try:
            yield counts
        finally:
            self.counts = None
            sys.setprofile(None)
            gc.enable()

    def profile(self, frame: FrameType, event: str, _argument: object) -> None:
        """Record a call; for sys.setprofile and threading.setprofile."""
        counts, code = self.counts, frame.f_code
        if (
            event != "call"
            or counts is None
            or not code.co_filename.startswith(self.folder)
            or not is_function(frame)
        ):
            return
        module = self.module(frame)
        counts.modules.add(module)
        if not code.co_name.startswith("<"):  # lambdas, comprehensions
            counts.functions.add((module, code.co_qualname, code.co_firstlineno))
        caller = self.caller(frame)
        if caller not in {None, module}:
            counts.pairs.add((caller, module))

    def caller(self, frame: FrameType) -> str | None:
        """Return the module of the nearest calling function of ours, if any."""
        below = frame.f_back
        while below is not None:
            if below.f_code.co_filename.startswith(self.folder):
                return self.module(below) if is_function(below) else None
            below = below.f_back
        return None

    def module(self, frame: FrameType) -> str:
        """Return the name of a module within the package."""
        path = Path(frame.f_code.co_filename.removeprefix(self.folder))
        path = path.parent if path.name == "__init__.py" else path.with_suffix("")
        return ".".join(path.parts) or "ensclust"


def is_function(frame: FrameType) -> bool:
    """Whether a frame is that of a function, not of a module or class body."""
    return bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


def figures(counts: Counts, support: tuple[str, ...]) -> dict[str, Any]:
    """Return the counts without and with support, and the names counted."""

    def is_above(module: str) -> bool:
        return module.partition(".")[0] not in support

    return {
        "above support": {
            "modules": sum(map(is_above, counts.modules)),
            "functions": sum(is_above(module) for module, *_ in counts.functions),
            "pairs": sum(is_above(a) and is_above(b) for a, b in counts.pairs),
        },
        "all": {name: len(getattr(counts, name)) for name in COUNTS},
        "modules": sorted(counts.modules),
        "pairs": [f"{a} > {b}" for a, b in sorted(counts.pairs)],
    }


@dataclass(frozen=True)
class Inputs:
    """Iris, ten clusterings of it, and a folder with these in labels.csv."""

    X: np.ndarray
    labels: np.ndarray
    folder: Path


def prepare(folder: Path) -> Inputs:
    import numpy as np
    from sklearn.datasets import load_iris

    import ensclust

    X = load_iris().data
    labels = ensclust.generate(X, 10, base_k=(3, 12), random_state=0).labels
    head = ",".join(f"c{i}" for i in range(labels.shape[1]))
    path = folder / "labels.csv"
    np.savetxt(path, labels, "%d", delimiter=",", header=head, comments="")
    return Inputs(X, labels, folder)


# Only what the returned function does is counted.
def ecpcs_mc(inputs: Inputs) -> Callable[[], object]:
    from ensclust import ECPCSMC

    return lambda: ECPCSMC(3, random_state=0).fit(inputs.X)


def ecpcs_hc(inputs: Inputs) -> Callable[[], object]:
    from ensclust import ECPCSHC

    return lambda: ECPCSHC(3, random_state=0).fit(inputs.X)


def in_blocks(inputs: Inputs) -> Callable[[], object]:
    import numpy as np

    from ensclust import Blocks, consensus

    def walk():
        blocks = Blocks(inputs.labels, rows=ROWS)
        return np.asarray(consensus(blocks, 3, random_state=0))

    return walk


def by_dask(inputs: Inputs) -> Callable[[], object]:
    import dask
    import dask.array

    from ensclust import consensus

    labels = dask.array.from_array(inputs.labels, chunks=(ROWS, -1))

    def walk():
        with dask.config.set(scheduler="synchronous"):
            return consensus(labels, 3, random_state=0).compute()

    return walk


def command(inputs: Inputs) -> Callable[[], object]:
    from click.testing import CliRunner

    from ensclust.cli import main as ensclust

    paths = [inputs.folder / name for name in ("labels.csv", "out.csv", "page.html")]
    labels, out, page = map(str, paths)
    arguments = ["consensus", labels, "-k", "3", "--seed", "0", "-o", out]
    arguments += ["--report", page]

    def walk():
        for path in paths[1:]:
            path.unlink(missing_ok=True)
        done = CliRunner().invoke(ensclust, arguments, catch_exceptions=False)
        if done.exit_code:
            raise RuntimeError(done.output)

    return walk


WALKS = {
    "ecpcs-mc": ecpcs_mc,
    "ecpcs-hc": ecpcs_hc,
    "blocks": in_blocks,
    "dask": by_dask,
    "command": command,
}


def table(found: dict[str, Any]) -> str:
    """Return the figures as text."""
    heads = "".join(f"{name:>11}" for name in COUNTS)
    lines = [
        f"commit {title(found)}, Python {found['python']}, {found['cores']} cores",
        "",
        f"{'':10}{'above support':>33}  {'with support':>33}",
        f"{'walk':10}{heads}  {heads}",
    ]
    for walk, counts in found["walks"].items():
        above, every = (
            "".join(f"{counts[part][name]:11}" for name in COUNTS)
            for part in ("above support", "all")
        )
        lines.append(f"{walk:10}{above}  {every}")
    return "\n".join(lines)


def comparison(before: dict[str, Any], after: dict[str, Any]) -> str:
    """Return the figures of two commits side by side, as text."""
    bars = ", ".join(f"{name} at most {bar:.0%}" for name, bar in BARS.items())
    lines = [
        f"{title(before)} before, {title(after)} after\ntargets: {bars}",
        *(
            f"not comparable: {key} was {before[key]}, is {after[key]}"
            for key in ("python", "cores")
            if before[key] != after[key]
        ),
        "",
        f"{'':10}{'above support':>40}  {'with support':>21}",
        f"{'walk':10}{'modules':>20}{'pairs':>20}  {'modules':>14}{'pairs':>7}",
    ]
    for walk, counts in after["walks"].items():
        old = before["walks"].get(walk)
        if old is None:
            continue
        line, rest = f"{walk:10}", ""
        for count, bar in BARS.items():
            a, b = (x["above support"][count] for x in (old, counts))
            verdict = "yes" if b <= bar * a else "NO"
            line += f"{a:5} >{b:4}{ratio(b, a):>5}{verdict:>4}"
            width = 14 if count == "modules" else 7
            rest += f"{ratio(counts['all'][count], old['all'][count]):>{width}}"
        lines.append(f"{line}  {rest}")
    return "\n".join(lines)


def ratio(a: int, b: int) -> str:
    return f"{a / b:.0%}" if b else "-"


def title(found: dict[str, Any]) -> str:
    """Return what to call the commit of some figures."""
    return f"{found['commit'] or 'unknown'}{' (changed)' * found['is_changed']}"


if __name__ == "__main__":
    main()
