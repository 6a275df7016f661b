"""Kill and interrupt programs at random moments; nothing may be lost or wrong.

``make faults`` does so 50 times: a run is killed (SIGKILL) or interrupted (Ctrl-C,
SIGINT) at a random moment, what it left is examined, and it is started again. Files
must be old, absent or complete after the fault, and in the end equal to those of an
undisturbed run, byte for byte. Then workers of a Dask cluster are killed 20 times while
they count, vote and write: the file must be that of an undisturbed run, or, after an
error, the old one. With ``--write`` the figures go into docs/trust.md.
"""

import argparse
import os
import platform
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from benchmarks.report import fill

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "trust.md"
COMMAND = "python -m tests.faults"
OLD = b"what was here before\n"
STAGES = ("count and vote", "write")  # of labels in blocks
# The command line, with a checkpoint at every step and not every ten seconds.
PROGRAM = """
import sys
from ensclust._trees import kept_merges
from ensclust.cli import main
kept_merges.INTERVAL = 0.0
main(sys.argv[1:])
"""


@dataclass(frozen=True)
class Work:
    """A command, the files that it reads and writes, and what it saves meanwhile."""

    name: str
    arguments: str
    outputs: tuple[str, ...]
    prepare: Callable[[Path], None]
    kept: str = ""  # pattern of the files that a restart resumes from


def write_features(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) + 4 * np.arange(300)[:, None] % 3
    np.savetxt(folder / "x.csv", X, delimiter=",", header="a,b,c", comments="")


def write_runs(folder):
    np.save(folder / "runs.npy", np.random.default_rng(0).integers(0, 6, (4000, 8)))


WORKS = (
    Work(
        "cluster",
        "cluster x.csv -k 3 --seed 0 -q -o labels.csv",
        ("labels.csv",),
        write_features,
    ),
    Work(
        "report",
        "cluster x.csv -k 3 --seed 0 -q -o labels.csv --report page.html",
        ("labels.csv", "page.html"),
        write_features,
    ),
    Work(
        "linkage with a checkpoint",
        "consensus runs.npy -k 5 -m ecpcs-hc -q -p max_memory=1 "
        "-p checkpoint=kept -o labels.npy",
        ("labels.npy",),
        write_runs,
        "kept/merges.npz",
    ),
    Work(
        "reproduce",
        "reproduce table2 --quick --datasets wine --runs 2 --methods eac,kcc --true-k "
        "--n-jobs 2 -q --out results",
        ("results/results.jsonl.gz", "results/table2.md", "results/summary.md"),
        lambda _: None,
        "results/work/**/run-*",
    ),
)


@dataclass
class Outcome:
    """The outcome of one fault."""

    work: str
    number: int
    seconds: float = 0.0  # from the signal to the end of the process
    went_on: bool = False
    error: str = ""  # with which the work ended
    problems: list[str] = field(default_factory=list)


def undisturbed(work):
    """Return what the files of a run hold, and how many seconds it took."""
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name, "work"), Path(name, "log")
        folder.mkdir()
        work.prepare(folder)
        begin = time.monotonic()
        assert start(work, folder, log).wait() == 0, log.read_text()
        seconds = time.monotonic() - begin
        return {name: (folder / name).read_bytes() for name in work.outputs}, seconds


def disturbed(work, expected, number, moment):
    """Send a signal to a run after ``moment`` seconds, start it again, and compare.

    Returns None if the run has ended before.
    """
    outcome = Outcome(work.name, number)
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name, "work"), Path(name, "log")
        folder.mkdir()
        work.prepare(folder)
        for output in work.outputs:
            if "/" not in output:  # others are in directories that runs make
                (folder / output).write_bytes(OLD)
        process = start(work, folder, log)
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
            return None
        begin = time.monotonic()
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        process.wait()
        outcome.seconds = time.monotonic() - begin
        is_done = all(content_of(folder / o) == expected[o] for o in expected)
        if number == signal.SIGINT and not is_done:
            outcome.problems += refuse_words(process.returncode, log.read_text())
        if not ends(process.pid):
            outcome.problems.append("processes are left behind")
        for output, content in expected.items():
            if content_of(folder / output) not in (None, OLD, content):
                outcome.problems.append(f"{output} is half written")
        outcome.went_on = bool(work.kept and list(folder.glob(work.kept)))
        if start(work, folder, log).wait() != 0:
            outcome.problems.append(f"the restart fails: {log.read_text()}")
        for output, content in expected.items():
            if content_of(folder / output) != content:
                outcome.problems.append(f"{output} is not that of an undisturbed run")
    return outcome


