import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import similarity
from ensclust._cuts import partition, spectrum
from ensclust.metrics import ari
from strategies import ensembles, random_ensemble


def literal_value(W, labels, k):
    """Sum over parts of cut / degree, on the graph with the offsets added."""
    W = np.where(W > 1e-6, W, 0) + 0.5 * np.eye(len(W))
    degree = W.sum(axis=1) + 0.5
    value = 0.0
    for part in range(k):
        inside = labels == part
        if inside.any():
            kept = W[np.ix_(inside, inside)].sum()
            value += (degree[inside].sum() - kept) / degree[inside].sum()
        else:
            value += 1.0
    return value


@given(ensembles(), st.data())
def test_the_value_is_the_share_of_each_part_that_is_cut(ens, data):
    W = similarity.jaccard(ens)
    k = data.draw(st.integers(1, len(W)))
    labels = np.array(
        data.draw(st.lists(st.integers(0, k - 1), min_size=len(W), max_size=len(W)))
    )
    assert partition.ncut_value(W, labels, k) == pytest.approx(
        literal_value(W, labels, k), abs=1e-9
    )


@given(ensembles(), st.data())
def test_every_graph_is_partitioned_into_at_most_k_parts(ens, data):
    Z = similarity.propagate(similarity.jaccard(ens))
    k = data.draw(st.integers(1, len(Z)))
    labels = partition.NormalisedCut(Z).labels(k, random_state=0)
    assert labels.shape == (len(Z),)
    assert labels.min() >= 0
    assert labels.max() < k


def test_separate_components_are_the_parts():
    W = np.kron(np.eye(3), np.ones((4, 4)))
    labels = partition.NormalisedCut(W).labels(3, random_state=0)
    assert ari(labels, np.repeat([0, 1, 2], 4)) == 1.0


def test_more_components_than_parts_do_not_break_it():
    assert len(partition.NormalisedCut(np.eye(6)).labels(3, random_state=0)) == 6


def test_more_starts_never_give_a_larger_cut():
    Z = similarity.propagate(similarity.jaccard(random_ensemble(300, 15, 8, seed=3)))
    values = [
        partition.ncut_value(
            Z, partition.NormalisedCut(Z).labels(6, random_state=0, n_starts=s), 6
        )
        for s in (1, 10, 50)
    ]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("n", "k", "exact", "n_starts"),
    [
        (400, 30, False, 50),
        (400, 60, False, 13),
        (400, 60, True, 50),
        (400, 200, False, 5),
        (400, 300, True, 13),
    ],
)
def test_large_cuts_try_fewer_starts(monkeypatch, n, k, exact, n_starts):
    tried = []

    def partitions(rows, starts):
        tried.extend(starts)
        return [np.arange(n) % k]

    monkeypatch.setattr(partition.discretise, "partitions", partitions)
    W = np.random.default_rng(0).random((n, n))
    partition.NormalisedCut(W + W.T, exact=exact).labels(k, random_state=0)
    assert len(tried) == n_starts


def test_renumbering_the_nodes_gives_the_same_parts():
    Z = similarity.propagate(similarity.jaccard(random_ensemble(300, 15, 8, seed=4)))
    order = np.random.default_rng(0).permutation(len(Z))
    one = partition.NormalisedCut(Z).labels(6, random_state=1)
    other = partition.NormalisedCut(Z[np.ix_(order, order)]).labels(6, random_state=1)
    assert ari(one[order], other) == 1.0


def blocks(n_blocks, size, seed):
    """Return a graph of equal components: every eigenvalue occurs once for each."""
    block = np.random.default_rng(seed).random((size, size))
    return np.kron(np.eye(n_blocks), block + block.T)


@pytest.mark.parametrize(
    "W",
    [
        similarity.propagate(similarity.jaccard(random_ensemble(400, 20, 8, seed=5))),
        blocks(3, 60, 0),
        blocks(12, 15, 1),
    ],
    ids=["ensemble", "3 components", "12 components"],
)
@pytest.mark.parametrize("k", [2, 5, 12])
def test_iteration_finds_the_eigenvectors_of_large_graphs(monkeypatch, W, k):
    usual, vectors = partition.NormalisedCut(W).embedding(k)
    one = partition.NormalisedCut(W).labels(k, random_state=0)
    monkeypatch.setattr(spectrum, "_LARGE", 0)
    eigenvalues, found = partition.NormalisedCut(W).embedding(k)
    assert np.allclose(eigenvalues, usual, atol=1e-10)
    if len(set(usual.round(8))) == k:  # else the vectors are not unique
        assert np.allclose(np.abs(found), np.abs(vectors), atol=1e-6)
        assert ari(partition.NormalisedCut(W).labels(k, random_state=0), one) == 1.0


def test_many_parts_of_a_large_graph_are_not_found_by_iteration(monkeypatch):
    monkeypatch.setattr(spectrum, "_LARGE", 0)
    Z = similarity.propagate(similarity.jaccard(random_ensemble(200, 10, 5, seed=6)))
    assert len(set(partition.NormalisedCut(Z).labels(40, random_state=0))) > 20
