"""Constraints of parameters do what scikit-learn's do, and say it in the same words."""

import re
from numbers import Integral, Real

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils import _param_validation as theirs

import ensclust
from ensclust._support import constraints as ours
from ensclust._support.constraints import InvalidParameterError, check_parameters

INTERVALS = [
    (Integral, 1, None, "left"),
    (Integral, 0, 5, "both"),
    (Real, 0, None, "neither"),
    (Real, 0, 1, "right"),
    (Real, 0.5, 1, "both"),
    (Real, None, 2.5, "right"),
]
NAMED = ["array-like", "random_state", "boolean", callable, None, str, list, Real]
VALUES = [
    *(0, 1, 5, 6, -1, 2**32, True, np.int8(3), np.bool_(1), 0.5, 0.0, 1.0, 2.5),
    *(np.float32(0.25), np.nan, np.inf, -np.inf, None, "", "random", b"x", [], [1], ()),
    *(np.arange(3), sparse.eye_array(2), len, int, {}, np.random.RandomState(0), 1j),
]


def same(mine, other):
    """Assert that two lists of constraints take the same values, and say the same."""
    for value in VALUES:
        found = []
        for check, error, allowed in (
            (check_parameters, InvalidParameterError, mine),
            (
                theirs.validate_parameter_constraints,
                theirs.InvalidParameterError,
                other,
            ),
        ):
            try:
                check({"p": allowed}, {"p": value}, "Owner")
                found.append(None)
            except error as raised:
                found.append(str(raised))
        assert found[0] == found[1], value


@pytest.mark.parametrize("given", INTERVALS)
def test_intervals_hold_the_same_numbers(given):
    *bounds, closed = given
    interval = ours.Interval(*bounds, closed=closed)
    same([interval], [theirs.Interval(*bounds, closed=closed)])


@pytest.mark.parametrize("given", NAMED)
def test_types_and_names_mean_the_same(given):
    same([given], [given])
    same([given, None], [given, None])


def test_several_constraints_are_listed():
    same(
        [
            ours.StrOptions({"random"}),
            "array-like",
            ours.Interval(Integral, 1, 9, "left"),
        ],
        [
            theirs.StrOptions({"random"}),
            "array-like",
            theirs.Interval(Integral, 1, 9, closed="left"),
        ],
    )


def test_constraints_of_scikit_learn_can_be_used():
    for value in (0.5, -1):
        constraint = theirs.Interval(Real, 0, None, closed="left")
        same([constraint], [constraint])
        if value < 0:
            with pytest.raises(InvalidParameterError, match=r"range \[0.0, inf\)"):
                check_parameters({"p": [constraint]}, {"p": value}, "Owner")


def test_options_are_listed_in_order():
    constraint = ours.StrOptions({"b", "c", "a"})
    assert str(constraint) == "a str among {'a', 'b', 'c'}"


def test_an_estimator_is_known_by_its_class():
    constraints = {"base": [str, "estimator"]}
    check_parameters(constraints, {"base": KMeans()}, "Owner")
    words = "an instance of 'str' or an instance of 'sklearn.base.BaseEstimator'"
    for value in (KMeans, 5, None):
        with pytest.raises(InvalidParameterError, match=re.escape(words)):
            check_parameters(constraints, {"base": value}, "Owner")


def test_what_is_no_constraint_is_refused():
    with pytest.raises(TypeError, match=r"'positive' is not a constraint. Use a type"):
        check_parameters({"p": ["positive"]}, {"p": 1}, "Owner")


def test_the_error_is_of_the_value_and_of_the_type():
    with pytest.raises(ValueError, match="n_clusters"):
        ensclust.EAC(0).fit([[0.0], [1.0]])
    with pytest.raises(TypeError, match="n_clusters"):
        ensclust.EAC(0.5).fit([[0.0], [1.0]])
