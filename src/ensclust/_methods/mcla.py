"""MCLA: the meta-clustering algorithm."""

from collections.abc import Callable

import numpy as np

from ensclust import similarity
from ensclust._cuts import partition
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import positive
from ensclust._methods.families import ClusterWeighted, MetaClustering
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import StrOptions
from ensclust._support.documentation import MethodInfo
from ensclust.similarity._measures import weigh


class MCLA(ClusterWeighted, MetaClustering):
    """Meta-clustering: group base clusters that overlap, and let objects vote.

    The classic method of its kind, linear in the number of objects. METIS makes
    meta-clusters of about equal weight, so it suits consensus clusters of about equal
    size; :class:`ECPCSMC` has no such restriction. New objects can be labelled with
    :meth:`predict`.

    Parameters
    ----------
    $parameters
    partitioner : "metis" or "ncut", default="metis"
        What partitions the graph of base clusters. "metis" needs pymetis,
        ``pip install "ensclust[metis]"``; "ncut", a normalised cut, needs nothing.
    n_init : int, default=10
        Runs of METIS with different seeds. The result with the most clusters is kept
        and, among those, the one with the largest mean normalised mutual information
        with the base clusterings; 1 is the published algorithm. The normalised cut is
        computed once.

    Attributes
    ----------
    $attributes
    cluster_similarity_ : ndarray of shape (Nc, Nc)
        Jaccard coefficients of the base clusters.
    meta_labels_ : ndarray of shape (Nc,)
        Consensus cluster of each base cluster; -1 if its meta-cluster won no object.

    Notes
    -----
    Time N M^2 / 2 for counting, then per run of METIS the number of pairs of
    overlapping clusters and N M for the vote; memory N M bytes and about four Nc x Nc
    matrices. With "ncut", Nc^3 for the cut.

    METIS bisects recursively; node weights are cluster sizes and edge weights Jaccard
    coefficients, both scaled to sum to 1e8 and rounded, as in the published code
    (ClusterPack), which calls METIS 4 where this calls METIS 5. Other deviations from
    it: the best of ``n_init`` runs is kept; a base cluster heavier than a meta-cluster
    should be weighs as much as one (needs n_clusters > n_clusterings); exact ties in
    the vote are decided by a hash of the seed and the label row, where the published
    code adds noise below 1e-4 and so affects near ties too; an object in no base
    clustering gets -1, not a random cluster; labels are numbered without gaps.
    ``weights`` count in the graph, in the vote and in the choice of the best run,
    ``cluster_weights`` in the graph and in the vote.

    References
    ----------
    A. Strehl, J. Ghosh. Cluster Ensembles: A Knowledge Reuse Framework for Combining
    Multiple Partitions. Journal of Machine Learning Research 3, 2002.
    doi:10.1162/153244303321897735

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import MCLA
    >>> X = load_iris().data
    >>> model = MCLA(3, partitioner="ncut", random_state=0).fit(X)
    >>> bool((model.predict(X[:5]) == model.labels_[:5]).all())
    True
    """

    info = MethodInfo(
        "Meta-clustering algorithm",
        doi="10.1162/153244303321897735",
        level="cluster",
        time="N M^2 + Nc^2",
        memory="N M + Nc^2",
        needs="pymetis",
        family="cluster graph",
        is_soft=True,
    )
    partitioner: str = parameter(StrOptions({"metis", "ncut"}), default="metis")
    n_init: int = parameter(positive(), default=10)

    def _needed_memory(self, counts: Counts) -> int:
        is_weighted = self.weights is not None or self.cluster_weights is not None
        return (40 if is_weighted else 32) * counts.n_base_clusters**2

    def _similarity(self, counts: Counts, weights) -> np.ndarray:
        if self.partitioner == "metis":
            partition.import_metis()  # now, rather than after the work
        return similarity.jaccard(counts, n_jobs=self.n_jobs)

    def _partitioner(self, similarity, counts, weights, seed: int) -> Callable:
        if self.partitioner == "ncut":
            return super()._partitioner(similarity, counts, weights, seed)
        mass = self._mass(counts, weights)
        return metis_partitioner(similarity, counts, mass, seed, self.n_init)


def metis_partitioner(
    similarity: np.ndarray, counts: Counts, mass, seed: int, n_init: int = 10
) -> Callable[[int], list[np.ndarray]]:
    """Return a function that partitions base clusters by several runs of METIS.

    Equal partitions occur once. ``mass`` is how many nodes each base cluster counts
    as; None means one.
    """
    sizes = counts.sizes if mass is None else counts.sizes * mass
    return partition.metis_runs(weigh(similarity, mass), sizes, seed, n_init)
