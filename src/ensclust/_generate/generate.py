"""generate(): many base clusterings from features."""

from collections.abc import Sequence
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ensclust._generate.generation import EnsembleGenerator
from ensclust._generate.objects import survey
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
    scale: str | None = None,
    noise: str = "missing",
    init: str = "k-means++",
    max_iter: int = 100,
    tol: float = 1e-4,
    effort: Any = "auto",
    random_state=None,
    n_jobs: int | None = None,
    out=None,
) -> Any:
    """Cluster ``X`` many times and return the ensemble.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        The objects. May be sparse if the clusterers accept that; "kmeans" and
        "spectral" do. A Dask array or :class:`ensclust.Blocks` gives labels of the same
        kind.
    n_clusterings : int, default=20
        M, the number of base clusterings.
    base_k : int, (lo, hi), list of M ints or None
        Clusters per base clustering; for a pair each k is drawn uniformly from
        lo..hi. None means ``(2, hi)`` with ``hi = floor(min(sqrt(n_samples), 100))``.
        If you know how many clusters you will ask for, start the range there, as the
        estimators do: coarser clusterings separate fewer groups.
    base : "kmeans", "spectral", scikit-learn clusterer or list of these
        The base clusterer. "spectral" also finds curved clusters, see Notes. Any object
        with scikit-learn's ``fit_predict`` works, including a Pipeline that ends in
        one. The clusterers of a list take turns. ``n_clusters`` (or ``n_components``)
        is set to the drawn k, unless it is None or does not exist (HDBSCAN), and every
        ``random_state`` to its own seed.
    max_samples : float or int, default=1.0
        Share or number of objects that each clusterer is fitted to, drawn for each
        without replacement. The others are labelled by its ``predict``; without
        ``predict`` they are missing (-1) in that clustering.
    max_features : float or int, default=1.0
        Share or number of features that each clusterer sees, drawn for each.
    projection : int or None, default=None
        Number of random Gaussian directions that features are projected on, drawn for
        each clusterer.
    scale : None, "auto", "standard" or "robust", default=None
        Scaling of the features before anything else: "standard" gives mean 0 and
        standard deviation 1, "robust" median 0 and interquartile range 1 (estimated
        from 20,000 objects if there are more). Sparse features are not centred. New
        objects are scaled like the training objects. None does not scale, and warns if
        a few columns dominate; "auto" then uses "standard". The page "Scaling of
        features" shows the effect.
    noise : "missing" or "own-cluster", default="missing"
        Whether objects that a clusterer labels as noise (negative) are missing from
        that clustering or form one more cluster.
    init : "k-means++", "classic-k-means++" or "random", default="k-means++"
        Initialisation of each k-means run: the best of 2 + log(k) candidates for each
        centre, as in scikit-learn; one candidate, as in the original algorithm; or
        random objects.
    max_iter : int, default=100
        Maximum number of iterations of each k-means run (one start each).
    tol : float, default=1e-4
        A k-means run ends when the sum of the squared moves of its centres is at most
        this share of the mean variance of the features, as in scikit-learn.
    effort : "auto", "full" or int, default="auto"
        How long k-means continues if there are more than 20,000 objects. Runs converge
        on a random sample of 20,000 objects (or 50 per centre, if that is more). Then
        passes over all objects refine the centres, at most this many: "full" allows
        ``max_iter``, "auto" 500,000 / N, but at least 1, which gives an equally good
        consensus (see the page "Speed and memory"). 0 keeps the centres of the sample.
    random_state : int, RandomState instance or None
        Determines k and the seed of every run before the first one starts.
    n_jobs : int or None
        Number of threads that run clusterers; None means one per core. Clusterers with
        an ``n_jobs`` parameter run one at a time. Does not change the result.
    out : path or None, default=None
        An .npy file, or a .parquet or .zarr directory, to which labels are written
        block by block; ``X`` must then be a stream.

    Returns
    -------
    Ensemble
        M clusterings of the rows of ``X``; with ``out`` the :class:`ensclust.Blocks`
        of that file.

    Notes
    -----
    K-means is implemented here: greedy k-means++, then Lloyd's algorithm for all runs
    together, which skips objects that cannot change their centre. Time ``N k d`` per
    iteration and run at most; memory, in addition to ``X`` and the labels, a float32
    copy of the objects that runs converge on, at most 20,000 or 50 per centre (none if
    ``X`` is float32, small enough, and its medians are near 0), with 8 bytes for each
    of them and each run, dropped above 256 MB. Sparse rows stay sparse. Centres are
    means of fixed-point sums, so the result is the same for any ``n_jobs``, block size
    and engine. Numbers are float32, unless a test on a sample shows that this would
    assign some objects to other centres than float64; features are shifted by their
    medians and scaled by a power of two if digits would be lost otherwise. A cluster
    that loses all its objects gets the object farthest from its centre; in passes over
    all objects its centre stays. Each run with ``max_samples``, ``max_features`` or
    ``projection`` holds a copy of the features it sees.

    "spectral" is U-SPEC [1]_. Each run has p = 400 representatives, or N / 2 if that is
    less, or k + 1 if that is more: centres of three iterations of k-means of 10 p
    objects. Each object is connected to the 5 nearest of them, found exactly, with
    weight ``exp(-d^2 / (2 s^2))`` for distance d, where s is the mean of these
    distances. The transfer cut of this graph gives p vectors in the space of k
    eigenvectors; an object is their weighted mean, scaled to unit length, and k-means
    (10 iterations) clusters these points. Representatives, s, graph and centres come
    from the same sample that k-means uses, all objects up to 20,000; one more pass
    labels the objects, each by its own features. Time ``N p d + p^3`` per run, linear
    in N; memory, in addition to ``X`` and the labels, ``4 k`` bytes for each object of
    the sample and ``24 p^2`` per thread, and p rows of ``d + 2 k`` numbers that each
    run keeps. The result is the same for any ``n_jobs``, block size and engine.
    ``init``, ``max_iter``, ``tol`` and ``effort`` do not change it.

    A clusterer with ``predict`` labels all objects by it, so that new objects are
    treated alike. There is no warning if a run does not converge: it is a base
    clustering like any other.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai and C.-K. Kwoh. Ultra-scalable
       spectral clustering and ensemble clustering. IEEE Transactions on Knowledge and
       Data Engineering 32(6), 2020. https://doi.org/10.1109/TKDE.2019.2903410

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ensclust import generate
    >>> generate(load_iris().data, 10, base_k=(3, 12), random_state=0)
    Ensemble(n_objects=150, n_clusterings=10, n_base_clusters=71)

    Two half moons, which k-means cannot separate:

    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, moon = make_moons(500, noise=0.05, random_state=0)
    >>> runs = generate(X, 4, base=["kmeans", "spectral"], base_k=2, random_state=0)
    >>> [round(adjusted_rand_score(moon, labels), 1) for labels in runs.labels.T]
    [0.3, 1.0, 0.3, 1.0]

    Clusterers of several kinds, each on 80% of the objects:

    >>> from sklearn.cluster import AgglomerativeClustering, KMeans
    >>> base = [KMeans(), AgglomerativeClustering()]
    >>> X = load_iris().data
    >>> runs = generate(X, 4, base=base, base_k=3, max_samples=0.8, random_state=0)
    >>> (runs.labels == -1).sum(axis=0).tolist()
    [0, 30, 0, 30]

    ``Ensemble.from_clusterings`` adds clusterings made elsewhere:

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
        scale=scale,
        noise=noise,
        init=init,
        max_iter=max_iter,
        tol=tol,
        effort=effort,
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
            "X is sparse, which out= cannot write. Leave it out, or pass the rows as "
            "dense blocks."
        )
        raise ValueError(msg)
    check_path(path)
    blocks = as_blocks(X, "features")
    check_output(Path(path), *blocks.paths)
    known = survey(blocks)
    labels = generator.fit_stream(blocks, known).stream_
    works = [partial(_column, m=m) for m in range(len(generator.models_))]
    LabelStream(
        labels,
        works,
        [0] * len(works),
        [0, *accumulate(known.known[i][0] for i in sorted(known.known))],
        names=generator.get_feature_names_out().tolist(),
    ).write(path)
    return Blocks(path)


def _column(columns: Sequence[np.ndarray], _: int, *, m: int) -> np.ndarray:
    return columns[m]
