"""Label space against the definition: sums over all pairs of objects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import CoAssociation, _kernels, similarity
from ensclust._trees.routes import LabelSpace, Matrix
from strategies import ensembles, random_ensemble


def operators(ens):
    Z = similarity.propagate(similarity.jaccard(ens))
    weights = np.arange(1, ens.n_clusterings + 1)
    yield CoAssociation(ens)
    yield CoAssociation(ens, Z)
    yield CoAssociation(ens, Z, weights=weights)
    yield CoAssociation(ens, Z, pairs="all", decay=0.8)


def sums_of_leaves(route):
    """Sums over pairs of objects of two leaves, and the numbers that divide them."""
    operator = route.coassociation
    ens, n_objects = operator.ensemble, operator.leaves.counts.tolist()
    labels, start = operator.leaves.labels, ens.offsets.tolist()
    n, m = labels.shape
    root = [1.0] * m if operator.weights is None else np.sqrt(operator.weights).tolist()
    total, divisor = np.zeros((n, n), object), np.zeros((n, n))
    for i, j, a, b in np.ndindex(n, n, m, m):
        both = labels[i, a] >= 0 and labels[j, b] >= 0
        if not both or (a != b and operator.pairs == "same"):
            continue
        entry = int(route.entries[start[a] + labels[i, a], start[b] + labels[j, b]])
        total[i, j] += entry * n_objects[i] * n_objects[j]
        if ens.has_missing:
            weight = 1.0 if operator.pairs == "all" else root[a] * root[b]
            divisor[i, j] += weight * n_objects[i] * n_objects[j]
    if not ens.has_missing:
        divisor = np.multiply.outer(n_objects, n_objects).astype(float)
    return total, divisor


def merged_at_random(route, seed):
    """Merge some regions, in two goes; return the lowest leaf of each leaf's region."""
    rng = np.random.default_rng(seed)
    n = len(route.place)
    region = np.arange(n)
    for _ in range(2):
        merged = []
        for _ in range(rng.integers(0, n)):
            left = np.unique(region)
            if len(left) < 3:
                break
            a, b = np.sort(rng.choice(left, 2, replace=False))
            region[region == b] = a
            merged.append((a, b))
        route.join(np.array(merged, np.int64).reshape(-1, 2))
    return region


def expected(total, divisor, region):
    """Mean similarities of regions: a sum of integers, divided once."""
    pick = np.equal.outer(np.unique(region), region).astype(int)
    sums = (pick.astype(object) @ total @ pick.T.astype(object)).astype(float)
    pairs = pick @ divisor @ pick.T
    return np.divide(sums, pairs, out=np.zeros_like(sums), where=pairs > 0)


@given(ensembles(max_objects=8), st.integers(0, 99))
def test_the_nearest_region_is_the_lowest_of_the_most_similar(ens, seed):
    for operator in operators(ens):
        route = LabelSpace(operator, 1)
        sums = sums_of_leaves(route)
        slot = np.unique(region := merged_at_random(route, seed))
        if len(slot) < 2:
            return
        near, best = np.zeros(len(region), np.int64), np.zeros(len(region))
        route.nearest(slot, near, best)
        mean = expected(*sums, region)
        np.fill_diagonal(mean, -1)
        assert np.allclose(best[slot], mean.max(axis=1), rtol=1e-12)
        if operator.weights is None:  # else the order of sums may decide
            assert np.array_equal(best[slot], mean.max(axis=1))
            assert np.array_equal(near[slot], slot[mean.argmax(axis=1)])


@given(ensembles(max_objects=8, missing=False), st.integers(0, 99))
def test_the_matrix_has_the_similarities_of_label_space(ens, seed):
    for operator in operators(ens):
        route = LabelSpace(operator, 1, dtype=np.int64)
        sums = sums_of_leaves(route)
        region = merged_at_random(route, seed)
        slot = np.unique(region)
        mean = expected(*sums, region)
        best = np.linspace(0, 9, len(region))
        matrix = route.to_matrix(best)
        found = matrix.square.reshape(len(slot), -1)
        if operator.similarity is None:
            size = np.bincount(region, operator.leaves.counts)[slot]
            mean = np.rint(mean * size * size[:, None])
            assert np.array_equal(best, np.linspace(0, 9, len(region)))
        else:
            mean = np.floor(mean + 0.5)
            assert np.array_equal(best, np.floor(np.linspace(0, 9, len(region)) + 0.5))
        apart = ~np.eye(len(slot), dtype=bool)
        assert np.array_equal(found[apart], mean[apart])
        assert np.array_equal(matrix.slot, slot)
        assert matrix.now == len(region) - len(slot)


@given(ensembles(), st.integers(0, 99))
def test_packed_rows_are_the_histograms_of_regions(ens, seed):
    route = LabelSpace(CoAssociation(ens), 1)
    region = merged_at_random(route, seed)
    route._pack()
    labels, counts = (
        route.coassociation.leaves.labels,
        route.coassociation.leaves.counts,
    )
    assert np.array_equal(route.slot, np.unique(region))
    for row, leaf in enumerate(route.slot):
        histogram = np.zeros(route.n_slots, int)
        for i, m in np.argwhere((labels >= 0) & (region == leaf)[:, None]):
            histogram[m * route.widest + labels[i, m]] += counts[i]
        own = slice(route.edge[row], route.edge[row + 1])
        assert np.array_equal(route.slots[own], np.flatnonzero(histogram))
        assert np.array_equal(route.count[own], histogram[histogram > 0])


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_many_regions_in_several_blocks_give_one_matrix(n_jobs):
    ens = random_ensemble(1300, 8, 6, 0)
    operator = CoAssociation(ens, similarity.propagate(similarity.jaccard(ens)))
    near, best = np.zeros((2, len(operator.leaves.counts)))
    route = LabelSpace(operator, n_jobs)
    matrix = route.to_matrix(best)
    square = matrix.square.reshape(len(matrix.slot), -1)
    assert len(square) > 2 * _kernels.labelspace.LANES
    assert np.array_equal(square, square.T)
    near = np.zeros(len(square), np.int64)
    other = np.zeros(len(square))
    route.nearest(np.arange(len(square)), near, other)
    np.fill_diagonal(square, 0)
    assert np.array_equal(square.max(axis=1), np.floor(other + 0.5))
    assert isinstance(matrix, Matrix)
