"""Weights of base clusterings: whole ones repeat columns, 0 leaves a column out."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import reference
from ensclust import (
    CoAssociation,
    Ensemble,
    agreement_weights,
    consensus,
    similarity,
    size_weights,
)
from ensclust._cuts import partition
from ensclust._cuts.voting import Vote
from ensclust._methods import METHODS, make
from ensclust._methods.table import PAPER
from ensclust._trees.linkage import link
from ensclust.metrics import ari
from strategies import ensembles, random_ensemble

WEIGHTED = [m for m in METHODS if "weights" in inspect.signature(METHODS[m]).parameters]
weighted_method = pytest.mark.parametrize("method", WEIGHTED)


def repeated(ens, weights):
    """Return the ensemble with every column as often as its weight says."""
    return Ensemble(np.repeat(ens.labels, weights, axis=1))


def cluster_copies(ens, weights):
    """Return the base cluster of ``ens`` behind each of the repeated ensemble."""
    blocks = np.split(np.arange(ens.n_base_clusters), ens.offsets[1:-1])
    pairs = zip(blocks, weights, strict=True)
    return np.concatenate([block for block, w in pairs for _ in range(w)])


@st.composite
def whole_weights(draw, **options):
    ens = draw(ensembles(**options))
    m = ens.n_clusterings
    return ens, np.array(draw(st.lists(st.integers(1, 3), min_size=m, max_size=m)))


def test_seven_methods_of_the_paper_take_weights():
    own = [name for name in PAPER if name in WEIGHTED]
    assert own == ["ecpcs-hc", "ecpcs-mc", "eac", "mcla", "wct", "kcc", "ecc"]


def test_methods_without_weights_say_why():
    lacking = [m for m in METHODS if "weights" in METHODS[m].info.lacks]
    assert sorted(WEIGHTED + lacking) == sorted(METHODS)


@given(whole_weights())
def test_coassociation_repeats_columns(case):
    ens, weights = case
    one = CoAssociation(ens, weights=weights)
    many = CoAssociation(repeated(ens, weights))
    assert np.allclose(one.dense(), many.dense())
    for i in range(ens.n_objects):
        assert np.allclose(one.row(i), many.row(i))


@given(whole_weights())
def test_triples_repeat_columns(case):
    ens, weights = case
    copies = cluster_copies(ens, weights)
    many = repeated(ens, weights)
    one = similarity.connected_triples(
        similarity.jaccard(ens), ens.cluster_counts, weights=weights
    )
    all_copies = similarity.connected_triples(
        similarity.jaccard(many), many.cluster_counts
    )
    within = np.repeat(np.arange(many.n_clusterings), many.cluster_counts)
    same = within[:, None] == within
    assert np.allclose(all_copies[same], one[np.ix_(copies, copies)][same])


@pytest.mark.parametrize("method", ["eac", "wct"])
@given(case=whole_weights(max_objects=9, max_clusterings=4))
@settings(max_examples=30)
def test_a_weighted_tree_is_one_of_repeated_columns(method, case):
    ens, weights = case
    model = make(method, n_clusters=1, base="precomputed", weights=weights).fit(ens)
    many = repeated(ens, weights)
    S = np.eye(many.n_base_clusters)
    if method == "wct":
        W = reference.jaccard(many)
        S = reference.connected_triples(W, many.cluster_counts, 0.8)
    reference.replay(model.dendrogram_, *reference.lift(many, S))


@pytest.mark.parametrize("linkage", ["single", "complete"])
@given(case=whole_weights(max_objects=9, missing=False))
@settings(max_examples=20)
def test_other_linkages_of_complete_labels_repeat_columns(linkage, case):
    ens, weights = case
    tree = link(CoAssociation(ens, weights=weights), linkage)
    many = repeated(ens, weights)
    pairs = reference.lift(many, np.eye(many.n_base_clusters))
    reference.replay(tree, *pairs, linkage)


@pytest.mark.parametrize("max_memory", [1, 2**31])
def test_both_engines_know_weights(max_memory):
    ens = random_ensemble(60, 9, 3, seed=1)
    weights = np.linspace(0.2, 2, 9)
    tree = link(CoAssociation(ens, weights=weights), max_memory=max_memory)
    per_cluster = np.repeat(weights, ens.cluster_counts)
    numerator, denominator = (
        reference.lift(ens, S * per_cluster)[0]
        for S in (np.eye(len(per_cluster)), np.ones((len(per_cluster),) * 2))
    )
    reference.replay(tree, numerator, denominator)


@given(whole_weights(), st.data())
def test_votes_repeat_columns(case, data):
    ens, weights = case
    n = ens.n_base_clusters
    meta = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    shares = Vote(meta, 0, weights.astype(float)).memberships(ens)
    many = meta[cluster_copies(ens, weights)]
    assert np.allclose(shares, Vote(many, 0).memberships(repeated(ens, weights)))
    winner = Vote(meta, 0, weights.astype(float)).label(ens)
    assert np.allclose(shares[np.arange(len(winner)), winner], shares.max(axis=1))


def test_a_cut_of_heavy_nodes_is_one_of_repeated_nodes():
    ens = random_ensemble(80, 5, 4, seed=2)
    weights = np.array([1, 3, 2, 1, 2])
    Z = similarity.propagate(similarity.jaccard(ens))
    copies = cluster_copies(ens, weights)
    mass = np.repeat(weights, ens.cluster_counts).astype(float)
    few = partition.NormalisedCut(Z, mass=mass)
    many = partition.NormalisedCut(Z[np.ix_(copies, copies)])
    assert np.allclose(few.embedding(4)[0], many.embedding(4)[0])
    parts = few.labels(4, random_state=0)
    again = many.labels(4, random_state=0)
    assert ari(parts[copies], again) == 1


@pytest.mark.parametrize("method", ["kcc", "ecc"])
def test_kmeans_repeats_columns(method):
    for seed in range(4):
        ens = random_ensemble(150, 7, 4, seed=seed, noise=0.4)
        weights = np.random.default_rng(seed).integers(1, 4, 7)
        common = {"base": "precomputed", "init": [0, 1, 2, 3]}
        one = make(method, n_clusters=4, weights=weights, **common).fit(ens)
        many = make(method, n_clusters=4, **common).fit(repeated(ens, weights))
        assert np.array_equal(one.labels_, many.labels_)
        assert one.inertia_ == pytest.approx(many.inertia_)


@weighted_method
def test_equal_weights_are_none(method):
    ens = random_ensemble(120, 11, 4, seed=3, noise=0.2)
    plain = consensus(ens, 4, method=method, random_state=0)
    weighted = consensus(ens, 4, method=method, random_state=0, weights=[2.0] * 11)
    assert np.array_equal(plain, weighted)


@weighted_method
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_weight_zero_leaves_a_clustering_out(method, missing):
    ens = random_ensemble(120, 9, 4, seed=4, noise=0.2, missing=missing)
    rng = np.random.default_rng(0)
    table = np.column_stack([ens.labels, rng.integers(0, 5, (120, 4))])
    weights = rng.uniform(0.5, 2, 9)
    padded = np.concatenate([weights, np.zeros(4)])
    one = consensus(table, 4, method=method, weights=padded, random_state=0)
    other = consensus(ens, 4, method=method, weights=weights, random_state=0)
    assert np.array_equal(one, other)


@weighted_method
def test_an_object_without_any_weight_gets_minus_one(method):
    table = np.repeat([[0, 0, 0], [1, 1, 1]], 5, axis=0)
    table[3, :2] = -1
    model = make(method, n_clusters=2, base="precomputed", weights=[1, 1, 0])
    with pytest.warns(UserWarning, match="1 of 10 objects are in no"):
        model.set_params(random_state=0).fit(table)
    assert model.labels_.tolist() == [0, 0, 0, -1, 0, 1, 1, 1, 1, 1]
    assert model.memberships()[3].sum() == 0


# CSPA, whose edges are means over many clusterings, needs no help here (ARI 0.93).
@pytest.mark.parametrize("method", [m for m in WEIGHTED if m != "cspa"])
@pytest.mark.filterwarnings("ignore:CVote formed")  # without weights
def test_weights_by_agreement_help_against_bad_clusterings(method):
    truth = np.repeat(np.arange(4), 50)
    rng = np.random.default_rng(0)
    bad = rng.integers(0, 6, (200, 12))
    good = np.column_stack([truth] * 6)
    moved = rng.random(good.shape) < 0.3
    good[moved] = rng.integers(0, 4, moved.sum())
    table = np.column_stack([good, bad])
    plain, weighted = (
        consensus(table, 4, method=method, random_state=0, weights=w)
        for w in (None, "agreement")
    )
    # Eigenvectors leave out by themselves what nothing else agrees with.
    if METHODS[method].info.family != "bipartite graph":
        assert ari(weighted, truth) > ari(plain, truth)
    assert ari(weighted, truth) > 0.6


@weighted_method
@pytest.mark.parametrize("word", ["agreement", "size"])
def test_words_weigh_generated_clusterings(method, word):
    derive = {"agreement": agreement_weights, "size": size_weights}[word]
    X = load_iris().data
    model = make(method, n_clusters=3, n_clusterings=6, weights=word)
    model.set_params(random_state=0).fit(X)
    assert np.array_equal(model.weights_, derive(model.ensemble_))
    assert np.array_equal(model.certainty().weights, model.weights_)
    if hasattr(model, "predict"):
        assert np.array_equal(model.predict(X), model.labels_)


def coarse_and_fine(seed=0):
    """Return six groups of 50, and clusterings of which most are too coarse."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(6), 50)
    runs = []
    for k in [2] * 9 + [6, 9, 12]:
        fine = np.where(rng.random(300) < 0.15, rng.integers(0, 6, 300), truth)
        part = fine * k // 6 if k <= 6 else fine * 2 + rng.integers(0, k // 6 + 1, 300)
        runs.append(rng.permutation(40)[part])
    return truth, np.column_stack(runs)


