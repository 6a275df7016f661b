"""Consensus over the clusterings of an AnnData object, by scanpy's conventions."""

import numbers
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods import make
from ensclust._methods.base import BaseConsensus
from ensclust._support.validation import explaining, import_optional


def consensus(
    adata: Any,
    keys: Sequence[str] | None = None,
    *,
    n_clusters: Any,
    resolutions: Sequence[float] | None = None,
    method: str = "ecpcs-mc",
    key_added: str = "consensus",
    neighbors_key: str = "neighbors",
    random_state: int | None = 0,
    copy: bool = False,
    **params: Any,
) -> Any:
    """Combine clusterings of the cells of an AnnData object into one.

    Parameters
    ----------
    adata : AnnData
        The annotated data, in memory or backed by a file; ``X`` is not read.
    keys : list of str or None
        Columns of ``adata.obs`` that hold clusterings, such as Leiden's at several
        resolutions. Missing values mean "not clustered".
    n_clusters : int
        Number of consensus clusters.
    resolutions : list of float or None
        Resolutions at which to run scanpy's Leiden (igraph, two iterations) on the
        graph of neighbours, in addition to ``keys``. Needs
        ``pip install "ensclust[scverse]"`` and ``scanpy.pp.neighbors`` run before.
    method : str, default="ecpcs-mc"
        One of :func:`ensclust.methods`.
    key_added : str, default="consensus"
        Name of the result.
    neighbors_key : str, default="neighbors"
        Where ``scanpy.pp.neighbors`` left its settings in ``adata.uns``.
    random_state : int or None, default=0
        Decides the result.
    copy : bool, default=False
        Whether to return a changed copy instead of changing ``adata``.
    **params
        Parameters of the method's estimator, such as ``weights="agreement"`` or
        ``noise="own-cluster"``.

    Returns
    -------
    AnnData or None
        The copy, or None. Time and memory are those of the method, and 8 k bytes per
        cell. These are set, all or none:

        ``adata.obs[key_added]``
            Clusters "0", "1", ... as a categorical; missing for a cell in no
            clustering.
        ``adata.obs[key_added + "_certainty"]``
            Item consensus: how often a cell is together with the others of its cluster.
        ``adata.obsm[key_added + "_memberships"]``
            Shares of the clusters, (n_obs, n_clusters), that sum to 1.
        ``adata.uns[key_added]``
            ``params``; ``agreement``, a table of NMI and ARI of each input with the
            result; ``cluster_consensus``, one number per cluster.
        ``adata.obs[key_added + "_leiden_" + resolution]``
            The clustering of each of ``resolutions``.

    Examples
    --------
    >>> import anndata, pandas
    >>> from ensclust import scverse
    >>> runs = pandas.DataFrame({"a": list("xxyy"), "b": list("ppqq")})
    >>> adata = anndata.AnnData(obs=runs.set_index(pandas.Index(list("1234"))))
    >>> scverse.consensus(adata, ["a", "b"], n_clusters=2)
    >>> adata.obs["consensus"].tolist()
    ['0', '0', '1', '1']
    """
    _check_request(adata, keys, resolutions, is_copy=copy)
    if not isinstance(key_added, str):
        msg = f"key_added={key_added!r}; expected the name of the new column, a text."
        raise TypeError(msg)
    keys, resolutions = list(keys or []), list(resolutions or [])
    runs = _leiden_runs(adata, resolutions, key_added, neighbors_key, random_state)
    names = [*keys, *runs]
    noise = params.pop("noise", "missing")
    model = make(
        method,
        {"base": "precomputed"},
        n_clusters=n_clusters,
        random_state=random_state,
        **params,
    ).fit(_ensemble(adata, keys, runs, noise))
    settings = {
        "method": method,
        "n_clusters": n_clusters,
        "keys": np.array(names),
        "random_state": random_state,
        "noise": noise,
        **params,
    }
    target = adata.copy() if copy else adata
    for name, labels in runs.items():
        target.obs[name] = labels
    _write(target, model, key_added, names, settings)
    return target if copy else None