def start(work, folder, log):
    """Start a run in a new session; its messages go to a file."""
    with log.open("wb") as messages:
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *work.arguments.split()],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=messages,
            start_new_session=True,
        )


def content_of(path):
    return path.read_bytes() if path.exists() else None


def refuse_words(status, text):
    """Return what is wrong with the end of an interrupted run: one line, 130."""
    if text.startswith("ensclust: interrupted") and text.count("\n") == 1:
        return [] if status == 130 else [f"ends with {status}, not 130"]
    return [f"does not end with one line but: {text[-300:]!r}"]


def ends(group, patience=60.0):
    """Whether all processes of a session end."""
    limit = time.monotonic() + patience
    while time.monotonic() < limit:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def run(times, seed):
    """Return the outcomes of many faults: three of four kill, one interrupts."""
    draw = random.Random(seed)
    known = {work.name: undisturbed(work) for work in WORKS if times}
    outcomes = []
    while len(outcomes) < times:
        i = len(outcomes)
        work = WORKS[i % len(WORKS)]
        expected, seconds = known[work.name]
        is_killed = i // len(WORKS) % 4 != 3
        number = signal.SIGKILL if is_killed else signal.SIGINT
        # Ctrl-C while Python itself starts is handled by Python.
        moment = draw.uniform(0 if is_killed else min(1.0, seconds / 2), seconds)
        outcome = disturbed(work, expected, number, moment)
        if outcome is None:  # the machine is less busy than before
            known[work.name] = expected, moment
            continue
        outcomes.append(outcome)
        shown = "; ".join(outcome.problems) or "fine"
        print(f"{i + 1} {work.name}, {number.name} at {moment:.2f} s: {shown}")
    return outcomes


class Cluster:
    """Two Dask workers, one of which is killed while labels are computed or written."""

    def __init__(self, folder, *, restarts):
        import distributed

        self.name = "Dask worker that " + ("restarts" if restarts else "stays down")
        self._cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,  # critical
        )
        for nanny in self._cluster.workers.values():
            nanny.auto_restart = restarts
        self._client = distributed.Client(self._cluster)
        self._source, self._output = folder / "runs.npy", folder / "labels.npy"
        runs = np.random.default_rng(0).integers(0, 6, (40_000, 8))
        np.save(self._source, runs)
        self.seconds = {}
        self._work("", 0.0)
        self._work("", 0.0)  # now that kernels are compiled
        self._expected = self._output.read_bytes()

    def close(self):
        self._client.close()
        self._cluster.close()

    def _work(self, stage, moment):
        """Count and vote, then write; kill a worker in one of these stages."""
        from ensclust import Blocks, consensus

        def stages():
            blocks = Blocks(self._source, rows=1000, engine="dask")
            stream = consensus(blocks, 5, random_state=0)
            yield  # counted and voted
            stream.write(self._output)
            yield

        begin = time.monotonic()
        steps = stages()
        for name in STAGES:
            killer = threading.Timer(moment, self._kill)
            if name == stage:
                killer.start()
            try:
                next(steps)
            finally:
                killer.cancel()
            if not stage:
                self.seconds[name] = time.monotonic() - begin
                begin = time.monotonic()

    def _kill(self):
        pids = [nanny.pid for nanny in self._cluster.workers.values() if nanny.pid]
        os.kill(min(pids), signal.SIGKILL)
        self.is_killed = True

    def disturbed(self, stage, moment):
        """Kill a worker after ``moment`` seconds of a stage; None if it was too quick.

        ``error`` is what the run ended with, if it did.
        """
        outcome = Outcome(self.name, signal.SIGKILL)
        self._output.write_bytes(OLD)
        self.is_killed = False
        allowed = (self._expected,)
        try:
            self._work(stage, moment)
        except Exception as error:
            outcome.error = f"{type(error).__name__}: {error}"
            allowed = (OLD,)
        if not self.is_killed:
            return None
        if content_of(self._output) not in allowed:
            outcome.problems.append("the file is half written, or wrong")
        return outcome


