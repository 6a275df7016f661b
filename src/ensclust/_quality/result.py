"""Result: what a fitted method found, as facts for views and reports."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensclust._ensemble.ensemble import Ensemble
from ensclust._quality.k_selection import KSelection
from ensclust._trees.dendrogram import Dendrogram


@dataclass(frozen=True, eq=False)
class Result:
    """What a fitted method found; None for what it does not have.

    Attributes
    ----------
    method : str
        The name of the method, as on the command line, or of its class.
    title : str
        The full name of the method.
    estimator : BaseConsensus
        The estimator, for its parameters.
    is_precomputed : bool
        Whether it was fitted to labels.
    names : sequence of str or None
        Names of the base clusterings.
    ensemble : Ensemble
        The base clusterings of the objects that are shown.
    labels : ndarray of shape (N,)
        Their clusters.
    weights : ndarray of shape (M,) or None
        Weights of the base clusterings.
    dendrogram : Dendrogram or None
        The tree, over the objects that are in some clustering.
    cluster_similarity, meta_labels : ndarray or None
        Similarity of the base clusters that have a weight, and their clusters.
    selection : KSelection or None
        How the number of clusters was chosen.
    n_objects : int
        All objects; more than are shown if these are a sample of a stream.
    objects : ndarray or None
        The numbers of the objects that are shown; None means all.
    """

    method: str
    title: str
    estimator: Any
    is_precomputed: bool
    names: Any
    ensemble: Ensemble
    labels: np.ndarray
    weights: np.ndarray | None
    dendrogram: Dendrogram | None
    cluster_similarity: np.ndarray | None
    meta_labels: np.ndarray | None
    selection: KSelection | None
    n_objects: int
    objects: np.ndarray | None = None

    @property
    def present(self) -> np.ndarray:
        """The objects that a clustering with a weight contains, a mask of shape (N,).

        These are in the tree. With ``min_certainty``, some of them have no cluster.
        """
        return ~self.weighted().absent()

    def weighted(self) -> Ensemble:
        """Return the base clusterings that have a weight."""
        if self.weights is None or self.weights.all():
            return self.ensemble
        return self.ensemble.select(self.weights > 0)
