"""
Clusterings across k
====================

How clusters split as k grows, and the consensus matrix and CDF for each k: the
pictures that users of clustree and ConsensusClusterPlus know, from one ensemble.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from ensclust import (
    ClusteringTreeDisplay,
    ConsensusByKDisplay,
    consensus,
    generate,
    select_k,
)

X, _ = make_blobs(800, n_features=6, centers=7, cluster_std=2.2, random_state=3)
runs = generate(X, random_state=0)
print(runs)

# %%
# Each row is the consensus for one k. A dark line means that most of the lower cluster
# comes from the upper one; the colours are those of the last row.

ClusteringTreeDisplay.from_sweep(runs, range(2, 11), random_state=0)
plt.show()

# %%
# Any clusterings can be drawn in this way, such as Leiden's at several resolutions:
# ``ClusteringTreeDisplay.from_ensemble(adata.obs[keys], adata.obs["consensus"])``.

sweep = consensus(runs, [2, 4, 7], random_state=0)
names = ["coarse", "medium", "fine"]
ClusteringTreeDisplay.from_ensemble(sweep, sweep[:, -1], names=names)
plt.show()

# %%
# A good k has clean blocks and a CDF that is flat between 0 and 1.

found = select_k(runs, range(2, 16), random_state=0)
print("best k:", found.best_k)
ConsensusByKDisplay.from_selection(found, runs, [5, 6, 7, 8, 9])
plt.show()
