"""Objects that count as several: as if their label rows were repeated."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bad_input import refused, table
from ensclust import EAC, ECPCSHC, KCC, SRS, Blocks, CustomConsensus
from ensclust._methods import METHODS
from strategies import random_ensemble

X = load_iris().data
MODELS = {name: METHODS[name] for name in METHODS if name != "srs"} | {
    "custom": CustomConsensus,
}


def same_as_repeated(model, labels, times):
    """Assert that weights give what repeated rows give, and leave it fitted by them."""
    objects = np.repeat(np.arange(len(labels)), times)
    model.fit(labels[objects])
    alone, shares = model.labels_, model.memberships(labels)
    later = model.predict(labels)
    model.fit(labels, sample_weight=times)
    assert model.labels_[objects].tolist() == alone.tolist()
    assert model.labels_.tolist() == later.tolist() == model.predict(labels).tolist()
    assert np.allclose(model.memberships(), shares, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_weights_are_repeated_rows(name, missing):
    for seed in range(2):
        labels = random_ensemble(50, 7, 4, seed=seed, missing=missing).labels
        times = np.random.default_rng(seed).integers(0, 5, 50)
        model = MODELS[name](3, base="precomputed", random_state=seed)
        same_as_repeated(model, labels, times)


@pytest.mark.parametrize("linkage", ["average", "single", "complete"])
@pytest.mark.parametrize("max_memory", [1, 2**31])
def test_trees_by_any_route_weigh_objects(linkage, max_memory):
    if linkage != "average" and max_memory == 1:
        return  # needs a matrix
    labels = random_ensemble(60, 7, 4, seed=3).labels
    times = np.random.default_rng(3).integers(0, 9, 60)
    options = {"linkage": linkage, "max_memory": max_memory, "base": "precomputed"}
    same_as_repeated(EAC(4, **options), labels, times)
    same_as_repeated(ECPCSHC(4, weights="agreement", **options), labels, times)
    same_as_repeated(ECPCSHC(4, weights="size", **options), labels, times)


def test_simrank_weighs_objects_where_equal_rows_stay_together():
    labels = np.repeat([[0, 0, 0], [0, 0, 1], [1, 1, 2], [1, 2, 2]], 2, axis=0)
    times = np.array([1, 0, 2, 3, 1, 1, 4, 0])
    same_as_repeated(SRS(2, base="precomputed"), labels, times)


def test_simrank_refuses_weights_where_equal_rows_come_apart():
    labels = random_ensemble(60, 8, 4, seed=0, missing=0.2).labels
    with pytest.raises(ValueError, match="nor sample_weight supports"):
        SRS(3, base="precomputed").fit(labels, sample_weight=np.full(60, 5))


def test_an_object_of_weight_0_has_no_say_and_gets_the_label_of_predict():
    labels = np.repeat([[0, 0, 0], [1, 1, 1], [2, 2, 2]], 3, axis=0)
    labels = np.vstack([[2, 2, 1], labels, [7, 7, 7]])
    times = np.ones(11, int)
    times[[0, 10]] = 0
    model = EAC(3, base="precomputed").fit(labels, sample_weight=times)
    assert model.labels_.tolist() == [2, 0, 0, 0, 1, 1, 1, 2, 2, 2, -1]
    assert model.ensemble_.n_base_clusters == 9
    assert len(model.certainty().item_consensus) == 11
    assert model.dendrogram_.n_objects == 9


def test_features_count_too_and_weights_of_1_change_nothing():
    model = ECPCSHC(3, n_clusterings=5, random_state=0)
    plain = model.fit_predict(X)
    assert model.fit_predict(X, sample_weight=np.ones(150)).tolist() == plain.tolist()
    times = np.arange(150) % 3
    model.fit(X, sample_weight=times)
    assert model.predict(X).tolist() == model.labels_.tolist()
    rows = model.ensemble_.labels[times > 0]
    known = ECPCSHC(3, base="precomputed").fit(rows, sample_weight=times[times > 0])
    assert known.labels_.tolist() == model.labels_[times > 0].tolist()


def test_weights_are_routed():
    times = np.arange(150) % 4
    model = EAC(3, n_clusterings=5, random_state=0)
    alone = model.fit(StandardScaler().fit_transform(X), sample_weight=times).labels_
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        step = EAC(3, n_clusterings=5, random_state=0)
        pipeline = make_pipeline(scaler, step.set_fit_request(sample_weight=True))
        assert (pipeline.fit(X, sample_weight=times)[-1].labels_ == alone).all()
        assert (pipeline.fit_predict(X, sample_weight=times) == alone).all()


def weighted(weight, model=None, X=X):
    model = EAC(3, n_clusterings=3) if model is None else model
    return lambda: model.fit(X, sample_weight=weight)


@table(
    (weighted(np.ones(3)), r"sample_weight is \(3,\) for 150 objects"),
    (weighted(np.ones((150, 2))), r"sample_weight is \(150, 2\) for 150 objects"),
    (weighted("a"), "sample_weight is 'a' for 150 objects"),
    (weighted(["a"] * 150), "sample_weight is .* for 150 objects"),
    (weighted(2), r"sample_weight is \(\) for 150 objects"),
    (weighted(np.full(150, 0.5)), r"sample_weight\[0\] = 0\.5\. Pass 150 whole"),
    (weighted(-np.ones(150)), r"sample_weight\[0\] = -1"),
    (weighted(np.full(150, np.nan)), r"sample_weight\[0\] = nan"),
    (weighted(np.full(150, np.inf)), "sample_weight adds up to inf objects"),
    (weighted(np.full(150, 10**7)), r"adds up to 1\.5e\+09 objects; at most 100,000,"),
    (weighted(np.zeros(150)), "every sample_weight is zero"),
    (weighted(np.ones(150), EAC("auto")), "sample_weight cannot be combined"),
    (weighted(np.ones(150), KCC(2, init=[0, 1])), "sample_weight and an init of"),
    (weighted(np.ones(150), X=Blocks(X)), "sample_weight needs X in memory"),
)
def test_other_weights_are_refused(call, words):
    refused(call, words)
