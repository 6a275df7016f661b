"""generate(): features in, the labels of many base clusterings out."""

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
        The objects. Sparse where the clusterers take it; "kmeans" and "spectral" do. Or
        a Dask array or :class:`ensclust.Blocks`: labels come out as such.
    n_clusterings : int, default=20
        M, the number of base clusterings.
    base_k : int, (lo, hi), list of M ints or None
        Clusters per base clustering; for a pair each k is drawn uniformly from
        lo..hi. None is ``(2, hi)`` with ``hi = floor(min(sqrt(n_samples), 100))``: how
        many clusters will be wanted is not known here. Where it is, begin there, as
        the estimators do; clusterings that are coarser can tell fewer groups apart.
    base : "kmeans", "spectral", scikit-learn clusterer or list of these
        What makes the base clusterings. "spectral" also finds curved clusters, see
        Notes. A clusterer is anything with scikit-learn's ``fit_predict``, also a
        Pipeline that ends in such. A list is used in turn. ``n_clusters`` (or
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
    scale : None, "auto", "standard" or "robust", default=None
        Scaling of the features before anything else: "standard" gives mean 0 and
        standard deviation 1, "robust" median 0 and distance 1 between the quartiles (of
        20,000 objects if there are more). Sparse features are not centred. Scales of
        training are used for new objects. None does not scale, and warns where few
        columns decide alone; "auto" takes "standard" there. The page "Scaling of
        features" shows what it is worth.
    noise : "missing" or "own-cluster", default="missing"
        Whether what a clusterer calls noise (a negative label) is missing in that
        clustering or one more cluster of it.
    init : "k-means++", "classic-k-means++" or "random", default="k-means++"
        Start of each k-means run: the best of 2 + log(k) candidates for each centre, as
        in scikit-learn, one candidate as in the original algorithm, or random objects.
    max_iter : int, default=100
        Most iterations of each k-means run (one start each).
    tol : float, default=1e-4
        A k-means run ends when the squared moves of its centres are together at most
        this share of the mean variance of the features, as in scikit-learn.
    effort : "auto", "full" or int, default="auto"
        How far k-means is taken if there are more than 20,000 objects. Runs converge on
        20,000 objects drawn at random (50 per centre if these are more). Then all
        objects move the centres, in this many passes at most: "full" allows
        ``max_iter`` of them, "auto" 500,000 / N, at least 1, which gives a consensus as
        good (see the page "Speed and memory"). 0 leaves the centres of the sample.
    random_state : int, RandomState instance or None
        Decides k and the seed of every run before the first one starts.
    n_jobs : int or None
        Runs at a time, in threads; None is one per core. A clusterer with an n_jobs of
        its own is run one at a time. Does not change the result.
    out : path or None, default=None
        An .npy file, or a .parquet or .zarr directory, that labels are written to block
        by block; ``X`` is then a stream.

    Returns
    -------
    Ensemble
        M clusterings of the rows of ``X``; with ``out`` the :class:`ensclust.Blocks`
        of that file.

    Notes
    -----
    K-means is our own: greedy k-means++, then Lloyd's algorithm for all runs together,
    which looks only at objects that may change their centre. Time ``N k d`` per
    iteration and run at most; memory, beside ``X`` and the labels, a float32 copy of
    the objects that runs converge on, at most 20,000 or 50 per centre (none if ``X`` is
    float32, small enough, and its medians are near 0), with 8 bytes for each of them
    and each run, dropped above 256 MB. Sparse rows stay sparse. Centres are means of
    fixed-point sums, so the result is the same for any ``n_jobs``, block size and
    engine. Numbers are float32 unless that would give some objects other centres than
    float64, which is tried first; features are shifted by their medians and scaled by a
    power of two where digits would be lost. A cluster that loses all its objects gets
    the one that is farthest from its centre; in passes over all objects its centre
    stays. Each run with ``max_samples``, ``max_features`` or ``projection`` has a copy
    of what it sees while it lasts.

    "spectral" is U-SPEC [1]_. Each run has p = 400 representatives, or N / 2 if that is
    less, or k + 1 if that is more: centres of three iterations of k-means of 10 p
    objects. An object is tied to the 5 nearest of them, found exactly, by
    ``exp(-d^2 / (2 s^2))`` of the distance d, with s the mean of these distances. The
    transfer cut of this graph gives p vectors in the space of k eigenvectors, an object
    is their mean by the weights of its ties, scaled to unit length, and k-means (10
    iterations) clusters these points. Representatives, s, graph and centres come from
    the sample that k-means starts from as well, all objects up to 20,000; one more pass
    labels the objects, each by its own features. Time ``N p d + p^3`` per run, linear
    in N; memory, beside ``X`` and the labels, ``4 k`` bytes for each object of the
    sample and ``24 p^2`` per thread, and p rows of ``d + 2 k`` numbers that each run
    keeps. The result is the same for any ``n_jobs``, block size and engine. ``init``,
    ``max_iter``, ``tol`` and ``effort`` do not change it.

    A clusterer with ``predict`` labels all objects by it, so that new objects are
    treated alike. That a run did not converge is not shown: it is a base clustering
    like any other.

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

    Two half moons, which k-means cannot tell apart:

    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, moon = make_moons(500, noise=0.05, random_state=0)
    >>> runs = generate(X, 4, base=["kmeans", "spectral"], base_k=2, random_state=0)
    >>> [round(adjusted_rand_score(moon, labels), 1) for labels in runs.labels.T]
    [0.3, 1.0, 0.3, 1.0]

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
            "X is sparse, which out= does not take. Leave it out, or pass the rows as "
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
