"""CVote: adaptive cumulative voting."""

from ensclust._cuts.cumulation import MergedColumns, cumulate, merge_columns
from ensclust._methods.families import Sharing
from ensclust._support.documentation import MethodInfo


class CVote(Sharing):
    """Adaptive cumulative voting: map all clusterings onto one of them, then merge.

    A vote for base clusterings with many clusters, whose numbers may differ. Its
    :meth:`memberships` are probabilities; nothing is drawn at random, and one fit
    serves every number of clusters. Choose it for soft labels, or if base
    clusterings have many more clusters than you want, which :class:`Voting` handles
    poorly.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    $attributes

    Notes
    -----
    Time N M^2 / 2 for counting, then F M k0^2 / 2 sums and F k0^2 logarithms for F
    distinct label rows and k0 clusters of the reference, whatever ``n_clusters`` is;
    memory N M bytes, F M labels, about two Nc x Nc matrices and a few Nc x k0 tables.
    If the distinct rows of a stream exceed 2 GiB, each of k0 merges is a pass over it.

    The clustering of largest entropy is the reference; its k0 clusters are the columns
    of U, the memberships. In the order of entropy, each other clustering m is mapped by
    W_m, (k_m, k0): the mean rows of U in its clusters; and U becomes the mean of all
    H_q W_q so far. Since U is made of them, W_m follows from the objects that base
    clusters share. Then two columns are merged at a time, those that lose the least
    information about the objects, (p_a + p_b) times the Jensen-Shannon divergence of
    p(x|a) and p(x|b), until ``n_clusters`` are left; ties go to the first. If k0 <
    ``n_clusters``, k0 clusters are returned.

    The paper (Ada-cVote, with the merges of the agglomerative information bottleneck)
    leaves some points open, which are settled here: among clusterings of equal entropy,
    the one with more clusters comes first, then the one that was given first; with
    missing labels, overlaps are pooled, so that an object counts once for each earlier
    clustering that contains it, and a cluster that shares no object with earlier ones
    is mapped like these are on average. A column that wins no object is left out, even
    of the memberships, so there may be fewer than ``n_clusters`` clusters even if k0 is
    larger. ``weights`` make the means weighted, and multiply the entropies that decide
    in which order clusterings are added. No code by the authors is known.

    References
    ----------
    H. G. Ayad, M. S. Kamel. Cumulative Voting Consensus Method for Partitions with
    Variable Number of Clusters. IEEE Transactions on Pattern Analysis and Machine
    Intelligence 30(1), 2008. doi:10.1109/TPAMI.2007.1138

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import CVote
    >>> X = load_iris().data
    >>> model = CVote(3, random_state=0).fit(X)
    >>> bool((model.memberships().argmax(axis=1) == model.labels_).all())
    True
    """

    info = MethodInfo(
        "Adaptive cumulative voting",
        doi="10.1109/TPAMI.2007.1138",
        level="cluster",
        time="N M^2 + F M k0^2",
        memory="N M + Nc^2",
        family="label rows",
        is_soft=True,
    )
    _pair_bytes = 2 * 8

    def _solve(self, counts, *, weights, seed) -> MergedColumns:
        table = cumulate(counts, weights, n_jobs=self.n_jobs)
        return MergedColumns(table, merge_columns(counts, table, n_jobs=self.n_jobs))
