"""The palette: distinct for all readers, the same in displays and in the report."""

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
from ensclust._view.palette import NEUTRAL, PALETTE, check_colors, colour
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
XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722],
                [0.0193, 0.1192, 0.9503]])  # fmt: skip

LMS = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074],
                [0.0883, 0.2817, 0.63]])  # fmt: skip
LAB = np.array([[0.2105, 0.7936, -0.0041], [1.978, -2.4286, 0.4506],
                [0.0259, 0.7828, -0.8087]])  # fmt: skip


def linear(name, eyes="all"):
    rgb = np.array(to_rgb(name))
    light = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.clip(np.asarray(EYES[eyes]) @ light, 0, 1)


def cielab(name, eyes):
    """Return a colour as readers with these eyes see it, in CIELAB (D65)."""
    t = XYZ @ linear(name, eyes) / XYZ.sum(axis=1)
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def ciede2000(one, other):
    """Return the CIEDE2000 difference of two colours in CIELAB (Sharma et al. 2005)."""
    (L1, a1, b1), (L2, a2, b2) = one, other
    C = (np.hypot(a1, b1) + np.hypot(a2, b2)) / 2
    more = 1.5 - 0.5 * np.sqrt(C**7 / (C**7 + 25**7))
    C1, C2 = np.hypot(more * a1, b1), np.hypot(more * a2, b2)
    h1, h2 = np.arctan2(b1, more * a1), np.arctan2(b2, more * a2)
    dh = (h2 - h1 + np.pi) % (2 * np.pi) - np.pi
    L, C, h = (L1 + L2) / 2, (C1 + C2) / 2, (h1 + dh / 2) % (2 * np.pi)
    T = (1 - 0.17 * np.cos(h - np.pi / 6) + 0.24 * np.cos(2 * h)
         + 0.32 * np.cos(3 * h + np.pi / 30)
         - 0.2 * np.cos(4 * h - np.radians(63)))  # fmt: skip
    dL = (L2 - L1) / (1 + 0.015 * (L - 50) ** 2 / np.sqrt(20 + (L - 50) ** 2))
    dC = (C2 - C1) / (1 + 0.045 * C)
    dH = 2 * np.sqrt(C1 * C2) * np.sin(dh / 2) / (1 + 0.015 * C * T)
    turn = np.radians(60 * np.exp(-(((np.degrees(h) - 275) / 25) ** 2)))
    R = -2 * np.sqrt(C**7 / (C**7 + 25**7)) * np.sin(turn)
    return np.sqrt(dL**2 + dC**2 + dH**2 + R * dC * dH)


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ],
)
def test_differences_are_those_of_the_published_table(one, other, difference):
    assert ciede2000(one, other) == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize(
    ("eyes", "n", "least"),
    [
        *(("all", 10, 17), ("all", 20, 17), ("all", 30, 14)),
        *(("no red", 10, 10), ("no green", 10, 10), ("no blue", 10, 10)),
    ],
)
def test_colours_are_told_apart(eyes, n, least):
    places = [cielab(name, eyes) for name in PALETTE[:n]]
    assert min(ciede2000(a, b) for a, b in combinations(places, 2)) > least


@pytest.mark.parametrize(
    ("eyes", "names"), [("all", PALETTE), *((eyes, PALETTE[:10]) for eyes in EYES)]
)
def test_colours_are_apart_in_oklab(eyes, names):
    if eyes == "all":
        names = (*names, NEUTRAL)
    places = [LAB @ np.cbrt(LMS @ linear(name, eyes)) for name in names]
    least = min(np.linalg.norm(a - b) for a, b in combinations(places, 2))
    assert least > (0.09 if eyes == "all" else 0.07)


def test_no_colour_is_like_that_of_objects_without_a_cluster():
    neutral = cielab(NEUTRAL, "all")
    assert min(ciede2000(cielab(name, "all"), neutral) for name in PALETTE) > 10


@pytest.mark.parametrize("card", ["#ffffff", "#1a2028"])
def test_colours_are_visible_on_both_pages(card):
    style = (ROOT / "src/ensclust/_view/report/assets/page.css").read_text()
    assert f"--card: {card}" in style
    for name in (*PALETTE, NEUTRAL):
        dark, light = sorted(float(XYZ[1] @ linear(c)) for c in (name, card))
        assert (light + 0.05) / (dark + 0.05) > 1.75


def test_given_colours_come_first():
    given = check_colors(["#ABCDEF", "#12345678", "red", (0, 0, 1)], 4)
    assert given == ["#abcdef", "#123456", "#ff0000", "#0000ff"]
    assert [colour(j, given) for j in (0, 3, 4, -1)] == [
        *("#abcdef", "#0000ff", PALETTE[4], NEUTRAL)
    ]
    facts = collect(random_ensemble(20, 3, 2, seed=0), np.arange(20) % 2, colors=given)
    assert data_of(render(facts))["palette"] == [*given, *PALETTE[4:]]


@pytest.mark.parametrize("wrong", ["red", {"0": "red"}, 3])
def test_colours_are_a_list(wrong):
    with pytest.raises(TypeError, match="a list with one colour per cluster"):
        check_colors(wrong, 1)


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
