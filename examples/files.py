"""
Label files, from Python and from the command line
==================================================

Several people (or programs) have clustered the same flowers. Their clusterings are in a
CSV file with column names, gaps and a column that names the objects.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering, Birch, KMeans
from sklearn.datasets import load_iris

import ensclust
from ensclust.io import read_labels, write_labels
from ensclust.metrics import pairwise_nmi

X, truth = load_iris(return_X_y=True)
clusterers = [KMeans(k, n_init=1, random_state=k) for k in (3, 4, 6)]
clusterers += [AgglomerativeClustering(3), Birch(n_clusters=4, threshold=0.3)]
names = ["kmeans3", "kmeans4", "kmeans6", "ward", "birch"]
labels = np.column_stack([clusterer.fit_predict(X) for clusterer in clusterers])
labels[::3, 1] = -1  # not clustered here

folder = TemporaryDirectory()
runs = Path(folder.name, "runs.csv")
write_labels(runs, labels, names=names, ids=[f"flower{i}" for i in range(len(X))])
print("".join(runs.open().readlines()[:4]))

# %%
# In Python, a path is accepted in place of a label matrix.

found = ensclust.consensus(runs, 3, random_state=0)
print(f"NMI with the species: {ensclust.metrics.nmi(found, truth):.2f}")

# %%
# ``read_labels`` selects columns, and keeps the ids for the output.

table = read_labels(runs, columns=["kmeans3", "ward", "birch"])
trees = ensclust.consensus(table.values, [3, 4], "ecpcs-hc")
write_labels(Path(folder.name, "out.npz"), trees, names=["k3", "k4"], ids=table.ids)

# %%
# The same on the command line; the extension decides the format.


def shell(*args: str) -> None:
    """Run the command line as a user would, and show what it prints."""
    program = "from ensclust.cli import main; main(prog_name='ensclust')"
    command = [sys.executable, "-c", program, *args]
    print("$ ensclust", *args)
    shown = subprocess.run(
        command,
        cwd=folder.name,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(shown.stdout)


shell("consensus", "runs.csv", "-k", "3", "--seed", "0", "-o", "consensus.tsv")
again = read_labels(Path(folder.name, "consensus.tsv")).values[:, 0]
print("the same labels as in Python:", bool((again == found).all()))

# %%
# How far the files agree with each other, pair by pair.

agreement = pairwise_nmi(ensclust.Ensemble(read_labels(runs).values))
fig, ax = plt.subplots(figsize=(4.5, 4), layout="constrained")
fig.colorbar(ax.imshow(agreement, vmin=0, vmax=1), label="NMI")
ax.set_xticks(range(len(names)), names, rotation=45)
ax.set_yticks(range(len(names)), names)
plt.show()
folder.cleanup()
