"""How sure is a consensus: of each object, of each cluster, of each input.

Twenty k-means runs on handwritten digits, and two clusterings that somebody mixed up.
"""

import numpy as np
from sklearn.datasets import load_digits

from ensclust import ECPCSMC, Ensemble, agreement_weights, consensus, generate
from ensclust.metrics import nmi

X, y = load_digits(return_X_y=True)
runs = generate(X, 20, base_k=(10, 30), random_state=0)
rng = np.random.default_rng(0)
mixed_up = rng.permuted(runs.labels[:, :2], axis=0)  # right numbers, wrong objects
ensemble = Ensemble(np.column_stack([runs.labels, mixed_up]))

model = ECPCSMC(10, base="precomputed", random_state=0).fit(ensemble)
sure = model.certainty()
print(sure)

print("\nInputs that agree least with the consensus: 20 and 21 are the mixed-up ones")
print(sure.clusterings().sort_values("nmi").head(3).round(2))

print("\nClusters, the least sure first")
print(sure.clusters().sort_values("cluster_consensus").head(3).round(2))

print("\nObjects that are torn between two clusters")
print(sure.objects().sort_values("margin").head(3).round(2))

# The least sure tenth of the objects holds more than its share of the errors.
majority = np.array([np.bincount(y[model.labels_ == j]).argmax() for j in range(10)])
wrong = majority[model.labels_] != y
doubtful = sure.margin < np.quantile(sure.margin, 0.1)
print(f"\nErrors: {wrong.mean():.0%} of all digits,", end=" ")
print(f"{wrong[doubtful].mean():.0%} of the least sure tenth")

shares = model.memberships()
print(f"Soft memberships: {shares.shape}, rows sum to {shares.sum(axis=1).mean():.0f}")

weights = agreement_weights(ensemble)
print(f"\nWeights by agreement: inputs {weights[:20].mean():.2f}", end=", ")
print(f"mixed-up ones {weights[20:].mean():.2f}")
weighted = consensus(ensemble, 10, weights=weights, random_state=0)
print(f"NMI with the digits: {nmi(model.labels_, y):.3f} unweighted", end=", ")
print(f"{nmi(weighted, y):.3f} weighted")
