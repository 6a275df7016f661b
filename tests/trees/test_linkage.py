import warnings
from itertools import count
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform

import reference
from ensclust import CoAssociation, Ensemble, similarity
from ensclust._support import memory
from ensclust._trees import linkage, routes
from ensclust._trees import linkage as linkage_module
from ensclust._trees.linkage import LINKAGES, _agglomerate, link
from ensclust._trees.routes import LabelSpace, Square, largest
from ensclust.metrics import ari
from strategies import ensembles, random_ensemble

SQUARE, LABEL_SPACE = 2**31, 1  # max_memory that leads to each engine


def enhanced(ens):
    return CoAssociation(ens, similarity.propagate(similarity.jaccard(ens)))


def simrank(ens):
    return CoAssociation(ens, similarity.simrank(ens), pairs="all", decay=0.8)


@given(ensembles(), st.sampled_from([SQUARE, LABEL_SPACE]))
def test_every_average_merge_joins_a_nearest_pair(ens, max_memory):
    for operator in (CoAssociation(ens), enhanced(ens)):
        S = operator._similarity()
        tree = link(operator, max_memory=max_memory)
        reference.replay(tree, *reference.lift(ens, S))


@given(ensembles(), st.sampled_from(["single", "complete"]))
def test_every_single_or_complete_merge_joins_a_nearest_pair(ens, linkage):
    for operator in (CoAssociation(ens), enhanced(ens)):
        S = operator._similarity()
        reference.replay(link(operator, linkage), *reference.lift(ens, S), linkage)


@given(ensembles(), st.sampled_from([SQUARE, LABEL_SPACE]))
def test_simrank_merges_join_nearest_pairs_after_strangers_are_split(ens, max_memory):
    operator = simrank(ens)
    tree = link(operator, max_memory=max_memory)
    n_labels = (ens.labels >= 0).sum(axis=1)
    pairs = np.multiply.outer(n_labels, n_labels).astype(float)
    dense = operator.dense()
    reference.replay(tree, dense * pairs, pairs)
    # Objects of one leaf are at least as close to each other as to any other.
    for leaf, height in enumerate(tree.leaf_heights):
        members = np.flatnonzero(tree.leaf_of_object == leaf)
        if len(members) > 1:
            assert height == pytest.approx(1 - dense[members[0], members[1]])
            others = np.delete(dense[members[0]], members)
            assert 1 - height >= others.max(initial=0) - 1e-9


@given(ensembles())
def test_both_engines_break_ties_of_the_plain_coassociation_alike(ens):
    if ens.has_missing:
        return
    one = link(CoAssociation(ens), max_memory=SQUARE)
    other = link(CoAssociation(ens), max_memory=LABEL_SPACE)
    assert np.array_equal(one.merges, other.merges)
    assert np.array_equal(one.heights, other.heights)


@pytest.mark.parametrize("make", [enhanced, simrank])
@pytest.mark.parametrize("seed", range(5))
def test_the_engines_agree_to_1e_6_and_cut_alike(make, seed):
    ens = random_ensemble(400, 12, 6, seed)
    one = link(make(ens), max_memory=SQUARE)
    other = link(make(ens), max_memory=LABEL_SPACE)
    assert np.allclose(one.heights, other.heights, atol=1e-6)
    gaps = np.diff(one.heights)[::-1]
    for k in 2 + np.flatnonzero(gaps[:20] > 1e-5):
        assert ari(one.cut(int(k)), other.cut(int(k))) == 1.0


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("seed", range(3))
def test_scipy_gives_the_same_heights_and_cuts_where_they_are_distinct(linkage, seed):
    ens = random_ensemble(150, 15, 5, seed)
    operator = enhanced(ens)
    distance = 1 - operator.dense()
    np.fill_diagonal(distance, 0)
    expected = hierarchy.linkage(squareform(distance, checks=False), linkage)
    tree = link(operator, linkage)
    assert np.allclose(tree.to_scipy()[:, 2], expected[:, 2], atol=1e-6)
    for k in (2, 3, 5, 10):
        if expected[-k, 2] < expected[1 - k, 2] - 1e-6:
            labels = hierarchy.cut_tree(expected, k).ravel()
            assert ari(tree.cut(k), labels) == 1.0


