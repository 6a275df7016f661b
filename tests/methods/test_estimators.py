"""What holds for every method in the table."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

import ensclust
from common_checks import assert_checks_pass
from ensclust import Ensemble, compare, consensus
from ensclust._methods import METHODS, make
from ensclust.metrics import ari
from strategies import label_tables, random_ensemble

every_method = pytest.mark.parametrize("method", METHODS)
X = load_iris().data


def partition_of(labels):
    """Return the groups of a labelling, whatever their numbers."""
    return {frozenset(np.flatnonzero(labels == c)) for c in np.unique(labels)}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:CVote formed")  # of data that are noise
@pytest.mark.filterwarnings("ignore:.* objects into one cluster")  # likewise
@every_method
def test_scikit_learns_checks_pass_and_run(method):
    assert_checks_pass(METHODS[method](n_clusters=3), at_least=48)


@every_method
@settings(max_examples=25)
@given(label_tables(), st.data())
def test_any_ensemble_gives_labels_without_gaps_or_a_clear_error(method, table, data):
    n = len(table)
    k = data.draw(st.integers(1, n))
    absent = (table < 0).all(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labels = consensus(table, k, method=method, random_state=0)
    assert labels.shape == (n,)
    assert ((labels == -1) == absent).all()
    seen = list(dict.fromkeys(labels[~absent].tolist()))
    assert seen == list(range(len(seen)))
    assert len(seen) <= k
    if n > absent.sum():
        assert len(seen) >= 1


@every_method
def test_equal_clusterings_are_returned_when_k_fits(method):
    truth = np.repeat([0, 1, 2], [5, 7, 4])
    labels = consensus(np.column_stack([truth] * 6), 3, method=method, random_state=0)
    assert labels.tolist() == truth.tolist()


@every_method
def test_one_clustering_is_returned_when_k_fits(method):
    truth = np.repeat([0, 1, 2], [5, 7, 4])
    labels = consensus(truth[:, None], 3, method=method, random_state=0)
    assert labels.tolist() == truth.tolist()


@every_method
def test_one_cluster_holds_all_objects(method):
    ens = random_ensemble(40, 6, 4, seed=0)
    assert (consensus(ens, 1, method=method, random_state=0) == 0).all()


@every_method
def test_as_many_clusters_as_objects_are_formed_where_rows_differ(method):
    table = np.column_stack([np.arange(12), np.arange(12) // 2, np.arange(12) // 3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labels = consensus(table, 12, method=method, random_state=0)
    assert len(labels) == 12
    # To ecpcs-bg two objects are equal whose walks go to the same clusters.
    if METHODS[method].info.level == "object" and method != "ecpcs-bg":
        assert labels.tolist() == list(range(12))


@every_method
def test_more_clusters_than_distinct_rows_warn_and_give_fewer(method):
    table = np.repeat([[0, 0], [1, 1], [2, 1]], 4, axis=0)
    with pytest.warns(UserWarning, match=r"of n_clusters=9 clusters"):
        labels = consensus(table, 9, method=method, random_state=0)
    assert labels.max() < 3


@every_method
def test_more_clusters_than_base_clusters_work(method):
    ens = random_ensemble(60, 2, 3, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labels = consensus(ens, ens.n_base_clusters + 2, method=method, random_state=0)
    assert labels.min() == 0


@every_method
def test_missing_labels_do_not_hide_clear_clusters(method):
    ens = random_ensemble(200, 12, 3, seed=2, missing=0.2, noise=0.05)
    full = random_ensemble(200, 12, 3, seed=2, missing=0.0, noise=0.05)
    one = consensus(ens, 3, method=method, random_state=0)
    other = consensus(full, 3, method=method, random_state=0)
    # Parts of equal size are not these clusters: some objects go elsewhere.
    assert ari(one, other) > (0.85 if method == "hbgf" else 0.9)


@every_method
def test_an_object_in_no_clustering_gets_minus_one_and_one_warning(method):
    table = np.repeat([[0, 0, 0], [1, 1, 1]], 5, axis=0)
    table[3] = -1
    with pytest.warns(UserWarning, match="1 of 10 objects are in no") as caught:
        labels = consensus(table, 2, method=method, random_state=0)
    assert len(caught) == 1
    assert labels.tolist() == [0, 0, 0, -1, 0, 1, 1, 1, 1, 1]


@every_method
def test_permuting_objects_gives_the_same_partition(method):
    for seed in range(3):
        ens = random_ensemble(120, 10, 5, seed=seed, noise=0.4)
        order = np.random.default_rng(seed).permutation(ens.n_objects)
        one = consensus(ens, 5, method=method, random_state=0)
        other = consensus(ens.take(order), 5, method=method, random_state=0)
        assert partition_of(one[order]) == partition_of(other)


@every_method
def test_labels_do_not_depend_on_n_jobs(method):
    ens = random_ensemble(150, 10, 5, seed=4, noise=0.4)
    one, two, five = (
        consensus(ens, 5, method=method, random_state=0, n_jobs=j) for j in (1, 2, 5)
    )
    assert np.array_equal(one, two)
    assert np.array_equal(one, five)


@pytest.mark.slow
@every_method
def test_a_list_of_k_gives_what_each_k_gives(method):
    ens = random_ensemble(100, 8, 4, seed=5)
    several = consensus(ens, [2, 4], method=method, random_state=3)
    assert several.shape == (100, 2)
    for column, k in zip(several.T, (2, 4), strict=True):
        alone = consensus(ens, k, method=method, random_state=3)
        assert np.array_equal(column, alone)


@every_method
def test_fit_on_labels_is_consensus(method):
    ens = random_ensemble(60, 8, 4, seed=6)
    model = make(method, n_clusters=4, base="precomputed", random_state=1)
    frame = pd.DataFrame(ens.labels).replace(-1, np.nan)
    assert np.array_equal(
        model.fit(frame).labels_, consensus(ens, 4, method=method, random_state=1)
    )
    assert model.ensemble_ == ens
    assert model.n_clusters_ == 4
    assert model.n_features_in_ == 8


@every_method
def test_fit_on_features_finds_clear_clusters(method):
    y = load_iris().target
    model = make(method, n_clusters=3, random_state=0, n_clusterings=10)
    labels = model.fit_predict(X)
    assert ari(labels, y) > 0.4
    assert model.ensemble_.n_objects == 150
    assert model.ensemble_.cluster_counts.min() >= 3


@pytest.mark.slow
@every_method
def test_a_model_survives_pickling(method, tmp_path):
    model = make(method, n_clusters=3, random_state=1, n_clusterings=5).fit(X)
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.predict(X), model.labels_)


@every_method
def test_predict_gives_training_objects_their_labels_in_any_subset(method):
    model = make(method, n_clusters=3, random_state=0, n_clusterings=6).fit(X)
    assert np.array_equal(model.predict(X), model.labels_)
    assert np.array_equal(model.predict(X[40:90:7]), model.labels_[40:90:7])
    if not hasattr(model, "memberships"):
        return
    shares = model.memberships()
    assert shares.shape == (150, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.array_equal(model.memberships(X), shares)
    assert np.array_equal(model.predict_proba(X), shares)


def test_relabelling_and_permuting_clusterings_keep_the_partition():
    for method in ("ecpcs-hc", "ecpcs-mc", "wct"):
        for seed in range(3):
            ens = random_ensemble(150, 15, 5, seed=seed, noise=0.35)
            rng = np.random.default_rng(seed)
            labels = ens.labels[:, rng.permutation(15)].copy()
            for m in range(15):
                labels[:, m] = rng.permutation(labels[:, m].max() + 1)[labels[:, m]]
            one = consensus(ens, 5, method=method, random_state=0)
            other = consensus(labels, 5, method=method, random_state=0)
            assert partition_of(one) == partition_of(other), (method, seed)


def test_mc_on_labels_predicts_rows_of_labels():
    ens = random_ensemble(80, 6, 3, seed=7)
    model = ensclust.ECPCSMC(3, base="precomputed", random_state=0).fit(ens)
    assert np.array_equal(model.predict(ens.labels[10:20]), model.labels_[10:20])
    unknown = np.full((1, 6), 99)
    assert model.predict(unknown).tolist() == [-1]


@every_method
@pytest.mark.parametrize("n_equal", [2, 3, 4])
def test_few_equal_clusterings_are_returned_when_k_fits(method, n_equal):
    truth = np.repeat([0, 1, 2], [5, 7, 4])
    table = np.column_stack([truth] * n_equal)
    assert consensus(table, 3, method=method, random_state=0).tolist() == truth.tolist()


def test_predict_refuses_other_features_in_the_estimators_name():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ensclust.ECPCSMC(3, random_state=0, n_clusterings=4).fit(frame)
    assert np.array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a", "c", "d"]])
    model.fit(X)
    with pytest.raises(ValueError, match="ECPCSMC is expecting 4 features"):
        model.predict(X[:, :2])


def test_meta_labels_carry_the_numbers_of_the_labels():
    ens = random_ensemble(80, 6, 3, seed=8, noise=0.1)
    model = ensclust.ECPCSMC(3, base="precomputed", random_state=0).fit(ens)
    winner = model.memberships().argmax(axis=1)
    assert (winner == model.labels_).mean() > 0.9


def test_another_cut_of_hc_is_free():
    model = ensclust.ECPCSHC(3, random_state=0).fit(X)
    assert model.dendrogram_.cut(3).tolist() == model.labels_.tolist()
    assert len(np.unique(model.dendrogram_.cut(7))) == 7


def test_lifetime_picks_the_clear_number_of_clusters():
    ens = random_ensemble(200, 10, 4, seed=9, noise=0.05)
    labels = consensus(ens, "lifetime", method="eac")
    assert labels.max() == 3


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (0, ValueError, "n_clusters=0 is less than 1"),
        (-1, ValueError, "n_clusters=-1 is less than 1"),
        (41, ValueError, "n_clusters=41 is larger than n_samples=40"),
        (2.5, TypeError, "n_clusters=2.5 is a float"),
        ("a", TypeError, "n_clusters='a' is a str"),
        (True, TypeError, "n_clusters=True is a bool"),
        (None, TypeError, "n_clusters=None"),
        ([], ValueError, "is empty"),
        ([2, 99], ValueError, "n_clusters=99 is larger"),
    ],
)
def test_a_number_of_clusters_that_cannot_be_is_refused(k, error, message):
    with pytest.raises(error, match=message):
        consensus(random_ensemble(40, 4, 3, seed=0), k)


@every_method
def test_an_estimator_refuses_a_wrong_parameter_by_name(method):
    for name, value in (("n_clusters", 0), ("n_clusterings", 0), ("base_k", "a")):
        model = make(method, **{name: value})
        with pytest.raises(ValueError, match=name):
            model.fit(X)


def test_an_unknown_method_or_parameter_is_refused_with_the_list():
    with pytest.raises(ValueError, match=r"'ecpcs' is not supported.*'ecpcs-mc'"):
        consensus([[0], [1]], 1, method="ecpcs")
    with pytest.raises(TypeError, match=r"no parameter 'stepz'.*steps"):
        consensus([[0], [1]], 1, stepz=3)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("ecpcs-hv", "ecpcs-hc"),
        ("ECPCS_MC", "ecpcs-mc"),
        ("kmode", "kmodes"),
        ("eca", "eac"),
        ("comunities", "communities"),
    ],
)
def test_a_misspelt_method_is_refused_with_the_nearest_name(typed, meant):
    asked = rf"method='{typed}' is not supported.*Did you mean '{meant}'\?$"
    with pytest.raises(ValueError, match=asked):
        consensus([[0], [1]], 1, method=typed)
    with pytest.raises(ValueError, match=rf"Did you mean '{meant}'\?$"):
        compare([[0], [1]], 1, methods=["eac", typed])


def test_no_name_is_suggested_where_none_is_near():
    with pytest.raises(ValueError, match=r"'quantum' is not supported.*'em'\.$"):
        consensus([[0], [1]], 1, method="quantum")


def test_the_table_of_methods_is_public():
    assert ensclust.methods() == list(METHODS)
    for cls in METHODS.values():
        assert getattr(ensclust, cls.__name__) is cls


def test_consensus_of_pandas_keeps_the_index():
    ens = random_ensemble(60, 8, 4, seed=6)
    alone = consensus(ens, 4, random_state=1)
    frame = pd.DataFrame(ens.labels, index=[f"cell {i}" for i in range(60)])
    series = [frame[m] for m in frame]
    for labels in (frame, series):
        found = consensus(labels, 4, random_state=1)
        assert isinstance(found, pd.Series)
        assert found.name == "consensus"
        assert found.index.equals(frame.index)
        assert found.tolist() == alone.tolist()
    several = consensus(frame, [3, 4], random_state=1)
    assert several.columns.tolist() == ["k3", "k4"]
    assert several.index.equals(frame.index)
    assert several["k4"].tolist() == alone.tolist()
    assert isinstance(consensus(frame.to_numpy(), 4, random_state=1), np.ndarray)


def test_consensus_takes_an_ensemble_without_copying_it():
    ens = Ensemble([[0, 0], [1, 1]])
    assert Ensemble(ens).columns is ens.columns
