"""One run for every engine: options mean the same, or are refused by all."""

import json
import re
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.utils._param_validation import StrOptions

import ensclust
from conftest import cli_runner
from ensclust._methods.parameters import parameter
from ensclust.cli import main

pytest.importorskip("dask.array")
pytest.importorskip("distributed")
RUNS = np.random.default_rng(0).integers(0, 4, (90, 1)) + np.zeros((1, 5), int)
RUNS[::7, 1] = 0
RUNS[::5, 3] = 2
RUNS[4] = -1
ENGINES = ("memory", "blocks", "dask")


class Own(ensclust.ECPCSMC):
    """A user's method, with a word for a number of clusters."""

    _k_words = ("auto", "two")
    n_clusters: Any = parameter(
        Integral, StrOptions({"auto", "two"}), default=8, kw_only=False
    )

    def _number_of(self, word, counts, solution, seed):
        if word == "two":
            return 2, {}
        return super()._number_of(word, counts, solution, seed)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Go to a directory with labels and features."""
    monkeypatch.chdir(tmp_path)
    np.save("runs.npy", RUNS)
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3)) * [1, 100, 1e-3] + [5, -1e4, 0]
    X[:45, 2] += 0.01
    np.save("data.npy", X)


def run(*args):
    return cli_runner().invoke(main, [str(arg) for arg in args], prog_name="ensclust")


def facts_of(*args):
    result = run(*args, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("param", "name"), [
    ("random_state=5", "random_state"),
    ("n_clusterings=7", "n_clusterings"),
    ("n_jobs=1", "n_jobs"),
    ("noise=missing", "noise"),
])  # fmt: skip
def test_what_options_decide_is_no_parameter_for_any_engine(engine, param, name):
    args = ["-k", 2, "--seed", 1, "-p", param, "--engine", engine, "-o", "o.npy"]
    result = run("consensus", "runs.npy", *args)
    assert result.exit_code == 2
    assert result.stderr == (
        f"ensclust: error: ecpcs-mc has no parameter {name!r} for -p. Its parameters "
        "are 'cluster_weights', 'exact', 'steps', 'weights'. See 'ensclust consensus "
        "--help'.\n"
    )


@pytest.mark.parametrize("method", ["ecpcs-mc", "eac", "ptgp"])
def test_noise_parameters_and_seed_mean_the_same(method):
    args = ["runs.npy", "-k", "2,3", "-m", method, "--seed", 5]
    args += ["--noise", "own-cluster", "-o", "o.npy"]
    found, labels = [], []
    for engine in ENGINES:
        facts = facts_of("consensus", *args, "--engine", engine)
        assert facts.pop("engine", "memory") == engine
        found.append({n: v for n, v in facts.items() if n != "seconds"})
        labels.append(np.load("o.npy"))
    assert found[0] == found[1] == found[2]
    np.testing.assert_array_equal(labels[0], labels[1])
    np.testing.assert_array_equal(labels[0], labels[2])


def test_people_are_told_the_same():
    said = []
    for engine in ENGINES:
        args = ["-k", 3, "--seed", 5, "-o", "o.npy", "--engine", engine]
        result = run("consensus", "runs.npy", *args)
        assert result.exit_code == 0, result.stderr
        said.append(re.sub(r"[0-9.]+ s,", "", result.stderr))
    assert said[0] == said[1] == said[2]
    assert "; 1 not clustered" in said[0]


@pytest.mark.parametrize("engine", ENGINES)
def test_standardize_in_every_engine(engine):
    args = ["data.npy", "-k", 2, "--seed", 0, "--n-clusterings", 5, "--base-k", 2]
    facts_of("cluster", *args, "-o", "memory.npy", "--standardize")
    facts_of("cluster", *args, "-o", "o.npy", "--standardize", "--engine", engine)
    np.testing.assert_array_equal(np.load("o.npy"), np.load("memory.npy"))
    args += ["--scale", "none"]
    facts_of("cluster", *args, "-o", "plain.npy", "--engine", engine)
    assert (np.load("plain.npy") != np.load("memory.npy")).any()


@pytest.mark.parametrize("engine", ["blocks", "dask"])
@pytest.mark.parametrize("command", ["cluster", "consensus"])
def test_a_report_of_a_stream_is_that_of_memory(engine, command):
    pytest.importorskip("plotly")
    source = {"cluster": "data.npy", "consensus": "runs.npy"}[command]
    texts = []
    for name in ("memory", engine):
        args = [source, "-k", 3, "--seed", 1, "-o", "o.npy", "--report", "r.html", "-q"]
        result = run(command, *args, "--engine", name)
        assert result.exit_code == 0, result.stderr
        text = Path("r.html").read_text("utf-8")
        texts.append(text.replace(f"--engine {name}", "--engine E"))
    if command == "consensus":  # where the map does not need the features
        assert texts[0] == texts[1]
    assert "random sample" not in texts[1]


def test_a_report_of_a_long_stream_names_the_sample(monkeypatch):
    pytest.importorskip("plotly")
    monkeypatch.setattr("ensclust._methods.estimators._SHOWN", 40)
    args = ["-k", 3, "-o", "o.npy", "--report", "r.html", "--engine", "blocks"]
    result = run("consensus", "runs.npy", *args)
    assert result.exit_code == 0, result.stderr
    assert "report written to r.html" in result.stderr
    text = Path("r.html").read_text("utf-8")
    assert "A random sample of 40 of 90 objects is shown." in text


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("command", "source"), [
    ("consensus", "runs.npy"), ("cluster", "data.npy")
])  # fmt: skip
def test_a_checkpoint_is_a_directory(engine, command, source, tmp_path):
    args = [source, "-k", 3, "--seed", 1, "-m", "eac", "--engine", engine]
    facts_of(command, *args, "-o", "plain.npy")
    facts_of(command, *args, "-o", "o.npy", "--checkpoint", "kept")
    again = facts_of(command, *args, "-o", "again.npy", "--checkpoint", "kept")
    assert (tmp_path / "kept").is_dir()
    assert again["n_objects"] == 90
    for name in ("o.npy", "again.npy"):
        np.testing.assert_array_equal(np.load(name), np.load("plain.npy"))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_method_of_ones_own_with_its_own_word(engine):
    method = f"{__name__}:Own"
    args = ["runs.npy", "-m", method, "--seed", 1, "-o", "o.npy", "--engine", engine]
    facts = facts_of("consensus", *args, "-k", "two")
    assert (facts["method"], facts["k"], facts["n_clusters"]) == (method, "two", 2)
    result = run("consensus", *args, "-k", "lifetime")
    takes = f"-k lifetime needs -m eac; {method} accepts a number, auto or two."
    assert takes in result.stderr