def _check_request(adata: Any, keys: Any, resolutions: Any, *, is_copy: bool) -> None:
    if not hasattr(adata, "obs"):
        msg = (
            f"adata is a {type(adata).__name__}; expected AnnData. For a table of "
            "labels use ensclust.consensus(labels, n_clusters)."
        )
        raise TypeError(msg)
    known = list(adata.obs.columns)
    columns = ", ".join(map(str, known)) or "none"
    if resolutions is not None and np.ndim(resolutions) != 1:
        msg = f"resolutions={resolutions!r} is no list. Use [{resolutions!r}, ...]."
    elif keys is not None and np.ndim(keys) != 1:
        kind = "one name" if isinstance(keys, str) else "no list"
        msg = f"keys={keys!r} is {kind}. Give a list of columns, [{keys!r}, ...]."
    elif not keys and not resolutions:
        msg = (
            "there is nothing to combine: give keys, columns of adata.obs that hold "
            "clusterings, or resolutions, numbers at which to run Leiden. Columns: "
            f"{columns}."
        )
    elif unknown := [key for key in keys or [] if key not in known]:
        msg = f"keys: {unknown[0]!r} is not in adata.obs. Its columns: {columns}."
    elif wrong := [value for value in resolutions or [] if not _is_positive(value)]:
        msg = f"resolutions: {wrong[0]!r} is no number above 0."
    elif is_copy and adata.isbacked:
        msg = (
            f"copy=True of data that are backed by {adata.filename} needs a second "
            "file. Leave out copy, or pass adata.to_memory()."
        )
    else:
        return
    raise ValueError(msg)


def _is_positive(value: Any) -> bool:
    return isinstance(value, numbers.Real) and 0 < float(value) < np.inf


def _leiden_runs(
    adata: Any, resolutions: Sequence[float], key_added: str, neighbors_key: str, seed
) -> dict[str, Any]:
    """Return Leiden's clustering at each resolution, by the name of its column."""
    if not resolutions:
        return {}
    scanpy = import_optional("scanpy", "resolutions=", "scverse")
    import_optional("igraph", "resolutions=", "scverse")
    if neighbors_key not in adata.uns:
        msg = (
            f"resolutions need a graph of neighbours, and adata.uns[{neighbors_key!r}] "
            "does not exist. Run scanpy.pp.neighbors(adata) first, or give keys."
        )
        raise ValueError(msg)
    # Files of old do not say where the graph is: under the default name.
    place = adata.uns[neighbors_key].get("connectivities_key", "connectivities")
    # A shell without genes: what Leiden writes stays out of the caller's object.
    shell = scanpy.AnnData(obs=adata.obs[[]].copy())
    runs = {}
    for resolution in resolutions:
        name = f"{key_added}_leiden_{resolution:g}"
        scanpy.tl.leiden(
            shell,
            resolution,
            adjacency=adata.obsp[place],
            key_added=name,
            random_state=seed,
            flavor="igraph",
            n_iterations=2,
            directed=False,
        )
        runs[name] = shell.obs[name]
    return runs


def _ensemble(
    adata: Any, keys: Sequence[str], runs: dict[str, Any], noise: str
) -> Ensemble:
    columns = [adata.obs[key] for key in keys] + list(runs.values())
    what = f"keys={list(keys)} of adata.obs are not all clusterings"
    with explaining(what, TypeError, ValueError):
        return Ensemble.from_clusterings(columns, noise=noise)


def _write(
    adata: Any, model: BaseConsensus, key: str, names: list[str], settings: dict
) -> None:
    """Put the result where scanpy's users look for it."""
    pandas = import_optional("pandas", "AnnData", "pandas")
    sure = replace(model.certainty(), names=names)
    adata.obs[key] = pandas.Categorical.from_codes(
        model.labels_, [str(j) for j in range(model.n_clusters_)]
    )
    adata.obs[f"{key}_certainty"] = sure.item_consensus
    adata.obsm[f"{key}_memberships"] = model.memberships()
    adata.uns[key] = {
        "params": {name: v for name, v in settings.items() if v is not None},
        "agreement": sure.clusterings(),
        "cluster_consensus": sure.cluster_consensus,
    }
