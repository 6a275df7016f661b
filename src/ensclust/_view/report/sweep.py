"""Clusterings across k or resolution, as plain values for a report."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.k_selection import KSelection
from ensclust._support.plain import counted, rounded, shortened
from ensclust._view.checks import check_rows
from ensclust._view.cluster_graph import majority
from ensclust._view.clustering_tree import clustering_tree
from ensclust._view.consensus_by_k import Level, consensus_by_k

_LEVELS = 12  # clusterings shown
_ROWS = 80  # of their matrices
_JUDGED = 5000  # objects that the matrices are made of


def sweep_facts(
    ensemble: Ensemble,
    codes: np.ndarray,
    sweep: Any,
    names: Sequence[str] | None,
    selection: KSelection | None,
) -> dict[str, Any] | None:
    """Return a tree of clusterings, and the consensus matrix and CDF of each.

    The clusterings are those of ``sweep``, or those that ``selection`` judged; None if
    there are none. ``codes`` are the clusters of the report, which give the colours.
    """
    if sweep is not None:
        names = getattr(sweep, "columns", None) if names is None else names
        levels = Ensemble(sweep)
        check_rows(levels.n_objects, "sweep", ensemble.n_objects)
        n_all = levels.n_clusterings
        if names is None:
            names = [counted(k, "cluster") for k in levels.cluster_counts.tolist()]
        shown = np.unique(np.linspace(0, n_all - 1, _LEVELS).round().astype(int))
        names, levels = [names[m] for m in shown], levels.select(shown)
    elif selection is not None and selection.fits(ensemble):
        ks, n_all = selection.around_best(_LEVELS), len(selection.labels)
        ensemble, judged = selection.judged(ensemble)
        codes = codes[selection.objects]
        names = [f"k = {k}" for k in ks]
        levels = Ensemble.from_clusterings([judged[k] for k in ks])
    else:
        return None
    return {
        "names": [shortened(name) for name in names],
        "all": n_all,
        "objects": ensemble.n_objects,
        "tree": _tree(levels, codes),
        **_levels(ensemble, levels),
    }


def _tree(levels: Ensemble, codes: np.ndarray) -> dict[str, Any]:
    """Return nodes and lines of the clusterings, one below the other."""
    tree = clustering_tree(levels)
    return {
        "x": rounded(tree.places[:, 0]),
        "level": (-tree.places[:, 1]).astype(int).tolist(),
        "size": levels.sizes.tolist(),
        "name": [shortened(name) for own in levels.categories for name in own],
        "cluster": majority(levels, codes).tolist(),
        "edges": tree.edges.tolist(),
        "overlaps": tree.overlaps.tolist(),
        "shares": rounded(tree.shares, 3),
    }


def _levels(ensemble: Ensemble, levels: Ensemble) -> dict[str, Any]:
    """Return the matrices and CDFs, from a sample of many objects."""
    rows = np.flatnonzero((levels.labels >= 0).any(axis=1))
    if len(rows) > _JUDGED:
        rows = np.sort(np.random.default_rng(0).choice(rows, _JUDGED, replace=False))
    labels = levels.take(rows).labels
    found = consensus_by_k(ensemble.take(rows), list(labels.T), _ROWS)
    return {"judged": len(rows), "levels": [_level(level) for level in found]}


def _level(level: Level) -> dict[str, Any]:
    matrix = level.blocks.matrix
    percent = np.rint(100 * matrix).astype(np.uint8)
    return {
        "k": level.n_clusters,
        "n": len(matrix),
        "percent": b64encode(percent.tobytes()).decode(),
        "values": rounded(level.values),
        "cdf": rounded(level.cdf),
        "area": rounded([level.area])[0],
    }
