"""Memory that calls take, compared with what is promised: a table to measure.

``python tests/promised_memory.py [NAME ...]`` prints, as JSON, the bytes that are
promised and the bytes by which the process grew, for each row of the table. Linux only.
"""

import ctypes
import gc
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import ensclust
from ensclust import similarity
from ensclust._methods.table import make
from ensclust._quality.criteria import silhouette

N, M, K = 400_000, 12, 10  # where bytes per object are promised
WEIGHTS = np.linspace(0.5, 2, 20)  # of 20 clusterings


def table(
    n_objects: int, n_clusterings: int, k: int, missing: float = 0.0
) -> ensclust.Ensemble:
    """Return an ensemble of random labels, each of the k clusters in use."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, k, (n_objects, n_clusterings)).astype(np.int16)
    if missing:
        labels[rng.random(labels.shape) < missing] = -1
    labels[:k] = np.arange(k)[:, None]
    return ensclust.Ensemble(labels)


def solving(
    method: str,
    n_rows: int = 600,
    k: int = 100,
    m: int = 20,
    *,
    least: int = 0,
    missing: float = 0.0,
    **params: Any,
):
    """Return the solving of a method, and what it asks for: ``_needed_memory``.

    A smaller trial, which compiles the kernels, has at least ``least`` rows.
    """

    def prepare(size: float):
        rows = max(int(n_rows * size) + 50, least)
        ensemble = table(rows, m, max(2, int(k * size)), missing)
        promised = make(method, n_clusters=3, **params)._needed_memory(ensemble)
        settings = {"random_state": 0, **params}
        return promised, lambda: ensclust.consensus(ensemble, 3, method, **settings)

    return prepare


def pairs(work: Callable, n_matrices: float, k: int = 100, m: int = 20):
    """Return work on an ensemble, and some matrices of its base clusters."""

    def prepare(size: float):
        ensemble = table(600, m, max(2, int(k * size)))
        promised = 8 * n_matrices * ensemble.n_base_clusters**2
        return promised, lambda: work(ensemble)

    return prepare


def objects(work: Callable, bytes_per_object: float, *, fitted=None):
    """Return work on many objects with distinct rows, and the bytes for each."""

    def prepare(size: float):
        n = int(N * size)
        ensemble = table(n, M, K)
        given = ensemble if fitted is None else fitted(ensemble)
        return bytes_per_object * n, lambda: work(given)

    return prepare


def precomputed(method: str, **params: Any) -> Callable:
    """Return a function that fits a method to label rows."""
    settings = {"n_clusters": K, "base": "precomputed", "random_state": 0, **params}
    return lambda ens: make(method, **settings).fit(ens.labels)


def labels_of(ensemble) -> np.ndarray:
    """Return a clustering of the objects."""
    return np.arange(len(ensemble)) % K


def written(ensemble) -> None:
    """Write a report."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        ensclust.write_report(path, ensemble, labels_of(ensemble))


# One row for each promise: a method's ``_needed_memory``, under its name, and what
# docstrings say.
TABLE: dict[str, Callable[[float], tuple[float, Callable[[], Any]]]] = {
    "ecpcs-mc": solving("ecpcs-mc"),
    "ecpcs-hc": solving("ecpcs-hc"),
    "eac": solving("eac"),
    "eac, weights": solving("eac", weights=WEIGHTS),
    "eac, cluster weights": solving("eac", cluster_weights="eci"),
    "eac, missing labels": solving("eac", missing=0.1),
    "mcla": solving("mcla"),
    "mcla, weights": solving("mcla", weights=WEIGHTS),
    "mcla, cluster weights": solving("mcla", cluster_weights="eci"),
    "wct": solving("wct"),
    "srs": solving("srs"),
    "ptgp": solving("ptgp", n_rows=4000, k=40, least=2100),
    "ptgp, exact": solving("ptgp", n_rows=4000, k=40, exact=True),
    "lwea": solving("lwea"),
    "weac": solving("weac"),
    "lwmc": solving("lwmc", k=50),
    "communities": solving("communities"),
    "communities, weights": solving("communities", weights=WEIGHTS),
    "usenc": solving("usenc"),
    "lwgp": solving("lwgp"),
    "lce-bg": solving("lce-bg"),
    "ecpcs-bg": solving("ecpcs-bg"),
    "gp-mgla": solving("gp-mgla"),
    "voting": solving("voting"),
    "cvote": solving("cvote"),
    "jaccard": pairs(similarity.jaccard, 2),
    "propagate": pairs(lambda e: similarity.propagate(similarity.jaccard(e)), 7),
    "propagate, not exact": pairs(
        lambda e: similarity.propagate(similarity.jaccard(e), exact=False), 3
    ),
    "propagate, closed form": pairs(
        lambda e: similarity.propagate(similarity.jaccard(e), 50), 8
    ),
    "simrank": pairs(similarity.simrank, 5),
    "connected triples": pairs(
        lambda e: similarity.connected_triples(similarity.jaccard(e), e.cluster_counts),
        2,
    ),
    "pairwise_nmi": pairs(ensclust.metrics.pairwise_nmi, 1),
    "eci": pairs(similarity.eci, 1),
    "certainty of votes": objects(
        lambda model: model.certainty(),
        110 + 4 * M + 8 * K,
        fitted=precomputed("ecpcs-mc"),
    ),
    "certainty": objects(lambda e: ensclust.Certainty.of(e, labels_of(e)), 110 + 4 * M),
    "silhouette": objects(lambda e: silhouette(e, labels_of(e)), 110 + 4 * M),
    "memberships": objects(
        lambda model: model.memberships(), 16 * K, fitted=precomputed("kcc", n_init=1)
    ),
    "agreement": objects(lambda e: ensclust.metrics.agreement(e, labels_of(e)), 40),
    "element_similarity": objects(
        lambda e: ensclust.metrics.element_similarity(labels_of(e), e.columns[0]), 115
    ),
    "report": objects(written, 200 + 4 * M),
}


def status(key: str) -> int:
    """Return a size that the system knows of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(key))


def growth(work: Callable[[], Any]) -> int:
    """Return by how many bytes the process grew at most."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what compiling freed does not hide growth
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak
    before = status("VmRSS")
    work()
    return status("VmHWM") - before


def measure(name: str) -> dict[str, float]:
    """Return the bytes promised and taken, after a small run that compiles."""
    TABLE[name](0.02)[1]()
    promised, work = TABLE[name](1.0)
    return {"promised": promised, "taken": growth(work)}


if __name__ == "__main__":
    for name in sys.argv[1:] or TABLE:
        print(json.dumps({name: measure(name)}), flush=True)
