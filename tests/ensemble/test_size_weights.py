"""Weights of clusterings by how finely they divide the objects."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import Blocks, Ensemble, size_weights
from ensclust._stream.counting import Encoding, tally
from strategies import label_tables, random_ensemble


def effective(table):
    """Return exp(entropy) of the cluster sizes of each column."""
    found = []
    for column in np.transpose(table):
        there = column[column >= 0]
        share = np.unique(there, return_counts=True)[1] / max(len(there), 1)
        found.append(np.exp(-sum(p * np.log(p) for p in share)))
    return np.array(found)


def limited(weights):
    """Cut off what exceeds three times the mean, or half of all, until nothing does."""
    most = min(3, max(len(weights) / 2, 1))
    for _ in range(2000):
        weights = np.minimum(weights, most * weights.mean())
    return weights / weights.mean()


@given(label_tables(max_clusterings=9))
def test_weights_are_effective_numbers_of_clusters(table):
    assert size_weights(table) == pytest.approx(limited(effective(table)), abs=1e-6)


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30))
def test_no_clustering_counts_more_than_three_nor_than_all_others(numbers):
    weights = size_weights([np.arange(500) % k for k in numbers])
    assert weights.mean() == pytest.approx(1)
    assert weights.max() <= max(1, min(3, len(numbers) / 2)) + 1e-9
    order = np.argsort(numbers)
    assert (np.diff(weights[order]) >= 0).all()


def test_equal_clusters_count_as_many_as_they_are():
    runs = [np.arange(64) % k for k in (2, 4, 4, 8)]
    assert size_weights(runs) * 4.5 == pytest.approx([2, 4, 4, 8])


def test_objects_on_their_own_do_not_make_a_clustering_fine():
    lump = np.maximum(np.arange(1000) - 980, 0)  # 981 objects, then 19 alone
    halves = np.arange(1000) % 2
    weights = size_weights([lump, halves, halves])
    assert weights[0] < weights[1]


@pytest.mark.parametrize("tiny", [100_000, 500])
@pytest.mark.parametrize("k", [8, 300])
def test_an_id_column_or_a_run_of_tiny_clusters_does_not_rule(tiny, k):
    ks = np.random.default_rng(0).integers(2, k, 20)
    weights = size_weights([np.arange(100_000) % k for k in [*ks, tiny]])
    assert weights[-1] / weights.sum() <= 3 / 21 + 1e-9


def test_columns_without_a_split_or_without_labels_count_as_one_cluster():
    nobody, one = np.full(9, -1), np.zeros(9, int)
    assert size_weights(np.column_stack([nobody, one])).tolist() == [1, 1]
    assert size_weights([[4]]).tolist() == [1]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_names_of_clusters_and_the_order_of_objects_change_nothing(missing):
    ens = random_ensemble(200, 8, 6, seed=0, missing=missing)
    rng = np.random.default_rng(1)
    names = rng.permutation(9)
    renamed = np.where(ens.labels < 0, -1, names[ens.labels])
    expected = size_weights(ens).tolist()
    assert size_weights(renamed[rng.permutation(200)]).tolist() == expected


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_stream_has_the_weights_of_memory(missing):
    ens = random_ensemble(120, 7, 5, seed=2, missing=missing)
    counts = tally(Blocks(ens.labels, rows=17), Encoding("missing"))
    assert size_weights(counts).tolist() == size_weights(ens).tolist()


def test_an_object_that_counts_as_several_is_so_many_objects():
    ens = random_ensemble(60, 5, 4, seed=3, missing=0.2)
    times = np.random.default_rng(0).integers(1, 6, 60)
    weighted = Ensemble.from_codes(ens.columns, ens.categories, times)
    repeated = np.repeat(ens.labels, times, axis=0)
    assert size_weights(weighted).tolist() == size_weights(repeated).tolist()


def test_clusters_that_no_object_is_left_in_do_not_count():
    ens = random_ensemble(60, 5, 4, seed=4)
    some = ens.take(np.arange(7))
    assert size_weights(some).tolist() == size_weights(some.labels).tolist()
