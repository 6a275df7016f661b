"""Criteria against their definitions, and the choice of the number of clusters."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

import ensclust
from ensclust import CoAssociation, Ensemble, consensus, generate, select_k
from ensclust._quality import criteria
from ensclust._quality.criteria import CRITERIA, suggest
from ensclust._quality.k_selection import KSelection
from ensclust._trees import known_rows
from ensclust.similarity import jaccard
from strategies import ensembles, random_ensemble

CLEAR = random_ensemble(120, 12, 4, seed=0, noise=0.05)


def labelling(data, n_objects, highest=3):
    """Draw clusters 0..k-1 without gaps."""
    cells = st.integers(0, highest)
    drawn = data.draw(st.lists(cells, min_size=n_objects, max_size=n_objects))
    return np.unique(drawn, return_inverse=True)[1]


def reduced(ensemble, labels):
    """Every base cluster takes the label of most of its objects, literally."""
    table = ensemble.labels.copy()
    for m in range(table.shape[1]):
        for cluster in range(ensemble.cluster_counts[m]):
            members = ensemble.labels[:, m] == cluster
            table[members, m] = np.argmax(np.bincount(labels[members]))
    return table


def consensus_values(ensemble, labels):
    """Consensus of every pair of objects over the reduced clusterings."""
    matrix = CoAssociation(Ensemble(reduced(ensemble, labels))).dense()
    return matrix[np.triu_indices(len(matrix), 1)]


# --- criteria against their definitions


@given(ensembles(), st.data())
def test_area_and_pac_are_those_of_the_consensus_matrix(ensemble, data):
    labels = labelling(data, ensemble.n_objects)
    values = consensus_values(ensemble, labels)
    pairs = criteria.consensus_pairs(ensemble, labels)
    assert pairs.sum() == len(values)
    if not len(values):
        return
    ambiguous = (values > 0.1) & (values <= 0.9)
    assert criteria.cdf_area(pairs) == pytest.approx(1 - values.mean(), abs=1e-12)
    assert criteria.pac(pairs) == pytest.approx(ambiguous.mean(), abs=1e-12)
    points, cdf = criteria.consensus_cdf(pairs)
    for point, share in zip(points, cdf, strict=True):
        assert share == pytest.approx((values <= point + 1e-12).mean())


def test_pairs_do_not_depend_on_threads():
    ensemble = random_ensemble(300, 10, 5, seed=1, missing=0.1)
    labels = consensus(ensemble, 5, "eac")
    one, three = (
        criteria.consensus_pairs(ensemble, labels, n_jobs=j).tolist() for j in (1, 3)
    )
    assert one == three


def test_a_consensus_that_all_inputs_refine_is_not_ambiguous():
    truth = np.repeat([0, 1, 2], 8)
    finer = np.column_stack([truth * 4 + np.arange(24) % k for k in (1, 2, 4)])
    pairs = criteria.consensus_pairs(Ensemble(finer), truth)
    assert criteria.pac(pairs) == 0
    assert criteria.cdf_area(pairs) == pytest.approx(1 - 3 * 28 / 276)


@given(ensembles(missing=False), st.data())
def test_silhouette_is_scikit_learns_on_the_co_association(ensemble, data):
    labels = labelling(data, ensemble.n_objects)
    value = criteria.silhouette(ensemble, labels)
    if labels.max() == 0:
        assert math.isnan(value)
    elif labels.max() + 1 < len(labels):
        distance = 1 - CoAssociation(ensemble).dense()
        expected = silhouette_score(distance, labels, metric="precomputed")
        assert value == pytest.approx(expected, abs=1e-12)


@given(ensembles(), st.data())
def test_silhouette_pools_over_the_clusterings_that_contain_both(ensemble, data):
    labels = labelling(data, ensemble.n_objects)
    if labels.max() == 0:
        return
    table, n = ensemble.labels, ensemble.n_objects
    present = (table[:, None] >= 0) & (table[None] >= 0)
    together = ((table[:, None] == table[None]) & present).sum(axis=2)
    both = present.sum(axis=2)
    scores = []
    for i in range(n):
        distance = []
        for c in range(labels.max() + 1):
            members = (labels == c) & (np.arange(n) != i)
            seen = both[i, members].sum()
            distance.append(1 - (together[i, members].sum() / seen if seen else 0))
        inside = distance.pop(labels[i])
        outside, alone = min(distance), (labels == labels[i]).sum() == 1
        scores.append(0 if alone else (outside - inside) / (max(inside, outside) or 1))
    value = criteria.silhouette(ensemble, labels)
    assert value == pytest.approx(np.mean(scores), abs=1e-12)


def test_a_block_of_rows_does_not_change_the_silhouette(monkeypatch):
    labels = consensus(CLEAR, 4, "eac")
    whole = criteria.silhouette(CLEAR, labels)
    monkeypatch.setattr(known_rows, "_CELLS", 20)
    assert criteria.silhouette(CLEAR, labels) == pytest.approx(whole, abs=1e-12)


def test_lifetimes_are_gaps_of_heights_and_agree_with_the_dendrogram():
    model = ensclust.EAC(2, base="precomputed").fit(CLEAR)
    tree, ks = model.dendrogram_, range(1, model.dendrogram_.n_leaves + 2)
    gaps = criteria.lifetimes(tree, ks)
    assert np.isnan(gaps[[0, -1]]).all()
    assert gaps[2] == pytest.approx(tree.heights[-2] - tree.heights[-3])
    assert suggest("lifetime", ks, gaps) == tree.lifetime()


def test_the_eigengap_of_equal_clusterings_is_at_their_number_of_clusters():
    truth = np.repeat(np.arange(5), 6)
    for copies in (1, 4):
        ensemble = Ensemble(np.column_stack([truth] * copies))
        gaps = criteria.eigengaps(jaccard(ensemble), range(2, 25))
        assert suggest("eigengap", range(2, 25), gaps) == 5


@pytest.mark.parametrize(
    ("rule", "expected"), [("largest", 4), ("smallest", 2), ("knee", 3), (None, 3)]
)
def test_a_rule_picks_its_k(rule, expected):
    values = np.array([0.5, 0.9, 0.95, 0.95, np.nan])
    assert suggest("silhouette", [2, 3, 4, 5, 6], values, rule) == expected


def test_eigengaps_need_no_consensus(monkeypatch):
    monkeypatch.setattr("ensclust._methods.driver.solve", None)
    assert select_k(CLEAR, [2, 3, 4], criteria=["eigengap"]).labels == {}


def test_nothing_is_suggested_where_nothing_is_defined():
    assert suggest("anmi", [2, 3], np.full(2, np.nan)) is None


@pytest.mark.parametrize("n_clusters", [2, 3, 5, 9])
@pytest.mark.parametrize("last", [10, 25])
def test_inputs_that_refine_k_equal_clusters_give_k_wherever_the_range_ends(
    n_clusters, last
):
    rng = np.random.default_rng(n_clusters)
    truth = np.repeat(np.arange(n_clusters), 24)
    parts = rng.integers(0, 4, (12, len(truth)))
    ensemble = Ensemble.from_clusterings(truth * 4 + parts)
    found = select_k(ensemble, range(2, last + 1)).suggested
    assert found.pop("pac") == 2  # every coarser consensus is unambiguous too
    assert set(found.values()) == {n_clusters}, found


# --- select_k


def test_clear_clusters_are_found_by_every_criterion_but_pac():
    found = select_k(CLEAR, range(2, 11))
    assert list(found.suggested) == list(CRITERIA)
    for name in set(CRITERIA) - {"pac"}:
        assert found.suggested[name] == 4, name
    assert found.best_k == 4


@pytest.mark.parametrize("method", ["ecpcs-mc", "kcc", "ptgp"])
def test_methods_without_a_tree_have_no_lifetime(method):
    found = select_k(CLEAR, range(2, 7), method, random_state=0)
    assert found.best_k == 4
    assert "lifetime" not in found.suggested
    assert np.isnan(found.scores["lifetime"]).all()


def test_scores_are_those_of_the_cuts():
    found = select_k(CLEAR, [5, 3], "eac", criteria=["anmi", "silhouette"])
    assert found.ks == (3, 5)
    for i, k in enumerate(found.ks):
        labels = consensus(CLEAR, k, "eac")
        assert found.scores["silhouette"][i] == criteria.silhouette(CLEAR, labels)
        assert found.scores["anmi"][i] == ensclust.metrics.mean_nmi(CLEAR, labels)


def test_the_table_has_a_row_per_k_and_the_delta_area():
    found = select_k(CLEAR, range(2, 6))
    assert [row["k"] for row in found.table] == [2, 3, 4, 5]
    area = found.scores["cdf_area"]
    assert found.table[0]["delta_area"] == area[0]
    assert found.table[2]["delta_area"] == pytest.approx(area[2] / area[1] - 1)
    frame = found.to_pandas()
    assert frame.index.tolist() == [2, 3, 4, 5]
    assert frame["pac"].tolist() == list(found.scores["pac"])


def test_a_k_that_cannot_be_formed_is_not_suggested_and_does_not_warn():
    table = np.repeat([[0, 0], [1, 1], [2, 1]], 6, axis=0)
    found = select_k(table, range(2, 8))
    assert np.isnan(found.scores["cdf_area"][2:]).all()
    assert set(found.suggested.values()) <= {2, 3}


def test_a_sample_is_judged_beyond_n_sample():
    ensemble = random_ensemble(1500, 10, 4, seed=3, noise=0.1)
    whole = select_k(ensemble, range(2, 9), n_sample=None)
    part = select_k(ensemble, range(2, 9), n_sample=300, random_state=0)
    again = select_k(ensemble, range(2, 9), n_sample=300, random_state=0, n_jobs=1)
    assert (whole.n_judged, part.n_judged) == (1500, 300)
    assert (part.scores, part.best_k_range) == (again.scores, again.best_k_range)
    assert np.allclose(part.scores["cdf_area"], whole.scores["cdf_area"], atol=0.05)
    assert part.best_k == whole.best_k == 4


def test_objects_in_no_clustering_are_not_judged():
    labels = np.vstack([CLEAR.labels, np.full((5, 12), -1)])
    assert select_k(labels, range(2, 7)).scores == select_k(CLEAR, range(2, 7)).scores
    with pytest.raises(ValueError, match="none of the 3 objects"):
        select_k(np.full((3, 2), -1))


def test_the_default_range_ends_at_the_root_of_n():
    assert select_k(CLEAR, criteria=["anmi"]).ks == tuple(range(2, 11))
    assert select_k([[0, 1], [0, 0]]).best_k == 1
    assert select_k(np.zeros((9, 2), int)).best_k == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k_range": []}, ValueError, r"k_range=\[\] is empty"),
        ({"k_range": 5}, TypeError, "k_range=5 is not a list.*range"),
        ({"k_range": "auto"}, TypeError, "k_range='auto' is not a list"),
        ({"k_range": [0]}, ValueError, "n_clusters=0 is less than 1"),
        ({"k_range": [999]}, ValueError, "n_clusters=999 is larger"),
        ({"criteria": ["gap"]}, ValueError, "criteria='gap' is not supported.*'pac'"),
        ({"criteria": []}, ValueError, "a list with one or more of 'anmi'"),
        ({"n_sample": 1}, ValueError, "n_sample=1; expected an integer >= 2"),
        ({"method": "nosuch"}, ValueError, "method='nosuch' is not supported"),
        ({"stepz": 2}, TypeError, "no parameter 'stepz'"),
    ],
)
def test_wrong_input_is_refused_with_what_is_allowed(options, error, message):
    with pytest.raises(error, match=message):
        select_k(CLEAR, **options)


def test_the_repr_names_every_suggestion():
    text = repr(select_k(CLEAR, range(2, 7), "ecpcs-mc", random_state=0))
    assert "ecpcs-mc, k from 2 to 6, 120 objects" in text
    for name in CRITERIA:
        assert f"\n  {name} " in text
    assert text.count("<- best_k") == 1
    assert "best_k = 4" in text


def test_the_plot_marks_each_suggestion():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    found = select_k(CLEAR, range(2, 7), criteria=["pac", "eigengap"])
    axes = found.plot()
    assert [ax.get_title(loc="left") for ax in axes] == [
        CRITERIA["pac"].title,
        CRITERIA["eigengap"].title,
    ]
    assert axes[1].texts[0].get_text() == " 4"
    with pytest.raises(ValueError, match=r"axes holds 1 axes; pass 2.*pac, eigengap"):
        found.plot(axes[:1])
    pyplot.close("all")


# --- n_clusters="auto"


@pytest.mark.parametrize("method", ensclust.methods())
def test_auto_finds_clear_clusters_with_every_method(method):
    labels = consensus(CLEAR, "auto", method, random_state=0)
    assert np.array_equal(labels, consensus(CLEAR, 4, method, random_state=0))


def test_auto_on_features_keeps_why():
    X, _ = make_blobs(200, centers=4, cluster_std=0.4, random_state=1)
    model = ensclust.ECPCSMC("auto", random_state=0).fit(X)
    assert model.n_clusters_ == model.selection_.best_k == 4
    assert isinstance(model.selection_, KSelection)
    assert model.ensemble_.cluster_counts.min() >= 2


def test_auto_may_stand_in_a_list():
    several = consensus(CLEAR, [2, "auto"], random_state=0)
    assert several.max(axis=0).tolist() == [1, 3]


@given(ensembles())
def test_auto_takes_any_ensemble(ensemble):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        labels = consensus(ensemble, "auto", "eac")
    assert labels.min() == 0


NOISE = {
    "normal, 2 features": lambda rng, n: generate(
        rng.normal(size=(n, 2)), random_state=0
    ),
    "normal, 10 features": lambda rng, n: generate(
        rng.normal(size=(n, 10)), random_state=0
    ),
    "uniform": lambda rng, n: generate(rng.uniform(size=(n, 5)), random_state=0),
}


@pytest.mark.parametrize("k_range", [range(2, 13), None])
@pytest.mark.parametrize("kind", NOISE)
def test_no_number_of_clusters_stands_out_of_noise(kind, k_range):
    ensemble = NOISE[kind](np.random.default_rng(3), 300)
    with pytest.warns(
        UserWarning, match="no number of clusters from 2 to 1. stands ou"
    ):
        select_k(ensemble, k_range, criteria=["anmi"], random_state=0)


@pytest.mark.parametrize("name", ["cdf_area", "pac", "silhouette"])
def test_noise_is_noticed_by_other_criteria_too(name):
    X = np.random.default_rng(1).normal(size=(300, 10))
    runs = generate(X, 20, random_state=1)
    with pytest.warns(UserWarning, match="no number of clusters from 2 to 7 stands ou"):
        select_k(runs, range(2, 8), criteria=[name], random_state=0)


def test_auto_warns_of_noise_too():
    X = np.random.default_rng(0).normal(size=(300, 5))
    with pytest.warns(UserWarning, match="cannot be told from noise"):
        ensclust.ECPCSHC("auto", random_state=0).fit(X)


@pytest.mark.parametrize("n_features", [2, 5])
@pytest.mark.parametrize("k", [2, 3, 4, 6, 8])
def test_clear_clusters_stand_out(k, n_features):
    rng = np.random.default_rng(k)
    centres = rng.permutation(np.indices((3,) * n_features).reshape(n_features, -1).T)[
        :k
    ]
    X = 10 * centres[rng.integers(0, k, 300)] + rng.normal(size=(300, n_features))
    ensemble = generate(X, random_state=0)
    for k_range in (range(2, 16), range(2, k + 1), None):  # warnings are errors here
        select_k(ensemble, k_range, random_state=0)
