"""LWMC and Communities: graphs of base clusters, and the number of them left free."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import ensclust
import reference
from ensclust import LWMC, Blocks, Communities, Ensemble, consensus, similarity
from ensclust._cuts.partition import NormalisedCut
from ensclust._methods import METHODS
from ensclust.metrics import ari
from strategies import ensembles, random_ensemble


def quietly(method, labels, **options):
    """Return a fitted model, without warnings about what came of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = method(base="precomputed", random_state=0, **options)
        return model.fit(labels)


def literal_scores(H, meta, k):
    """Return the mean over the base clusters of each meta-cluster, (N, k)."""
    return np.stack([H[:, meta == j].mean(axis=1) for j in range(k)], axis=1)


def literal_eci(labels, theta):
    """Return exp(-entropy / theta) of each base cluster, from label rows."""
    found = []
    for column in labels.T:
        for cluster in np.unique(column[column >= 0]):
            entropies = []
            for other in labels.T:
                own = other[(column == cluster) & (other >= 0)]
                if len(own):
                    p = np.unique(own, return_counts=True)[1] / len(own)
                    entropies.append(-(p * np.log2(p)).sum())
            found.append(np.exp(-np.mean(entropies) / theta))
    return np.array(found)


# --- LWMC


@given(ensembles(), st.sampled_from([0.2, 0.4, 2.0]), st.data())
def test_lwmc_is_its_definition(ens, theta, data):
    k = data.draw(st.integers(1, ens.n_objects))
    model = quietly(LWMC, ens, n_clusters=k, theta=theta)
    eci = literal_eci(ens.labels, theta)
    assert np.allclose(model.cluster_weights_, eci, atol=1e-12)
    scores = literal_scores(
        reference.membership(ens) * eci, model.meta_labels_, model.n_clusters_
    )
    own = scores[np.arange(len(scores)), model.labels_]
    assert np.allclose(own, scores.max(axis=1))
    total = scores.sum(axis=1, keepdims=True)
    assert np.allclose(model.memberships() * total, scores)


def test_lwmc_cuts_the_jaccard_graph_without_its_diagonal():
    ens = random_ensemble(200, 10, 5, seed=0, noise=0.3)
    model = quietly(LWMC, ens, n_clusters=5)
    J = reference.jaccard(ens)
    assert np.allclose(model.cluster_similarity_, J)
    seed = model._seeds()[1]
    parts = NormalisedCut(J - np.eye(len(J))).labels(5, random_state=seed)
    assert ari(parts, model.meta_labels_) == 1


def test_lwmc_trusts_clusters_that_others_keep_together():
    # Of three clusterings two agree; the third splits the second of their clusters.
    truth = np.repeat([0, 1, 2], 30)
    noisy = np.where(truth == 0, 0, 1 + np.random.default_rng(0).integers(0, 2, 90))
    model = quietly(LWMC, np.column_stack([truth, truth, noisy]), n_clusters=3)
    assert model.labels_.tolist() == truth.tolist()
    weights = np.split(model.cluster_weights_, [3, 6])
    assert weights[2][0] == weights[0][0] == 1
    assert weights[2][1:].max() < weights[0][1:].min() < 1


# --- communities


@given(ensembles(), st.sampled_from([0.5, 1.0, 3.0]), st.data())
def test_objects_vote_for_communities_of_the_jaccard_graph(ens, resolution, data):
    k = data.draw(st.none() | st.integers(1, ens.n_objects))
    model = quietly(Communities, ens, n_clusters=k, resolution=resolution)
    J = reference.jaccard(ens)
    assert np.allclose(model.cluster_similarity_, J)
    assert set(model.labels_) == set(range(model.n_clusters_))
    if k is None:
        assert model.resolution_ == resolution
    else:
        assert model.n_clusters_ <= k
    H = reference.membership(ens)
    scores = literal_scores(H, model.meta_labels_, model.n_clusters_)
    own = scores[np.arange(len(scores)), model.labels_]
    assert np.allclose(own, scores.max(axis=1))


def test_modularity_is_that_of_the_base_clusters():
    ens = random_ensemble(200, 10, 4, seed=0, noise=0.2)
    model = quietly(Communities, ens)
    W = reference.jaccard(ens) - np.eye(ens.n_base_clusters)
    total = W.sum()
    assert model.meta_labels_.min() == 0
    together = model.meta_labels_[:, None] == model.meta_labels_
    chance = np.multiply.outer(W.sum(axis=1), W.sum(axis=1)) / total
    assert np.isclose(model.modularity_, ((W - chance) * together).sum() / total)


@pytest.mark.parametrize("graph", ["jaccard", "propagated"])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_clear_clusters_are_found_without_their_number(k, graph):
    truth = np.random.default_rng(k).integers(0, k, 300)
    noise = np.random.default_rng(9)
    runs = [np.where(noise.random(300) < 0.1, noise.integers(0, k, 300), truth)
            for _ in range(10)]  # fmt: skip
    found = consensus(runs, None, "communities", similarity=graph, random_state=0)
    assert ari(found, truth) > 0.95
    assert found.max() == k - 1


def test_one_clustering_is_returned():
    truth = np.repeat([0, 1, 2], [5, 7, 4])
    found = consensus(truth[:, None], None, "communities", random_state=0)
    assert found.tolist() == truth.tolist()


