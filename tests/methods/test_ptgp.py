"""PTGP and PTA: elite neighbours, trajectories, transfer cut and tree."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import reference
from ensclust import PTA, PTGP, Blocks, Ensemble, consensus
from ensclust._cuts import microclusters
from ensclust._cuts.partition import TransferCut
from ensclust.metrics import ari
from golden_digest import difference
from strategies import ensembles, random_ensemble

GOLDEN = ("tiny", "wine_z", "digits_raw")


def quietly(labels, k, **options):
    """Return the consensus, without the warning that it has fewer clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return consensus(labels, k, "ptgp", **options)


def literal_neighbors(ensemble, n_neighbors):
    fragments = Ensemble(ensemble.fragments().labels)
    identity = np.eye(fragments.n_base_clusters)
    mca = reference.ratio(*reference.lift(fragments, identity))
    np.fill_diagonal(mca, 0)
    kth = np.sort(mca, axis=1)[:, -min(n_neighbors, len(mca))]
    kept = np.where(mca >= kth[:, None], mca, 0)
    return np.maximum(kept, kept.T)


def literal_similarity(neighbors, sizes, steps):
    """Return PTS: T dense powers."""
    weights = neighbors * sizes
    total = weights.sum(axis=1, keepdims=True)
    P = weights / np.where(total > 0, total, 1)
    power, gram = np.eye(len(P)), np.zeros_like(P)
    for _ in range(steps):
        power = power @ P
        gram += power @ power.T
    norm = np.sqrt(np.diag(gram))
    norm[norm == 0] = 1
    similarity = gram / norm / norm[:, None]
    np.fill_diagonal(similarity, 1)
    return similarity


def literal_embedding(B, k):
    """Return the rows of the published transfer cut."""
    per_row = B.sum(axis=1)
    W = B.T @ (B / per_row[:, None])
    root = np.sqrt(W.sum(axis=1))
    vectors = np.linalg.eigh(W / root / root[:, None])[1][:, -k:]
    rows = (B / per_row[:, None] / root) @ vectors
    return rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-10)


def trajectory_similarity(ensemble, n_neighbors, steps, n_jobs=None):
    sizes = ensemble.fragments().counts
    neighbors = microclusters.elite_neighbors(ensemble, n_neighbors, n_jobs=n_jobs)
    similarity = microclusters.TrajectorySimilarity(
        neighbors, sizes, steps, n_jobs=n_jobs
    )
    return similarity.product(sparse.eye_array(len(sizes)), n_jobs=n_jobs)


@given(ensembles(max_objects=14), st.integers(1, 20))
def test_elite_neighbors_are_those_of_the_definition(ensemble, n_neighbors):
    found = microclusters.elite_neighbors(ensemble, n_neighbors).toarray()
    np.testing.assert_array_equal(found, literal_neighbors(ensemble, n_neighbors))


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_elite_neighbors_beyond_one_block_of_rows(missing):
    ensemble = random_ensemble(150, 7, 5, 0, missing=missing)
    found = microclusters.elite_neighbors(ensemble, 6).toarray()
    np.testing.assert_array_equal(found, literal_neighbors(ensemble, 6))


@pytest.mark.parametrize("m", [255, 256])
def test_elite_neighbors_of_many_clusterings(m):
    labels = np.ones((30, m), int)
    labels[:, 0] = np.arange(30)
    labels[15:, 1] = 2
    ensemble = Ensemble(labels)  # together in up to m - 1, beyond 16 bits from 256 on
    found = microclusters.elite_neighbors(ensemble, 3).toarray()
    np.testing.assert_array_equal(found, literal_neighbors(ensemble, 3))


@given(ensembles(max_objects=14), st.integers(1, 6), st.integers(1, 5))
def test_similarity_is_that_of_dense_powers(ensemble, n_neighbors, steps):
    neighbors = literal_neighbors(ensemble, n_neighbors)
    expected = literal_similarity(neighbors, ensemble.fragments().counts, steps)
    found = trajectory_similarity(ensemble, n_neighbors, steps)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 40, 10**6])
def test_similarity_does_not_depend_on_how_components_are_grouped(rows, monkeypatch):
    ensembles = [random_ensemble(60, 4, 3, seed).labels for seed in range(3)]
    apart = np.concatenate([labels + 9 * i for i, labels in enumerate(ensembles)])
    ensemble = Ensemble(apart)
    monkeypatch.setattr(microclusters, "_ROWS", rows)
    neighbors = literal_neighbors(ensemble, 3)
    expected = literal_similarity(neighbors, ensemble.fragments().counts, 4)
    found = trajectory_similarity(ensemble, 3, 4)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_product_needs_no_square_matrix():
    ensemble = random_ensemble(200, 6, 4, 1)
    sizes = ensemble.fragments().counts
    neighbors = microclusters.elite_neighbors(ensemble, 5)
    similarity = microclusters.TrajectorySimilarity(neighbors, sizes, 5)
    X = sparse.random_array((len(sizes), 70), density=0.2, random_state=0)
    square = similarity.product(sparse.eye_array(len(sizes)))
    np.testing.assert_allclose(similarity.product(X), square @ X, atol=1e-12)


