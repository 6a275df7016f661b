"""Clusters that keep the names of a reference."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bad_input import FOUND, RUNS, refused, table
from ensclust import EAC, Blocks, align, compare
from ensclust._methods import METHODS
from strategies import random_ensemble

partitions = st.lists(st.integers(-1, 3), min_size=1, max_size=12)


@given(partitions, st.data())
def test_as_many_objects_as_possible_keep_their_names(labels, data):
    n = len(labels)
    reference = data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))
    labels, reference = np.array(labels), np.array(reference)
    found = align(labels, reference)
    assert ((found < 0) == (labels < 0)).all()
    assert len(set(zip(labels, found, strict=True))) == len(set(labels))
    assert len(set(found)) == len(set(labels))
    names = np.append(np.arange(8), -1)
    most = max(
        sum((np.append(p, -1)[labels] == reference) & (reference >= 0))
        for p in permutations(names[:8], 4)
    )
    assert ((found == reference) & (found >= 0)).sum() == most


def test_what_has_no_counterpart_gets_a_new_name():
    assert align([5, 5, 6, 6, 4], [0, 0, -1, -1, 2]).tolist() == [0, 0, 3, 3, 2]
    assert align([0, 0, 1], ["new 1", "new 1", None]).tolist() == [
        "new 1",
        "new 1",
        "new 2",
    ]
    assert align([0, -1], ["T", "B"]).tolist() == ["T", None]
    assert align([0, 1], [None, None]).tolist() == [0, 1]


def test_a_series_stays_one():
    labels = pd.Series([1, 1, 0], index=list("abc"), name="today")
    reference = pd.Series([0, 0, 1], index=list("abc"))
    expected = pd.Series([0, 0, 1], index=list("abc"), name="today")
    pd.testing.assert_series_equal(align(labels, reference), expected)


@pytest.mark.parametrize("name", METHODS)
def test_fit_keeps_the_numbers_of_a_reference(name):
    labels = random_ensemble(80, 8, 4, seed=1, noise=0.1).labels
    model = METHODS[name](4, base="precomputed", random_state=0).fit(labels)
    plain, shares = model.labels_, model.memberships()
    numbers = np.array([5, 0, 3, -1])  # of the last cluster nothing is known
    model.fit(labels, reference=numbers[plain])
    new = np.array([5, 0, 3, 6])
    assert model.labels_.tolist() == new[plain].tolist()
    assert model.predict(labels).tolist() == model.labels_.tolist()
    assert model.n_clusters_ == 4
    assert np.allclose(model.memberships()[:, new], shares)
    assert not model.memberships()[:, [1, 2, 4]].any()
    assert "in 4 clusters" in repr(model.certainty())
    if hasattr(model, "meta_labels_"):
        assert set(model.meta_labels_) <= {-1, *new.tolist()}


def test_a_reference_may_be_of_pandas_with_nan():
    model = EAC(2, base="precomputed")
    assert model.fit(RUNS).labels_.tolist() == [0, 0, 1, 1, 1, 1]
    yesterday = pd.Series([4.0, np.nan, 0.0, np.nan, 0.0, 4.0])
    model.fit(RUNS, reference=yesterday)
    assert model.labels_.tolist() == [4, 4, 0, 0, 0, 0]


def test_compared_labels_are_numbered_like_the_first():
    ensemble = random_ensemble(80, 8, 4, seed=2, noise=0.2)
    found = compare(ensemble, 4, ["eac", "kcc", "ecpcs-mc"], random_state=0)
    for column in found.labels.T:
        assert align(column, found.labels[:, 0]).tolist() == column.tolist()


def referred(reference, X=RUNS):
    return lambda: EAC(2, base="precomputed").fit(X, reference=reference)


@table(
    (lambda: align(None, [0]), "clusterings holds None; expected one label per object"),
    (lambda: align([0, 1], [0]), r"clusterings\[1\] has 1 labels, .* has 2"),
    (lambda: align([0, 1.5], [0, 1]), r"labels\[1, 0\] = 1\.5"),
    (lambda: align([[0, 1]] * 2, [0, 1]), r"labels\[0, 0\] = \[0, 1\]"),
    (referred(FOUND[:2]), "reference has 2 labels for 6 objects"),
    (referred(list("aabbab")), "reference holds strings, such as 'a'"),
    (referred(FOUND + 10**6), "reference holds the number 1000001 for 6 objects"),
    (referred(3), "clusterings holds 3; expected one label per object"),
    (referred(FOUND, Blocks(RUNS.labels)), "reference needs X in memory"),
)
def test_other_references_are_refused(call, words):
    refused(call, words)
