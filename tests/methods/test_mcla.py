"""MCLA: METIS on the graph of base clusters, then a vote."""

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from ensclust import MCLA, Ensemble, consensus, similarity
from ensclust._cuts import partition
from ensclust.metrics import ari, mean_nmi, nmi
from golden_digest import Digest, difference
from strategies import ensembles, random_ensemble

GOLDEN = ("tiny", "wine_z", "digits_raw")
PARTITIONERS = ("metis", "ncut")


def quietly(labels, k, **options):
    """Return the consensus, without the warning that it has fewer clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return consensus(labels, k, "mcla", **options)


def literal_scores(ensemble, meta_labels):
    """Return the mean membership of each object in each meta-cluster."""
    H = reference.membership(ensemble)
    k = meta_labels.max() + 1
    return np.stack([H[:, meta_labels == j].mean(axis=1) for j in range(k)], axis=1)


@pytest.fixture
def graph():
    ensemble = random_ensemble(200, 8, 6, 0)
    return similarity.jaccard(ensemble), ensemble.sizes


def test_metis_balances_the_sizes_of_parts(graph):
    W, sizes = graph
    parts = partition.metis(W, sizes, 4, seeds=[5])[0]
    weight = np.bincount(parts, sizes)
    assert len(weight) == 4
    assert weight.max() <= 1.2 * weight.mean()


def test_metis_repeats_itself_in_any_thread(graph):
    seeds = list(range(8))
    first = partition.metis(*graph, 4, seeds=seeds)
    with ThreadPoolExecutor(4) as pool:
        others = pool.map(lambda _: partition.metis(*graph, 4, seeds=seeds), range(8))
        for other in others:
            np.testing.assert_array_equal(first, other)
    assert len(np.unique(first, axis=0)) > 1


def test_metis_ignores_the_diagonal_and_the_scale(graph):
    W, sizes = graph
    expected = partition.metis(W, sizes, 3)
    np.fill_diagonal(W, 0)
    np.testing.assert_array_equal(partition.metis(7 * W, 3 * sizes, 3), expected)


@given(st.integers(1, 12), st.data())
def test_metis_takes_any_graph(n, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    density = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    W = np.where(rng.random((n, n)) < density, rng.random((n, n)) ** 9, 0)
    sizes = rng.integers(0, 10 ** rng.integers(1, 7), n)
    k = data.draw(st.integers(1, n))
    parts = partition.metis(W + W.T, sizes, k)
    assert parts.shape == (1, n)
    assert parts.min() >= 0
    assert parts.max() < k


def test_a_giant_cluster_leaves_no_part_empty(capfd):
    W = np.ones((20, 20))
    sizes = np.array([10**6] + [1] * 19)
    parts = partition.metis(W, sizes, 8)[0]
    assert len(np.unique(parts)) == 8
    assert capfd.readouterr().out == ""


@given(ensembles(missing=False), st.data())
def test_mean_nmi_is_the_mean_of_pairs(ensemble, data):
    labels = data.draw(
        st.lists(
            st.integers(0, 3),
            min_size=ensemble.n_objects,
            max_size=ensemble.n_objects,
        )
    )
    expected = np.mean([nmi(labels, column) for column in ensemble.labels.T])
    assert mean_nmi(ensemble, np.array(labels)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", GOLDEN)
def test_jaccard_matches_the_published_code(golden, name):
    stored = golden(f"mcla_{name}")
    ensemble = Ensemble(stored["labels"])
    np.testing.assert_array_equal(ensemble.sizes, stored["cluster_sizes"])
    found = similarity.jaccard(ensemble)
    found = found.astype(np.float32 if name == "digits_raw" else np.float64)
    rounded = 1e-12 if isinstance(stored, Digest) else 0.0
    assert difference(found, stored, "jaccard") <= rounded


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("seed", range(3))
def test_labels_share_as_much_as_those_of_the_published_code(golden, name, seed):
    stored = golden(f"mcla_{name}")
    ensemble = Ensemble(stored["labels"])
    ks = stored["ks"].tolist()
    labels = consensus(ensemble, ks, "mcla", random_state=seed)
    for a, k in enumerate(ks):
        assert labels[:, a].max() == k - 1
        shared = np.mean([nmi(labels[:, a], column) for column in ensemble.labels.T])
        assert shared >= stored["mcla_anmi"][a].min() - 1e-9


@pytest.mark.parametrize("name", GOLDEN)
def test_stored_parts_lead_to_the_stored_labels(golden, name):
    """The published vote draws near ties: there either side is right."""
    from ensclust._cuts.voting import Vote

    stored = golden(f"mcla_{name}")
    ensemble = Ensemble(stored["labels"])
    for a in range(len(stored["ks"])):
        for s in range(3):
            parts = np.unique(stored["metis_parts"][:, a, s], return_inverse=True)[1]
            labels = Vote(parts, 0).label(ensemble)
            scores = np.sort(literal_scores(ensemble, parts), axis=1)
            is_clear = scores[:, -1] - scores[:, -2] > 1e-3
            published = stored["mcla_labels"][is_clear, a, s]
            assert ari(labels[is_clear], published) == 1


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@given(ensemble=ensembles(), data=st.data())
def test_any_ensemble_gets_labels(partitioner, ensemble, data):
    k = data.draw(st.integers(1, ensemble.n_objects))
    model = MCLA(
        k, base="precomputed", partitioner=partitioner, n_init=3, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labels = model.fit_predict(ensemble.labels)
    assert set(labels) == set(range(model.n_clusters_))
    assert model.n_clusters_ <= k
    scores = literal_scores(ensemble, model.meta_labels_)
    won = scores[np.arange(len(labels)), labels]
    np.testing.assert_allclose(won, scores.max(axis=1))
    is_clear = (scores > scores.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) == 1
    predicted = model.predict(ensemble.labels)
    np.testing.assert_array_equal(predicted[is_clear], labels[is_clear])


@pytest.mark.parametrize("partitioner", PARTITIONERS)
@given(ensemble=ensembles(), data=st.data())
def test_partition_does_not_depend_on_the_order_of_objects(partitioner, ensemble, data):
    k = data.draw(st.integers(1, ensemble.n_objects))
    order = np.array(data.draw(st.permutations(range(ensemble.n_objects))))
    options = {"partitioner": partitioner, "random_state": 3, "n_init": 3}
    labels = quietly(ensemble, k, **options)
    permuted = quietly(ensemble.take(order), k, **options)
    assert ari(permuted, labels[order]) == 1


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_labels_do_not_depend_on_n_jobs(missing):
    ensemble = random_ensemble(500, 8, 5, 2, missing=missing)
    runs = [
        consensus(ensemble, [2, 5], "mcla", random_state=0, n_jobs=n_jobs)
        for n_jobs in (1, 2, 5)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


def test_random_state_decides_and_more_runs_share_no_less():
    ensemble = random_ensemble(300, 10, 6, 5, noise=0.6)
    for seed in range(3):
        one, again, many = (
            quietly(ensemble, 6, random_state=seed, n_init=n_init)
            for n_init in (1, 1, 20)
        )
        np.testing.assert_array_equal(one, again)
        assert mean_nmi(ensemble, many) >= mean_nmi(ensemble, one)


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_one_clustering_comes_back(partitioner):
    labels = np.repeat([2, 0, 1, 5], 3)[:, None]
    found = consensus(labels, 4, "mcla", partitioner=partitioner, random_state=0)
    assert ari(found, labels[:, 0]) == 1


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_more_clusters_than_base_clusters_warns(partitioner):
    labels = np.repeat([0, 1, 2], 4)[:, None]
    with pytest.warns(UserWarning, match="formed 3 of n_clusters=5 clusters"):
        found = consensus(labels, 5, "mcla", partitioner=partitioner, random_state=0)
    assert found.tolist() == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("partitioner", PARTITIONERS)
def test_duplicate_clusterings(partitioner):
    truth = np.repeat(np.arange(3), 10)
    labels = np.column_stack([truth] * 5)
    found = consensus(labels, 3, "mcla", partitioner=partitioner, random_state=0)
    assert ari(found, truth) == 1


def test_an_object_of_no_clustering_gets_no_cluster():
    labels = np.array([[0, 0], [0, 0], [-1, -1], [1, 1], [1, -1]])
    with pytest.warns(UserWarning, match="1 of 5 objects are in no base"):
        found = consensus(labels, 2, "mcla", random_state=0)
    assert found.tolist() == [0, 0, -1, 1, 1]


def test_without_pymetis_the_error_names_both_ways_out(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    labels = random_ensemble(30, 4, 3, 0).labels
    with pytest.raises(ImportError) as caught:
        consensus(labels, 3, "mcla")
    assert 'pip install "ensclust[metis]"' in str(caught.value)
    assert 'partitioner="ncut"' in str(caught.value)
    assert consensus(labels, 3, "mcla", partitioner="ncut").max() == 2
