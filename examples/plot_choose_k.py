"""
How many clusters?
==================

Judge every number of clusters from one consensus, then let an estimator choose. The
data has five groups; the 20 k-means runs know nothing about the number five.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs

from ensclust import ECPCSMC, SelectKDisplay, generate, select_k
from ensclust.metrics import ari

X, truth = make_blobs(600, centers=5, cluster_std=0.6, random_state=0)

runs = generate(X, random_state=0)
print(runs)
print("clusters per run:", *sorted(runs.cluster_counts))

# %%
# A star marks what each criterion suggests.

found = select_k(runs, range(2, 16), random_state=0)
print(found)

# %%
# The criteria look at different things, so look at more than one.

SelectKDisplay.from_selection(found)
plt.show()

# %%
# The same choice inside an estimator, from the features.

model = ECPCSMC(n_clusters="auto", random_state=0).fit(X)
print(f"ECPCS-MC with auto: {model.n_clusters_} clusters, ", end="")
print(f"ARI with the truth {ari(model.labels_, truth):.2f}")
