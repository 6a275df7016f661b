"""What negative labels mean: left out of the clustering, or a cluster of their own."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given

from ensclust import Blocks, Ensemble, consensus
from ensclust._methods import METHODS, make
from strategies import label_tables

every_method = pytest.mark.parametrize("method", METHODS)


def literal(column, noise):
    """Return the codes of a list of labels by the definition."""
    lowest = 0 if noise == "missing" else -np.inf
    is_given = [v is not None and v >= lowest for v in column]  # False for NaN
    given = [max(v, -1) if ok else None for v, ok in zip(column, is_given, strict=True)]
    values = sorted({v for v in given if v is not None})
    return [-1 if v is None else values.index(v) for v in given]


COLUMN = [3, -1, 0, -2, 3, -1]


@pytest.mark.parametrize("noise", ["missing", "own-cluster"])
@pytest.mark.parametrize(
    "column",
    [
        np.array(COLUMN),
        np.array(COLUMN, dtype=np.int8),
        np.array([*COLUMN, np.nan]),
        np.array([*COLUMN, None], dtype=object),
        np.array([-1, -1, -3]),
        np.array([-1, None, -3], dtype=object),
        np.array([5, 2, 5]),
        np.array([-1, 10**12, 4]),
    ],
    ids=str,
)
def test_negative_labels_are_missing_or_one_cluster(column, noise):
    ens = Ensemble(column[:, None], noise=noise)
    assert ens.labels[:, 0].tolist() == literal(column.tolist(), noise)
    assert Ensemble.from_clusterings([column], noise=noise) == ens


@given(label_tables())
def test_own_cluster_only_names_what_was_left_out(table):
    out, own = Ensemble(table), Ensemble(table, noise="own-cluster")
    assert not own.has_missing
    for m, column in enumerate(table.T):
        assert own.cluster_counts[m] == out.cluster_counts[m] + (column < 0).any()
        together = own.labels[:, m][:, None] == own.labels[:, m]
        assert np.array_equal(
            together, np.maximum(column, -1)[:, None] == np.maximum(column, -1)
        )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_keeps_noise_apart_from_missing(frame):
    labels = frame({"hdbscan": [0, 0, -1, -1], "leiden": ["a", "b", None, "b"]})
    ens = Ensemble(labels, noise="own-cluster")
    assert ens.labels.tolist() == [[1, 0], [1, 1], [0, -1], [0, 1]]
    assert Ensemble(labels).labels.tolist() == [[0, 0], [0, 1], [-1, -1], [-1, 1]]


@pytest.mark.parametrize("name", ["runs.csv", "runs.parquet"])
def test_an_empty_cell_of_a_file_is_missing_and_a_negative_one_noise(tmp_path, name):
    labels = pd.DataFrame({"a": [0, 0, -1, None], "b": [1.0, None, -2, -1]})
    path = tmp_path / name
    if name == "runs.csv":
        labels.to_csv(path, index=False)
    else:
        labels.to_parquet(path, index=False)
    for noise in ("missing", "own-cluster"):
        assert Ensemble(path, noise=noise) == Ensemble(labels, noise=noise)
    in_blocks = np.array(consensus(Blocks(labels.to_numpy()), 2, noise="own-cluster"))
    assert (consensus(path, 2, noise="own-cluster") == in_blocks).all()


def test_new_labels_are_coded_as_the_ensemble_was():
    own = Ensemble([[0], [1], [-1]], noise="own-cluster")
    assert own.recode([[-1], [-2], [1], [7], [None]]).labels.ravel().tolist() == [
        0,
        0,
        2,
        -1,
        -1,
    ]
    out = Ensemble([[0], [1], [-1]])
    assert out.recode([[-1], [1]]).labels.ravel().tolist() == [-1, 1]


def test_noise_beside_names_is_refused_where_it_would_be_a_cluster():
    labels = np.array([["a"], ["b"], [-1]], dtype=object)
    assert Ensemble(labels).has_missing
    with pytest.raises(TypeError, match=r"mixes str \('a'\) and int \(-1\)"):
        Ensemble(labels, noise="own-cluster")


def test_an_unknown_or_late_noise_is_refused():
    with pytest.raises(ValueError, match=r"'drop' is not supported.*'own-cluster'"):
        Ensemble([[0]], noise="drop")
    with pytest.raises(ValueError, match="noise='drop' is not supported"):
        Ensemble.from_clusterings([[0]], noise="drop")
    ens = Ensemble([[0], [-1]])
    with pytest.raises(ValueError, match=r"comes too late for Ensemble\(n_objects=2"):
        Ensemble(ens, noise="own-cluster")
    with pytest.raises(ValueError, match="comes too late"):
        consensus(ens, 1, noise="own-cluster")


@every_method
def test_every_method_takes_noise_both_ways(method):
    """Ten clear objects, ten clear ones, and four that all clusterings call noise."""
    truth = np.repeat([0, 1, -1], [10, 10, 4])
    table = np.column_stack([truth] * 5)
    own = consensus(table, 3, method=method, noise="own-cluster", random_state=0)
    assert own.tolist() == np.repeat([0, 1, 2], [10, 10, 4]).tolist()
    with pytest.warns(UserWarning, match="4 of 24 objects are in no"):
        out = consensus(table, 2, method=method, random_state=0)
    assert out.tolist() == truth.tolist()


@every_method
def test_an_estimator_codes_new_noise_as_it_coded_the_old(method):
    table = np.column_stack([np.repeat([0, 1, -1], [10, 10, 4])] * 5)
    model = make(
        method, n_clusters=3, base="precomputed", noise="own-cluster", random_state=0
    )
    model.fit(table)
    assert model.predict(table).tolist() == model.labels_.tolist()
    assert model.predict([[-1] * 5, [-2] * 5, [1] * 5]).tolist() == [2, 2, 1]
