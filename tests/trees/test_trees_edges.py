"""Cases at the edges of trees, each of which some change would break."""

import numpy as np
import pytest

from ensclust import CoAssociation, Ensemble
from ensclust._trees import linkage


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
    found = linkage.largest(n_objects)
    assert (found, type(found)) == (expected, int)
