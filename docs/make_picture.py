"""Draw the picture of the README and the front page: ``python -m docs.make_picture``.

k-means cannot follow curved groups, whatever k. Runs with more clusters than there are
groups cut them into pieces, each run differently; their consensus joins the pieces.
There are two files, for light and for dark pages.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from sklearn.datasets import make_blobs, make_moons

from ensclust import consensus, generate
from ensclust._support.whole_files import replacing
from ensclust._view.palette import colour
from ensclust.metrics import ari

TARGET = Path(__file__).parent / "consensus.png"
DARK = TARGET.with_name("consensus-dark.png")  # transparent, with light text
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


def draw(path: Path = TARGET, *, dark: bool = False) -> None:
    """Write the picture as PNG."""
    found = clusterings()
    ink = "0.88" if dark else "0.15"
    figure = Figure(figsize=(9, 2.6), layout="constrained")
    FigureCanvasAgg(figure)
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1, 1.3, 1])
    titles = {"k-means": "one k-means run", "consensus": "their consensus"}
    for part, (name, title) in zip((left, right), titles.items(), strict=True):
        score = ari(found["truth"], found[name])
        scatter(part.subplots(), found["X"], found[name], size=6, dark=dark)
        part.suptitle(f"{title}: ARI {score:.2f}", fontsize=11, color=ink)
    for ax, labels in zip(middle.subplots(2, 2).flat, found["runs"].T, strict=False):
        scatter(ax, found["X"], labels, size=2.5, dark=dark)
    runs = f"4 of {N_RUNS} k-means runs, 10 to 20 clusters each"
    middle.suptitle(runs, fontsize=11, color=ink)
    figure.text(0.675, 0.4, "→", fontsize=24, color="0.5")
    background = "none" if dark else "white"
    with replacing(path) as handle:
        figure.savefig(
            handle,
            format="png",
            dpi=120,
            facecolor=background,
            metadata={"Software": None},
        )


def scatter(ax, X: np.ndarray, labels: np.ndarray, *, size: float, dark: bool) -> None:
    """Draw objects in the colours of their clusters, lighter ones on a dark page."""
    colours = np.array([to_rgb(colour(j)) for j in labels])
    if dark:
        luma = colours @ [[0.2126], [0.7152], [0.0722]]
        share = np.clip(0.45 - luma, 0, 1)
        colours += share * (1 - colours)  # the darker, the more white
    ax.scatter(*X.T, s=size, c=colours, linewidths=0)
    ax.set_aspect("equal")
    ax.set_axis_off()


if __name__ == "__main__":
    draw(TARGET)
    draw(DARK, dark=True)
