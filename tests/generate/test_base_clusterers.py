"""Base clusterings by real clusterers, on parts of the data, from any container."""

import threading
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    Birch,
    BisectingKMeans,
    KMeans,
    MeanShift,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.datasets import load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensclust import ECPCSHC, ECPCSMC, EnsembleGenerator, consensus, generate
from ensclust._generate.clusterers import View, configured
from ensclust.metrics import ari

X, y = load_iris(return_X_y=True)
BLOBS, GROUPS = make_blobs(200, n_features=5, centers=4, random_state=0)

CLUSTERERS = [
    "kmeans",
    KMeans(n_init=1),
    MiniBatchKMeans(n_init=1),
    BisectingKMeans(),
    GaussianMixture(),
    BayesianGaussianMixture(),
    Birch(),
    SpectralClustering(assign_labels="cluster_qr"),
    AgglomerativeClustering(),
    MeanShift(bandwidth=5.0, bin_seeding=True),
    DBSCAN(eps=3.0),
    HDBSCAN(copy=True),
    make_pipeline(StandardScaler(), PCA(2), KMeans(n_init=1)),
]
every_clusterer = pytest.mark.parametrize("base", CLUSTERERS, ids=str)
PARTS = {"max_samples": 0.7, "max_features": 0.6, "projection": 2}


class Threaded(KMeans):
    """A clusterer that remembers in which thread each copy was fitted."""

    threads: ClassVar[set[int]] = set()

    def __init__(self, n_clusters=3, *, n_init=1, random_state=None, n_jobs=None):
        super().__init__(n_clusters, n_init=n_init, random_state=random_state)
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None):
        self.threads.add(threading.get_ident())
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("wrap", [lambda base: base, make_pipeline])
def test_clusterers_with_threads_of_their_own_are_run_one_at_a_time(wrap):
    Threaded.threads.clear()
    generate(BLOBS, 6, base=wrap(Threaded()), base_k=3, random_state=0, n_jobs=3)
    assert Threaded.threads == {threading.get_ident()}


@every_clusterer
def test_a_clusterer_makes_the_same_ensemble_for_any_n_jobs(base):
    settings = {"base_k": (3, 5), "random_state": 0, **PARTS}
    one = generate(BLOBS, 4, base=base, n_jobs=1, **settings)
    assert one.n_clusterings == 4
    for n_jobs in (2, 5):
        assert generate(BLOBS, 4, base=base, n_jobs=n_jobs, **settings) == one
    assert generate(BLOBS, 4, base=base, **{**settings, "random_state": 1}) != one


def test_clusterers_of_all_kinds_in_one_ensemble_find_the_groups():
    ens = generate(BLOBS, len(CLUSTERERS), base=CLUSTERERS, base_k=4, random_state=0)
    for method in ("ecpcs-mc", "ecpcs-hc", "kcc"):
        assert ari(consensus(ens, 4, method=method, random_state=0), GROUPS) > 0.95


@pytest.mark.parametrize(
    ("clusterer", "expected"),
    [
        (KMeans(), {"n_clusters": 7, "random_state": 5}),
        (GaussianMixture(), {"n_components": 7, "random_state": 5}),
        (
            SpectralClustering(n_components=3),
            {"n_clusters": 7, "n_components": 3, "random_state": 5},
        ),
        (
            AgglomerativeClustering(n_clusters=None, distance_threshold=1.0),
            {"n_clusters": None},
        ),
        (Birch(n_clusters=None), {"n_clusters": None}),
        (DBSCAN(eps=2.0), {"eps": 2.0}),
        (
            make_pipeline(PCA(2), KMeans()),
            {
                "pca__n_components": 2,
                "pca__random_state": 5,
                "kmeans__n_clusters": 7,
                "kmeans__random_state": 5,
            },
        ),
    ],
    ids=str,
)
def test_k_and_the_seed_go_where_they_belong(clusterer, expected):
    before = clusterer.get_params()
    parameters = configured(clusterer, 7, 5).get_params()
    assert expected.items() <= parameters.items()
    assert str(clusterer.get_params()) == str(before)


def test_the_range_of_k_holds_for_clusterers_too():
    base = [KMeans(n_init=1), GaussianMixture(), SpectralClustering()]
    ens = generate(BLOBS, 30, base=base, base_k=(2, 4), random_state=0)
    assert set(ens.cluster_counts.tolist()) == {2, 3, 4}


@every_clusterer
def test_objects_not_drawn_are_predicted_or_missing(base):
    generator = EnsembleGenerator(
        3, base=base, base_k=4, max_samples=120, random_state=0
    )
    labels = generator.fit(BLOBS).ensemble_.labels
    if hasattr(generator.models_[0], "predict"):
        assert (labels >= 0).all()
        assert np.array_equal(generator.transform(BLOBS), labels)
    else:
        assert ((labels < 0).sum(axis=0) >= 80).all()
        assert len({tuple(column < 0) for column in labels.T}) == 3


