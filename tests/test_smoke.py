"""The package works as installed: needs pytest and nothing else of the source tree.

``make dist`` runs this file, and what it imports, against the wheel.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import ensclust
from record_hashes import FILE, digest, labels_of

HOME = Path(ensclust.__file__).parent
RECORDED = json.loads(FILE.read_text())
EXTRA = "pip install"  # what an error names where an optional package is missing
CASE = "missing labels"


def test_it_is_the_installed_package():
    if prefix := os.environ.get("ENSCLUST_PREFIX"):
        assert Path(prefix).resolve() in HOME.resolve().parents
        assert version("ensclust") == ensclust.__version__
        assert any(line.startswith("numba") for line in requires("ensclust"))


def test_it_ships_types_and_data():
    assert (HOME / "py.typed").exists()
    assert ensclust.datasets.load("wine").X.shape == (178, 13)


@pytest.mark.parametrize("name", ensclust.__all__)
def test_every_public_name_loads(name):
    try:
        assert getattr(ensclust, name) is not None
    except ImportError as error:
        if EXTRA not in str(error):
            raise


@pytest.mark.parametrize("method", ensclust.methods())
@pytest.mark.filterwarnings("ignore:CVote formed 3 of")
def test_labels_are_those_that_were_recorded(method):
    try:
        found = digest(labels_of(method, CASE))[:16]
    except ImportError as error:
        if EXTRA not in str(error):
            raise
    else:
        assert found == RECORDED[method][CASE]


def test_from_features_to_labels_of_new_objects():
    X, digits = load_digits(return_X_y=True)
    model = ensclust.ECPCSMC(10, random_state=0).fit(X)
    assert ensclust.metrics.nmi(model.labels_, digits) > 0.75
    assert np.array_equal(model.predict(X), model.labels_)
    assert model.certainty().item_consensus.shape == (len(X),)


def test_the_command_line(tmp_path):
    (tmp_path / "runs.csv").write_text("a,b\n0,x\n0,x\n0,x\n1,y\n1,y\n1,y\n")
    command = [sys.executable, "-m", "ensclust", "consensus", "runs.csv", "-k", "2"]
    printed = subprocess.check_output([*command, "-q"], cwd=tmp_path, text=True)
    lines = ["object,cluster", "0,0", "1,0", "2,0", "3,1", "4,1", "5,1"]
    assert printed.split() == lines
