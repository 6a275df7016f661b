"""Scikit-learn's checks of an estimator, and those that cannot hold for a consensus."""

import warnings

from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator

_GENERATED = "base clusterings of features are made without weights, as documented"
_CLASSIFIER = "predict_proba is assumed to be a classifier's, with the classes of y"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": _GENERATED,
    "check_sample_weight_equivalence_on_sparse_data": _GENERATED,
    "check_estimator_sparse_array": _CLASSIFIER,
    "check_estimator_sparse_matrix": _CLASSIFIER,
}


def assert_checks_pass(model, at_least):
    """Run all checks; the number that passed shows that none were left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(
            model, on_fail=None, expected_failed_checks=dict(EXPECTED)
        )
    assert [r["check_name"] for r in results if r["status"] == "failed"] == []
    assert sum(r["status"] == "passed" for r in results) >= at_least