def test_isolated_microcluster_is_similar_to_itself_only():
    ensemble = Ensemble([[0, 0], [0, 1], [1, 0], [7, 7]])
    similarity = trajectory_similarity(ensemble, 1, 3)
    np.testing.assert_array_equal(similarity[3], [0, 0, 0, 1])
    np.testing.assert_array_equal(similarity[:, 3], [0, 0, 0, 1])


@pytest.mark.parametrize(("n", "m"), [(30, 12), (12, 30), (15, 15)])
def test_embedding_is_that_of_the_published_transfer_cut(n, m):
    B = np.random.default_rng(n).random((n, m)) ** 4
    found = TransferCut(B.copy()).embedding(4)
    expected = literal_embedding(B, 4)
    # Eigenvectors have no sign; the angles between rows do not care.
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)


@pytest.mark.parametrize(("n", "m"), [(30, 12), (12, 30)])
def test_transfer_cut_in_single_precision(n, m):
    B = np.random.default_rng(n).random((n, m)) ** 4
    found = TransferCut(B.astype(np.float32)).embedding(4)
    expected = literal_embedding(B, 4)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-4)


def test_transfer_cut_copes_with_nodes_without_edges():
    B = np.zeros((5, 4))
    B[0, 0] = B[1, 0] = B[2, 1] = B[3, 1] = 1
    labels = TransferCut(B).labels(3, random_state=0)
    assert labels[0] == labels[1] != labels[2] == labels[3]


@pytest.mark.parametrize("name", GOLDEN)
def test_similarity_matches_the_published_code(golden, name):
    stored = golden(f"ptgp_{name}")
    ensemble = Ensemble(stored["labels"])
    fragments = ensemble.fragments()
    np.testing.assert_array_equal(fragments.labels, stored["microcluster_labels"])
    np.testing.assert_array_equal(fragments.inverse, stored["microcluster_of_object"])
    size = microclusters.published_size(len(fragments.counts))
    assert size == stored["K"] == stored["T"]
    everyone = microclusters.elite_neighbors(ensemble, len(fragments.counts)).toarray()
    np.fill_diagonal(everyone, 1)
    scale = stored.get("MCA_scale", 1.0)
    assert difference(everyone / scale, stored, "MCA") * scale < 1e-6
    found = trajectory_similarity(ensemble, size, size)
    assert difference(found, stored, "PTS") < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_labels_are_among_those_of_the_published_code(golden, name):
    stored = golden(f"ptgp_{name}")
    ks = stored["ks"].tolist()
    runs = [consensus(stored["labels"], ks, "ptgp", random_state=s) for s in range(3)]
    for a in range(len(ks)):
        outcomes = stored["ptgp_labels"][:, a].T
        pairs = [ari(x, y) for i, x in enumerate(outcomes) for y in outcomes[:i]]
        if max(pairs) >= 0.95:
            best = [max(ari(run[:, a], x) for x in outcomes) for run in runs]
            assert max(best) >= 0.95
            assert np.median(best) >= 0.95


@given(ensembles(), st.data())
def test_any_ensemble_gets_labels(ensemble, data):
    n = ensemble.n_objects
    k = data.draw(st.integers(1, n))
    labels = quietly(ensemble, k, random_state=0)
    inverse = ensemble.fragments().inverse
    n_fragments = inverse.max() + 1
    assert set(labels) == set(range(labels.max() + 1))
    assert labels.max() < min(k, n_fragments)
    if k == 1:
        assert labels.max() == 0
    if k >= n_fragments:
        assert ari(labels, inverse) == 1
    # Equal rows, equal labels.
    assert len(set(zip(inverse, labels, strict=True))) == n_fragments


