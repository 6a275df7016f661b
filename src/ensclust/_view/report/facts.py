"""What a report shows, as plain values: collected once, then only drawn."""

import re
from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

import numpy as np

from ensclust import __version__
from ensclust._ensemble.agreement import (
    contingency,
    pairwise_nmi,
    table_ari,
    table_ecs,
    table_nmi,
)
from ensclust._ensemble.alignment import match
from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.certainty import Certainty
from ensclust._quality.criteria import CRITERIA
from ensclust._quality.k_selection import KSelection
from ensclust._quality.result import Result
from ensclust._support.plain import counted, rounded, shortened
from ensclust._view.checks import check_given, check_map, check_vector
from ensclust._view.cluster_graph import cluster_graph, majority
from ensclust._view.consensus_blocks import consensus_blocks
from ensclust._view.palette import PALETTE, check_colors, colour
from ensclust._view.report.scatter import scatter
from ensclust._view.report.sweep import sweep_facts
from ensclust._view.tree_top import spread, tree_top

_MOST = 500  # clusters, or classes, that a browser draws quickly enough
_LISTED = 1000  # least certain objects in the table
_COMPARED = 100  # base clusterings compared with each other
_BASE_CLUSTERS = 6000  # in those, as memory grows with their square
_CELLS = 240  # rows of the matrix, or the number of clusters if that is larger
_SQUARES = 400  # clusters in it, the largest
_NUMBERS = 2**25  # in the histograms of its rows
_NODES = 600  # base clusters in the graph, the largest
_BRANCHES = (
    30,
    200,
)  # fewest and most branches of the tree; between them, twice the clusters
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "plotly")


@dataclass(frozen=True)
class Facts:
    """Everything that a page shows; a section that is None is left out.

    Attributes
    ----------
    title : str
        Heading of the page.
    summary : str
        What was done, and how certain it is, in two sentences.
    figures : dict of str to str
        Key figures, as text.
    clusters : dict
        "names", "sizes" and "consensus" of each cluster, "absent" objects.
    colors : list of str
        Colours of the clusters, given or from the palette.
    matrix, scatter, agreement, objects : dict
        Consensus matrix, maps of the objects, agreement of the base clusterings, least
        certain objects.
    tree, graph, selection, sweep, truth : dict or None
        Top of the dendrogram, graph of base clusters, choice of k, clusterings across
        k or resolution, comparison with the true classes.
    parameters, versions : dict of str to str
        Parameters of the method; versions of the packages used.
    call : str
        The command or the Python lines that reproduce the report.
    seed : str
        What is known about the seed.
    """

    title: str
    summary: str
    figures: dict[str, str]
    clusters: dict[str, Any]
    colors: list[str]
    matrix: dict[str, Any]
    scatter: dict[str, Any]
    agreement: dict[str, Any]
    objects: dict[str, Any]
    tree: dict[str, Any] | None
    graph: dict[str, Any] | None
    selection: dict[str, Any] | None
    sweep: dict[str, Any] | None
    truth: dict[str, Any] | None
    parameters: dict[str, str]
    versions: dict[str, str]
    call: str
    seed: str


