"""CSPA: the cluster-based similarity partitioning algorithm."""

import numpy as np

from ensclust._cuts import partition
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import Method, positive
from ensclust._methods.families import Weighted
from ensclust._methods.parameters import parameter
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import DEFAULT_MEMORY, CoAssociation

_PAIR_BYTES = 48  # of the graph, and of METIS' copies of it


class CSPA(Weighted, Method):
    """Partition the graph of objects, whose edges are their co-association.

    A classic like :class:`MCLA`, included for comparison: it makes clusters of about
    equal size, and it needs a matrix of the distinct label rows. :class:`MCLA` and
    :class:`ECPCSMC` are linear in the number of objects.

    Parameters
    ----------
    $parameters
    n_init : int, default=10
        Runs of METIS with different seeds. The result with the most clusters is kept
        and, among those, the one with the largest mean normalised mutual information
        with the base clusterings; 1 is the published algorithm.
    max_memory : int, default=2**31
        Bytes that the graph may take, 48 for each pair of distinct label rows that
        share a cluster; MemoryError above it.

    Attributes
    ----------
    $attributes

    Notes
    -----
    Needs pymetis, ``pip install "ensclust[metis]"``. Time F^2 M for the co-association
    of F distinct label rows, then per run of METIS the number of pairs that share a
    cluster, at most F^2; memory up to 48 F^2 bytes.

    METIS bisects recursively and makes parts with about equal numbers of objects.
    Deviations from the published code (ClusterPack), which calls METIS 4 where this
    calls METIS 5: nodes are the distinct label rows, weighted by their numbers of
    objects, and an edge weighs as much as all edges between the objects of its two
    rows. So objects with equal label rows are never separated, which costs balance if a
    row has more objects than a cluster should have; any other partition has the same
    cut. Edges are scaled to sum to 1e9 (published: 1e8) and rounded; the best of
    ``n_init`` runs is kept. Missing labels: the co-association is the mean over the
    clusterings that contain both. ``weights`` count in the co-association and in the
    choice of the best run.

    References
    ----------
    A. Strehl, J. Ghosh. Cluster Ensembles: A Knowledge Reuse Framework for Combining
    Multiple Partitions. Journal of Machine Learning Research 3, 2002.
    doi:10.1162/153244303321897735

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import CSPA
    >>> model = CSPA(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Cluster-based similarity partitioning",
        doi="10.1162/153244303321897735",
        level="object",
        time="F^2 M",
        memory="N M + 48 F^2",
        needs="pymetis",
        family="object graph",
    )

    n_init: int = parameter(positive(), default=10)
    max_memory: int = parameter(positive(), default=DEFAULT_MEMORY)

    def _solve(self, counts: Counts, *, weights, seed: int) -> partition.RowCut:
        partition.import_metis("CSPA", "ecpcs-mc")  # now, rather than after the work
        sizes = counts.fragments().counts
        coassociation = CoAssociation(counts, weights=weights)
        graph = coassociation.of_leaves("CSPA", _PAIR_BYTES, self.max_memory)
        graph.data *= np.repeat(sizes, np.diff(graph.indptr))
        graph.data *= sizes[graph.indices]
        runs = partition.metis_runs(graph, sizes, seed, self.n_init)
        return partition.RowCut(runs, {}, weights)
