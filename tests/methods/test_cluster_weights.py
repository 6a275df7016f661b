"""Weights of single base clusters, as a parameter of five methods."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings

import reference
from bad_input import refused
from ensclust import (
    EAC,
    ECPCSHC,
    ECPCSMC,
    LWEA,
    MCLA,
    WCT,
    Blocks,
    CoAssociation,
    Ensemble,
    consensus,
    similarity,
)
from ensclust._cuts import partition
from ensclust._methods import METHODS, make
from ensclust.metrics import ari
from strategies import ensembles, random_ensemble

METHODS_WITH = ["ecpcs-hc", "ecpcs-mc", "eac", "mcla", "wct"]
every_method = pytest.mark.parametrize("method", METHODS_WITH)
LABELS = [[0, 0], [0, 1], [1, 1], [1, 1]]


def fit(method, labels, k=2, **options):
    """Return a fitted model, without warnings about what came out."""
    model = method(k, base="precomputed", random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(labels)


def some_weights(ensemble, seed=0):
    return np.random.default_rng(seed).uniform(0.1, 1, ensemble.n_base_clusters)


def test_five_methods_take_them():
    having = [
        name
        for name, method in METHODS.items()
        if "cluster_weights" in inspect.signature(method).parameters
    ]
    assert having == METHODS_WITH


@pytest.mark.parametrize("max_memory", [1, 2**31])
@given(ensemble=ensembles())
@settings(max_examples=40)
def test_eac_with_eci_is_lwea(max_memory, ensemble):
    one = fit(EAC, ensemble, 1, cluster_weights="eci", max_memory=max_memory)
    other = fit(LWEA, ensemble, 1, max_memory=max_memory)
    assert np.array_equal(one.dendrogram_.merges, other.dendrogram_.merges)
    assert np.array_equal(one.dendrogram_.heights, other.dendrogram_.heights)
    assert np.array_equal(one.cluster_weights_, other.cluster_weights_)


@every_method
@pytest.mark.parametrize("value", [1.0, 0.25])
def test_equal_weights_are_none(method, value):
    ens = random_ensemble(120, 11, 4, seed=3, noise=0.2)
    equal = np.full(ens.n_base_clusters, value)
    plain = consensus(ens, 4, method, random_state=0)
    weighted = consensus(ens, 4, method, random_state=0, cluster_weights=equal)
    assert np.array_equal(plain, weighted)


@every_method
def test_fitted_models_tell_what_they_used(method):
    ens = random_ensemble(60, 6, 3, seed=1)
    weights = np.arange(1.0, 7.0)
    assert fit(METHODS[method], ens).cluster_weights_ is None
    found = fit(METHODS[method], ens, cluster_weights="eci", weights=weights)
    expected = similarity.eci(ens, weights=weights)
    assert np.array_equal(found.cluster_weights_, expected)


@given(ensembles())
def test_a_coassociation_scales_by_the_roots_of_both(ensemble):
    S = reference.propagate(reference.jaccard(ensemble), 3)
    for matrix in (None, S):
        own = some_weights(ensemble)
        operator = CoAssociation(ensemble, matrix, cluster_weights=own)
        full = np.eye(len(own)) if matrix is None else matrix
        scaled = full * np.sqrt(np.multiply.outer(own, own))
        expected = reference.ratio(*reference.lift(ensemble, scaled))
        diagonal = expected.diagonal().copy()
        np.fill_diagonal(expected, 1)
        dense = operator.dense()
        assert np.allclose(dense, expected)
        for i in range(ensemble.n_objects):
            assert np.allclose(operator.row(i), dense[i])
        found = operator.sparse(0.2).toarray()
        assert np.allclose(found, np.where(dense >= 0.2, dense, 0))
        assert np.allclose(operator.within()[ensemble.fragments().inverse], diagonal)


@given(ensembles())
@settings(max_examples=40)
def test_trees_link_the_scaled_similarity(ensemble):
    own = some_weights(ensemble)
    root = np.sqrt(np.multiply.outer(own, own))
    W = reference.jaccard(ensemble) * (1 - np.eye(len(own)))
    Z = reference.propagate(W * np.multiply.outer(own, own), 20)
    clustering = np.repeat(np.arange(ensemble.n_clusterings), ensemble.cluster_counts)
    T = np.zeros_like(W)
    for a, b in zip(*np.nonzero(clustering[:, None] == clustering), strict=True):
        if a != b:
            T[a, b] = (own * np.minimum(W[a], W[b])).sum()
    T = T / T.max() * 0.8 if T.max() > 0 else T
    np.fill_diagonal(T, 1)
    for method, S in ((ECPCSHC, Z), (WCT, T)):
        tree = fit(method, ensemble, 1, cluster_weights=own).dendrogram_
        reference.replay(tree, *reference.lift(ensemble, S * root))


def test_walks_cut_and_vote_of_ecpcs_mc_count_them(monkeypatch):
    masses = []
    original = partition.NormalisedCut.__init__

    def init(self, W, *, mass=None, exact):
        masses.append(mass)
        original(self, W, mass=mass, exact=exact)

    monkeypatch.setattr(partition.NormalisedCut, "__init__", init)
    ens = random_ensemble(80, 6, 4, seed=2, noise=0.4)
    own, weights = some_weights(ens), np.arange(1.0, 7.0)
    model = fit(ECPCSMC, ens, 4, cluster_weights=own, weights=weights)
    mass = np.repeat(weights / weights.mean(), ens.cluster_counts) * own / own.mean()
    assert np.allclose(masses[0], mass)
    W = reference.jaccard(ens) * np.multiply.outer(mass, mass)
    assert np.allclose(model.cluster_similarity_, reference.propagate(W, 20))
    assert_votes(model, ens, own, np.repeat(weights, ens.cluster_counts))


def test_graph_and_vote_of_mcla_count_them(monkeypatch):
    graphs = []
    original = partition.metis

    def metis(W, sizes, k, *, seeds):
        graphs.append((W, sizes))
        return original(W, sizes, k, seeds=seeds)

    monkeypatch.setattr(partition, "metis", metis)
    ens = random_ensemble(80, 6, 4, seed=2, noise=0.4)
    own = some_weights(ens)
    model = fit(MCLA, ens, 4, cluster_weights=own)
    mass = own / own.mean()
    W, sizes = graphs[0]
    assert np.allclose(W, reference.jaccard(ens) * np.multiply.outer(mass, mass))
    assert np.allclose(sizes, ens.sizes * mass)
    assert_votes(model, ens, own, np.ones(len(own)))


def assert_votes(model, ens, own, weights):
    """Assert that labels are those of the weighted means of memberships."""
    H, meta = reference.membership(ens), model.meta_labels_
    scores = np.column_stack(
        [
            (H * own * weights)[:, meta == j].sum(axis=1) / weights[meta == j].sum()
            for j in range(model.n_clusters_)
        ]
    )
    shares = scores / scores.sum(axis=1, keepdims=True)
    assert np.allclose(model.memberships(), shares)
    assert np.array_equal(model.labels_, shares.argmax(axis=1))
    assert np.array_equal(model.predict(ens.labels), model.labels_)


# In ECPCS-HC objects whose clusters are mostly chance are far from all others.
@pytest.mark.parametrize("method", ["ecpcs-mc", "eac", "mcla", "wct"])
def test_eci_does_not_mind_clusters_that_are_chance(method):
    # Half of the objects are clustered well and half at random, in each clustering.
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(4), 50)
    columns = []
    for _ in range(15):
        bad = rng.permutation(4)[:2]
        column = truth.copy()
        lost = np.isin(truth, bad)
        column[lost] = rng.integers(4, 9, lost.sum())
        columns.append(column)
    labels = np.column_stack(columns)
    plain, weighted = (
        consensus(labels, 4, method, random_state=0, cluster_weights=own)
        for own in (None, "eci")
    )
    assert ari(weighted, truth) >= ari(plain, truth)
    assert ari(weighted, truth) > 0.9


@every_method
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_stream_has_the_same_labels(method, missing):
    labels = random_ensemble(300, 9, 4, 1, missing=missing, noise=0.1).labels
    own = {"cluster_weights": "eci", "random_state": 0}
    stream = Blocks(lambda: np.array_split(labels, 5))
    found = consensus(stream, 4, method, **own)
    assert np.array_equal(found, consensus(labels, 4, method, **own))


@every_method
def test_an_object_counts_as_often_as_its_weight(method):
    labels = random_ensemble(80, 7, 3, 4, noise=0.1).labels
    times = np.arange(80) % 3 + 1
    options = {"base": "precomputed", "random_state": 0, "cluster_weights": "eci"}
    one = make(method, n_clusters=3, **options).fit(labels, sample_weight=times)
    many = make(method, n_clusters=3, **options).fit(np.repeat(labels, times, axis=0))
    assert np.array_equal(np.repeat(one.labels_, times), many.labels_)


@pytest.mark.parametrize(
    ("given_weights", "message"),
    [
        ("x", "'cluster_weights' .*Got 'x'"),
        ([1, 1], r"cluster_weights is \(2,\) for 4 base clusters .*Pass 4 numbers"),
        ([[1, 1, 1, 1]], r"cluster_weights is \(1, 4\)"),
        ([1, 0, 1, 1], r"cluster_weights\[1\] = 0\. Pass 4 numbers"),
        ([1, 1, 2, 1], r"cluster_weights\[2\] = 2\. Pass .* in \(0, 1\]"),
        ([1, 1, np.nan, 1], r"cluster_weights\[2\] = nan"),
        (["a", "b", "c", "d"], r"cluster_weights is \['a', 'b', 'c', 'd'\]"),
    ],
)
@every_method
def test_weights_that_cannot_be_are_refused(method, given_weights, message):
    refused(
        lambda: consensus(LABELS, 2, method, cluster_weights=given_weights), message
    )


def test_what_they_cannot_do_is_said():
    ens = Ensemble(LABELS)
    refused(
        lambda: CoAssociation(ens, pairs="all", cluster_weights=[1, 1, 1, 1]),
        "cluster_weights have no meaning with pairs",
    )
    refused(
        lambda: consensus(ens, 2, weights=[1, 0], cluster_weights=[1, 1, 1, 1]),
        r"for 2 base clusters \(those of clusterings of weight 0 are left out\)",
    )
    refused(lambda: consensus(ens, 2, "srs", cluster_weights="eci"), "Methods with")


def test_the_command_line_takes_them(tmp_path):
    from click.testing import CliRunner

    from ensclust.cli import main

    ens = random_ensemble(60, 6, 3, seed=6, noise=0.1)
    path = tmp_path / "runs.csv"
    np.savetxt(path, ens.labels, fmt="%d", delimiter=",")
    options = ["-k", "3", "-p", "cluster_weights=eci", "--seed", "0", "-q"]
    result = CliRunner().invoke(main, ["consensus", str(path), "--no-header", *options])
    assert result.exit_code == 0, result.output
    expected = consensus(ens, 3, cluster_weights="eci", random_state=0)
    found = [int(line.split(",")[-1]) for line in result.stdout.split()[1:]]
    assert found == expected.tolist()
