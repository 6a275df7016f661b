"""
How sure is it?
===============

Certainty of each object, each cluster and each input: twenty k-means runs on
handwritten digits, and two clusterings whose rows were shuffled.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from ensclust import ECPCSMC, Ensemble, agreement_weights, consensus, generate
from ensclust.metrics import nmi

X, y = load_digits(return_X_y=True)
runs = generate(X, 20, base_k=(10, 30), random_state=0)
rng = np.random.default_rng(0)
shuffled = rng.permuted(runs.labels[:, :2], axis=0)  # right numbers, wrong objects
ensemble = Ensemble(np.column_stack([runs.labels, shuffled]))

model = ECPCSMC(10, base="precomputed", random_state=0).fit(ensemble)
sure = model.certainty()
print(sure)

# %%
# Inputs that agree least with the consensus: 20 and 21 are the shuffled ones.

print(sure.clusterings().sort_values("nmi").head(3).round(2))

# %%
# Clusters, the least certain first.

print(sure.clusters().sort_values("cluster_consensus").head(3).round(2))

# %%
# Objects between two clusters have a small margin.

print(sure.objects().sort_values("margin").head(3).round(2))

# %%
# On a map of the digits, doubtful ones lie between the groups.

place = PCA(2, random_state=0).fit_transform(X)
fig, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
axes[0].scatter(*place.T, c=model.labels_, s=6, cmap="tab10")
axes[0].set_title("consensus clusters")
dots = axes[1].scatter(*place.T, c=sure.margin, s=6, cmap="viridis")
axes[1].set_title("margin: dark is doubtful")
fig.colorbar(dots)
for ax in axes:
    ax.set(xticks=[], yticks=[])
plt.show()

# %%
# The least certain tenth of the objects contains more than its share of the errors.

majority = np.array([np.bincount(y[model.labels_ == j]).argmax() for j in range(10)])
wrong = majority[model.labels_] != y
doubtful = sure.margin < np.quantile(sure.margin, 0.1)
print(f"Errors: {wrong.mean():.0%} of all digits,", end=" ")
print(f"{wrong[doubtful].mean():.0%} of the least certain tenth")

shares = model.memberships()
print(f"Soft memberships: {shares.shape}, rows sum to {shares.sum(axis=1).mean():.0f}")

# %%
# Weights trust an input as far as the others confirm it.

weights = agreement_weights(ensemble)
print(f"Weights by agreement: inputs {weights[:20].mean():.2f}", end=", ")
print(f"shuffled ones {weights[20:].mean():.2f}")
weighted = consensus(ensemble, 10, weights=weights, random_state=0)
print(f"NMI with the digits: {nmi(model.labels_, y):.3f} unweighted", end=", ")
print(f"{nmi(weighted, y):.3f} weighted")
