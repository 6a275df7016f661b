"""What a report tells, as plain values: collected once, then only drawn."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust import __version__
from ensclust._ensemble.agreement import contingency, pairwise_nmi, table_ari, table_nmi
from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.certainty import Certainty
from ensclust._quality.criteria import CRITERIA
from ensclust._view.report import again, graph, matrix, scatter, tree
from ensclust._view.report.arguments import check_features, check_rest, check_vector
from ensclust._view.report.plain import rounded, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ensclust._methods.base import BaseConsensus
    from ensclust._quality.k_selection import KSelection

_MOST = 500  # clusters, or classes, that a browser draws in good time
_LISTED = 1000  # least certain objects in the table
_COMPARED = 100  # base clusterings compared with one another
_BASE_CLUSTERS = 6000  # in those, for a square of them is counted
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "plotly")


@dataclass(frozen=True)
class Facts:
    """All that a page shows; a section that is None is left out.

    Attributes
    ----------
    title : str
        Heading of the page.
    summary : str
        What was done, and how sure it is, in two sentences.
    figures : dict of str to str
        Key figures, for people.
    clusters : dict
        "names", "sizes" and "consensus" of each cluster, "absent" objects.
    matrix, scatter, agreement, objects : dict
        Consensus matrix, map of the objects, agreement of the base clusterings, least
        certain objects.
    tree, graph, selection, truth : dict or None
        Top of the dendrogram, graph of base clusters, choice of k, comparison with
        the true classes.
    parameters, versions : dict of str to str
        Settings of the method; versions of the packages that had a part in it.
    call : str
        The command or Python lines that do it again.
    seed : str
        What is known of the seed.
    """

    title: str
    summary: str
    figures: dict[str, str]
    clusters: dict[str, Any]
    matrix: dict[str, Any]
    scatter: dict[str, Any]
    agreement: dict[str, Any]
    objects: dict[str, Any]
    tree: dict[str, Any] | None
    graph: dict[str, Any] | None
    selection: dict[str, Any] | None
    truth: dict[str, Any] | None
    parameters: dict[str, str]
    versions: dict[str, str]
    call: str
    seed: str


def collect(
    ensemble: Ensemble,
    labels: Any,
    *,
    model: BaseConsensus | None = None,
    X: Any = None,
    truth: Any = None,
    ids: Sequence | None = None,
    names: Sequence | None = None,
    cluster_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    selection: KSelection | None = None,
    title: str | None = None,
    call: str = "",
) -> Facts:
    """Collect the facts; parameters are those of :func:`ensclust.write_report`.

    ``model`` is the estimator that made the labels, if one did; ``cluster_names`` and
    ``class_names`` name the sorted values of ``labels`` and ``truth``; ``call`` is what
    does it again. Time N M + F M k for F distinct label rows, beyond that as
    :func:`ensclust.write_report` says.
    """
    n = ensemble.n_objects
    codes, clusters = _coded(labels, "labels", n, cluster_names)
    _check(ensemble, X=X, ids=ids, names=names, selection=selection, title=title)
    ids = None if ids is None else list(ids)
    weights = None if model is None else model.weights_
    shown = None if names is None else [shortened(name) for name in names]
    certainty = Certainty.of(ensemble, codes, weights=weights, names=shown)
    top = None if model is None else tree.top(model, codes)
    classes = None if truth is None else _coded(truth, "truth", n, class_names)
    if selection is None:
        selection = getattr(model, "selection_", None)
    return Facts(
        title=title or "Consensus clustering",
        summary=_summary(certainty, ensemble, model),
        figures=_figures(certainty, ensemble),
        clusters={
            "names": clusters,
            "sizes": certainty.sizes.tolist(),
            "consensus": rounded(certainty.cluster_consensus),
            "absent": int((codes < 0).sum()),
        },
        matrix=matrix.blocks(ensemble, certainty),
        scatter=_with_ids(scatter.scatter(ensemble, certainty, X, top), ids),
        agreement=_agreement(ensemble, certainty),
        objects=_least_certain(certainty, ids, classes),
        tree=None if top is None else top.facts,
        graph=None if model is None else graph.graph(model, certainty.names),
        selection=None if selection is None else _selection(selection),
        truth=None if classes is None else _truth(codes, *classes),
        parameters={} if model is None else _parameters(model),
        versions=_versions(),
        call=call,
        seed="" if model is None else again.seed(model),
    )


def method_name(model: BaseConsensus) -> str:
    """Return the name of a model's method, as the command line knows it."""
    from ensclust._methods import METHODS  # noqa: PLC0415  the table imports base

    for name, method in METHODS.items():
        if type(model) is method:
            return name
    best = getattr(model, "best_method_", None)
    return type(model).__name__ if best is None else f"best ({best})"