def kill_workers(times, seed):
    """Return the outcomes of killing workers; every fourth does not come back."""
    draw, outcomes = random.Random(seed), []
    while len(outcomes) < times:
        i, stage = len(outcomes), STAGES[len(outcomes) % 2]
        with (
            tempfile.TemporaryDirectory() as name,
            closing(Cluster(Path(name), restarts=i % 4 != 3)) as cluster,
        ):
            moment = draw.uniform(0, cluster.seconds[stage])
            outcome = cluster.disturbed(stage, moment)
        if outcome is None:  # the machine is less busy than before
            continue
        outcomes.append(outcome)
        shown = "; ".join([*outcome.problems, outcome.error]).strip("; ") or "fine"
        print(f"{i + 1} {outcome.work}, {stage} at {moment:.2f} s: {shown}", flush=True)
    return outcomes


def workers_report(outcomes, seed):
    """Return the figures about workers as Markdown."""
    lines = [
        f"`{COMMAND} --times 0 --workers {len(outcomes)} --seed {seed} --write`, "
        f"{circumstances()}",
        "",
        "| killed while labels are computed and written | times | labels of an "
        "undisturbed run | error, old file kept | wrong or missing files |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name in sorted({outcome.work for outcome in outcomes}):
        own = [outcome for outcome in outcomes if outcome.work == name]
        harmed = sum(bool(o.problems) for o in own)
        failed = sum(bool(o.error) and not o.problems for o in own)
        lines.append(
            f"| {name} | {len(own)} | {len(own) - harmed - failed} | {failed} | "
            f"{harmed} |"
        )
    return "\n".join(lines) + "\n"


def report(outcomes, seed):
    """Return the figures as Markdown."""
    lines = [
        f"`{COMMAND} --times {len(outcomes)} --seed {seed} --write`, {circumstances()}",
        "",
        "| work | killed | interrupted | wrong or missing files | resumed from saved "
        "work | slowest exit after Ctrl-C |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for work in WORKS:
        own = [outcome for outcome in outcomes if outcome.work == work.name]
        waits = [o.seconds for o in own if o.number == signal.SIGINT]
        lines.append(
            f"| {work.name} | {len(own) - len(waits)} | {len(waits)} | "
            f"{sum(bool(o.problems) for o in own)} | "
            f"{sum(o.went_on for o in own) if work.kept else 'not resumable'} | "
            f"{max(waits, default=0):.1f} s |"
        )
    return "\n".join(lines) + "\n"


def circumstances():
    date, version = datetime.now(UTC).date(), platform.python_version()
    return f"{date}, Python {version}, {os.cpu_count()} cores."


def main():
    """Run; the exit status says whether any file is wrong or missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--workers", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    outcomes = run(options.times, options.seed)
    workers = kill_workers(options.workers, options.seed)
    for found, tell, mark in (
        (outcomes, report, f"{COMMAND} --write"),
        (workers, workers_report, f"{COMMAND} --workers --write"),
    ):
        text = tell(found, options.seed)
        print(text)
        if found and options.write:
            fill(PAGE, mark, text)
    return int(any(outcome.problems for outcome in outcomes + workers))


if __name__ == "__main__":
    sys.exit(main())
