from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from ensclust import CoAssociation, Ensemble, similarity
from ensclust.similarity import _measures
from strategies import ensembles, random_ensemble


@given(ensembles())
def test_jaccard_is_intersection_over_union(ens):
    assert np.allclose(similarity.jaccard(ens), reference.jaccard(ens), atol=1e-15)


@given(ensembles(), st.sampled_from([1, 2, 3, 7, 8, 20, 33, 257]))
def test_propagate_is_the_cosine_of_literal_trajectories(ens, steps):
    W = reference.jaccard(ens)
    expected = reference.propagate(W, steps)
    assert np.allclose(similarity.propagate(W, steps), expected, atol=1e-9)


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 7, 8, 9, 19, 20, 27, 64, 300])
def test_closed_form_and_doubling_are_the_literal_sum(steps):
    W = reference.jaccard(random_ensemble(300, 10, 6, seed=steps))
    np.fill_diagonal(W, 0)
    expected = reference.gram(W, steps)
    root = np.sqrt(W.sum(axis=1))
    A = W / root[:, None] / root
    doubled = _measures._gram_by_doubling(A, root, steps)
    closed = _measures._gram_in_closed_form(steps, _measures._spectrum(A, root))
    assert np.allclose(doubled, expected, atol=1e-12)
    assert np.allclose(closed, expected, atol=1e-12)


@pytest.mark.parametrize("steps", [20, 64])
def test_what_is_propagated_is_left_as_it_was(steps):
    W = similarity.jaccard(random_ensemble(60, 4, 5, seed=0))
    before = W.copy()
    W.flags.writeable = False
    similarity.propagate(W, steps)
    assert np.array_equal(W, before)


@given(ensembles(), st.sampled_from([1, 2, 3, 7, 8, 20, 32]))
def test_large_graphs_are_right_to_1e_5_in_single_precision(ens, steps):
    W = reference.jaccard(ens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_measures, "_MANY", 0)
        Z = similarity.propagate(W, steps, exact=False)
    assert Z.dtype == np.float64
    assert np.allclose(Z, Z.T, rtol=0, atol=1e-12)
    assert np.allclose(Z, reference.propagate(W, steps), atol=1e-5)


@pytest.mark.parametrize("steps", [20, 64])
def test_degrees_of_very_different_size_keep_their_digits(steps):
    rng = np.random.default_rng(515)  # eigenvectors would lose five digits
    W = np.triu(10.0 ** -rng.integers(0, 16, (5, 5)) * rng.random((5, 5)), 1)
    W += W.T
    expected = reference.propagate(W, steps)
    assert np.allclose(similarity.propagate(W, steps), expected, rtol=0, atol=1e-14)


def path(weakest):
    return np.array([[0, weakest, 0], [weakest, 0, 1.0], [0, 1.0, 0]])


@pytest.mark.parametrize(
    ("weakest", "many", "exact", "dtype"),
    [
        (1, 3, False, np.float32),
        (1, 3, True, np.float64),
        (1, 4, False, np.float64),
        (1e-9, 3, False, np.float64),
    ],
)
def test_large_even_graphs_take_single_precision_unless_exact(
    weakest, many, exact, dtype, monkeypatch
):
    doubling = mock.Mock(side_effect=_measures._gram_by_doubling)
    monkeypatch.setattr(_measures, "_gram_by_doubling", doubling)
    monkeypatch.setattr(_measures, "_MANY", many)
    similarity.propagate(path(weakest), 3, exact=exact)
    assert [array.dtype for array in doubling.call_args.args[:2]] == [dtype] * 2


@pytest.mark.parametrize(
    ("weakest", "steps", "way"),
    [
        (1, [32], "_gram_by_doubling"),
        (1, [33], "_gram_in_closed_form"),
        (1, [2, 3], "_gram_in_closed_form"),
        (1e-9, [33], "_gram_by_doubling"),
        (1e-9, [2, 3], "_gram_by_doubling"),
    ],
)
def test_products_serve_few_steps_and_uneven_graphs(weakest, steps, way, monkeypatch):
    W = path(weakest)
    ways = {
        name: mock.Mock(side_effect=getattr(_measures, name))
        for name in ("_gram_by_doubling", "_gram_in_closed_form")
    }
    for name, made in ways.items():
        monkeypatch.setattr(_measures, name, made)
    assert len(list(similarity.propagations(W, steps))) == len(steps)
    assert [name for name, made in ways.items() if made.called] == [way]