@pytest.mark.parametrize("method", ["ecpcs-hc", "eac", "wct", "lwea"])
def test_weights_by_size_help_where_clusterings_are_too_coarse(method):
    truth, table = coarse_and_fine()
    plain, weighted = (
        consensus(table, 6, method=method, random_state=0, weights=w)
        for w in (None, "size")
    )
    assert ari(weighted, truth) > ari(plain, truth)


@pytest.mark.parametrize("tiny", [600, 200])
@pytest.mark.parametrize("method", ["ecpcs-hc", "ecpcs-mc", "eac", "mcla", "usenc"])
def test_a_column_of_tiny_clusters_does_not_rule_the_vote(method, tiny):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 120)
    runs = [
        np.where(rng.random(600) < 0.2, rng.integers(0, 5, 600), truth)
        for _ in range(12)
    ]
    table = np.column_stack([*runs, rng.permutation(600) % tiny])
    found = consensus(table, 5, method=method, random_state=0, weights="size")
    assert ari(found, truth) > 0.95


def test_weights_by_size_serve_every_k_from_one_tree():
    _, table = coarse_and_fine()
    several = consensus(table, [2, 4, 6], method="ecpcs-hc", weights="size")
    for i, k in enumerate([2, 4, 6]):
        alone = consensus(table, k, method="ecpcs-hc", weights="size")
        assert np.array_equal(several[:, i], alone)


