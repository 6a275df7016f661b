"""Edge cases of trees that some change to the source would break."""

from dataclasses import replace

import numpy as np
import pytest

from ensclust import EAC, CoAssociation, Ensemble, _kernels
from ensclust._trees import coarsening, linkage, routes
from ensclust.similarity import jaccard


def test_objects_on_their_own_keep_their_label_rows():
    operator = CoAssociation(Ensemble([[0, 0], [1, 2], [0, 0], [1, 2], [1, 1]]))
    split = operator.expand(np.array([True, False, False]))
    rows = split.leaves.labels[split.leaves.inverse]
    assert rows.tolist() == [[0, 0], [1, 2], [0, 0], [1, 2], [1, 1]]


@pytest.mark.parametrize(
    ("n_objects", "expected"),
    [(1, 2**31 - 1), (2, 2**31 - 1), (2**20, 2**25 - 1), (10**9, 36)],
)
def test_sums_of_the_largest_similarity_fit_64_bits(n_objects, expected):
    found = routes.largest(n_objects)
    assert (found, type(found)) == (expected, int)


def test_similarities_in_fixed_point_are_those_of_the_matrix():
    ensemble = Ensemble(np.array([[0, 0], [0, 1], [1, 1], [2, 1]]))
    operator = CoAssociation(ensemble)
    square, unit = operator.fixed_point(n_jobs=1)
    apart = ~np.eye(4, dtype=bool)
    found = square.reshape(4, 4)[apart] * unit
    assert found == pytest.approx(operator.dense()[apart], abs=1e-6)


def test_known_rows_of_a_file_hold_labels_of_the_clusterings():
    labels = np.array([[0, 0], [0, -1], [1, 1], [1, 1]])
    model = EAC(2, base="precomputed").fit(labels)
    known = model.assignment_
    known.check(model.ensemble_, 2)
    for wrong in (-2, 9):
        rows = known.rows.copy()
        rows[0, 0] = wrong
        with pytest.raises(ValueError, match="rows"):
            replace(known, rows=rows).check(model.ensemble_, 2)


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_similarities_of_pairs_of_leaves_become_one(kind):
    rng = np.random.default_rng(kind)
    labels = np.unique(rng.integers(0, 3, (30, 4)), axis=0)[:21]
    ensemble, regions = Ensemble(labels), np.arange(21) // 2
    operator = CoAssociation(ensemble, jaccard(ensemble))
    join = (np.mean, np.max, np.min)[kind]
    dense = operator.dense()
    given = (regions,) if kind == 0 else (regions, kind)  # means are the default
    square, unit = operator.fixed_point(*given, n_jobs=1)
    n_regions = regions.max() + 1
    found = square.reshape(n_regions, n_regions) * unit
    for a, b in zip(*np.tril_indices(n_regions, -1), strict=True):
        expected = join(dense[np.ix_(regions == a, regions == b)])
        assert found[a, b] == pytest.approx(expected, abs=1e-6)


def test_regions_are_compared_in_windows(monkeypatch):
    monkeypatch.setattr(coarsening, "WINDOW", 25)
    usual, widths = coarsening.parallel.run_spans, []

    def run_spans(kernel, spans, shared, **options):
        if kernel is _kernels.regions.neighbours:
            begin = shared[-3]
            assert begin[-1] == len(shared[-4])
            widths.append(np.diff(begin))
        usual(kernel, spans, shared, **options)

    monkeypatch.setattr(coarsening.parallel, "run_spans", run_spans)
    labels = np.unique(np.random.default_rng(0).integers(0, 6, (110, 4)), axis=0)[:90]
    tree = linkage.link(CoAssociation(Ensemble(labels)), max_regions=10, n_jobs=1)
    assert sorted(np.bincount(tree.cut(90))) == [1] * 90
    assert max(map(np.max, widths)) <= 25
    assert min(map(np.min, widths)) > 0
    assert max(map(len, widths)) == 4
