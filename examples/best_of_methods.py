"""Which method? Run several on the same base clusterings, keep what agrees best.

No truth is needed: agreement is the mean NMI with the base clusterings (ANMI). The
digits' classes are used at the end only, to see what the choice was worth.
"""

from sklearn.datasets import load_digits

from ensclust import BestConsensus, consensus, generate
from ensclust.metrics import nmi

X, truth = load_digits(return_X_y=True)
runs = generate(X[:800], 20, base_k=(10, 28), random_state=0)

model = BestConsensus(n_clusters=10, base="precomputed", random_state=0).fit(runs)
print(f"{'method':10} {'ANMI':>6} {'NMI with the classes':>22} {'seconds':>9}")
for row in model.comparison_:
    labels = consensus(runs, 10, row["method"], random_state=0)
    score = nmi(labels, truth[:800])
    print(f"{row['method']:10} {row['anmi']:6.3f} {score:22.3f} {row['seconds']:9.2f}")
print("kept:", model.best_method_)

# The same in one line, with a choice of methods.
labels = consensus(
    runs, 10, method="best", methods=["ecpcs-mc", "eac", "wct"], random_state=0
)
