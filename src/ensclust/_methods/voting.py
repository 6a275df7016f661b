"""Voting: clusterings matched to their mean."""

from ensclust._cuts.matching import Matching, Overlaps
from ensclust._methods.base import positive
from ensclust._methods.families import Sharing
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import StrOptions
from ensclust._support.documentation import MethodInfo


class Voting(Sharing):
    """Voting: match the clusters of every clustering, and take the mean.

    The simplest consensus, and the one that R users know: what clue's ``cl_consensus``
    calls SE (soft) and HE (hard), and the packages cola and scCCESS use by default. Its
    :meth:`memberships` are the shares of the votes of an object. Choose it if base
    clusterings have about ``n_clusters`` clusters each, or to compare with such work;
    if they have more, :class:`CVote` and :class:`ECPCSMC` are closer to the truth.

    Parameters
    ----------
    $parameters
    hard : bool, default=False
        Whether the consensus that clusterings are matched to has each object in one
        cluster (HE) instead of shares of it in several (SE).
    unmatched : "nearest" or "spread", default="nearest"
        What a cluster without a match counts for, in a clustering of more than
        ``n_clusters`` clusters: the consensus cluster that it overlaps most, or all of
        them equally, as in clue.
    n_init : int, default=20
        Number of random starts; the one with the smallest distance is kept.
    max_iter : int, default=100
        Maximum number of rounds per start; a start ends earlier if the distance stops
        falling.

    Attributes
    ----------
    $attributes
    inertia_ : float
        The mean over the base clusterings of their squared distances to the consensus.

    Notes
    -----
    Time N M^2 / 2 for counting, then Nc^2 k and M assignment problems of at most
    k_m x k numbers per round and start, and N M k for the labels; with ``hard`` also
    N M k per round of the best start. Memory N M bytes, about two Nc x Nc matrices
    and a few Nc x k tables.

    With H_m, (N, k_m), the clusters of clustering m, and P_m, (k_m, k), the consensus
    clusters that they count for, the consensus is the mean of all H_m P_m, and with
    ``hard`` the largest entry of each row of it. Matching and averaging take turns
    until the distance does not fall. Matching needs the overlaps H_m' U only, which
    follow from the objects that base clusters share, so nothing of size N x k is needed
    before labels are made.

    The distance does not penalise large clusters: if base clusterings have many more
    clusters than ``n_clusters`` and are noisy, the smallest distance may belong to a
    consensus with most objects in one cluster. Look at the sizes, and compare with
    ``unmatched="spread"`` or :class:`ECPCSMC`.

    A clustering of at most k clusters is matched one to one. In a larger one, each
    consensus cluster gets one cluster or more, and with "nearest" the overlaps are as
    large as that allows. With "spread" the k clusters of largest overlap are matched,
    the distance counts an unmatched cluster as a separate column, and each of its
    objects gives 1 / k to every consensus cluster: this is clue, whose values are
    reproduced from the same starts. Deviations from clue: starts are not random
    memberships of objects, which a stream could not look up, but k random base
    clusters; ``hard`` continues from the best soft consensus; ties between largest
    shares go to the first, where clue draws one. A consensus cluster that wins no
    object is left out, even of the memberships. The mean of an object is over the
    clusterings that contain it. ``weights`` make means and distances weighted.

    References
    ----------
    E. Dimitriadou, A. Weingessel, K. Hornik. A Combination Scheme for Fuzzy Clustering.
    International Journal of Pattern Recognition and Artificial Intelligence 16(7),
    2002. doi:10.1142/S0218001402002052

    K. Hornik. A CLUE for CLUster Ensembles. Journal of Statistical Software 14(12),
    2005. doi:10.18637/jss.v014.i12

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import Voting
    >>> X = load_iris().data
    >>> model = Voting(3, base_k=3, random_state=0).fit(X)
    >>> model.memberships().shape, model.n_clusters_
    ((150, 3), 3)
    """

    info = MethodInfo(
        "Voting after matching of clusters",
        doi="10.18637/jss.v014.i12",
        level="cluster",
        time="N M^2 + Nc^2 k per round",
        memory="N M + Nc^2",
        family="label rows",
        is_soft=True,
    )
    _pair_bytes = 2 * 8

    hard: bool = parameter("boolean", default=False)
    unmatched: str = parameter(StrOptions({"nearest", "spread"}), default="nearest")
    n_init: int = parameter(positive(), default=20)
    max_iter: int = parameter(positive(), default=100)

    def _solve(self, counts, *, weights, seed) -> Matching:
        overlaps = Overlaps.of(counts, weights, self.unmatched, n_jobs=self.n_jobs)
        return Matching(
            overlaps, self.hard, self.n_init, self.max_iter, seed, self.n_jobs
        )
