"""Wrong input to ensembles, similarities, trees, metrics: errors name the argument."""

import numpy as np
import pytest

from bad_input import FOUND, HUGE, LABELS, RUNS, Unhashable, refused, table
from ensclust import (
    Certainty,
    CoAssociation,
    Dendrogram,
    Ensemble,
    agreement_weights,
    metrics,
    similarity,
    size_weights,
)
from ensclust._ensemble.agreement import agreement
from ensclust._trees.linkage import link

LINKED = CoAssociation(RUNS)
PAIR = [[0, 1], [1, 0]]
ONES = np.ones((3, 3))
from_clusterings = Ensemble.from_clusterings


@table(
    (lambda: Ensemble(0.5), "labels is of type float"),
    (lambda: Ensemble(b"runs"), "labels is of type bytes"),
    (lambda: Ensemble({1, 2}), "labels is of type set"),
    (lambda: Ensemble(iter(LABELS)), "labels is of type ndarray_iterator|iterator"),
    (lambda: Ensemble(lambda: LABELS), "labels is of type function"),
    (lambda: Ensemble(Ensemble), "labels is of type type"),
    (lambda: Ensemble("nosuch.csv"), r"nosuch\.csv does not exist"),
    (lambda: Ensemble([]), r"labels has shape \(0,\)"),
    (lambda: Ensemble([[], []]), r"labels has shape \(2, 0\)"),
    (lambda: Ensemble(np.zeros((0, 3))), r"labels has shape \(0, 3\)"),
    (lambda: Ensemble(np.zeros((2, 2, 2))), r"labels has shape \(2, 2, 2\)"),
    (lambda: Ensemble([[0, 1], [2]]), r"\[0\] has 2 labels, labels\[1\] has 1 labels"),
    (lambda: Ensemble([[0, 1, 2]]), r"nested lists of shape \(1, 3\)"),
    (lambda: Ensemble([FOUND, FOUND[:2]]), r"clusterings\[1\] has 2 labels, .* 6"),
    (lambda: Ensemble([FOUND, None]), "clusterings holds None; expected one label"),
    (lambda: Ensemble([LABELS, FOUND]), r"a clustering has shape \(6, 3\)"),
    (lambda: Ensemble([[0], [-np.inf]]), r"labels\[1, 0\] = -inf"),
    (lambda: Ensemble([[0], [1e30]]), r"labels\[1, 0\] = 1e\+30"),
    (lambda: Ensemble([[Unhashable()], [1]]), r"labels\[0, 0\] = <bad_input.Unhash"),
    (lambda: from_clusterings([[1, ([],)]]), r"labels\[1, 0\] = \(\[\],\)"),
    (lambda: Ensemble([[{0}], [1]]), r"labels\[0, 0\] = \{0\}"),
    (lambda: Ensemble([[object()], [1]]), r"labels\[0, 0\] = <object"),
    (lambda: Ensemble([["a", 1], [2, 1]]), r"labels\[:, 0\] mixes str .*int"),
    (lambda: Ensemble(np.zeros((2, 1), "m8[s]")), r"labels\[:, 0\] has dtype timed"),
    (lambda: Ensemble(np.zeros((2, 1), "M8[s]")), r"labels\[:, 0\] has dtype datet"),
    (lambda: Ensemble(np.zeros((2, 1), [("a", int)])), r"labels\[:, 0\] has dtype"),
    (lambda: Ensemble(LABELS, noise=None), "noise=None is not supported"),
    (lambda: Ensemble(LABELS, noise=["missing"]), r"noise=\['missing'\] is not sup"),
    (lambda: Ensemble(LABELS, noise=np.array(["a", "b"])), "noise=array.* is not su"),
    (lambda: from_clusterings(None), "clusterings is of type NoneType"),
    (lambda: from_clusterings(RUNS), "clusterings is of type Ensemble"),
    (lambda: from_clusterings([[]]), r"labels has shape \(0, 1\)"),
    (lambda: from_clusterings("ab"), "clusterings holds 'a'; expected one label"),
    (lambda: from_clusterings({"a": [0]}), "clusterings holds 'a'; expected one label"),
    (lambda: from_clusterings([[0, 1], None]), "clusterings holds None; expected"),
    (lambda: from_clusterings([LABELS]), r"a clustering has shape \(6, 3\)"),
    (lambda: from_clusterings([[0, 1.5]]), r"labels\[1, 0\] = 1\.5"),
    (lambda: from_clusterings([[0, 1]], noise=1), "noise=1 is not supported"),
    (lambda: RUNS.take([99]), r"rows=\[99\] is not a valid index for 6"),
    (lambda: RUNS.take(np.ones(3, bool)), "rows=array.* Use .* a mask of length 6"),
    (lambda: RUNS.select("a"), "clusterings='a' is not a valid index for 3"),
    (lambda: RUNS.recode([["a", "b", "c"]]), r"labels\[:, 0\] mixes int .*str"),
    (lambda: RUNS.recode(LABELS[0]), r"labels has shape \(3,\)"),
    (lambda: RUNS.intersections(n_jobs="a"), "n_jobs='a' is not supported"),
    (lambda: RUNS.intersections(n_jobs=2.5), "n_jobs=2.5 is not supported"),
)
def test_ensemble(call, words):
    refused(call, words)


