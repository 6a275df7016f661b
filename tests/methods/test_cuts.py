"""Cuts of objects and base clusters: against their definition, and in every engine."""

import warnings
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import linalg
from test_sample_weight import same_as_repeated

import reference
from bad_input import refused, table
from ensclust import (
    ECPCSBG,
    GPMGLA,
    LCEBG,
    LWGP,
    USENC,
    BipartiteCut,
    Blocks,
    Ensemble,
    _kernels,
    agreement_weights,
    consensus,
    similarity,
)
from ensclust._cuts import bipartite, kmeans
from ensclust._ensemble.agreement import crowd_agreement
from ensclust._methods.gp_mgla import links_between
from ensclust.metrics import ari
from golden_digest import difference
from strategies import ensembles, random_ensemble

CUTS = {
    "usenc": USENC,
    "lwgp": LWGP,
    "lce-bg": LCEBG,
    "ecpcs-bg": ECPCSBG,
    "gp-mgla": GPMGLA,
}
SETS = ("tiny", "wine_z", "digits_raw")
every_cut = pytest.mark.parametrize("method", CUTS)
every_set = pytest.mark.parametrize("name", SETS)
few = pytest.fixture(lambda monkeypatch: monkeypatch.setattr(bipartite, "SAMPLE", 60))


def filled(H, ensemble):
    """H with the mean of all others where an object is left out of a clustering."""
    H = H.copy()
    for first, last in pairwise(ensemble.offsets):
        own = H[:, first:last]
        there = own.sum(axis=1) > 0
        if there.any():
            own[~there] = own[there].mean(axis=0)
    return H


def edges(method, ensemble, weights=None):
    """B by definition: a row for each object, then perhaps further ones."""
    H = reference.membership(ensemble)
    if method in ("lce-bg", "ecpcs-bg"):
        H = filled(H, ensemble)
    J = reference.jaccard(ensemble)
    counts = ensemble.cluster_counts
    own = np.ones(ensemble.n_clusterings) if weights is None else weights
    mass = np.repeat(own / own.mean(), counts)
    clustering = np.repeat(np.arange(len(counts)), counts)
    if method == "usenc":
        return H * mass
    if method == "lwgp":
        return H * similarity.eci(ensemble, weights=weights) * mass
    if method == "lce-bg" and weights is None:
        return H @ reference.connected_triples(J, counts, 0.8)
    if method == "lce-bg":
        return H @ similarity.connected_triples(J, counts, weights=weights) * mass
    if method == "ecpcs-bg":
        Z = reference.propagate(J * np.outer(mass, mass), 20)
        return H @ np.where(clustering[:, None] == clustering, Z, 0) * mass
    w = crowd_agreement(ensemble) ** 2 if weights is None else own / own.max()
    w = np.repeat(w, counts)
    return np.vstack([0.5 * H * w, crowd_links(J, w)])


def crowd_links(J, w):
    T = np.array([[(w * np.minimum(a, b)).sum() for b in J] for a in J])
    T /= T.max()
    np.fill_diagonal(T, 1)
    return T


def transfer_cut(B, n_objects, k):
    """Return all eigenvalues, descending, and the points of the objects."""
    dx = B.sum(axis=1)
    W = B.T @ (B / dx[:, None])
    root = 1 / np.sqrt(W.sum(axis=1))
    eigenvalues, vectors = linalg.eigh(W * np.outer(root, root))
    points = (B / dx[:, None]) @ (root[:, None] * vectors[:, ::-1][:, :k])
    points /= np.linalg.norm(points, axis=1, keepdims=True) + 1e-10
    return eigenvalues[::-1], points[:n_objects]


def solved(method, ensemble, weights=None, **params):
    return CUTS[method](**params)._solve(ensemble, weights=weights, seed=0)


def inertia(points, labels):
    groups = (points[labels == c] for c in np.unique(labels))
    return sum(((own - own.mean(axis=0)) ** 2).sum() for own in groups)