@pytest.mark.parametrize("max_memory", [SQUARE, LABEL_SPACE])
def test_the_tree_does_not_depend_on_n_jobs(max_memory):
    ens = random_ensemble(1200, 20, 30, seed=0, noise=0.5)
    for operator in (CoAssociation(ens), enhanced(ens)):
        trees = [link(operator, max_memory=max_memory, n_jobs=j) for j in (1, 2, 5)]
        for tree in trees[1:]:
            assert np.array_equal(tree.merges, trees[0].merges)
            assert np.array_equal(tree.heights, trees[0].heights)


@pytest.mark.parametrize("max_memory", [SQUARE, LABEL_SPACE])
def test_large_trees_have_ascending_heights_and_exact_cuts(max_memory):
    ens = random_ensemble(900, 10, 8, seed=1, noise=0.6)
    tree = link(enhanced(ens), max_memory=max_memory)
    assert (np.diff(tree.heights) >= 0).all()
    for k in (1, 2, 7, 100, tree.n_leaves):
        assert len(np.unique(tree.cut(k))) == k


def test_missing_labels_use_label_space_whatever_the_budget():
    ens = random_ensemble(80, 6, 3, seed=2, missing=0.3)
    one, other = (
        link(enhanced(ens), max_memory=SQUARE),
        link(enhanced(ens), max_memory=1),
    )
    assert np.array_equal(one.merges, other.merges)
    reference.replay(one, *reference.lift(ens, enhanced(ens).similarity))


@pytest.mark.slow
def test_pair_sums_beyond_32_bits_are_counted_in_64():
    # 40,000 objects in 4 distinct rows: N^2 M / 4 exceeds 2^32.
    rows = np.array([[0] * 12, [0] * 6 + [1] * 6, [1] * 12, [2] * 12])
    ens = Ensemble(np.repeat(rows, 10_000, axis=0))
    one, other = link(CoAssociation(ens)), link(CoAssociation(ens), max_memory=1)
    assert np.allclose(one.heights, [0.5, 0.75, 1.0])
    assert np.array_equal(one.merges, other.merges)


def test_pairs_take_64_bits_only_where_their_sums_need_it():
    for n, dtype in ((2**16 - 1, np.uint32), (2**16, np.int64)):  # n^2 M / 4 = 2^32
        ens = Ensemble(np.zeros((n, 4), int))
        assert linkage._square_dtype(CoAssociation(ens), "average") is dtype
        for operator, kind in (
            (CoAssociation(ens), "single"),
            (CoAssociation(ens, np.eye(4)), "average"),
        ):
            assert linkage._square_dtype(operator, kind) is np.uint32


@pytest.mark.parametrize(("n", "dtype"), [(2**16 - 2, np.uint32), (2**16, np.int64)])
def test_the_matrix_is_made_in_the_type_of_its_sums(n, dtype, monkeypatch):
    made = mock.Mock(side_effect=linkage.Square)
    monkeypatch.setattr(linkage, "Square", made)
    link(CoAssociation(Ensemble(np.arange(n)[:, None] % 2 * np.ones(4, int))))
    assert made.call_args.args[2] is dtype


def test_the_fixed_point_leaves_room_for_every_sum():
    for n_objects in (1, 20_000, 1_300_000, 10**8):
        assert n_objects**2 // 4 * largest(n_objects) < 2**63
    assert largest(20_000) == 2**31 - 1
    assert largest(20_000, 28) == 2**28 - 1
    assert largest(1_300_000) >= 2**24


def test_single_linkage_over_the_budget_names_the_needed_memory():
    ens = random_ensemble(200, 8, 4, seed=0)
    n = len(ens.fragments().counts)
    with pytest.raises(MemoryError, match=rf"{n:,} distinct label rows needs a matrix"):
        link(CoAssociation(ens), "single", max_memory=1000)


