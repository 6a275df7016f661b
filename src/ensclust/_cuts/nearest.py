"""New objects: labelled like the known objects with the nearest label rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ensclust import _kernels
from ensclust._support import parallel

if TYPE_CHECKING:
    from ensclust._ensemble.ensemble import Ensemble
    from ensclust._trees.coassociation import CoAssociation


def label(
    known: CoAssociation,
    labels: np.ndarray,
    new: Ensemble,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Label new objects by their similarity to known ones.

    Parameters
    ----------
    known : CoAssociation
        The similarity, over an ensemble in which every object is in some clustering.
    labels : ndarray of shape (N,)
        Clusters 0, 1, ... of the known objects, equal for equal label rows.
    new : Ensemble
        The new objects, coded by the same base clusters (``Ensemble.recode``).
    n_jobs : int or None
        Threads; None is one per core.

    Returns
    -------
    ndarray of shape (Q,)
        The label of the known objects with the same label row, or else of the most
        similar ones; of equally similar ones the cluster with most objects, then the
        lowest. -1 where every similarity is 0. Time F M look-ups for each distinct new
        row that is not among the F distinct known ones; memory F M labels and Nc^2
        similarities.

    Examples
    --------
    >>> import numpy as np
    >>> from ensclust import CoAssociation, Ensemble
    >>> ensemble = Ensemble([[0, 0], [0, 1], [1, 2]])
    >>> new = ensemble.recode([[1, 2], [0, 2], [9, 1], [9, 9]])
    >>> label(CoAssociation(ensemble), np.array([0, 0, 1]), new)
    array([ 1,  0,  0, -1], dtype=int32)
    """
    ensemble = known.ensemble
    fragments, rows = ensemble.fragments(), new.fragments()
    S = known.similarity
    if S is None:
        S = np.eye(ensemble.n_base_clusters)
    weights = known.weights
    if weights is None:
        weights = np.ones(ensemble.n_clusterings)
    label_of_fragment = np.empty(len(fragments.counts), np.int64)
    label_of_fragment[fragments.inverse] = labels
    winner = np.empty(len(rows.counts), np.int32)
    shared = (
        ensemble.fragment_codes(),
        ensemble.offsets,
        S,
        weights,
        known.pairs == "all",
        label_of_fragment,
        fragments.counts,
        new.fragment_codes(),
        winner,
    )
    spans = parallel.blocks(len(winner), 4 * parallel.thread_count(n_jobs))
    tasks = [(*shared, *span) for span in spans]
    parallel.run(_kernels.nearest.nearest_label, tasks, n_jobs=n_jobs)
    return winner[rows.inverse]
