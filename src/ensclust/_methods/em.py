"""EM: a mixture of classes of label rows."""

from numbers import Real
from typing import Any

from ensclust._cuts.mixture import Mixtures
from ensclust._methods.base import Method, positive
from ensclust._methods.families import Weighted
from ensclust._methods.parameters import parameter
from ensclust._support.constraints import Interval, StrOptions
from ensclust._support.documentation import MethodInfo


class EM(Weighted, Method):
    """A mixture model of label rows, which gives probabilities of the clusters.

    Choose it for memberships that are probabilities under a model, for a likelihood by
    which results can be compared, or to let the Bayesian information criterion choose
    the number of clusters (``n_clusters="bic"``). It is latent class analysis of the
    labels. Linear in the number of objects.

    Parameters
    ----------
    n_clusters : int, "auto" or "bic", default=8
        Number of consensus clusters, at most n_samples. If the method cannot form that
        many, it warns and returns fewer. "bic" uses the number with the smallest
        ``bic_``, from 1 up to the number of clusters of the finest base clustering,
        until three in a row are no better; for many clusterings of the same data that
        is usually too many, see Notes. "auto" uses what :func:`ensclust.select_k`
        suggests.
    $parameters
    n_init : int, default=10
        Number of random starts; the likeliest result is kept.
    max_iter : int, default=200
        Maximum number of rounds per start; a start ends earlier if the log-likelihood
        stops growing.
    smoothing : float, default=0
        Number of objects added to every label of every class. Above 0, no label is
        impossible in any class.

    Attributes
    ----------
    $attributes
    log_likelihood_ : float
        Natural logarithm of the probability of all label rows.
    bic_ : float
        Bayesian information criterion, smaller is better: the number of free parameters
        times the logarithm of the number of objects, minus twice the log-likelihood.

    Notes
    -----
    The probability of a label row is the sum over classes of the class's share times
    the probabilities of its labels there, one for each base clustering; a missing label
    is a factor of 1. :meth:`memberships` are the probabilities of the classes given the
    row, labels are the likeliest class, the first of equally likely ones.

    The model assumes that base clusterings are independent given the class. Clusterings
    of the same data are not: they split a class in the same places, so "bic" tends to
    find more classes than there are. Compare with "auto".

    Time F M k and F k exponentials per round and start, F the number of distinct label
    rows; memory F M labels and a few Nc x k tables per start. A start takes one thread,
    which adds up its rows in their lexicographic order, so neither threads nor the
    order of objects change the result. For a stream whose distinct rows exceed the
    memory budget, starts are drawn differently and responsibilities are rounded so
    that their sums are exact, and results may differ from those in memory.

    A start takes distinct label rows, each with a chance proportional to its number of
    objects, one for each class: its labels get a probability of 0.1, and the shares of
    all objects 0.9. That finds likelier mixtures than starting from random
    probabilities, as poLCA does. A start ends when a round makes the log-likelihood
    grow by no more than a millionth of it (poLCA: 1e-10 in all); the mixture whose
    likelihood was computed last is kept. From the same probabilities, rounds are those
    of poLCA.

    Without ``smoothing`` a label that no member of a class has is impossible there. A
    new row that is impossible in every class goes to the classes in which the fewest of
    its labels are impossible, according to its other labels. A class that is the
    likeliest one for no object is left out of the memberships. Where no member of a
    class is in a base clustering, the class has the shares of all objects there.
    ``weights``, scaled to a mean of 1, are exponents of each base clustering's
    probabilities; the likelihood is then not that of a proper distribution, and is
    useful only for comparing results with the same weights.

    References
    ----------
    A. Topchy, A. K. Jain, W. Punch. Clustering Ensembles: Models of Consensus and Weak
    Partitions. IEEE Transactions on Pattern Analysis and Machine Intelligence 27(12),
    2005. doi:10.1109/TPAMI.2005.237

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ensclust import EM
    >>> X, _ = make_blobs(300, centers=3, random_state=0, cluster_std=0.6)
    >>> model = EM(3, random_state=0).fit(X)
    >>> model.memberships().shape, model.n_clusters_
    ((300, 3), 3)
    """

    info = MethodInfo(
        "Mixture model of label rows",
        doi="10.1109/TPAMI.2005.237",
        level="object",
        time="F M k per round",
        memory="N M + Nc k",
        family="label rows",
        is_soft=True,
    )
    _k_words = ("auto", "bic")

    n_clusters: Any = parameter(
        positive(), StrOptions({"auto", "bic"}), default=8, kw_only=False
    )
    n_init: int = parameter(positive(), default=10)
    max_iter: int = parameter(positive(), default=200)
    smoothing: float = parameter(Interval(Real, 0, None, closed="left"), default=0)

    def _solve(self, counts, *, weights, seed) -> Mixtures:
        return Mixtures(
            {
                "n_init": self.n_init,
                "max_iter": self.max_iter,
                "smoothing": self.smoothing,
                "weights": weights,
                "seed": seed,
                "n_jobs": self.n_jobs,
            }
        )

    def _number_of(self, word: str, counts, solution, seed: int) -> tuple:
        if word == "bic":
            return solution.least_bic(counts), {}
        return super()._number_of(word, counts, solution, seed)
