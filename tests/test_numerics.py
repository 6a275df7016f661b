"""Ensembles made to break arithmetic: bounds, definitions, exact cuts, no warnings.

Random small ensembles against the same definitions: test_similarity, test_linkage,
test_coassociation, test_ptgp, test_onehot_kmeans, test_voting.
"""

import warnings

import numpy as np
import pytest

import reference
from ensclust import CoAssociation, Ensemble, consensus, select_k, similarity
from ensclust._methods import METHODS, make
from ensclust._methods.base import any_cut_is_fine
from ensclust._methods.families import Agglomeration
from ensclust._trees.linkage import link
from ensclust.similarity import _measures
from strategies import random_ensemble

every_method = pytest.mark.parametrize("method", METHODS)
GROUPS = np.repeat([0, 1, 2], [9, 7, 4])


def giant_and_singletons(n, size, n_clusterings):
    """Return clusterings of one cluster of ``size`` objects, all others alone."""
    table = np.tile(np.arange(n)[:, None], n_clusterings)
    for m, column in enumerate(table.T):
        column[(np.arange(size) + 7 * m) % n] = n
    return table


def partial_clusterings(n, length, step):
    """Return clusterings that know ``length`` objects each, in pairs."""
    starts = range(0, n, step)
    table = np.full((n, len(starts)), -1)
    for start, column in zip(starts, table.T, strict=True):
        known = column[start : start + length]
        known[:] = np.arange(len(known)) // 2
    return table


def one_against_thousands():
    """Return clusters of 1 and of thousands of objects."""
    edges = ([2000, 2001, 2002], [1999], [1000])
    columns = [np.searchsorted(cut, np.arange(2003), side="right") for cut in edges]
    return np.column_stack(columns)


