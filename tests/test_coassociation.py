import numpy as np
import pytest
from hypothesis import given

import reference
from ensclust import CoAssociation, Ensemble, similarity
from strategies import ensembles


def enhanced(ens):
    return similarity.propagate(similarity.jaccard(ens))


@given(ensembles())
def test_plain_coassociation_is_the_share_of_clusterings_that_agree(ens):
    expected = reference.ratio(*reference.lift(ens, np.eye(ens.n_base_clusters)))
    assert np.allclose(CoAssociation(ens).dense(), expected, atol=1e-15)


@given(ensembles())
def test_enhanced_coassociation_is_the_mean_of_z_where_both_are_present(ens):
    Z = enhanced(ens)
    expected = reference.ratio(*reference.lift(ens, Z))
    assert np.allclose(CoAssociation(ens, Z).dense(), expected, atol=1e-14)


@given(ensembles())
def test_rows_are_the_rows_of_the_dense_matrix(ens):
    for operator in (CoAssociation(ens), CoAssociation(ens, enhanced(ens))):
        dense = operator.dense()
        for i in range(ens.n_objects):
            assert np.allclose(operator.row(i), dense[i], atol=1e-14)


@given(ensembles())
def test_fixed_point_is_within_1e_8_of_the_similarity(ens):
    operator = CoAssociation(ens, enhanced(ens))
    square, unit = operator.fixed_point()
    expected = reference.ratio(*reference.lift(ens, operator.similarity))
    inverse = ens.fragments().inverse
    assert np.allclose(square[np.ix_(inverse, inverse)] * unit, expected, atol=1e-8)


@given(ensembles(missing=False))
def test_pair_sums_count_agreements_of_all_pairs_of_objects(ens):
    numerator, _ = reference.lift(ens, np.eye(ens.n_base_clusters))
    fragments = ens.fragments()
    pick = np.eye(len(fragments.counts))[fragments.inverse]
    expected = pick.T @ numerator @ pick
    assert np.array_equal(CoAssociation(ens).pair_sums(np.uint32), expected)


def test_a_dense_matrix_over_the_budget_is_refused_with_both_figures():
    ens = Ensemble(np.arange(2000).reshape(1000, 2))
    with pytest.raises(MemoryError, match=r"1,000 objects needs 0.00745 GiB.*budget"):
        CoAssociation(ens).dense(max_memory=2**20)


def test_a_similarity_of_the_wrong_size_is_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 3\); the ensemble has 2"):
        CoAssociation(Ensemble([[0], [1]]), np.eye(3))


def test_an_object_that_does_not_exist_is_named():
    with pytest.raises(IndexError, match="object 2 does not exist"):
        CoAssociation(Ensemble([[0], [1]])).row(2)


def test_many_rows_in_several_blocks_and_threads_give_the_same_matrix():
    ens = Ensemble(np.random.default_rng(0).integers(0, 5, (1500, 6)))
    operator = CoAssociation(ens, enhanced(ens))
    one, two = operator.fixed_point(n_jobs=1)[0], operator.fixed_point(n_jobs=5)[0]
    assert np.array_equal(one, two)
    assert np.array_equal(one, one.T)


def test_expand_puts_the_objects_of_a_fragment_on_their_own():
    operator = CoAssociation(Ensemble([[0, 0], [1, 1], [0, 0], [1, 1]]))
    split = operator.expand(np.array([True, False]))
    assert split.leaves.counts.tolist() == [1, 1, 2]
    assert np.array_equal(split.dense(), operator.dense())