def test_trajectories_have_twenty_steps_unless_told_otherwise():
    W = similarity.jaccard(random_ensemble(40, 5, 4, seed=0))
    assert (similarity.propagate(W) == similarity.propagate(W, 20)).all()


def test_without_clusters_there_is_nothing_to_propagate():
    for steps in (20, 64):
        assert similarity.propagate(np.zeros((0, 0)), steps).shape == (0, 0)


def test_cosines_stay_in_0_1_whatever_was_rounded():
    gram = np.array([[1, 1 + 1e-9, -1e-9], [1 + 1e-9, 1, 0], [-1e-9, 0, 1]])
    expected = [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    assert np.array_equal(_measures._cosine(gram), expected)


@given(ensembles())
def test_z_is_in_0_1_symmetric_and_positive_semidefinite(ens):
    Z = similarity.propagate(similarity.jaccard(ens))
    assert Z.min() >= 0
    assert Z.max() <= 1
    assert (Z.diagonal() == 1).all()
    assert np.allclose(Z, Z.T, atol=1e-12)
    assert np.linalg.eigvalsh(Z).min() > -1e-9


def test_one_clustering_gives_the_identity():
    W = similarity.jaccard(Ensemble([[0], [1], [1]]))
    assert np.array_equal(similarity.propagate(W), np.eye(2))


def test_an_isolated_cluster_is_similar_to_itself_only():
    ens = Ensemble([[0, 0], [0, 0], [1, 1], [2, -1]])
    Z = similarity.propagate(similarity.jaccard(ens))
    assert Z[2].tolist() == [0, 0, 1, 0, 0]


@given(ensembles(), st.integers(1, 4))
def test_trajectories_are_the_powers_of_the_transition_matrix(ens, steps):
    W = similarity.jaccard(ens)
    walks = similarity.trajectories(W, steps)
    assert walks.shape == (len(W), steps * len(W))
    assert np.allclose(walks @ walks.T, reference.gram(W, steps), atol=1e-12)


@given(ensembles())
def test_connected_triples_sum_the_smaller_weights(ens):
    W = similarity.jaccard(ens)
    counts = ens.cluster_counts
    expected = reference.connected_triples(W, counts, 0.8)
    assert np.allclose(similarity.connected_triples(W, counts), expected, atol=1e-12)


def test_without_any_triple_the_similarity_is_the_identity():
    W = similarity.jaccard(Ensemble([[0], [1]]))
    assert np.array_equal(similarity.connected_triples(W, [2]), np.eye(2))
    assert similarity.connected_triples(np.zeros((0, 0)), [0]).shape == (0, 0)


@given(ensembles(), st.integers(1, 6))
def test_simrank_without_the_object_matrix_is_the_literal_recursion(ens, n_updates):
    C = similarity.simrank(ens, updates=n_updates - 1)
    lifted = CoAssociation(ens, C, pairs="all", decay=0.8).dense()
    expected = reference.simrank_objects(ens, 0.8, n_updates)
    assert np.allclose(lifted, expected, atol=1e-12)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.zeros((2, 3)), r"shape \(2, 3\)"),
        ([[0, np.nan], [np.nan, 0]], "NaN"),
        ([[0, -1], [-1, 0]], "negative"),
        ([[0, 1], [0.5, 0]], "not symmetric"),
    ],
)
def test_a_matrix_that_is_no_similarity_is_refused(W, message):
    with pytest.raises(ValueError, match=message):
        similarity.propagate(W)


@pytest.mark.parametrize("steps", [0, -1, 2.5, "a", True])
def test_steps_must_be_a_positive_integer(steps):
    with pytest.raises(ValueError, match=f"steps={steps!r}"):
        similarity.propagate(np.eye(2), steps)


def test_simrank_is_updated_three_times_unless_told_otherwise():
    ens = random_ensemble(40, 5, 4, seed=0)
    assert (similarity.simrank(ens) == similarity.simrank(ens, updates=3)).all()
    with pytest.raises(ValueError, match=r"^updates="):
        similarity.simrank(ens, updates=-1)


@given(ensembles())
def test_an_ensemble_stands_for_its_jaccard_coefficients(ens):
    W = similarity.jaccard(ens)
    for function in (similarity.propagate, similarity.trajectories):
        assert np.array_equal(function(ens, 3), function(W, 3))
