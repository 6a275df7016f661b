"""Edge cases of quality that some change to the source would break."""

import numpy as np
import pytest

from ensclust import ECPCSMC
from ensclust._quality import criteria


def test_the_margin_of_a_cluster_is_the_mean_of_its_own_objects():
    pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    runs = [np.where(rng.random(60) < 0.2 * (m % 3), 0, truth) for m in range(9)]
    sure = ECPCSMC(3, base="precomputed", random_state=0).fit(np.array(runs).T)
    sure = sure.certainty()
    own = [sure.margin[sure.labels == j].mean() for j in range(3)]
    assert len(set(own)) == 3
    assert sure.clusters()["mean_margin"].tolist() == own


@pytest.mark.parametrize(
    ("best", "gap", "expected"),
    [(1, 0.0, True), (2, 0.0, False), (2, 0.5, True), (4, 0.0, False)],
)
def test_no_number_of_clusters_stands_out_of_noise(best, gap, expected):
    anmi = np.array([0.1, 0.2, 0.25])
    found = criteria.stands_out(
        [2, 3, 4], anmi, best, lambda _: 1.0, lambda: np.array([gap, np.nan])
    )
    assert found is expected


def test_criteria_choose_by_a_rule_that_is_known():
    rules = {criterion.rule for criterion in criteria.CRITERIA.values()}
    assert rules <= {"largest", "smallest", "knee"}
