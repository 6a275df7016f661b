"""Consensus matrices and their CDFs for several numbers of clusters."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.criteria import (
    cdf_area,
    coarsened,
    consensus_cdf,
    consensus_pairs,
)
from ensclust._view.consensus_blocks import Blocks, consensus_blocks


class Level(NamedTuple):
    """What base clusterings, reduced to its clusters, say about a clustering.

    Attributes
    ----------
    n_clusters : int
        Clusters of the clustering.
    blocks : Blocks
        Consensus matrix of the reduced base clusterings, ordered by cluster.
    values, cdf : ndarray
        Distinct consensus values, and the share of pairs of objects up to each.
    area : float
        Area under the CDF.
    """

    n_clusters: int
    blocks: Blocks
    values: np.ndarray
    cdf: np.ndarray
    area: float


def consensus_by_k(
    ensemble: Ensemble, clusterings: Sequence[np.ndarray], max_rows: int
) -> list[Level]:
    """Return the consensus matrix and CDF of each clustering.

    Base clusterings have any numbers of clusters, so for each clustering they are
    first reduced to its clusters: every base cluster takes the label that most of its
    objects have, as in :func:`ensclust.select_k`. Clear clusters give a matrix of
    blocks, and a CDF that is flat between 0 and 1.

    Parameters
    ----------
    ensemble : Ensemble
        The base clusterings.
    clusterings : sequence of ndarray of shape (N,)
        Clusters 0, 1, ... of each object; negative ones are left out.
    max_rows : int
        Rows of the matrices, see :func:`consensus_blocks`.

    Returns
    -------
    list of Level
        Time R^2 M / 2 for R distinct reduced rows, and N M, for each clustering.
    """
    return [_level(ensemble, labels, max_rows) for labels in clusterings]


def _level(ensemble: Ensemble, labels: np.ndarray, max_rows: int) -> Level:
    is_in = (labels >= 0) & ~ensemble.absent()
    if not is_in.all():
        ensemble = Ensemble.from_clusterings(list(ensemble.take(is_in).labels.T))
    found, labels = np.unique(labels[is_in], return_inverse=True)
    codes = coarsened(ensemble, labels)[ensemble.fragments().inverse].astype(np.int64)
    codes[codes == len(found)] = -1
    reduced = Ensemble.from_clusterings(list(codes.T))
    pairs = consensus_pairs(ensemble, labels)
    blocks = consensus_blocks(reduced, labels, max_rows)
    return Level(len(found), blocks, *consensus_cdf(pairs), cdf_area(pairs))
