"""Families of methods: what a method must supply if its solver is known."""

import os
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ensclust._cuts.bipartite import BipartiteGraph, label_edges
from ensclust._cuts.onehot_kmeans import Divergence, OneHotKMeans, check_init
from ensclust._cuts.partition import NormalisedCut
from ensclust._cuts.voting import MetaClusters
from ensclust._ensemble.flow import Counts
from ensclust._ensemble.weights import DERIVED_WEIGHTS
from ensclust._methods.base import Method, missing_hook, positive
from ensclust._methods.parameters import Parameters, parameter
from ensclust._support.constraints import StrOptions
from ensclust._support.validation import check_cluster_weights
from ensclust._trees.coassociation import DEFAULT_MEMORY, CoAssociation
from ensclust._trees.dendrogram import Tree
from ensclust._trees.linkage import LINKAGES, link
from ensclust.similarity import eci
from ensclust.similarity._measures import cluster_mass


class Weighted(Parameters):
    """For the methods in which weights of base clusterings have a meaning."""

    weights: Any = parameter(
        "array-like", StrOptions(set(DERIVED_WEIGHTS)), None, default=None
    )


class ClusterWeighted(Method):
    """For the methods in which weights of single base clusters have a meaning.

    It comes before the family among the bases of a class.
    """

    cluster_weights: Any = parameter(
        "array-like", StrOptions({"eci"}), None, default=None
    )

    def _find_cluster_weights(
        self, counts: Counts, weights: np.ndarray | None
    ) -> np.ndarray | None:
        given = self.cluster_weights
        if isinstance(given, str):
            return eci(counts, weights=weights, n_jobs=self.n_jobs)
        if given is None:
            return None
        return check_cluster_weights(given, counts.n_base_clusters)

    def _mass(self, counts: Counts, weights: np.ndarray | None) -> np.ndarray | None:
        own = self._find_cluster_weights(counts, weights)
        return cluster_mass(counts, weights, own)


class Agglomeration(Method):
    """Link the objects of a co-association.

    A method supplies ``_coassociation(counts, weights)``, a
    :class:`ensclust.CoAssociation`.
    """

    linkage: str = parameter(StrOptions(set(LINKAGES)), default="average")
    max_memory: int = parameter(positive(), default=DEFAULT_MEMORY)
    max_regions: int | None = parameter(positive(), None, default=None)
    checkpoint: Any = parameter(str, os.PathLike, None, default=None)

    def _solve(self, counts, *, weights, seed) -> Tree:
        coassociation = self._coassociation(counts, weights)
        n_regions = self.max_regions
        if n_regions is not None and n_regions >= len(counts.fragments().counts):
            n_regions = None  # the tree is exact
        dendrogram = link(
            coassociation,
            self.linkage,
            max_memory=self.max_memory,
            max_regions=self.max_regions,
            checkpoint=self.checkpoint,
            n_jobs=self.n_jobs,
        )
        fitted = {
            "coassociation_": coassociation,
            "dendrogram_": dendrogram,
            "n_regions_": n_regions,
            "cluster_weights_": coassociation.cluster_weights,
        }
        return Tree(coassociation, dendrogram, fitted)

    def _coassociation(
        self, counts: Counts, weights: np.ndarray | None
    ) -> CoAssociation:
        hook = "_coassociation(counts, weights)"
        raise missing_hook(self, hook, "an ensclust.CoAssociation")


class Sharing(Weighted, Method):
    """For the methods in which base clusters vote for the objects that they hold."""


class MetaClustering(Sharing):
    """Partition the base clusters, then let objects vote.

    A method supplies ``_similarity(counts, weights)``, a matrix of base clusters. These
    are partitioned by normalised cut, unless it also supplies
    ``_partitioner(similarity, counts, weights, seed)``, which returns a function from
    the number of parts to one or more partitions; the one whose labels share most with
    the inputs is kept.
    """

    def _solve(self, counts, *, weights, seed) -> MetaClusters:
        similarity = check_similarity(self._similarity(counts, weights), counts)
        partitions = self._partitioner(similarity, counts, weights, seed)
        own = self._find_cluster_weights(counts, weights)
        fitted = {"cluster_similarity_": similarity, "cluster_weights_": own}
        return MetaClusters(partitions, seed, weights, fitted, self.n_jobs, own)

    def _similarity(self, counts: Counts, weights: np.ndarray | None) -> np.ndarray:
        hook = "_similarity(counts, weights)"
        raise missing_hook(self, hook, "an (Nc, Nc) matrix of base clusters")

    def _partitioner(
        self, similarity: np.ndarray, counts: Counts, weights, seed: int
    ) -> Callable[[int], list[np.ndarray]]:
        mass = self._mass(counts, weights)
        graph = NormalisedCut(similarity, mass=mass, exact=self._is_exact())
        return lambda k: [graph.labels(k, random_state=seed)]

    def _find_cluster_weights(
        self, counts: Counts, weights: np.ndarray | None
    ) -> np.ndarray | None:
        """Return the weights of base clusters in the vote, None if all are equal."""
        return None

    def _mass(self, counts: Counts, weights: np.ndarray | None) -> np.ndarray | None:
        """Return how many nodes each base cluster counts as; None means one."""
        return cluster_mass(counts, weights)

    def _is_exact(self) -> bool:
        """Whether the cut uses LAPACK's eigenvectors for any number of clusters."""
        return False