@pytest.mark.parametrize("max_regions", [None, 10])
@pytest.mark.parametrize(("more", "engine"), [(0, "Square"), (-1, "LabelSpace")])
def test_a_matrix_may_take_the_budget_and_no_byte_more(
    max_regions, more, engine, monkeypatch
):
    operator = enhanced(random_ensemble(60, 6, 4, seed=0))
    n = max_regions or len(operator.leaves.counts)
    kind, made = getattr(linkage, engine), []
    usual = kind.__init__

    def init(self, *args, **options):
        made.append(self)
        usual(self, *args, **options)

    monkeypatch.setattr(kind, "__init__", init)
    link(operator, max_memory=4 * n**2 + more, max_regions=max_regions)
    assert len(made) == 1


def changes(monkeypatch):
    """Return a list that gets the regions left at each change to a matrix."""
    usual, found = LabelSpace.to_matrix, []

    def to_matrix(self, best):
        found.append(int(np.count_nonzero(self.size)))
        return usual(self, best)

    monkeypatch.setattr(LabelSpace, "to_matrix", to_matrix)
    return found


@given(ensembles(missing=False), st.integers(2, 12))
def test_a_change_to_a_matrix_leaves_the_plain_tree_as_it_is(ens, n_regions):
    for operator in (CoAssociation(ens), CoAssociation(ens, pairs="all")):
        one = link(operator, max_memory=4 * n_regions**2)
        other = link(operator, max_memory=LABEL_SPACE)
        assert np.array_equal(one.merges, other.merges)
        assert np.array_equal(one.heights, other.heights)


@given(ensembles(), st.integers(2, 12))
def test_after_a_change_every_merge_joins_a_nearest_pair(ens, n_regions):
    tree = link(enhanced(ens), max_memory=4 * n_regions**2)
    reference.replay(tree, *reference.lift(ens, enhanced(ens).similarity))


@pytest.mark.parametrize("make", [CoAssociation, enhanced, simrank])
@pytest.mark.parametrize("n_regions", [2, 50, 200, 280])
def test_a_matrix_takes_over_as_soon_as_it_fits(make, n_regions, monkeypatch):
    operator = make(random_ensemble(400, 12, 6, 0))
    whole = link(operator, max_memory=LABEL_SPACE)
    found = changes(monkeypatch)
    trees = [link(operator, max_memory=4 * n_regions**2, n_jobs=j) for j in (1, 3)]
    assert 2 <= found[0] <= n_regions
    assert found[0] > n_regions - 64 or found[0] > len(whole.merges) // 2
    assert len(found) == 2
    assert np.array_equal(trees[0].merges, trees[1].merges)
    assert np.array_equal(trees[0].heights, trees[1].heights)
    assert np.allclose(trees[0].heights, whole.heights, atol=1e-6)
    if make is CoAssociation:
        assert np.array_equal(trees[0].merges, whole.merges)
        assert np.array_equal(trees[0].heights, whole.heights)


def test_the_budget_is_compared_with_what_the_first_merges_leave(monkeypatch):
    operator = enhanced(random_ensemble(400, 12, 6, 0))
    n = len(operator.leaves.counts)
    found = changes(monkeypatch)
    monkeypatch.setattr(LabelSpace, "nearest", None)  # is not asked anything
    link(operator, max_memory=4 * (n - 1) ** 2)
    assert n // 2 <= found[0] < n


def test_coarse_regions_change_to_a_matrix_too(monkeypatch):
    for make in (CoAssociation, enhanced):
        operator = make(random_ensemble(400, 12, 6, 0))
        whole = link(operator, max_memory=LABEL_SPACE, max_regions=100)
        found = changes(monkeypatch)
        tree = link(operator, max_memory=4 * 60**2, max_regions=100)
        assert found[0] <= 60
        assert np.allclose(tree.heights, whole.heights, atol=1e-6)


def test_missing_labels_never_change_to_a_matrix(monkeypatch):
    found = changes(monkeypatch)
    link(enhanced(random_ensemble(80, 6, 3, seed=2, missing=0.3)), max_memory=SQUARE)
    assert not found


