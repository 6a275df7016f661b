"""The datasets of the evidence, real and synthetic, split into two halves.

A default is chosen on one half and confirmed on the other. The half of a dataset is
the parity of the SHA-256 of its name, so that it cannot be picked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

CHOOSING, CONFIRMING = HALVES = ("choosing", "confirming")
MOST = 5_000  # objects per run; from larger datasets, this many are drawn
DIGITS = "digits"  # comes with scikit-learn
FILES = (
    "balance", "banana", "bc", "bupa", "contraceptive", "ctg", "dermatology",
    "ecoli", "glass", "hayes-roth", "heart", "ionosphere", "iris", "led7digit",
    "lr", "ls", "magic", "mammographic", "mnist", "movement_libras", "newthyroid",
    "page-blocks", "pd", "phoneme", "pima", "ring", "sonar", "spambase", "twonorm",
    "vowel", "wdbc", "wine", "yeast", "zoo",
)  # fmt: skip


@dataclass(frozen=True)
class Dataset:
    """A dataset: features and classes by the number of a run.

    Attributes
    ----------
    name : str
        Its name, which determines its half.
    kind : str
        "real", or synthetic: "blobs", "uneven", "curves", "wide" or "noise".
    source : Path or callable
        An NPZ file of X and y, or a function of a random generator.
    """

    name: str
    kind: str
    source: Path | Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]

    @property
    def half(self) -> str:
        """The half to which it belongs."""
        digest = hashlib.sha256(self.name.encode()).digest()
        return HALVES[digest[-1] % 2]

    def load(self, run: int, most: int = MOST) -> tuple[np.ndarray, np.ndarray]:
        """Return features and classes; -1 is an object of no class.

        Synthetic sets are generated again for each run; from more than ``most``
        objects, that many are drawn.
        """
        rng = np.random.default_rng([run, *self.name.encode()])
        if self.name == DIGITS:
            X, y = load_digits(return_X_y=True)
        elif isinstance(self.source, Path):
            with np.load(self.source) as data:
                X, y = data["X"], data["y"]
        else:
            X, y = self.source(rng)
        if len(X) > most:
            rows = np.sort(rng.choice(len(X), most, replace=False))
            X, y = X[rows], y[rows]
        return np.asarray(X, np.float64), np.asarray(y, np.int64)


def datasets(folders: list[Path], half: str) -> list[Dataset]:
    """Return the datasets of one half, or raise if a file is missing."""
    found = {path.stem: path for folder in folders for path in folder.glob("*.npz")}
    if missing := sorted(set(FILES) - set(found)):
        msg = f"{[str(folder) for folder in folders]} have no files for {missing}."
        raise FileNotFoundError(msg)
    real = [Dataset(name, "real", found[name]) for name in FILES]
    real.append(Dataset(DIGITS, "real", Path()))
    return [one for one in [*real, *made()] if one.half == half]


def made() -> list[Dataset]:
    """Return the synthetic sets."""
    return [
        Dataset(name, kind, partial(make, **how))
        for kind, table in MADE.items()
        for name, (make, how) in table.items()
    ]


def blobs(
    rng, k: int, d: int, apart: float, n: int = 1000, sizes=None, spread=None
) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian groups, the nearest two centres ``apart`` standard deviations.

    ``sizes`` are shares of the objects, ``spread`` standard deviations of the groups.
    """
    shares = np.ones(k) if sizes is None else np.asarray(sizes, float)
    counts = np.maximum(2, np.round(n * shares / shares.sum()).astype(int))
    centres = rng.standard_normal((k, d))
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    centres *= apart / gaps[~np.eye(k, dtype=bool)].min() if k > 1 else 1
    y = np.repeat(np.arange(k), counts)
    wide = np.ones(k) if spread is None else np.asarray(spread, float)
    return centres[y] + wide[y, None] * rng.standard_normal((len(y), d)), y