@given(ensembles(), st.data())
def test_partition_does_not_depend_on_the_order_of_objects(ensemble, data):
    k = data.draw(st.integers(1, ensemble.n_objects))
    order = np.array(data.draw(st.permutations(range(ensemble.n_objects))))
    labels = quietly(ensemble, k, random_state=3)
    permuted = quietly(ensemble.take(order), k, random_state=3)
    assert ari(permuted, labels[order]) == 1


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_labels_do_not_depend_on_n_jobs(missing):
    ensemble = random_ensemble(300, 8, 5, 2, missing=missing)
    runs = [
        consensus(ensemble, [2, 5, 9], "ptgp", random_state=0, n_jobs=n_jobs)
        for n_jobs in (1, 2, 5)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_noisy_partition_is_found_again(missing):
    truth = np.repeat(np.arange(4), 50)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((200, 12)) < 0.15, rng.integers(0, 4, (200, 12)), 0)
    labels = (labels + truth[:, None]) % 4
    labels[rng.random(labels.shape) < missing] = -1
    found = consensus(labels, 4, "ptgp", random_state=0)
    assert ari(found, truth) > 0.95


def test_one_clustering_comes_back():
    labels = np.repeat([2, 0, 1, 5], 3)[:, None]
    found = consensus(labels, 4, "ptgp", random_state=0)
    assert ari(found, labels[:, 0]) == 1


def test_more_clusters_than_base_clusters():
    grid = np.array([(a, b) for a in range(4) for b in range(4)])
    found = consensus(grid, 12, "ptgp", random_state=0)
    assert found.max() == 11


def test_more_clusters_than_distinct_rows_warns():
    labels = np.repeat([[0, 0], [0, 1], [1, 1]], 4, axis=0)
    with pytest.warns(UserWarning, match="formed 3 of n_clusters=5 clusters"):
        found = consensus(labels, 5, "ptgp", random_state=0)
    assert found.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_an_object_of_no_clustering_gets_no_cluster():
    labels = np.array([[0, 0], [0, 0], [-1, -1], [1, 1], [1, 2]])
    with pytest.warns(UserWarning, match="1 of 5 objects are in no base"):
        found = consensus(labels, 2, "ptgp", random_state=0)
    assert found.tolist() == [0, 0, -1, 1, 1]


def test_given_neighbors_and_steps_are_used():
    labels = random_ensemble(80, 5, 3, 0).labels
    model = PTGP(3, base="precomputed", random_state=0).fit(labels)
    rule = microclusters.published_size(len(model.ensemble_.fragments().counts))
    assert (model.n_neighbors_, model.steps_) == (rule, rule)
    model.set_params(n_neighbors=2, steps=7).fit(labels)
    assert (model.n_neighbors_, model.steps_) == (2, 7)
    assert not hasattr(model, "_graph")


@pytest.mark.parametrize(
    ("many", "exact", "dtype"),
    [(50, False, np.float32), (50, True, np.float64), (10**6, False, np.float64)],
)
def test_many_microclusters_take_single_precision_unless_exact(
    many, exact, dtype, monkeypatch
):
    seen = []

    class Cut(TransferCut):
        def __init__(self, B):
            seen.append(B.dtype)
            super().__init__(B)

    monkeypatch.setattr(microclusters, "_MANY", many)
    monkeypatch.setattr("ensclust._methods.ptgp.TransferCut", Cut)
    ensemble = random_ensemble(200, 8, 5, 2)
    consensus(ensemble, 3, "ptgp", random_state=0, exact=exact)
    assert seen == [dtype]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_short_walks_lead_to_the_same_labels(missing):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 6, 2600)
    moved = rng.random((2600, 12)) < 0.3
    labels = np.where(moved, rng.integers(0, 6, moved.shape), truth[:, None])
    labels[rng.random(labels.shape) < missing] = -1
    ensemble = Ensemble(labels)
    assert len(ensemble.fragments().counts) >= 2000
    ks = [3, 6]
    exact = consensus(ensemble, ks, "ptgp", random_state=0, exact=True)
    one = consensus(ensemble, ks, "ptgp", random_state=0, n_jobs=1)
    np.testing.assert_array_equal(
        one, consensus(ensemble, ks, "ptgp", random_state=0, n_jobs=3)
    )
    assert ari(exact[:, 1], one[:, 1]) == 1
    assert ari(exact[:, 1], truth) > 0.9


def between(*groups):
    """Return label rows of two groups that share nothing, and of rows between them."""
    rows = [[0] * 10, [1] * 10, [*[0] * 5, *[1] * 4, 2], [3] * 9 + [2]]
    return np.repeat(rows[: len(groups)], groups, axis=0)


def test_two_rows_with_one_neighbour_walk_alike_by_definition():
    ensemble = Ensemble(between(452, 230, 1, 1))  # of four rows K = T = 1 is published
    first, second, middle, _ = ensemble.fragments().inverse[[0, 452, 682, 683]]
    for steps in (1, 2, 5):
        neighbors = literal_neighbors(ensemble, microclusters.published_size(4))
        similarity = literal_similarity(neighbors, ensemble.fragments().counts, steps)
        assert similarity[first, second] > 0.99
        assert similarity[first, middle] < 0.01


