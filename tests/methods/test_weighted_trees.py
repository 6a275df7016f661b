"""LWEA and WEAC: evidence accumulation with weights of clusters, or of clusterings."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from ensclust import EAC, LWEA, WEAC, Blocks, Ensemble, consensus, similarity
from ensclust._ensemble.agreement import crowd_agreement
from ensclust.metrics import ari
from golden_digest import diagonal, difference
from strategies import ensembles, random_ensemble

GOLDEN = ("tiny", "wine_z", "digits_raw")
ENGINES = (1, 2**31)  # max_memory: label space, matrix
engines = pytest.mark.parametrize("max_memory", ENGINES)


def fit(method, ensemble, k=1, **options):
    """Return a fitted model, without the warning about a lump."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return method(k, base="precomputed", **options).fit(ensemble)


def assert_stored(square, stored, field):
    """Compare a matrix of objects with what is stored: all, or float32 of fragments."""
    if field in stored.files:
        assert difference(square, stored, field) < 1e-12
        return
    first = stored["fragment_first_object"]
    own = square[np.ix_(first, first)]
    np.fill_diagonal(own, np.nan)  # there is that of two objects, if there are two
    assert difference(own, stored, f"{field}_fragments") < 1e-7


@engines
@pytest.mark.parametrize("name", GOLDEN)
def test_lwea_is_the_authors(golden, name, max_memory):
    z = golden(f"lwea_{name}")
    model = fit(LWEA, z["labels"], theta=float(z["theta"]), max_memory=max_memory)
    assert np.abs(model.cluster_weights_ - z["ECI"]).max() < 1e-12
    for a, k in enumerate(z["ks"]):
        assert ari(model.dendrogram_.cut(int(k)), z["lwea_labels"][:, a]) == 1
    assert_stored(model.coassociation_.dense(), z, "LWCA")
    if "LWCA_fragments" in z.files:
        stored = diagonal(z, "LWCA_fragments")[z["fragment_of_object"]]
        tree = model.dendrogram_
        within = 1 - tree.leaf_heights[tree.leaf_of_object]
        assert np.nanmax(np.abs(within - stored)) < 1e-7


@engines
@pytest.mark.parametrize("name", GOLDEN)
def test_weac_is_the_authors(golden, name, max_memory):
    z = golden(f"weac_gpmgla_{name}")
    model = fit(WEAC, z["labels"], beta=float(z["beta"]), max_memory=max_memory)
    assert np.abs(model.weights_ - z["weights"].ravel()).max() < 1e-12
    for a, k in enumerate(z["ks"]):
        assert ari(model.dendrogram_.cut(int(k)), z["weac_al"][:, a]) == 1
    assert_stored(model.coassociation_.dense(), z, "WCA")


@pytest.mark.parametrize(("linkage", "field"), [("single", "sl"), ("complete", "cl")])
@pytest.mark.parametrize("name", GOLDEN)
def test_weac_links_singly_and_completely_as_the_authors(golden, name, linkage, field):
    z = golden(f"weac_gpmgla_{name}")
    tree = fit(WEAC, z["labels"], linkage=linkage).dendrogram_
    is_exact = z[f"weac_{field}_n"] == z["ks"]  # elsewhere ties decide
    for a in np.flatnonzero(is_exact):
        assert ari(tree.cut(int(z["ks"][a])), z[f"weac_{field}"][:, a]) == 1


@engines
@given(ensemble=ensembles(), theta=st.sampled_from([0.1, 0.4, 2.0]))
def test_every_merge_of_lwea_joins_a_nearest_pair(max_memory, ensemble, theta):
    tree = fit(LWEA, ensemble, theta=theta, max_memory=max_memory).dendrogram_
    index = np.diag(similarity.eci(ensemble, theta=theta))
    numerator, denominator = reference.lift(ensemble, index)
    reference.replay(tree, numerator, denominator)
    # Objects of one leaf are as close as their clusters' mean index, and closer to
    # nobody, unless labels are missing.
    own = reference.ratio(np.diag(numerator), np.diag(denominator))
    height = tree.leaf_heights[tree.leaf_of_object]
    if ensemble.has_missing:
        assert (height <= 1 - own + 1e-9).all()
    else:
        assert np.allclose(height, 1 - own, atol=1e-8)
    if len(tree.heights):
        first = np.full(2 * tree.n_leaves - 1, np.inf)
        first[tree.merges] = tree.heights[:, None]
        assert (tree.leaf_heights <= first[: tree.n_leaves]).all()


@pytest.mark.parametrize("linkage", ["single", "complete"])
@given(ensemble=ensembles())
@settings(max_examples=40)
def test_lwea_links_singly_and_completely(linkage, ensemble):
    tree = fit(LWEA, ensemble, linkage=linkage).dendrogram_
    pairs = reference.lift(ensemble, np.diag(similarity.eci(ensemble)))
    reference.replay(tree, *pairs, linkage)


@engines
@given(ensemble=ensembles())
def test_every_merge_of_weac_joins_a_nearest_pair(max_memory, ensemble):
    model = fit(WEAC, ensemble, max_memory=max_memory)
    weights = np.maximum(crowd_agreement(ensemble) ** 2, 1e-9)
    assert np.array_equal(model.weights_, weights)
    mass = np.repeat(weights / weights.mean(), ensemble.cluster_counts)
    n = len(mass)
    above = reference.lift(ensemble, np.diag(mass))[0]
    below = reference.lift(ensemble, np.ones((n, n)) * mass)[0]
    if below.min() > 1e-3:  # two that only a worthless clustering contains are 0 alike
        reference.replay(model.dendrogram_, above, below)


def test_weac_without_power_is_eac():
    ensemble = random_ensemble(150, 11, 4, 3)
    weac, eac = fit(WEAC, ensemble, beta=0), fit(EAC, ensemble)
    assert np.array_equal(weac.dendrogram_.cut(7), eac.dendrogram_.cut(7))


def test_weac_keeps_every_object_though_its_clustering_agrees_with_none():
    labels = np.repeat([[0, 0, 0], [1, 1, 0]], 10, axis=0)
    labels[4] = [-1, -1, 0]
    model = fit(WEAC, labels, 2)
    assert model.weights_[2] == 1e-9
    assert model.labels_.min() == 0


@pytest.mark.parametrize("method", ["lwea", "weac"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_stream_has_the_same_labels(method, missing):
    labels = random_ensemble(400, 9, 4, 1, missing=missing).labels
    stream = Blocks(lambda: np.array_split(labels, 5))
    found = consensus(stream, 4, method, random_state=0)
    assert np.array_equal(np.asarray(found), consensus(labels, 4, method))


@pytest.mark.parametrize("max_regions", [20, 60])
def test_lwea_may_be_approximate(max_regions):
    ensemble = random_ensemble(300, 12, 4, 2)
    model = fit(LWEA, ensemble, 4, max_regions=max_regions)
    assert model.n_regions_ == max_regions
    assert ari(model.labels_, fit(LWEA, ensemble, 4).labels_) > 0.95


def test_a_small_theta_leaves_what_nobody_splits():
    truth = np.repeat([0, 1, 2], 6)
    labels = np.column_stack([truth, truth, np.tile([0, 1], 9)])
    for theta in (1e-9, 0.05):
        model = fit(LWEA, labels, 3, theta=theta)
        assert model.cluster_weights_.min() > 0
        assert ari(model.labels_, truth) == 1


def test_one_clustering_comes_back():
    labels = np.repeat([2, 0, 1, 5], 3)[:, None]
    for method in ("lwea", "weac"):
        assert ari(consensus(Ensemble(labels), 4, method), labels[:, 0]) == 1
