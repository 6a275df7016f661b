"""
New objects, and keeping a model
================================

Every method labels new objects with the cluster numbers of fit. ECPCSMC and MCLA let
the base clusters vote; the others use the cluster of the most similar training objects.
"""

import pickle
import tempfile
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ensclust import ECPCSHC, ECPCSMC, generate
from ensclust.metrics import nmi

X, y = load_digits(return_X_y=True)
train, new, _, truth = train_test_split(X, y, test_size=0.25, random_state=0)

for Method in (ECPCSMC, ECPCSHC):
    model = Method(10, random_state=0).fit(train)
    assert np.array_equal(model.predict(train), model.labels_)
    score = nmi(model.predict(new), truth)
    print(f"{Method.__name__}, NMI of new objects: {score:.3f}")

# %%
# A model holds labels, k-means centres and similarities of base clusters, but not X.
# ``ensclust.io.save_model(model, "model.skops")`` saves it without pickle; it needs
# ``pip install "ensclust[model]"``.

size = len(pickle.dumps(model))
print(f"{size:,} bytes for {model.ensemble_}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.joblib"
    joblib.dump(model, path)
    again = joblib.load(path)
assert np.array_equal(again.predict(new), model.predict(new))

# %%
# Memberships are shares of the vote, for new objects too. These are the images of the
# test set that the model is least sure about, with the share of the winner.

voting = ECPCSMC(10, random_state=0).fit(train)
shares = voting.memberships(new).max(axis=1)
print(f"{np.mean(shares > 0.5):.1%} of the new objects have a majority")

fig, axes = plt.subplots(1, 8, figsize=(9, 1.6))
for ax, i in zip(axes, np.argsort(shares)[:8], strict=True):
    ax.imshow(new[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{shares[i]:.0%}")
    ax.axis("off")
plt.show()

# %%
# With your own clusterings, new objects are rows of labels from the same runs. A
# label that did not occur in fit, or -1, counts as not clustered by that run.

labels = generate(X, 8, base_k=15, random_state=0).labels
model = ECPCSHC(10, base="precomputed").fit(labels[:1500])
row = labels[1500:1501].copy()
row[0, :3] = -1
print("from a row of labels:", model.predict(row)[0])