@pytest.mark.parametrize("groups", [(452, 230, 1), (452, 230, 1, 1)])
def test_a_lump_that_no_input_has_is_doubted(groups):
    labels = between(*groups)
    with pytest.warns(UserWarning, match=r"PTGP put 68\d of 68\d objects .* than 45\d"):
        found = consensus(labels, 2, "ptgp", random_state=0)
    assert np.bincount(found).max() > 680


def test_other_methods_part_what_three_rows_show():
    for method in ("eac", "ecpcs-mc"):
        found = consensus(between(452, 230, 1), 2, method, random_state=0)
        assert np.bincount(found).tolist() == [453, 230]


def test_a_lump_that_an_input_has_too_is_fine():
    uneven = np.repeat([0, 1], [97, 3])
    labels = np.column_stack([uneven, uneven, np.arange(100) % 2])
    assert consensus(labels, 2, "ptgp", random_state=0).sum() == 3


def tree_of(ensemble, linkage="average"):
    """Return the tree of PTA, without the warning about a lump."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return PTA(1, base="precomputed", linkage=linkage).fit(ensemble).dendrogram_


@given(ensembles(max_objects=14), st.sampled_from(["average", "single", "complete"]))
def test_every_merge_of_pta_joins_nearest_microclusters_that_count_once(ens, linkage):
    fragments = ens.fragments()
    size = microclusters.published_size(len(fragments.counts))
    neighbors = literal_neighbors(ens, size)
    similarity = literal_similarity(neighbors, fragments.counts, size)
    pairs = np.ix_(fragments.inverse, fragments.inverse)
    # As many objects as there are, so that a microcluster counts once.
    share = 1 / np.multiply.outer(fragments.counts, fragments.counts)[pairs]
    reference.replay(tree_of(ens, linkage), similarity[pairs] * share, share, linkage)


@pytest.mark.parametrize("name", GOLDEN)
def test_pta_has_the_authors_similarities_and_labels(golden, name):
    stored = golden(f"ptgp_{name}")
    ensemble = Ensemble(stored["labels"])
    similarity, used = microclusters.trajectory_similarity(ensemble, None, None, None)
    assert used == {"n_neighbors_": stored["K"], "steps_": stored["T"]}
    unit = 1 / (2**31 - 1)
    found = similarity.fixed_point(unit)
    assert np.array_equal(found, found.T)
    first = np.unique(stored["microcluster_of_object"], return_index=True)[1]
    order = ensemble.fragments().inverse[first]
    own = found[np.ix_(order, order)] * unit
    assert difference(own, stored, "PTS") < (1e-7 if name == "digits_raw" else unit)
    for row, linkage in enumerate(("average", "complete", "single")):
        tree = tree_of(ensemble, linkage)
        field = f"pta_{linkage[0]}l"
        for a in np.flatnonzero(stored["pta_exact_k"][row]):
            labels = tree.cut(int(stored["ks"][a]))
            assert ari(labels, stored[field][:, a]) == 1


def test_pta_cuts_every_k_from_one_tree():
    ensemble = random_ensemble(120, 8, 4, 3)
    n_rows = len(ensemble.fragments().counts)
    labels = consensus(ensemble, [1, 4, n_rows], "pta")
    assert labels.max(axis=0).tolist() == [0, 3, n_rows - 1]
    with pytest.warns(UserWarning, match=f"formed {n_rows} of n_clusters"):
        consensus(Ensemble(np.repeat(ensemble.labels, 2, axis=0)), 2 * n_rows, "pta")


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_pta_of_a_stream_and_of_threads_has_the_same_labels(missing):
    labels = random_ensemble(300, 9, 4, 1, missing=missing).labels
    expected = consensus(labels, 4, "pta", n_jobs=1)
    assert np.array_equal(consensus(labels, 4, "pta", n_jobs=3), expected)
    stream = Blocks(lambda: np.array_split(labels, 5))
    assert np.array_equal(consensus(stream, 4, "pta"), expected)


def test_pta_refuses_a_matrix_beyond_the_budget():
    ensemble = random_ensemble(300, 9, 4, 1)
    n_rows = len(ensemble.fragments().counts)
    budget = 4 * n_rows**2
    match = f"PTA of {n_rows} distinct label rows needs .* Raise max_memory"
    with pytest.raises(MemoryError, match=match):
        consensus(ensemble, 4, "pta", max_memory=budget - 1)
    assert consensus(ensemble, 4, "pta", max_memory=budget).max() == 3