def collect(
    ensemble: Ensemble,
    labels: Any,
    *,
    result: Result | None = None,
    X: Any = None,
    truth: Any = None,
    ids: Sequence | None = None,
    names: Sequence | None = None,
    cluster_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    feature_names: Sequence[str] | None = None,
    sweep_names: Sequence[str] | None = None,
    selection: KSelection | None = None,
    sweep: Any = None,
    map_of: str | None = None,
    colors: Sequence | None = None,
    title: str | None = None,
    call: str = "",
) -> Facts:
    """Collect the facts; parameters are those of :func:`ensclust.write_report`.

    ``result`` is the result of the method that made the labels, if there is one;
    ``cluster_names`` and ``class_names`` name the sorted values of ``labels`` and
    ``truth``, ``feature_names`` and ``sweep_names`` the columns of ``X`` and ``sweep``;
    ``call`` reproduces the report. Time N M + F M k for F distinct label rows, plus
    what :func:`ensclust.write_report` states.
    """
    n = ensemble.n_objects
    n_all = n if result is None else result.n_objects
    codes, clusters = _coded(labels, "labels", n, cluster_names)
    check_given(ensemble, X=X, ids=ids, names=names, selection=selection, title=title)
    check_map(map_of, has_features=X is not None)
    given = check_colors(colors, len(clusters))
    if ids is None and result is not None and result.objects is not None:
        ids = result.objects.tolist()
    ids = None if ids is None else list(ids)
    certainty = Certainty.of(
        ensemble,
        codes,
        weights=None if result is None else result.weights,
        names=None if names is None else [shortened(name) for name in names],
    )
    tree, branch = _tree(result, codes)
    classes = None if truth is None else _coded(truth, "truth", n, class_names)
    if classes is not None:
        classes = _beside(codes, *classes)
    if selection is None and result is not None:
        selection = result.selection
    return Facts(
        title=title or "Consensus clustering",
        summary=_summary(certainty, ensemble, result) + _sample(n, n_all),
        figures=_figures(certainty, ensemble, n_all),
        clusters={
            "names": clusters,
            "sizes": certainty.sizes.tolist(),
            "consensus": rounded(certainty.cluster_consensus),
            "absent": int((codes < 0).sum()),
        },
        colors=[colour(j, given) for j in range(max(len(clusters), len(PALETTE)))],
        matrix=_matrix(ensemble, certainty),
        scatter=_map(
            scatter(ensemble, certainty, X, feature_names, map_of), ids, branch
        ),
        agreement=_agreement(ensemble, certainty),
        objects=_least_certain(certainty, ids, classes),
        tree=tree,
        graph=None if result is None else _graph(result, certainty.names),
        selection=None if selection is None else _selection(selection),
        sweep=sweep_facts(ensemble, codes, sweep, sweep_names, selection),
        truth=None if classes is None else _truth(codes, *classes),
        parameters={} if result is None else _parameters(result),
        versions=_versions(),
        call=call,
        seed="" if result is None else _seed(result),
    )


