"""Edge cases of similarities that some change to the source would break."""

import numpy as np

from ensclust import Ensemble
from ensclust.similarity import jaccard
from ensclust.similarity._cluster_weights import eci


def test_a_cluster_without_objects_is_similar_to_itself_only():
    ensemble = Ensemble([[0, 0], [1, 0], [1, 1]]).take(np.array([1, 2]))
    expected = np.eye(4)
    expected[1, 2:] = expected[2:, 1] = 0.5
    assert jaccard(ensemble).tolist() == expected.tolist()


def test_a_cluster_of_which_nothing_is_heard_is_certain():
    ensemble = Ensemble([[0, 0], [1, 0], [1, 1]]).take(np.array([1, 2]))
    assert eci(ensemble)[0] == 1
    assert eci(Ensemble([[0, 0], [0, 1]]), weights=[0, 1])[0] < 1
