"""The displays: their data against definitions, their manners, their errors."""

import builtins
import subprocess
import sys
import warnings
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from matplotlib import pyplot
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

import ensclust
from ensclust import (
    EAC,
    ECPCSHC,
    ECPCSMC,
    KCC,
    MCLA,
    ClusterGraphDisplay,
    ClusteringTreeDisplay,
    ConsensusMatrixDisplay,
    DendrogramDisplay,
    Ensemble,
    SelectKDisplay,
    StabilityDisplay,
    generate,
    select_k,
)
from ensclust._quality.mean_coassociation import Histograms, mutual_consensus
from ensclust._trees.linkage import link
from ensclust._view.cluster_graph import spring_layout
from ensclust._view.palette import PALETTE, colour
from strategies import ensembles, random_ensemble

mpl.use("Agg")

DISPLAYS = {
    "matrix": ConsensusMatrixDisplay,
    "dendrogram": DendrogramDisplay,
    "stability": StabilityDisplay,
    "select-k": SelectKDisplay,
    "graph": ClusterGraphDisplay,
    "clusterings": ClusteringTreeDisplay,
}


def rows_of_labels(n_objects=90, n_clusterings=6, n_groups=3, missing=0.0, seed=0):
    """Return noisy copies of a clustering into groups, and the groups."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_objects) % n_groups
    labels = np.repeat(truth[:, None], n_clusterings, axis=1)
    wrong = rng.random(labels.shape) < 0.15
    labels[wrong] = rng.integers(0, n_groups + 2, wrong.sum())
    labels[rng.random(labels.shape) < missing] = -1
    return labels, truth


@pytest.fixture(scope="module")
def ensemble():
    return Ensemble(rows_of_labels()[0])


@pytest.fixture(scope="module")
def tree_model(ensemble):
    return ECPCSHC(3, base="precomputed", random_state=0).fit(ensemble)


@pytest.fixture(scope="module")
def auto_model(ensemble):
    return EAC("auto", base="precomputed", random_state=0).fit(ensemble)


# --- what all have in common


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_draws_where_it_is_told_and_leaves_pyplot_as_it_was(name, auto_model):
    figure, (left, right) = pyplot.subplots(1, 2)
    other = pyplot.figure()
    current, settings = other.add_subplot(), dict(mpl.rcParams)
    figure.sca(right)
    display = DISPLAYS[name].from_estimator(auto_model, ax=left)
    assert display.ax_ is left
    assert display.figure_ is figure
    assert pyplot.gca() is current
    assert figure.gca() is right
    assert len(pyplot.get_fignums()) == 2
    assert dict(mpl.rcParams) == settings
    figure.canvas.draw()


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_without_axes_makes_one_figure(name, auto_model):
    display = DISPLAYS[name].from_estimator(auto_model)
    assert isinstance(display, DISPLAYS[name])
    assert pyplot.get_fignums() == [display.figure_.number]
    assert display.ax_ in display.figure_.axes
    display.figure_.canvas.draw()
    assert display.plot() is display
    assert len(pyplot.get_fignums()) == 2


@pytest.mark.parametrize("name", DISPLAYS)
def test_a_display_wants_a_fitted_estimator_and_axes(name, auto_model):
    with pytest.raises(NotFittedError, match="not fitted"):
        DISPLAYS[name].from_estimator(ECPCSHC(3))
    with pytest.raises(TypeError, match=r"estimator is of type KMeans; .*ECPCSMC"):
        DISPLAYS[name].from_estimator(KMeans(2).fit(np.eye(3)))
    with pytest.raises(TypeError, match=r"ax is of type Figure; .* matplotlib Axes"):
        DISPLAYS[name].from_estimator(auto_model, ax=pyplot.figure())


@pytest.mark.parametrize("name", DISPLAYS)
def test_without_matplotlib_the_error_has_the_install_line(
    name, auto_model, monkeypatch
):
    found = builtins.__import__

    def refuse(module, *args, **kwargs):
        if module.startswith("matplotlib"):
            raise ImportError(module)
        return found(module, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    for module in [m for m in sys.modules if m.startswith("matplotlib")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    install = r'needs matplotlib.*pip install "ensclust\[plot\]"'
    with pytest.raises(ImportError, match=rf"{DISPLAYS[name].__name__}.plot {install}"):
        DISPLAYS[name].from_estimator(auto_model)


def test_importing_the_displays_does_not_import_matplotlib():
    code = (
        "import sys, ensclust; ensclust.ConsensusMatrixDisplay; "
        "sys.exit('matplotlib' in sys.modules or 'numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "k"), [("ecpcs-hc", 1), ("ecpcs-mc", 2), ("ecpcs-mc", 60), ("kcc", 1)]
)
def test_every_display_draws_any_number_of_clusters(method, k):
    labels, _ = rows_of_labels(150, 5, n_groups=60)
    model = ensclust._methods.METHODS[method](k, base="precomputed", random_state=0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"\w+ formed")
        model.fit(labels)
    for name in ("matrix", "stability", "graph", "clusterings", "dendrogram"):
        if name == "dendrogram" and method != "ecpcs-hc":
            continue
        DISPLAYS[name].from_estimator(model).figure_.canvas.draw()


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 12, 40, 60])
@pytest.mark.parametrize("name", ["matrix", "dendrogram", "stability"])
def test_numbers_of_clusters_do_not_overlap(name, k):
    labels, _ = rows_of_labels(300, 5, n_groups=60)
    model = ECPCSHC(k, base="precomputed", random_state=0).fit(labels)
    display = DISPLAYS[name].from_estimator(model)
    display.figure_.canvas.draw()
    axis = display.ax_.yaxis if name == "matrix" else display.ax_.xaxis
    boxes = [text.get_window_extent() for text in axis.get_ticklabels()]
    assert len(boxes) > min(k, 20) / 2
    for one, other in pairwise(boxes):
        assert not one.overlaps(other)


@pytest.mark.parametrize("method", [ECPCSHC, ECPCSMC])
def test_objects_in_no_clustering_are_left_out_and_named(method):
    labels, _ = rows_of_labels(missing=0.3)
    labels[:4] = -1
    model = method(3, base="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="4 of 90 objects"):
        model.fit(labels)
    display = ConsensusMatrixDisplay.from_estimator(model)
    assert (display.rows[:4] == -1).all()
    assert "86 objects" in display.ax_.get_title()
    assert "4 without a cluster" in display.ax_.get_title()
    StabilityDisplay.from_estimator(model)
    ClusterGraphDisplay.from_estimator(model)


@pytest.mark.parametrize(
    "name", ["matrix", "dendrogram", "stability", "graph", "clusterings"]
)
def test_a_result_without_any_cluster_is_refused(name):
    model = EAC(1, base="precomputed", random_state=0)
    with pytest.warns(UserWarning, match="3 of 3 objects"):
        model.fit(np.full((3, 2), -1))
    with pytest.raises(ValueError, match="none of the 3 objects has a cluster"):
        DISPLAYS[name].from_estimator(model)


def test_colours_are_distinct_until_they_repeat():
    assert len({colour(j) for j in range(30)}) == 30 == len(PALETTE)
    assert colour(60) == colour(30) == colour(0)


# --- consensus matrix


def literal_means(labels, rows, weights):
    """Pool clusterings that agree over the pairs of objects of each two rows."""
    n_rows = rows.max() + 1
    means = np.zeros((n_rows, n_rows))
    for a in range(n_rows):
        for b in range(n_rows):
            together = pairs = 0.0
            for i in np.flatnonzero(rows == a):
                for j in np.flatnonzero(rows == b):
                    both = (labels[i] >= 0) & (labels[j] >= 0)
                    together += (weights * both * (labels[i] == labels[j])).sum()
                    pairs += (weights * both).sum()
            means[a, b] = together / pairs if pairs else 0.0
    return means


@given(ensembles(), st.data())
def test_mutual_consensus_is_what_its_definition_says(ens, data):
    n = ens.n_objects
    rows = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    rows = np.unique(rows, return_inverse=True)[1]
    weights = np.array(
        data.draw(
            st.lists(
                st.sampled_from([0.5, 1.0, 2.0]),
                min_size=ens.n_clusterings,
                max_size=ens.n_clusterings,
            )
        )
    )
    found = mutual_consensus(Histograms.of(ens, rows), weights)
    assert found == pytest.approx(literal_means(ens.labels, rows, weights))


def test_every_object_has_a_row_and_the_matrix_is_the_coassociation(
    ensemble, tree_model
):
    display = ConsensusMatrixDisplay.from_estimator(tree_model)
    assert sorted(display.rows) == list(range(90))
    assert (np.diff(display.labels) >= 0).all()
    assert np.array_equal(display.labels[display.rows], tree_model.labels_)
    dense = ensclust.CoAssociation(ensemble).dense()
    assert display.matrix[np.ix_(display.rows, display.rows)] == pytest.approx(dense)
    assert display.ax_.get_title() == "Consensus matrix of 90 objects"


def test_rows_of_a_tree_method_are_in_the_order_of_its_tree(tree_model):
    display = ConsensusMatrixDisplay.from_estimator(tree_model)
    tree = tree_model.dendrogram_
    place = np.argsort(tree.leaf_order())[tree.leaf_of_object]
    for j in range(3):
        own = tree_model.labels_ == j
        assert (np.diff(place[own][np.argsort(display.rows[own])]) >= 0).all()


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_more_objects_than_rows_are_averaged_and_the_title_says_so(missing):
    labels, truth = rows_of_labels(missing=missing)
    weights = np.arange(1.0, 7.0)
    display = ConsensusMatrixDisplay.from_ensemble(
        labels, truth, weights=weights, max_rows=12
    )
    assert len(display.matrix) == 12
    assert np.array_equal(display.sizes, np.bincount(display.rows))
    assert np.array_equal(display.labels[display.rows], truth)
    literal = literal_means(labels, display.rows, weights)
    assert display.matrix == pytest.approx(literal)
    assert "90 objects, each row a mean of about 8" in display.ax_.get_title()


def test_a_large_ensemble_makes_no_matrix_of_objects(monkeypatch):
    n = 300_000
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, (n, 3)).astype(np.uint8)
    monkeypatch.setattr(ensclust.CoAssociation, "dense", None)
    display = ConsensusMatrixDisplay.from_ensemble(labels, labels[:, 0].astype(int))
    assert display.matrix.shape[0] <= 406
    assert display.sizes.sum() == n
    assert "each row a mean of about 75" in display.ax_.get_title()


@pytest.mark.parametrize("max_rows", [0, 5001, 2.0, True, "all"])
def test_max_rows_that_no_screen_shows_are_refused(ensemble, max_rows):
    with pytest.raises(ValueError, match=r"max_rows=.*an integer from 1 to 5,000"):
        ConsensusMatrixDisplay.from_ensemble(
            ensemble, np.zeros(90, int), max_rows=max_rows
        )


def test_more_clusters_than_a_screen_shows_are_refused():
    labels = np.arange(5001)
    with pytest.raises(
        ValueError, match=r"labels has 5,001 clusters; .* at most 5,000"
    ):
        ConsensusMatrixDisplay.from_ensemble(labels[:, None], labels)


@pytest.mark.parametrize("limit", [0, -1, 1.5, None])
def test_limits_are_whole_numbers(ensemble, tree_model, limit):
    with pytest.raises(ValueError, match=r"max_leaves=.*an integer from 1 to 1,000"):
        DendrogramDisplay.from_estimator(tree_model, max_leaves=limit)
    with pytest.raises(ValueError, match=r"max_nodes=.*an integer from 1 to 3,000"):
        ClusterGraphDisplay.from_ensemble(ensemble, max_nodes=limit)


def test_style_of_the_matrix_can_be_changed(tree_model):
    display = ConsensusMatrixDisplay.from_estimator(
        tree_model, cmap="viridis", colorbar=False, im_kw={"vmax": 0.5}
    )
    assert display.im_.get_cmap().name == "viridis"
    assert display.im_.get_clim() == (0, 0.5)
    assert display.figure_.axes == [display.ax_]


# --- dendrogram


@given(ensembles(), st.data())
def test_the_top_of_a_tree_has_the_cuts_of_the_tree(ens, data):
    tree = link(ensclust.CoAssociation(ens))
    n_groups = data.draw(st.integers(1, ens.n_objects))
    top = tree.top(n_groups)
    assert top.n_leaves == min(n_groups, tree.n_leaves)
    for k in range(1, top.n_leaves + 1):
        assert np.array_equal(top.cut(k), tree.cut(k))
    assert top.heights.tolist() == tree.heights[tree.n_leaves - top.n_leaves :].tolist()
    assert (top.leaf_heights <= np.append(top.heights, np.inf).min()).all()


@given(ensembles())
def test_every_cut_is_a_run_of_leaves(ens):
    tree = link(ensclust.CoAssociation(ens))
    order = tree.leaf_order()
    assert sorted(order) == list(range(tree.n_leaves))
    for k in range(1, tree.n_leaves + 1):
        label = np.empty(tree.n_leaves, int)
        label[tree.leaf_of_object] = tree.cut(k)
        assert (np.diff(label[order]) != 0).sum() == k - 1


def test_the_dendrogram_shows_groups_with_the_numbers_of_the_estimator(tree_model):
    display = DendrogramDisplay.from_estimator(tree_model, max_leaves=8)
    assert len(display.sizes) == 8
    assert display.sizes.sum() == 90
    leaf = display.dendrogram.leaf_of_object
    assert np.array_equal(display.labels[leaf], tree_model.labels_)
    heights = tree_model.dendrogram_.heights
    assert display.cut_height == pytest.approx((heights[-3] + heights[-2]) / 2)
    names = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert sorted(names) == ["0", "1", "2"]
    assert display.ax_.get_title() == "90 objects in 8 groups, cut into 3"


def test_a_dendrogram_without_a_cut_names_the_sizes(tree_model):
    display = DendrogramDisplay.from_dendrogram(tree_model.dendrogram_, max_leaves=4)
    assert display.cut_height is None
    assert (display.labels == 0).all()
    names = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert sorted(map(int, names)) == sorted(display.sizes)


def test_there_are_as_many_groups_as_clusters(tree_model):
    display = DendrogramDisplay.from_estimator(tree_model, n_clusters=20, max_leaves=4)
    assert len(display.sizes) == 20


def test_a_tree_of_one_leaf_can_be_drawn():
    tree = link(ensclust.CoAssociation(Ensemble([[0], [0]])))
    assert DendrogramDisplay.from_dendrogram(tree, 1).sizes.tolist() == [2]


def test_a_method_without_a_tree_says_which_have_one(ensemble):
    model = KCC(3, base="precomputed", random_state=0).fit(ensemble)
    with pytest.raises(ValueError, match=r"KCC has no dendrogram.*Use ECPCSHC"):
        DendrogramDisplay.from_estimator(model)


def test_the_methods_that_the_error_names_are_those_with_a_tree(ensemble):
    for name in ("ECPCSHC", "EAC", "WCT", "SRS"):
        model = getattr(ensclust, name)(3, base="precomputed").fit(ensemble)
        assert hasattr(model, "dendrogram_")


# --- stability


def test_stability_shows_quantiles_of_item_consensus(ensemble, tree_model):
    display = StabilityDisplay.from_estimator(tree_model)
    sure = tree_model.certainty()
    assert display.clusters.tolist() == np.argsort(-sure.cluster_consensus).tolist()
    for j, quantiles, following in zip(
        display.clusters, display.quantiles, display.next_consensus, strict=True
    ):
        own = sure.labels == j
        levels = [5, 25, 50, 75, 95]
        expected = np.percentile(sure.item_consensus[own], levels)
        assert quantiles == pytest.approx(expected)
        assert following == pytest.approx(sure.next_consensus[own].mean())
    same = StabilityDisplay.from_ensemble(ensemble, tree_model.labels_)
    assert np.array_equal(same.quantiles, display.quantiles)
    assert StabilityDisplay.from_certainty(sure).certainty is sure


def test_one_cluster_has_no_line_for_the_next(ensemble):
    display = StabilityDisplay.from_ensemble(ensemble, np.zeros(90, int))
    assert len(display.ax_.get_legend().get_texts()) == 2


def test_clusters_of_one_object_have_no_stability(ensemble):
    labels = np.zeros(90, int)
    labels[5] = 1
    display = StabilityDisplay.from_ensemble(ensemble, labels)
    assert display.clusters.tolist() == [0]
    assert "1 of one object not shown" in display.ax_.get_title()


# --- number of clusters


def test_the_curves_are_those_of_the_selection(ensemble):
    found = select_k(ensemble, range(2, 7), random_state=0)
    display = SelectKDisplay.from_selection(found)
    assert display.selection is found
    for ax, values in zip(display.axes_, found.scores.values(), strict=True):
        assert ax.get_lines()[1].get_ydata() == pytest.approx(values, nan_ok=True)
        assert ax.get_lines()[0].get_xdata()[0] == found.best_k
    decisive = display.axes_[list(found.scores).index(found.decisive)]
    bold = [ax for ax in display.axes_ if ax._left_title.get_weight() == "bold"]
    assert bold == [decisive]
    again = SelectKDisplay.from_ensemble(ensemble, range(2, 7), random_state=0)
    assert again.selection.scores.keys() == found.scores.keys()
    assert again.selection.suggested == found.suggested


def test_the_decisive_criterion_gives_best_k(ensemble):
    found = select_k(ensemble, range(2, 7), criteria=["pac", "eigengap"])
    assert found.decisive == "pac"
    assert found.best_k == found.suggested["pac"]


def test_panels_take_the_place_of_axes_that_lie_anywhere(ensemble):
    found = select_k(ensemble, range(2, 6), random_state=0)
    figure = pyplot.figure()
    ax = figure.add_axes((0.5, 0.1, 0.4, 0.8))
    display = SelectKDisplay.from_selection(found, ax=ax)
    assert min(panel.get_position().x0 for panel in display.axes_) >= 0.5 - 1e-9


def test_an_estimator_that_chose_nothing_says_how_to_choose(tree_model):
    with pytest.raises(ValueError, match=r'n_clusters=3, so no k.*n_clusters="auto"'):
        SelectKDisplay.from_estimator(tree_model)


# --- graph of base clusters


@pytest.mark.parametrize("method", [ECPCSMC, MCLA])
def test_the_graph_has_the_meta_clusters_of_the_method(method, ensemble):
    model = method(3, base="precomputed", random_state=0).fit(ensemble)
    display = ClusterGraphDisplay.from_estimator(model)
    assert np.array_equal(display.meta_labels, model.meta_labels_)
    assert display.similarity == pytest.approx(model.cluster_similarity_)
    assert np.array_equal(display.sizes, ensemble.sizes)
    assert display.places.shape == (ensemble.n_base_clusters, 2)


def test_clusterings_of_no_weight_are_not_in_the_graph(ensemble):
    weights = [1, 1, 1, 1, 0, 1]
    model = ECPCSMC(3, base="precomputed", weights=weights, random_state=0)
    display = ClusterGraphDisplay.from_estimator(model.fit(ensemble))
    assert len(display.sizes) == len(model.meta_labels_) < ensemble.n_base_clusters


def test_base_clusters_have_the_colour_of_most_of_their_objects(ensemble):
    labels = ensemble.labels[:, 0]
    display = ClusterGraphDisplay.from_ensemble(ensemble, labels)
    shares = [
        np.bincount(labels[ensemble.labels[:, m] == j]).argmax()
        for m in range(ensemble.n_clusterings)
        for j in range(ensemble.cluster_counts[m])
    ]
    assert display.meta_labels.tolist() == shares
    assert display.similarity == pytest.approx(ensclust.similarity.jaccard(ensemble))


def test_each_node_is_joined_to_the_three_that_are_most_similar(ensemble):
    display = ClusterGraphDisplay.from_ensemble(ensemble)
    S = display.similarity - np.eye(len(display.similarity))
    joined = {frozenset(edge) for edge in display.edges.tolist()}
    for i, row in enumerate(S):
        for j in np.argsort(-row, kind="stable")[:3]:
            assert row[j] == 0 or frozenset((i, int(j))) in joined


def test_of_many_base_clusters_the_largest_are_shown_and_the_title_says_so(ensemble):
    display = ClusterGraphDisplay.from_ensemble(ensemble, max_nodes=5)
    assert len(display.nodes) == 5
    assert display.sizes[display.nodes].min() >= np.sort(display.sizes)[-5]
    assert set(display.edges.ravel()) <= set(display.nodes)
    assert "the 5 largest shown" in display.ax_.get_title()


def test_the_layout_is_the_same_every_time_and_joins_what_is_similar():
    weights = np.kron(np.eye(3), np.ones((8, 8)))
    np.fill_diagonal(weights, 0)
    groups = np.arange(24) % 5  # no help
    place = spring_layout(weights, groups)
    assert np.array_equal(place, spring_layout(weights, groups))
    distance = np.linalg.norm(place[:, None] - place, axis=2)
    inside = np.kron(np.eye(3), np.ones((8, 8))) > 0
    assert distance[inside].max() < distance[~inside].min()
    assert spring_layout(np.zeros((1, 1)), np.zeros(1)).tolist() == [[0, 0]]


def test_one_base_cluster_is_a_graph():
    assert len(ClusterGraphDisplay.from_ensemble([[0], [0]]).nodes) == 1


def test_a_display_of_generated_clusterings_needs_no_labels():
    X = np.random.default_rng(0).normal(size=(60, 2))
    display = ClusterGraphDisplay.from_ensemble(generate(X, 4, random_state=0))
    assert (display.meta_labels == -1).all()


def test_a_tree_can_be_drawn_from_base_clusterings():
    runs = random_ensemble(80, 6, 4, 0)
    shown = DendrogramDisplay.from_ensemble(runs, 3)
    tree = ECPCSHC(3, base="precomputed").fit(runs).dendrogram_
    assert np.array_equal(shown.dendrogram.heights, tree.top(50).heights)
    assert shown.n_clusters == 3
    with pytest.raises(ValueError, match=r"KCC has no dendrogram.*EAC"):
        DendrogramDisplay.from_ensemble(runs, method="kcc")


# --- how clusters split from one clustering to the next


@example(Ensemble(np.array([[0, -1, 0], [1, -1, 0]])))  # a clustering without a cluster
@given(ensembles())
def test_edges_of_the_tree_are_shares_of_the_lower_cluster(ens):
    if ens.absent().all():
        return
    display = ClusteringTreeDisplay(ens)
    expected = {}
    for m in range(ens.n_clusterings - 1):
        upper, lower = ens.labels[:, m], ens.labels[:, m + 1]
        for j in range(ens.cluster_counts[m + 1]):
            above = upper[(lower == j) & (upper >= 0)]
            for i in np.unique(above):
                edge = int(ens.offsets[m] + i), int(ens.offsets[m + 1] + j)
                expected[edge] = np.mean(above == i)
    found = dict(zip(map(tuple, display.edges.tolist()), display.shares, strict=True))
    assert found == pytest.approx(expected)


def test_clusters_that_nest_are_drawn_without_a_crossing():
    fine = np.random.default_rng(0).permutation(12)  # numbers that say nothing
    runs = np.column_stack([fine[np.arange(48) // size] for size in (24, 12, 4)])
    display = ClusteringTreeDisplay(runs)
    (x, y), lines = display.places.T, display.edges
    assert set(y) == {0, -1, -2}
    for upper, lower in lines:
        for other, below in lines[y[lines[:, 0]] == y[upper]]:
            assert (x[upper] - x[other]) * (x[lower] - x[below]) >= 0


def test_nodes_of_the_tree_have_names_and_colours(ensemble):
    pandas = pytest.importorskip("pandas")
    runs = pandas.DataFrame({"coarse": list("aabb"), "fine": list("xyzz")})
    display = ClusteringTreeDisplay.from_ensemble(runs, [0, 0, 1, 1])
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert sorted(ticks) == ["coarse", "fine"]
    assert [text.get_text() for text in display.ax_.texts] == list("abxyz")
    assert display.clusters.tolist() == [0, 1, 0, 0, 1]


def test_base_clusterings_of_an_estimator_are_drawn_from_coarse_to_fine():
    runs = np.column_stack([np.arange(24) // size for size in (4, 12, 6)])
    model = EAC(2, base="precomputed", random_state=0).fit(runs)
    display = ClusteringTreeDisplay.from_estimator(model)
    assert display.names == ["1", "2", "0"]
    assert display.ensemble.cluster_counts.tolist() == [2, 4, 6]
