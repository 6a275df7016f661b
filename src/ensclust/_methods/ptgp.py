"""PTGP: probability trajectories and graph partitioning."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from ensclust._cuts import microclusters
from ensclust._cuts.partition import TransferCut
from ensclust._methods.base import BaseConsensus
from ensclust._support.documentation import MethodInfo, document

if TYPE_CHECKING:
    from ensclust._ensemble.ensemble import Ensemble


@document
class PTGP(BaseConsensus):
    """Random walks between microclusters, then a cut of microclusters and clusters.

    Good where weak links between distant objects are mostly noise: only the closest
    neighbours count, and whatever two neighbourhoods have in common. The slowest of
    the methods here, though not by far up to some 10^4 distinct label rows.

    Parameters
    ----------
    $n_clusters
    $n_clusterings
    $base_k
    n_neighbors : int or None, default=None
        Elite neighbours of a microcluster, more in case of ties. None is the published
        rule for F microclusters, ``min(20, floor(sqrt(F) / 2))`` and at least 1.
    steps : int or None, default=None
        Length of the random walks. None is the same rule.
    $base
    $noise
    $random_state
    $n_jobs

    Attributes
    ----------
    $labels_
    $ensemble_
    $n_clusters_
    $n_features_in_
    n_neighbors_, steps_ : int
        The numbers of neighbours and steps that were used.

    Notes
    -----
    A microcluster is a set of objects with equal label rows; there are F of them. They
    walk to their elite neighbours in the co-association; the trajectories' cosine
    similarity (PTS), averaged over the microclusters of each base cluster, weights a
    bipartite graph, which is cut into k parts.

    PTS is never formed: with P sparse, its row norms and its product with the
    memberships are 2 T products of P with a few columns at a time. Time F^2 M for the
    neighbours, T nnz(P) F for the norms, F Nc^2 for the cut; memory 12 nnz(P) bytes
    for P and two F x Nc matrices. nnz(P) is some 20 to 40 F; ensembles of few
    clusterings have more ties, and more of everything.

    Deviations from the published code: a microcluster that shares no cluster with
    another is similar to itself only, with 1 (published: to all and itself with
    1e-20); at least one neighbour and step (published: none for F < 4); errors are not
    turned into one big cluster; n_clusters may exceed the number of base clusters.
    Missing labels: the co-association is the mean over the clusterings that contain
    both. Where the graph falls into more than n_clusters parts, its leading
    eigenvectors are not unique, and which parts go together is arbitrary.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang. Robust Ensemble Clustering Using Probability
    Trajectories. IEEE Transactions on Knowledge and Data Engineering, 2016.
    doi:10.1109/TKDE.2015.2503753

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import PTGP
    >>> model = PTGP(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Probability trajectories, graph partitioning",
        doi="10.1109/TKDE.2015.2503753",
        level="object",
        time="F^2 M + T nnz(P) F + F Nc^2",
        memory="N M + F Nc + nnz(P)",
    )
    _parameter_constraints: ClassVar[dict] = {
        **BaseConsensus._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "steps": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_clusters=8,
        n_clusterings=20,
        *,
        base_k=None,
        n_neighbors=None,
        steps=None,
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
        self.n_neighbors = n_neighbors
        self.steps = steps

    def _needed_memory(self, ensemble: Ensemble) -> int:
        return 16 * len(ensemble.fragments().counts) * ensemble.n_base_clusters

    def _prepare(self, ensemble: Ensemble) -> None:
        fragments = ensemble.fragments()
        rule = microclusters.published_size(len(fragments.counts))
        self.n_neighbors_ = self.n_neighbors or rule
        self.steps_ = self.steps or rule
        neighbors = microclusters.elite_neighbors(
            ensemble, self.n_neighbors_, n_jobs=self.n_jobs
        )
        similarity = microclusters.TrajectorySimilarity(
            neighbors, fragments.counts, self.steps_, n_jobs=self.n_jobs
        )
        edges = similarity.product(_mean_membership(ensemble), n_jobs=self.n_jobs)
        self._graph = TransferCut(edges)

    def _cut(self, n_clusters: int) -> np.ndarray:
        n_parts = min(n_clusters, len(self._graph))
        parts = self._graph.labels(n_parts, random_state=self._seed)
        return parts[self._prepared.fragments().inverse]


def _mean_membership(ensemble: Ensemble) -> sparse.csr_array:
    """Return the (F, Nc) memberships of microclusters; columns sum to 1."""
    labels = ensemble.fragments().labels
    is_member = labels >= 0
    cluster = (labels + ensemble.offsets[:-1])[is_member]
    share = 1 / np.bincount(cluster, minlength=ensemble.n_base_clusters)[cluster]
    begin = np.concatenate([[0], np.cumsum(is_member.sum(axis=1))])
    shape = len(labels), ensemble.n_base_clusters
    return sparse.csr_array((share, cluster, begin), shape=shape)
