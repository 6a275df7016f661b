"""CustomConsensus: a similarity of base clusters and a solver, chosen by parameter."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ensclust import similarity
from ensclust._cuts.partition import RowCut, TransferCut
from ensclust._ensemble.flow import Counts
from ensclust._methods.families import MetaClustering, check_similarity
from ensclust._methods.mcla import metis_partitioner
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import StrOptions
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import CoAssociation
from ensclust._trees.dendrogram import Tree
from ensclust._trees.known_rows import sum_table
from ensclust._trees.linkage import link

SIMILARITIES: dict[str, Callable] = {
    "identity": lambda counts: np.eye(counts.n_base_clusters),
    "jaccard": similarity.jaccard,
    "propagated": lambda counts: similarity.propagate(similarity.jaccard(counts)),
    "connected-triples": lambda counts: similarity.connected_triples(
        similarity.jaccard(counts), counts.cluster_counts
    ),
}
SOLVERS = ("tree", "ncut", "metis", "transfer-cut")


class CustomConsensus(MetaClustering):
    """Try a similarity of base clusters with any solver, in one line.

    Choose it for research: every method here is a similarity and a solver, and this
    class takes both as parameters. For a method with its own parameters, write a class;
    see the page "Write a method".

    Parameters
    ----------
    $parameters
    similarity : str, callable or array-like of shape (Nc, Nc), default="propagated"
        Symmetric, non-negative similarity of the base clusters: "identity", "jaccard",
        "propagated" or "connected-triples"; a function of the Counts of the label rows
        (an :class:`ensclust.Ensemble`, or the counts of a stream) that returns such a
        matrix; or the matrix itself, for precomputed labels.
    solver : {"tree", "ncut", "metis", "transfer-cut"}, default="tree"
        "tree" links the objects by the mean similarity of their clusters. "ncut" and
        "metis" partition the base clusters, and objects vote. "transfer-cut" cuts the
        bipartite graph of distinct label rows and base clusters, in which the edge of a
        row sums the similarities of its clusters.

    Attributes
    ----------
    $attributes
    cluster_similarity_ : ndarray of shape (Nc, Nc)
        The similarity that was used.
    dendrogram_ : Dendrogram
        The tree of ``solver="tree"``.
    meta_labels_ : ndarray of shape (Nc,)
        Consensus cluster of each base cluster, if objects vote.

    Notes
    -----
    Time and memory are those of the similarity and of the solver: F^2 M for the tree of
    F distinct label rows, Nc^3 for the normalised cut, F Nc^2 for the transfer cut.
    ``weights`` count in the mean of a tree and in the cut and vote of base clusters; a
    transfer cut ignores them.

    Examples
    --------
    >>> import numpy as np
    >>> import ensclust
    >>> def overlap(counts):
    ...     shared = counts.intersections()
    ...     return shared / np.minimum.outer(counts.sizes, counts.sizes)
    >>> runs = [[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 0]]
    >>> method = ensclust.CustomConsensus(similarity=overlap, solver="ncut")
    >>> ensclust.consensus(runs, 2, method, random_state=0)
    array([0, 0, 1, 1, 1], dtype=int32)
    """

    info = MethodInfo(
        "A similarity and a solver of your own",
        doi="",
        level="either",
        time="that of both",
        memory="that of both",
    )
    _pair_bytes = 4 * 8

    similarity: Any = parameter(
        StrOptions(set(SIMILARITIES)), callable, "array-like", default="propagated"
    )
    solver: str = parameter(StrOptions(set(SOLVERS)), default="tree")

    def _solve(self, counts, *, weights, seed):
        if self.solver in ("ncut", "metis"):
            return super()._solve(counts, weights=weights, seed=seed)
        S = check_similarity(self._similarity(counts, weights), counts)
        fitted = {"cluster_similarity_": S}
        if self.solver == "transfer-cut":
            edges = sum_table(counts.fragments().labels, counts.offsets, S)
            graph = TransferCut(edges)
            return RowCut(lambda k: [graph.labels(k, random_state=seed)], fitted)
        coassociation = CoAssociation(counts, S, weights=weights)
        dendrogram = link(coassociation, n_jobs=self.n_jobs)
        return Tree(coassociation, dendrogram, fitted | {"dendrogram_": dendrogram})

    def _similarity(self, counts: Counts, weights) -> np.ndarray:
        own = self.similarity
        given = SIMILARITIES[own] if isinstance(own, str) else own
        return given(counts) if callable(given) else given

    def _partitioner(self, similarity, counts, weights, seed: int) -> Callable:
        if self.solver == "metis":
            mass = self._mass(counts, weights)
            return metis_partitioner(similarity, counts, mass, seed)
        return super()._partitioner(similarity, counts, weights, seed)
