import warnings

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, Birch, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import SkipTestWarning
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import check_estimator

from ensclust import EnsembleGenerator, generate
from ensclust._generate.generation import default_base_k, draw_base_k

X = load_iris().data


def test_the_same_seed_gives_the_same_ensemble_for_any_n_jobs():
    first = generate(X, 8, random_state=3, n_jobs=1)
    for n_jobs in (2, 5, None):
        assert generate(X, 8, random_state=3, n_jobs=n_jobs) == first
    assert generate(X, 8, random_state=4) != first


def test_k_is_drawn_from_2_to_the_root_of_n():
    counts = generate(X, 60, random_state=0).cluster_counts
    assert counts.min() == 2
    assert counts.max() == 12


@pytest.mark.parametrize(
    ("base_k", "n", "expected"),
    [
        (None, 10_000_000, (2, 100)),
        (None, 400, (2, 20)),
        (None, 3, (2, 2)),
        (None, 1, (1, 1)),
        ((3, 5), 100, (3, 5)),
        (7, 100, (7, 7)),
    ],
)
def test_base_k_gives_the_range_of_k(base_k, n, expected):
    ks = draw_base_k(base_k, n, 3000, np.random.RandomState(0))
    assert (min(ks), max(ks)) == expected


@pytest.mark.parametrize(
    ("ks", "expected"),
    [
        ([None], (2, 20)),
        (["auto"], (2, 20)),
        (["auto", 7], (2, 20)),
        ([9, 7], (7, 20)),
        ([1], (2, 20)),
        ([30], (30, 30)),
    ],
)
def test_a_range_begins_at_the_least_number_wanted(ks, expected):
    assert default_base_k(400, ks) == expected


def test_a_list_gives_one_k_per_clustering():
    assert generate(X, 3, base_k=[2, 5, 3], random_state=0).cluster_counts.tolist() == [
        2,
        5,
        3,
    ]


@pytest.mark.parametrize(
    ("base_k", "message"),
    [
        (0, "1 and 150"),
        (151, "151 clusters of n_samples=150"),
        ((5, 3), "lower end above"),
        ([2, 3], "n_clusterings=4"),
        ((2, 3, 4), "expected an integer, a pair"),
        ("many", "base_k='many'"),
        ((0, 3), "base_k=0"),
        ((2, 151), "2 to 151 clusters"),
    ],
)
def test_a_base_k_that_cannot_be_is_refused(base_k, message):
    with pytest.raises(ValueError, match=message):
        generate(X, 4, base_k=base_k)


@pytest.mark.parametrize("n_clusterings", [0, -1, 2.5, True, "a"])
def test_the_number_of_clusterings_must_be_a_positive_integer(n_clusterings):
    with pytest.raises(ValueError, match=f"n_clusterings={n_clusterings!r}"):
        generate(X, n_clusterings)


def test_labels_are_those_of_the_nearest_centre():
    generator = EnsembleGenerator(4, random_state=0).fit(X)
    values = zip(generator.ensemble_.labels.T, generator.models_, strict=True)
    for labels, model in values:
        placed = generator.frame_.place(X)
        distance = np.linalg.norm(placed[:, None] - model.centres, axis=2)
        nearest = distance[np.arange(len(X)), labels]
        assert np.allclose(nearest, distance.min(axis=1), atol=1e-5)


def test_a_far_mean_does_not_cost_digits():
    far = generate(X + 1e6, 5, random_state=0)
    assert far == generate(X - X.mean(axis=0), 5, random_state=0)


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e20, 1e100])
def test_the_scale_of_the_features_does_not_matter(scale):
    # Iris is a grid: an object as near to one centre as to another is a matter of
    # rounding, which differs from scale to scale.
    off_grid = X + np.random.default_rng(0).normal(scale=0.01, size=X.shape)
    expected = generate(off_grid, 5, random_state=0)
    assert generate(off_grid * scale, 5, random_state=0) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8])
def test_any_type_of_number_is_taken(dtype):
    table = np.round(X)
    expected = generate(table, 5, random_state=0)
    assert generate(table.astype(dtype), 5, random_state=0) == expected


def test_starts_may_be_random():
    assert generate(X, 5, init="random", random_state=0) != generate(
        X, 5, random_state=0
    )


def test_the_number_of_blas_threads_is_as_before():
    from threadpoolctl import threadpool_info

    def limits():
        return [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]

    before = limits()
    generate(X, 10, random_state=0, n_jobs=4)
    assert limits() == before


@pytest.mark.parametrize(
    "base",
    [
        KMeans(n_init=1),
        GaussianMixture(),
        Birch(threshold=0.1),
        AgglomerativeClustering(),
        [KMeans(n_init=1), AgglomerativeClustering()],
    ],
    ids=lambda base: type(base).__name__,
)
def test_any_clusterer_makes_base_clusterings(base):
    ens = generate(X, 4, base=base, base_k=(3, 6), random_state=0)
    assert ens.n_clusterings == 4
    assert ens.cluster_counts.min() >= 3
    assert ens == generate(X, 4, base=base, base_k=(3, 6), random_state=0, n_jobs=2)


def test_noise_of_hdbscan_is_not_clustered():
    blobs, _ = make_blobs(200, random_state=0)
    ens = generate(blobs, 1, base=HDBSCAN(min_cluster_size=20, copy=True))
    assert ens.has_missing


@pytest.mark.parametrize("base", ["median", object(), [], 5])
def test_a_base_that_is_no_clusterer_is_refused(base):
    with pytest.raises(ValueError, match="base="):
        generate(X, 2, base=base)


def test_new_objects_get_the_labels_of_training_whatever_the_batch():
    generator = EnsembleGenerator(6, random_state=1).fit(X)
    labels = generator.ensemble_.labels
    assert np.array_equal(generator.transform(X), labels)
    assert np.array_equal(generator.transform(X[7:8]), labels[7:8])
    assert np.array_equal(generator.transform(X[::-3]), labels[::-3])


def test_a_clusterer_without_predict_cannot_label_new_objects():
    generator = EnsembleGenerator(2, base=AgglomerativeClustering()).fit(X)
    with pytest.raises(TypeError, match="AgglomerativeClustering cannot label new"):
        generator.transform(X)


def test_the_output_has_names_and_fits_pandas():
    frame = EnsembleGenerator(3, random_state=0).set_output(transform="pandas")
    assert list(frame.fit_transform(X).columns) == [
        "clustering0",
        "clustering1",
        "clustering2",
    ]


@pytest.mark.slow
def test_the_generator_passes_scikit_learns_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(EnsembleGenerator(3), on_fail=None)
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert sum(r["status"] == "passed" for r in results) >= 40


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "best"}, "init='best'"),
        ({"init": np.zeros((3, 4))}, "init="),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"tol": "small"}, "tol='small'"),
        ({"effort": "much"}, "effort='much'.*'auto', 'full'"),
        ({"effort": -1}, "effort=-1"),
        ({"effort": 0.5}, "effort=0.5.*full"),
    ],
)
def test_what_k_means_cannot_do_is_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        generate(X, 2, random_state=0, **options)
