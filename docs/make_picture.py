"""Draw the picture of the README: ``python -m docs.make_picture``.

k-means cannot follow curved groups, whatever k. Runs with more clusters than there are
groups cut them to pieces, each run into others; their consensus puts them together.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs, make_moons

from ensclust import consensus, generate
from ensclust._support.whole_files import replacing
from ensclust._view.palette import colour
from ensclust.metrics import ari

TARGET = Path(__file__).parent / "consensus.png"
N_RUNS = 20


def clusterings() -> dict[str, np.ndarray]:
    """Return the objects, their groups, k-means runs and their consensus."""
    moons, truth = make_moons(400, noise=0.06, random_state=0)
    blob, _ = make_blobs(200, centers=[(2.0, 1.1)], cluster_std=0.14, random_state=1)
    X = np.concatenate([moons, blob])
    runs = generate(X, N_RUNS, base_k=(10, 20), random_state=0)
    return {
        "X": X,
        "truth": np.concatenate([truth, np.full(len(blob), 2)]),
        "k-means": generate(X, 1, base_k=3, random_state=0).labels[:, 0],
        "runs": runs.labels,
        "consensus": consensus(runs, 3, "ecpcs-hc"),
    }


def draw(path: Path = TARGET) -> None:
    """Write the picture as PNG."""
    found = clusterings()
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1, 1.3, 1])
    for part, name in ((left, "k-means"), (right, "consensus")):
        score = ari(found["truth"], found[name])
        scatter(part.subplots(), found["X"], found[name], size=6)
        part.suptitle(f"{name} into 3, ARI {score:.2f}", fontsize=11)
    for ax, labels in zip(middle.subplots(2, 2).flat, found["runs"].T, strict=False):
        scatter(ax, found["X"], labels, size=2.5)
    middle.suptitle(f"4 of {N_RUNS} k-means runs, 10 to 20 clusters", fontsize=11)
    figure.text(0.675, 0.4, "→", fontsize=24, color="0.4")
    with replacing(path) as handle:
        figure.savefig(handle, format="png", dpi=120, metadata={"Software": None})


def scatter(ax, X: np.ndarray, labels: np.ndarray, *, size: float) -> None:
    """Draw objects in the colours of their clusters."""
    ax.scatter(*X.T, s=size, c=[colour(j) for j in labels], linewidths=0)
    ax.set_aspect("equal")
    ax.set_axis_off()


if __name__ == "__main__":
    draw()