def test_resolution_moves_the_number_of_clusters():
    ens = random_ensemble(300, 10, 12, seed=3, noise=0.3)
    sizes = [
        consensus(ens, None, "communities", resolution=r, random_state=0).max()
        for r in (0.2, 1.0, 3.0)
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_propagated_similarities_are_those_of_ecpcs_mc():
    ens = random_ensemble(80, 6, 3, seed=1)
    weights = np.linspace(1, 2, 6)
    own = quietly(Communities, ens, similarity="propagated", weights=weights)
    theirs = quietly(ensclust.ECPCSMC, ens, n_clusters=3, weights=weights)
    assert np.array_equal(own.cluster_similarity_, theirs.cluster_similarity_)


def test_two_disconnected_halves_stay_apart_and_merge_last():
    # Each object is in the clusterings of its own half only.
    half = random_ensemble(40, 4, 3, seed=0, noise=0.2).labels
    table = np.full((80, 8), -1)
    table[:40, :4] = table[40:, 4:] = half
    free = consensus(table, None, "communities", random_state=0)
    assert free.max() > 1
    assert not set(free[:40]) & set(free[40:])
    two = consensus(table, 2, "communities", random_state=0)
    assert two.tolist() == np.repeat([0, 1], 40).tolist()


# --- the number of clusters left free, through every door


def test_the_number_is_left_free_in_memory_in_blocks_and_in_lists():
    ens = random_ensemble(200, 8, 4, seed=2, noise=0.2, missing=0.1)
    alone = consensus(ens, None, "communities", random_state=5)
    stream = consensus(Blocks(ens.labels, rows=30), None, "communities", random_state=5)
    assert np.array_equal(np.array(stream), alone)
    frame = pd.DataFrame(ens.labels)
    several = consensus(frame, [None, 2], "communities", random_state=5)
    assert several.columns.tolist() == ["free", "k2"]
    assert several["free"].tolist() == alone.tolist()
    model = Communities(base="precomputed", random_state=5).fit(ens)
    assert np.array_equal(model.labels_, alone)
    assert model.n_clusters_ == alone.max() + 1
    assert np.array_equal(model.predict(ens.labels), alone)
    assert model.memberships().shape == (200, model.n_clusters_)


def test_features_are_clustered_without_any_number():
    X, y = make_blobs(300, centers=4, cluster_std=0.5, random_state=0)
    model = Communities(base_k=(3, 6), random_state=0).fit(X)
    assert ari(model.labels_, y) > 0.95
    assert model.ensemble_.cluster_counts.min() >= 3
    assert Communities(n_clusterings=4, random_state=0).fit(X).n_clusters_ >= 2


def test_no_warning_says_that_clusters_are_missing_where_none_were_asked_for():
    ens = random_ensemble(30, 8, 10, seed=0, noise=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        consensus(ens, None, "communities", resolution=4.0, random_state=0)


def test_auto_and_select_k_try_numbers():
    ens = random_ensemble(200, 10, 4, seed=9, noise=0.1)
    found = ensclust.select_k(ens, range(2, 8), "communities", random_state=0)
    assert found.suggested["anmi"] == 4
    auto = consensus(ens, "auto", "communities", random_state=0)
    assert auto.max() == 3


@pytest.mark.parametrize("method", [m for m in METHODS if m != "communities"])
def test_methods_that_need_a_number_say_who_does_not(method):
    model = METHODS[method](None, 4, random_state=0)
    for attempt in (
        lambda: consensus([[0], [1]], None, method),
        lambda: model.fit([[0.0], [1.0]]),
    ):
        with pytest.raises(TypeError, match=r"n_clusters=None .* can: communities\."):
            attempt()


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"resolution": 0}, "resolution"),
        ({"resolution": np.inf}, "resolution"),
        ({"n_init": 0}, "n_init"),
        ({"similarity": "cosine"}, "similarity"),
    ],
)
def test_parameters_that_cannot_be_are_refused(params, words):
    with pytest.raises(ValueError, match=words):
        consensus([[0], [1]], None, "communities", **params)
    with pytest.raises(ValueError, match="theta"):
        consensus([[0], [1]], 1, "lwmc", theta=0)


# --- filters


def test_methods_are_filtered_by_what_they_are():
    assert ensclust.methods(free_k=True) == ["communities"]
    for name in METHODS:
        info = METHODS[name].info
        assert (name in ensclust.methods(level="cluster")) == (info.level == "cluster")
        assert (name in ensclust.methods(family="tree")) == (info.family == "tree")
        assert (name in ensclust.methods(soft=True)) == info.is_soft
        assert (name in ensclust.methods(soft=False)) != info.is_soft
        has_weights = "weights" in METHODS[name]().get_params()
        assert (name in ensclust.methods(weights=True)) == has_weights
    both = ensclust.methods(level="cluster", free_k=False)
    assert {"ecpcs-mc", "mcla", "lwmc"} <= set(both)
    assert "communities" not in both


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            {"level": "cell"},
            "level='cell' is not supported. Use one of 'object', 'cluster'",
        ),
        ({"family": "trees"}, "family='trees' is not supported. Use one of 'tree', "),
        ({"level": 1}, "level=1 is not supported"),
        ({"soft": "yes"}, "soft='yes'; expected True, False or None"),
        ({"free_k": 1}, "free_k=1; expected True, False or None"),
    ],
)
def test_a_filter_that_cannot_be_is_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        ensclust.methods(**asked)


def test_similarity_of_an_ensemble_is_what_lwmc_weighs():
    ens = Ensemble([[0, 0], [0, 0], [0, 1], [1, 1]])
    model = quietly(LWMC, ens, n_clusters=2)
    assert np.array_equal(model.cluster_weights_, similarity.eci(ens))
