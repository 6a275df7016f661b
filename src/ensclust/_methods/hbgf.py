"""HBGF: hybrid bipartite graph formulation."""

from collections.abc import Callable

import numpy as np
from scipy import sparse

from ensclust._cuts import partition
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import Method, positive
from ensclust._methods.families import Weighted
from ensclust._methods.parameters import parameter
from ensclust._support.documentation import MethodInfo
from ensclust.similarity._measures import cluster_mass


class HBGF(Weighted, Method):
    """Partition the graph of objects and base clusters, in which members are joined.

    Included for comparison with published results: METIS makes parts of about equal
    weight. A spectral cut of the same graph, :class:`USENC`, has no such restriction,
    and is better on most data.

    Parameters
    ----------
    $parameters
    n_init : int, default=10
        Runs of METIS with different seeds. The result with the most clusters is kept
        and, among those, the one with the largest mean normalised mutual information
        with the base clusterings.

    Attributes
    ----------
    $attributes

    Notes
    -----
    Needs pymetis, ``pip install "ensclust[metis]"``. Time and memory of a run of METIS
    are about proportional to the F M edges of F distinct label rows: time F M, memory
    N M and about 140 F M bytes.

    Nodes are the distinct label rows, weighted by their numbers of objects, and the
    base clusters, each of weight 1; an edge weighs as much as its row. So objects with
    equal label rows are never separated, where the paper has one node for each object;
    any other partition has the same cut. METIS bisects recursively, and the best of
    ``n_init`` runs is kept. A part that holds only base clusters is not a cluster, so
    there may be fewer than n_clusters. A missing label means no edge. ``weights`` are
    factors of the edges and of the weights of base clusters, and count in the choice of
    the best run.

    References
    ----------
    X. Z. Fern, C. E. Brodley. Solving Cluster Ensemble Problems by Bipartite Graph
    Partitioning. ICML, 2004. doi:10.1145/1015330.1015414

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import HBGF
    >>> model = HBGF(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Hybrid bipartite graph formulation",
        doi="10.1145/1015330.1015414",
        level="object",
        time="F M",
        memory="N M + F M",
        needs="pymetis",
        family="bipartite graph",
    )

    n_init: int = parameter(positive(), default=10)

    def _solve(self, counts: Counts, *, weights, seed: int) -> partition.RowCut:
        partition.import_metis("HBGF", "ecpcs-mc")  # now, rather than after the work
        mass = cluster_mass(counts, weights)
        mass = np.ones(counts.n_base_clusters) if mass is None else mass
        sizes = counts.fragments().counts
        edges = _memberships(counts) * mass
        graph = sparse.block_array([[None, edges], [edges.T, None]], format="csr")
        weight = np.concatenate([sizes, mass])
        runs = partition.metis_runs(graph, weight, seed, self.n_init)
        return partition.RowCut(_of_rows(runs, len(sizes)), {}, weights)


def _memberships(counts: Counts) -> sparse.csr_array:
    """Return the objects of each distinct row in each base cluster, (F, Nc)."""
    fragments = counts.fragments()
    row, clustering = np.nonzero(fragments.labels >= 0)
    cluster = counts.offsets[clustering] + fragments.labels[row, clustering]
    shape = len(fragments.counts), counts.n_base_clusters
    return sparse.csr_array((fragments.counts[row], (row, cluster)), shape=shape)


def _of_rows(runs: Callable, n_rows: int) -> Callable[[int], list[np.ndarray]]:
    """Return a partitioner of the rows, the first nodes of a partitioned graph."""

    def parts(k: int) -> list[np.ndarray]:
        if k == n_rows:  # nothing is left to choose
            return [np.arange(n_rows)]
        return [found[:n_rows] for found in runs(k)]

    return parts