def test_objects_not_drawn_stay_missing_where_noise_is_a_cluster():
    base = HDBSCAN(min_cluster_size=10, copy=True)
    rng = np.random.default_rng(0)
    spread = np.vstack([BLOBS, rng.uniform(-12, 12, (40, 5))])
    settings = {"base": base, "max_samples": 180, "random_state": 0}
    out = generate(spread, 5, **settings)
    own = generate(spread, 5, noise="own-cluster", **settings)
    assert ((out.labels < 0).sum(axis=0) > 60).all()
    assert ((own.labels < 0).sum(axis=0) == 60).all()
    assert np.array_equal(own.cluster_counts, out.cluster_counts + 1)


def test_an_estimator_says_what_the_noise_of_its_clusterers_means():
    spread = np.vstack([BLOBS, np.random.default_rng(0).uniform(-12, 12, (40, 5))])
    base = [HDBSCAN(min_cluster_size=size, copy=True) for size in (8, 10, 12)]
    own = ECPCSHC(5, 3, base=base, noise="own-cluster").fit(spread)
    assert not own.ensemble_.has_missing
    with pytest.warns(UserWarning, match="objects are in no base clustering"):
        out = ECPCSHC(4, 3, base=base).fit(spread)
    noise = out.labels_ < 0
    assert noise[200:].mean() > 0.8
    assert len(np.unique(own.labels_[noise])) == 1


@pytest.mark.parametrize("settings", [{"max_features": 2}, {"max_features": 0.5}])
def test_a_clustering_sees_some_features_only(settings):
    generator = EnsembleGenerator(20, base_k=3, random_state=0, **settings).fit(X)
    seen = [tuple(view.columns) for view in generator.views_]
    assert {len(columns) for columns in seen} == {2}
    assert len(set(seen)) > 3
    for model, view in zip(generator.models_, generator.views_, strict=True):
        hidden = np.setdiff1d(np.arange(4), view.columns)
        assert (model.centres[:, hidden] == 0).all()


def test_k_means_in_a_view_takes_the_nearest_centre_of_the_view():
    """Distances in the view are those of vectors of all features."""
    generator = EnsembleGenerator(8, max_features=3, projection=2, random_state=0)
    labels = generator.fit(X).ensemble_.labels
    placed = generator.frame_.place(X)
    for m, (model, view) in enumerate(
        zip(generator.models_, generator.views_, strict=True)
    ):
        assert view.matrix.shape == (3, 2)
        gain = placed @ model.centres.T - model.half_norms
        kept = np.unique(gain.argmax(axis=1))  # codes leave out empty clusters
        best = gain[:, kept]
        chosen = best[np.arange(len(X)), labels[:, m]]
        assert np.allclose(chosen, best.max(axis=1), atol=1e-5)


def test_vectors_brought_back_have_the_products_of_the_view():
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(6, 5)), rng.normal(size=(4, 2))
    view = View(np.array([0, 2, 3]), rng.normal(size=(3, 2)))
    assert np.allclose(rows @ view.back(centres, 5).T, view.of(rows) @ centres.T)


@pytest.mark.parametrize("base", ["kmeans", KMeans(n_init=1), GaussianMixture()])
def test_new_objects_are_seen_as_the_training_objects_were(base):
    generator = EnsembleGenerator(5, base=base, base_k=4, random_state=0, **PARTS)
    labels = generator.fit(BLOBS).ensemble_.labels
    assert np.array_equal(generator.transform(BLOBS), labels)
    if base == "kmeans":
        assert np.array_equal(generator.transform(BLOBS[7:8]), labels[7:8])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("max_samples", 0, "of the 150 objects .* from 1 to 150"),
        ("max_samples", 0.0, r"max_samples=0.0; expected a share of the 150"),
        ("max_samples", 1.5, "max_samples=1.5"),
        ("max_samples", 151, "from 1 to 150"),
        ("max_samples", True, "max_samples=True"),
        ("max_samples", "half", "max_samples='half'"),
        ("max_features", 5, "of the 4 features .* from 1 to 4"),
        ("projection", 0, "projection=0; expected an integer >= 1"),
        ("projection", 0.5, "projection=0.5"),
        ("noise", "drop", "noise='drop' is not supported"),
    ],
)
def test_a_part_that_cannot_be_is_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        generate(X, 2, **{name: value})


def test_more_clusters_than_drawn_objects_are_refused():
    with pytest.raises(ValueError, match="20 to 20 clusters of n_samples=15"):
        generate(X, 2, base_k=20, max_samples=0.1)


