"""The rules of the house, as tests."""

import ast
import re
import subprocess
import sys

import numpy as np
import pytest

import ensclust
from conftest import ROOT
from ensclust._methods import METHODS

SOURCE = ROOT / "src" / "ensclust"
FILES = sorted(SOURCE.rglob("*.py"))

# From the ground up: a room imports from itself and from rooms before it, at module
# level and inside functions.
ROOMS = (
    "_kernels",
    "_support",
    "_files",
    "_ensemble",
    "similarity",
    "_trees",
    "_cuts",
    "_stream",
    "_generate",
    "_quality",
    "_methods",
    "_view",
    "metrics",
    "io",
    "scverse",
    "datasets",
    "paper",
    "cli",
    "__main__",
)

# Methods for convenience that draw; nothing else may import upward.
UPWARD = {
    ("_trees.dendrogram", "_view"),
    ("_quality.k_selection", "_view"),
    ("_methods.estimators", "_view"),
}


def name_of(path):
    """Return the name of a module within the package."""
    name = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    return name.removesuffix(".__init__")


MODULES = {name_of(path) for path in FILES}


def imported(path):
    """Return the modules of ours that a file imports, inside functions too.

    A public name that is imported from the package counts as its home.
    """
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names if a.name.startswith("ensclust.")}
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "ensclust":
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {home(name.removeprefix("ensclust.")) for name in names} - {""}


def home(name):
    """Return the module that a name is, or lives in."""
    while name and name not in MODULES:
        if name in ensclust._HOMES:
            return ensclust._HOMES[name]
        name = name.rpartition(".")[0]
    return name


def room_of(module):
    return module.split(".")[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downward(path):
    own = name_of(path)
    if own == "__init__":
        assert imported(path) == {"_support.old_pickles"}
        return
    for name in imported(path):
        assert room_of(name) in ROOMS, f"{name} has no room"
        if own.startswith("_kernels"):
            assert name.startswith("_kernels.")
        if (own, room_of(name)) not in UPWARD:
            height = ROOMS.index(room_of(name)), ROOMS.index(room_of(own))
            assert height[0] <= height[1], f"{own} imports {name}"


def test_every_module_has_a_room_and_every_room_a_sentence():
    assert {room_of(module) for module in MODULES} - {"__init__"} == set(ROOMS)
    modules = [path.name for path in SOURCE.glob("*.py")]
    assert len(modules) <= 6
    for path in SOURCE.glob("*/__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_functions_are_short(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            start = node.body[0].end_lineno if ast.get_docstring(node) else node.lineno
            assert node.end_lineno - start <= 60, node.name


FAMILIES = {"Agglomeration", "MetaClustering", "BipartiteCut", "OneHotMethod"}
CLASSES = FAMILIES | {cls.__name__ for cls in METHODS.values()}


def asked_of_methods(path):
    """Yield what a file asks about classes of methods or their fitted attributes."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            words = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node)}
            if node.func.id in ("isinstance", "issubclass") and words & CLASSES:
                yield ast.unparse(node)
            if node.func.id in ("hasattr", "getattr") and len(node.args) > 1:
                name = getattr(node.args[1], "value", "")
                if name in FITTED:
                    yield ast.unparse(node)
        if isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            words = {getattr(n, "id", getattr(n, "attr", "")) for n in ast.walk(node)}
            if words & (CLASSES | {"METHODS"}):
                yield ast.unparse(node)


FITTED = {
    "labels_", "n_clusters_", "assignment_", "weights_", "dendrogram_", "n_regions_",
    "coassociation_", "cluster_similarity_", "meta_labels_", "selection_", "inertia_",
    "generator_", "n_neighbors_", "steps_",
    "cluster_weights_", "modularity_", "resolution_",
    "eigenvalues_",
    "log_likelihood_", "bic_",
}  # fmt: skip


def test_nobody_but_methods_looks_at_classes_of_methods_or_probes_what_they_fitted():
    outside = [path for path in FILES if "_methods" not in path.parts]
    found = {name_of(path): list(asked_of_methods(path)) for path in outside}
    assert not {name: asked for name, asked in found.items() if asked}
    # The check sees what it looks for: the methods themselves do so.
    inside = [path for path in FILES if path.name == "estimators.py"]
    assert any(list(asked_of_methods(path)) for path in inside)


def test_known_fitted_attributes_are_all_of_them():
    X = np.random.default_rng(0).normal(size=(40, 2))
    for method in METHODS.values():
        model = method(3, 4, random_state=0).fit(X)
        fitted = {name for name in vars(model) if name.endswith("_")}
        hidden = {name for name in vars(model) if name.startswith("_")}
        assert not hidden, method
        usual = {"ensemble_", "n_features_in_", "n_iter_"}
        assert fitted <= FITTED | usual, method


@pytest.mark.parametrize("method", METHODS)
def test_a_method_documents_what_users_ask(method):
    doc = METHODS[method].__doc__
    for section in ("Parameters", "Attributes", "Notes", "References", "Examples"):
        assert re.search(rf"\n    {section}\n    -+\n", doc), section
    assert "doi:" in doc
    assert METHODS[method].info.doi in doc
    assert ">>> " in doc
    assert "$" not in doc
    assert re.search(r"[Tt]ime .*[Mm]emory", doc, re.DOTALL)


def test_importing_an_estimator_does_not_import_numba():
    code = "import sys; from ensclust import ECPCSMC; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_kernels_compile_where_nothing_can_be_cached(tmp_path):
    code = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = []\n"
        "import ensclust\n"
        "print(ensclust.Ensemble([[0, 1], [1, 1]]).intersections().sum())\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "8"


def test_every_public_name_is_there():
    import ensclust

    for name in ensclust.__all__:
        assert getattr(ensclust, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ensclust.nonsense
