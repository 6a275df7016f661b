"""One drawing model: displays and report show the same of the same result."""

import ast
from base64 import b64decode
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

import ensclust
from conftest import ROOT
from ensclust import ClusterGraphDisplay, ConsensusMatrixDisplay, DendrogramDisplay
from ensclust._view.cluster_graph import cluster_graph
from ensclust._view.consensus_blocks import consensus_blocks
from ensclust._view.report.facts import collect
from ensclust._view.tree_top import node_places, tree_top
from strategies import random_ensemble

mpl.use("Agg")


@pytest.fixture(scope="module")
def ensemble():
    return random_ensemble(200, 6, 5, seed=0)


@pytest.fixture(scope="module")
def tree(ensemble):
    return ensclust.ECPCSHC(4, base="precomputed").fit(ensemble)


def facts_of(model):
    return collect(model.ensemble_, model.labels_, result=model._result())


def test_branches_have_the_same_order_heights_and_clusters(tree):
    shown = facts_of(tree).tree
    display = DendrogramDisplay.from_estimator(tree, max_leaves=len(shown["sizes"]))
    assert shown["sizes"] == display.sizes.tolist()
    assert shown["order"] == display.dendrogram.leaf_order().tolist()
    assert shown["merges"] == display.dendrogram.merges.tolist()
    assert shown["heights"] == pytest.approx(display.dendrogram.leaf_heights, abs=1e-6)
    # The page numbers the clusters of a cut by the first branch of each.
    first = [display.labels.tolist().index(j) for j in range(4)]
    assert first == sorted(first)


def test_a_node_stands_between_its_parts(tree):
    top = tree_top(tree.dendrogram_, 12)
    place = node_places(top)
    assert place[top.leaf_order()].tolist() == list(range(12))
    for i, (a, b) in enumerate(top.merges):
        assert place[12 + i] == (place[a] + place[b]) / 2


@pytest.mark.parametrize("weights", [None, [1, 0, 2, 1, 1, 1]])
def test_the_graph_has_the_same_nodes_edges_and_layout(ensemble, weights):
    model = ensclust.ECPCSMC(4, base="precomputed", weights=weights, random_state=0)
    display = ClusterGraphDisplay.from_estimator(model.fit(ensemble))
    shown = facts_of(model).graph
    assert shown["size"] == display.sizes[display.nodes].tolist()
    assert shown["meta"] == display.meta_labels[display.nodes].tolist()
    assert shown["edges"] == np.searchsorted(display.nodes, display.edges).tolist()
    ends = display.places.max(axis=0), display.places.min(axis=0)
    centred = display.places - (ends[0] + ends[1]) / 2
    found = np.column_stack([shown["x"], shown["y"]])
    assert found == pytest.approx(centred / np.abs(centred).max(), abs=1e-3)


def test_a_meta_cluster_does_not_fall_into_islands():
    S = np.kron(np.eye(6), np.ones((5, 5))) + 0.01
    meta = np.repeat([0, 1], 15)
    graph = cluster_graph(S, np.ones(30, int), meta, 30)
    inside = meta[graph.edges[:, 0]] == meta[graph.edges[:, 1]]
    root = np.arange(30)
    for a, b in graph.edges[inside]:
        root[root == root[a]] = root[b]
    assert len(set(root)) == 2


def test_the_matrix_has_the_same_blocks(tree):
    shown = facts_of(tree).matrix
    certainty = tree.certainty()
    given = {"place": -certainty.item_consensus, "with_itself": False}
    blocks = consensus_blocks(tree.ensemble_, tree.labels_, 240, **given)
    percent = np.frombuffer(b64decode(shown["percent"]), np.uint8).reshape(200, 200)
    assert percent == pytest.approx(100 * blocks.matrix, abs=0.51)
    display = ConsensusMatrixDisplay.from_estimator(tree, max_rows=240)
    assert np.array_equal(display.labels, blocks.labels)
    assert shown["cells"] == np.bincount(display.labels).tolist()
    there = np.ix_(blocks.rows, blocks.rows)
    assert display.matrix[np.ix_(display.rows, display.rows)] == pytest.approx(
        blocks.matrix[there]
    )


def test_clusterings_with_a_weight_are_those_of_the_cluster_level(ensemble):
    labels = ensemble.labels.copy()
    labels[:3] = -1
    labels[3, [0, 2, 3, 4, 5]] = -1  # in the clustering without a weight only
    model = ensclust.MCLA(
        3, base="precomputed", weights=[1, 0, 1, 1, 1, 1], random_state=0
    )
    with pytest.warns(UserWarning, match="4 of 200 objects"):
        model.fit(labels)
    counted = model._result().weighted()
    assert counted.n_base_clusters == len(model.meta_labels_)
    assert counted.sizes.sum() == (np.delete(labels, 1, axis=1) >= 0).sum()
    assert len(facts_of(model).graph["size"]) == counted.n_base_clusters


def test_a_sample_of_a_stream_is_told(tree):
    result = replace(tree._result(), n_objects=5_000_000)
    facts = collect(result.ensemble, result.labels, result=result)
    told = "A random sample of 200 of 5,000,000 objects is shown."
    assert facts.summary.endswith(f". {told}")
    assert facts.figures["objects"] == "200 of 5,000,000"
    assert "sample" not in facts_of(tree).summary
    assert facts_of(tree).figures["objects"] == "200"


PRIVATE = {"_prepared", "_counting", "_is_precomputed", "_seed", "_affinity"}
FITTED = {
    *("labels_", "ensemble_", "weights_", "dendrogram_", "selection_", "n_clusters_"),
    *("cluster_similarity_", "meta_labels_", "feature_names_in_"),
}
FILES = sorted((ROOT / "src/ensclust/_view").rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_views_read_results_only(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            assert node.attr not in PRIVATE | FITTED
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert node.value not in PRIVATE | FITTED
        if isinstance(node, ast.Name):
            assert node.id not in {"METHODS", "issubclass"}
            assert node.id != "BaseConsensus" or path.name == "checks.py"
