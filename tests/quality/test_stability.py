"""Replicates of one clusterer."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ensclust
from bad_input import RUNS, refused, table
from ensclust import Blocks, stability

X, TRUTH = make_blobs([30, 20, 10], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


class Halves(ClusterMixin, BaseEstimator):
    """Two clusters, by where an object stands among those that are seen."""

    def fit(self, X, y=None):
        self.labels_ = (np.arange(len(X)) >= len(X) / 2).astype(int)
        return self


def test_clear_clusters_come_back_and_arbitrary_ones_do_not():
    clear = stability(KMeans(3, n_init=5), X, 10, random_state=0)
    assert (clear.objects == 1).all()
    assert (clear.clusters == 1).all()
    assert (clear.ari == 1).all()
    rest = stability(KMeans(9, n_init=1), X, 10, random_state=0)
    assert rest.clusters.min() < 0.75
    assert rest.objects.min() < 1


def test_values_are_those_of_their_definitions():
    found = stability(KMeans(5, n_init=1), X, 8, random_state=1)
    assert found.drawn.sum(axis=0).tolist() == [48] * 8
    assert ((found.replicates >= 0) == found.drawn).all()
    for m in range(8):
        seen, own = found.drawn[:, m], found.replicates[:, m]
        expected = adjusted_rand_score(found.labels[seen], own[seen])
        assert found.ari[m] == pytest.approx(expected)
        for j in range(5):
            here = seen & (found.labels == j)
            scores = [
                (here & (own == c)).sum() / (here | (seen & (own == c))).sum()
                for c in np.unique(own[seen])
            ]
            assert found.jaccard[m, j] == pytest.approx(max(scores))
    assert np.allclose(found.clusters, found.jaccard.mean(axis=0))
    again = (found.replicates == found.labels[:, None]) & found.drawn
    assert np.allclose(found.objects, again.sum(axis=1) / found.drawn.sum(axis=1))
    means = [found.objects[found.labels == j].mean() for j in range(5)]
    assert np.allclose(found.to_pandas()["objects"], means)


def test_a_bootstrap_draws_with_replacement():
    found = stability(
        AgglomerativeClustering(3), X, 6, resampling="bootstrap", random_state=0
    )
    share = found.drawn.mean(axis=0)
    assert ((share > 0.45) & (share < 0.8)).all()
    assert (found.clusters > 0.95).all()


def test_noise_is_in_no_cluster():
    far = np.vstack([X, [[50, 50]]])
    found = stability(DBSCAN(eps=2.0), far, 5, random_state=0)
    assert found.labels[-1] == -1
    assert np.isnan(found.objects[-1])
    assert found.sizes.sum() == (found.labels >= 0).sum()
    nothing = stability(DBSCAN(eps=1e-9), far, 3, random_state=0)
    assert nothing.clusters.shape == (0,)
    assert np.isnan(nothing.ari).all()
    assert "in 0 clusters" in repr(nothing)


def test_replicates_can_be_taken_out():
    found = stability(KMeans(5, n_init=1), X, 8, random_state=1)
    for left_out, kept in ((2, [0, 1, 3, 4, 5, 6, 7]), ([0, -1], [1, 2, 3, 4, 5, 6])):
        fewer = found.without(left_out)
        assert np.array_equal(fewer.ari, found.ari[kept])
        assert np.allclose(fewer.clusters, found.jaccard[kept].mean(axis=0))
    assert found.replicates.shape == (60, 8)


def test_results_do_not_depend_on_n_jobs_and_seeds_decide():
    one, two = (
        stability(KMeans(6, n_init=1), X, 6, random_state=3, n_jobs=j) for j in (1, 2)
    )
    assert np.array_equal(one.replicates, two.replicates)
    other = stability(KMeans(6, n_init=1), X, 6, random_state=4)
    assert not np.array_equal(one.drawn, other.drawn)


def test_the_estimators_own_seed_counts_on_all_objects():
    model = KMeans(7, n_init=1, random_state=5)
    found = stability(model, X, 4, max_samples=1.0, random_state=0)
    assert (
        found.labels.tolist()
        == KMeans(7, n_init=1, random_state=5).fit_predict(X).tolist()
    )
    assert found.drawn.all()
    assert not (found.ari == 1).all()
    assert model.random_state == 5
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize(
    "objects", [pd.DataFrame(X, columns=["a", "b"]), X.tolist(), sparse.csr_array(X)]
)
def test_tables_lists_and_sparse_features(objects):
    model = KMeans(3, n_init=5)
    assert (stability(model, objects, 3, random_state=0).clusters == 1).all()


def test_pipelines_and_own_estimators():
    model = make_pipeline(StandardScaler(), KMeans(3, n_init=5))
    found = stability(model, X, 3, random_state=0)
    assert (found.clusters == 1).all()
    assert max(map(len, repr(found).splitlines())) <= 80
    own = ensclust.ECPCSMC(3, n_clusterings=5)
    assert stability(own, X, 3, random_state=0).clusters.min() > 0.9
    assert stability(Halves(), X, 3, random_state=0).clusters.min() > 0.5


def of(estimator=None, X=X, **options):
    model = KMeans(3, n_init=1) if estimator is None else estimator
    return lambda: stability(model, X, **({"n": 2} | options))


@table(
    (of(KMeans), "estimator is the class KMeans. Pass an instance"),
    (of("kmeans"), "estimator='kmeans' is not a clusterer"),
    (of(StandardScaler()), r"estimator=StandardScaler\(\) is not a clusterer"),
    (of(X=RUNS), "X is of type Ensemble; expected features in memory"),
    (of(X="data.csv"), "X is of type str; expected features in memory"),
    (of(X=Blocks(X)), "X is of type Blocks; expected features in memory"),
    (of(X=np.array(1)), "Input should have at least 1 dimension"),
    (of(n=0), "n=0; expected an integer >= 1"),
    (of(n="a"), "n='a'; expected an integer"),
    (of(max_samples=0), "max_samples=0; expected a share"),
    (of(max_samples=61), "max_samples=61; expected a share .* from 1 to 60"),
    (
        of(max_samples=2, n_jobs=1),
        r"estimator failed on 2 of 60 objects: n_samples=2 should be",
    ),
    (of(resampling="jackknife"), "resampling='jackknife' is not supported"),
    (of(random_state="a"), "random_state='a'; expected"),
    (of(n_jobs=0), "n_jobs=0 is not supported"),
    (lambda: of()().without(2), "replicates=2 is not a valid index for 2"),
    (lambda: of()().without([0, 1]), r"replicates=\[0, 1\] leaves none of 2"),
)
def test_other_calls_are_refused(call, words):
    refused(call, words)