@every_cut
@settings(max_examples=40)
@given(ensembles(), st.integers(1, 12), st.booleans())
def test_points_and_eigenvalues_are_those_of_the_definition(
    method, ens, k, is_weighted
):
    weights = None
    if is_weighted:
        weights = np.random.default_rng(0).uniform(0.5, 2, ens.n_clusterings)
    graph = solved(method, ens, weights)
    B = edges(method, ens, weights)
    eigenvalues, points = transfer_cut(B, ens.n_objects, k)
    found, embedding = graph.embedding(k)
    assert len(found) == min(k, ens.n_base_clusters)
    assert np.abs(found - eigenvalues[:k]).max() < 1e-9
    beyond = eigenvalues[k] if k < len(eigenvalues) else -1
    assume(eigenvalues[: k + 1].min() > 1e-6)
    assume(eigenvalues[:k][-1] - beyond > 1e-4)  # else the space is not unique
    own = embedding.points(ens)
    assert np.abs(own @ own.T - points @ points.T).max() < 1e-6


@every_cut
@settings(max_examples=30)
@given(ensembles(max_objects=20), st.integers(1, 9), st.integers(0, 2**31))
def test_labels_are_a_fixed_point_of_kmeans(method, ens, k, seed):
    k = min(k, ens.n_objects)
    model = CUTS[method](k, base="precomputed", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labels = model.fit(ens).labels_
    points = model.assignment_.embedding.points(ens)
    centres = np.array(
        [points[labels == c].mean(axis=0) for c in range(max(labels) + 1)]
    )
    distance = ((points[:, None] - centres) ** 2).sum(axis=2)
    own = distance[np.arange(len(labels)), labels]
    assert (own <= distance.min(axis=1) + 1e-9).all()
    shares = model.memberships()
    assert np.abs(shares.sum(axis=1) - 1).max() < 1e-9
    assert (shares[np.arange(len(labels)), labels] >= shares.max(axis=1) - 1e-6).all()


@every_cut
@pytest.mark.usefixtures("few")
def test_a_sample_gives_the_same_labels_for_any_blocks_threads_and_engine(method):
    labels = random_ensemble(500, 7, 5, 3, missing=0.1).labels.copy()
    labels[[3, 90, 91]] = -1
    fit = partial(consensus, n_clusters=[3, 5], method=method, random_state=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        expected = fit(labels)
        assert np.array_equal(fit(labels, n_jobs=3), expected)
        for rows in (11, 70, 499):
            assert np.array_equal(fit(Blocks(labels, rows=rows)), expected)
        alone = consensus(labels, 5, method, random_state=2)
    assert np.array_equal(alone, expected[:, 1])
    assert (expected[[3, 90, 91]] == -1).all()


@every_cut
@pytest.mark.usefixtures("few")
def test_a_sample_is_enough_to_find_clear_clusters(method):
    ens = random_ensemble(2000, 12, 4, 0, noise=0.1)
    found = consensus(ens, 4, method, random_state=0)
    assert ari(found, random_ensemble(2000, 1, 4, 0, noise=0).labels[:, 0]) > 0.99


@every_cut
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_objects_that_count_as_many_are_drawn_as_if_they_were_repeated(method, missing):
    labels = random_ensemble(50, 7, 4, seed=1, missing=missing).labels
    times = np.random.default_rng(1).integers(0, 9, 50)
    same_as_repeated(CUTS[method](3, base="precomputed", random_state=1), labels, times)


@every_cut
def test_who_is_left_out_does_not_decide_the_cut(method):
    truth = random_ensemble(300, 1, 4, 5, noise=0).labels[:, 0]
    ens = random_ensemble(300, 12, 4, 5, noise=0.4, missing=0.3)
    assert ari(consensus(ens, 4, method, random_state=0), truth) > 0.6


def test_passes_over_all_objects_come_closer_than_the_sample(monkeypatch):
    ens = random_ensemble(3000, 8, 6, 1, noise=0.6)
    points = solved("usenc", ens).embedding(6)[1].points(ens)
    monkeypatch.setattr(bipartite, "SAMPLE", 100)
    many = inertia(points, consensus(ens, 6, "usenc", random_state=0))
    monkeypatch.setattr(bipartite, "_PASSES", 0)
    none = inertia(points, consensus(ens, 6, "usenc", random_state=0))
    assert many < none


def test_a_weight_is_as_many_equal_clusterings():
    ens = random_ensemble(120, 5, 4, 0, noise=0.4)
    times = [1, 3, 1, 2, 1]
    repeated = Ensemble(np.repeat(ens.labels, times, axis=1))
    weighted = solved("usenc", ens, np.array(times, float)).embedding(4)
    one, other = weighted, solved("usenc", repeated).embedding(4)
    assert np.abs(one[0] - other[0]).max() < 1e-9
    points, same = one[1].points(ens), other[1].points(repeated)
    assert np.abs(points @ points.T - same @ same.T).max() < 1e-6


def test_rows_of_which_only_some_are_reached_are_at_0():
    """Four parts and two eigenvectors: k-means still gets unit rows or zeros."""
    ens = Ensemble(np.repeat(np.arange(4), 5)[:, None] + np.zeros((1, 3), int))
    graph = solved("usenc", ens)
    eigenvalues, embedding = graph.embedding(2)
    assert np.abs(eigenvalues - 1).max() < 1e-12
    length = np.linalg.norm(embedding.points(ens), axis=1)
    assert (np.minimum(length, abs(length - 1)) < 1e-6).all()
    assert len(set(consensus(ens, 2, "usenc", random_state=0))) == 2
    assert len(set(consensus(ens, 4, "usenc", random_state=0))) == 4


def test_clusters_that_nearly_count_for_nothing_are_survived():
    ens = random_ensemble(200, 8, 4, 2, noise=0.5)
    for theta in (1e-4, 1e-2, 100.0):
        found = consensus(ens, 4, "lwgp", theta=theta, random_state=0)
        assert found.max() == 3
    weights = np.full(8, 1e-12)
    weights[0] = 1
    found = consensus(ens, 4, "usenc", weights=weights, random_state=0)
    assert ari(found, ens.labels[:, 0]) == 1


def test_a_new_row_that_falls_between_is_shared_out():
    truth = np.repeat([0, 1], 20)
    model = USENC(2, base="precomputed", random_state=0).fit(np.tile(truth, (4, 1)).T)
    shares = model.memberships([[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1], [9, 9, 9, 9]])
    assert shares[0].tolist() == pytest.approx([1, 0], abs=1e-9)
    assert 0.5 < shares[1, 0] < 1
    assert shares[2].tolist() == pytest.approx([0.5, 0.5])
    assert shares[3].tolist() == [0, 0]
    assert model.predict([[0, 1, 9, 9], [9, 9, 9, 9]])[1] == -1


def test_ecpcs_bg_cannot_tell_clusters_apart_whose_walks_are_equal():
    rows = np.column_stack([np.arange(12), np.arange(12) // 2, np.arange(12) // 3])
    with pytest.warns(UserWarning, match="ECPCSBG formed 8 of n_clusters=12"):
        labels = consensus(rows, 12, "ecpcs-bg", random_state=0)
    assert labels[0] == labels[1]


@settings(max_examples=30)
@given(ensembles(max_objects=20), st.floats(0.1, 1))
def test_the_normaliser_of_triples_may_be_the_largest_of_all(ens, decay):
    J = reference.jaccard(ens) * (1 - np.eye(ens.n_base_clusters))
    T = np.array([[np.minimum(a, b).sum() for b in J] for a in J])
    np.fill_diagonal(T, 0)
    clustering = np.repeat(np.arange(ens.n_clusterings), ens.cluster_counts)
    own = decay * T / (T.max() or 1) * (clustering[:, None] == clustering)
    np.fill_diagonal(own, 1)
    found = LCEBG(decay=decay, normalizer="all")._edges(ens, None)
    assert np.abs(found - own).max() < 1e-12
    ones = np.ones(ens.n_clusterings)
    weighted = LCEBG(decay=decay, normalizer="all")._edges(ens, 3 * ones)
    assert np.abs(weighted - own).max() < 1e-12


@settings(max_examples=30)
@given(ensembles(max_objects=20), st.integers(1, 3))
def test_kernels_sum_what_they_say(ens, n_jobs):
    rng = np.random.default_rng(ens.n_objects)
    weight = rng.integers(0, 2**50, ens.n_objects)
    start = ens.offsets + np.arange(ens.n_clusterings + 1)
    label = np.where(ens.labels < 0, ens.cluster_counts, ens.labels) + start[:-1]
    H = np.zeros((ens.n_objects, start[-1]), np.int64)
    np.put_along_axis(H, label, 1, axis=1)
    overlap = np.zeros((start[-1], start[-1]), np.int64)
    left, right = np.triu_indices(ens.n_clusterings)
    _kernels.counting.add_weights(ens.columns, start, left, right, weight, overlap)
    assert np.array_equal(overlap, H.T @ (weight[:, None] * H))
    total = rng.random(start[-1])
    degree = np.empty(ens.n_objects)
    _kernels.embedding.sum_up(ens.columns, start, total, degree, 0, ens.n_objects)
    assert np.allclose(degree, H @ total, rtol=1e-14)
    J, total = reference.jaccard(ens), rng.random(ens.n_base_clusters)
    sums = similarity._measures.shared_neighbors(J, total, n_jobs=n_jobs)
    expected = [[(total * np.minimum(a, b)).sum() for b in J] for a in J]
    assert np.allclose(sums, expected, rtol=1e-12)
    assert np.array_equal(sums, similarity._measures.shared_neighbors(J, total))


def test_points_are_added_in_fixed_point():
    rng = np.random.default_rng(0)
    points, centre = rng.normal(size=(50, 3)), rng.integers(0, 4, 50).astype(np.uint8)
    times = rng.integers(0, 5, 50)
    sums, counts = np.zeros((4, 3), np.int64), np.zeros(4, np.int64)
    _kernels.embedding.add_points(points, centre, times, 2.0**20, sums, counts)
    for c in range(4):
        own = centre == c
        exact = np.rint(points[own] * 2.0**20).astype(np.int64) * times[own, None]
        assert np.array_equal(sums[c], exact.sum(axis=0))
        assert counts[c] == times[own].sum()


def test_farthest_points_come_first_of_equals_the_first():
    points = np.array([[0.0], [1.0], [4.0], [4.0], [2.0]])
    assert bipartite.farthest_first(points, 1, 4).tolist() == [1, 2, 0, 4]
    assert bipartite.farthest_first(points[:2], 0, 3).tolist() == [0, 1, 0]


@every_set
def test_usenc_has_the_authors_eigenvalues_and_labels(golden, name):
    z = golden(f"usenc_{name}")
    ens = Ensemble(z["labels"])
    graph = solved("usenc", ens)
    known = z["eigenvalues"]
    assert np.abs(graph.embedding(len(known))[0] - known).max() < 1e-10
    for a, k in enumerate(z["ks"].tolist()):
        found = consensus(ens, k, "usenc", random_state=0)
        scores = [ari(found, own) for own in z["usenc_labels"][:, a].T]
        assert max(scores) >= 0.93
        points = graph.embedding(k)[1].points(ens)
        assert inertia(points, found) <= z["kmeans_inertia"][a].max() * (1 + 1e-9)


@every_set
def test_lwgp_has_labels_of_the_authors(golden, name):
    z = golden(f"lwea_{name}")
    for a, k in enumerate(z["ks"].tolist()):
        found = consensus(z["labels"], k, "lwgp", random_state=0)
        assert max(ari(found, own) for own in z["lwgp_labels"][:, a].T) >= 0.90


@every_set
def test_gp_mgla_has_the_authors_links_eigenvalues_and_labels(golden, name):
    z = golden(f"weac_gpmgla_{name}")
    ens = Ensemble(z["labels"])
    mass = np.repeat(crowd_agreement(ens) ** 2, ens.cluster_counts)
    rounded = 1e-7 if name == "digits_raw" else 1e-12
    assert difference(links_between(ens, mass), z, "T") < rounded
    graph = solved("gp-mgla", ens)
    known = z["gpmgla_eigenvalues"]
    assert np.abs(graph.embedding(len(known))[0] - known).max() < 1e-10
    for a, k in enumerate(z["ks"].tolist()):
        stored = z["gpmgla_labels_start"][:, a].T
        points = graph.embedding(k)[1].points(ens)
        if (name_of_points := f"gpmgla_embedding_k{k}") in z:
            theirs = z[name_of_points]
            assert np.abs(points @ points.T - theirs @ theirs.T).max() < 1e-9
        rows = kmeans.Rows.of(points)
        starts = [
            bipartite.farthest_first(points, s, k)
            for s in z["gpmgla_start_objects"].tolist()
        ]
        centres, _ = kmeans.converge(rows, [k] * 10, [0] * 10, init=starts, tol=0)
        for own, labels in zip(centres, stored, strict=True):
            assert ari(bipartite.nearest(points, own), labels) == 1.0
        found = consensus(ens, k, "gp-mgla", random_state=0)
        assert max(ari(found, own) for own in stored) >= 0.95


def test_a_method_of_ones_own_supplies_its_edges():
    class Small(BipartiteCut):
        """Small base clusters have weightier edges."""

        def _edges(self, counts, weights):
            return counts.sizes**-0.5

    ens = random_ensemble(150, 6, 3, 0, noise=0.1)
    found = consensus(ens, 3, Small, random_state=0)
    assert ari(found, random_ensemble(150, 1, 3, 0, noise=0).labels[:, 0]) > 0.8


def giving(value):
    class Own(BipartiteCut):
        def _edges(self, counts, weights):
            return value(counts.n_base_clusters) if callable(value) else value

    return lambda: consensus(random_ensemble(20, 3, 2, 0), 2, Own)


def fitting(cls, **params):
    labels = random_ensemble(20, 3, 2, 0).labels
    return lambda: cls(2, base="precomputed", **params).fit(labels)


@table(
    (giving(np.ones(3)), r"edges have shape \(3,\); these label rows have \d+ base"),
    (giving(lambda n: np.ones((n, 2))), r"edges have shape \(\d+, 2\)"),
    (giving(lambda n: -np.ones(n)), "edges contain a negative or infinite number"),
    (giving(lambda n: np.full(n, np.nan)), "edges contain a negative or infinite"),
    (giving(np.zeros), "no edge has a weight above 0"),
    (fitting(LWGP, theta=0), "The 'theta' parameter of LWGP"),
    (fitting(LCEBG, decay=2), "The 'decay' parameter of LCEBG"),
    (fitting(LCEBG, normalizer="most"), "The 'normalizer' parameter of LCEBG"),
    (fitting(ECPCSBG, steps=0), "The 'steps' parameter of ECPCSBG"),
    (fitting(GPMGLA, alpha=0), "The 'alpha' parameter of GPMGLA"),
    (fitting(GPMGLA, beta=-1), "The 'beta' parameter of GPMGLA"),
)
def test_other_edges_and_parameters_are_refused(call, words):
    refused(call, words)


def test_weights_take_the_place_of_the_crowd_agreement():
    ens = random_ensemble(100, 6, 3, 4)
    weights = agreement_weights(ens)
    one, other = (
        solved("gp-mgla", ens, weights, beta=beta).embedding(3)[0] for beta in (0, 2)
    )
    assert np.array_equal(one, other)
