"""Certainty, memberships and agreement against N x N definitions."""

import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

import reference
from ensclust import Certainty, CoAssociation, Ensemble, agreement_weights, consensus
from ensclust._ensemble.agreement import agreement, contingency
from ensclust._methods import METHODS, make
from ensclust._methods.families import Sharing
from ensclust.metrics import ecs, nmi
from strategies import ensembles, label_tables, random_ensemble

every_method = pytest.mark.parametrize("method", METHODS)


def memberships(coassociation, labels):
    """Return the memberships of the objects that a co-association is of."""
    ensemble = coassociation.ensemble
    affinity = coassociation.affinity
    return affinity.memberships(contingency(ensemble, labels), ensemble)


@st.composite
def clustered(draw, *, weighted=True):
    """Draw an ensemble, any labels of its objects (-1 too), and weights or None."""
    ens = Ensemble(draw(label_tables()))
    n, m = ens.n_objects, ens.n_clusterings
    raw = np.array(draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n)))
    numbered = np.full(n, -1)
    numbered[raw >= 0] = np.unique(raw[raw >= 0], return_inverse=True)[1]
    weights = None
    if weighted and draw(st.booleans()):
        drawn = draw(st.lists(st.floats(0, 5, width=16), min_size=m, max_size=m))
        weights = np.array(drawn) if any(drawn) else None
    return ens, numbered, weights


def weighted_pairs(ens, weights, S=None):
    """Numerators and denominators of all pairs of objects, N x N."""
    weights = np.ones(ens.n_clusterings) if weights is None else weights
    per_cluster = np.repeat(weights, ens.cluster_counts)
    S = np.eye(ens.n_base_clusters) if S is None else S
    numerator, _ = reference.lift(ens, S * per_cluster)
    denominator, _ = reference.lift(ens, np.ones(S.shape) * per_cluster)
    return numerator, denominator


def pooled(numerator, denominator, rows, columns):
    block = np.ix_(rows, columns)
    total = denominator[block].sum()
    return numerator[block].sum() / total if total > 1e-12 else 0.0


@given(clustered())
def test_item_consensus_is_the_mean_with_the_others_of_the_cluster(case):
    ens, labels, weights = case
    pairs = weighted_pairs(ens, weights)
    sure = Certainty.of(ens, labels, weights=weights)
    for i, label in enumerate(labels):
        is_other = np.arange(len(labels)) != i
        clusters = [np.flatnonzero((labels == c) & is_other) for c in range(4)]
        means = [pooled(*pairs, [i], members) for members in clusters]
        if label < 0 or (labels == label).sum() == 1:
            assert np.isnan(sure.item_consensus[i])
        else:
            assert sure.item_consensus[i] == pytest.approx(means[label])
        most = max(mean for c, mean in enumerate(means) if c != label)
        assert sure.next_consensus[i] == pytest.approx(most, abs=1e-12)
        best = sure.next_cluster[i]
        assert best != label or best == -1
        if best >= 0:
            assert means[best] == pytest.approx(most)


@given(clustered())
def test_cluster_consensus_is_the_mean_of_the_pairs_within(case):
    ens, labels, weights = case
    numerator, denominator = weighted_pairs(ens, weights)
    np.fill_diagonal(numerator, 0)
    np.fill_diagonal(denominator, 0)
    sure = Certainty.of(ens, labels, weights=weights)
    for c, found in enumerate(sure.cluster_consensus):
        members = np.flatnonzero(labels == c)
        assert sure.sizes[c] == len(members)
        if len(members) == 1:
            assert np.isnan(found)
        else:
            expected = pooled(numerator, denominator, members, members)
            assert found == pytest.approx(expected, abs=1e-12)


@given(clustered())
def test_agreement_is_measured_on_the_objects_that_both_contain(case):
    ens, labels, _ = case
    found = agreement(ens, labels)
    for m, column in enumerate(ens.labels.T):
        both = (column >= 0) & (labels >= 0)
        if not both.any():
            assert np.isnan(found.nmi[m])
            assert np.isnan(found.ari[m])
            assert np.isnan(found.ecs[m])
            continue
        assert found.nmi[m] == pytest.approx(nmi(column[both], labels[both]), abs=1e-9)
        ari = adjusted_rand_score(column[both], labels[both])
        assert found.ari[m] == pytest.approx(ari, abs=1e-9)
        assert found.ecs[m] == pytest.approx(ecs(column[both], labels[both]), abs=1e-9)


@given(clustered(weighted=False))
def test_contingency_counts_shared_objects(case):
    ens, labels, _ = case
    H = reference.membership(ens)
    G = (labels[:, None] == np.arange(labels.max() + 1)).astype(float)
    assert np.array_equal(contingency(ens, labels), G.T @ H)


