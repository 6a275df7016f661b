"""Nearly identical clusterings: their groups, and one representative each."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import Ensemble
from ensclust._ensemble import redundancy
from ensclust.metrics import nmi
from strategies import label_tables, random_ensemble


def alike(one, other):
    """Return the NMI on shared objects, at most their share in those of either."""
    both, either = (one >= 0) & (other >= 0), (one >= 0) | (other >= 0)
    return (
        min(nmi(one[both], other[both]), both.sum() / either.sum()) if any(both) else 0
    )


def seeds_and_resolutions(n=600, seed=0):
    """Return five seeds of 12 clusters, two of 4, one of 2, in mixed order."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(12), n // 12)

    def run(k):
        moved = np.where(rng.random(n) < 0.002, rng.integers(0, 12, n), truth)
        return rng.permutation(12)[moved * k // 12]

    return [run(k) for k in (12, 4, 12, 2, 12, 12, 4, 12)]


@given(label_tables(max_objects=10), st.sampled_from([0.3, 0.6, 0.9, 1]))
def test_nothing_kept_is_alike_and_all_left_out_are(table, threshold):
    ens = Ensemble(table)
    groups = ens.redundant(threshold)
    dropped = [m for group in groups.values() for m in group]
    kept = [m for m in range(ens.n_clusterings) if m not in dropped]
    assert len(set(dropped)) == len(dropped)
    assert set(groups) <= set(kept)
    for stands, group in groups.items():
        for m in group:
            assert alike(table[:, stands], table[:, m]) >= threshold - 1e-8
    for i, m in enumerate(kept):
        for q in kept[:i]:
            assert alike(table[:, m], table[:, q]) < threshold + 1e-8
    assert np.array_equal(ens.distinct(threshold).columns, ens.select(kept).columns)


def test_seeds_of_one_resolution_have_one_vote():
    ens = Ensemble(seeds_and_resolutions())
    groups = ens.redundant()
    members = sorted(sorted([kept, *group]) for kept, group in groups.items())
    assert members == [[0, 2, 4, 5, 7], [1, 6]]
    assert sorted(ens.distinct().cluster_counts.tolist()) == [2, 4, 12]


def test_the_one_that_agrees_best_with_its_group_is_kept():
    truth = np.repeat(np.arange(5), 40)
    first, second = truth.copy(), truth.copy()
    first[[0, 50]] = 4
    second[[100, 150]] = 0
    assert Ensemble([first, truth, second]).redundant(0.9) == {1: [0, 2]}


def test_the_one_that_is_alike_to_most_is_kept_however_well_two_others_agree(
    monkeypatch,
):
    scores = np.zeros((5, 5))
    scores[2, [0, 3, 4]] = 0.31
    scores[0, 1] = 1
    monkeypatch.setattr(redundancy, "sameness", lambda _: scores + scores.T)
    runs = Ensemble(np.arange(20).reshape(4, 5) % 3)
    assert runs.redundant(0.3) == {2: [0, 3, 4]}


def test_names_of_clusters_do_not_matter():
    runs = seeds_and_resolutions()
    rng = np.random.default_rng(1)
    renamed = [rng.permutation(20)[run] for run in runs]
    assert Ensemble(renamed).redundant(0.9) == Ensemble(runs).redundant(0.9)


def test_equal_columns_are_one_and_the_first_is_kept():
    column = np.arange(30) % 4
    ens = Ensemble([column, column * 3, np.arange(30) % 5, column])
    assert ens.redundant(1) == {0: [1, 3]}
    assert ens.distinct(1) == ens.select([0, 2])


def test_columns_without_a_split_are_alike_only_among_themselves():
    ens = Ensemble([np.zeros(9, int), np.arange(9) % 2, np.ones(9, int)])
    assert ens.redundant() == {0: [2]}


def test_one_clustering_is_distinct():
    ens = Ensemble([[0], [1]])
    assert ens.redundant() == {}
    assert ens.distinct() == ens


def test_a_clustering_is_not_left_out_for_one_that_lacks_its_objects():
    column = np.arange(100) % 5
    part, most = np.where(np.arange(100) < 60, column, -1), column.copy()
    most[:3] = -1
    nobody = np.full(100, -1)
    assert Ensemble([column, part, nobody, nobody]).redundant() == {}
    assert Ensemble([part, most, column, nobody]).redundant() == {1: [2]}
    assert Ensemble([part, column, part]).redundant(1) == {0: [2]}


def test_an_object_that_counts_as_several_is_so_many_objects():
    ens = random_ensemble(40, 9, 3, seed=5, noise=0.1, missing=0.05)
    times = np.random.default_rng(0).integers(1, 4, 40)
    weighted = Ensemble.from_codes(ens.columns, ens.categories, times)
    repeated = Ensemble(np.repeat(ens.labels, times, axis=0))
    for threshold in (0.4, 0.6, 0.8):
        assert weighted.redundant(threshold) == repeated.redundant(threshold)
    assert np.array_equal(weighted.distinct(0.6).multiplicity, times)


def test_more_memory_than_there_is_is_refused(monkeypatch):
    monkeypatch.setattr("ensclust._support.memory.available", lambda: 10**6)
    ens = Ensemble([np.arange(1000), np.arange(1000)])
    with pytest.raises(MemoryError, match=r"2,000 base clusters needs .* Leave out"):
        ens.redundant()
