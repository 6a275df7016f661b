import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster import hierarchy

from ensclust import CoAssociation, Dendrogram, Ensemble
from ensclust._trees.linkage import link
from ensclust.metrics import ari
from strategies import ensembles

mpl.use("Agg")


@pytest.fixture
def tree():
    merges = np.array([[0, 1], [2, 3], [4, 5]])
    return Dendrogram(np.array([3, 0, 1, 2, 0]), merges, np.array([0.1, 0.4, 0.9]))


def without_last_merges(matrix, k):
    """Cut a linkage matrix by merge order (SciPy's cut_tree errs on tied heights)."""
    n = len(matrix) + 1
    groups = {i: [i] for i in range(n)}
    for i, (a, b) in enumerate(matrix[: n - k, :2].astype(int)):
        groups[n + i] = groups.pop(a) + groups.pop(b)
    labels = np.empty(n, int)
    for label, members in enumerate(groups.values()):
        labels[members] = label
    return labels


@given(ensembles(), st.data())
def test_a_cut_has_exactly_k_clusters_numbered_by_first_appearance(ens, data):
    tree = link(CoAssociation(ens))
    k = data.draw(st.integers(1, ens.n_objects))
    labels = tree.cut(k)
    assert len(np.unique(labels)) == min(k, tree.n_leaves)
    seen = list(dict.fromkeys(labels.tolist()))
    assert seen == list(range(len(seen)))


@given(ensembles())
def test_cuts_are_nested(ens):
    tree = link(CoAssociation(ens))
    for k in range(1, tree.n_leaves):
        coarse, fine = tree.cut(k), tree.cut(k + 1)
        for c in range(k + 1):
            assert len(np.unique(coarse[fine == c])) == 1


@given(ensembles())
def test_scipy_accepts_the_linkage_matrix_and_cuts_it_alike(ens):
    if ens.n_objects == 1:
        return
    tree = link(CoAssociation(ens))
    matrix = tree.to_scipy()
    assert hierarchy.is_valid_linkage(matrix)
    assert hierarchy.is_monotonic(matrix)
    for k in range(1, tree.n_leaves + 1):
        assert ari(tree.cut(k), without_last_merges(matrix, k)) == 1.0


def test_cut_undoes_the_last_merges(tree):
    assert tree.cut(1).tolist() == [0, 0, 0, 0, 0]
    assert tree.cut(2).tolist() == [0, 1, 1, 0, 1]
    assert tree.cut(3).tolist() == [0, 1, 1, 2, 1]


def test_more_clusters_than_leaves_give_the_leaves(tree):
    assert tree.cut(5).max() == 3


@pytest.mark.parametrize("k", [0, -1, 6])
def test_a_cut_outside_1_to_n_is_refused(tree, k):
    with pytest.raises(ValueError, match=f"n_clusters={k}"):
        tree.cut(k)


def test_a_cut_at_no_integer_is_refused(tree):
    with pytest.raises(TypeError, match=r"n_clusters=2.0 is a float"):
        tree.cut(2.0)


def test_the_longest_lifetime_decides_k(tree):
    assert tree.lifetime() == 2
    flat = Dendrogram(tree.leaf_of_object, tree.merges, np.array([0.6, 0.7, 0.8]))
    assert flat.lifetime() == 4


def test_one_leaf_has_one_cluster():
    tree = link(CoAssociation(Ensemble([[0], [0], [0]])))
    assert tree.lifetime() == 1
    assert tree.cut(1).tolist() == [0, 0, 0]
    assert tree.to_scipy()[:, 2].tolist() == [0, 0]


def test_to_pandas_has_a_row_per_merge(tree):
    frame = tree.to_pandas()
    assert frame["size"].tolist() == [3, 2, 5]
    assert frame["height"].tolist() == [0.1, 0.4, 0.9]


def test_plot_draws_the_tree_and_the_line_of_a_cut(tree):
    from matplotlib import pyplot

    ax = tree.plot(n_clusters=2)
    assert ax.get_ylabel() == "1 - similarity"
    (line,) = ax.get_lines()
    assert line.get_ydata()[0] == pytest.approx(0.65)
    pyplot.close(ax.figure)