@table(
    (lambda: CoAssociation(None), "labels is None; expected an array"),
    (lambda: CoAssociation([0, 1]), r"labels has shape \(2,\)"),
    (lambda: CoAssociation(RUNS, "a"), "similarity is not a table of numbers"),
    (lambda: CoAssociation(RUNS, [[1, 2], [3]]), "similarity is not a table of num"),
    (lambda: CoAssociation(RUNS, np.full((7, 7), np.nan)), "similarity contains NaN"),
    (lambda: CoAssociation(RUNS, pairs=None), "pairs=None is not supported"),
    (lambda: CoAssociation(RUNS, decay="a"), "decay='a'; expected a number from 0"),
    (lambda: CoAssociation(RUNS, decay=-1), "decay=-1; expected a number from 0"),
    (lambda: CoAssociation(RUNS, decay=np.nan), "decay=nan; expected a number"),
    (lambda: CoAssociation(RUNS, weights=[1]), r"weights is \(1,\) for 3 base"),
    (lambda: CoAssociation(RUNS, weights="a"), "weights is 'a' for 3 base"),
    (lambda: LINKED.row("a"), "object 'a' does not exist"),
    (lambda: LINKED.row(1.5), r"object 1\.5 does not exist"),
    (lambda: LINKED.dense(max_memory="a"), "max_memory='a'; expected an integer"),
    (lambda: LINKED.dense(max_memory=None), "max_memory=None; expected an integer"),
    (lambda: LINKED.sparse(0), r"threshold=0; expected a number in \(0, 1\]"),
    (lambda: LINKED.sparse(1.5), r"threshold=1\.5; expected a number in \(0, 1\]"),
    (lambda: LINKED.sparse("a"), r"threshold='a'; expected a number in \(0, 1\]"),
    (lambda: LINKED.sparse(max_memory=0), "max_memory=0; expected an integer"),
    (lambda: link(RUNS), "coassociation is of type Ensemble"),
    (lambda: link(LABELS), "coassociation is of type ndarray"),
    (lambda: link(LINKED, None), "linkage=None is not supported"),
    (lambda: link(LINKED, max_memory="a"), "max_memory='a'; expected an integer"),
    (lambda: link(LINKED, max_memory=-1), "max_memory=-1; expected an integer"),
    (lambda: link(LINKED, max_regions=0), "max_regions=0; expected an integer"),
    (lambda: link(LINKED, max_regions=2.5), r"max_regions=2\.5; expected an integer"),
    (lambda: link(LINKED, n_jobs="a"), "n_jobs='a' is not supported"),
    (lambda: link(LINKED, checkpoint=3), "path is of type int"),
    (
        lambda: link(LINKED, checkpoint=__file__),
        "cannot be used as a directory: File exists",
    ),
)
def test_coassociation_and_linkage(call, words):
    refused(call, words)


def tree(leaves=(0, 1, 2), merges=((0, 1), (3, 2)), heights=(0.1, 0.2)):
    return Dendrogram(np.array(leaves), np.array(merges), np.array(heights))


