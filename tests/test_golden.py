"""Against what the published codes return, or the digest of it that a clone has."""

import numpy as np
import pytest

from ensclust import CoAssociation, Ensemble, consensus, similarity
from ensclust._cuts import partition
from ensclust._trees.linkage import link
from ensclust.metrics import ari
from golden_digest import difference
from reference import lift, replay, replay_by_sums

SETS = ("tiny", "wine_z", "digits_raw")
ENGINES = {"square": 2**31, "label space": 1}
every_set = pytest.mark.parametrize("name", SETS)
every_engine = pytest.mark.parametrize("engine", ENGINES)


def propagated(ens):
    return similarity.propagate(similarity.jaccard(ens))


def between_fragments(dense, first_object):
    """Return similarities of different fragments; those within are not published."""
    found = dense[np.ix_(first_object, first_object)]
    np.fill_diagonal(found, np.nan)
    return found


@every_set
def test_jaccard_and_propagation_are_the_authors(golden, name):
    z = golden(f"ecpcs_{name}")
    W = similarity.jaccard(Ensemble(z["labels"]))
    assert difference(W, z, "jaccard") < 1e-9
    for steps in (1, 5, 20):
        if f"Z_t{steps}" in z:
            Z = similarity.propagate(W, steps)
            assert difference(Z, z, f"Z_t{steps}") < 1e-9


@every_set
def test_enhanced_coassociation_is_the_authors(golden, name):
    z = golden(f"ecpcs_{name}")
    ens = Ensemble(z["labels"])
    dense = CoAssociation(ens, propagated(ens)).dense()
    if "ECA" in z:
        assert difference(dense, z, "ECA") < 1e-6
    else:
        own = between_fragments(dense, z["fragment_first_object"])
        assert difference(own, z, "ECA_fragments") < 1e-6


@every_set
@every_engine
def test_ecpcs_hc_has_the_authors_heights_and_labels(golden, name, engine):
    z = golden(f"ecpcs_{name}")
    ens = Ensemble(z["labels"])
    tree = link(CoAssociation(ens, propagated(ens)), max_memory=ENGINES[engine])
    heights = tree.to_scipy()[:, 2]
    assert np.abs(heights - z["hc_merge_heights"]).max() < 1e-6
    for a, k in enumerate(z["ks"].tolist()):
        assert ari(tree.cut(k), z["hc_labels"][:, a]) == 1.0


@every_set
def test_ncut_eigenvalues_are_the_authors(golden, name):
    z = golden(f"ecpcs_{name}")
    graph = partition.NormalisedCut(propagated(Ensemble(z["labels"])))
    for k in z["ks"].tolist():
        values, _ = graph.embedding(k)
        assert np.abs(values - z[f"ncut_eval_k{k}"]).max() < 1e-8


@pytest.mark.slow
@every_set
@pytest.mark.parametrize("seed", range(5))
def test_ecpcs_mc_cuts_no_more_than_the_authors_best_run(golden, name, seed):
    z = golden(f"ecpcs_{name}")
    Z = propagated(Ensemble(z["labels"]))
    for a, k in enumerate(z["ks"].tolist()):
        runs = z["mc_meta_labels"][:, a].T
        stored = min(partition.ncut_value(Z, run, k) for run in runs)
        ours = partition.NormalisedCut(Z).labels(k, random_state=seed)
        assert partition.ncut_value(Z, ours, k) <= stored + 1e-9


@every_set
def test_ecpcs_mc_labels_are_the_authors_where_their_runs_agree(golden, name):
    z = golden(f"ecpcs_{name}")
    for a, k in enumerate(z["ks"].tolist()):
        runs = z["mc_labels"][:, a].T
        if all(ari(runs[0], run) == 1.0 for run in runs):
            labels = consensus(z["labels"], k, random_state=0)
            assert max(ari(labels, run) for run in runs) == 1.0


@every_set
@pytest.mark.parametrize(("method", "field"), [("wct", "CTS"), ("srs", "SRS")])
def test_link_based_similarities_are_linkclues(golden, name, method, field):
    z = golden(f"linkclue_{name}")
    ens = Ensemble(z["labels"])
    if method == "wct":
        W = similarity.jaccard(ens)
        S = similarity.connected_triples(W, ens.cluster_counts)
        dense = CoAssociation(ens, S).dense()
    else:
        dense = CoAssociation(
            ens, similarity.simrank(ens), pairs="all", decay=0.8
        ).dense()
    if field in z:
        assert difference(dense, z, field) < 1e-9
    else:
        own = between_fragments(dense, z["fragment_first_object"])
        assert difference(own, z, f"{field}_fragments") < 1e-6


@every_set
@every_engine
@pytest.mark.parametrize(("method", "field"), [("wct", "cts"), ("srs", "srs")])
def test_link_based_labels_are_linkclues(golden, name, engine, method, field):
    z = golden(f"linkclue_{name}")
    ks = z["ks"].tolist()
    labels = consensus(z["labels"], ks, method=method, max_memory=ENGINES[engine])
    stored = z[f"{field}_labels"][:, list(z["linkages"]).index("average")]
    for a in range(len(ks)):
        assert ari(labels[:, a], stored[:, a]) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tiny", "wine_z"])
@every_engine
def test_eac_is_valid_by_replay(golden, name, engine):
    ens = Ensemble(golden(f"eac_{name}")["labels"])
    tree = link(CoAssociation(ens), max_memory=ENGINES[engine])
    replay(tree, *lift(ens, np.eye(ens.n_base_clusters)))


@pytest.mark.slow
@every_set
@every_engine
def test_eac_is_valid_by_replay_of_sums(golden, name, engine):
    ens = Ensemble(golden(f"eac_{name}")["labels"])
    tree = link(CoAssociation(ens), max_memory=ENGINES[engine])
    together = sum(np.equal.outer(column, column) for column in ens.labels.T)
    replay_by_sums(tree, together, np.full_like(together, ens.n_clusterings))


@every_set
def test_eac_is_the_same_tree_in_both_engines(golden, name):
    ens = Ensemble(golden(f"eac_{name}")["labels"])
    one, other = (link(CoAssociation(ens), max_memory=m) for m in ENGINES.values())
    assert np.array_equal(one.merges, other.merges)
    assert np.array_equal(one.heights, other.heights)
