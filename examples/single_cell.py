"""
Single-cell: one clustering from Leiden at many resolutions and seeds
=====================================================================

The result is stored in the AnnData object. Needs scanpy: ``pip install
"ensclust[scverse]"``; the 700 blood cells ship with it.
"""

import sys
import warnings
from itertools import combinations

import numpy as np

from ensclust import ClusteringTreeDisplay, scverse
from ensclust.metrics import ari

try:
    import igraph  # noqa: F401  what scanpy's Leiden runs on
    import scanpy
except ImportError:
    print('This example needs scanpy:  pip install "ensclust[scverse]"')
    sys.exit()

warnings.simplefilter("ignore")  # from scanpy, about its own old file
adata = scanpy.datasets.pbmc68k_reduced()

resolutions = np.arange(0.2, 2.01, 0.2)
scverse.consensus(adata, resolutions=resolutions, seeds=5)
found = adata.uns["consensus"]
print(f"{len(found['agreement'])} Leiden runs, {found['n_clusters']} clusters found")

# %%
# Cells per consensus cluster; as in scanpy, "0" is the largest.

print(adata.obs["consensus"].value_counts().to_string())

# %%
# What is gained? Run Leiden with four disjoint sets of five seeds. Two runs at the same
# resolution, from two of the sets, differ in some cells.

sets = ["set0", "set1", "set2", "set3"]
for i, key in enumerate(sets):
    seeds = range(5 * i, 5 * i + 5)
    scverse.consensus(adata, resolutions=resolutions, seeds=seeds, key_added=key)

print("mean ARI of two runs of Leiden")
for resolution in resolutions:
    runs = [f"{key}_leiden_{resolution:g}_seed{5 * i}" for i, key in enumerate(sets)]
    mean = np.mean([ari(adata.obs[a], adata.obs[b]) for a, b in combinations(runs, 2)])
    print(f"  resolution {resolution:.1f}  {mean:.3f}")

# %%
# The consensus of one set is nearly the same as that of another, for most numbers of
# clusters. Where it is not, there are several ways of merging clusters that are equally
# good: the data do not support that number.

print("mean ARI of the consensus of two sets")
for k in range(5, 13):
    for key in sets:
        runs = adata.uns[key]["params"]["keys"]
        scverse.consensus(adata, runs, n_clusters=k, key_added=f"{key}_fixed")
    fixed = [adata.obs[f"{key}_fixed"] for key in sets]
    mean = np.mean([ari(*pair) for pair in combinations(fixed, 2)])
    print(f"  {k:2} clusters  {mean:.3f}")

# %%
# Several numbers can be stable, so "auto" may choose differently for other seeds.
# Choose once, then pass the number.

print([adata.uns[key]["n_clusters"] for key in sets])

# %%
# On the map that comes with the data: the runs disagree about pale cells.

scanpy.pl.umap(adata, color="consensus", alpha=adata.obs["consensus_certainty"])

# %%
# How clusters split as the resolution grows, in the colours of the consensus.

runs = adata.obs.filter(regex="^consensus_leiden_.*_seed0$")
ClusteringTreeDisplay.from_ensemble(runs, adata.obs["consensus"].cat.codes)

# %%
# Soft memberships of cells that are between clusters.

shares = adata.obsm["consensus_memberships"]
print(shares[shares.max(axis=1).argsort()[:3]].round(2))

# %%
# Existing clusterings are given by name.

keys = ["louvain", "consensus_leiden_0.6_seed0", "consensus_leiden_1_seed0"]
scverse.consensus(adata, keys, n_clusters=6, method="ecpcs-hc", key_added="tree")
print("also written:", [key for key in adata.obs if key.startswith("tree")])