class BipartiteCut(Weighted, Method):
    """Cut the graph of objects and base clusters.

    A method supplies ``_edges(counts, weights)``, a matrix R of base clusters: an
    object has edges to the base clusters with the weights of its row of H R, the sum of
    the rows of R of its own clusters. An (Nc,) vector stands for a diagonal matrix. An
    object that a clustering leaves out has no edges if R is a vector; if it is a
    matrix, it has those of the average object that the clustering contains. With a
    second matrix, (m, Nc), the graph has m further nodes with these edges. Weights of
    clusterings multiply the rows of R of their clusters.
    """

    _starts: ClassVar[str] = "k-means++"  # or "farthest", see BipartiteGraph
    _pair_bytes = 6 * 8

    def _solve(self, counts, *, weights, seed) -> BipartiteGraph:
        edges = self._edges(counts, weights)
        R, further = edges if isinstance(edges, tuple) else (edges, None)
        mass = cluster_mass(counts, weights)
        fill = np.ndim(R) > 1
        R = check_edges(R, counts)
        if mass is not None:
            R = sparse.csr_array(sparse.diags_array(mass) @ R)
        return BipartiteGraph.of(
            counts,
            label_edges(R, counts, fill=fill),
            further,
            seed=seed,
            starts=self._starts,
            n_jobs=self.n_jobs,
        )

    def _edges(
        self, counts: Counts, weights: np.ndarray | None
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        hook = "_edges(counts, weights)"
        raise missing_hook(self, hook, "an (Nc,) vector or (Nc, Nc) matrix R")


class OneHotMethod(Method):
    """K-means on one-hot rows; a method supplies ``_divergence(weights)``."""

    # Improvement of the objective below which no further round follows.
    _tolerance: ClassVar[float] = 1e-5

    init: Any = parameter(StrOptions({"random"}), "array-like", default="random")
    n_init: int = parameter(positive(), default=10)
    max_iter: int = parameter(positive(), default=40)

    def _solve(self, counts, *, weights, seed) -> OneHotKMeans:
        return OneHotKMeans(
            weights,
            {
                "divergence": self._divergence(weights),
                "init": self._first_rows(counts),
                "n_init": self.n_init,
                "max_iter": self.max_iter,
                "tol": self._tolerance,
                "repair": self._repairs(),
                "seed": seed,
                "n_jobs": self.n_jobs,
            },
        )

    def _first_rows(self, counts: Any) -> Any:
        """Return ``init``, with objects numbered among those that are clustered."""
        if isinstance(self.init, str) or not counts.in_memory or counts.places is None:
            return self.init
        place = counts.places
        k = np.shape(self.init)[-1] if np.ndim(self.init) else 0
        rows: Any = check_init(self.init, k, len(place))
        if (place[rows] < 0).any():
            lost = rows[place[rows] < 0][0]
            msg = (
                f"init contains {lost}, an object that no base clustering contains. "
                "Start from objects with labels."
            )
            raise ValueError(msg)
        return place[rows]

    def _check_stream(self, ks: list) -> None:
        super()._check_stream(ks)
        if not isinstance(self.init, str):
            msg = (
                "init numbers objects, which a stream cannot look up. Use "
                'init="random", or pass the labels as an array.'
            )
            raise ValueError(msg)

    def _check_weighted(self, ks: list) -> None:
        super()._check_weighted(ks)
        if not isinstance(self.init, str):
            msg = (
                "sample_weight and an init of objects cannot be combined. Use "
                'init="random".'
            )
            raise ValueError(msg)

    def _repairs(self) -> bool:
        """Whether a random row becomes the centroid of an empty cluster."""
        return True

    def _divergence(self, weights: np.ndarray | None) -> Divergence:
        hook = "_divergence(weights)"
        raise missing_hook(self, hook, "a divergence: weights, tables, constant")


def check_similarity(similarity: Any, counts: Counts) -> np.ndarray:
    """Return a matrix with a row and a column per base cluster, or raise."""
    similarity = np.asarray(similarity)
    if similarity.shape != (counts.n_base_clusters,) * 2:
        msg = (
            f"similarity has shape {similarity.shape}; these label rows have "
            f"{counts.n_base_clusters} base clusters. Pass one row and column per base "
            "cluster."
        )
        raise ValueError(msg)
    return similarity


def check_edges(R: Any, counts: Counts) -> sparse.csr_array:
    """Return a matrix of edges with a row and a column per base cluster, or raise."""
    n = counts.n_base_clusters
    if not sparse.issparse(R):
        R = np.asarray(R, np.float64)
    if R.shape not in {(n,), (n, n)}:
        msg = (
            f"edges have shape {R.shape}; these label rows have {n} base clusters. "
            f"Pass a vector of shape ({n},) or a matrix of shape ({n}, {n})."
        )
        raise ValueError(msg)
    edges = sparse.csr_array(sparse.diags_array(R) if R.ndim == 1 else R)
    if not (np.isfinite(edges.data).all() and edges.data.min(initial=0) >= 0):
        msg = "edges contain a negative or infinite number. Use finite weights >= 0."
        raise ValueError(msg)
    if not edges.sum() > 0:
        msg = "no edge has a weight above 0. Connect each base cluster to itself."
        raise ValueError(msg)
    return edges
