"""EAC: evidence accumulation."""

from typing import Any

from ensclust._ensemble.flow import Counts
from ensclust._methods.base import positive
from ensclust._methods.families import Agglomeration, ClusterWeighted, Weighted
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import StrOptions
from ensclust._support.documentation import MethodInfo
from ensclust._trees.coassociation import CoAssociation


class EAC(Weighted, ClusterWeighted, Agglomeration):
    """Evidence accumulation: agglomerate by how often objects share a base cluster.

    The classic baseline, and the one to choose when the number of clusters should come
    from the tree (``n_clusters="lifetime"``). With few base clusterings many
    similarities are tied; :class:`ECPCSHC` distinguishes them.

    Parameters
    ----------
    n_clusters : int, "auto" or "lifetime", default=8
        Number of consensus clusters, at most n_samples; "lifetime" uses the number
        that lasts longest in the dendrogram, "auto" what :func:`ensclust.select_k`
        suggests.
    $parameters

    Attributes
    ----------
    $attributes

    Notes
    -----
    Time F^2 M for F distinct label rows; memory 4 F^2 bytes, or F M where that exceeds
    ``max_memory``. Similarities are integer counts, so ties are exact; they are broken
    by the order of the label rows, and two correct implementations may differ on them.
    The paper uses single or average linkage; cuts give exactly k clusters, by merge
    order. With ``weights`` the similarity is the weighted share of clusterings; with
    ``cluster_weights="eci"`` this is :class:`LWEA`.

    References
    ----------
    A. L. N. Fred, A. K. Jain. Combining Multiple Clusterings Using Evidence
    Accumulation. IEEE Transactions on Pattern Analysis and Machine Intelligence, 2005.
    doi:10.1109/TPAMI.2005.113

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ensclust import EAC
    >>> X, _ = make_blobs(200, centers=3, random_state=0, cluster_std=0.5)
    >>> EAC("lifetime", random_state=0).fit(X).n_clusters_
    3
    """

    info = MethodInfo(
        "Evidence accumulation",
        doi="10.1109/TPAMI.2005.113",
        level="object",
        time="F^2 M",
        memory="min(4 F^2, budget) + N M",
        family="tree",
    )
    _k_words = ("auto", "lifetime")

    n_clusters: Any = parameter(
        positive(), StrOptions({"auto", "lifetime"}), default=8, kw_only=False
    )

    def _coassociation(self, counts: Counts, weights) -> CoAssociation:
        own = self._find_cluster_weights(counts, weights)
        return CoAssociation(counts, weights=weights, cluster_weights=own)

    def _needed_memory(self, counts: Counts) -> int:
        is_weighted = self.weights is not None or self.cluster_weights is not None
        pair_bytes = 28 if is_weighted else 12 if counts.has_missing else 8
        return pair_bytes * counts.n_base_clusters**2

    def _number_of(self, word: str, counts, solution, seed: int) -> tuple:
        if word == "lifetime":
            return solution.dendrogram.lifetime(), {}
        return super()._number_of(word, counts, solution, seed)
