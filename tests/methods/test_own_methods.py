"""User-defined methods: classes, instances, in a package, and composition."""

import json
import os
import subprocess
import sys
import textwrap
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import ensclust
from conftest import cli_runner
from ensclust import (
    Agglomeration,
    BaseConsensus,
    Blocks,
    CoAssociation,
    CustomConsensus,
    MetaClustering,
    OneHotMethod,
    compare,
    consensus,
    select_k,
)
from ensclust._methods.kcc import Utility
from ensclust._support.documentation import MethodInfo
from ensclust.cli import main
from ensclust.metrics import ari
from strategies import random_ensemble

LABELS = random_ensemble(200, 8, 5, seed=3, noise=0.1).labels


class Overlap(MetaClustering):
    """Meta-clusters by the overlap coefficient."""

    info = MethodInfo("Overlap", "", "cluster", "N M^2", "Nc^2")
    power: float = ensclust.parameter(default=1.0)

    def _similarity(self, counts, weights):
        least = np.minimum.outer(counts.sizes, counts.sizes)
        return (counts.intersections() / np.maximum(least, 1)) ** self.power


class Plain(Agglomeration):
    """Evidence accumulation, written again."""

    info = MethodInfo("Plain", "", "object", "F^2 M", "F^2")

    def _coassociation(self, counts, weights):
        return CoAssociation(counts, weights=weights)


class Category(OneHotMethod):
    """The category utility of KCC, written again."""

    info = MethodInfo("Category", "", "object", "F M k", "F M")

    def _divergence(self, weights):
        return Utility("u_c")


OWN = [Overlap, Plain, Category]
each_own = pytest.mark.parametrize("cls", OWN)


@each_own
def test_a_class_works_wherever_a_name_does(cls, tmp_path):
    found = consensus(LABELS, 5, cls, random_state=0)
    again = consensus(LABELS, 5, cls(random_state=0))
    assert np.array_equal(found, again)
    several = consensus(LABELS, [3, 5], cls, random_state=0)
    assert np.array_equal(several[:, 1], found)
    stream = consensus(Blocks(LABELS, rows=60), 5, cls, random_state=0)
    assert np.array_equal(stream, found)
    table = compare(LABELS, 5, ["eac", cls, cls(n_jobs=1)], random_state=0)
    assert {cls.__name__, f"{cls.__name__} 2", "eac"} == set(table.methods)
    chosen = select_k(LABELS, range(2, 7), cls, random_state=0)
    assert chosen.method == cls.__name__
    model = cls(5, base="precomputed", random_state=0).fit(LABELS)
    assert np.array_equal(model.labels_, found)
    assert np.array_equal(model.predict(LABELS), found)
    assert model.memberships().sum() == pytest.approx(len(LABELS))
    model.report(tmp_path / "page.html")
    assert cls.__name__ in (tmp_path / "page.html").read_text()


def test_own_methods_are_those_they_repeat():
    pairs = {Plain: "eac", Category: "kcc"}
    for cls, name in pairs.items():
        more = {"utility": "u_c"} if name == "kcc" else {}
        own = consensus(LABELS, 5, cls, random_state=0)
        assert np.array_equal(own, consensus(LABELS, 5, name, random_state=0, **more))


def test_parameters_are_fields_that_everybody_sees():
    assert Overlap(3, power=2.0).get_params()["power"] == 2.0
    assert "power" in str(__import__("inspect").signature(Overlap))
    one, two = (consensus(LABELS, 5, Overlap, power=p, random_state=0) for p in (1, 9))
    assert ari(one, two) > 0
    with pytest.raises(TypeError, match="Overlap has no parameter 'steps'"):
        consensus(LABELS, 5, Overlap, steps=3)


@pytest.mark.parametrize(
    ("base", "hook"),
    [
        (BaseConsensus, r"_solve\(counts, \*, weights, seed\)"),
        (Agglomeration, r"_coassociation\(counts, weights\)"),
        (MetaClustering, r"_similarity\(counts, weights\)"),
        (OneHotMethod, r"_divergence\(weights\)"),
    ],
)
def test_a_missing_hook_is_named(base, hook):
    class Unfinished(base):
        pass

    with pytest.raises(NotImplementedError, match=f"Unfinished does not define {hook}"):
        consensus(LABELS, 2, Unfinished)


def shared_objects(counts):
    return counts.intersections().astype(float)


@pytest.mark.parametrize("solver", ["tree", "ncut", "metis", "transfer-cut"])
@pytest.mark.parametrize("kind", ["identity", "jaccard", "propagated", "function"])
def test_any_similarity_goes_with_any_solver(solver, kind):
    given = shared_objects if kind == "function" else kind
    method = CustomConsensus(similarity=given, solver=solver)
    found = consensus(LABELS, 5, method, random_state=0)
    truth = consensus(LABELS, 5, "ecpcs-hc")
    assert ari(found, truth) > 0.5
    stream = consensus(Blocks(LABELS, rows=70), 5, method, random_state=0)
    assert np.array_equal(stream, found)


