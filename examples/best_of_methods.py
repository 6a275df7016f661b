"""
Which method? Let the inputs decide
===================================

Run several methods on the same base clusterings and keep what agrees with them best.
No truth is needed: agreement is the mean NMI with the base clusterings (ANMI). The
classes of the digits are used at the end only, to see what the choice was worth.
"""

import matplotlib.pyplot as plt
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
# Does agreement with the inputs go with agreement with the classes? Roughly: good
# methods are right of and above poor ones, but the order among the good ones is noise.

agreement = [row["anmi"] for row in model.comparison_]
ax = plt.figure(figsize=(6, 4)).gca()
ax.scatter(agreement, scores)
for row, x, y in zip(model.comparison_, agreement, scores, strict=True):
    ax.annotate(row["method"], (x, y), xytext=(4, 4), textcoords="offset points")
ax.set(xlabel="ANMI with the base clusterings", ylabel="NMI with the classes")
ax.margins(0.15)
plt.show()

# %%
# The same in one line, with a choice of methods.

labels = consensus(
    runs, 10, method="best", methods=["ecpcs-mc", "eac", "wct"], random_state=0
)