def test_equal_runs_are_told():
    with pytest.warns(UserWarning, match=r"3 base clusterings are equal: DBSCAN"):
        generate(X, 6, base=["kmeans", DBSCAN()], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        generate(X, 2, base=[DBSCAN(), DBSCAN(eps=0.8)])
        generate(X, 3, base=DBSCAN(), max_samples=0.9)
        generate(X, 3, base=AgglomerativeClustering())


def test_a_pipeline_generates_joins_and_predicts():
    model = make_pipeline(
        StandardScaler(),
        EnsembleGenerator(15, base=[KMeans(n_init=1), "kmeans"], random_state=0),
        ECPCSMC(3, base="precomputed", random_state=0),
    )
    labels = model.fit_predict(X)
    assert ari(labels, y) > 0.4
    assert np.array_equal(model.predict(X), labels)


@pytest.mark.parametrize(("kind", "frame"), [("pandas", pd), ("polars", pl)])
def test_frames_come_in_and_go_out(kind, frame):
    table = (
        frame.DataFrame(X, load_iris().feature_names)
        if kind == "polars"
        else (frame.DataFrame(X, columns=load_iris().feature_names))
    )
    generator = EnsembleGenerator(3, random_state=0).set_output(transform=kind)
    out = generator.fit_transform(table)
    assert isinstance(out, frame.DataFrame)
    assert list(out.columns) == ["clustering0", "clustering1", "clustering2"]
    assert generator.ensemble_ == generate(X, 3, random_state=0)
    model = make_pipeline(generator, ECPCSMC(3, base="precomputed", random_state=0))
    assert np.array_equal(model.fit(table).predict(table), model[-1].labels_)
    direct = ECPCSMC(3, n_clusterings=3, random_state=0)
    expected = direct.fit(X).labels_
    assert np.array_equal(direct.fit(table).labels_, expected)
    with pytest.raises(ValueError, match="feature names"):
        direct.predict(table[table.columns[::-1]])


def test_a_grid_search_finds_settings_of_generator_and_consensus():
    model = make_pipeline(
        EnsembleGenerator(8, random_state=0),
        ECPCSMC(base="precomputed", random_state=0),
    )
    grid = {
        "ensemblegenerator__base_k": [4, (4, 8)],
        "ensemblegenerator__max_features": [0.5, 1.0],
        "ecpcsmc__n_clusters": [2, 4],
    }
    search = GridSearchCV(model, grid, scoring="adjusted_rand_score", cv=3)
    search.fit(BLOBS, GROUPS)
    assert search.best_params_["ecpcsmc__n_clusters"] == 4
    assert search.best_score_ > 0.95
    nested = EnsembleGenerator(base=KMeans(n_init=1)).set_params(base__n_init=2)
    assert nested.base.n_init == 2


MARK = np.outer(np.arange(200) < 100, np.arange(60) < 5)
SPARSE = sparse.csr_matrix(
    sparse.random(200, 60, density=0.1, random_state=0) + sparse.csr_matrix(3.0 * MARK)
)


@pytest.mark.parametrize(
    "base", ["kmeans", KMeans(n_init=1), MiniBatchKMeans(n_init=1), DBSCAN(eps=3.0)]
)
@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csc_array])
def test_sparse_features_are_clustered_where_the_clusterer_can(base, container):
    settings = {"base": base, "base_k": 2, "random_state": 0, "max_samples": 0.9}
    generator = EnsembleGenerator(5, **settings).fit(container(SPARSE))
    labels = generator.ensemble_.labels
    if hasattr(generator.models_[0], "predict"):
        assert np.array_equal(generator.transform(container(SPARSE)), labels)
        assert np.array_equal(generator.transform(SPARSE.toarray()), labels)
        assert ari(consensus(labels, 2, random_state=0), np.arange(200) < 100) == 1


def test_k_means_labels_sparse_rows_like_dense_ones():
    model = ECPCSMC(2, 5, base_k=6, random_state=0).fit(SPARSE.toarray())
    assert np.array_equal(model.predict(SPARSE), model.labels_)
    sparse_model = ECPCSMC(2, 5, base_k=6, random_state=0).fit(SPARSE)
    assert np.array_equal(sparse_model.predict(SPARSE.toarray()), sparse_model.labels_)
    assert np.array_equal(sparse_model.predict(SPARSE[5:9]), sparse_model.labels_[5:9])
    origin = sparse_model.generator_.frame_.origin
    assert np.array_equal(origin, np.median(SPARSE.toarray(), axis=0))
    assert 0 < np.count_nonzero(origin) < 60


@pytest.mark.parametrize("settings", [{"max_features": 20}, {"projection": 10}])
def test_sparse_features_are_drawn_and_projected(settings):
    ens = generate(SPARSE, 6, base_k=3, random_state=0, **settings)
    dense = generate(SPARSE.toarray(), 6, base_k=3, random_state=0, **settings)
    assert ens.n_clusterings == dense.n_clusterings == 6
    if "projection" in settings:
        mixture = generate(SPARSE, 2, base=GaussianMixture(), base_k=3, **settings)
        assert mixture.n_objects == 200


@pytest.mark.parametrize("base", [GaussianMixture(), AgglomerativeClustering()])
def test_a_clusterer_that_takes_no_sparse_features_says_so(base):
    message = rf"base={type(base).__name__}\(\) rejected X, a sparse.*\(200, 60\)"
    with pytest.raises(ValueError, match=message):
        generate(SPARSE, 2, base=base, base_k=2)
    with pytest.raises(ValueError, match=r"projection=50.*X.toarray\(\)"):
        ECPCSMC(2, 2, base=base, base_k=2).fit(SPARSE)


def test_sparse_labels_are_refused():
    with pytest.raises(TypeError, match="labels is a sparse"):
        ECPCSMC(2, base="precomputed").fit(SPARSE)
