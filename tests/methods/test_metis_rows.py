"""CSPA and HBGF: METIS on graphs of label rows, alone or with base clusters."""

import hashlib
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from ensclust import Blocks, CoAssociation, Ensemble, consensus
from ensclust._cuts import partition
from ensclust._methods import make
from ensclust.metrics import ari, mean_nmi
from golden_digest import difference
from strategies import ensembles, random_ensemble

METHODS = ("cspa", "hbgf")
every_method = pytest.mark.parametrize("method", METHODS)
GOLDEN = ("tiny", "wine_z", "digits_raw")


def quietly(labels, k, method, **options):
    """Return the consensus, without the warning that it has fewer clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return consensus(labels, k, method, random_state=0, **options)


@pytest.fixture
def graphs(monkeypatch):
    """Return the graphs that METIS is given, and the weights of their nodes."""
    seen = []
    original = partition.metis

    def metis(W, sizes, k, *, seeds):
        seen.append((W.toarray(), np.asarray(sizes)))
        return original(W, sizes, k, seeds=seeds)

    monkeypatch.setattr(partition, "metis", metis)
    return seen


@pytest.mark.parametrize("name", GOLDEN)
def test_the_similarity_is_that_of_the_published_code(golden, name):
    stored = golden(f"cspa_{name}")
    ensemble = Ensemble(stored["labels"])
    found = CoAssociation(ensemble).dense()
    if "similarity" in stored.files:
        assert difference(found, stored, "similarity") < 1e-15
    n_together = np.rint(found * ensemble.n_clusterings).astype(np.uint8)
    upper = n_together[np.triu_indices(len(found), 1)]
    digest = hashlib.sha256(upper.tobytes()).hexdigest()
    assert digest == str(stored["similarity_upper_sha256"])


@every_method
@pytest.mark.parametrize("name", GOLDEN)
@pytest.mark.parametrize("seed", range(2))
def test_labels_share_as_much_as_the_published_ones(golden, method, name, seed):
    stored = golden(f"{method}_{name}")
    ensemble, ks = Ensemble(stored["labels"]), stored["ks"].tolist()
    labels = consensus(ensemble, ks, method, random_state=seed)
    assert (labels.max(axis=0) + 1).tolist() == ks
    for a in range(len(ks)):
        least = stored[f"{method}_anmi"][a].min()
        assert mean_nmi(ensemble, labels[:, a]) >= least - 1e-9


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_an_edge_of_cspa_stands_for_those_of_all_objects(graphs, missing):
    few = random_ensemble(40, 5, 3, 0, missing=missing)
    ensemble = Ensemble(np.repeat(few.labels, np.arange(40) % 3 + 1, axis=0))
    quietly(ensemble, 3, "cspa", n_init=1)
    (graph, sizes), fragments = graphs[0], ensemble.fragments()
    assert np.array_equal(sizes, fragments.counts)
    identity = np.eye(ensemble.n_base_clusters)
    objects = reference.ratio(*reference.lift(ensemble, identity))
    pick = np.eye(len(sizes))[fragments.inverse]
    assert np.allclose(graph, pick.T @ objects @ pick)


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 1, 1]])
def test_an_edge_of_hbgf_stands_for_those_of_all_objects(graphs, weights):
    few = random_ensemble(40, 5, 3, 0, missing=0.3)
    ensemble = Ensemble(np.repeat(few.labels, np.arange(40) % 3 + 1, axis=0))
    quietly(ensemble, 3, "hbgf", n_init=1, weights=weights)
    (graph, sizes), fragments = graphs[0], ensemble.fragments()
    n = len(fragments.counts)
    mass = np.ones(ensemble.n_base_clusters)
    if weights is not None:
        mass = np.repeat(weights / np.mean(weights), ensemble.cluster_counts)
    assert np.allclose(sizes, [*fragments.counts, *mass])
    pick = np.eye(n)[fragments.inverse]
    members = pick.T @ reference.membership(ensemble) * mass
    assert np.allclose(graph[:n, n:], members)
    assert np.allclose(graph[n:, :n], members.T)
    assert not graph[:n, :n].any()
    assert not graph[n:, n:].any()


@every_method
@given(ensemble=ensembles(), data=st.data())
def test_any_ensemble_gets_labels(method, ensemble, data):
    k = data.draw(st.integers(1, ensemble.n_objects))
    model = make(method, n_clusters=k, base="precomputed", n_init=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labels = model.fit_predict(ensemble.labels)
    assert set(labels) == set(range(model.n_clusters_))
    n_rows = len(ensemble.fragments().counts)
    assert model.n_clusters_ <= min(k, n_rows)
    if k >= n_rows:
        assert model.n_clusters_ == n_rows
    assert np.array_equal(model.predict(ensemble.labels), labels)


@every_method
@given(ensemble=ensembles(), data=st.data())
def test_the_order_of_objects_does_not_matter(method, ensemble, data):
    k = data.draw(st.integers(1, ensemble.n_objects))
    order = np.array(data.draw(st.permutations(range(ensemble.n_objects))))
    labels = quietly(ensemble, k, method, n_init=2)
    permuted = quietly(ensemble.take(order), k, method, n_init=2)
    assert ari(permuted, labels[order]) == 1


@every_method
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_threads_and_streams_do_not_matter(method, missing):
    ensemble = random_ensemble(300, 8, 5, 2, missing=missing)
    expected = quietly(ensemble, 5, method, n_jobs=1)
    assert np.array_equal(quietly(ensemble, 5, method, n_jobs=3), expected)
    stream = Blocks(lambda: np.array_split(ensemble.labels, 4))
    assert np.array_equal(quietly(stream, 5, method), expected)


@every_method
def test_more_runs_share_no_less(method):
    ensemble = random_ensemble(300, 10, 6, 5, noise=0.5)
    one, many = (quietly(ensemble, 6, method, n_init=n) for n in (1, 10))
    assert mean_nmi(ensemble, many) >= mean_nmi(ensemble, one)


@every_method
def test_parts_have_about_equal_numbers_of_objects(method):
    ensemble = random_ensemble(400, 8, 6, 1)
    sizes = np.bincount(quietly(ensemble, 4, method))
    assert sizes.max() <= 1.2 * sizes.mean()


@every_method
def test_groups_without_a_link_come_apart(method):
    labels = np.repeat([[0, 0, 0], [1, 1, 1], [2, 2, 2]], 10, axis=0)
    labels[::5, 0] += 3  # in each group two rows, which two clusterings join
    assert ari(quietly(labels, 3, method), np.repeat([0, 1, 2], 10)) == 1


@every_method
def test_without_pymetis_the_error_names_the_install_line(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    labels = random_ensemble(30, 4, 3, 0).labels
    match = (
        rf'{method.upper()} needs pymetis.*pip install "ensclust\[metis\]".*ecpcs-mc'
    )
    with pytest.raises(ImportError, match=match):
        consensus(labels, 3, method)


def test_cspa_refuses_a_graph_beyond_the_budget():
    ensemble = random_ensemble(1200, 9, 4, 1)
    n_rows = len(ensemble.fragments().counts)
    match = f"CSPA of {n_rows:,} distinct label rows needs .* Raise max_memory"
    with pytest.raises(MemoryError, match=match):
        consensus(ensemble, 4, "cspa", max_memory=2**20)


def test_a_sparse_graph_is_parted_as_a_dense_one():
    ensemble = random_ensemble(200, 8, 6, 0)
    coassociation = CoAssociation(ensemble)
    graph = coassociation.of_leaves("CSPA", 1, 2**31)
    leaves = ensemble.fragments()
    first = np.unique(leaves.inverse, return_index=True)[1]
    dense = coassociation.dense()[np.ix_(first, first)]
    assert np.allclose(graph.toarray(), dense)
    parts = partition.metis(graph, leaves.counts, 4)[0]
    weight = np.bincount(parts, leaves.counts)
    assert len(weight) == 4
    assert weight.max() <= 1.2 * weight.mean()
