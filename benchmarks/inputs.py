"""Label matrices to measure on, generated once per run and cached in a directory.

``python -m benchmarks.inputs KIND JSON`` generates one in a separate process, so that
it does not affect the memory of the measured process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.sources import ROOT

CACHE = "ENSCLUST_BENCH_CACHE"  # environment variable: the directory of this run
N_CLUSTERS = 26
N_FEATURES = 16
CENTRE_SCALE = 1.6
BLOCK = 20_000  # objects fitted or processed at a time


def labels(kind: str, **spec) -> np.ndarray:
    """Return an (N, M) label matrix of one of KINDS."""
    folder = Path(os.environ.get(CACHE, tempfile.gettempdir()))
    parts = [f"{key}{value}" for key, value in sorted(spec.items())]
    path = folder / ("-".join(["ensclust-bench", kind, *parts]) + ".npy")
    if not path.exists():
        command = [sys.executable, "-m", "benchmarks.inputs", kind, json.dumps(spec)]
        subprocess.run([*command, str(path)], cwd=ROOT, check=True)
    return np.load(path)


def feature_file(n: int, d: int = N_FEATURES) -> Path:
    """Return the path of a memory-mappable file of features in float32."""
    folder = Path(os.environ.get(CACHE, tempfile.gettempdir()))
    path = folder / f"ensclust-bench-features-{n}-{d}.npy"
    if not path.exists():
        X = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
        for i in range(0, n, 50 * BLOCK):
            X[i : i + 50 * BLOCK] = features(min(n - i, 50 * BLOCK), d)
        X.flush()
    return path


def features(n: int, d: int = N_FEATURES) -> np.ndarray:
    """Return objects around 26 Gaussian centres in d dimensions, unit noise.

    With more dimensions, centres are closer to each other in each of them, so that
    clusters overlap equally.
    """
    return drawn(n, d)[0]


def drawn(n: int, d: int = N_FEATURES) -> tuple[np.ndarray, np.ndarray]:
    """Return the objects of :func:`features` and the centre of each."""
    rng = np.random.default_rng(0)
    scale = CENTRE_SCALE * (N_FEATURES / d) ** 0.5
    centres = rng.normal(scale=scale, size=(N_CLUSTERS, d))
    classes = rng.integers(0, N_CLUSTERS, n)
    return centres[classes] + rng.normal(size=(n, d)), classes


def kmeans(n: int, m: int = 20, lo: int = 26, hi: int = 100) -> np.ndarray:
    """k-means clusterings as in the paper; of many objects, only some are fitted.

    The others are assigned to the nearest centres, so that clusterings of all sizes are
    of the same kind.
    """
    from ensclust import EnsembleGenerator

    X = features(n)
    generator = EnsembleGenerator(m, base_k=(lo, hi), random_state=0).fit(X[:BLOCK])
    if n <= BLOCK:
        return generator.ensemble_.labels
    labels = np.empty((n, m), np.int32)
    for i in range(0, n, BLOCK):
        labels[i : i + BLOCK] = generator.transform(X[i : i + BLOCK])
    return labels


def distinct(n: int, m: int = 20, lo: int = 26, hi: int = 100) -> np.ndarray:
    """Exactly ``n`` distinct label rows of k-means clusterings, in random order."""
    from ensclust import Ensemble

    n_objects, rng = n, np.random.default_rng(0)
    while True:
        n_objects += max(n // 4, 1)
        rows = Ensemble(kmeans(n_objects, m, lo, hi)).fragments().labels
        if len(rows) >= n:
            return rows[rng.permutation(len(rows))[:n]]


def nearest(n: int, m: int = 20, lo: int = 26, hi: int = 100) -> np.ndarray:
    """Clusterings by the nearest of k random objects: k-means without iterations."""
    X = features(n).astype(np.float32)
    rng = np.random.default_rng(1)
    columns = np.empty((m, n), np.int32)
    for column, k in zip(columns, rng.integers(lo, hi + 1, m), strict=True):
        centres = X[rng.choice(n, k, replace=False)]
        half_norms = (centres**2).sum(axis=1) / 2
        for i in range(0, n, BLOCK):
            part = X[i : i + BLOCK]
            column[i : i + BLOCK] = np.argmax(part @ centres.T - half_norms, axis=1)
    return np.ascontiguousarray(columns.T)


def wine() -> np.ndarray:
    """20 k-means clusterings of scikit-learn's Wine data, 178 objects, z-scores."""
    from sklearn.datasets import load_wine

    from ensclust import generate

    X = load_wine().data
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return generate(X, 20, base_k=(3, 13), random_state=0).labels


def digits() -> np.ndarray:
    """20 k-means clusterings of scikit-learn's digits, 1,797 objects, k to sqrt(N)."""
    from sklearn.datasets import load_digits

    from ensclust import generate

    return generate(load_digits().data, 20, base_k=(10, 42), random_state=0).labels


def as_bytes(n: int, m: int = 20, lo: int = 26, hi: int = 100) -> np.ndarray:
    """Return :func:`kmeans` as bytes, the best type for labels of many objects."""
    return kmeans(n, m, lo, hi).astype(np.uint8)


KINDS = {
    "kmeans": kmeans,
    "distinct": distinct,
    "nearest": nearest,
    "wine": wine,
    "digits": digits,
    "bytes": as_bytes,
}


def make(kind: str, spec: dict, path: Path) -> None:
    """Write a label matrix, whole or not at all."""
    matrix = KINDS[kind](**spec)
    if matrix.dtype != np.uint8:
        matrix = matrix.astype(np.int32)
    scratch = path.with_name(f"{path.stem}-{os.getpid()}.npy")
    np.save(scratch, matrix)
    scratch.replace(path)


if __name__ == "__main__":
    make(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))
