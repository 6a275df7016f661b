"""What methods of one kind share: agglomeration of objects, meta-clustering."""

from __future__ import annotations

import os
from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ensclust._cuts import voting
from ensclust._ensemble.agreement import mean_nmi
from ensclust._methods.base import BaseConsensus
from ensclust._quality.certainty import Certainty
from ensclust._stream.tally import in_memory
from ensclust._trees.coassociation import DEFAULT_MEMORY
from ensclust._trees.linkage import link
from ensclust._trees.routes import LINKAGES

if TYPE_CHECKING:
    from ensclust._ensemble.ensemble import Ensemble
    from ensclust._trees.coassociation import CoAssociation

# For the methods in which weights of base clusterings have a meaning.
WEIGHTS = {"weights": ["array-like", StrOptions({"agreement"}), None]}


def cluster_mass(ensemble: Ensemble, weights: np.ndarray | None) -> np.ndarray | None:
    """Return the weight of each base cluster, (Nc,), or None if all are alike.

    Weights of the clusterings are scaled to a mean of 1.
    """
    if weights is None:
        return None
    return np.repeat(weights / weights.mean(), ensemble.cluster_counts)


def weigh(W: np.ndarray, mass: np.ndarray | None) -> np.ndarray:
    """Return the edges of a graph in which each node occurs as its mass says."""
    return W if mass is None else W * np.multiply.outer(mass, mass)


class Agglomeration(BaseConsensus):
    """Link the objects of a co-association; a method supplies ``_coassociation``."""

    _parameter_constraints: ClassVar[dict] = {
        **BaseConsensus._parameter_constraints,
        **WEIGHTS,
        "linkage": [StrOptions(set(LINKAGES))],
        "max_memory": [Interval(Integral, 1, None, closed="left")],
        "max_regions": [Interval(Integral, 1, None, closed="left"), None],
        "checkpoint": [str, os.PathLike, None],
    }

    def __init__(
        self,
        n_clusters=8,
        n_clusterings=20,
        *,
        base_k=None,
        weights=None,
        base="kmeans",
        noise="missing",
        linkage="average",
        max_memory=DEFAULT_MEMORY,
        max_regions=None,
        checkpoint=None,
        random_state=None,
        n_jobs=None,
    ):
        super().__init__(
            n_clusters,
            n_clusterings,
            base_k=base_k,
            base=base,
            noise=noise,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.weights = weights
        self.linkage = linkage
        self.max_memory = max_memory
        self.max_regions = max_regions
        self.checkpoint = checkpoint

    def _prepare(self, ensemble: Ensemble) -> None:
        self.coassociation_ = self._coassociation(ensemble)
        n_rows = len(ensemble.fragments().counts)
        is_exact = self.max_regions is None or self.max_regions >= n_rows
        self.n_regions_ = None if is_exact else self.max_regions
        self.dendrogram_ = link(
            self.coassociation_,
            self.linkage,
            max_memory=self.max_memory,
            max_regions=self.max_regions,
            checkpoint=self.checkpoint,
            n_jobs=self.n_jobs,
        )

    def _cut(self, n_clusters: int) -> np.ndarray:
        return self.dendrogram_.cut(n_clusters)

    def _affinity(self) -> CoAssociation:
        return self.coassociation_

    def _coassociation(self, ensemble: Ensemble) -> CoAssociation:
        raise NotImplementedError


class MetaClustering(BaseConsensus):
    """Partition the base clusters, then let objects vote.

    A method supplies ``_similarity(ensemble)``, a matrix of base clusters, and
    ``_partition(n_clusters)``, the part of each, or ``_partitions(n_clusters)`` with
    several such, of which that is kept whose labels share most with the inputs.
    """

    _parameter_constraints: ClassVar[dict] = {
        **BaseConsensus._parameter_constraints,
        **WEIGHTS,
    }

    def __init__(
        self,
        n_clusters=8,
        n_clusterings=20,
        *,
        base_k=None,
        weights=None,
        base="kmeans",
        noise="missing",
        random_state=None,
        n_jobs=None,
    ):
        super().__init__(
            n_clusters,
            n_clusterings,
            base_k=base_k,
            base=base,
            noise=noise,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.weights = weights

    def _prepare(self, ensemble: Ensemble) -> None:
        self.cluster_similarity_ = self._similarity(ensemble)

    def _cut(self, n_clusters: int) -> np.ndarray:
        n_parts = min(n_clusters, self._prepared.n_base_clusters)
        settings = {"weights": self._weights, "seed": self._seed, "n_jobs": self.n_jobs}
        settled = [
            voting.settle(self._prepared, parts, **settings)
            for parts in self._partitions(n_parts)
        ]
        best = settled[0] if len(settled) == 1 else max(settled, key=self._quality)
        labels, self.meta_labels_ = best
        return labels

    def _quality(self, settled: tuple[np.ndarray, np.ndarray]) -> tuple[int, float]:
        """Return how many clusters there are, and what they share with the inputs."""
        labels, meta_labels = settled
        shared = mean_nmi(self._prepared, labels, self._weights)
        return int(meta_labels.max()), shared

    def _renumber(self, rank: np.ndarray) -> None:
        has_vote = self.meta_labels_ >= 0
        self.meta_labels_ = np.where(has_vote, rank[self.meta_labels_], -1)

    def _assign(self, ensemble: Ensemble) -> np.ndarray:
        return voting.vote(
            ensemble,
            self.meta_labels_,
            weights=self._weights,
            seed=self._seed,
            n_jobs=self.n_jobs,
        )

    def memberships(self, X=None) -> np.ndarray:
        """Return how the votes of each object are shared out, (n_samples, k) float64.

        Rows sum to 1 (0 for an object without votes), columns are numbered as
        ``labels_``. ``X=None`` means the training objects. Computed when asked for:
        time M per object beyond that of the base clusterers.
        """
        check_is_fitted(self, "labels_")
        known = in_memory(self.ensemble_) if X is None else self._encode(X)
        ensemble = self._counting(known)
        if self.n_clusters_ == 0:
            return np.zeros((ensemble.n_objects, 0))
        return voting.memberships(
            ensemble, self.meta_labels_, weights=self._weights, n_jobs=self.n_jobs
        )

    def certainty(self) -> Certainty:
        """Return how far the base clusterings support the consensus, votes included.

        Per object, per cluster and per base clustering; see
        :class:`ensclust.Certainty`. Time N M + F M k, some 8 N k bytes.
        """
        shares = self.memberships()
        return Certainty.of(
            self.ensemble_, self.labels_, weights=self.weights_, memberships=shares
        )

    def _similarity(self, ensemble: Ensemble) -> np.ndarray:
        raise NotImplementedError

    def _partitions(self, n_clusters: int) -> list[np.ndarray]:
        return [self._partition(n_clusters)]

    def _partition(self, n_clusters: int) -> np.ndarray:
        raise NotImplementedError
