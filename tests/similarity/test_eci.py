"""The ensemble-driven cluster index, and the agreement of the crowd."""

import numpy as np
import pytest
from hypothesis import given

from ensclust import Ensemble, similarity
from ensclust._ensemble.agreement import crowd_agreement
from strategies import label_tables

SETS = ("tiny", "wine_z", "digits_raw")


def literal_eci(labels, theta, weights):
    """Word by word: entropies of the members that a clustering contains."""
    found = []
    for column in labels.T:
        for cluster in np.unique(column[column >= 0]):
            total = heard = 0.0
            for other, weight in zip(labels.T, weights, strict=True):
                own = other[(column == cluster) & (other >= 0)]
                if len(own):
                    p = np.unique(own, return_counts=True)[1] / len(own)
                    total -= weight * (p * np.log2(p)).sum()
                    heard += weight
            found.append(np.exp(-total / heard / theta))
    return np.array(found)


@given(labels=label_tables())
@pytest.mark.parametrize("theta", [0.2, 0.4])
def test_eci_is_its_definition(labels, theta):
    weights = 1.0 + np.arange(labels.shape[1])
    for given_weights, used in ((None, np.ones_like(weights)), (weights, weights)):
        found = similarity.eci(Ensemble(labels), theta=theta, weights=given_weights)
        assert found == pytest.approx(literal_eci(labels, theta, used), abs=1e-12)


@pytest.mark.parametrize("name", SETS)
def test_eci_and_ncai_are_the_authors(golden, name):
    z = golden(f"lwea_{name}")
    found = similarity.eci(Ensemble(z["labels"]), theta=float(z["theta"]))
    assert np.abs(found - z["ECI"].ravel()).max() < 1e-12
    z = golden(f"weac_gpmgla_{name}")
    found = crowd_agreement(Ensemble(z["labels"]))
    assert np.abs(found - z["NCAI"].ravel()).max() < 1e-12


def test_a_crowd_without_agreement_or_of_one_counts_alike():
    assert crowd_agreement(Ensemble([[0], [1]])).tolist() == [1]
    apart = Ensemble([[0, -1], [1, -1], [-1, 0], [-1, 1]])
    assert crowd_agreement(apart).tolist() == [1, 1]


@pytest.mark.parametrize("theta", [0, -1, np.inf, np.nan, "a", True, None])
def test_a_theta_that_cannot_be_is_refused(theta):
    with pytest.raises((ValueError, TypeError), match="theta"):
        similarity.eci(Ensemble([[0], [1]]), theta=theta)
