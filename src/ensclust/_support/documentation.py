"""What is said of every method in the same words, and what tables of methods show."""

import re
from dataclasses import dataclass, field

# One wording for the parameters and attributes that methods share; see document().
SHARED_WORDING = {
    "n_clusters": """n_clusters : int or "auto", default=8
        Number of consensus clusters, at most n_samples. Where the method cannot form
        so many, it warns and returns fewer. "auto" takes what
        :func:`ensclust.select_k` suggests for the base clusterings; the attribute
        ``selection_`` then shows why.""",
    "n_clusterings": """n_clusterings : int, default=20
        Number of base clusterings to generate; ignored with precomputed labels.""",
    "base_k": """base_k : int, (lo, hi), list of ints or None, default=None
        Clusters per base clustering, see :func:`ensclust.generate`. None draws each
        from n_clusters to ``floor(min(sqrt(n_samples), 100))``, as the paper does; from
        2 where n_clusters is no number (the page "Evidence" says why).""",
    "weights": """weights : array-like of shape (M,), "agreement", "size" or None
        How much each base clustering counts: at least 0, where 0 leaves it out. Only
        ratios matter. "agreement" derives them from how far the others confirm a
        clustering, see :func:`ensclust.agreement_weights`, "size" from how finely it
        divides the objects, see :func:`ensclust.size_weights`; None, the default, is
        all alike (the page "Evidence" says why).""",
    "cluster_weights": """cluster_weights : array-like of shape (Nc,), "eci" or None
        How much each base cluster counts, above 0 and up to 1, those of each clustering
        in the order of their labels. "eci" weighs a cluster by how far the other
        clusterings keep it together, see :func:`ensclust.similarity.eci`; None, the
        default, is all alike.""",
    "base": """base : "kmeans", "spectral", "precomputed", clusterer or list of them
        What makes the base clusterings from X, see :func:`ensclust.generate`; a list is
        used in turn. With "precomputed", X is the label matrix (n_samples,
        n_clusterings) itself.""",
    "scale": """scale : None, "auto", "standard" or "robust", default=None
        Scaling of features before they are clustered, see :func:`ensclust.generate`;
        ignored with precomputed labels.""",
    "effort": """effort : "auto", "full" or int, default="auto"
        How far k-means is taken above 20,000 objects: passes over all of them at most,
        see :func:`ensclust.generate`; ignored without base="kmeans".""",
    "noise": """noise : "missing" or "own-cluster", default="missing"
        What a negative label means, in precomputed labels or from a base clusterer such
        as HDBSCAN: that the object is left out of that clustering, or that it is in one
        more cluster, that of its noise. NaN and None always mean left out.""",
    "min_certainty": """min_certainty : float or None, default=None
        Least share, from 0 to 1, that an object has in its cluster, see
        ``memberships``: where it is smaller, the label is -1. Clusters and their
        numbers stay as they are.""",
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
    "exact": """exact : bool, default=False
        Whether similarities by random walks are exact to rounding of float64. If not,
        those of 700 base clusters and more are found in float32, several times as
        fast, with errors below 1e-5, see :func:`ensclust.similarity.propagate`; labels
        are the same but for ties. False is exact for fewer base clusters.""",
    "linkage": """linkage : "average", "single" or "complete", default="average"
        Similarity of two groups: mean, largest or smallest of their pairs.""",
    "init": """init : "random" or array-like of shape (k,) or (n_starts, k)
        The objects whose label rows are the first centroids; given ones replace
        ``n_init``. "random", the default, draws distinct rows, each with a chance
        proportional to its number of objects.""",
    "n_init": """n_init : int, default=10
        Random starts; the least objective is kept.""",
    "max_iter": """max_iter : int, default=40
        Rounds per start.""",
    "cut": """Time N M^2 / 2 for counting, Nc^3 for the eigenvectors, once for all k,
    then N k (M + k) per pass of k-means; memory N M bytes, some five Nc x Nc matrices
    and a block of points. K-means is run to convergence from three starts, on at most
    20,000 objects drawn at random, and the best run is kept; where there are more
    objects, at most ten passes over all of them move its centres on. Sums are in fixed
    point, so labels do not depend on blocks or threads; above 20,000 objects they
    depend on the order of the objects, which decides the sample. Deviations from the
    published transfer cut: the matrix of N x Nc edges is never formed; k-means as
    described; n_clusters may exceed the number of base clusters.
    ``weights`` multiply the edges to the clusters of each clustering.""",
    "labels_": """labels_ : ndarray of shape (n_samples,)
        Consensus clusters 0, 1, ... by first appearance; -1 for an object that no
        base clustering contains, or that ``min_certainty`` leaves out.""",
    "ensemble_": """ensemble_ : Ensemble
        The base clusterings.""",
    "dendrogram_": """dendrogram_ : Dendrogram
        The whole tree; ``dendrogram_.cut(k)`` gives any other number of clusters.""",
    "coassociation_": """coassociation_ : CoAssociation
        The similarity of the training objects that was linked.""",
    "n_regions_": """n_regions_ : int or None
        Regions that an approximate tree was linked from, see ``max_regions``; None if
        the tree is exact.""",
    "weights_": """weights_ : ndarray of shape (M,) or None
        The weights that were used. What is said of base clusters and objects leaves
        out the clusterings of weight 0.""",
    "cluster_weights_": """cluster_weights_ : ndarray of shape (Nc,) or None
        The weights of the base clusters that were used.""",
    "assignment_": """assignment_ : Assignment
        What gives label rows their labels: those of fit, and of predict.""",
    "n_clusters_": """n_clusters_ : int
        Number of consensus clusters found.""",
    "n_features_in_": """n_features_in_ : int
        Number of columns of X.""",
    "eigenvalues_": """eigenvalues_ : ndarray of shape (k,)
        The leading eigenvalues of the normalised graph, at most 1, one for each
        cluster. Where they are nearly 1 the clusters are hardly joined.""",
    "n_iter_": """n_iter_ : int
        Rounds of the best start.""",
}
# Attributes of fitted methods, each with the parameter that a method needs for it.
SHARED_ATTRIBUTES = {
    "labels_": "n_clusters",
    "ensemble_": "n_clusters",
    "assignment_": "n_clusters",
    "weights_": "weights",
    "cluster_weights_": "cluster_weights",
    "n_clusters_": "n_clusters",
    "n_features_in_": "n_clusters",
    "dendrogram_": "linkage",
    "coassociation_": "linkage",
    "n_regions_": "max_regions",
    "n_iter_": "max_iter",
}


