"""
A tree of objects, a graph of clusters
======================================

Two routes to a consensus. On the wines of three cultivars, both find much the same
clusters. ECPCS-HC merges objects that are often together; ECPCS-MC groups base clusters
that hold the same objects and lets the objects vote.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from ensclust import (
    ECPCSHC,
    ECPCSMC,
    ClusterGraphDisplay,
    DendrogramDisplay,
    generate,
)
from ensclust.metrics import ari

X, y = load_wine(return_X_y=True)
runs = generate(scale(X), 20, random_state=0)
tree = ECPCSHC(3, base="precomputed", random_state=0).fit(runs)
graph = ECPCSMC(3, base="precomputed", random_state=0).fit(runs)

# %%
# The tree is cut into three branches; every dot of the graph is a base cluster.

_, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
DendrogramDisplay.from_estimator(tree, ax=left)
shown = ClusterGraphDisplay.from_estimator(graph, ax=right)

print(f"{len(shown.nodes)} base clusters, {len(shown.edges)} edges")
print(f"ARI of tree and graph {ari(tree.labels_, graph.labels_):.2f}, ", end="")
print(f"with the cultivars {ari(tree.labels_, y):.2f} and ", end="")
print(f"{ari(graph.labels_, y):.2f}")

plt.show()
