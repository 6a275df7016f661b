"""PTA: probability trajectories and agglomeration."""

from ensclust._cuts import microclusters
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import Method, positive
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import StrOptions
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import (
    DEFAULT_MEMORY,
    CoAssociation,
    require_matrix,
)
from ensclust._trees.dendrogram import Tree
from ensclust._trees.linkage import FULL, LINKAGES, link_matrix


class PTA(Method):
    """Random walks between microclusters, then agglomeration of the microclusters.

    The tree of :class:`PTGP`: choose it if weak links between distant objects are
    mostly noise and you want several numbers of clusters. It needs a matrix of the
    distinct label rows; :class:`ECPCSHC` gives a tree without one.

    Parameters
    ----------
    $parameters
    linkage : "average", "single" or "complete", default="average"
        Similarity of two groups: mean, largest or smallest of their pairs of
        microclusters.
    max_memory : int, default=2**31
        Bytes that the matrix of microclusters may take; MemoryError above it.
    n_neighbors : int or None, default=None
        Elite neighbours of a microcluster, more in case of ties. None uses the
        published rule for F microclusters, ``min(20, floor(sqrt(F) / 2))`` and at least
        1.
    steps : int or None, default=None
        Length of the random walks. None uses the same rule.

    Attributes
    ----------
    $labels_
    $ensemble_
    $assignment_
    $n_clusters_
    $n_features_in_
    $dendrogram_
    n_neighbors_, steps_ : int
        The numbers of neighbours and steps that were used.

    Notes
    -----
    A microcluster is a set of objects with equal label rows; there are F of them. They
    walk to their elite neighbours in the co-association, and the cosine similarity of
    the trajectories (PTS) is linked. Walks prefer large microclusters, but in the
    linkage each counts once, whatever its number of objects, as in the published code.

    Time F^2 M for the neighbours, 3 T nnz(P) F for the similarities, F^2 for the
    linkage; memory 4 F^2 bytes and 12 nnz(P) for the walks, with nnz(P) about 20 to 40
    F. Similarities are 31-bit fixed point, so values that differ by rounding are tied.

    Deviations from the published code: a microcluster that shares no cluster with
    another is similar only to itself; at least one neighbour and step (published: none
    for F < 4); cuts give exactly k clusters, by merge order, even if many merges have
    similarity 0, whose order is arbitrary. Missing labels: the mean over the
    clusterings that contain both. What :class:`PTGP` says about few distinct label rows
    applies here too.

    References
    ----------
    D. Huang, J.-H. Lai, C.-D. Wang. Robust Ensemble Clustering Using Probability
    Trajectories. IEEE Transactions on Knowledge and Data Engineering, 2016.
    doi:10.1109/TKDE.2015.2503753

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import PTA
    >>> model = PTA(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Probability trajectories, agglomerative",
        doi="10.1109/TKDE.2015.2503753",
        level="object",
        time="F^2 M + T nnz(P) F",
        memory="N M + 4 F^2 + nnz(P)",
        family="tree",
        lacks={"weights": "the published random walks treat all clusterings alike"},
    )

    linkage: str = parameter(StrOptions(set(LINKAGES)), default="average")
    max_memory: int = parameter(positive(), default=DEFAULT_MEMORY)
    n_neighbors: int | None = parameter(positive(), None, default=None)
    steps: int | None = parameter(positive(), None, default=None)

    def _solve(self, counts: Counts, *, weights, seed: int) -> Tree:
        fragments = counts.fragments()
        n_rows = len(fragments.counts)
        require_matrix("PTA", n_rows, 4 * n_rows**2, self.max_memory)
        similarity, used = microclusters.trajectory_similarity(
            counts, self.n_neighbors, self.steps, self.n_jobs
        )
        square = similarity.fixed_point(1 / FULL, n_jobs=self.n_jobs)
        dendrogram = link_matrix(
            square, self.linkage, fragments.inverse, n_jobs=self.n_jobs
        )
        fitted = {"dendrogram_": dendrogram, **used}
        return Tree(CoAssociation(counts), dendrogram, fitted)
