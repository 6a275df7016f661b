"""Consensus over the clusterings of an AnnData object, with scanpy's conventions."""

from __future__ import annotations

import numbers
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse

from ensclust._ensemble.ensemble import Ensemble
from ensclust._methods.anndata_entries import Entries, describe
from ensclust._methods.table import settle
from ensclust._support.progress import tell
from ensclust._support.validation import (
    check_random_state,
    explaining,
    import_optional,
    unexpected,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import numpy.typing as npt


_LEVELS = 12  # clusterings that a report also shows as a tree


def consensus(
    adata: Any,
    keys: Sequence[str] | None = None,
    *,
    n_clusters: Any = "auto",
    resolutions: npt.ArrayLike | None = None,
    seeds: int | Sequence[int] = 1,
    fraction: float = 1.0,
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
    n_clusters : int, "auto" or None, default="auto"
        Number of consensus clusters; "auto" lets :func:`ensclust.select_k` choose it,
        None leaves it to a method that finds it itself, such as "communities".
    resolutions : array-like of float or None
        Resolutions at which to run scanpy's Leiden (igraph, two iterations) on the
        graph of neighbours, in addition to ``keys``. Needs
        ``pip install "ensclust[scverse]"`` and ``scanpy.pp.neighbors`` run before.
    seeds : int or list of int, default=1
        Every resolution is run with every seed. A number n means the n seeds from
        ``random_state`` on; a list names them.
    fraction : float, default=1.0
        Share of the cells that each of these runs clusters, drawn without replacement
        by its seed and resolution. The other cells are missing in that run.
    method : str, default="ecpcs-mc"
        One of :func:`ensclust.methods`.
    key_added : str, default="consensus"
        Name of the result.
    neighbors_key : str, default="neighbors"
        Where ``scanpy.pp.neighbors`` left its settings in ``adata.uns``.
    random_state : int or None, default=0
        Determines the result.
    copy : bool, default=False
        Whether to return a changed copy instead of changing ``adata``.
    **params
        Parameters of the method's estimator, such as ``weights="agreement"`` or
        ``noise="own-cluster"``.

    Returns
    -------
    AnnData or None
        The copy, or None. Time and memory are those of the method, and 16 k bytes per
        cell. These entries are set, all or none:

        ``adata.obs[key_added]``
            Clusters "0", "1", ... as a categorical, the largest first as in scanpy;
            missing for a cell in no clustering.
        ``adata.obs[key_added + "_certainty"]``
            Item consensus: how often a cell is together with the others of its cluster.
        ``adata.obsm[key_added + "_memberships"]``
            Shares of the clusters, (n_obs, n_clusters), that sum to 1.
        ``adata.uns[key_added]``
            ``params``, as given; ``n_clusters``, the number found; ``agreement``, a
            table of NMI and ARI of each input with the result; ``cluster_consensus``,
            one number per cluster.
        ``adata.obs[key_added + "_leiden_" + resolution]``
            The clustering at each of ``resolutions``; if there are several seeds,
            ``"_seed"`` and the seed follow.

    Examples
    --------
    >>> import anndata, pandas
    >>> from ensclust import scverse
    >>> runs = pandas.DataFrame({"a": list("xxyyy"), "b": list("ppqqq")})
    >>> adata = anndata.AnnData(obs=runs.set_index(pandas.Index(list("12345"))))
    >>> scverse.consensus(adata, ["a", "b"], n_clusters=2)
    >>> adata.obs["consensus"].tolist()
    ['1', '1', '0', '0', '0']
    """
    _check_request(adata, keys, resolutions, is_copy=copy)
    if not isinstance(key_added, str):
        msg = f"key_added={key_added!r}; expected a string, the name of the new column."
        raise TypeError(msg)
    keys = [] if keys is None else list(keys)
    plan = _Plan.of(resolutions, seeds, fraction, random_state)
    runs = _leiden_runs(adata, plan, key_added, neighbors_key)
    names = [*keys, *runs]
    noise = params.pop("noise", "missing")
    solved = settle(
        method,
        {"base": "precomputed"},
        n_clusters=n_clusters,
        random_state=random_state,
        **params,
    )._combine(_ensemble(adata, keys, runs, noise), [n_clusters])
    settings = {
        "method": method,
        "n_clusters": n_clusters,
        "random_state": random_state,
        "noise": noise,
        **plan.settings(),
        **params,
    }
    entries = describe(key_added, solved, solved.cuts[0], settings, names)
    target = adata.copy() if copy else adata
    _put(target, entries._replace(obs=runs | entries.obs))
    return target if copy else None


def report(
    adata: Any,
    path: str | os.PathLike,
    key: str = "consensus",
    *,
    keys: Sequence[str] | None = None,
    basis: str | None = None,
    truth: str | None = None,
    title: str | None = None,
) -> None:
    """Write a clustering of the cells and its inputs as one HTML file.

    Like :func:`ensclust.write_report`, with what AnnData holds: names of the cells, an
    embedding, and the colours in ``adata.uns[key + "_colors"]``, if scanpy set them.

    Parameters
    ----------
    adata : AnnData
        The annotated data.
    path : str or path
        The file; its name ends in .html.
    key : str, default="consensus"
        Column of ``adata.obs`` with the clustering to report.
    keys : list of str or None
        Columns with the clusterings it was made from; by default those that
        :func:`consensus` combined. Up to 12 are also drawn as a tree, the one with the
        fewest clusters first.
    basis : str or None
        Entry of ``adata.obsm`` for the map, such as "X_umap", the default if it
        exists.
    truth : str or None
        Column of ``adata.obs`` with known cell types to compare with.
    title : str or None
        Heading of the page.

    Examples
    --------
    >>> import anndata, pandas, tempfile
    >>> from ensclust import scverse
    >>> runs = pandas.DataFrame({"a": list("xxyyy"), "b": list("ppqqq")})
    >>> adata = anndata.AnnData(obs=runs.set_index(pandas.Index(list("12345"))))
    >>> scverse.consensus(adata, ["a", "b"], n_clusters=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scverse.report(adata, f"{folder}/report.html")
    """
    from ensclust._view.report.facts import collect  # noqa: PLC0415  heavy
    from ensclust._view.report.page import check_report, write_page  # noqa: PLC0415

    check_report(path)
    if keys is None:
        about = adata.uns.get(key, {}) if hasattr(adata, "uns") else {}
        keys = about.get("params", {}).get("keys") if hasattr(about, "get") else None
    _check_request(adata, keys, None, is_copy=False)
    assert keys is not None  # checked
    wanted = [name for name in (key, truth) if name is not None]
    if unknown := [name for name in wanted if name not in adata.obs]:
        columns = ", ".join(map(str, adata.obs.columns))
        msg = f"{unknown[0]!r} is not in adata.obs. Its columns: {columns}."
        raise ValueError(msg)
    if basis is None:
        basis = "X_umap" if "X_umap" in adata.obsm else None
    elif basis not in adata.obsm:
        names = ", ".join(adata.obsm) or "none"
        msg = f"basis={basis!r} is not in adata.obsm. Its entries: {names}."
        raise ValueError(msg)
    ensemble = _ensemble(adata, list(keys), {}, "missing")
    clusters = adata.obs[key].astype("category").cat.remove_unused_categories()
    order = np.argsort(ensemble.cluster_counts, kind="stable")
    is_tree = 1 < len(order) <= _LEVELS
    facts = collect(
        ensemble,
        clusters.cat.codes.to_numpy(),
        X=None if basis is None else np.asarray(adata.obsm[basis]),
        feature_names=_axes(adata, basis),
        truth=None if truth is None else adata.obs[truth].reset_index(drop=True),
        ids=adata.obs_names,
        names=list(keys),
        cluster_names=list(map(str, clusters.cat.categories)),
        colors=_colors(adata, key, clusters),
        sweep=ensemble.select(order) if is_tree else None,
        sweep_names=[str(keys[m]) for m in order],
        title=title or key,
        call=_call(key=key, keys=list(map(str, keys)), basis=basis, truth=truth),
    )
    write_page(path, facts)


def _axes(adata: Any, basis: str | None) -> list[str] | None:
    """Return the names of the axes of an embedding."""
    if basis is None:
        return None
    return [
        f"{basis.removeprefix('X_')} {i + 1}" for i in range(adata.obsm[basis].shape[1])
    ]


def _colors(adata: Any, key: str, clusters: Any) -> list[str] | None:
    """Return scanpy's colours of the clusters, None unless there is one for each."""
    known = adata.obs[key].astype("category").cat.categories
    colors = list(adata.uns.get(f"{key}_colors", ()))
    if len(colors) < len(known):
        return None
    return [str(colors[known.get_loc(name)]) for name in clusters.cat.categories]


def _call(**given: Any) -> str:
    more = "".join(f", {name}={value!r}" for name, value in given.items() if value)
    return f'from ensclust import scverse\nscverse.report(adata, "report.html"{more})'


def _check_request(adata: Any, keys: Any, resolutions: Any, *, is_copy: bool) -> None:
    if not hasattr(adata, "obs"):
        msg = (
            f"adata is a {type(adata).__name__}; expected AnnData. For a table of "
            "labels use ensclust.consensus(labels, n_clusters)."
        )
        raise TypeError(msg)
    known = list(adata.obs.columns)
    columns = ", ".join(map(str, known)) or "none"
    n_given = np.size([] if keys is None else keys)
    n_given += np.size([] if resolutions is None else resolutions)
    if resolutions is not None and np.ndim(resolutions) != 1:
        msg = f"resolutions={resolutions!r} is not a list. Use [{resolutions!r}, ...]."
    elif keys is not None and np.ndim(keys) != 1:
        kind = "one name" if isinstance(keys, str) else "not a list"
        msg = f"keys={keys!r} is {kind}. Pass a list of columns, [{keys!r}, ...]."
    elif not n_given:
        msg = (
            "there is nothing to combine: pass keys, columns of adata.obs that hold "
            "clusterings, or resolutions, numbers at which to run Leiden. Columns: "
            f"{columns}."
        )
    elif keys is not None and (unknown := [key for key in keys if key not in known]):
        msg = f"keys: {unknown[0]!r} is not in adata.obs. Its columns: {columns}."
    elif is_copy and adata.isbacked:
        msg = (
            f"copy=True of data backed by {adata.filename} needs a second "
            "file. Leave out copy, or pass adata.to_memory()."
        )
    else:
        return
    raise ValueError(msg)


class _Plan(NamedTuple):
    """The runs of Leiden: every resolution with every seed, on a share of the cells."""

    resolutions: list[float]
    seeds: list[int]
    fraction: float

    @classmethod
    def of(
        cls, resolutions: Any, seeds: Any, fraction: Any, random_state: Any
    ) -> _Plan:
        """Return the requested runs, or raise."""
        listed = [] if resolutions is None else list(resolutions)
        if wrong := [value for value in listed if not _is_positive(value)]:
            msg = f"resolutions: {wrong[0]!r} is not a number above 0."
            raise ValueError(msg)
        shown = [f"{value:g}" for value in listed]
        if twice := [value for value in shown if shown.count(value) > 1]:
            msg = (
                f"resolutions holds {twice[0]} more than once. Name it once; "
                f"seeds={len(twice)} runs it with {len(twice)} seeds."
            )
            raise ValueError(msg)
        if not _is_positive(fraction) or fraction > 1:
            raise unexpected(fraction, "fraction", "a number above 0 and at most 1")
        first = random_state
        if not isinstance(first, numbers.Integral):
            first = check_random_state(first).randint(2**31 - 1)
        elif first < 0:
            raise unexpected(first, "random_state", "an integer >= 0, or None")
        is_number = _is_whole(seeds) and seeds > 0
        chosen = range(first, first + seeds) if is_number else seeds
        if np.ndim(chosen) != 1 or not len(chosen) or not all(map(_is_whole, chosen)):
            what = "a number of seeds >= 1, or a list of seeds >= 0"
            raise unexpected(seeds, "seeds", what)
        if len(set(chosen)) < len(chosen):
            raise unexpected(seeds, "seeds", "seeds that differ")
        if not listed and (fraction < 1 or len(chosen) > 1):
            msg = (
                f"seeds={seeds!r} and fraction={fraction!r} are about runs of Leiden, "
                "but there are no resolutions to run it at. Pass resolutions=[...]."
            )
            raise ValueError(msg)
        return cls([float(r) for r in listed], list(map(int, chosen)), float(fraction))

    def settings(self) -> dict[str, Any]:
        """Return what ``uns`` stores about the runs."""
        return self._asdict() if self.resolutions else {}


def _is_positive(value: Any) -> bool:
    return isinstance(value, numbers.Real) and 0 < float(value) < np.inf


def _is_whole(value: Any) -> bool:
    is_int = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return is_int and int(value) >= 0


def _leiden_runs(
    adata: Any, plan: _Plan, key_added: str, neighbors_key: str
) -> dict[str, Any]:
    """Return the clustering of each run of Leiden, by the name of its column."""
    if not plan.resolutions:
        return {}
    scanpy = import_optional("scanpy", "resolutions=", "scverse")
    pandas = import_optional("pandas", "resolutions=", "scverse")
    import_optional("igraph", "resolutions=", "scverse")
    if neighbors_key not in adata.uns:
        msg = (
            f"resolutions need a graph of neighbours, and adata.uns[{neighbors_key!r}] "
            "does not exist. Run scanpy.pp.neighbors(adata) first, or pass keys."
        )
        raise ValueError(msg)
    # Old files do not say where the graph is: it is under the default name.
    place = adata.uns[neighbors_key].get("connectivities_key", "connectivities")
    graph, runs = scipy.sparse.csr_matrix(adata.obsp[place]), {}
    for done, (resolution, seed) in enumerate(product(plan.resolutions, plan.seeds)):
        name = f"{key_added}_leiden_{resolution:g}"
        name += f"_seed{seed}" * (len(plan.seeds) > 1)
        cells = _draw(adata.n_obs, plan.fraction, resolution, seed)
        # An AnnData without genes: what Leiden writes stays out of the caller's
        # object, and duplicate names of cells do not matter.
        shell = scanpy.AnnData(obs=pandas.DataFrame(index=cells.astype(str)))
        scanpy.tl.leiden(
            shell,
            resolution,
            adjacency=graph if plan.fraction == 1 else graph[cells][:, cells],
            key_added=name,
            random_state=seed,
            flavor="igraph",
            n_iterations=2,
            directed=False,
        )
        codes = np.full(adata.n_obs, -1)
        codes[cells] = shell.obs[name].cat.codes
        known = shell.obs[name].cat.categories
        runs[name] = pandas.Series(pandas.Categorical.from_codes(codes, known))
        tell(done + 1, len(plan.resolutions) * len(plan.seeds))
    return runs


def _draw(n: int, fraction: float, resolution: float, seed: int) -> np.ndarray:
    """Return the cells of a run, drawn independently of other runs."""
    if fraction == 1:
        return np.arange(n)
    rng = np.random.default_rng([seed, *np.float64(resolution).tobytes()])
    return np.sort(rng.choice(n, max(1, round(fraction * n)), replace=False))


def _ensemble(
    adata: Any, keys: Sequence[str], runs: dict[str, Any], noise: str
) -> Ensemble:
    # By position, like the runs: cells may share a name.
    columns = [_numbered(adata.obs[key].reset_index(drop=True)) for key in keys]
    columns += map(_numbered, runs.values())
    what = f"keys={list(keys)} of adata.obs are not all clusterings"
    with explaining(what, TypeError, ValueError):
        return Ensemble.from_clusterings(columns, noise=noise)


def _numbered(column: Any) -> Any:
    """Return a column whose "9" comes before "10", and "-1" is noise, as in files."""
    texts = column.astype("category")
    if not all(isinstance(value, str) for value in texts.cat.categories):
        return column
    try:
        return texts.cat.rename_categories(int)
    except ValueError:  # names, or "1" next to "01"
        return column


def _put(adata: Any, entries: Entries) -> None:
    """Put the entries where scanpy's users look for them."""
    pandas = import_optional("pandas", "AnnData", "pandas")
    kept = adata.obs.drop(columns=[*entries.obs], errors="ignore")
    new = pandas.DataFrame(entries.obs).set_index(adata.obs.index)
    adata.obs = pandas.concat([kept, new], axis=1)  # at once: there may be hundreds
    adata.obsm.update(entries.obsm)
    adata.uns.update(entries.uns)