@dataclass(frozen=True)
class MethodInfo:
    """What the tables of methods show.

    Attributes
    ----------
    title, doi : str
        What it does in a few words, and the paper.
    level : str
        "object" or "cluster": what is grouped.
    time, memory : str
        How they grow.
    needs : str
        A package that may be absent.
    family : str
        One of :data:`FAMILIES`.
    is_soft : bool
        Whether memberships are shares of the method's own, not mean similarities.
    lacks : dict of str to str
        Why it does without "missing", "weights", "memberships", "predict" or "streams".
    free_k : bool
        Whether ``n_clusters=None`` leaves the number of clusters to the method.
    """

    title: str
    doi: str
    level: str
    time: str
    memory: str
    needs: str = ""
    family: str = ""
    is_soft: bool = False
    lacks: dict[str, str] = field(default_factory=dict)
    free_k: bool = False


# Families of methods, by what is grouped, in the order in which tables show them.
FAMILIES = {
    "tree": "Trees of objects: linkage of a co-association",
    "cluster graph": "Graphs of base clusters: partitioned, then objects vote",
    "bipartite graph": "Graphs of objects and base clusters: cut together",
    "object graph": "Graphs of objects: partitioned into parts of equal size",
    "label rows": "Label rows: k-means, votes and mixtures",
}


def document(cls, parameters: list[str]):
    """Fill a docstring with the shared wording of parameters and attributes.

    ``$name`` becomes that of a name; ``$parameters`` and ``$attributes`` become those
    of all parameters and attributes of the class that the docstring does not describe
    itself.
    """
    attributes = [name for name, of in SHARED_ATTRIBUTES.items() if of in parameters]
    for group, names in (("parameters", parameters), ("attributes", attributes)):
        others = "\n    ".join(
            f"${name}"
            for name in names
            if name in SHARED_WORDING
            and not re.search(rf"^    \$?{name}( :|$)", cls.__doc__, re.MULTILINE)
        )
        cls.__doc__ = cls.__doc__.replace(f"${group}\n", f"{others}\n")
    for name, wording in SHARED_WORDING.items():
        cls.__doc__ = cls.__doc__.replace(f"${name}\n", f"{wording}\n")
    return cls
