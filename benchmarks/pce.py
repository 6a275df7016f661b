"""py-cluster-ensemble's functions and ours on the same labels.

``python -m benchmarks.pce`` measures time, memory and agreement, and writes pce.json
and pce.md to benchmarks/results/pce. If the package ``pce`` cannot be imported, it says
so and measures nothing. A checkout of the package is enough:
``PYTHONPATH=/path/to/py-cluster-ensemble/src``.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from benchmarks import inputs, runner, worker
from benchmarks.sources import ROOT, commit, environment
from benchmarks.works import SMALL, Work, labels_of
from ensclust._support.json_files import read_json, write_json
from ensclust._support.whole_files import write
from ensclust.metrics import ari, nmi
from ensclust.paper._layout import grid

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = ROOT / "benchmarks" / "results" / "pce"
PEER = "pce"
ABSENT = (
    "py-cluster-ensemble is not installed (no module pce.consensus): nothing is "
    "measured.\nTo measure with a checkout of it:\n"
    "    PYTHONPATH=/path/to/py-cluster-ensemble/src python -m benchmarks.pce"
)
MOST_BYTES = 4e9  # of N x N matrices; if pce needs more, it is not run
PATIENCE = 60  # seconds after which a side is given up
LONG = 5.0  # seconds above which a side is run once, with one seed
SEEDS = 5
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"),
    "1",
)
SAME, DEFAULTS = "same", "defaults"
KMEANS = {"m": 20, "lo": 26, "hi": 100}
INPUTS = [
    ("kmeans", {**KMEANS, "n": 500}, 26),
    ("digits", {}, 10),
    ("kmeans", {**KMEANS, "n": 2_000}, 26),
    ("kmeans", {**KMEANS, "n": 5_000}, 26),
    ("kmeans", {**KMEANS, "n": 20_000}, 26),
]


@dataclass(frozen=True)
class Case:
    """A function of pce and our corresponding method.

    ``squares`` is how many N x N matrices of doubles the function holds at once;
    ``has_walks`` means that ours uses pce's length of walks, which is fixed there.
    """

    function: str
    method: str
    theirs: dict[str, Any] = field(default_factory=dict)
    ours: dict[str, Any] = field(default_factory=dict)
    setting: str = SAME
    squares: int = 0
    has_walks: bool = False
    is_random: bool = True


STARTS = {"n_init": 5, "max_iter": 100}  # pce's defaults
CASES = [
    Case("lwea", "lwea", {"theta": 0.4}, squares=3, is_random=False),
    Case("lwea", "lwea", setting=DEFAULTS, squares=3, is_random=False),
    Case("lwgp", "lwgp", {"theta": 0.4}),
    Case("lwgp", "lwgp", setting=DEFAULTS),
    Case("usenc", "usenc"),
    Case("ecpcs_hc", "ecpcs-hc", squares=5, is_random=False),
    Case("ecpcs_mc", "ecpcs-mc"),
    Case("ptaal", "pta", squares=6, has_walks=True, is_random=False),
    Case("ptaal", "pta", setting=DEFAULTS, squares=6, is_random=False),
    Case("ptgp", "ptgp", squares=6, has_walks=True),
    Case("ptgp", "ptgp", setting=DEFAULTS, squares=6),
    Case("kcc_uc", "kcc", ours={"utility": "u_c", **STARTS}),
    Case("kcc_uc", "kcc", setting=DEFAULTS),
    Case("kcc_uh", "kcc", ours={"utility": "u_h", **STARTS}),
    Case("mcla", "mcla", setting=DEFAULTS),
    Case("cspa", "cspa", setting=DEFAULTS, squares=3),
]
ZEROS = "Exceptions inside pce are caught, and all labels are 0."
HEIGHT = (
    "SciPy's fcluster cuts at a height, so that ties give fewer clusters than asked "
    "for: of four groups that share no cluster, cut into two, one. Ours cuts by merge "
    "order."
)
METIS = (
    "pce starts METIS programs that lie beside its source. Where the system cannot "
    f"execute them there is no partition. {ZEROS} Ours calls METIS by pymetis, with "
    "ten seeds."
)
WHY = {
    "lwea": (
        f"Same tree where pce runs. {HEIGHT} With more base clusters than objects pce "
        "fails: it reads the pointers of a matrix stored by columns as those of rows. "
        f"{ZEROS} Its default of theta is 10, the paper's and ours 0.4; with 10 all "
        "base clusters weigh nearly the same. pce holds N x N matrices, ours 4 bytes "
        "for each pair of distinct label rows."
    ),
    "lwgp": (
        "Same eigenvectors. pce's k-means has one start from random objects, ours "
        "keeps the best of three k-means++ starts: of 25 seeds of pce on the digits "
        "some give our labels, others an ARI of 0.73. theta and many base clusters as "
        "in lwea; with theta = 10 ours gives the labels of U-SENC."
    ),
    "usenc": (
        "Same eigenvectors. Both have three starts of k-means, pce from random "
        "objects, ours by k-means++: of 25 seeds of pce on the digits some give our "
        "labels, others an ARI of 0.84."
    ),
    "ecpcs_hc": (
        f"Same tree. {HEIGHT} pce holds N x N matrices and Nc x N doubles, and takes "
        "39 products of matrices for 20 steps, ours 11."
    ),
    "ecpcs_mc": (
        "Same similarities and eigenvectors. The discretisation starts from one random "
        "row, ours from many, and keeps the least normalised cut. Ties in the vote go "
        "to the first cluster, ours are drawn. Products as in ecpcs_hc."
    ),
    "ptaal": (
        "Same tree with the same walks. The published rule has at most 20 neighbours "
        "and steps, pce's no limit, which matters from 1,764 distinct label rows on. "
        f"{HEIGHT} Products of the walks are dense, ours sparse."
    ),
    "ptgp": (
        "Walks as in ptaal. Both have three starts of k-means, pce from random "
        "microclusters, ours by k-means++: with k-means++ and 20 starts pce gives our "
        "labels on the digits. Where the cut fails, all labels are 1."
    ),
    "kcc_uc": (
        "Same objective, and local minima that are as good: from one random start on "
        "the digits 20,404 +- 182 for pce, 20,541 +- 99 for ours (means and standard "
        "errors). Seeds of one side differ as much as the sides do. Our default is the "
        "normalised entropy with ten starts. pce loops over objects in Python."
    ),
    "kcc_uh": "As kcc_uc: 67,281 +- 1,247 for pce, 67,793 +- 641 for ours.",
    "mcla": METIS,
    "cspa": f"{METIS} pce holds N x N matrices.",
}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR")
    parser.add_argument("--most", type=int, default=20_000, help="objects")
    parser.add_argument("--only", default="", help="comma-separated functions")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--side", help=argparse.SUPPRESS)  # what a subprocess measures
    options = parser.parse_args(arguments)
    chosen = options.only.split(",") if options.only else list(WHY)
    if unknown := set(chosen) - set(WHY):
        parser.error(f"--only: unknown {', '.join(unknown)}; use {', '.join(WHY)}")
    if options.side:
        print(json.dumps(measure(json.loads(options.side))))
        return
    path = options.out / "pce.json"
    if not options.report_only:
        if not is_installed():
            print(ABSENT)
            return
        conditions, rows = {**runner.conditions(), **commit()}, []
        for row in take(options.most, chosen):
            rows.append(row)
            write_json(path, {**conditions, "rows": rows})
    text = report(read_json(path))
    write(path.with_suffix(".md"), f"# Beside py-cluster-ensemble\n\n{text}")
    print(text)


def is_installed() -> bool:
    return find_spec(PEER) is not None and find_spec(f"{PEER}.consensus") is not None


def take(most: int, functions: list[str]) -> Iterator[dict[str, Any]]:
    """Measure; yield a row per case and input."""
    with (
        tempfile.TemporaryDirectory(prefix="ensclust-bench-") as folder,
        mock.patch.dict(os.environ, {inputs.CACHE: folder}),
    ):
        for kind, spec, k in INPUTS:
            if spec.get("n", 0) > most:
                continue
            comparison = Comparison(kind, spec, k, Path(folder))
            for case in CASES:
                if case.function in functions and comparison.is_new(case):
                    print(f"{kind}, {len(comparison.labels):,}: {case.function}")
                    yield comparison.row(case)


class Comparison:
    """Both sides on one label matrix; measurements are not repeated."""

    def __init__(self, kind: str, spec: dict, k: int, folder: Path):
        self.labels = inputs.labels(kind, **spec)
        self.params = {"kind": kind, "spec": spec, "k": k}
        self.truth = classes(kind, len(self.labels))
        self.folder = folder
        self._done: dict[str, tuple[dict, np.ndarray]] = {}
        self._rows: set[str] = set()

    def is_new(self, case: Case) -> bool:
        """Return whether no earlier case made the same calls."""
        calls = json.dumps([case.function, case.theirs, self._own(case)])
        is_new = calls not in self._rows
        self._rows.add(calls)
        return is_new

    def _own(self, case: Case) -> dict[str, Any]:
        """Return our parameters, with pce's walks if pce is run."""
        is_told = case.has_walks and self._needed(case) <= MOST_BYTES
        return {**case.ours, **(walks(self.labels) if is_told else {})}

    def _needed(self, case: Case) -> int:
        return case.squares * 8 * len(self.labels) ** 2

    def row(self, case: Case) -> dict[str, Any]:
        """Return the measurements of a case."""
        n = len(self.labels)
        if self._needed(case) > MOST_BYTES:
            error = f"not run: N x N matrices, {self._needed(case) / 1e9:.0f} GB"
            theirs, found = {"error": error}, np.empty((0, n), int)
        else:
            theirs, found = self._side(PEER, case.function, case.theirs, case)
        ours, own_found = self._side("ensclust", case.method, self._own(case), case)
        pairs = zip(found, own_found, strict=False)
        return {
            "input": self.params["kind"],
            "n": n,
            "n_base_clusters": int(sum(len(np.unique(c)) for c in self.labels.T)),
            "function": case.function,
            "method": case.method,
            "setting": case.setting,
            "theirs": theirs,
            "ours": ours,
            "ari": average(ari(a, b) for a, b in pairs),
        }

    def _side(
        self, side: str, name: str, options: dict, case: Case
    ) -> tuple[dict, np.ndarray]:
        """Return the figures and the labels (seeds, N) of one side."""
        job = {
            "side": side,
            "name": name,
            "options": options,
            "n_seeds": SEEDS if case.is_random else 1,
            **self.params,
        }
        key = json.dumps(job)
        if key not in self._done:
            path = self.folder / "labels.npy"
            line = spawn({**job, "out": str(path)})
            found = np.empty((0, len(self.labels)), int)
            if "error" not in line:
                found = np.load(path)
                line["n_clusters"] = len(np.unique(found[0]))
                line["nmi"] = average(nmi(x, self.truth) for x in found)
                line["ari_of_seeds"] = average(
                    ari(a, b) for a, b in combinations(found, 2)
                )
            self._done[key] = line, found
        return self._done[key]


