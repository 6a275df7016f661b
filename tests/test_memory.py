"""Memory: what the linkage engines take, and what is refused in advance."""

import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import promised_memory
from conftest import unmeasured
from ensclust import Blocks, Ensemble, consensus, generate
from ensclust._methods import METHODS
from ensclust._support import memory

PROGRAM = """
import resource, sys
import numpy as np
from ensclust import CoAssociation, Ensemble, similarity
from ensclust._trees.linkage import link

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def enhanced(ens):
    return CoAssociation(ens, similarity.propagate(similarity.jaccard(ens)))

max_memory = int(sys.argv[1])
rng = np.random.default_rng(0)
link(enhanced(Ensemble(rng.integers(0, 9, (500, 4)))), max_memory=max_memory)
operator = enhanced(Ensemble(rng.integers(0, 30, (4000, 6))))
operator.ensemble.fragments()
before = peak()
tree = link(operator, max_memory=max_memory)
print(tree.n_leaves, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes there")
@pytest.mark.parametrize(("max_memory", "per_leaf_squared"), [(2**31, 4), (1, 0)])
def test_linkage_stays_within_its_bound(max_memory, per_leaf_squared):
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(max_memory)],
        capture_output=True,
        text=True,
        check=True,
    )
    n_leaves, used = map(int, result.stdout.split())
    assert n_leaves == 4000
    # One matrix, no second copy; label space: a few numbers per leaf and thread.
    assert used <= per_leaf_squared * n_leaves**2 + 1000 * n_leaves + 2**24


@pytest.mark.slow
def test_kmeans_of_many_objects_takes_no_copy_of_them():
    X = np.random.default_rng(0).normal(size=(200_000, 32)).astype(np.float32)
    options = {"base_k": 5, "max_iter": 3, "random_state": 0}
    generate(X[:1000], 2, **options)  # imports and compiles
    tracemalloc.start()
    runs = generate(X, 2, **options)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert runs.columns.nbytes == 2 * len(X)
    assert most < 2 * runs.columns.nbytes + 8 * X[:20_000].nbytes < X.nbytes


@pytest.fixture(scope="module")
def measured():
    """Return what calls promise and take, in a process without other memory."""
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("the system does not tell the peak of a process")
    done = subprocess.run(
        [sys.executable, promised_memory.__file__],
        # Memory that is freed goes back to the system at once.
        env=unmeasured() | {"MALLOC_MMAP_THRESHOLD_": "1000000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, done.stdout.splitlines())
    return {name: sizes for line in lines for name, sizes in line.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", promised_memory.TABLE)
def test_what_is_promised_is_taken(name, measured):
    promised, taken = measured[name]["promised"], measured[name]["taken"]
    assert 0.8 * promised <= taken <= 1.2 * promised


def test_every_method_that_asks_for_memory_is_measured():
    ensemble = Ensemble(np.arange(40).reshape(10, 4) % 7)
    asking = {name for name in METHODS if METHODS[name]()._needed_memory(ensemble)}
    assert asking <= set(promised_memory.TABLE)


NEEDED = {"ecpcs-hc": 28, "ecpcs-mc": 28, "mcla": 32, "srs": 40, "wct": 32, "eac": 8}
REMEDY = r"Use fewer or coarser base clusterings, or KCC"


@pytest.fixture(scope="module")
def many_clusters():
    """Return 40 clusterings into 25: 1,000 base clusters."""
    return np.random.default_rng(0).integers(0, 25, (200, 40))


@pytest.mark.parametrize("method", NEEDED)
@pytest.mark.parametrize("wrap", [np.asarray, Blocks], ids=["memory", "blocks"])
def test_pairs_of_base_clusters_that_do_not_fit_are_refused_before_the_work(
    method, wrap, many_clusters, monkeypatch
):
    monkeypatch.setattr(memory, "available", lambda: 2**22)
    monkeypatch.setattr(METHODS.method(method), "_solve", None)
    needed = f"{NEEDED[method] * 1000**2 / 2**30:.3g}"
    name = METHODS[method].__name__
    match = (
        rf"{name} with 1,000 base clusters needs {needed} GiB of memory; 0.00391 GiB "
        rf"are available\. {REMEDY}"
    )
    with pytest.raises(MemoryError, match=match):
        consensus(wrap(many_clusters), 3, method, random_state=0)


def test_microclusters_by_base_clusters_that_do_not_fit_are_refused(
    many_clusters, monkeypatch
):
    monkeypatch.setattr(memory, "available", lambda: 2**21)
    match = rf"PTGP with 1,000 .* 0.00215 GiB .* 0.00195 GiB are available\. {REMEDY}"
    with pytest.raises(MemoryError, match=match):
        consensus(many_clusters, 3, "ptgp", n_jobs=1)


@pytest.mark.parametrize("method", ["ecpcs-hc", "eac", "wct", "srs"])
def test_a_matrix_of_rows_that_does_not_fit_is_refused(method, monkeypatch):
    table = np.random.default_rng(0).integers(0, 3, (2000, 12))
    monkeypatch.setattr(memory, "available", lambda: 2**22)
    with pytest.raises(MemoryError, match=r"distinct label rows needs 0\.00\d+ GiB"):
        consensus(table, 3, method)
    labels = consensus(table, 3, method, max_memory=2**20)  # as the message says
    assert len(labels) == 2000


@pytest.mark.parametrize("method", ["kcc", "ecc", "sec", "kmodes", "em"])
def test_what_needs_little_is_never_refused(method, many_clusters, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1)
    assert len(consensus(many_clusters, 3, method, random_state=0)) == 200
