"""The palette: told apart by all readers, the same in displays and in the report."""

from itertools import combinations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from test_report import data_of

import ensclust
from conftest import ROOT
from ensclust import ClusterGraphDisplay, ConsensusMatrixDisplay, DendrogramDisplay
from ensclust._view.palette import NEUTRAL, PALETTE, colour
from ensclust._view.report.facts import collect
from ensclust._view.report.page import render
from strategies import random_ensemble

mpl.use("Agg")

# How readers without one kind of cones see linear RGB (Machado et al. 2009).
EYES = {
    "all": np.eye(3),
    "no red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "no green": [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "no blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
LMS = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074],
                [0.0883, 0.2817, 0.63]])  # fmt: skip
LAB = np.array([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506],
                [0.0259, 0.7828, -0.8087]])  # fmt: skip


def seen(name, eyes):
    """Return a colour in Oklab, where distances are those that eyes see."""
    rgb = np.array(to_rgb(name))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return LAB @ np.cbrt(LMS @ np.clip(np.asarray(EYES[eyes]) @ linear, 0, 1))


@pytest.mark.parametrize(
    ("eyes", "names"), [("all", PALETTE), *((eyes, PALETTE[:10]) for eyes in EYES)]
)
def test_colours_are_told_apart(eyes, names):
    if eyes == "all":
        names = (*names, NEUTRAL)
    places = [seen(name, eyes) for name in names]
    least = min(np.linalg.norm(a - b) for a, b in combinations(places, 2))
    assert least > (0.09 if eyes == "all" else 0.07)


def test_the_page_takes_its_colours_from_here():
    text = render(collect(random_ensemble(20, 3, 2, seed=0), np.arange(20) % 2))
    assert data_of(text)["palette"] == list(PALETTE)
    assert data_of(text)["neutral"] == NEUTRAL
    for script in (ROOT / "src/ensclust/_view/report/assets").glob("*.js"):
        assert not any(name in script.read_text() for name in (*PALETTE, NEUTRAL))


def test_a_number_has_one_colour_in_every_display():
    ensemble = random_ensemble(80, 6, 5, seed=0)
    tree = ensclust.ECPCSHC(4, base="precomputed").fit(ensemble)
    graph = ClusterGraphDisplay.from_ensemble(ensemble, tree.labels_)
    shown = [to_hex(c) for c in graph.ax_.collections[1].get_facecolors()]
    assert shown == [colour(j) for j in graph.meta_labels[graph.nodes]]
    matrix = ConsensusMatrixDisplay.from_estimator(tree)
    strips = [to_hex(patch.get_facecolor()) for patch in matrix.ax_.patches[1::2]]
    assert strips == [colour(j) for j in range(4)]
    display = DendrogramDisplay.from_estimator(tree)
    wedges = [to_hex(c) for c in display.ax_.collections[1].get_facecolors()]
    assert wedges == [colour(j) for j in display.labels]
    plt.close("all")


def test_nobody_has_the_neutral_colour():
    assert colour(-1) == NEUTRAL
    assert NEUTRAL not in PALETTE