def classes(kind: str, n: int) -> np.ndarray:
    """Return the classes of the objects."""
    if kind == "digits":
        from sklearn.datasets import load_digits

        return load_digits().target
    return inputs.drawn(n)[1]


def walks(labels: np.ndarray) -> dict[str, int]:
    """Return pce's neighbours and steps if they exceed 20, the published bound."""
    length = int(len(np.unique(labels, axis=0)) ** 0.5 / 2)
    return {"n_neighbors": length, "steps": length} if length > 20 else {}


def average(values) -> float | None:
    found = list(values)
    return round(mean(found), 4) if found else None


def spawn(job: dict) -> dict:
    """Measure one side in a new process; return its figures, or the reason for none."""
    command = [sys.executable, "-m", "benchmarks.pce", "--side", json.dumps(job)]
    variables = {**environment(), **ONE_THREAD}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not finished after {PATIENCE} s"}
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"error": reason[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def measure(job: dict) -> dict:
    """Measure a side in this process; write the labels of all seeds."""
    kept: list[np.ndarray] = []
    call = {PEER: call_theirs, "ensclust": call_ours}[job["side"]]

    def run(labels, options, seed=0):
        found = call(labels, options["k"], seed, job["name"], job["options"])
        kept.append(np.asarray(found))

    params = {name: job[name] for name in ("kind", "spec", "k")}
    work = Work(labels_of, run, {**SMALL, "k": 4})
    with redirect_stdout(io.StringIO()) as said:
        work.run(*work.prepare(**{**params, **work.small}))  # compiles kernels
        kept.clear()
        said.truncate(said.seek(0))
        found = worker.memory(work, params)
        labels, options = work.prepare(**params)
        if (reason := failure(kept[-1], len(labels), said.getvalue())) is not None:
            return {"error": reason}
        if found["cold_seconds"] < LONG:
            found |= worker.seconds(work, params)
            del kept[:-1]
            for seed in range(1, job["n_seeds"]):
                run(labels, options, seed)
    np.save(job["out"], np.array(kept[-job["n_seeds"] :]))
    seconds = found.get("seconds", found["cold_seconds"])
    return {"seconds": round(seconds, 4), "peak_mb": round(found["peak_mb"], 1)}


def failure(labels: np.ndarray, n: int, said: str) -> str | None:
    """Return why a call failed: pce catches its errors and returns zeros."""
    if labels.shape == (n,) and len(np.unique(labels)) > 1:
        return None
    reason = said.strip().splitlines() or ["labels of one cluster"]
    return f"failed, labels are all the same: {reason[-1]}"


def call_theirs(labels, k, seed, name, options):
    import pce.consensus

    function = getattr(pce.consensus, name, None)
    if function is None:
        sys.exit(f"not in this copy of pce: {name}")
    found, _ = function(
        labels, nClusters=k, nBase=labels.shape[1], nRepeat=1, seed=seed, **options
    )
    return found[0]


def call_ours(labels, k, seed, name, options):
    from ensclust import consensus

    return consensus(labels, k, name, random_state=seed, n_jobs=1, **options)


def report(found: dict[str, Any]) -> str:
    """Return the table of figures and that of reasons."""
    rows = found["rows"]
    parts = [
        "The functions of py-cluster-ensemble (pce) and our methods on the same labels "
        "of 20 k-means clusterings, asked for as many clusters as there are classes. "
        "One thread; memory above that of the process with its imports. *same*: with "
        "the same parameters; *defaults*: each as it comes, where that differs. ARI: "
        f"between both, mean of {SEEDS} seeds where there is chance (one above "
        f"{LONG:g} s); in brackets between the seeds of pce, and of ours. NMI: with "
        f"the classes. {found['processor']}.\n"
    ]
    for key in dict.fromkeys((row["input"], row["n"]) for row in rows):
        own = [row for row in rows if (row["input"], row["n"]) == key]
        name = "Digits" if key[0] == "digits" else "26 Gaussian clusters"
        n_base = own[0]["n_base_clusters"]
        parts.append(f"**{name}, N = {key[1]:,}, {n_base:,} base clusters**\n")
        parts.append(figures(own))
    parts.append("## Why they differ\n")
    parts.append(reasons(rows))
    return "\n".join(parts)


def figures(rows: list[dict[str, Any]]) -> str:
    head = ["pce", "ours", "parameters", "pce s", "ours s", "pce MB", "ours MB"]
    head += ["ARI", "NMI pce", "NMI ours"]
    lines = [head]
    for row in rows:
        sides = row["theirs"], row["ours"]
        seeds = [cell(side, "ari_of_seeds", ".2f") for side in sides]
        agreement = "" if row["ari"] is None else f"{row['ari']:.3f}"
        if agreement and any(seeds):
            agreement += f" ({', '.join(x or '-' for x in seeds)})"
        lines.append(
            [
                f"`{row['function']}`",
                f"`{row['method']}`",
                row["setting"],
                *(cell(side, "seconds", ".3g") for side in sides),
                *(cell(side, "peak_mb", ",.0f") for side in sides),
                agreement,
                *(cell(side, "nmi", ".3f") for side in sides),
            ]
        )
    notes = dict.fromkeys(
        f"- `{name}`: {side['error']}"
        for row in rows
        for name, side in (
            (row["function"], row["theirs"]),
            (f"{row['method']}, ours", row["ours"]),
        )
        if "error" in side
    )
    return "\n".join([grid(lines, left=3), "", *notes, *([""] if notes else [])])


def cell(side: dict[str, Any], name: str, form: str) -> str:
    value = side.get(name)
    return "" if value is None else format(value, form)


def reasons(rows: list[dict[str, Any]]) -> str:
    """Return a line per function: ARI with the same parameters, and why not 1."""
    lines = [["pce", "ours", "ARI, same parameters", "why they differ"]]
    for function, why in WHY.items():
        own = [row for row in rows if row["function"] == function]
        if own:
            same = [row["ari"] for row in own if row["setting"] == SAME]
            known = [value for value in same if value is not None]
            span = f"{min(known):.3f} to {max(known):.3f}" if known else "not run"
            lines.append([f"`{function}`", f"`{own[0]['method']}`", span, why])
    return grid(lines, left=len(lines[0])) + "\n"


if __name__ == "__main__":
    main()
