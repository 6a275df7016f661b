"""A map of the objects: principal components of features, or of the label rows."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.utils import check_array

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.certainty import Certainty
from ensclust._support.plain import percent, rounded
from ensclust._support.quiet import kept_filters

_SHOWN = 5000  # objects on the map
_FEWEST = 10  # of a cluster, where it has so many
_AXES = 3
_SPREAD = 0.008  # of the range, so that equal label rows do not hide each other


def scatter(ensemble: Ensemble, certainty: Certainty, X: Any) -> dict[str, Any]:
    """Return coordinates of the objects, or of 5,000 drawn from all clusters.

    With features these are principal components of the rows shown. Without, those of
    the one-hot label rows: the leading eigenvectors of the centred co-association, so
    objects that are often together lie together. Time and memory are those of the
    components of 5,000 rows.
    """
    rows = _sample(certainty.labels)
    if X is None:
        components, share = _components(_one_hot(ensemble, rows))
        noise = np.random.default_rng(0).standard_normal(components.shape)
        components += _SPREAD * np.ptp(components, axis=0).max() * noise
    else:
        components, share = _components(_taken(X, rows))
    scale = np.abs(components).max(initial=0) or 1.0
    return {
        "rows": rows.tolist(),
        "axes": [rounded(axis / scale) for axis in components.T],
        "share": rounded(share),
        "of": "labels" if X is None else "features",
        "n": len(certainty.labels),
        "cluster": certainty.labels[rows].tolist(),
        "own": percent(certainty.item_consensus[rows]),
        "other": percent(certainty.next_consensus[rows]),
        "next": certainty.next_cluster[rows].tolist(),
    }


def _sample(labels: np.ndarray) -> np.ndarray:
    """Return the objects to show, ascending: of every cluster, mostly by its size."""
    clustered = np.flatnonzero(labels >= 0)
    if len(clustered) <= _SHOWN:
        return clustered
    shuffled = np.random.default_rng(0).permutation(clustered)
    by_cluster = np.argsort(labels[shuffled], kind="stable")
    ordered = labels[shuffled[by_cluster]]
    rank = np.empty(len(shuffled), np.int64)
    rank[by_cluster] = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    # A few of each cluster come first, then the rest as it was shuffled.
    return np.sort(shuffled[np.argsort(rank >= _FEWEST, kind="stable")[:_SHOWN]])


def _taken(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of features as float64, dense or sparse, or raise."""
    if sparse.issparse(X):
        X = sparse.csr_array(X)[rows]
    else:
        X = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
    try:
        with kept_filters():
            return check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    except (TypeError, ValueError) as error:
        msg = (
            f"X cannot be drawn: {str(error).splitlines()[0].rstrip('.')}. Give finite "
            "numbers, one row per object."
        )
        raise ValueError(msg) from None


def _one_hot(ensemble: Ensemble, rows: np.ndarray) -> sparse.csr_array:
    """Return unit rows with an entry for each base cluster of an object."""
    labels = ensemble.columns[:, rows].T.astype(np.int64)
    is_present = labels != ensemble.missing
    n_present = is_present.sum(axis=1)
    begin = np.concatenate([[0], np.cumsum(n_present)])
    value = np.repeat(1 / np.sqrt(np.maximum(n_present, 1)), n_present)
    return sparse.csr_array(
        (value, (labels + ensemble.offsets[:-1])[is_present], begin),
        shape=(len(rows), ensemble.n_base_clusters),
    )


def _components(values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return three principal components, (n, 3), and each one's share of variance."""
    n_axes = min(_AXES, *values.shape)
    is_small = min(values.shape) <= 2 * _AXES
    if is_small and sparse.issparse(values):
        values = values.toarray()
    components, share = np.zeros((values.shape[0], _AXES)), np.zeros(_AXES)
    if values.shape[0] < 2:
        return components, share
    pca = PCA(n_axes, svd_solver="full" if is_small else "arpack", random_state=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        components[:, :n_axes] = pca.fit_transform(values)
    share[:n_axes] = np.nan_to_num(pca.explained_variance_ratio_)
    return components, share
