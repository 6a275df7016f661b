from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from ensclust import EAC, ECPCSHC, CoAssociation, Ensemble, consensus, similarity
from ensclust._trees import coarsening as module
from ensclust._trees import linkage
from ensclust._trees.coarsening import Coarsening
from ensclust._trees.linkage import link
from ensclust.metrics import ari
from strategies import ensembles, random_ensemble


def enhanced(ens, weights=None):
    Z = similarity.propagate(similarity.jaccard(ens))
    return CoAssociation(ens, Z, weights=weights)


def simrank(ens):
    return CoAssociation(ens, similarity.simrank(ens), pairs="all", decay=0.8)


def narrow(window):
    return mock.patch.object(module, "WINDOW", window)


def coarsen(operator, max_regions, window):
    with narrow(window):
        return Coarsening(operator, max_regions)


def pooled(operator):
    """Return numerators and denominators of a mean, by definition, leaf by leaf."""
    S = operator._similarity()
    numerator, denominator = reference.lift(operator.ensemble, S)
    if operator.weights is not None:
        present = operator.ensemble.labels >= 0
        denominator = (present * operator.weights) @ present.T.astype(float)
    if operator.pairs == "all":
        n_labels = (operator.ensemble.labels >= 0).sum(axis=1)
        denominator = np.multiply.outer(n_labels, n_labels).astype(float)
        numerator = operator.dense() * denominator
    return numerator, denominator


def replay_by_candidates(coarse, operator, near, tolerance=1e-6):
    """Check that each merge joins a pair of which both know none that is nearer.

    ``near[x]`` are the leaves that leaf x was compared with; a region knows those that
    its leaves know. Returns the leaves of each region.
    """
    numerator, denominator = pooled(operator)
    inverse = operator.leaves.inverse
    groups = {x: [x] for x in range(len(near))}

    def mean(a, b):
        rows = np.flatnonzero(np.isin(inverse, groups[a]))
        columns = np.flatnonzero(np.isin(inverse, groups[b]))
        block = np.ix_(rows, columns)
        total = denominator[block].sum()
        return numerator[block].sum() / total if total > 0 else 0.0

    for (a, b), own in zip(coarse.merged, coarse.similarity, strict=True):
        region = {x: root for root, members in groups.items() for x in members}
        assert mean(a, b) == pytest.approx(own, abs=tolerance)
        for x in (a, b):
            known = {region[y] for member in groups[x] for y in near[member]} - {x}
            assert own >= max(mean(x, y) for y in known) - tolerance
        groups[a] += groups.pop(b)
    return groups


@pytest.mark.slow
@given(ensembles(), st.integers(1, 12))
def test_in_one_window_every_merge_joins_a_nearest_pair(ens, max_regions):
    for operator in (CoAssociation(ens), enhanced(ens)):
        tree = link(operator, max_regions=max_regions)
        S = operator._similarity()
        reference.replay(tree, *reference.lift(ens, S))


@given(ensembles(), st.integers(1, 4), st.integers(2, 5))
def test_regions_are_exact_means_of_what_was_merged(ens, max_regions, window):
    for operator in (CoAssociation(ens), enhanced(ens), simrank(ens)):
        coarse = coarsen(operator, max_regions, window)
        everyone = [range(len(operator.codes))] * len(operator.codes)
        loose = replay_by_candidates(coarse, operator, everyone, tolerance=np.inf)
        assert sorted(loose) == coarse.regions.leaf.tolist()
        assert len(loose) == min(max_regions, len(operator.codes))
        for r, leaf in enumerate(coarse.regions.leaf):
            members = np.isin(operator.leaves.inverse, loose[leaf])
            labels = ens.labels[members]
            entries = slice(coarse.regions.edge[r], coarse.regions.edge[r + 1])
            counts = np.zeros(ens.n_base_clusters, int)
            counts[coarse.regions.cluster[entries]] = coarse.regions.count[entries]
            m = np.nonzero(labels >= 0)[1]
            codes = ens.offsets[m] + labels[labels >= 0]
            assert np.array_equal(counts, np.bincount(codes, minlength=len(counts)))


@given(ensembles(max_objects=20), st.integers(2, 6))
def test_a_merge_joins_the_nearest_of_those_that_were_compared(ens, window):
    operator = enhanced(ens)
    n = len(operator.codes)
    coarse = coarsen(operator, n, window)  # nothing merged yet
    with narrow(window):
        near, best = coarse._search(0)
    n_merges = n - 1
    if n_merges < 1:
        return
    known = [set(row[row >= 0].tolist()) for row in near]
    coarse.merged, coarse.similarity = coarse._merge(near.copy(), best, n_merges)
    replay_by_candidates(coarse, operator, known)


@given(ensembles(max_objects=20), st.integers(2, 8))
def test_exact_linkage_begins_with_merges_of_nearest_regions(ens, max_regions):
    for operator in (CoAssociation(ens), enhanced(ens), simrank(ens)):
        n = len(operator.codes)
        coarse = Coarsening(operator, max_regions)
        n_before = len(coarse.regions)
        coarse.merge_exactly()
        assert len(coarse.regions) == n - len(coarse.merged)
        assert len(coarse.regions) < n_before or n_before == 1
        replay_by_candidates(coarse, operator, [range(n)] * n)


