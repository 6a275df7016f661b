"""One clustering of cells from Leiden at many resolutions, kept in the AnnData object.

Needs scanpy: pip install "ensclust[scverse]". Its 700 blood cells ship with it.
"""

import sys
import warnings

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

print("Cells per consensus cluster, adata.obs['consensus']:")
print(adata.obs["consensus"].value_counts().to_string())

print("\nAgreement of each Leiden run, adata.uns['consensus']['agreement']:")
print(adata.uns["consensus"]["agreement"].round(2))

print("\nSoft memberships of the first cells, adata.obsm['consensus_memberships']:")
print(adata.obsm["consensus_memberships"][:3].round(2))

least = adata.obs["consensus_certainty"].nsmallest(3).round(2)
print("\nLeast sure cells, adata.obs['consensus_certainty']:")
print(least.to_string())

known = adata.obs["bulk_labels"]
print("\nARI with the known cell types:")
for key in ["consensus_leiden_0.5", "consensus_leiden_1", "consensus"]:
    print(f"  {key:<21} {ari(adata.obs[key], known):.2f}")

# Clusterings that are there already go in by name.
keys = ["louvain", "consensus_leiden_0.7", "consensus_leiden_1"]
scverse.consensus(adata, keys, n_clusters=6, method="ecpcs-hc", key_added="tree")
print(f"\nAlso written: {[key for key in adata.obs if key.startswith('tree')]}")
