"""Edge cases of ensembles that some change to the source would break."""

from types import SimpleNamespace

import numpy as np
import pytest

from ensclust import Ensemble
from ensclust._ensemble import agreement
from ensclust._ensemble.contents import check_ensemble
from ensclust._ensemble.ensemble import encode_columns


def test_anndata_is_refused_with_a_way_out():
    adata = SimpleNamespace(obs={}, obsm={}, shape=(3, 2))
    with pytest.raises(TypeError, match="scverse"):
        Ensemble(adata)


def test_each_column_may_have_its_own_noise():
    column = np.array([-1, 0, 1])
    codes, categories = encode_columns([column, column], ["missing", "own-cluster"])
    assert [values.tolist() for values in categories] == [[0, 1], [-1, 0, 1]]
    assert codes[1].tolist() == [0, 1, 2]


def coded(columns, multiplicity=None):
    columns = np.array(columns, np.uint8)
    categories = [np.arange(2)] * len(columns)
    return Ensemble.from_codes(columns, categories, multiplicity)


@pytest.mark.parametrize("multiplicity", [None, np.array([1, 1, 4])])
def test_missing_labels_are_known_with_and_without_multiplicity(multiplicity):
    assert coded([[0, 255, 1]], multiplicity).has_missing is True
    assert coded([[0, 1, 1]], multiplicity).has_missing is False


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("multiplicity", np.array([1, 0, 2])),
        ("multiplicity", np.array([1, 2])),
        ("columns", np.array([[0, 1, 7]], np.uint8)),
    ],
)
def test_ensembles_of_a_file_that_contradict_themselves_are_refused(name, value):
    ensemble = coded([[0, 255, 1]], np.array([1, 1, 4]))
    check_ensemble(ensemble)
    setattr(ensemble, name, value)
    with pytest.raises(ValueError, match="ensemble_"):
        check_ensemble(ensemble)


@pytest.mark.parametrize("other", [None, np.zeros((2, 2)), SimpleNamespace()])
def test_what_is_no_ensemble_is_refused(other):
    with pytest.raises(ValueError, match="expected an Ensemble"):
        check_ensemble(other)


def test_rows_that_are_taken_stand_for_as_many_objects_as_before():
    ensemble = coded([[0, 1, 1]], np.array([5, 1, 4]))
    taken = ensemble.take(np.array([2, 0]))
    assert taken.multiplicity.tolist() == [4, 5]
    assert coded([[0, 1, 1]]).take(np.array([2, 0])).multiplicity is None


def test_mean_agreement_is_over_those_with_which_objects_are_shared():
    columns = [[0, 0, 1, 1, -1, -1], [0, 0, 1, 1, 1, 0], [-1, -1, -1, -1, 0, 1]]
    found = agreement._crowd_nmi(Ensemble.from_clusterings(columns))
    # The first and the last share none, so that each is compared with one other only.
    assert found.round(12).tolist() == [1, 1, 1]