TABLES = {
    "all clusterings equal": np.column_stack([GROUPS] * 30),
    "every object alone": np.column_stack([np.arange(20)] * 5),
    "alone, together and between": np.column_stack(
        [np.arange(20)] * 3 + [np.zeros(20, int)] * 2 + [np.arange(20) // 4]
    ),
    "one cluster": np.zeros((20, 5), int),
    "a giant and singletons": giant_and_singletons(40, 30, 6),
    "a giant and singletons once": giant_and_singletons(30, 25, 1),
    "two graphs": np.column_stack([np.arange(24) // d for d in (12, 6, 4, 3, 2)]),
    "more graphs than clusters": np.column_stack([np.repeat(np.arange(12), 3)] * 4),
    "clusterings without common objects": partial_clusterings(24, 4, 4),
    "clusterings in a chain": partial_clusterings(24, 7, 4),
    "clusters of 1 and of thousands": one_against_thousands(),
    "two objects": np.array([[0, 0, 1], [1, 0, 1]]),
    "two objects apart": np.array([[0], [1]]),
    "two objects together": np.array([[0], [0]]),
    "two objects never seen together": np.array([[0, -1], [-1, 0]]),
    "one object": np.array([[5, 7]]),
}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
small_tables = pytest.mark.parametrize(
    "table",
    [table for table in TABLES.values() if len(table) <= 40],
    ids=[name for name, table in TABLES.items() if len(table) <= 40],
)


@pytest.mark.slow
@every_table
@pytest.mark.parametrize("steps", [1, 20, 1000])
def test_trajectories_keep_their_bounds_and_definition(table, steps):
    W = similarity.jaccard(Ensemble(table))
    Z = similarity.propagate(W, steps)
    assert np.isfinite(Z).all()
    assert Z.min() >= 0
    assert Z.max() <= 1
    assert (Z.diagonal() == 1).all()
    assert np.linalg.eigvalsh(Z).min() > -1e-9
    assert np.allclose(Z, reference.propagate(W, steps), atol=1e-9)


@every_table
def test_triples_keep_their_bounds_and_definition(table):
    ens = Ensemble(table)
    W = similarity.jaccard(ens)
    assert np.allclose(W, reference.jaccard(ens), atol=1e-15)
    T = similarity.connected_triples(W, ens.cluster_counts)
    assert T.min() >= 0
    assert T.max() == 1
    expected = reference.connected_triples(W, ens.cluster_counts, 0.8)
    assert np.allclose(T, expected, atol=1e-12)


@pytest.mark.slow
@small_tables
def test_simrank_keeps_its_bounds_and_definition(table):
    ens = Ensemble(table)
    C = similarity.simrank(ens)
    assert C.min() >= 0
    assert C.max() <= 1 + 1e-12
    lifted = CoAssociation(ens, C, pairs="all", decay=0.8).dense()
    assert np.allclose(lifted, reference.simrank_objects(ens, 0.8, 4), atol=1e-12)


@small_tables
@pytest.mark.parametrize("max_memory", [2**31, 1], ids=["square", "label space"])
def test_every_merge_joins_a_nearest_pair(table, max_memory):
    ens = Ensemble(table)
    W = similarity.jaccard(ens)
    triples = similarity.connected_triples(W, ens.cluster_counts)
    for S in (np.eye(len(W)), similarity.propagate(W), triples):
        tree = link(CoAssociation(ens, S), max_memory=max_memory)
        reference.replay(tree, *reference.lift(ens, S))


def check_labels(method, table, k):
    """Check the labels of one method, and what can be asked of the model."""
    n, n_rows = len(table), len(np.unique(table, axis=0))
    model = make(method, n_clusters=k, base="precomputed", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = model.fit(table).labels_
    n_found = len(np.unique(labels))
    assert labels.tolist() == np.unique(labels, return_inverse=True)[1].tolist()
    assert n_found <= min(k, n_rows)
    if isinstance(model, Agglomeration):
        assert n_found == min(k, n_rows)
    told = [str(warning.message) for warning in caught]
    told = [text for text in told if "from_clusterings" not in text]  # M > N
    assert all(f"formed {n_found} of n_clusters={k}" in message for message in told)
    assert len(told) == (n_found < k)
    assert np.array_equal(model.predict(table), labels)
    shares = model.memberships()
    assert shares.min() >= 0
    assert np.allclose(shares.sum(axis=1), np.ones(n))
    sure = model.certainty()
    is_alone = np.bincount(labels)[labels] == 1  # nobody to be sure of together
    assert np.array_equal(np.isnan(sure.item_consensus), is_alone)


@pytest.mark.slow
@every_method
@every_table
def test_labels_are_exact_and_nothing_leaks(method, table):
    for k in sorted({1, min(2, len(table)), min(5, len(table))}):
        check_labels(method, table, k)


@pytest.mark.slow
@every_method
def test_a_thousand_clusterings_give_labels(method):
    # Most have one cluster: there are 1,060 base clusters, not thousands.
    table = np.zeros((30, 1000), int)
    table[:, ::17] = np.random.default_rng(0).integers(0, 2, (30, 59))
    check_labels(method, table, 3)


@pytest.mark.parametrize("method", ["ecpcs-hc", "ecpcs-mc"])
def test_single_precision_of_many_base_clusters_gives_the_same(method, monkeypatch):
    ens = random_ensemble(200, 20, 6, 0)
    expected = consensus(ens, 6, method, random_state=0)
    monkeypatch.setattr(_measures, "_MANY", 50)
    W = similarity.jaccard(ens)
    Z = similarity.propagate(W, exact=False)
    assert 0 < np.abs(Z - reference.propagate(W, 20)).max() < 1e-5
    labels = consensus(ens, 6, method, random_state=0)
    assert np.array_equal(labels, expected)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["eac", "kcc", "ecc", "sec", "ptgp", "kmodes", "em"])
def test_thousands_of_equal_clusterings_are_returned(method):
    table = np.column_stack([GROUPS] * 2000)
    labels = consensus(table, 3, method, random_state=0)
    assert labels.tolist() == GROUPS.tolist()


@pytest.mark.filterwarnings("ignore:no number of clusters")
@pytest.mark.filterwarnings("ignore:the base clusterings agree no more than by chance")
@every_table
def test_a_number_of_clusters_is_found(table):
    with any_cut_is_fine():
        found = select_k(table, random_state=0)
    assert 1 <= found.best_k <= len(table)