def stretched(rng, k: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian groups, five times as long as wide, in different directions."""
    X, y = blobs(rng, k, d, apart=14)
    noise = rng.standard_normal(X.shape) * np.array([5.0, *[1.0] * (d - 1)])
    centres = np.array([X[y == j].mean(axis=0) for j in range(k)])
    turns = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(k)]
    return centres[y] + np.einsum("nij,nj->ni", np.array(turns)[y], noise), y


def rings(rng, k: int, width: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    """Return rings around one centre."""
    y = np.repeat(np.arange(k), 400)
    angle, radius = rng.uniform(0, 2 * np.pi, len(y)), 1.0 + y
    around = np.column_stack([np.cos(angle), np.sin(angle)]) * radius[:, None]
    return around + width * rng.standard_normal((len(y), 2)), y


def moons(rng, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return two half circles that reach into each other."""
    y = np.repeat([0, 1], 500)
    angle = rng.uniform(0, np.pi, len(y))
    at = np.column_stack([np.cos(angle), np.sin(angle)])
    at[y == 1] = [1, 0.5] - at[y == 1]
    return at + width * rng.standard_normal(at.shape), y


def spirals(rng, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return arms of a spiral."""
    y = np.repeat(np.arange(k), 400)
    along = np.sqrt(rng.uniform(0.05, 1, len(y)))
    angle = 3 * along + 2 * np.pi * y / k
    at = along[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return at + 0.02 * rng.standard_normal(at.shape), y


def counts(rng, k: int, d: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return sparse counts: each group has its own share of the features."""
    means = rng.gamma(0.3, 1, (k, d))
    means *= rate / means.mean(axis=1, keepdims=True)
    y = np.repeat(np.arange(k), 1200 // k)
    depth = rng.lognormal(0, 0.3, len(y))
    return rng.poisson(means[y] * depth[:, None]).astype(float), y


def subspace(rng, k: int, d: int, seen: int) -> tuple[np.ndarray, np.ndarray]:
    """Return groups that differ in few of many features."""
    X, y = blobs(rng, k, seen, apart=6)
    return np.hstack([X, rng.standard_normal((len(X), d - seen))]), y


def strewn(rng, k: int, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return groups in a box of objects that belong to no group."""
    X, y = blobs(rng, k, 2, apart=8)
    more = rng.uniform(X.min(axis=0) - 2, X.max(axis=0) + 2, (int(share * len(X)), 2))
    return np.vstack([X, more]), np.append(y, np.full(len(more), -1))


def one_group(rng, d: int, draw: str) -> tuple[np.ndarray, np.ndarray]:
    """Return objects without groups."""
    return getattr(rng, draw)(size=(800, d)), np.zeros(800, int)


_FALLING = 0.75 ** np.arange(8)
MADE = {
    "blobs": {
        f"blobs-{apart}sd-k{k}-d{d}": (blobs, {"k": k, "d": d, "apart": apart})
        for k, d in ((2, 5), (5, 2), (10, 10), (20, 5), (40, 10))
        for apart in (3, 4, 6)
    },
    "uneven": {
        "uneven-sizes-k5": (
            blobs,
            {"k": 5, "d": 3, "apart": 6, "sizes": [16, 8, 4, 2, 1]},
        ),
        "uneven-sizes-k8": (blobs, {"k": 8, "d": 6, "apart": 5, "sizes": _FALLING}),
        "uneven-widths-k5": (
            blobs,
            {"k": 5, "d": 3, "apart": 9, "spread": [0.5, 1, 1, 2, 3]},
        ),
        "uneven-both-k8": (
            blobs,
            {"k": 8, "d": 6, "apart": 8, "sizes": _FALLING, "spread": 0.5 + _FALLING},
        ),
        "strewn-k5": (strewn, {"k": 5, "share": 0.2}),
        "strewn-k10": (strewn, {"k": 10, "share": 0.1}),
    },
    "curves": {
        "rings-2": (rings, {"k": 2}),
        "rings-3": (rings, {"k": 3}),
        "moons": (moons, {"width": 0.08}),
        "moons-wide": (moons, {"width": 0.16}),
        "spirals-3": (spirals, {"k": 3}),
        "stretched-k3": (stretched, {"k": 3, "d": 2}),
        "stretched-k8": (stretched, {"k": 8, "d": 5}),
    },
    "wide": {
        "counts-k6": (counts, {"k": 6, "d": 200, "rate": 0.5}),
        "counts-k12": (counts, {"k": 12, "d": 500, "rate": 0.3}),
        "subspace-k5": (subspace, {"k": 5, "d": 50, "seen": 4}),
        "subspace-k12": (subspace, {"k": 12, "d": 100, "seen": 12}),
    },
    "noise": {
        "noise-gauss-d5": (one_group, {"d": 5, "draw": "standard_normal"}),
        "noise-uniform-d3": (one_group, {"d": 3, "draw": "uniform"}),
        "noise-skewed-d4": (one_group, {"d": 4, "draw": "standard_exponential"}),
    },
}  # fmt: skip