@given(clustered(), st.sampled_from(["plain", "lifted", "all"]))
def test_memberships_are_mean_similarities_scaled_to_one(case, kind):
    ens, labels, weights = case
    W = reference.jaccard(ens)
    if kind == "all":
        known = CoAssociation(ens, W, pairs="all", decay=0.8)
        H = reference.membership(ens)
        numerator = 0.8 * H @ W @ H.T
        denominator = np.multiply.outer(H.sum(axis=1), H.sum(axis=1))
    else:
        S = None if kind == "plain" else W
        known = CoAssociation(ens, S, weights=weights)
        numerator, denominator = weighted_pairs(ens, weights, S)
    shares = memberships(known, labels)
    for i, row in enumerate(shares):
        clusters = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
        means = np.array([pooled(numerator, denominator, [i], c) for c in clusters])
        expected = means / means.sum() if means.sum() > 0 else means
        assert row == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:ECPCSHC put .* objects into one cluster")
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, 8)])
@pytest.mark.parametrize(("method", "cluster_weights"), [
    ("srs", None), ("eac", None), ("wct", None), ("ecpcs-hc", None), ("lwea", None),
    ("eac", "eci"), ("wct", "eci"), ("ecpcs-hc", "eci"),
])  # fmt: skip
def test_memberships_are_means_of_the_dense_coassociation(
    method, cluster_weights, weights
):
    ens = random_ensemble(60, 8, 4, seed=2, noise=0.3)
    params = {} if cluster_weights is None else {"cluster_weights": cluster_weights}
    if weights is not None:
        if method in ("srs", "lwea"):
            return
        params["weights"] = weights
    model = make(method, n_clusters=4, base="precomputed", **params).fit(ens)
    A = model._coassociation(ens, weights).dense()
    means = np.array([A[:, model.labels_ == c].mean(axis=1) for c in range(4)]).T
    expected = means / means.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.memberships(), expected, atol=1e-12)
    again = model.memberships(ens.labels)
    np.testing.assert_array_equal(again, model.memberships())


@every_method
def test_memberships_sum_to_one_and_follow_the_numbering(method):
    ens = random_ensemble(90, 12, 3, seed=1, noise=0.1, missing=0.1)
    model = make(method, n_clusters=3, base="precomputed", random_state=0).fit(ens)
    shares = model.memberships()
    assert shares.shape == (90, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == model.labels_).mean() > 0.9
    assert np.array_equal(model.memberships(ens.labels[20:40]), shares[20:40])


@every_method
def test_a_model_says_how_sure_it_is(method):
    X = load_iris().data
    model = make(method, n_clusters=3, n_clusterings=8, random_state=0).fit(X)
    sure = model.certainty()
    assert np.array_equal(sure.labels, model.labels_)
    assert (sure.vote_share is not None) == isinstance(model, Sharing)
    assert np.array_equal(model.memberships(X), model.memberships())
    if sure.vote_share is not None:
        own = model.memberships()[np.arange(150), model.labels_]
        assert np.array_equal(sure.vote_share, own)


