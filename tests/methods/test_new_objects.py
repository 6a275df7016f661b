"""Objects that come after fit: predict, saved models, and what a model holds."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import (
    DBSCAN,
    AgglomerativeClustering,
    Birch,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import train_test_split

from ensclust import EAC, ECPCSMC, Ensemble
from ensclust._methods import METHODS, make
from ensclust.metrics import ari
from strategies import random_ensemble

every_method = pytest.mark.parametrize("method", METHODS)
X, y = make_blobs(300, n_features=6, centers=4, random_state=0)


@every_method
def test_new_objects_get_the_cluster_they_belong_to(method):
    train, new, _, truth = train_test_split(X, y, test_size=0.3, random_state=0)
    model = make(method, n_clusters=4, n_clusterings=8, random_state=0).fit(train)
    assert np.array_equal(model.predict(train), model.labels_)
    assert ari(model.predict(new), truth) > 0.9


@every_method
def test_rows_of_labels_are_predicted_too_and_unknown_ones_are_not(method):
    ens = random_ensemble(80, 6, 3, seed=7, missing=0.2)
    model = make(method, n_clusters=3, base="precomputed", random_state=0).fit(ens)
    assert np.array_equal(model.predict(ens.labels[10:20]), model.labels_[10:20])
    rows = np.vstack([np.full(6, 99), np.full(6, -1)])
    assert model.predict(rows).tolist() == [-1, -1]
    one_known = ens.labels[:1].copy()
    one_known[0, 1:] = 99
    assert model.predict(one_known)[0] in range(3)


@every_method
def test_objects_of_no_clustering_are_predicted_as_such(method):
    table = np.repeat([[0, 0, 0], [1, 1, 1]], 5, axis=0)
    table[3] = -1
    model = make(method, n_clusters=2, base="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="1 of 10 objects are in no"):
        model.fit(table)
    assert np.array_equal(model.predict(table), model.labels_)
    with pytest.warns(UserWarning, match="3 of 3 objects are in no"):
        model.fit(np.full((3, 2), -1))
    assert model.predict([[0, 0]]).tolist() == [-1]


def test_an_array_of_zarr_is_predicted_like_any_other():
    zarr = pytest.importorskip("zarr")
    table = random_ensemble(40, 5, 3, seed=0).labels
    model = ECPCSMC(3, base="precomputed", random_state=0).fit(table)
    stored = zarr.array(table, chunks=(9, 5))
    np.testing.assert_array_equal(model.predict(stored), model.labels_)


def test_predict_before_fit_and_with_other_columns_is_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        EAC(3).predict(X)
    model = EAC(2, base="precomputed").fit([[0, 0], [1, 1]])
    with pytest.raises(ValueError, match="labels has 1 columns; the ensemble has 2"):
        model.predict([[0]])


@pytest.mark.parametrize(
    "base",
    [
        KMeans(n_init=1),
        MiniBatchKMeans(n_init=1),
        GaussianMixture(),
        Birch(),
        [KMeans(n_init=1), GaussianMixture()],
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["ecpcs-mc", "ecpcs-hc", "kcc"])
def test_any_clusterer_with_predict_labels_new_objects(base, method):
    model = make(method, n_clusters=4, n_clusterings=4, base=base, random_state=0)
    model.fit(X)
    assert np.array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("base", [AgglomerativeClustering(), DBSCAN(eps=5)], ids=str)
def test_a_clusterer_without_predict_says_so(base):
    model = ECPCSMC(3, 1, base=base, base_k=4).fit(X)
    with pytest.raises(TypeError, match=r"cannot label new objects.*precomputed"):
        model.predict(X)


LOAD = """
import sys, warnings
from pathlib import Path
import numpy as np
warnings.simplefilter("error")
folder, kind = Path(sys.argv[1]), sys.argv[2]
X = np.load(folder / "X.npy")
for path in folder.glob("*.model"):
    if kind == "skops":
        import skops.io
        unknown = skops.io.get_untrusted_types(file=path)
        assert all(name.startswith("ensclust.") for name in unknown), unknown
        model = skops.io.load(path, trusted=unknown)
    else:
        import joblib
        model = joblib.load(path)
    assert np.array_equal(model.predict(X), model.labels_), path
    assert np.array_equal(model.labels_, np.load(path.with_suffix(".npy"))), path
    if hasattr(model, "memberships"):
        assert np.array_equal(model.memberships(X), model.memberships())
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["joblib", "skops"])
def test_saved_models_predict_in_a_fresh_process(kind, tmp_path):
    skops = pytest.importorskip("skops.io") if kind == "skops" else None
    np.save(tmp_path / "X.npy", X)
    for method in METHODS:
        model = make(method, n_clusters=3, n_clusterings=5, random_state=0).fit(X)
        model.predict(X)  # what predict keeps must be saved too
        (skops or joblib).dump(model, tmp_path / f"{method}.model")
        np.save(tmp_path / f"{method}.npy", model.labels_)
    command = [sys.executable, "-c", LOAD, str(tmp_path), kind]
    subprocess.run(command, check=True)


@pytest.mark.parametrize(
    "base",
    [
        AgglomerativeClustering(),
        SpectralClustering(),
        [DBSCAN(eps=5), DBSCAN(eps=6), DBSCAN(eps=7)],
    ],
    ids=str,
)
def test_a_model_of_clusterers_without_predict_has_the_same_size_for_any_d(base):
    sizes = []
    for d in (2, 200):
        wide = np.hstack([X[:, :2], np.zeros((len(X), d - 2))])
        model = EAC(1, 3, base=base, base_k=5, random_state=0).fit(wide)
        sizes.append(len(pickle.dumps(model)))
    assert abs(sizes[0] - sizes[1]) < 100


@every_method
def test_a_model_is_much_smaller_than_its_data(method):
    rng = np.random.default_rng(0)
    wide = np.repeat(X, 10, axis=0)[:, np.arange(400) % 6]
    wide = wide + rng.normal(scale=0.1, size=wide.shape)
    model = make(method, n_clusters=3, n_clusterings=5, base_k=5, random_state=0)
    model.fit(wide)
    assert len(pickle.dumps(model)) < wide.nbytes / 20


def test_a_label_frame_with_other_columns_is_refused():
    frame = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]})
    model = ECPCSMC(2, base="precomputed", random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["b", "a"]])
    assert model.predict(frame).tolist() == model.labels_.tolist()
    model.fit(Ensemble(frame))
    assert model.predict(frame.to_numpy()).tolist() == model.labels_.tolist()
