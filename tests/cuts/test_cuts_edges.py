"""Cases at the edges of cuts, each of which some change would break."""

import numpy as np
import pytest
from scipy import sparse

from ensclust._cuts import kmeans, partition


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_spread_of_features_is_the_mean_of_their_variances(kind):
    X = np.random.default_rng(0).normal(5, [1, 2, 3], (40, 3))
    found = kmeans.Rows.of(kind(X)).spread()
    assert found == pytest.approx(X.var(axis=0).mean(), rel=1e-9)


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [([3, 3, 3], 3, [3, 3, 3]), ([0, 1, 1], 1, [1, 1, 1]), ([2, 2, 90], 2, [2, 2, 4])],
)
def test_no_node_weighs_more_than_a_part_and_none_less_than_one(sizes, k, expected):
    assert partition._capped(sizes, k) == pytest.approx(expected, rel=1e-5)
