"""The consensus matrix, ordered by cluster; cells are groups of objects if many."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

from ensclust._quality.cohesion import Histograms

if TYPE_CHECKING:
    from ensclust._ensemble.ensemble import Ensemble
    from ensclust._quality.certainty import Certainty

_CELLS = 240  # rows of the matrix, more only where there are more clusters
_CLUSTERS = 400  # clusters shown, the largest
_NUMBERS = 2**25  # in the histograms of the groups


def blocks(ensemble: Ensemble, certainty: Certainty) -> dict[str, Any]:
    """Return the mean co-association of groups of objects, in percent.

    A group holds objects of one cluster, neighbours when these are sorted by item
    consensus, the surest first; up to 240 objects each is its own group. An entry is
    the (weighted) mean over all pairs of two different objects, exact, from the
    histograms of the groups over base clusters: time N M, memory G Nc for G groups.
    """
    sizes = certainty.sizes
    clusters = np.sort(np.argsort(-sizes, kind="stable")[:_CLUSTERS])
    most = min(_CELLS, _NUMBERS // ensemble.n_base_clusters)
    group, n_cells = _groups(certainty, clusters, most)
    percent = np.rint(100 * _means(Histograms.of(ensemble, group), certainty.weights))
    return {
        "percent": b64encode(percent.astype(np.uint8).tobytes()).decode(),
        "clusters": clusters.tolist(),
        "cells": n_cells.tolist(),
        "sizes": np.bincount(group[group >= 0]).tolist(),
    }


def _groups(
    certainty: Certainty, clusters: np.ndarray, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the group of each object, -1 for none, and groups per cluster."""
    labels, sizes = certainty.labels, certainty.sizes
    total = sizes[clusters].sum()
    n_cells = np.clip(most * sizes[clusters] // total, 1, sizes[clusters])
    if total <= most:
        n_cells = sizes[clusters]
    order = np.lexsort((-np.nan_to_num(certainty.item_consensus), labels))
    begin = np.searchsorted(labels[order], clusters)
    group = np.full(len(labels), -1)
    first = 0
    for cluster, start, n in zip(clusters, begin, n_cells, strict=True):
        rank = np.arange(sizes[cluster])
        group[order[start : start + len(rank)]] = first + rank * n // len(rank)
        first += n
    return group, n_cells


def _means(histograms: Histograms, weights: np.ndarray | None) -> np.ndarray:
    """Return the mean co-association of pairs of groups, (G, G); alone it is 1."""
    counts, present = histograms.counts, histograms.present
    w = np.ones(len(present)) if weights is None else weights
    per_cluster = np.repeat(w, histograms.ensemble.cluster_counts)
    together = (counts * per_cluster) @ counts.T
    pairs = (present.T * w) @ present
    # No object is paired with itself.
    alone = w @ present
    np.fill_diagonal(together, together.diagonal() - alone)
    np.fill_diagonal(pairs, pairs.diagonal() - alone)
    means = np.divide(together, pairs, out=np.zeros(pairs.shape), where=pairs > 0)
    single = np.flatnonzero(histograms.sizes == 1)
    means[single, single] = 1
    return means