def test_the_tree_is_the_same_whether_exact_linkage_begins_without_a_matrix():
    operator = enhanced(random_ensemble(1500, 12, 9, seed=1, noise=0.4))
    usual = link(operator, max_regions=600)
    with mock.patch.object(linkage, "FEW_BYTES", 4 * 599**2):
        tree = link(operator, max_regions=600)
    assert np.allclose(tree.heights, usual.heights, atol=1e-6)
    assert all(ari(tree.cut(k), usual.cut(k)) == 1.0 for k in (5, 50, 500))


@pytest.mark.slow
@pytest.mark.parametrize("make", [CoAssociation, enhanced, simrank])
@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("window", [512, 32])
def test_a_coarse_tree_is_close_to_the_exact_one(make, missing, window):
    operator = make(random_ensemble(1000, 12, 6, seed=0, missing=missing, noise=0.25))
    n = len(operator.codes)
    exact = link(operator)
    for max_regions in (n // 2, n // 5, n // 20):
        with narrow(window):
            tree = link(operator, max_regions=max_regions)
        assert tree.n_leaves == n
        assert (np.diff(tree.heights) >= 0).all()
        assert ari(tree.cut(6), exact.cut(6)) > 0.95


def test_both_engines_link_the_regions_alike():
    operator = enhanced(random_ensemble(700, 12, 6, seed=1))
    one, other = (link(operator, max_regions=150, max_memory=m) for m in (2**31, 1))
    assert np.allclose(one.heights, other.heights, atol=1e-6)
    assert ari(one.cut(6), other.cut(6)) == 1.0


@pytest.mark.parametrize("method", ["ecpcs-hc", "eac", "wct", "srs"])
def test_as_many_regions_as_rows_are_exact(method):
    ens = random_ensemble(300, 8, 5, seed=2)
    n = len(ens.fragments().counts)
    exact = consensus(ens, [2, 5, 9], method)
    for max_regions in (n, n + 1, 10**9):
        labels = consensus(ens, [2, 5, 9], method, max_regions=max_regions)
        assert np.array_equal(labels, exact)


def test_the_tree_does_not_depend_on_n_jobs_or_the_order_of_objects():
    labels = random_ensemble(2000, 15, 12, seed=3, noise=0.4).labels
    order = np.random.default_rng(0).permutation(len(labels))
    trees = [
        link(enhanced(Ensemble(rows)), max_regions=200, n_jobs=jobs)
        for rows, jobs in ((labels, 1), (labels, 2), (labels, 5), (labels[order], 2))
    ]
    for tree in trees[1:]:
        assert np.array_equal(tree.merges, trees[0].merges)
        assert np.array_equal(tree.heights, trees[0].heights)
    assert np.array_equal(trees[0].leaf_of_object[order], trees[3].leaf_of_object)


def test_weights_of_clusterings_and_of_equal_rows_count():
    ens = random_ensemble(60, 6, 3, seed=4, missing=0.2)
    operator = enhanced(ens, weights=np.arange(1.0, 7.0))
    reference.replay(link(operator, max_regions=10), *pooled(operator))
    doubled = Ensemble(np.repeat(ens.labels, 2, axis=0))
    tree, twice = (link(CoAssociation(e), max_regions=10) for e in (ens, doubled))
    assert np.allclose(tree.heights, twice.heights, atol=1e-7)


@pytest.mark.parametrize("labels", [[[0]], [[0], [1]], [[0, 1], [0, 1], [1, 0]]])
def test_few_objects(labels):
    for method in ("ecpcs-hc", "eac", "srs"):
        found = consensus(labels, 1, method, max_regions=1)
        assert np.array_equal(found, np.zeros(len(labels)))


def test_a_model_says_that_its_tree_is_approximate():
    labels = random_ensemble(200, 8, 4, seed=5).labels
    exact = ECPCSHC(4, base="precomputed").fit(labels)
    coarse = ECPCSHC(4, base="precomputed", max_regions=50).fit(labels)
    assert exact.n_regions_ is None
    assert coarse.n_regions_ == 50
    assert np.array_equal(coarse.predict(labels), coarse.labels_)


def test_the_first_merges_are_those_of_the_coarsening():
    ens = random_ensemble(300, 8, 5, seed=0, noise=0.5)
    operator = CoAssociation(ens)
    coarse = Coarsening(operator, 20)
    tree = link(operator, max_regions=20)
    assert not np.array_equal(tree.heights, link(operator).heights)
    found = np.sort(1 - coarse.similarity)
    assert np.isin(found.round(9), tree.heights.round(9)).all()


def test_max_regions_needs_average_linkage_and_a_positive_number():
    labels = random_ensemble(50, 5, 3, seed=6).labels
    with pytest.raises(ValueError, match=r"max_regions=5 with linkage='single'.*aver"):
        EAC(3, base="precomputed", linkage="single", max_regions=5).fit(labels)
    with pytest.raises(ValueError, match="max_regions"):
        EAC(3, base="precomputed", max_regions=0).fit(labels)
