"""ECC: entropy-based consensus clustering."""

import numpy as np

from ensclust._cuts.onehot_kmeans import Divergence
from ensclust._methods.families import OneHotMethod, Weighted
from ensclust._methods.kcc import Utility
from ensclust._support.documentation import MethodInfo


class ECC(Weighted, OneHotMethod):
    """Entropy-based consensus: clusters in which the base clusterings agree.

    The entropy utility of :class:`KCC` under its own name, with no parameter to choose;
    made for few objects with many features and for missing labels, and linear in the
    number of objects. :class:`KCC` by default also weights the base clusterings.

    Parameters
    ----------
    $parameters

    Attributes
    ----------
    $attributes
    inertia_ : float
        The objective, in bits: entropy of the base labels inside a cluster times its
        number of objects, summed over clusters and base clusterings.

    Notes
    -----
    Time F M k look-ups per round and start, F the number of distinct label rows, less
    where a row cannot have changed its centre; memory F M labels, 20 F bytes per thread
    and a few Nc x k tables. The result equals ``KCC(utility="u_h")``; the notes there
    on ties, starts, empty clusters, missing labels and deviations from the published
    code apply here too. ``weights`` multiply each base clustering's distances.

    Ten starts of 40 rounds and a minimum improvement of 1e-5 are those of the published
    demo; the README of that package has 20 starts of 50 rounds. The demo makes 100 base
    clusterings; pass ``n_clusterings=100`` for that. The published function seeds its
    generator with 0 on each call; here ``random_state`` does.

    References
    ----------
    H. Liu, R. Zhao, H. Fang, F. Cheng, Y. Fu, Y.-Y. Liu. Entropy-based consensus
    clustering for patient stratification. Bioinformatics 33(17), 2017.
    doi:10.1093/bioinformatics/btx167

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import ECC
    >>> model = ECC(3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.n_clusters_
    ((150,), 3)
    """

    info = MethodInfo(
        "Entropy-based consensus clustering",
        doi="10.1093/bioinformatics/btx167",
        level="object",
        time="F M k per round",
        memory="N M + Nc k",
        family="label rows",
    )

    def _divergence(self, weights: np.ndarray | None) -> Divergence:
        return Utility("u_h", given=weights)
