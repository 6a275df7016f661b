"""USENC: the consensus function of ultra-scalable ensemble clustering."""

import numpy as np

from ensclust._ensemble.flow import Counts
from ensclust._methods.families import BipartiteCut
from ensclust._support.documentation import MethodInfo


class USENC(BipartiteCut):
    """Cut the graph of objects and base clusters by its eigenvectors.

    The simplest of the spectral cuts, and fast for any number of objects: good if most
    base clusterings are good, and a baseline for :class:`LWGP`, :class:`ECPCSBG` and
    :class:`LCEBG`, which differ only in the weights of the edges. It is also the
    spectral form of HBGF.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    $attributes
    $eigenvalues_

    Notes
    -----
    An object is joined to its M base clusters by edges of weight 1. Objects become
    points in the space of the graph's k leading eigenvectors, scaled to unit length,
    and k-means clusters these. A missing label means one edge fewer.

    $cut

    This is the consensus function of U-SENC; its base clusterings, by U-SPEC, are not
    part of it.

    References
    ----------
    D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai, C.-K. Kwoh. Ultra-Scalable Spectral
    Clustering and Ensemble Clustering. IEEE Transactions on Knowledge and Data
    Engineering 32(6), 2020. doi:10.1109/TKDE.2019.2903410

    X. Z. Fern, C. E. Brodley. Solving Cluster Ensemble Problems by Bipartite Graph
    Partitioning. ICML 2004. doi:10.1145/1015330.1015414

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import USENC
    >>> model = USENC(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Spectral cut of objects and base clusters",
        doi="10.1109/TKDE.2019.2903410",
        level="object",
        time="N M^2 + Nc^3 + N k^2",
        memory="N M + Nc^2",
        family="bipartite graph",
        is_soft=True,
    )
    _pair_bytes = 4 * 8

    def _edges(self, counts: Counts, weights) -> np.ndarray:
        return np.ones(counts.n_base_clusters)