@pytest.mark.parametrize("kind", ["single", "complete"])
def test_other_linkages_need_memory_for_what_the_first_merges_leave(kind):
    operator = enhanced(random_ensemble(200, 8, 4, seed=0))
    n = len(operator.leaves.counts)
    whole = link(operator, kind)
    assert np.array_equal(
        link(operator, kind, max_memory=4 * n**2 - 1).merges, whole.merges
    )
    needs = f"linkage='{kind}' of {n} distinct label rows needs a matrix of at least"
    for max_memory in (n**2 - 1, n**2 + 4 * n):  # before the first merges, and after
        with pytest.raises(MemoryError, match=needs):
            link(operator, kind, max_memory=max_memory)


@pytest.mark.parametrize("max_regions", [None, 10])
def test_half_of_a_matrix_must_be_available(max_regions, monkeypatch):
    operator = enhanced(random_ensemble(60, 6, 4, seed=0))
    n = max_regions or len(operator.leaves.counts)
    monkeypatch.setattr(memory, "available", lambda: 2 * n**2)
    link(operator, max_regions=max_regions)
    monkeypatch.setattr(memory, "available", lambda: 2 * n**2 - 1)
    said = rf"a matrix of {n} distinct label rows needs .*Lower max_memory"
    with pytest.raises(MemoryError, match=said):
        link(operator, max_regions=max_regions)
    if max_regions is None:  # no more than the budget is needed
        link(operator, max_memory=4 * 5**2)
        monkeypatch.setattr(memory, "available", lambda: 4 * 5**2 - 1)
        with pytest.raises(MemoryError, match=said):
            link(operator, max_memory=4 * 5**2)


def test_an_unknown_linkage_is_refused_with_the_list():
    with pytest.raises(ValueError, match=r"linkage='ward' is not supported.*'average'"):
        link(CoAssociation(Ensemble([[0], [1]])), "ward")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coassociation": 5}, "coassociation is of type int; expected"),
        ({"max_memory": -1}, "max_memory=-1"),
        ({"max_regions": 0}, "max_regions=0"),
        (
            {"max_regions": 1, "linkage": "single"},
            "max_regions=1 with linkage='single'",
        ),
    ],
)
def test_what_linkage_cannot_begin_with_is_named(options, message):
    operator = CoAssociation(Ensemble([[0], [1], [2]]))
    with pytest.raises((TypeError, ValueError), match=message):
        link(**{"coassociation": operator, **options})
    link(operator, max_memory=0, max_regions=1)


@pytest.mark.parametrize("max_regions", [None, 10])
def test_progress_counts_the_merges_that_are_left(max_regions, monkeypatch):
    told = mock.Mock()
    monkeypatch.setattr(linkage, "tell", told)
    tree = link(enhanced(random_ensemble(60, 6, 4, seed=0)), max_regions=max_regions)
    calls = [call.args for call in told.call_args_list]
    assert {phase for *_, phase in calls} <= {"nearest label rows", "merges"}
    merges = [(done, total) for done, total, phase in calls if phase == "merges"]
    done, total = zip(*merges, strict=True)
    assert set(total) == {done[-1]}
    assert sorted(done) == list(done)
    assert 0 < done[0] <= done[-1]
    if max_regions:
        assert done[-1] == max_regions - 1
    else:
        assert done[-1] < len(tree.heights)  # pairs of nearest neighbours come first


