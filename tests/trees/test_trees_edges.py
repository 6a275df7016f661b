"""Cases at the edges of trees, each of which some change would break."""

from dataclasses import replace

import numpy as np
import pytest

from ensclust import EAC, CoAssociation, Ensemble
from ensclust._trees import routes


def test_objects_on_their_own_keep_their_label_rows():
    operator = CoAssociation(Ensemble([[0, 0], [1, 2], [0, 0], [1, 2], [1, 1]]))
    split = operator.expand(np.array([True, False, False]))
    rows = split.leaves.labels[split.leaves.inverse]
    assert rows.tolist() == [[0, 0], [1, 2], [0, 0], [1, 2], [1, 1]]


@pytest.mark.parametrize(
    ("n_objects", "expected"),
    [(1, 2**28 - 1), (2, 2**28 - 1), (2**20, 2**25 - 1), (10**9, 36)],
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