def test_weights_by_size_go_with_weights_of_clusters():
    ens = random_ensemble(120, 9, 4, seed=7)
    model = make("ecpcs-mc", n_clusters=4, base="precomputed", weights="size")
    model.set_params(cluster_weights="eci").fit(ens)
    own = similarity.eci(ens, weights=size_weights(ens))
    assert np.array_equal(model.cluster_weights_, own)
    assert np.array_equal(model.weights_, size_weights(ens))


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(WEIGHTED)))
def test_a_method_without_weights_names_those_with(method):
    with pytest.raises(TypeError, match=rf"{method} has no parameter 'weights'.*eac"):
        consensus([[0, 0], [1, 1]], 2, method=method, weights=[1, 2])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"weights is \(2,\) for 3 base clusterings. Pass 3 numbers"),
        ([1, -1, 2], r"weights\[1\] = -1"),
        ([1, np.nan, 2], r"weights\[1\] = nan"),
        ([0, 0, 0], "weights are all 0"),
        ([[1, 1, 1]], r"weights is \(1, 3\)"),
        (["a", "b", "c"], r"weights is \['a', 'b', 'c'\]"),
        ("trust", "weights"),
        ("Size", "'size'"),
    ],
)
def test_weights_that_cannot_be_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        consensus([[0, 0, 1], [1, 1, 1], [1, 0, 1]], 2, weights=weights)


def test_what_weights_cannot_do_is_said():
    ens = Ensemble([[0, 0], [0, -1], [1, 1]])
    with pytest.raises(ValueError, match=r'Use linkage="average"'):
        consensus(ens, 2, method="eac", linkage="single", weights=[1, 2])
    with pytest.raises(ValueError, match="no meaning with pairs"):
        CoAssociation(ens, pairs="all", weights=[1, 2])


def test_weights_survive_in_lists_of_k_and_do_not_change():
    ens = random_ensemble(60, 6, 3, seed=5)
    weights = np.arange(1.0, 7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        several = consensus(ens, [2, 3], weights=weights, random_state=0)
    assert weights.tolist() == [1, 2, 3, 4, 5, 6]
    alone = consensus(ens, 3, weights=list(weights), random_state=0)
    assert np.array_equal(several[:, 1], alone)


@pytest.mark.parametrize("word", ["agreement", "size"])
def test_the_command_line_takes_words_for_weights(tmp_path, word):
    from click.testing import CliRunner

    from ensclust.cli import main

    ens = random_ensemble(60, 6, 3, seed=6, noise=0.1)
    path = tmp_path / "runs.csv"
    np.savetxt(path, ens.labels, fmt="%d", delimiter=",")
    options = ["-k", "3", "-p", f"weights={word}", "--seed", "0", "-q"]
    result = CliRunner().invoke(main, ["consensus", str(path), "--no-header", *options])
    assert result.exit_code == 0, result.output
    expected = consensus(ens, 3, weights=word, random_state=0)
    found = [int(line.split(",")[-1]) for line in result.stdout.split()[1:]]
    assert found == expected.tolist()