@table(
    (lambda: Dendrogram(None, None, None), r"merges has shape \(\)"),
    (lambda: tree(merges=(0, 1)), r"merges has shape \(2,\); expected \(L - 1, 2\)"),
    (lambda: tree(merges=((0.5, 1), (3, 2))), r"expected \(L - 1, 2\) integers"),
    (lambda: tree(merges=((0, 1), (9, 2))), "merges must join each of the 3 leaves"),
    (lambda: tree(merges=((0, 4), (3, 2))), "merges must join .* exactly once"),
    (lambda: tree(merges=((0, 1), (0, 2))), "merges must join .* once"),
    (lambda: tree(heights=(0.1,)), r"heights has shape \(1,\); expected \(2,\)"),
    (lambda: tree(leaves=(0, 1, 7)), "leaf_of_object must hold a leaf, 0 to 2"),
    (lambda: tree(leaves=("a", "b")), "leaf_of_object must hold a leaf"),
    (lambda: tree(leaves=()), "leaf_of_object must hold a leaf"),
    (lambda: tree().cut("a"), "n_clusters='a' is a str"),
    (lambda: tree().cut(None), "n_clusters=None is a NoneType"),
    (lambda: tree().cut([1, 2]), r"n_clusters=\[1, 2\] is a list"),
    (lambda: tree().top(0), "n_clusters=0 is less than 1"),
    (lambda: tree().top(9), "n_clusters=9 is larger than n_samples=3"),
)
def test_dendrogram(call, words):
    refused(call, words)


@table(
    (lambda: similarity.jaccard(None), "labels is None"),
    (lambda: similarity.jaccard(RUNS, n_jobs="a"), "n_jobs='a' is not supported"),
    (lambda: similarity.propagate("a"), "W is not a table of numbers"),
    (lambda: similarity.propagate([[0, 1j], [1j, 0]]), "W is not a table of numbers"),
    (lambda: similarity.propagate(PAIR, None), "steps=None; expected an integer"),
    (lambda: next(similarity.propagations(PAIR, 3)), "steps=3; expected a list"),
    (lambda: next(similarity.propagations(PAIR, [])), r"steps=\[\]; expected a list"),
    (lambda: next(similarity.propagations(PAIR, [2, 0])), "steps=0; expected an int"),
    (lambda: similarity.trajectories(PAIR, 0), "steps=0; expected an integer"),
    (lambda: similarity.trajectories("a", 2), "W is not a table of numbers"),
    (lambda: similarity.connected_triples(ONES, [2]), r"cluster_counts=\[2\].*to 3"),
    (lambda: similarity.connected_triples(ONES, "a"), "cluster_counts='a'; expected"),
    (lambda: similarity.connected_triples(ONES, [1.5, 1.5]), "cluster_counts=.*exp"),
    (lambda: similarity.connected_triples(ONES, [4, -1]), r"cluster_counts=\[4, -1\]"),
    (lambda: similarity.connected_triples(ONES, [2, 1], decay=2), "decay=2; expected"),
    (lambda: similarity.connected_triples(ONES, [2, 1], weights=[1]), "weights is "),
    (lambda: similarity.simrank(None), "labels is None"),
    (lambda: similarity.simrank(RUNS, decay=np.nan), "decay=nan; expected a number"),
    (lambda: similarity.simrank(RUNS, updates=-1), "updates=-1; expected an integer"),
    (lambda: similarity.simrank(RUNS, updates=2.5), r"updates=2\.5; expected an int"),
)
def test_similarity(call, words):
    refused(call, words)


@pytest.mark.parametrize("score", [metrics.nmi, metrics.ari, metrics.ecs])
@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ([0, 1], [0], "a has 2 labels, b has 1"),
        ([0, 1], None, r"b has shape \(\); expected \(n_objects,\)"),
        (3, [0], r"a has shape \(\)"),
        (LABELS, FOUND, r"a has shape \(6, 3\)"),
        ([], [], r"a has shape \(0,\)"),
        ([[0], [0, 1]], [0, 1], r"a has shape \(2, 0\)"),
        ([0.5, 1], [0, 1], r"a\[0\] = 0\.5"),
        ([0, 1], [0, np.nan], r"b\[1\] = nan"),
        ([0, None], [0, 1], r"a\[1\] = None"),
        ([0, {}], [0, 1], r"a\[1\] = \{\}"),
        ([1j, 1], [0, 1], r"a\[0\] = 1j"),
    ],
)
def test_scores_of_two_clusterings(score, a, b, words):
    refused(lambda: score(a, b), words)


