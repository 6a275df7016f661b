"""New objects: predict from features or from label rows, and keep the model.

Every method labels new objects with the numbers of fit. ECPCSMC and MCLA let the base
clusters vote; the others take the cluster of the most similar training objects.
"""

import pickle
import tempfile
from pathlib import Path

import joblib
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
    print(
        Method.__name__, "NMI of new objects:", round(nmi(model.predict(new), truth), 3)
    )

# A model holds labels, k-means centres and similarities of base clusters, but not X.
size = len(pickle.dumps(model))
print(f"{size:,} bytes for {model.ensemble_}")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.joblib"
    joblib.dump(model, path)
    again = joblib.load(path)
assert np.array_equal(again.predict(new), model.predict(new))

# Shares of the vote, for new objects too.
voting = ECPCSMC(10, random_state=0).fit(train)
print("sure of", np.mean(voting.memberships(new).max(axis=1) > 0.5).round(3))

# With your own clusterings, new objects come as rows of labels by the same runs. A
# label that did not occur in fit, or -1, counts as not clustered by that run.
labels = generate(X, 8, base_k=15, random_state=0).labels
model = ECPCSHC(10, base="precomputed").fit(labels[:1500])
row = labels[1500].copy()
row[:3] = -1
print("from a row of labels:", model.predict([row])[0])
