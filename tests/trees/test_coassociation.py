import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from ensclust import CoAssociation, Ensemble, similarity
from ensclust._trees import routes
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


@given(ensembles(max_objects=20), st.sampled_from([0.01, 0.25, 0.5, 1.0]))
def test_sparse_keeps_what_reaches_the_threshold(ens, threshold):
    weights = 1 + np.arange(ens.n_clusterings)
    for operator in (
        CoAssociation(ens),
        CoAssociation(ens, weights=weights),
        CoAssociation(ens, similarity.simrank(ens), pairs="all", decay=0.8),
    ):
        dense = operator.dense()
        expected = np.where(dense >= threshold, dense, 0)
        assert np.array_equal(operator.sparse(threshold).toarray(), expected)


def test_sparse_needs_no_more_than_the_budget():
    operator = CoAssociation(np.arange(2000)[:, None] // 100)
    assert operator.sparse().nnz == 20 * 100**2
    with pytest.raises(MemoryError, match=r"similarities of at least 0\.5 needs over"):
        operator.sparse(max_memory=10**6)


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


def leaf_similarities(operator):
    """Integer similarities of the leaves by their definition, and their weights."""
    entries = operator.contributions()[0].astype(np.int64)
    ens = operator.ensemble
    member = np.zeros((len(operator.codes), ens.n_base_clusters), np.int64)
    for m, column in enumerate(operator.codes.T):
        member[np.arange(len(column)), ens.offsets[m] + column] = 1
    if operator.pairs == "same":
        blocks = np.repeat(np.arange(ens.n_clusterings), ens.cluster_counts)
        entries = np.where(np.equal.outer(blocks, blocks), entries, 0)
    return member @ entries @ member.T


def operators(ens):
    yield CoAssociation(ens)
    yield CoAssociation(ens, enhanced(ens))
    yield CoAssociation(ens, enhanced(ens), pairs="all", decay=0.8)


@given(ensembles(missing=False), st.integers(1, 5))
def test_the_closest_leaf_is_the_lowest_of_the_most_similar(ens, n_jobs):
    for operator in operators(ens):
        expected = leaf_similarities(operator)
        if len(expected) < 2:
            return
        np.fill_diagonal(expected, -1)
        entries = operator.contributions()[0]
        near, best = routes.closest(operator, entries, n_jobs=n_jobs)
        assert np.array_equal(best, expected.max(axis=1))
        assert np.array_equal(near, expected.argmax(axis=1))


def test_the_closest_of_many_leaves_do_not_depend_on_the_number_of_threads():
    ens = Ensemble(np.random.default_rng(1).integers(0, 4, (700, 7)))
    operator = CoAssociation(ens)
    expected = leaf_similarities(operator)
    np.fill_diagonal(expected, -1)
    for n_jobs in (1, 2, 5):
        entries = operator.contributions()[0]
        near, best = routes.closest(operator, entries, n_jobs=n_jobs)
        assert np.array_equal(best, expected.max(axis=1))
        assert np.array_equal(near, expected.argmax(axis=1))


def pairs_of(n, seed):
    """Regions of one leaf or two, at random."""
    rng = np.random.default_rng(seed)
    left = rng.permutation(n)
    lowest = np.arange(n)
    for a, b in left[: n // 3 * 2].reshape(-1, 2):
        lowest[max(a, b)] = min(a, b)
    return np.unique(lowest, return_inverse=True)[1]


@given(ensembles(missing=False), st.integers(0, 9))
def test_regions_have_the_mean_least_or_largest_similarity_of_their_leaves(ens, seed):
    for operator in operators(ens):
        leaves, weight = leaf_similarities(operator), operator.leaves.counts
        regions = pairs_of(len(leaves), seed)
        pick = np.eye(regions.max() + 1)[regions].T
        mean = (pick * weight) / (pick @ weight)[:, None]
        least, largest = (
            np.array([[f(leaves[np.ix_(a > 0, b > 0)]) for b in pick] for a in pick])
            for f in (np.min, np.max)
        )
        apart = ~np.eye(len(pick), dtype=bool)
        for kind, expected, slack in (
            (0, mean @ leaves @ mean.T, 2),
            (1, largest, 0),
            (2, least, 0),
        ):
            found = operator.fixed_point(regions, kind)[0].astype(np.float64)
            assert np.abs(found - expected)[apart].max(initial=0) <= slack
    sums = (pick * weight) @ leaf_similarities(CoAssociation(ens)) @ (pick * weight).T
    found = CoAssociation(ens).pair_sums(np.int64, regions)
    assert np.array_equal(found[apart], sums[apart])


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
