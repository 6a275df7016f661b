"""Shared wording of the methods' docstrings, and what tables of methods show."""

import re
from dataclasses import dataclass, field

# One wording for the parameters and attributes that methods share; see document().
SHARED_WORDING = {
    "n_clusters": """n_clusters : int or "auto", default=8
        Number of consensus clusters, at most n_samples. If the method cannot form that
        many, it warns and returns fewer. "auto" uses the number that
        :func:`ensclust.select_k` suggests, 1 if features cannot be told from noise; the
        attribute ``selection_`` then shows why.""",
    "n_clusterings": """n_clusterings : int, default=20
        Number of base clusterings to generate; ignored with precomputed labels.""",
    "base_k": """base_k : int, (lo, hi), list of ints or None, default=None
        Clusters per base clustering, see :func:`ensclust.generate`. None draws each
        between n_clusters and ``floor(min(sqrt(n_samples), 100))``, as in the paper, or
        from 2 upwards if n_clusters is not a number (the page "Evidence" says why).""",
    "weights": """weights : array-like of shape (M,), "agreement", "size" or None
        How much each base clustering counts: non-negative, 0 leaves it out, only ratios
        matter. "agreement" derives the weights from how well a clustering agrees with
        the others, see :func:`ensclust.agreement_weights`; "size" from how finely it
        divides the objects, see :func:`ensclust.size_weights`. None, the default,
        weights all equally (the page "Evidence" says why).""",
    "cluster_weights": """cluster_weights : array-like of shape (Nc,), "eci" or None
        How much each base cluster counts, in (0, 1], ordered by clustering and label.
        "eci" weights a cluster by how well the other clusterings keep it together, see
        :func:`ensclust.similarity.eci`. None, the default, weights all equally.""",
    "base": """base : "kmeans", "spectral", "precomputed", clusterer or list of them
        What generates the base clusterings from X, see :func:`ensclust.generate`; the
        entries of a list are used in turn. With "precomputed", X is itself the label
        matrix of shape (n_samples, n_clusterings).""",
    "scale": """scale : None, "auto", "standard" or "robust", default=None
        Scaling of the features before clustering, see :func:`ensclust.generate`;
        ignored with precomputed labels.""",
    "effort": """effort : "auto", "full" or int, default="auto"
        Effort of k-means above 20,000 objects: the maximum number of passes over all of
        them, see :func:`ensclust.generate`; ignored unless base="kmeans".""",
    "noise": """noise : "missing" or "own-cluster", default="missing"
        What a negative label means, in precomputed labels or from a base clusterer such
        as HDBSCAN: the object is left out of that clustering, or it belongs to an extra
        cluster that collects the noise. NaN and None always mean left out.""",
    "min_certainty": """min_certainty : float or None, default=None
        Minimum membership, from 0 to 1, of an object in its cluster, see
        ``memberships``; objects below it are labelled -1. The clusters and their
        numbers do not change.""",
    "random_state": """random_state : int, RandomState instance or None, default=None
        Determines the result. The same value gives the same labels for any n_jobs.""",
    "n_jobs": """n_jobs : int or None, default=None
        Number of threads; None means one per core. Never changes the result.""",
    "max_memory": """max_memory : int, default=2**31
        Maximum size of a similarity matrix in bytes. Above it, average linkage works in
        label space, without a matrix.""",
    "max_regions": """max_regions : int or None, default=None
        None builds the exact tree. With a number, the tree is approximate if there are
        more distinct label rows than that: the most similar rows, searched among those
        that share most clusters, are merged until this many regions are left, which are
        then linked exactly. For 10^6 objects use 20000; docs/large-trees.md shows how
        close it comes. Only for linkage="average".""",
    "checkpoint": """checkpoint : path or None, default=None
        Directory in which linkage in label space saves its merges, so that an
        interrupted fit resumes when the same call is repeated; deleted when finished.
        Linkage with a matrix, or with max_regions, takes minutes and saves nothing.""",
    "exact": """exact : bool, default=False
        Whether random-walk similarities are exact to float64 rounding. If False, those
        of 700 or more base clusters are computed in float32, several times faster and
        with errors below 1e-5, see :func:`ensclust.similarity.propagate`; the labels
        are the same except for near ties. Fewer base clusters are always exact.""",
    "linkage": """linkage : "average", "single" or "complete", default="average"
        Similarity of two groups: the mean, largest or smallest over their pairs.""",
    "init": """init : "random" or array-like of shape (k,) or (n_starts, k)
        The objects whose label rows are the initial centroids; if given, ``n_init`` is
        ignored. "random", the default, draws distinct rows, each with a probability
        proportional to its number of objects.""",
    "n_init": """n_init : int, default=10
        Number of random starts; the one with the smallest objective is kept.""",
    "max_iter": """max_iter : int, default=40
        Maximum number of iterations per start.""",
    "cut": """Time N M^2 / 2 for counting, Nc^3 for the eigenvectors, once for all k,
    then N k (M + k) per pass of k-means; memory N M bytes, about six Nc x Nc matrices
    and a block of points. K-means runs to convergence from three starts, on at most
    20,000 objects drawn at random, and the best run is kept; if there are more objects,
    at most ten passes over all of them refine its centres. Sums use fixed point, so
    labels do not depend on blocks or threads; above 20,000 objects they depend on the
    order of the objects, which determines the sample. Deviations from the published
    transfer cut: the N x Nc matrix of edges is never formed; k-means as described;
    n_clusters may exceed the number of base clusters.
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
        The weights that were used. Attributes about base clusters and objects leave out
        the clusterings of weight 0.""",
    "cluster_weights_": """cluster_weights_ : ndarray of shape (Nc,) or None
        The weights of the base clusters that were used.""",
    "assignment_": """assignment_ : Assignment
        Assigns labels to label rows, in fit and in predict.""",
    "n_clusters_": """n_clusters_ : int
        Number of consensus clusters found.""",
    "n_features_in_": """n_features_in_ : int
        Number of columns of X.""",
    "eigenvalues_": """eigenvalues_ : ndarray of shape (k,)
        The leading eigenvalues of the normalised graph, at most 1, one per cluster.
        Values close to 1 mean that the clusters are hardly connected.""",
    "n_iter_": """n_iter_ : int
        Number of iterations of the best start.""",
}
# Attributes of fitted methods, each with the parameter it depends on.
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
        A short description, and the paper.
    level : str
        "object" or "cluster": what is grouped.
    time, memory : str
        How they scale.
    needs : str
        An optional package that it requires.
    family : str
        One of :data:`FAMILIES`.
    is_soft : bool
        Whether the method computes memberships itself, rather than from similarities.
    lacks : dict of str to str
        Why it lacks "missing", "weights", "memberships", "predict" or "streams".
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


# Families of methods by what is grouped, in the order of the tables.
FAMILIES = {
    "tree": "Trees of objects: linkage of a co-association",
    "cluster graph": "Graphs of base clusters: partitioned, then objects vote",
    "bipartite graph": "Graphs of objects and base clusters: cut together",
    "object graph": "Graphs of objects: partitioned into parts of equal size",
    "label rows": "Label rows: k-means, votes and mixtures",
}


def document(cls, parameters: list[str]):
    """Fill a docstring with the shared wording of parameters and attributes.

    ``$name`` is replaced by the entry for that name; ``$parameters`` and
    ``$attributes`` by the entries for all parameters and attributes of the class that
    the docstring does not describe itself.
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
