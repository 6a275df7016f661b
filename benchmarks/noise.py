"""How often noise is taken for clusters, and clusters for noise.

``python -m benchmarks.noise`` draws noise of twelve kinds, labels at random, and groups
that are clearly apart, and counts how often ``select_k`` answers 1. It writes
benchmarks/results/noise.json, and a table into docs/choosing-k.md. Draws that are in
the JSON file are not repeated.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import fill
from ensclust import select_k
from ensclust._quality.k_selection import DEFAULT_CRITERION, WITH_FEATURES
from ensclust._support.json_files import read_json, write_json
from ensclust._support.quiet import muted
from ensclust.paper._layout import grid
from ensclust.paper._runner import run

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "noise.json"
PAGE = ROOT / "docs" / "choosing-k.md"
COMMAND = "python -m benchmarks.noise"
SIZES, WIDTHS = (200, 500, 1000), (2, 5, 10, 20, 50)


def correlated(rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d))


def ball(rng, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def line(rng, n: int, d: int) -> np.ndarray:
    along = 10 * rng.random((n, 1)) * rng.standard_normal((1, d))
    return along + 0.3 * rng.standard_normal((n, d))


def simplex(rng, n: int, d: int) -> np.ndarray:
    return rng.dirichlet(np.ones(d + 1), n)[:, :d]


def one_feature(rng, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d)) * np.append(3.0, np.full(d - 1, 0.05))


def groups(rng, sizes: list[int], d: int, apart: float) -> np.ndarray:
    """Return Gaussian groups, the nearest centres ``apart`` standard deviations."""
    k = len(sizes)
    centres = rng.standard_normal((k, d))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= apart / gaps[~np.eye(k, dtype=bool)].min()
    y = np.repeat(np.arange(k), sizes)
    return centres[y] + rng.standard_normal((len(y), d))


NOISE: dict[str, Callable[[Any, int, int], np.ndarray]] = {
    "normal": lambda rng, n, d: rng.standard_normal((n, d)),
    "normal, correlated": correlated,
    "uniform in a cube": lambda rng, n, d: rng.random((n, d)),
    "uniform in a ball": ball,
    "uniform in a simplex": simplex,
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)),
    "lognormal": lambda rng, n, d: rng.lognormal(size=(n, d)),
    "Student's t, 3 d.o.f.": lambda rng, n, d: rng.standard_t(3, (n, d)),
    "Laplace": lambda rng, n, d: rng.laplace(size=(n, d)),
    "a line with noise": line,
    "Poisson counts": lambda rng, n, d: rng.poisson(1.0, (n, d)).astype(float),
    "one feature decides": one_feature,
}
LABELS = "labels at random"
# Sizes, standard deviations between the nearest centres, numbers of features.
GROUPS: dict[str, tuple[list[list[int]], float, tuple[int, ...]]] = {
    "five groups, 4 SD": ([[n // 5] * 5 for n in (300, 500, 1000)], 4, (2, 5, 10)),
    "five groups, 4 SD, many features": ([[60] * 5, [200] * 5], 4, (20, 50)),
    "five groups, 4 SD, 100 objects": ([[20] * 5], 4, (2, 5, 10)),
    "three groups of 20, 6 SD": ([[20] * 3], 6, (2, 5, 10)),
    "two groups of 15, 6 SD": ([[15] * 2], 6, (2, 5, 10)),
    "groups of 90 and 10, 6 SD": ([[90, 10]], 6, (2, 5, 10)),
}
KINDS = (*NOISE, LABELS, *GROUPS)
FEWER = 20  # draws of groups other than the first


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--draws", type=int, default=50)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    rows = read_json(RESULTS, {"rows": []})["rows"]
    done = {(row["kind"], row["draw"]) for row in rows}
    every = product(range(options.draws), KINDS)
    rare = set(list(GROUPS)[1:])
    jobs = [
        (kind, draw)
        for draw, kind in every
        if (kind, draw) not in done and not (kind in rare and draw >= FEWER)
    ]
    if options.report_only:
        jobs = []
    for _, row in run(jobs, measure, title="noise", n_jobs=options.n_jobs):
        rows.append(row)
        rows.sort(key=lambda row: (KINDS.index(row["kind"]), row["draw"]))
        write_json(RESULTS, {"rows": rows}, sort_keys=True)
    fill(PAGE, COMMAND, f"\n{report(rows)}\n")


def measure(job: tuple[str, int]) -> dict[str, Any]:
    """Return what select_k answers for one draw."""
    kind, draw = job
    rng = np.random.default_rng([draw, KINDS.index(kind)])
    n, d = SIZES[draw % 3], WIDTHS[draw % 5]
    options: dict[str, Any] = {"random_state": draw, "n_jobs": 1}
    with muted():
        if kind == LABELS:
            d, ks = 20, rng.integers(2, 15, 20)
            labels = np.column_stack([rng.integers(0, k, n) for k in ks])
            found = select_k(labels, criteria=[DEFAULT_CRITERION], **options)
        else:
            if kind in GROUPS:
                sizes, apart, widths = GROUPS[kind]
                own = sizes[draw % len(sizes)]
                n, d = sum(own), widths[draw // len(sizes) % len(widths)]
                X = groups(rng, own, d, apart)
            else:
                X = NOISE[kind](rng, n, d)
            found = select_k(X=X, criteria=[WITH_FEATURES], **options)
    k, p = found.best_k, found.p
    return {"kind": kind, "draw": draw, "n": n, "d": d, "k": k, "p": p}


def report(rows: list[dict[str, Any]]) -> str:
    """Return how often the answer is 1: for noise, and for groups."""
    noise, found = (listed(rows, kinds) for kinds in ((*NOISE, LABELS), GROUPS))
    return (
        "**Noise: k = 1 is right.** 200, 500 or 1,000 objects with 2, 5, 10, 20 or 50 "
        "features. In *one feature decides*, one normal feature has a standard "
        "deviation 60 times that of the others. In *labels at random*, 20 random "
        "clusterings are given instead of features; their p is that of the test with "
        f"permuted labels (below).\n\n{noise}\n\n"
        '**Groups: k = 1 is wrong.** The groups are Gaussian; "4 SD" means that the '
        "nearest two centres are 4 standard deviations apart. 300 to 1,000 objects and "
        f"2, 5 or 10 features unless stated otherwise.\n\n{found}\n"
    )


def listed(rows: list[dict[str, Any]], kinds: Iterable[str]) -> str:
    """Return a table of the answers for some kinds of data."""
    lines = [["data", "draws", "k = 1", "mean p", "other answers (times)"]]
    for kind in kinds:
        own = [row for row in rows if row["kind"] == kind]
        if own:
            ks = [row["k"] for row in own]
            others = Counter(k for k in ks if k != 1)
            told = [row["p"] for row in own if row["p"] is not None]
            lines.append(
                [
                    kind,
                    str(len(own)),
                    f"{ks.count(1) / len(ks):.0%}",
                    f"{np.mean(told):.2f}" if told else "",
                    ", ".join(f"{k} ({others[k]})" for k in sorted(others)),
                ]
            )
    return grid(lines)


if __name__ == "__main__":
    main()
