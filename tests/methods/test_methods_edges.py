"""Edge cases of the methods that some change to the source would break."""

import re

import numpy as np
import pytest

import ensclust
from ensclust import scverse, similarity
from ensclust._methods import METHODS, families, make
from ensclust._methods.custom import SIMILARITIES
from ensclust._trees import linkage
from strategies import random_ensemble


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_left_of_placeholders_in_documentation(name):
    model = make(name, n_clusters=2)
    documentation = type(model).__doc__
    assert "$" not in documentation
    described = re.findall(r"^    (\w+) : ", documentation, re.MULTILINE)
    assert set(model.get_params()) <= set(described)


def test_one_object_can_be_compared():
    ensemble = ensclust.Ensemble.from_clusterings([[0], [0]])
    found = ensclust.compare(ensemble, 1, methods=["eac"], random_state=0)
    assert found.labels.tolist() == [[0]]


@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities_by_name_are_those_of_the_functions(name):
    ensemble = random_ensemble(60, 5, 4, seed=1, noise=0.3)
    jaccard = similarity.jaccard(ensemble)
    expected = {
        "identity": np.eye(ensemble.n_base_clusters),
        "jaccard": jaccard,
        "propagated": similarity.propagate(jaccard),
        "connected-triples": similarity.connected_triples(
            jaccard, ensemble.cluster_counts
        ),
    }
    assert np.array_equal(SIMILARITIES[name](ensemble), expected[name])


@pytest.mark.parametrize("name", METHODS)
def test_the_number_of_clusters_may_come_without_its_name(name):
    assert type(make(name, n_clusters=2))(5).n_clusters == 5


def test_em_may_choose_the_number_of_clusters_by_bic():
    labels = np.repeat(np.arange(3), 20)[:, None].repeat(6, axis=1)
    model = ensclust.EM("bic", base="precomputed", random_state=0).fit(labels)
    assert model.n_clusters_ == 3
    assert model.n_features_in_ == 6


@pytest.mark.filterwarnings("ignore:.*few columns dominate")
@pytest.mark.parametrize("scale", [None, "auto", "standard", "robust"])
def test_estimators_scale_features_in_every_way(scale):
    X = np.repeat([[0.0, 0], [9, 900]], 20, axis=0)
    X += np.random.default_rng(0).normal(size=X.shape)
    model = ensclust.ECPCSMC(2, scale=scale, random_state=0).fit(X)
    assert sorted(model.labels_[[0, -1]].tolist()) == [0, 1]
    assert len(set(model.labels_[:20])) == 1


def test_weights_of_clusterings_count_in_the_cut_of_a_similarity(monkeypatch):
    masses = []

    class Cut(families.NormalisedCut):
        def __init__(self, similarity, *, mass=None, exact):
            masses.append(mass)
            super().__init__(similarity, mass=mass, exact=exact)

    monkeypatch.setattr(families, "NormalisedCut", Cut)
    ensemble = random_ensemble(60, 3, 2, seed=1, noise=0.02)
    method = ensclust.CustomConsensus(similarity="jaccard", solver="ncut")
    ensclust.consensus(ensemble, 2, method, weights=[1, 2, 5], random_state=0)
    expected = np.repeat([1, 2, 5], ensemble.cluster_counts)
    assert masses[0] / masses[0][0] == pytest.approx(expected)


def test_no_other_name_is_in_the_package():
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        _ = ensclust.nothing_of_this_name


def test_labels_in_a_table_of_texts_are_taken():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": ["x", "x", "y"], "b": ["u", "u", "v"]})
    model = ensclust.ECPCSMC(2, base="precomputed", random_state=0).fit(table)
    assert model.labels_.tolist() == [0, 0, 1]
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_the_number_of_regions_is_passed_on(monkeypatch):
    asked = []

    def link(*args, **settings):
        asked.append(settings["max_regions"])
        return linkage.link(*args, **settings)

    monkeypatch.setattr(families, "link", link)
    labels = random_ensemble(200, 6, 4, seed=1, noise=0.2).labels
    model = ensclust.ECPCSHC(4, base="precomputed", max_regions=20, random_state=0)
    assert (model.fit(labels).n_regions_, asked) == (20, [20])


def test_a_seed_of_leiden_is_drawn_from_a_generator():
    plan = scverse._Plan.of([1.0], 2, 1.0, np.random.RandomState(0))
    first = np.random.RandomState(0).randint(2**31 - 1)
    assert plan.seeds == [first, first + 1]


@pytest.mark.parametrize(("seeds", "fraction"), [(2, 1.0), ([3, 4], 1.0), (1, 0.5)])
def test_seeds_and_fractions_need_resolutions(seeds, fraction):
    with pytest.raises(ValueError, match="no resolutions"):
        scverse._Plan.of(None, seeds, fraction, 0)


def test_settings_that_are_none_are_not_written_into_anndata():
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    runs = pandas.DataFrame({"a": list("xxyy"), "b": list("uuvv")})
    adata = anndata.AnnData(np.ones((4, 2), np.float32), obs=runs.rename(index=str))
    scverse.consensus(adata, keys=["a", "b"], n_clusters=2, random_state=0)
    assert all(v is not None for v in adata.uns["consensus"]["params"].values())


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_described(name):
    model = make(name, n_clusters=2)
    described = re.findall(r"^    (\w+(?:, \w+)*) :", type(model).__doc__, re.MULTILINE)
    known = {one for names in described for one in names.split(", ")}
    assert model.get_params().keys() <= known


def test_a_tree_of_regions_is_linked_from_as_many_as_asked_for(monkeypatch):
    usual, asked = families.link, []

    def link(*args, **options):
        asked.append(options["max_regions"])
        return usual(*args, **options)

    monkeypatch.setattr(families, "link", link)
    labels = random_ensemble(60, 5, 4, seed=1, noise=0.3).labels
    ensclust.EAC(3, base="precomputed", max_regions=9).fit(labels)
    assert asked == [9]


def test_what_was_not_asked_for_is_not_kept_with_labels():
    anndata, pandas = map(pytest.importorskip, ("anndata", "pandas"))
    runs = pandas.DataFrame({"a": list("xxyyy"), "b": list("ppqqq")}, list("12345"))
    cells = anndata.AnnData(obs=runs)
    scverse.consensus(cells, ["a", "b"], n_clusters=2, method="eac", weights=None)
    params = cells.uns["consensus"]["params"]
    assert "weights" not in params
    assert params["method"] == "eac"
