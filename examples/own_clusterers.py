"""
Your own clusterers
===================

Several kinds of clusterers in one ensemble, on parts of the data:
``generate(base=...)`` with scikit-learn's clusterers, the three ways to make runs
differ, labels that come from elsewhere, and a pipeline with a grid search.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import AgglomerativeClustering, Birch, KMeans
from sklearn.datasets import load_digits
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ensclust import ECPCSMC, Ensemble, EnsembleGenerator, consensus, generate
from ensclust.metrics import nmi

X, y = load_digits(return_X_y=True)
X, y = X[:400], y[:400]

# %%
# One clusterer, or a list of clusterers used in turn; k is drawn for each run.

base = [KMeans(n_init=1), Birch(threshold=10.0), AgglomerativeClustering()]
runs = generate(X, 12, base=base, base_k=(10, 20), random_state=0)
labels = consensus(runs, 10, random_state=0)
print(runs)
print(f"NMI {nmi(labels, y):.3f}")

# %%
# The consensus next to its inputs: each bar is one run, coloured by clusterer.

kinds = ["KMeans", "Birch", "AgglomerativeClustering"]
ax = plt.figure(figsize=(7, 3.5)).gca()
for first, kind in enumerate(kinds):
    places = range(first, 12, 3)
    ax.bar(places, [nmi(runs.labels[:, m], y) for m in places], label=kind)
ax.axhline(nmi(labels, y), color="black", label="consensus")
ax.set(xlabel="run", ylabel="NMI with the digits", ylim=(0.5, 1))
ax.legend(ncols=2)
plt.show()

# %%
# Runs that see 80% of the objects and a random projection of the features. KMeans
# predicts objects it has not seen, AgglomerativeClustering cannot: they are missing.

parts = generate(
    X,
    12,
    base=base,
    base_k=(10, 20),
    max_samples=0.8,
    projection=20,
    random_state=0,
)
print(parts)
print("missing per run:", (parts.labels < 0).sum(axis=0).tolist())
print(f"NMI {nmi(consensus(parts, 10, random_state=0), y):.3f}")

# %%
# Labels from elsewhere (Leiden, a colleague, a file) are one more column.

elsewhere = GaussianMixture(10, covariance_type="diag", random_state=0).fit_predict(X)
print(Ensemble.from_clusterings([*runs.labels.T, elsewhere]))

# %%
# The generator is a transformer: it fits pipelines, frames and grid searches.

model = make_pipeline(
    StandardScaler(),
    EnsembleGenerator(8, base_k=(10, 20), random_state=0),
    ECPCSMC(10, base="precomputed", random_state=0),
)
grid = {"ensemblegenerator__max_features": [0.5, 1.0]}
search = GridSearchCV(model, grid, scoring="adjusted_rand_score", cv=2).fit(X, y)
print("best share of features:", search.best_params_["ensemblegenerator__max_features"])
