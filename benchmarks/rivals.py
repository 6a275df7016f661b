"""What people use instead, and how they would use it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import inputs


def features_of(n, d=inputs.N_FEATURES, **options):
    return inputs.features(n, d).astype(np.float32), options


def numbers_of_clusters(options) -> list[int]:
    rng = np.random.default_rng(0)
    return rng.integers(options["lo"], options["hi"] + 1, options["m"]).tolist()


def loop(X, options):
    """Return M clusterings by scikit-learn: two threads of runs, one thread in each."""
    from joblib import Parallel, delayed
    from sklearn import cluster
    from threadpoolctl import threadpool_limits

    kind = getattr(cluster, options["kind"])

    def run(k, seed):
        with threadpool_limits(1):
            model = kind(k, n_init=1, max_iter=100, random_state=seed)
            return model.fit(X).labels_.astype(np.uint8)

    ks = numbers_of_clusters(options)
    runs = (delayed(run)(k, seed) for seed, k in enumerate(ks))
    return np.column_stack(Parallel(os.cpu_count(), backend="threading")(runs)), X


def plain_loop(X, options):
    """Return M clusterings by scikit-learn, one after the other, with its threads."""
    from sklearn.cluster import KMeans

    columns = [
        KMeans(k, n_init=1, max_iter=100, random_state=seed).fit(X).labels_
        for seed, k in enumerate(numbers_of_clusters(options))
    ]
    return np.column_stack(columns).astype(np.uint8), X


def faiss(X, options):
    """Return M clusterings by faiss: two threads of runs, one thread in each."""
    import faiss
    from joblib import Parallel, delayed

    def run(k, seed):
        model = faiss.Kmeans(
            X.shape[1], k, niter=options.get("niter", 25), seed=seed,
            min_points_per_centroid=1,
            max_points_per_centroid=options.get("most", 256),
        )  # fmt: skip
        faiss.omp_set_num_threads(1)  # its own threads wait for each other
        model.train(X)
        return model.index.search(X, 1)[1][:, 0].astype(np.uint8)

    ks = numbers_of_clusters(options)
    runs = (delayed(run)(k, seed) for seed, k in enumerate(ks))
    return np.column_stack(Parallel(os.cpu_count(), backend="threading")(runs)), X


def intelex(X, options):
    """Return M clusterings by scikit-learn-intelex, one after the other."""
    from sklearnex.cluster import KMeans

    columns = [
        KMeans(k, n_init=1, max_iter=100, random_state=seed).fit(X).labels_
        for seed, k in enumerate(numbers_of_clusters(options))
    ]
    return np.column_stack(columns).astype(np.uint8), X


def fastkmeans(X, options):
    """Return M clusterings by fastkmeans, on the processor."""
    from fastkmeans import FastKMeans

    columns = []
    for seed, k in enumerate(numbers_of_clusters(options)):
        model = FastKMeans(X.shape[1], k, seed=seed, gpu=False)
        model.train(X)
        columns.append(model.predict(X))
    return np.column_stack(columns).astype(np.uint8), X


def agglomerative(labels, options):
    """Return the average linkage of a dense co-association, by scikit-learn."""
    from sklearn.cluster import AgglomerativeClustering

    distance = np.ones((len(labels), len(labels)))
    for column in labels.T:
        distance -= np.equal.outer(column, column) / labels.shape[1]
    model = AgglomerativeClustering(
        options["k"], metric="precomputed", linkage="average"
    )
    return model.fit_predict(distance)


def resampled(X, options):
    """Return the clusters of the consensus matrix of consensusclustering."""
    from consensusclustering import ConsensusClustering
    from sklearn.cluster import AgglomerativeClustering, KMeans

    k = options["k"]
    model = ConsensusClustering(KMeans(n_init=1), k, k, options["m"], 0.8, rng=0)
    model.fit(X, n_jobs=os.cpu_count())
    linker = AgglomerativeClustering(k, metric="precomputed", linkage="average")
    return linker.fit_predict(1 - model.consensus_k(k))


def pyckmeans(X, options):
    """Return the clusters of the consensus matrix of pyckmeans."""
    from pyckmeans import CKmeans

    model = CKmeans(
        options["k"], options["m"], p_samp=0.8, p_feat=1.0, metrics=(), n_init=1
    )
    model.fit(X)
    return model.predict(X).cl


def kemlglearn(X, options):
    """Return the k-means clusters of kemlglearn's matrix of coincidences."""
    from kemlglearn.cluster.consensus.SimpleConsensusClustering import (
        SimpleConsensusClustering,
    )

    model = SimpleConsensusClustering(
        options["k"], ncb_rand=True, n_components=options["m"]
    )
    model.fit(X)
    return model.labels_


def program(statement):
    """Run a Python program of one statement, from start to end."""
    begin = time.perf_counter()
    call = [sys.executable, "-c", statement]
    subprocess.run(call, check=True, capture_output=True)
    return time.perf_counter() - begin, 0.0


def command(rows, is_compiled, name="cluster"):
    """Run a command on a small file, with an empty cache of kernels or a full one."""
    X = inputs.features(rows).round(6)
    if name == "consensus":
        X = np.random.default_rng(0).integers(0, 3, (rows, 10))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.csv")
        np.savetxt(path, X, "%s", ",")
        # Kernels are cached here, not next to the installed files.
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # keep compiled modules
        call = [sys.executable, "-m", "ensclust", name, str(path), "-k", "3"]
        call += ["-o", str(Path(folder, "labels.csv")), "--seed", "0"]
        for _ in range(1 + is_compiled):
            begin = time.perf_counter()
            subprocess.run(call, env=environment, check=True, capture_output=True)
            seconds = time.perf_counter() - begin
        return seconds, 0.0