def _coded(
    values: Any, what: str, n_objects: int, names: Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    """Return codes 0, 1, ... of the sorted values, -1 for none, and their names."""
    check_vector(
        values,
        what,
        n_objects,
        "label per object, in the order of the base clusterings",
    )
    try:
        coded = Ensemble.from_clusterings([values])
    except (TypeError, ValueError) as error:
        msg = f"{what} is not a clustering: {error}"
        raise ValueError(msg) from error
    found = coded.categories[0].tolist() if names is None else names
    if not 1 <= len(found) <= _MOST:
        msg = (
            f"{what} has {len(found):,} distinct values (negative and missing ones do "
            f"not count). A report shows 1 to {_MOST:,}."
        )
        raise ValueError(msg)
    return coded.labels[:, 0].astype(np.int64), [shortened(name) for name in found]


def _beside(
    clusters: np.ndarray, codes: np.ndarray, classes: list[str]
) -> tuple[np.ndarray, list[str]]:
    """Order classes like the clusters that they share most objects with."""
    table = contingency(Ensemble.from_clusterings([codes]), clusters)
    first = match(table)[1]
    order = np.append(first, np.setdiff1d(np.arange(len(classes)), first))
    place = np.append(np.argsort(order), -1)  # the last is for no class
    return place[codes], [classes[j] for j in order]


def _summary(certainty: Certainty, ensemble: Ensemble, result: Result | None) -> str:
    counts = ensemble.cluster_counts.tolist()
    many = " to ".join(f"{n:,}" for n in sorted({min(counts), max(counts)}))
    how = (
        "judged by"
        if result is None
        else f"found by {result.method} ({result.title}) as the consensus of"
    )
    n_clustered = int(certainty.sizes.sum())
    part = f"{n_clustered:,} of " if n_clustered < ensemble.n_objects else ""
    first = (
        f"{part}{counted(ensemble.n_objects, 'object')} in "
        f"{counted(len(certainty.sizes), 'cluster')}, {how} "
        f"{counted(ensemble.n_clusterings, 'base clustering')} of {many} clusters each."
    )
    known = certainty.item_consensus[np.isfinite(certainty.item_consensus)]
    if not len(known):
        return f"{first} Every cluster is a single object."
    together = (
        f"{first} On average an object is together with the others of its cluster in "
        f"{100 * known.mean():.0f}% of the base clusterings"
    )
    if len(certainty.sizes) < 2:
        return f"{together}."
    unsure = int((certainty.margin <= 0).sum())
    share = f" ({100 * unsure / len(certainty.labels):.2g}%)" if unsure else ""
    return (
        f"{together}; "
        f"{counted(unsure, 'object') if unsure else 'none'}{share} "
        f"{'is' if unsure < 2 else 'are'} held at least as closely by another cluster."
    )


def _sample(n_shown: int, n_all: int) -> str:
    """Return a sentence if the objects shown are a sample of a stream."""
    said = f" A random sample of {n_shown:,} of {counted(n_all, 'object')} is shown."
    return said if n_shown < n_all else ""


def _figures(certainty: Certainty, ensemble: Ensemble, n_all: int) -> dict[str, str]:
    part = f"{ensemble.n_objects:,} of " if ensemble.n_objects < n_all else ""
    known = certainty.item_consensus[np.isfinite(certainty.item_consensus)]
    nmi = certainty.agreement.nmi[np.isfinite(certainty.agreement.nmi)]
    return {
        "objects": f"{part}{n_all:,}",
        "clusters": f"{len(certainty.sizes):,}",
        "base clusterings": f"{ensemble.n_clusterings:,}",
        "mean item consensus": f"{known.mean():.2f}" if len(known) else "–",
        "mean NMI with the inputs": f"{nmi.mean():.2f}" if len(nmi) else "–",
    }


def _matrix(ensemble: Ensemble, certainty: Certainty) -> dict[str, Any]:
    """Return the consensus matrix in percent, most certain objects first."""
    shown = np.argsort(-certainty.sizes, kind="stable")[:_SQUARES]
    blocks = consensus_blocks(
        ensemble,
        np.where(np.isin(certainty.labels, shown), certainty.labels, -1),
        min(_CELLS, _NUMBERS // ensemble.n_base_clusters),
        place=-np.nan_to_num(certainty.item_consensus),
        weights=certainty.weights,
        with_itself=False,
    )
    clusters, n_cells = np.unique(blocks.labels, return_counts=True)
    percent = np.rint(100 * blocks.matrix).astype(np.uint8)
    return {
        "percent": b64encode(percent.tobytes()).decode(),
        "clusters": clusters.tolist(),
        "cells": n_cells.tolist(),
        "sizes": np.bincount(blocks.rows[blocks.rows >= 0]).tolist(),
    }


def _tree(
    result: Result | None, codes: np.ndarray
) -> tuple[dict[str, Any], np.ndarray] | tuple[None, None]:
    """Return the top of a tree and each object's branch, None if there is no tree.

    Merge j joins two branches or merges into node L + j, for L branches.
    """
    dendrogram = None if result is None else result.dendrogram
    if result is None or dendrogram is None:
        return None, None
    k = int(codes.max()) + 1
    top = tree_top(dendrogram, int(np.clip(2 * k, *_BRANCHES)))
    return {
        "sizes": np.bincount(top.leaf_of_object).tolist(),
        "heights": rounded(top.leaf_heights, 6),
        "merges": top.merges.tolist(),
        "merged": rounded(top.heights, 6),
        "order": top.leaf_order().tolist(),
        "cluster": _most(top.leaf_of_object, codes[result.present]),
        "k": k,
        "leaves": dendrogram.n_leaves,
    }, spread(top.leaf_of_object, result.present)


def _most(groups: np.ndarray, codes: np.ndarray) -> list[int]:
    """Return the cluster that most objects of each group are in, -1 for none."""
    found = Ensemble.from_clusterings([groups])
    return majority(found, codes).tolist()


def _map(
    facts: dict[str, Any], ids: Sequence | None, branch: np.ndarray | None
) -> dict[str, Any]:
    """Add ids and branches of the tree to the objects on the map."""
    rows = facts["rows"]
    return {
        **facts,
        "group": None if branch is None else branch[rows].tolist(),
        "ids": None if ids is None else [shortened(ids[i]) for i in rows],
    }


def _graph(result: Result, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the base clusters with their meta-clusters, None if there are none."""
    similarity, meta = result.cluster_similarity, result.meta_labels
    if similarity is None or meta is None:
        return None
    ensemble = result.weighted()
    nodes, places, edges = cluster_graph(similarity, ensemble.sizes, meta, _NODES)
    places = places - (places.max(axis=0) + places.min(axis=0)) / 2
    x, y = (places / (np.abs(places).max() or 1.0)).T
    clustering = np.searchsorted(ensemble.offsets, nodes, side="right") - 1
    shown = np.unique(result.labels[result.labels >= 0])
    place = np.full(int(max(meta.max(), shown.max())) + 2, -1)  # the last is for none
    place[shown] = np.arange(len(shown))
    if result.weights is not None:
        names = [name for name, w in zip(names, result.weights, strict=True) if w > 0]
    return {
        "n": int((ensemble.sizes > 0).sum()),
        "x": rounded(x, 3),
        "y": rounded(y, 3),
        "size": ensemble.sizes[nodes].tolist(),
        "meta": place[meta[nodes]].tolist(),
        "clustering": [shortened(names[m]) for m in clustering],
        "cluster": [
            shortened(ensemble.categories[m][j - ensemble.offsets[m]])
            for m, j in zip(clustering, nodes, strict=True)
        ],
        "edges": edges.tolist(),
    }


def _agreement(ensemble: Ensemble, certainty: Certainty) -> dict[str, Any]:
    counts = ensemble.cluster_counts
    chosen = np.flatnonzero(counts <= _BASE_CLUSTERS)
    if len(chosen) > _COMPARED:
        chosen = chosen[np.linspace(0, len(chosen) - 1, _COMPARED).astype(int)]
    chosen = chosen[np.cumsum(counts[chosen]) <= _BASE_CLUSTERS]
    pairs = pairwise_nmi(ensemble.select(chosen)) if len(chosen) else np.empty((0, 0))
    return {
        "names": [shortened(name) for name in certainty.names],
        "counts": counts.tolist(),
        **{name: rounded(v) for name, v in certainty.agreement._asdict().items()},
        "weights": None if certainty.weights is None else rounded(certainty.weights),
        "compared": chosen.tolist(),
        "pairs": [rounded(row, 3) for row in pairs],
    }


def _least_certain(
    certainty: Certainty,
    ids: Sequence | None,
    classes: tuple[np.ndarray, list[str]] | None,
) -> dict[str, Any]:
    """Return the objects with the smallest margins; those in no cluster come last.

    With one cluster there is no next one, and the item consensus is used.
    """
    has_next = len(certainty.sizes) > 1
    other = np.where(has_next, certainty.next_consensus, np.nan)
    margin = certainty.item_consensus - other
    least = margin if has_next else certainty.item_consensus
    rows = np.lexsort((least, certainty.labels < 0))[:_LISTED]
    return {
        "n": len(margin),
        "rows": rows.tolist(),
        "ids": [str(i) if ids is None else shortened(ids[i]) for i in rows],
        "cluster": certainty.labels[rows].tolist(),
        "own": rounded(certainty.item_consensus[rows], 3),
        "next": certainty.next_cluster[rows].tolist(),
        "other": rounded(other[rows], 3),
        "margin": rounded(margin[rows], 3),
        "weak": (margin[rows] <= 0).tolist(),  # before it is rounded
        "truth": None if classes is None else classes[0][rows].tolist(),
    }


def _selection(selection: KSelection) -> dict[str, Any]:
    return {
        "method": selection.method,
        "ks": list(selection.ks),
        "best": selection.best_k,
        "judged": selection.n_judged,
        "outcome": selection.outcome,
        "criteria": [
            {
                "name": name,
                "title": CRITERIA[name].title,
                "rule": CRITERIA[name].rule,
                "values": rounded(values),
                "suggested": selection.suggested.get(name),
            }
            for name, values in selection.scores.items()
        ],
    }


def _truth(codes: np.ndarray, truth: np.ndarray, classes: list[str]) -> dict[str, Any]:
    table = contingency(Ensemble.from_clusterings([truth]), codes)
    return {
        "classes": classes,
        "table": table.tolist(),
        "compared": int(table.sum()),
        "nmi": rounded([table_nmi(table)])[0],
        "ari": rounded([table_ari(table)])[0],
        "ecs": rounded([table_ecs(table)])[0],
    }


def _parameters(result: Result) -> dict[str, str]:
    # Addresses of objects differ from run to run.
    return {
        name: shortened(re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value)))
        for name, value in result.estimator.get_params(deep=False).items()
    }


def _versions() -> dict[str, str]:
    found = {"ensclust": __version__, "Python": python_version()}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _seed(result: Result) -> str:
    """Return what is known about the seed, as a sentence."""
    value = result.estimator.random_state
    if value is None:
        return "No seed was set, so another run may differ."
    if not isinstance(value, (int, np.integer)):
        return (
            f"The seed was a {type(value).__name__} object, so it cannot be repeated "
            "exactly."
        )
    return f"Seed: {value}."
