"""Edge cases of cuts that some change to the source would break."""

import numpy as np
import pytest
from scipy import sparse

from ensclust import Ensemble
from ensclust._cuts import bipartite, kmeans, partition
from ensclust._cuts.voting import Vote, settle


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_spread_of_features_is_the_mean_of_their_variances(kind):
    X = np.random.default_rng(0).normal(5, [1, 2, 3], (40, 3))
    found = kmeans.Rows.of(kind(X)).spread()
    assert found == pytest.approx(X.var(axis=0).mean(), rel=1e-9)


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [([3, 3, 3], 3, [3, 3, 3]), ([0, 1, 1], 1, [1, 1, 1]), ([2, 2, 90], 2, [2, 2, 4])],
)
def test_no_node_weighs_more_than_a_part_and_none_less_than_one(sizes, k, expected):
    assert partition._capped(sizes, k) == pytest.approx(expected, rel=1e-5)


def test_columns_without_an_entry_stay_in_what_is_taken():
    X = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0], [4, 0, 0, 0]])
    rows = kmeans.Rows.of(sparse.csr_array(X))
    assert rows.take(np.array([2, 0])).tolist() == X[[2, 0]].tolist()


@pytest.mark.parametrize("starts", ["farthest", "k-means++"])
def test_k_means_starts_where_it_is_told_to(monkeypatch, starts):
    usual, inits = kmeans.converge, []

    def converge(*args, init, **options):
        inits.append(init)
        return usual(*args, init=init, **options)

    monkeypatch.setattr(bipartite.kmeans, "converge", converge)
    points = np.random.default_rng(0).normal(size=(50, 2))
    bipartite.best_centres(kmeans.Rows.of(points), 4, 0, starts, 1)
    (init,) = inits
    if starts == "k-means++":
        assert init == starts
        return
    for chosen in init:
        for j in range(1, 4):
            apart = np.linalg.norm(points[:, None] - points[chosen[:j]], axis=2)
            assert chosen[j] == apart.min(axis=1).argmax()


def test_degrees_that_are_next_to_nothing_are_raised():
    counts = Ensemble(np.random.default_rng(0).integers(0, 3, (60, 4)))
    share = np.where(np.arange(12) < 3, 1e-15, 2.0)
    edges = sparse.csr_array(np.diag(share))
    edges = bipartite.label_edges(edges, counts, fill=False)
    graph = bipartite.BipartiteGraph.of(counts, edges, seed=0, n_jobs=1)
    least, most, none = 2.0**-29, 2.0, 0.0  # 2**-30 of the largest
    assert graph.total.tolist() == [*[least] * 3, none, *[*[most] * 3, none] * 3]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_votes_the_better_one_is_taken(order):
    labels = np.repeat([[0, 0, 0], [1, 1, 1], [2, 2, 2]], 10, axis=0)
    ensemble = Ensemble(labels)
    good, bad = np.array([0, 1, 2] * 3), np.array([0, 0, 1] * 3)
    votes = [Vote((good, bad)[i], 0) for i in order]
    vote, ballot = settle(ensemble, votes, n_jobs=1)
    assert vote.meta_labels.tolist() == good.tolist()
    assert len(ballot.first) == 3
