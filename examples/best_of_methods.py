"""
Which method? Let the inputs decide
===================================

Run several methods on the same base clusterings and keep what agrees with them best.
No truth is needed: agreement is the mean NMI with the base clusterings (ANMI). The
classes of the digits are used at the end only, to see what the choice was worth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from ensclust import BestConsensus, consensus, generate
from ensclust.metrics import nmi

X, truth = load_digits(return_X_y=True)
X, truth = X[:800], truth[:800]
runs = generate(X, 20, base_k=(10, 28), random_state=0)

# %%
# ``comparison_`` has a row per method, the best first.

model = BestConsensus(n_clusters=10, base="precomputed", random_state=0).fit(runs)
scores = []
print(f"{'method':10} {'ANMI':>6} {'NMI with the classes':>22} {'seconds':>9}")
for row in model.comparison_:
    labels = consensus(runs, 10, row["method"], random_state=0)
    scores.append(nmi(labels, truth))
    print(
        f"{row['method']:10} {row['anmi']:6.3f} {scores[-1]:22.3f}"
        f" {row['seconds']:9.2f}"
    )
print("kept:", model.best_method_)

# %%
# Agreement with the inputs tells good methods from poor ones. Among the good ones it
# is too close to call, and the choice matters little.

names = [row["method"] for row in model.comparison_]
places = np.arange(len(names))
ax = plt.figure(figsize=(7, 3.2), layout="constrained").gca()
anmi = [row["anmi"] for row in model.comparison_]
ax.barh(places - 0.2, anmi, 0.4, label="ANMI with the base clusterings")
ax.barh(places + 0.2, scores, 0.4, label="NMI with the classes")
ax.set(yticks=places, yticklabels=names, xlim=(0.6, 0.9))
ax.invert_yaxis()
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
plt.show()

# %%
# The same in one line, with a choice of methods.

labels = consensus(
    runs, 10, method="best", methods=["ecpcs-mc", "eac", "wct"], random_state=0
)
