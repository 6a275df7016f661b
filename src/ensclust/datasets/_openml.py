"""Fetch a dataset from OpenML, with the features and labels of the registry."""

import importlib.util
from typing import Any

import numpy as np

from ensclust._support.quiet import ignoring
from ensclust.datasets._registry import DatasetInfo

# OpenML's cardiotocography keeps 35 columns of the UCI workbook as V1..V35: date, b, e,
# LBE, LB, AC, FM, UC, ASTV, MSTV, ALTV, MLTV, DL, DS, DP, Width .. Tendency, then the
# ten classes one-hot. The paper's 21 attributes are these, in this order:
_CTG_COLUMNS = [
    f"V{i}" for i in (5, 6, 7, 8, 13, 14, 15, 9, 10, 11, 12, *range(16, 26))
]
# Of these, AC, FM, UC, DL, DS and DP are counts on OpenML but counts per second in the
# workbook's numbered attributes: count / (e - b).
_CTG_RATES = slice(1, 7)
_CTG_START, _CTG_END = "V2", "V3"


def fetch(entry: DatasetInfo) -> tuple[np.ndarray, np.ndarray]:
    """Download a dataset, or read it from scikit-learn's cache.

    Parameters
    ----------
    entry : DatasetInfo
        A dataset with an OpenML id.

    Returns
    -------
    X : ndarray of shape (n_objects, n_features)
        Features, not yet verified.
    y : ndarray of shape (n_objects,)
        Labels in the registry's numbering, not yet verified.
    """
    from sklearn.datasets import fetch_openml  # noqa: PLC0415 - slow; only if needed

    # The error of the last attempt reports the failure.
    with ignoring(UserWarning, "A network error occurred"):
        bunch = fetch_openml(
            data_id=entry.openml_id,
            as_frame=False,
            # Without pandas only the slow parser is available; "auto" also uses it for
            # sparse files.
            parser="auto" if importlib.util.find_spec("pandas") else "liac-arff",
            n_retries=1,
        )
    X = bunch.data.toarray() if hasattr(bunch.data, "toarray") else bunch.data
    y = _label_numbers(bunch.target, entry)
    if entry.name == "ctg":
        X = _ctg_features(X, list(bunch.feature_names), entry)
    if entry.name == "bc":
        # The paper's 683 objects are the 699 records without the 16 incomplete ones.
        complete = ~np.isnan(np.asarray(X, dtype=np.float64)).any(axis=1)
        X, y = X[complete], y[complete]
    return X, y


def _label_numbers(target: Any, entry: DatasetInfo) -> np.ndarray:
    """Return labels 0..K-1 for OpenML's class names, given as text or as numbers."""
    texts = [_class_text(value) for value in target]
    if unknown := sorted(set(texts) - set(entry.class_names)):
        msg = (
            f"OpenML {entry.openml_id} has the classes {unknown}, which {entry.name!r} "
            f"does not: expected {list(entry.class_names)}. The OpenML entry has "
            f"changed; put {entry.name}.npz into data_home instead. {entry.by_hand}"
        )
        raise ValueError(msg)
    number = {text: label for label, text in enumerate(entry.class_names)}
    return np.array([number[text] for text in texts], dtype=np.int64)


def _class_text(value: Any) -> str:
    # scikit-learn's parsers disagree: class 1 arrives as "1", 1 or 1.0.
    if isinstance(value, int | float | np.number) and float(value).is_integer():
        return str(int(value))
    return str(value).strip(" '\"")


def _ctg_features(X: np.ndarray, columns: list[str], entry: DatasetInfo) -> np.ndarray:
    """Return the 21 numbered attributes of the workbook from OpenML's 35 columns."""
    if columns != [f"V{i}" for i in range(1, 36)]:
        msg = (
            f"OpenML {entry.openml_id} has the columns {columns}, expected V1 to V35. "
            f"The OpenML entry has changed; put ctg.npz into data_home instead. "
            f"{entry.by_hand}"
        )
        raise ValueError(msg)
    table = dict(zip(columns, np.asarray(X, dtype=np.float64).T, strict=True))
    features = np.column_stack([table[column] for column in _CTG_COLUMNS])
    features[:, _CTG_RATES] /= (table[_CTG_END] - table[_CTG_START])[:, None]
    return features
