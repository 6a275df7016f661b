"""
Single-cell: one clustering from Leiden at many resolutions
===========================================================

The result is kept in the AnnData object. Needs scanpy: ``pip install
"ensclust[scverse]"``; the 700 blood cells ship with it.
"""

import sys
import warnings

import matplotlib.pyplot as plt

from ensclust import scverse
from ensclust.metrics import ari

try:
    import igraph  # noqa: F401  what scanpy's Leiden runs on
    import scanpy
except ImportError:
    print('This example needs scanpy:  pip install "ensclust[scverse]"')
    sys.exit()

warnings.simplefilter("ignore")  # of scanpy, about its own old file
adata = scanpy.datasets.pbmc68k_reduced()

resolutions = [0.3, 0.5, 0.7, 1.0, 1.3, 1.6, 2.0]
scverse.consensus(adata, resolutions=resolutions, n_clusters=7)

# %%
# Cells per consensus cluster.

print(adata.obs["consensus"].value_counts().to_string())

# %%
# Agreement of each Leiden run with the consensus.

print(adata.uns["consensus"]["agreement"].round(2))

# %%
# Soft memberships of the first cells.

print(adata.obsm["consensus_memberships"][:3].round(2))

# %%
# The least sure cells.

print(adata.obs["consensus_certainty"].nsmallest(3).round(2).to_string())

# %%
# On the map that comes with the data.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
place = adata.obsm["X_umap"].T
axes[0].scatter(*place, c=adata.obs["consensus"].cat.codes, s=8, cmap="tab10", vmax=9)
axes[0].set_title("consensus")
dots = axes[1].scatter(*place, c=adata.obs["consensus_certainty"], s=8)
axes[1].set_title("certainty")
fig.colorbar(dots)
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# ARI with the known cell types.

known = adata.obs["bulk_labels"]
for key in ["consensus_leiden_0.5", "consensus_leiden_1", "consensus"]:
    print(f"{key:<21} {ari(adata.obs[key], known):.2f}")

# %%
# Clusterings that are there already go in by name.

keys = ["louvain", "consensus_leiden_0.7", "consensus_leiden_1"]
scverse.consensus(adata, keys, n_clusters=6, method="ecpcs-hc", key_added="tree")
print("also written:", [key for key in adata.obs if key.startswith("tree")])
