"""What is said of every method in the same words, and what tables of methods show."""

from __future__ import annotations

from dataclasses import dataclass

# One wording for the parameters that every method shares; see document().
SHARED_PARAMETERS = {
    "n_clusters": """n_clusters : int or "auto", default=8
        Number of consensus clusters, at most n_samples. Where the method cannot form
        so many, it warns and returns fewer. "auto" takes what
        :func:`ensclust.select_k` suggests for the base clusterings; the attribute
        ``selection_`` then shows why.""",
    "n_clusterings": """n_clusterings : int, default=20
        Number of base clusterings to generate; ignored with precomputed labels.""",
    "base_k": """base_k : int, (lo, hi), list of ints or None, default=None
        Clusters per base clustering, see :func:`ensclust.generate`. None draws each
        from n_clusters to ``floor(min(sqrt(n_samples), 100))``, as the paper does.""",
    "weights": """weights : array-like of shape (M,), "agreement" or None, default=None
        How much each base clustering counts: at least 0, where 0 leaves it out. Only
        ratios matter. "agreement" derives them, see
        :func:`ensclust.agreement_weights`; None is all alike.""",
    "base": """base : "kmeans", "precomputed", clusterer or list of them
        What makes the base clusterings from X; with "precomputed", X is the label
        matrix (n_samples, n_clusterings) itself.""",
    "noise": """noise : "missing" or "own-cluster", default="missing"
        What a negative label means, in precomputed labels or from a base clusterer such
        as HDBSCAN: that the object is left out of that clustering, or that it is in one
        more cluster, that of its noise. NaN and None always mean left out.""",
    "random_state": """random_state : int, RandomState instance or None, default=None
        Decides the result. The same value gives the same labels for any n_jobs.""",
    "n_jobs": """n_jobs : int or None, default=None
        Number of threads; None is one per core. Never changes the result.""",
    "max_memory": """max_memory : int, default=2**31
        Bytes that a similarity matrix may take. Above it, average linkage works in
        label space without a matrix.""",
    "max_regions": """max_regions : int or None, default=None
        None is exact. A number makes the tree approximate where there are more distinct
        label rows: those nearest to each other, looked for among the rows that share
        most clusters, are merged until so many regions are left, and these are linked
        exactly. For 10^6 objects take 20000; docs/large-trees.md shows how close it
        comes. With linkage="average" only.""",
    "checkpoint": """checkpoint : path or None, default=None
        Directory in which linkage in label space keeps its merges, to go on from when
        the same fit is started again after a stop; deleted in the end. Linkage in a
        matrix, or with max_regions, takes minutes and keeps nothing.""",
    "linkage": """linkage : "average", "single" or "complete", default="average"
        Similarity of two groups: mean, largest or smallest of their pairs.""",
    "labels_": """labels_ : ndarray of shape (n_samples,)
        Consensus clusters 0, 1, ... by first appearance; -1 for an object that no
        base clustering contains.""",
    "ensemble_": """ensemble_ : Ensemble
        The base clusterings.""",
    "coassociation_": """coassociation_ : CoAssociation
        The similarity of the training objects that was linked.""",
    "n_regions_": """n_regions_ : int or None
        Regions that an approximate tree was linked from, see ``max_regions``; None if
        the tree is exact.""",
    "weights_": """weights_ : ndarray of shape (M,) or None
        The weights that were used. What is said of base clusters and objects leaves
        out the clusterings of weight 0.""",
    "n_clusters_": """n_clusters_ : int
        Number of consensus clusters found.""",
    "n_features_in_": """n_features_in_ : int
        Number of columns of X.""",
}


@dataclass(frozen=True)
class MethodInfo:
    """What the tables of methods show."""

    title: str
    doi: str
    level: str
    time: str
    memory: str


def document(cls):
    """Fill ``$name`` in a docstring with the shared wording of that parameter."""
    for name in sorted(SHARED_PARAMETERS, key=len, reverse=True):
        cls.__doc__ = cls.__doc__.replace(f"${name}\n", SHARED_PARAMETERS[name] + "\n")
    return cls
