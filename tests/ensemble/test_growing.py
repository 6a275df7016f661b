"""More clusterings of the same objects, more objects of the same clusterings."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import Ensemble, _kernels
from strategies import label_tables, random_ensemble


def assert_same(one, other):
    assert one == other
    assert one.columns.dtype == other.columns.dtype
    for a, b in zip(one.categories, other.categories, strict=True):
        assert a.tolist() == b.tolist()
    assert np.array_equal(one.sizes, other.sizes)
    assert np.array_equal(one.intersections(), other.intersections())
    assert one.has_missing == other.has_missing


@given(label_tables(max_objects=20), st.data())
def test_concat_is_the_ensemble_of_all_rows(table, data):
    cut = data.draw(st.integers(0, len(table)))
    parts = [part for part in (table[:cut], table[cut:]) if len(part)]
    ensembles = [Ensemble(part) for part in parts]
    if data.draw(st.booleans()):  # with and without counts that are kept
        for part in ensembles:
            part.intersections()
    assert_same(ensembles[0].concat(*ensembles[1:]), Ensemble(table))


@given(label_tables(max_objects=8), st.data())
def test_join_is_the_ensemble_of_all_columns(table, data):
    cut = data.draw(st.integers(1, table.shape[1]))
    more = [table[:, cut:]] if cut < table.shape[1] else []
    assert_same(Ensemble(table[:, :cut]).join(*map(Ensemble, more)), Ensemble(table))


def test_labels_of_any_kind_grow():
    texts = Ensemble([["a", "x"], ["c", None]])
    assert_same(
        texts.concat([["b", "x"], ["a", "y"]]),
        Ensemble([["a", "x"], ["c", None], ["b", "x"], ["a", "y"]]),
    )
    huge = Ensemble(np.array([[2**63 + 5], [3]], np.uint64))
    grown = huge.concat(np.array([[7], [2**63 + 4]], np.uint64), [[9], [-1]])
    assert grown.categories[0].tolist() == [3, 7, 9, 2**63 + 4, 2**63 + 5]
    assert grown.labels.ravel().tolist() == [4, 0, 1, 3, 2, -1]
    noise = Ensemble([[0], [-1]], noise="own-cluster").concat([[-1], [2]])
    assert noise.labels.ravel().tolist() == [1, 0, -1, 2]


def test_many_clusters_need_a_wider_type():
    few, many = Ensemble(np.array([[0], [-1]] * 150)), Ensemble(np.arange(300)[:, None])
    grown = few.concat(many)
    assert grown.columns.dtype == np.uint16
    assert_same(grown, Ensemble(np.concatenate([few.labels, many.labels])))
    assert_same(few.join(many), Ensemble(np.column_stack([few.labels, many.labels])))


def test_nothing_is_counted_again():
    parts = [random_ensemble(2000, 5, 4, seed, missing=0.1) for seed in range(3)]
    expected = Ensemble(np.concatenate([part.labels for part in parts])).intersections()
    for part in parts:
        part.intersections()
    grown = parts[0].concat(*parts[1:])
    with mock.patch.object(
        _kernels.counting, "count_pairs_of_bytes", side_effect=AssertionError
    ):
        found = grown.intersections()
    assert np.array_equal(found, expected)
    found[:] = 0  # what is kept is not what is handed out
    assert np.array_equal(grown.intersections(), expected)


def test_counts_larger_than_the_labels_are_not_kept():
    small = Ensemble(np.arange(20).reshape(10, 2))
    small.intersections()
    assert small._overlap is None


def test_objects_that_count_as_several_grow():
    table = random_ensemble(30, 4, 3, seed=0, missing=0.1)
    times = np.arange(1, 31)
    some = Ensemble.from_codes(table.columns, table.categories, times)
    repeated = table.take(np.repeat(np.arange(30), times))
    grown, expected = some.concat(table), repeated.concat(table)
    assert np.array_equal(grown.intersections(), expected.intersections())
    assert grown.multiplicity.tolist() == [*times, *np.ones(30)]
    wider = some.join(some)
    assert np.array_equal(
        wider.intersections(), repeated.join(repeated).intersections()
    )
    with pytest.raises(ValueError, match="different multiplicities"):
        some.join(table)


def test_what_does_not_fit_is_refused():
    ens = Ensemble([[0, 1], [1, 1]])
    with pytest.raises(
        ValueError, match="an ensemble of 3 objects cannot join one of 2"
    ):
        ens.join([[0], [1], [1]])
    with pytest.raises(ValueError, match=r"ensemble of 1 clusterings .* to one of 2"):
        ens.concat([[0], [1], [1]])
    with pytest.raises(TypeError, match=r"labels\[:, 1\] mixes"):
        ens.concat([[0, "x"], [1, "y"]])
    with pytest.raises(ValueError, match="labels is of type float"):
        ens.join(0.5)


def test_labels_beyond_floats_stay_apart_when_types_differ():
    near = 2**53
    small = Ensemble(np.array([[near], [near + 1]]))
    large = Ensemble(np.array([[2**63 + 5], [near + 1]], np.uint64))
    assert small.concat(large).labels.ravel().tolist() == [0, 1, 2, 1]