@every_method
def test_an_object_in_no_clustering_belongs_nowhere(method):
    table = np.repeat([[0, 0, 0], [1, 1, 1]], 5, axis=0)
    table[3] = -1
    model = make(method, n_clusters=2, base="precomputed", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(table)
    shares, sure = model.memberships(), model.certainty()
    assert shares[3].tolist() == [0, 0]
    assert np.allclose(np.delete(shares, 3, axis=0).sum(axis=1), 1)
    assert np.isnan(sure.item_consensus[3])
    assert sure.next_cluster[3] == -1


@every_method
def test_nothing_is_sure_where_nothing_is_clustered(method):
    model = make(method, n_clusters=1, base="precomputed", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(np.full((4, 2), -1))
    assert model.memberships().shape == (4, 0)
    assert "4 objects in 0 clusters" in repr(model.certainty())


def test_equal_rows_in_different_clusters_are_told_apart():
    ens = Ensemble([[0, 0], [0, 0], [1, 1], [1, 0]])
    sure = Certainty.of(ens, [0, 1, 1, 0])
    assert sure.item_consensus.tolist() == [0.5, 0, 0, 0.5]
    assert sure.next_cluster.tolist() == [1, 0, 0, 1]


def test_blocks_do_not_change_the_result(monkeypatch):
    ens = random_ensemble(200, 7, 4, seed=3, missing=0.1)
    labels = consensus(ens, 4, method="eac")
    whole = Certainty.of(ens, labels)
    shares = memberships(CoAssociation(ens), labels)
    monkeypatch.setattr("ensclust._trees.known_rows._CELLS", 30)
    parts = Certainty.of(ens, labels)
    assert np.array_equal(whole.margin, parts.margin)
    assert np.array_equal(whole.next_cluster, parts.next_cluster)
    assert np.array_equal(memberships(CoAssociation(ens), labels), shares)


def test_a_bad_input_stands_out():
    ens = random_ensemble(300, 9, 4, seed=4, noise=0.1)
    rng = np.random.default_rng(0)
    table = np.column_stack([ens.labels, rng.integers(0, 4, 300)])
    model = make("ecpcs-mc", n_clusters=4, base="precomputed", random_state=0)
    sure = model.fit(table).certainty()
    assert sure.agreement.nmi[9] < 0.1
    assert sure.agreement.nmi[:9].min() > 0.5
    assert "clustering 9" in repr(sure)


@pytest.mark.parametrize(
    ("k", "end"),
    [(8, "(3)"), (9, "(lowest first, 1 more)"), (11, "(lowest first, 3 more)")],
)
def test_the_list_of_clusters_says_where_it_is_cut(k, end):
    labels = np.repeat(np.arange(k), 3)
    sure = Certainty.of(Ensemble(np.column_stack([labels, labels // 2])), labels)
    assert all(len(line) <= 80 for line in repr(sure).splitlines())
    shown = repr(sure).partition("cluster consensus")[2].partition("\n  agreement")[0]
    assert shown.endswith(end)
    assert shown.count(": ") == 8


def test_an_object_between_clusters_stands_out():
    table = np.repeat([[0] * 6, [1] * 6], 8, axis=0)
    table[7, :3] = 1
    sure = Certainty.of(Ensemble(table), consensus(table, 2, method="eac"))
    assert sure.margin.argmin() == 7
    assert sure.objects().sort_values("margin").index[0] == 7


def test_tables_for_people_and_for_json():
    ens = random_ensemble(60, 5, 3, seed=5)
    weights = [1, 2, 0, 1, 1]
    model = make("ecpcs-mc", n_clusters=3, base="precomputed", weights=weights)
    sure = model.set_params(random_state=0).fit(ens).certainty()
    columns = ["label", "item_consensus", "next_cluster", "next_consensus"]
    assert list(sure.objects()) == [*columns, "margin", "vote_share"]
    assert sure.clusters()["size"].sum() == 60
    assert sure.clusterings()["weight"].tolist() == weights
    facts = json.loads(json.dumps(sure.to_dict(), allow_nan=False))
    assert facts["clusters"]["size"] == sure.sizes.tolist()
    assert facts["objects"]["item_consensus"] == sure.item_consensus.tolist()
    assert facts["clusterings"]["name"] == list("01234")


def test_json_has_no_nan():
    alone = Certainty.of(Ensemble([[0], [0], [1], [-1]]), [0, 0, 1, -1])
    facts = json.loads(json.dumps(alone.to_dict(), allow_nan=False))
    assert facts["objects"]["item_consensus"] == [1.0, 1.0, None, None]
    assert "vote_share" not in facts["objects"]
    assert np.isnan(alone.clusters()["mean_margin"][1])


@given(ensembles())
def test_weights_of_equal_clusterings_are_equal(ens):
    twice = Ensemble(np.column_stack([ens.labels, ens.labels[:, :1]]))
    weights = agreement_weights(twice)
    assert weights[0] == pytest.approx(weights[-1])
    assert weights.mean() == pytest.approx(1)
    assert weights.min() >= 0


def test_agreement_weights_are_squared_mean_nmi_with_the_others():
    ens = random_ensemble(80, 4, 3, seed=6, missing=0.2)
    columns = ens.labels.T

    def shared(a, b):
        both = (a >= 0) & (b >= 0)
        return nmi(a[both], b[both])

    crowd = np.array(
        [
            np.mean([shared(columns[m], columns[q]) for q in range(4) if q != m])
            for m in range(4)
        ]
    )
    assert agreement_weights(ens) == pytest.approx(crowd**2 / (crowd**2).mean())
    labels = consensus(ens, 3, random_state=0)
    own = agreement(ens, labels).nmi
    expected = own**2 / (own**2).mean()
    assert agreement_weights(ens, labels) == pytest.approx(expected)


def test_weights_where_nothing_agrees_are_all_one():
    assert agreement_weights(Ensemble([[0], [1]])).tolist() == [1]
    apart = Ensemble([[0, -1], [1, -1], [-1, 0], [-1, 1]])
    assert agreement_weights(apart).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        ([0, 1], ValueError, r"shape \(2,\); expected \(3,\)"),
        ([[0], [1], [1]], ValueError, r"shape \(3, 1\)"),
        ([0.5, 1, 1], TypeError, "type float64"),
        (["a", "b", "b"], TypeError, "one integer per object"),
    ],
)
def test_labels_that_are_no_clustering_are_refused(labels, error, message):
    with pytest.raises(error, match=message):
        Certainty.of(Ensemble([[0], [1], [1]]), labels)
