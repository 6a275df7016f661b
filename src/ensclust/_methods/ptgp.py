"""PTGP: probability trajectories and graph partitioning."""

import numpy as np
from scipy import sparse

from ensclust._cuts import microclusters
from ensclust._cuts.partition import RowCut, TransferCut
from ensclust._cuts.short_walks import walking_bytes
from ensclust._ensemble.flow import Counts
from ensclust._methods.base import Method, positive
from ensclust._methods.parameters import parameter
from ensclust._support import parallel
from ensclust._support.documentation import MethodInfo


class PTGP(Method):
    """Random walks between microclusters, then a cut of microclusters and clusters.

    Good if weak links between distant objects are mostly noise: only the closest
    neighbours count, and what two neighbourhoods have in common. One of the slowest
    methods here, though not by much up to about 10^4 distinct label rows.

    Parameters
    ----------
    $parameters
    n_neighbors : int or None, default=None
        Elite neighbours of a microcluster, more in case of ties. None uses the
        published rule for F microclusters, ``min(20, floor(sqrt(F) / 2))`` and at least
        1.
    steps : int or None, default=None
        Length of the random walks. None uses the same rule.
    exact : bool, default=False
        Whether similarities of trajectories are exact to float64 rounding. If False,
        those of 2,000 or more microclusters are computed in float32 from shortened
        walks, several times faster and with estimated errors below 1e-4; the labels are
        the same except for near ties. Fewer microclusters are always exact.

    Attributes
    ----------
    $attributes
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
    neighbours, T nnz(P) F for the norms, F Nc^2 for the cut; memory 48 nnz(P) bytes
    for P and its walks, an F x Nc matrix and 256 (T + 3) F bytes per thread, or Nc^2
    numbers if that is more. nnz(P) is about 20 to 40 F; ensembles of few clusterings
    have more ties, and more of everything.

    With ``exact=False``, and at least 2,000 microclusters, walks are in float32 and end
    after 5 to 8 of 20 steps: from there on, what the leading eigenvectors of P say is
    close enough, which every walk verifies. What that leaves out of PTS is estimated,
    not bounded, to be below 8e-5. Where walks spread too slowly for that, as they do in
    graphs that look like long chains, all steps are walked, with errors of about 1e-6.
    The cut is in float32 too. Memory is about half of that above, more where all steps
    are walked. Ensembles without structure, such as random labels, have no stable cut:
    their labels may differ widely from those of ``exact=True``.

    Deviations from the published code: a microcluster that shares no cluster with
    another is similar only to itself, with 1 (published: to all and itself with
    1e-20); at least one neighbour and step (published: none for F < 4); errors are not
    turned into one big cluster; n_clusters may exceed the number of base clusters.
    Missing labels: the co-association is the mean over the clusterings that contain
    both. If the graph has more than n_clusters connected parts, its leading
    eigenvectors are not unique, and which parts are joined is arbitrary.

    As published, the method is unsuitable for few distinct label rows: two
    microclusters whose only neighbour is the same third one have equal walks, so they
    count as equal however little they share, and the third one, where they meet, is set
    apart. With three rows this is the rule: two large groups and one object between
    them become one cluster and one object. A warning is issued if nearly all objects
    end up in one cluster and the base clusterings do not suggest it.

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
        family="bipartite graph",
        lacks={"weights": "the published random walks treat all clusterings alike"},
    )

    n_neighbors: int | None = parameter(positive(), None, default=None)
    steps: int | None = parameter(positive(), None, default=None)
    exact: bool = parameter("boolean", default=False)

    def _needed_memory(self, counts: Counts) -> int:
        n_rows, width = len(counts.fragments().counts), counts.n_base_clusters
        rule = microclusters.published_size(n_rows)
        n_neighbors, steps = self.n_neighbors or rule, self.steps or rule
        threads = parallel.thread_count(self.n_jobs)
        n_pairs = 3 * n_neighbors * n_rows  # neighbours of both sides, and ties
        if microclusters.is_exact(n_rows, self.exact):
            graph, edges, gram = 48 * n_pairs, 8 * n_rows * width, 8
            walks = 256 * (steps + 3) * n_rows * threads
        else:
            graph, edges, gram = 36 * n_pairs, 4 * n_rows * width, 12
            walks = walking_bytes(n_rows, steps, threads)
        return graph + edges + max(gram * min(n_rows, width) ** 2, walks)

    def _solve(self, counts: Counts, *, weights, seed: int) -> RowCut:
        similarity, fitted = microclusters.trajectory_similarity(
            counts, self.n_neighbors, self.steps, self.n_jobs, exact=self.exact
        )
        edges = similarity.product(_mean_membership(counts), n_jobs=self.n_jobs)
        graph = TransferCut(edges)
        return RowCut(lambda k: [graph.labels(k, random_state=seed)], fitted)


def _mean_membership(counts: Counts) -> sparse.csr_array:
    """Return the (F, Nc) memberships of microclusters; columns sum to 1."""
    labels = counts.fragments().labels
    is_member = labels >= 0
    cluster = (labels + counts.offsets[:-1])[is_member]
    share = 1 / np.bincount(cluster, minlength=counts.n_base_clusters)[cluster]
    begin = np.concatenate([[0], np.cumsum(is_member.sum(axis=1))])
    return sparse.csr_array(
        (share, cluster, begin), shape=(len(labels), counts.n_base_clusters)
    )
