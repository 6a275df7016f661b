"""generate(): features in, the labels of many base clusterings out."""

from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Any

from scipy import sparse

from ensclust._generate.generation import EnsembleGenerator
from ensclust._generate.joint import survey
from ensclust._stream.blocks import Blocks, as_blocks
from ensclust._stream.label_stream import LabelStream, check_output
from ensclust._support.kinds import is_stream
from ensclust._support.validation import check_path


def generate(
    X,
    n_clusterings: int = 20,
    *,
    base_k=None,
    base="kmeans",
    max_samples: float = 1.0,
    max_features: float = 1.0,
    projection: int | None = None,
    noise: str = "missing",
    init: str = "k-means++",
    max_iter: int = 100,
    algorithm: str = "lloyd",
    random_state=None,
    n_jobs: int | None = None,
    out=None,
) -> Any:
    """Cluster ``X`` many times and return the ensemble.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        The objects. Sparse where the clusterers take it; "kmeans" does. Or a Dask array
        or :class:`ensclust.Blocks`: labels come out as such.
    n_clusterings : int, default=20
        M, the number of base clusterings.
    base_k : int, (lo, hi), list of M ints or None
        Clusters per base clustering; for a pair each k is drawn uniformly from
        lo..hi. None is ``(2, hi)`` with ``hi = floor(min(sqrt(n_samples), 100))``.
    base : "kmeans", scikit-learn clusterer or list of them
        What makes the base clusterings: anything with scikit-learn's ``fit_predict``,
        also a Pipeline that ends in such. A list is used in turn. ``n_clusters`` (or
        ``n_components``) is set to the drawn k unless it is None or there is no such
        parameter (HDBSCAN), and every ``random_state`` to a seed of its own.
    max_samples : float or int, default=1.0
        Share or number of the objects that each clusterer is fitted to, drawn anew
        without replacement. The others are labelled by its ``predict``; if it has none
        they are missing (-1) in that clustering.
    max_features : float or int, default=1.0
        Share or number of the features that each clusterer sees, drawn anew.
    projection : int or None, default=None
        Number of random Gaussian directions that these are projected on, drawn anew.
    noise : "missing" or "own-cluster", default="missing"
        Whether what a clusterer calls noise (a negative label) is missing in that
        clustering or one more cluster of it.
    init : "k-means++" or "random", default="k-means++"
        Start of each k-means run.
    max_iter : int, default=100
        Most iterations of each k-means run (one start each).
    algorithm : "lloyd" or "minibatch", default="lloyd"
        How k-means moves its centres: by all objects at a time, or by 1,024 random ones
        at a time, which is quicker and ends a little higher.
    random_state : int, RandomState instance or None
        Decides k and the seed of every run before the first one starts.
    n_jobs : int or None
        Runs at a time, in threads; None is one per core. A clusterer with an n_jobs of
        its own is run one at a time. Does not change the result.
    out : path or None, default=None
        An .npy file, or a .parquet or .zarr directory, that labels are written to block
        by block. ``X`` is then a stream: k-means begins with a sample of 20,000 rows.

    Returns
    -------
    Ensemble
        M clusterings of the rows of ``X``; with ``out`` the :class:`ensclust.Blocks`
        of that file. k-means works on one float32 copy of ``X``, centred (unless
        sparse) and scaled in float64; time ``N k d`` per iteration and run. Each run
        with ``max_samples``, ``max_features`` or ``projection`` has a copy of what it
        sees while it lasts. From 100,000 objects on, as in a stream, all clusterings
        start from the centres of 20,000 of them and are improved together, without a
        copy of ``X``; mini-batches are drawn from these 20,000.

    Notes
    -----
    A clusterer with ``predict`` labels all objects by it, so that new objects are
    treated alike. That a run did not converge is not shown: it is a base clustering
    like any other.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import generate
    >>> generate(load_iris().data, 10, base_k=(3, 12), random_state=0)
    Ensemble(n_objects=150, n_clusterings=10, n_base_clusters=71)

    Clusterers of several kinds, each on 80 % of the objects:

    >>> from sklearn.cluster import AgglomerativeClustering, KMeans
    >>> base = [KMeans(), AgglomerativeClustering()]
    >>> X = load_iris().data
    >>> runs = generate(X, 4, base=base, base_k=3, max_samples=0.8, random_state=0)
    >>> (runs.labels == -1).sum(axis=0).tolist()
    [0, 30, 0, 30]

    Clusterings made elsewhere join by ``Ensemble.from_clusterings``:

    >>> from ensclust import Ensemble
    >>> leiden = load_iris().target
    >>> Ensemble.from_clusterings([*runs.labels.T, leiden])
    Ensemble(n_objects=150, n_clusterings=5, n_base_clusters=15)
    """
    generator = EnsembleGenerator(
        n_clusterings,
        base_k=base_k,
        base=base,
        max_samples=max_samples,
        max_features=max_features,
        projection=projection,
        noise=noise,
        init=init,
        max_iter=max_iter,
        algorithm=algorithm,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    if out is not None:
        return _write(generator, X, out)
    generator.fit(X)
    return generator.stream_ if is_stream(X) else generator.ensemble_


def _write(generator: EnsembleGenerator, X: Any, path: Any) -> Blocks:
    """Fit a generator and write its labels block by block; return Blocks of the file.

    Memory one block of features and its labels.
    """
    if sparse.issparse(X):
        msg = (
            "X is sparse, which out= does not take. Leave it out, or pass the rows as "
            "dense blocks."
        )
        raise ValueError(msg)
    check_path(path)
    blocks = as_blocks(X, "features")
    check_output(Path(path), blocks.path)
    known = survey(blocks)
    labels = generator.fit_stream(blocks, known).stream_
    works = [itemgetter(m) for m in range(len(generator.models_))]
    LabelStream(
        labels,
        works,
        [0] * len(works),
        [0, *accumulate(known.lengths[i] for i in sorted(known.lengths))],
        names=generator.get_feature_names_out().tolist(),
    ).write(path)
    return Blocks(path)
