"""Maps of the objects: of their features, or of the ensemble alone."""

from typing import Any

import numpy as np
from scipy import sparse

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.certainty import Certainty
from ensclust._support.plain import percent, rounded, shortened
from ensclust._support.quiet import kept_filters
from ensclust._view.ensemble_map import ensemble_map

_SHOWN = 5000  # objects on the map
_FEWEST = 10  # of a cluster, if it has that many
_AXES = 3
_SPREAD = 0.008  # of the range, so that equal label rows do not hide each other


def scatter(
    ensemble: Ensemble,
    certainty: Certainty,
    X: Any,
    names: Any = None,
    first: str | None = None,
) -> dict[str, Any]:
    """Return maps of the objects, or of 5,000 drawn from all clusters.

    "features": two or three columns unchanged, or principal components of more, for
    the rows shown. "ensemble": t-SNE of the label rows. "components", without
    features: principal components of the one-hot label rows, the leading eigenvectors
    of the centred co-association. ``names`` are those of the features, ``first`` is
    the map to show first. Time and memory are those of the components of 5,000 rows.
    """
    rows = _sample(certainty.labels)
    one_hot = _one_hot(ensemble, rows)
    components, share = _components(one_hot)
    maps = [_features(_taken(X, rows), X, names)] if X is not None else []
    maps.append(_map("ensemble", ensemble_map(one_hot, components[:, :2])))
    if X is None:
        noise = np.random.default_rng(0).standard_normal(components.shape)
        spread = components + _SPREAD * np.ptp(components, axis=0).max() * noise
        maps.append(_map("components", spread, share=rounded(share)))
    maps.sort(key=lambda map_: map_["of"] != first)
    return {
        "rows": rows.tolist(),
        "maps": maps,
        "n": len(certainty.labels),
        "cluster": certainty.labels[rows].tolist(),
        "own": percent(certainty.item_consensus[rows]),
        "other": percent(certainty.next_consensus[rows]),
        "next": certainty.next_cluster[rows].tolist(),
    }


def _map(of: str, places: np.ndarray, **more: Any) -> dict[str, Any]:
    """Return one map; its axes have one scale, so that shapes are kept."""
    places = places - (places.max(axis=0) + places.min(axis=0)) / 2
    scale = np.abs(places).max(initial=0) or 1.0
    axes = [rounded(axis / scale) for axis in places.T]
    return {"of": of, "axes": axes, "share": None, "names": None, **more}


def _features(values: Any, X: Any, names: Any) -> dict[str, Any]:
    """Return two or three columns unchanged, or principal components of more."""
    if not 2 <= values.shape[1] <= _AXES:
        components, share = _components(values)
        return _map("features", components, share=rounded(share))
    names = getattr(X, "columns", None) if names is None else names
    if names is None:
        names = [f"column {i + 1}" for i in range(values.shape[1])]
    values = values.toarray() if sparse.issparse(values) else values
    return _map("features", values, names=[shortened(str(name)) for name in names])


def _sample(labels: np.ndarray) -> np.ndarray:
    """Return the objects to show, ascending: from every cluster, mostly by its size."""
    clustered = np.flatnonzero(labels >= 0)
    if len(clustered) <= _SHOWN:
        return clustered
    shuffled = np.random.default_rng(0).permutation(clustered)
    by_cluster = np.argsort(labels[shuffled], kind="stable")
    ordered = labels[shuffled[by_cluster]]
    rank = np.empty(len(shuffled), np.int64)
    rank[by_cluster] = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    # A few of each cluster come first, then the rest in shuffled order.
    return np.sort(shuffled[np.argsort(rank >= _FEWEST, kind="stable")[:_SHOWN]])


def _taken(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of features as float64, dense or sparse, or raise."""
    from sklearn.utils import check_array  # noqa: PLC0415  heavy

    if sparse.issparse(X):
        X = sparse.csr_array(X)[rows]
    else:
        X = X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]
    try:
        with kept_filters():
            return check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    except (TypeError, ValueError) as error:
        msg = (
            f"X cannot be drawn: {str(error).splitlines()[0].rstrip('.')}. Pass finite "
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
    from sklearn.decomposition import PCA  # noqa: PLC0415  heavy

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
