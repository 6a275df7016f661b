"""The same seed gives the same labels, wherever and however they are made.

Here: threads of BLAS and OpenMP, other kernels of BLAS, processes, interpreters,
releases, and every method by every engine. Elsewhere: ``n_jobs`` in test_estimators,
test_linkage, test_mcla, test_ptgp, test_onehot_kmeans and test_generation; sizes of
blocks in test_blocks; Dask, its clusters and killed workers in test_distributed; both
engines of linkage in test_linkage and test_golden; interrupted runs in test_checkpoint.
"""

import json
import os
import subprocess
import sys

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_limits

import ensclust
from conftest import ROOT, unmeasured
from ensclust import Blocks, consensus
from ensclust._methods import METHODS, make
from record_hashes import FILE, SEED, cases, digest, labels_of

RECORDED = json.loads(FILE.read_text())
OTHER_PYTHON = "ENSCLUST_OTHER_PYTHON"
DISTINCT = "equal groups"  # a case without equal label rows, for SRS in streams

every_method = pytest.mark.parametrize("method", METHODS)
# Shares of a small group among few clusterings may nowhere be the largest.
pytestmark = pytest.mark.filterwarnings("ignore:CVote formed 3 of")
UPDATE = (
    "labels differ from those of the last release. If that is meant, say so in "
    "CHANGELOG.md and run: python -m tests.record_hashes"
)


def hashes_of(python=sys.executable, **environment):
    """Return what another process finds."""
    program = [python, "-m", "tests.record_hashes", "--print"]
    settings = unmeasured() | {"PYTHONPATH": str(ROOT / "src"), **environment}
    printed = subprocess.check_output(program, cwd=ROOT, env=settings)
    return json.loads(printed)


@every_method
def test_labels_are_those_of_the_last_release(method):
    hashes = {case: digest(labels_of(method, case))[:16] for case in cases()}
    assert hashes == RECORDED[method], UPDATE


def test_every_method_is_recorded():
    assert list(RECORDED) == ensclust.methods()
    assert all(list(hashes) == list(cases()) for hashes in RECORDED.values())


def test_hashes_tell_labels_apart():
    per_case = [{RECORDED[m][case] for m in METHODS} for case in cases()]
    assert min(map(len, per_case)) > 4  # not the same easy answer from every method


@pytest.mark.parametrize(
    "environment",
    [
        {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "1"},
        # Another processor's kernels round otherwise.
        {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Nehalem"},
    ],
    ids=["one thread", "two threads, older processor"],
)
def test_another_process_finds_the_same(environment):
    assert hashes_of(**environment) == RECORDED


def test_another_python_finds_the_same():
    python = os.environ.get(OTHER_PYTHON)
    if not python:
        pytest.skip(f"{OTHER_PYTHON} names no interpreter with the dependencies")
    assert hashes_of(python) == RECORDED


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_methods_that_run_at_the_same_time_do_not_disturb_each_other(backend):
    tasks = [
        joblib.delayed(labels_of)(method, DISTINCT, n_jobs=2) for method in METHODS
    ]
    labels = joblib.Parallel(n_jobs=3, backend=backend)(tasks)
    hashes = [digest(column)[:16] for column in labels]
    assert hashes == [RECORDED[method][DISTINCT] for method in METHODS]


@every_method
def test_every_engine_finds_the_same(method):
    labels, k = cases()[DISTINCT]
    sources = [Blocks(labels, rows=rows) for rows in (1, 17, 1000)]
    array = pytest.importorskip("dask.array")
    sources += [array.from_array(labels, chunks) for chunks in ((13, 4), (180, 1))]
    for source in sources:
        streamed = consensus(source, k, method, random_state=SEED)
        assert digest(np.asarray(streamed))[:16] == RECORDED[method][DISTINCT]


@every_method
def test_features_give_the_same_labels_for_any_number_of_threads(method):
    X = load_iris().data
    model = make(method, n_clusters=3, n_clusterings=6, random_state=1)
    with threadpool_limits(1):
        expected = model.set_params(n_jobs=1).fit_predict(X)
    for threads, n_jobs in ((2, 1), (1, 2), (2, 5), (None, None)):
        with threadpool_limits(threads):
            labels = model.set_params(n_jobs=n_jobs).fit_predict(X)
        np.testing.assert_array_equal(labels, expected)
