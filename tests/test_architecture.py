"""The rules of the house, as tests."""

import ast
import re
import subprocess
import sys

import pytest

from conftest import ROOT
from ensclust._methods import METHODS

SOURCE = ROOT / "src" / "ensclust"
FILES = sorted(SOURCE.rglob("*.py"))

# Who may import whom, from the bottom up (module level).
LAYERS = (
    ("_kernels",),
    ("_parallel", "_validation", "_encoding", "_progress", "_documentation", "_html"),
    ("_memory",),
    ("ensemble", "metrics", "agreement"),
    (
        "_archives",
        "_cells",
        "_delimited",
        "_h5ad",
        "_replace",
        "_sources",
        "_writing",
        "_zarr",
        "io",
    ),
    ("_block_files", "blocks", "tally", "checkpoints", "passes"),
    (
        "similarity",
        "walks",
        "spectrum",
        "coassociation",
        "dendrogram",
        "partition",
        "voting",
    ),
    ("coarsening", "engines", "journal", "linkage"),
    (
        "nearest",
        "onehot_kmeans",
        "microclusters",
        "_base_clusterers",
        "_base_k",
        "datasets",
    ),
    ("generation",),
    ("block_generation",),
    ("cohesion", "certainty", "criteria"),
    ("base",),
    ("_methods", "selection"),
    ("combination",),
    ("comparison", "inspection", "_options"),
    ("plotting",),
    ("ballots", "block_kmeans"),
    ("streams", "label_streams"),
    ("distributed",),
)


def level(module):
    for height, names in enumerate(LAYERS):
        if module.split(".")[0] in names:
            return height
    return len(LAYERS)


def imported_at_module_level(path):
    """Return the names of ours that a file imports outside functions."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "ensclust"
        ):
            inner = node.module.removeprefix("ensclust").removeprefix(".")
            names |= {inner} if inner else {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downward(path):
    own = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    if own == "__init__":
        return
    for name in imported_at_module_level(path):
        if own.startswith("_kernels"):
            assert name.startswith("_kernels.")
        assert level(name) <= level(own), f"{own} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_are_short(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            start = node.body[0].end_lineno if ast.get_docstring(node) else node.lineno
            assert node.end_lineno - start <= 60, node.name


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
