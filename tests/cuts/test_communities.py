"""Communities: modularity by its formula, kernels by plain Python, known graphs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from ensclust import _kernels
from ensclust._cuts.communities import CommunityGraph

RESOLUTIONS = st.sampled_from([0.3, 1.0, 1.7, 5.0])


def modularity(W, labels, resolution=1.0):
    """Return the modularity by its formula."""
    W = W * (1 - np.eye(len(W)))
    degree, total = W.sum(axis=1), W.sum() or 1
    expected = resolution * np.multiply.outer(degree, degree) / total
    return ((W - expected) * (labels[:, None] == labels)).sum() / total


def is_connected(W, labels):
    """Whether each community is connected by its own edges."""
    for c in np.unique(labels):
        own = W[np.ix_(labels == c, labels == c)]
        if connected_components(own)[0] != 1:
            return False
    return True


def part(W, k=None, *, resolution=1.0, n_init=5, seed=0):
    return CommunityGraph(W, resolution=resolution, n_init=n_init, seed=seed).part(k)


def partition_of(labels):
    return {frozenset(np.flatnonzero(labels == c)) for c in np.unique(labels)}


def all_partitions(n):
    """Yield every partition of n nodes."""
    if n == 0:
        yield []
        return
    for rest in all_partitions(n - 1):
        for c in range(max(rest, default=-1) + 2):
            yield [*rest, c]


def random_graph(n, density, seed, *, whole=False):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 5, (n, n)) if whole else rng.random((n, n))
    W = np.triu(np.where(rng.random((n, n)) < density, weights, 0), 1)
    return (W + W.T).astype(np.float64)


@st.composite
def graphs(draw, *, whole=False, max_nodes=12):
    n = draw(st.integers(1, max_nodes))
    density = draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))
    return random_graph(n, density, draw(st.integers(0, 10**6)), whole=whole)


def ring_of_cliques(n_cliques, size):
    """Return cliques in a ring, each with one edge to the next, and their numbers."""
    clique = np.repeat(np.arange(n_cliques), size)
    W = (clique[:, None] == clique).astype(float) - np.eye(len(clique))
    for c in range(n_cliques):
        a, b = c * size, ((c + 1) % n_cliques) * size + 1
        W[a, b] = W[b, a] = 1
    return W, clique


@given(graphs(), RESOLUTIONS)
def test_modularity_is_that_of_the_formula_and_communities_are_connected(W, gamma):
    found = part(W, resolution=gamma)
    assert np.isclose(found.modularity, modularity(W, found.labels, gamma), atol=1e-9)
    assert found.resolution == gamma
    assert set(found.labels) == set(range(found.n_communities))
    assert is_connected(W, found.labels)


@given(graphs(), RESOLUTIONS)
def test_no_two_communities_are_better_merged(W, gamma):
    found = part(W, resolution=gamma, n_init=1)
    for a, b in itertools.combinations(range(found.n_communities), 2):
        merged = np.where(found.labels == b, a, found.labels)
        assert modularity(W, merged, gamma) <= found.modularity + 1e-9


@given(graphs(), RESOLUTIONS)
def test_no_node_is_better_elsewhere(W, gamma):
    found = part(W, resolution=gamma, n_init=1)
    for i, c in itertools.product(range(len(W)), range(found.n_communities + 1)):
        moved = found.labels.copy()
        moved[i] = c
        assert modularity(W, moved, gamma) <= found.modularity + 1e-9


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_of_all_partitions_of_a_small_graph_the_best_is_nearly_always_found(gamma):
    lost = []
    for seed in range(12):
        W = random_graph(7, 0.5, seed)
        best = max(modularity(W, np.array(p), gamma) for p in all_partitions(7))
        lost.append(best - part(W, resolution=gamma, n_init=30).modularity)
    assert np.isclose(lost, 0, atol=1e-9).sum() >= 11
    assert max(lost) < 0.02


def literal_louvain(W, order, gamma):
    """Move nodes, join communities, until nothing moves: Louvain without refinement."""
    owner, total = np.arange(len(W)), W.sum() or 1
    graph = W.copy()
    while True:
        degree, label = graph.sum(axis=1), np.arange(len(graph))
        is_moving = True
        while is_moving:
            is_moving = False
            for i in order[order < len(graph)]:
                others = np.delete(np.arange(len(graph)), i)
                gain = np.zeros(len(graph))
                np.add.at(gain, label[others], graph[i, others])
                chance = np.zeros(len(graph))
                np.add.at(chance, label[others], degree[others])
                gain -= gamma * degree[i] * chance / total
                if gain.max() > gain[label[i]] + 1e-9:
                    label[i], is_moving = gain.argmax(), True
        names, label = np.unique(label, return_inverse=True)
        if len(names) == len(graph):
            return owner
        owner = label[owner]
        H = np.eye(len(names))[label]
        graph = H.T @ graph @ H


@pytest.mark.parametrize("seed", range(6))
def test_modularity_is_at_least_that_of_plain_louvain(seed):
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 5, 60)
    W = random_graph(60, 0.15, seed) + 0.5 * (block[:, None] == block)
    np.fill_diagonal(W, 0)
    for gamma in (1.0, 2.0):
        plain = [literal_louvain(W, rng.permutation(60), gamma) for _ in range(10)]
        best = max(modularity(W, labels, gamma) for labels in plain)
        found = part(W, resolution=gamma, n_init=10, seed=seed)
        assert found.modularity >= best - 1e-9


def test_a_ring_of_cliques_has_the_modularity_that_is_known():
    W, clique = ring_of_cliques(8, 5)
    found = part(W)
    assert partition_of(found.labels) == partition_of(clique)
    # All edges but one of a clique's 5 * 4 / 2 + 1 are inside; each has 1 / 8 of them.
    assert np.isclose(found.modularity, 10 / 11 - 1 / 8)


def test_at_resolution_one_many_cliques_merge_in_pairs_and_a_larger_one_parts_them():
    # The resolution limit of Fortunato and Barthelemy: more cliques than the root of
    # twice the number of edges.
    W, clique = ring_of_cliques(30, 5)
    coarse, fine = part(W), part(W, resolution=4.0)
    assert coarse.n_communities < 30
    assert coarse.modularity > modularity(W, clique)
    assert partition_of(fine.labels) == partition_of(clique)


@given(graphs(), st.data())
def test_a_number_of_communities_is_formed_exactly(W, data):
    k = data.draw(st.integers(1, len(W)))
    found = part(W, k, n_init=2)
    assert set(found.labels) == set(range(k))
    expected = modularity(W, found.labels, found.resolution)
    assert np.isclose(found.modularity, expected, atol=1e-9)
    if k >= connected_components(W)[0]:
        assert is_connected(W, found.labels)


def test_the_number_that_comes_out_gives_what_comes_out():
    W, _ = ring_of_cliques(8, 5)
    free = part(W)
    asked = part(W, 8)
    assert np.array_equal(free.labels, asked.labels)
    assert asked.resolution == 1.0
    finer = part(W, 12)
    assert finer.resolution > 1.0
    assert part(W, 3).resolution < 1.0


def test_numbers_are_independent_of_those_asked_before():
    graph = CommunityGraph(random_graph(40, 0.3, 0), resolution=1.0, n_init=3, seed=4)
    asked = {k: graph.part(k).labels for k in (9, 2, 30, None, 5)}
    for k, labels in asked.items():
        assert np.array_equal(part(random_graph(40, 0.3, 0), k, n_init=3, seed=4)[0],
                              labels)  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_the_numbering_of_nodes_and_the_scale_of_weights_do_not_matter(seed):
    W = random_graph(50, 0.3, seed)
    order = np.random.default_rng(seed).permutation(50)
    one = part(W).labels
    assert partition_of(part(W[np.ix_(order, order)]).labels) == partition_of(
        one[order]
    )
    assert np.array_equal(part(8 * W + np.eye(50)).labels, one)


def csr(W):
    edges = sparse.csr_array(W)
    return edges.indptr, edges.indices, edges.data, W.sum(axis=1)


def links(W, labels, i):
    """Return the weight from a node to each community that it has an edge to."""
    found = {}
    for j in np.flatnonzero(W[i]):
        found[labels[j]] = found.get(labels[j], 0) + W[i, j]
    return found


def literal_moves(W, pull, order, labels):
    degree, labels, queue = W.sum(axis=1), list(labels), list(order)
    while queue:
        i = queue.pop(0)
        own, met = labels[i], links(W, labels, i)
        labels[i] = None

        def gain(c, i=i, met=met):
            mass = sum(degree[j] for j in range(len(W)) if labels[j] == c)
            return met.get(c, 0) - pull * degree[i] * mass

        best, most = own, gain(own) + 1e-12 * degree[i]
        for c in met:
            if gain(c) > most:
                best, most = c, gain(c)
        if most < 0 and own in labels:
            best = next(c for c in range(len(W)) if c not in labels)
        labels[i] = best
        if best != own:
            asked = [j for j in np.flatnonzero(W[i]) if labels[j] != best]
            queue += [j for j in asked if j not in queue]
    return labels


@given(graphs(whole=True), RESOLUTIONS, st.data())
def test_moves_are_those_of_plain_python(W, gamma, data):
    n = len(W)
    order = np.array(data.draw(st.permutations(range(n))), np.int64)
    labels = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=n,
                                         max_size=n)), np.int64)  # fmt: skip
    pull = gamma / (W.sum() or 1)
    expected = literal_moves(W, pull, order, labels)
    _kernels.communities.move_nodes(*csr(W), pull, order, labels)
    assert partition_of(labels) == partition_of(np.array(expected))


def literal_merges(W, pull, order, community):
    degree, part = W.sum(axis=1), list(range(len(W)))
    for i in order:
        if part.count(part[i]) > 1:
            continue
        best, most = part[i], 0.0
        for c, weight in links(W, part, i).items():
            members = [j for j in range(len(W)) if part[j] == c]
            gain = weight - pull * degree[i] * degree[members].sum()
            if gain > most and community[members[0]] == community[i]:
                best, most = c, gain
        part[i] = best
    return part


@given(graphs(whole=True), RESOLUTIONS, st.data())
def test_merges_are_those_of_plain_python_and_connected(W, gamma, data):
    n = len(W)
    order = np.array(data.draw(st.permutations(range(n))), np.int64)
    community = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n,
                                            max_size=n)), np.int64)  # fmt: skip
    pull, found = gamma / (W.sum() or 1), np.empty(n, np.int64)
    expected = literal_merges(W, pull, order, community)
    _kernels.communities.merge_nodes(*csr(W), pull, order, community, found)
    assert found.tolist() == expected
    assert is_connected(W, found)
    assert all(len(set(community[found == c])) == 1 for c in set(found))