@table(
    (lambda: metrics.mean_nmi(None, FOUND), "labels is None"),
    (lambda: metrics.mean_nmi(RUNS, FOUND[:2]), r"labels has shape \(2,\); expected"),
    (lambda: metrics.mean_nmi(RUNS, HUGE), "labels holds the number 4611686018427387"),
    (lambda: metrics.mean_nmi(RUNS, FOUND, [1]), r"weights is \(1,\)"),
    (lambda: metrics.mean_nmi(RUNS, FOUND, [0, 0, 0]), "weights are all 0"),
    (lambda: agreement(RUNS, HUGE), "labels holds the number"),
    (lambda: agreement_weights(None), "labels is None"),
    (lambda: agreement_weights(LABELS, FOUND / 2), "labels has type float64"),
    (lambda: agreement_weights(LABELS, HUGE), "labels holds the number"),
    (lambda: RUNS.distinct(0), r"threshold=0; expected a number in \(0, 1\]"),
    (lambda: RUNS.distinct(1.5), "threshold=1.5; expected"),
    (lambda: RUNS.distinct(np.nan), "threshold=nan; expected"),
    (lambda: RUNS.redundant("0.9"), "threshold='0.9'; expected"),
    (lambda: RUNS.redundant(threshold=True), "threshold=True; expected"),
    (lambda: RUNS.redundant(None), "threshold=None; expected"),
    (lambda: size_weights(None), "labels is None"),
    (lambda: size_weights([[1, 2], [3]]), "rows"),
    (lambda: Certainty.of(None, FOUND), "labels is None"),
    (lambda: Certainty.of(RUNS, None), r"labels has shape \(\)"),
    (lambda: Certainty.of(RUNS, HUGE), "labels holds the number"),
    (lambda: Certainty.of(RUNS, ["a"] * 6), "labels has type <U1"),
    (lambda: Certainty.of(RUNS, FOUND, weights=[1]), r"weights is \(1,\)"),
    (lambda: Certainty.of(RUNS, FOUND, memberships="a"), r"memberships has shape \(\)"),
    (lambda: Certainty.of(RUNS, FOUND, memberships=ONES), r"shape \(3, 3\); expected"),
    (lambda: Certainty.of(RUNS, FOUND, names=["a"]), r"names=\['a'\]; expected 3"),
    (lambda: Certainty.of(RUNS, FOUND, names="abc"), "names='abc'; expected 3"),
    (lambda: Certainty.of(RUNS, FOUND, names=3), "names=3; expected 3"),
)
def test_agreement_and_certainty(call, words):
    refused(call, words)


def test_arrays_are_taken_for_ensembles():
    assert (CoAssociation(LABELS).dense() == LINKED.dense()).all()
    assert (similarity.jaccard(LABELS) == similarity.jaccard(RUNS)).all()
    assert (similarity.simrank(LABELS) == similarity.simrank(RUNS)).all()
    assert metrics.mean_nmi(LABELS, FOUND) == metrics.mean_nmi(RUNS, FOUND)
    assert repr(Certainty.of(LABELS, FOUND)) == repr(Certainty.of(RUNS, FOUND))


def test_what_is_masked_is_not_clustered():
    masked = np.ma.array(LABELS, mask=LABELS == 2)
    known = Ensemble(np.where(LABELS == 2, -1, LABELS))
    assert Ensemble(masked) == from_clusterings(list(masked.T)) == known


def test_huge_labels_of_other_integer_types_are_compared_exactly():
    known = Ensemble(np.array([[2**63 + 1], [5]], np.uint64))
    other = known.recode(np.array([[5], [2**62]]))
    assert other.labels.tolist() == [[0], [-1]]
    near = known.recode(np.array([[2**63], [2**63 + 1]], np.uint64))
    assert near.labels.tolist() == [[-1], [1]]
