"""
Where do base clusterings agree?
================================

The consensus matrix, and the stability of each cluster, of thirty k-means runs on
handwritten digits. Dark blocks on the diagonal are digits that most runs put together;
dark areas elsewhere are digits that get confused.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits

from ensclust import (
    ECPCSHC,
    ConsensusMatrixDisplay,
    StabilityDisplay,
    generate,
)

X, y = load_digits(return_X_y=True)
runs = generate(X, 30, base_k=(10, 30), random_state=0)
model = ECPCSHC(10, base="precomputed", random_state=0).fit(runs)

_, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
matrix = ConsensusMatrixDisplay.from_estimator(model, ax=left)
stability = StabilityDisplay.from_estimator(model, ax=right)
plt.show()

# %%
# The numbers behind the pictures are attributes.
print(f"{len(matrix.rows):,} objects in {len(matrix.matrix)} rows of the matrix")
for j in stability.clusters[[0, -1]]:
    digits = np.bincount(y[model.labels_ == j], minlength=10)
    likely = ", ".join(str(d) for d in np.argsort(-digits)[:3] if digits[d] > 5)
    consensus = stability.certainty.cluster_consensus[j]
    print(f"cluster {j}: consensus {consensus:.2f}, digits {likely}")
