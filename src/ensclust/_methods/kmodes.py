"""K-modes: iterative voting consensus."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from ensclust._cuts.onehot_kmeans import Divergence, Rows, Unweighted
from ensclust._methods.base import positive
from ensclust._methods.families import OneHotMethod, Weighted
from ensclust._methods.parameters import parameter
from ensclust._support.documentation import MethodInfo


class KModes(Weighted, OneHotMethod):
    """K-modes of label rows: each cluster has, in each clustering, its commonest label.

    The simplest vote, also called iterative voting consensus: every centre is a label
    row that can be read, and the objective a number of labels that differ from it. Base
    clusterings should have about as many clusters as you want; if they have many more,
    labels seldom agree and :class:`KCC` or :class:`ECPCSMC` find better clusters.

    Parameters
    ----------
    $parameters
    max_iter : int, default=100
        Maximum number of rounds per start; a start ends earlier if no label changes.

    Attributes
    ----------
    $attributes
    inertia_ : float
        The objective: labels that differ from the mode of the object's cluster, times
        the weight of their clustering, summed.

    Notes
    -----
    Time F M k look-ups per round and start, F the number of distinct label rows, less
    where a row cannot have changed its centre; memory F M labels, 20 F bytes per thread
    and a few Nc x k tables. Modes come from counts, so neither threads nor the order of
    objects change the result. A tie between labels goes to the first in sorted order,
    one between centres to the first, so rounds cannot go back and forth between tied
    choices: a start ends when no label changes. With ``weights``, a label that differs
    adds the weight of its clustering to the distance.

    From given rows (``init``), labels and objective are those of klaR's ``kmodes``
    where that breaks no tie at random. Deviations from Nguyen and Caruana: the best of
    ``n_init`` starts is kept, and a start takes distinct label rows, not a random
    partition. Huang moves modes after every object; here, as in iterative voting, all
    objects move first. As in :class:`KCC`, a clustering that does not contain an object
    is left out of its distance and of the modes; where it contains no member of a
    cluster, a random base cluster, drawn once per start, is the mode; and a random row
    fills an empty cluster.

    References
    ----------
    N. Nguyen, R. Caruana. Consensus Clusterings. IEEE International Conference on Data
    Mining, 2007. doi:10.1109/ICDM.2007.73

    Z. Huang. Extensions to the k-Means Algorithm for Clustering Large Data Sets with
    Categorical Values. Data Mining and Knowledge Discovery 2, 1998.
    doi:10.1023/A:1009769707641

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import KModes
    >>> model = KModes(3, base_k=3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "K-modes of label rows (iterative voting consensus)",
        doi="10.1109/ICDM.2007.73",
        level="object",
        time="F M k per round",
        memory="N M + Nc k",
        family="label rows",
    )
    _tolerance: ClassVar[float] = -np.inf  # until labels stop changing

    max_iter: int = parameter(positive(), default=100)

    def _divergence(self, weights: np.ndarray | None) -> Divergence:
        return Mismatches(weights)


@dataclass(frozen=True)
class Mismatches(Unweighted):
    """The number of labels that differ from a centre's commonest ones.

    The first of equally common ones counts.
    """

    given: np.ndarray | None = None  # weights of the clusterings

    def tables(self, centroids: np.ndarray, rows: Rows) -> tuple:
        """Look up 0 for the mode and 1, or the clustering's weight, for the others."""
        table = np.ones_like(centroids)
        for a, b in pairwise(rows.start):
            if b > a:
                mode = a + centroids[a:b].argmax(axis=0)
                table[mode, np.arange(centroids.shape[1])] = 0
        if self.given is not None:
            table *= self.given[rows.clustering, None]
        return table, np.empty((0, table.shape[1]))
