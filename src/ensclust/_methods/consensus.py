"""consensus(): labels in, labels out."""

from importlib import import_module
from typing import Any

import numpy as np

from ensclust._methods.table import has_parameter, settle
from ensclust._support.kinds import is_dask_array, is_stream, pandas_index
from ensclust._support.validation import check_noise


def consensus(
    labels: Any,
    n_clusters: Any,
    method: Any = "ecpcs-mc",
    *,
    noise: str = "missing",
    random_state=None,
    checkpoint: Any = None,
    **params,
) -> Any:
    """Combine many clusterings of the same objects into one.

    Parameters
    ----------
    labels : Ensemble, array-like, DataFrame, path, Dask array or Blocks
        The base clusterings, (n_objects, n_clusterings), one column each, or a list of
        label vectors, ``[km1.labels_, km2.labels_, ...]``; negative or NaN means "not
        clustered". A path is read by :func:`ensclust.io.read_labels`. A Dask
        array, or :class:`ensclust.Blocks`, is never in memory as a whole.
    n_clusters : int, "auto", None or list of them
        Number of consensus clusters; "auto" uses what :func:`ensclust.select_k`
        suggests, None leaves it to a method that finds it itself, such as
        "communities". Numbers in a list share most of the work.
    method : str, class or estimator, default="ecpcs-mc"
        One of :func:`ensclust.methods`, or a method of your own:
        "package.module:Class", a class that derives from
        :class:`ensclust.BaseConsensus`, or an estimator, whose parameters are used. The
        page "Evidence" gives the reasons for the default.
    noise : "missing" or "own-cluster", default="missing"
        With "own-cluster", the negative labels (noise) of a clustering form one more
        cluster; NaN and None stay missing.
    random_state : int, RandomState instance or None
        Determines random choices, such as ties in a vote.
    checkpoint : path or None
        Directory from which an interrupted run resumes: it saves the counts of a
        stream, which also serve a stream with more files (see
        :meth:`ensclust.Blocks.concat`), and the merges of a tree (see
        :class:`ensclust.ECPCSHC`).
    **params
        Parameters of the method's estimator, such as ``steps=20``, ``weights`` for the
        base clusterings, or ``min_certainty``, which labels doubtful objects -1.

    Returns
    -------
    ndarray of shape (n_objects,), or (n_objects, len(n_clusters)) for a list
        Cluster numbers 0, 1, ... by first appearance. For a DataFrame or a list of
        Series, a pandas Series with the same index, named "consensus" (for several
        numbers, a DataFrame with columns "k3", "k4", ...). For a Dask array, a lazy
        Dask array; for Blocks, a :class:`ensclust.LabelStream`.

    Examples
    --------
    >>> import ensclust
    >>> labels = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]]
    >>> ensclust.consensus(labels, 2, random_state=0)
    array([0, 0, 1, 1, 1], dtype=int32)

    Labels straight from clusterers:

    >>> from sklearn.cluster import KMeans
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    >>> runs = [KMeans(k, random_state=k).fit(X).labels_ for k in (2, 3, 3)]
    >>> ensclust.consensus(runs, 3, random_state=0)
    array([0, 0, 1, 1, 2], dtype=int32)
    """
    several = isinstance(n_clusters, list | tuple | range) or np.ndim(n_clusters) == 1
    ks = list(n_clusters) if several else [n_clusters]
    if not ks:
        msg = f"n_clusters={n_clusters!r} is empty. Pass at least one number."
        raise ValueError(msg)
    check_noise(noise)
    own = {"base": "precomputed", "noise": noise, "random_state": random_state}
    is_kept = checkpoint is not None and has_parameter(method, "checkpoint")
    if is_kept or (checkpoint is not None and not is_stream(labels)):
        params["checkpoint"] = checkpoint
    solved = settle(method, own, **params)._combine(labels, ks, checkpoint)
    names = ["free" if k is None else f"k{k}" for k in ks] if several else None
    found = solved.labels(names)
    if is_dask_array(labels):
        return found.to_dask()
    return _with_index(found, pandas_index(labels), names)


def _with_index(labels: Any, index: Any, names: list[str] | None) -> Any:
    """Return labels as pandas objects if the clusterings were."""
    if index is None:
        return labels
    pandas = import_module("pandas")
    if names is None:
        return pandas.Series(labels, index=index, name="consensus")
    return pandas.DataFrame(labels, index=index, columns=names)
