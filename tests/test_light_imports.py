"""Labels are combined without importing what only estimators or frames need."""

import json
import subprocess
import sys

import numpy as np
import pytest

import ensclust
from strategies import random_ensemble

# Each takes longer to import than a small consensus takes.
HEAVY = ("sklearn", "scipy.stats", "pandas", "matplotlib", "pyarrow", "plotly")
COMMANDS = {
    "consensus": ["runs.csv", "-k", "3", "-o", "found.csv", "--overwrite"],
    "info": ["runs.csv"],
    "certainty": ["runs.csv", "labels.csv"],
    "select-k": ["runs.csv", "-k", "2-5"],
    "methods": [],
}
CALLS = {
    "consensus": "ensclust.consensus(labels, 3)",
    "trees": "ensclust.consensus(labels, [2, 3], 'eac')",
    "blocks": "ensclust.consensus(ensclust.Blocks(labels, rows=20), 3)[:]",
    "select_k": "ensclust.select_k(labels)",
    "Ensemble": "ensclust.Ensemble(labels).fragments()",
    "certainty": "ensclust.Certainty.of(labels, ensclust.consensus(labels, 3))",
    "scores": "[f(labels[:, 0], labels[:, 1]) for f in (metrics.nmi, metrics.ari)]",
    "free_k": "ensclust.methods(free_k=True)",
}
# Their cuts are made by scikit-learn's k-means.
WITH_SKLEARN = {"ptgp"}


def loaded(code, folder):
    """Return which heavy modules a separate process has loaded after ``code``."""
    tail = f"print(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    program = f"import json, sys\n{code}\n{tail}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("light")
    labels = random_ensemble(60, 6, 3, seed=1, noise=0.1).labels
    np.savetxt(folder / "runs.csv", labels, "%d", ",")
    found = ensclust.consensus(labels, 3, random_state=0)
    np.savetxt(folder / "labels.csv", found, "%d", header="cluster", comments="")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_on_labels_import_nothing_heavy(command, folder):
    words = [command, *COMMANDS[command]]
    code = (
        "from ensclust.cli import main\n"
        f"try:\n    main({words})\n"
        "except SystemExit as end:\n    assert not end.code\n"
    )
    assert loaded(code, folder) == []


@pytest.mark.parametrize("call", CALLS)
def test_functions_of_labels_import_nothing_heavy(call, folder):
    setup = (
        "import numpy, ensclust\nfrom ensclust import metrics\n"
        "labels = numpy.loadtxt('runs.csv', int, delimiter=',')\n"
    )
    assert loaded(setup + CALLS[call], folder) == []


def test_methods_solve_without_scikit_learn(folder):
    names = [name for name in ensclust.methods() if name not in WITH_SKLEARN]
    code = (
        "import numpy, ensclust\n"
        "labels = numpy.loadtxt('runs.csv', int, delimiter=',')\n"
        f"for name in {names}:\n"
        "    ensclust.consensus(labels, 3, name, random_state=0)\n"
    )
    assert loaded(code, folder) == []


def test_a_frame_brings_pandas_and_an_estimator_brings_scikit_learn(folder):
    """The test sees what it looks for."""
    pytest.importorskip("pandas")
    code = "import pandas, ensclust; ensclust.consensus(pandas.read_csv('runs.csv'), 3)"
    assert "pandas" in loaded(code, folder)
    assert "sklearn" in loaded("from ensclust import EAC", folder)
