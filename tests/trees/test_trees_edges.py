"""Cases at the edges of trees, each of which some change would break."""

import numpy as np

from ensclust import CoAssociation, Ensemble


def test_objects_on_their_own_keep_their_label_rows():
    operator = CoAssociation(Ensemble([[0, 0], [1, 2], [0, 0], [1, 2], [1, 1]]))
    split = operator.expand(np.array([True, False, False]))
    rows = split.leaves.labels[split.leaves.inverse]
    assert rows.tolist() == [[0, 0], [1, 2], [0, 0], [1, 2], [1, 1]]