def _coded(
    values: Any, what: str, n_objects: int, names: Sequence[str] | None
) -> tuple[np.ndarray, list[str]]:
    """Return codes 0, 1, ... of the sorted values, -1 for none, and their names."""
    each = "label per object, in the order of the base clusterings"
    check_vector(values, what, n_objects, each)
    try:
        coded = Ensemble.from_clusterings([values])
    except (TypeError, ValueError) as error:
        msg = f"{what} is no clustering: {error}"
        raise ValueError(msg) from error
    found = coded.categories[0].tolist() if names is None else names
    if not 1 <= len(found) <= _MOST:
        msg = (
            f"{what} has {len(found):,} distinct values (negative and missing ones do "
            f"not count). A report shows 1 to {_MOST:,}."
        )
        raise ValueError(msg)
    return coded.labels[:, 0].astype(np.int64), [shortened(name) for name in found]


def _check(
    ensemble: Ensemble, *, X: Any, ids: Any, names: Any, selection: Any, title: Any
) -> None:
    if X is not None:
        check_features(X, ensemble.n_objects)
    if ids is not None:
        check_vector(ids, "ids", ensemble.n_objects, "id per object")
    if names is not None:
        each = "name per base clustering"
        check_vector(names, "names", ensemble.n_clusterings, each)
    check_rest(selection, title)


def _summary(
    certainty: Certainty, ensemble: Ensemble, model: BaseConsensus | None
) -> str:
    counts = ensemble.cluster_counts
    many = f"{counts.min():,}"
    if counts.min() < counts.max():
        many += f" to {counts.max():,}"
    how = "judged by"
    if model is not None:
        how = f"found by {method_name(model)} ({model.info.title}) as the consensus of"
    n_clustered = int(certainty.sizes.sum())
    part = f"{n_clustered:,} of " if n_clustered < ensemble.n_objects else ""
    first = (
        f"{part}{_count(ensemble.n_objects, 'object')} in "
        f"{_count(len(certainty.sizes), 'cluster')}, {how} "
        f"{_count(ensemble.n_clusterings, 'base clustering')} of {many} clusters each."
    )
    known = certainty.item_consensus[np.isfinite(certainty.item_consensus)]
    if not len(known):
        return f"{first} Every cluster is a single object."
    together = (
        f"{first} On average an object is together with the others of its cluster in "
        f"{100 * known.mean():.0f} % of the base clusterings"
    )
    if len(certainty.sizes) < 2:
        return f"{together}."
    unsure = int((certainty.margin <= 0).sum())
    share = f" ({100 * unsure / len(certainty.labels):.2g} %)" if unsure else ""
    return (
        f"{together}; "
        f"{_count(unsure, 'object') if unsure else 'none'}{share} "
        f"{'is' if unsure < 2 else 'are'} held at least as closely by another cluster."
    )


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"


def _figures(certainty: Certainty, ensemble: Ensemble) -> dict[str, str]:
    known = certainty.item_consensus[np.isfinite(certainty.item_consensus)]
    nmi = certainty.agreement.nmi[np.isfinite(certainty.agreement.nmi)]
    return {
        "objects": f"{ensemble.n_objects:,}",
        "clusters": f"{len(certainty.sizes):,}",
        "base clusterings": f"{ensemble.n_clusterings:,}",
        "mean item consensus": f"{known.mean():.2f}" if len(known) else "–",
        "mean NMI with the inputs": f"{nmi.mean():.2f}" if len(nmi) else "–",
    }


def _with_ids(facts: dict[str, Any], ids: Sequence | None) -> dict[str, Any]:
    rows = facts["rows"]
    return {**facts, "ids": None if ids is None else [shortened(ids[i]) for i in rows]}


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
        "nmi": rounded(certainty.agreement.nmi),
        "ari": rounded(certainty.agreement.ari),
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

    With one cluster there is no next one, and the item consensus decides.
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
    both = (codes >= 0) & (truth >= 0)
    table = contingency(Ensemble.from_clusterings([truth]), codes)
    return {
        "classes": classes,
        "table": table.tolist(),
        "compared": int(both.sum()),
        "nmi": rounded([table_nmi(table)])[0],
        "ari": rounded([table_ari(table)])[0],
    }


def _parameters(model: BaseConsensus) -> dict[str, str]:
    return {
        name: shortened(_without_address(repr(value)))
        for name, value in model.get_params(deep=False).items()
    }


def _without_address(text: str) -> str:
    """Leave out where an object lies in memory, which differs from run to run."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def _versions() -> dict[str, str]:
    found = {"ensclust": __version__, "Python": python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