def test_compositions_are_the_methods_they_are_composed_like():
    W = ensclust.similarity.jaccard(LABELS)
    Z = ensclust.similarity.propagate(W)
    tree = CustomConsensus(similarity=Z)
    assert np.array_equal(consensus(LABELS, 5, tree), consensus(LABELS, 5, "ecpcs-hc"))
    cut = CustomConsensus(similarity="propagated", solver="ncut")
    found = consensus(LABELS, 5, cut, random_state=0)
    assert np.array_equal(found, consensus(LABELS, 5, "ecpcs-mc", random_state=0))


def test_a_similarity_of_another_size_and_a_wrong_word_are_refused():
    class Small(MetaClustering):
        def _similarity(self, counts, weights):
            return np.eye(3)

    with pytest.raises(ValueError, match=r"similarity has shape \(3, 3\); these label"):
        consensus(LABELS, 5, Small)

    class Heavy(Plain):
        weights: object = ensclust.parameter(default=None)

    with pytest.raises(ValueError, match="weights='agreemnt' is not supported"):
        consensus(LABELS, 5, Heavy, weights="agreemnt")
    with pytest.raises(ValueError, match=r"similarity has shape \(3, 3\); these label"):
        consensus(LABELS, 5, CustomConsensus(similarity=np.eye(3)))


BACKEND = """
import zipfile
from pathlib import Path

NAME = "tiny_consensus-1.0"
INFO = f"{NAME}.dist-info"

def build_wheel(folder, config_settings=None, metadata_directory=None):
    wheel = f"{NAME}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder, wheel), "w") as file:
        file.write("tiny_consensus.py")
        meta = "Metadata-Version: 2.1\\nName: tiny-consensus\\nVersion: 1.0\\n"
        file.writestr(f"{INFO}/METADATA", meta)
        tags = "Wheel-Version: 1.0\\nGenerator: own\\nRoot-Is-Purelib: true\\n"
        file.writestr(f"{INFO}/WHEEL", tags + "Tag: py3-none-any\\n")
        points = "[ensclust.methods]\\ntiny = tiny_consensus:Tiny\\n"
        file.writestr(f"{INFO}/entry_points.txt", points)
        file.writestr(f"{INFO}/RECORD", "")
    return wheel
"""
MODULE = """
from ensclust import CoAssociation, Agglomeration

class Tiny(Agglomeration):
    "Links by co-association."

    def _coassociation(self, counts, weights):
        return CoAssociation(counts)
"""
PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install a package that adds a method; return where."""
    source, target = (tmp_path_factory.mktemp(name) for name in ("tiny", "site"))
    (source / "backend.py").write_text(BACKEND.replace("\\\\", "\\"))
    (source / "tiny_consensus.py").write_text(MODULE)
    (source / "pyproject.toml").write_text(PROJECT)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
    command += ["--no-index", "--target", str(target), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def run(installed, code):
    path = os.pathsep.join([str(installed), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_a_package_adds_a_method_by_an_entry_point(installed):
    found = run(
        installed,
        """
        import json, numpy as np, ensclust
        from ensclust.cli import main
        labels = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]])
        np.savetxt("/dev/null", labels)
        own = ensclust.consensus(labels, 2, "tiny")
        table = ensclust.compare(labels, 2, ["tiny", "eac"], random_state=0)
        print(json.dumps([
            "tiny" in ensclust.methods(),
            own.tolist(),
            sorted(table.methods),
            ensclust.select_k(labels, [2, 3], "tiny").method,
        ]))
        """,
    )
    assert found[0]
    assert found[1] == [0, 0, 1, 1, 1]
    assert found[2:] == [["eac", "tiny"], "tiny"]


def test_an_entry_point_is_loaded_when_its_method_is_used(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "entered_consensus.py").write_text(MODULE)
    point = EntryPoint("entered", "entered_consensus:Tiny", "ensclust.methods")
    monkeypatch.setattr(
        "ensclust._methods.table._entry_points", lambda: {"entered": point}
    )
    assert "entered" in ensclust.methods()
    labels = consensus(LABELS, 5, "entered")
    np.testing.assert_array_equal(labels, consensus(LABELS, 5, "eac"))


def test_the_command_line_takes_a_class_of_a_module(tmp_path, monkeypatch):
    np.savetxt(tmp_path / "runs.csv", LABELS, "%d", ",")
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "own_consensus.py").write_text(MODULE)
    words = [
        "consensus",
        str(tmp_path / "runs.csv"),
        "-k",
        "5",
        "--seed",
        "0",
        "--json",
    ]
    result = cli_runner().invoke(main, [*words, "-m", "own_consensus:Tiny"])
    assert result.exit_code == 0, result.stderr
    expected = consensus(LABELS, 5, "eac", random_state=0)
    assert json.loads(result.stdout)["labels"] == expected.tolist()
    wrong = cli_runner().invoke(main, [*words, "-m", "own_consensus:Nobody"])
    assert wrong.exit_code == 2
    assert "has no class 'Nobody'" in wrong.stderr
