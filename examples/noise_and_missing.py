"""
Noise and missing labels
========================

What HDBSCAN leaves out, and what was never measured. A negative label is noise; NaN or
None is missing. By default both mean "not clustered here": the object takes no part in
that clustering. With ``noise="own-cluster"`` the noise of a clustering forms one more
cluster, while NaN and None stay missing.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs

from ensclust import ECPCSHC, Ensemble, consensus, generate

rng = np.random.default_rng(0)
blobs, _ = make_blobs(300, centers=3, cluster_std=0.7, random_state=4)
X = np.vstack([blobs, rng.uniform(-12, 12, (60, 2))])  # 60 objects in no group

base = [HDBSCAN(min_cluster_size=size, copy=True) for size in (10, 15, 20, 30)]
runs = generate(X, len(base), base=base)
print("noise per run:", (runs.labels < 0).sum(axis=0).tolist())

# %%
# Left out: an object that some runs cluster gets a label, one that no run clusters gets
# -1. Here are the labels, and how many objects have each:

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # "... objects are in no base clustering"
    left_out = consensus(runs, 3, method="ecpcs-hc")
print(*np.unique(left_out, return_counts=True))

# %%
# Own cluster: what most runs call noise becomes a consensus cluster.

model = ECPCSHC(4, len(base), base=base, noise="own-cluster").fit(X)
print(*np.unique(model.labels_, return_counts=True))

# %%
# Grey: the label is -1.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
results = {"left out": left_out, "own cluster": model.labels_}
for ax, (title, labels) in zip(axes, results.items(), strict=True):
    ax.scatter(*X[labels < 0].T, c="lightgrey", s=12)
    ax.scatter(*X[labels >= 0].T, c=labels[labels >= 0], s=12, cmap="tab10", vmax=9)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# Your own labels: -1 is noise, NaN means that the third run never saw the object.

labels = np.array([[0, 0, 0], [0, 0, np.nan], [1, 1, 1], [1, 1, np.nan], [-1, -1, -1]])
print(Ensemble(labels).labels.tolist())
print(Ensemble(labels, noise="own-cluster").labels.tolist())
print(consensus(labels, 3, method="eac", noise="own-cluster").tolist())