def test_the_few_places_of_near_rows_are_looked_at_instead_of_a_matrix(monkeypatch):
    """Many rows around a few centres: bounds tell where the nearest may be."""
    monkeypatch.setattr(routes, "FEW_BYTES", 4 * 60**2)
    monkeypatch.setattr(linkage_module, "FEW_BYTES", 4 * 60**2)
    usual, routes_taken = linkage_module._agglomerate, []

    def agglomerate(route, *args, **options):
        routes_taken.append(route)
        return usual(route, *args, **options)

    monkeypatch.setattr(linkage_module, "_agglomerate", agglomerate)
    rng = np.random.default_rng(0)
    labels = 4 * rng.integers(0, 30, 1500)[:, None] + rng.integers(0, 4, (1500, 7))
    local = enhanced(Ensemble(labels))
    trees = [link(local, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert all(type(route) is LabelSpace and route.is_local for route in routes_taken)
    assert np.array_equal(trees[0].merges, trees[1].merges)
    usual_tree = link(local, max_memory=1)
    assert np.allclose(trees[0].heights, usual_tree.heights, atol=1e-6)
    del routes_taken[:]
    for other in (
        enhanced(Ensemble(rng.integers(0, 4, (700, 7)))),
        CoAssociation(labels),
    ):
        link(other)
    assert [type(route) for route in routes_taken] == [Square, Square]


def heavy(labels, times):
    """Return an ensemble in which every object counts several times."""
    ens = Ensemble(labels)
    multiplicity = np.full(len(labels), times, np.int64)
    return Ensemble.from_codes(ens.columns, ens.categories, multiplicity)


@pytest.mark.filterwarnings("error")
def test_many_objects_do_not_make_similarities_coarser(monkeypatch):
    """Sums over more pairs leave fewer bits to label space, and none to the matrix."""
    for module in (routes, linkage_module):
        monkeypatch.setattr(module, "FEW_BYTES", 1)
    monkeypatch.setattr(routes, "_FEW", 2)  # bounds are taken to save comparisons
    usual, taken = linkage_module._agglomerate, []

    def agglomerate(route, *args, **options):
        taken.append(type(route))
        return usual(route, *args, **options)

    monkeypatch.setattr(linkage_module, "_agglomerate", agglomerate)
    labels = np.random.default_rng(0).integers(0, 9, (120, 5))
    Z = similarity.propagate(similarity.jaccard(Ensemble(labels)))
    once, often = (link(CoAssociation(heavy(labels, times), Z)) for times in (1, 10**6))
    assert taken == [LabelSpace, Square]
    assert np.array_equal(once.merges, often.merges)
    assert np.allclose(once.heights, often.heights, rtol=0, atol=1e-6)


def test_rounding_that_may_change_merges_is_announced():
    labels = np.random.default_rng(0).integers(0, 9, (120, 5))
    Z = similarity.propagate(similarity.jaccard(Ensemble(labels)))
    operator = CoAssociation(heavy(labels, 10**6), Z)
    with pytest.warns(UserWarning, match="120,000,000 objects to about .*57600 for"):
        rough = link(operator, max_memory=LABEL_SPACE)
    exact = link(operator)
    route = LabelSpace(operator, None)
    assert 1e-4 < route.error < 1e-2
    assert 0 < abs(rough.heights[0] - exact.heights[0]) <= route.error
    labels[0, 0] = -1
    with pytest.warns(UserWarning, match="exact ones; use EAC, which does not round"):
        link(CoAssociation(heavy(labels, 10**6), Z))
    assert LabelSpace(CoAssociation(heavy(labels, 10**6)), None).error == 0


def test_chains_that_never_close_are_reported_not_followed_for_ever():
    class Ring:
        unit, n_chains = 1.0, 64

        def survey(self, near, best):
            self.nearest(np.arange(3), near, best)

        def nearest(self, queue, near, best):
            near[queue] = (queue + 1) % 3
            best[queue] = np.nan

        def join(self, merged):
            assert len(merged) == 0

    with pytest.raises(RuntimeError, match="stopped after 0 of 2 merges"):
        _agglomerate(Ring(), 3)


@pytest.mark.parametrize(("step", "words"), [
    (0.2, None), (29.9, None), (30.1, "60 s"), (120.0, "4 min"), (7200.0, "4.0 h"),
])  # fmt: skip
def test_minutes_without_a_matrix_are_announced_by_the_first_steps(
    step, words, monkeypatch
):
    clock = count()
    monkeypatch.setattr(linkage, "_MANY", 10)
    monkeypatch.setattr(linkage.time, "perf_counter", lambda: step * next(clock))
    operator = enhanced(random_ensemble(50, 5, 3, seed=7))  # one round of chains: all
    assert len(operator.leaves.counts) < 64
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tree = link(operator, max_memory=LABEL_SPACE)
        link(operator, max_memory=LABEL_SPACE, max_regions=5)
        link(operator)
    texts = [str(one.message) for one in found]
    assert [f"label rows takes about {words} with" in text for text in texts] == [
        True
    ] * (words is not None)
    monkeypatch.setattr(linkage, "_MANY", 100)
    other = link(operator, max_memory=LABEL_SPACE)
    assert np.array_equal(tree.merges, other.merges)
    assert np.array_equal(tree.heights, other.heights)
