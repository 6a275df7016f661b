"""Tables for notebooks: everything that comes from data is escaped."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import ensclust
from ensclust import Certainty, CoAssociation, Ensemble
from ensclust._support import notebook
from ensclust._trees.linkage import link

HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"
LABELS = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, -1], [2, 1, 1]])


class _Page(HTMLParser):
    """Collects the elements, their attributes and the text; checks that all close."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.cells = [], [], set(), []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.cells[-1] += data

    @property
    def text(self):
        return " ".join(self.cells)


def page(thing):
    found = _Page(thing._repr_html_())
    plain = {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert set(found.tags) <= plain
    assert found.attributes == {"style"}
    return found


def test_cells_are_escaped_and_numbers_are_written_for_people():
    row = (HOSTILE, 1234567, 0.25, np.float64("nan"), notebook.Share(0.5))
    html = notebook.table(HOSTILE, [HOSTILE] * 5, [row], HOSTILE)
    assert "<script" not in html
    assert "<img" not in html
    found = _Page(html)
    assert found.text.count(HOSTILE) == 8
    assert "1,234,567" in found.cells
    assert "0.250" in found.cells
    assert "–" in found.cells
    assert html.count("linear-gradient") == 1


@pytest.mark.parametrize(("value", "width"), [(-0.5, 0), (0.25, 25), (7.0, 100)])
def test_a_bar_is_no_longer_than_its_cell(value, width):
    html = notebook.table("", ["a"], [(notebook.Share(value),)])
    assert f" {width}%,transparent {width}%" in html
    assert "%" not in notebook.table("", ["a"], [(notebook.Share("nan"),)])


def test_an_ensemble_shows_its_clusterings():
    found = page(Ensemble(LABELS))
    assert [cell for cell in found.cells if cell] == [
        "Ensemble: 5 objects, 3 clusterings, 7 base clusters",
        *("clustering", "clusters", "share of the largest", "not clustered"),
        *("0", "3", "0.400", "0"),
        *("1", "2", "0.600", "0"),
        *("2", "2", "0.600", "1"),
    ]
    assert found.tags.count("tr") == 4
    many = page(Ensemble(np.tile(LABELS, 10)))
    assert many.tags.count("tr") == 1 + notebook.SHOWN
    assert many.cells[-1] == "and 18 more"
    nowhere = page(Ensemble(np.full((3, 1), -1)))
    assert nowhere.cells[-4:] == ["0", "0", "0.000", "3"]


def test_hostile_labels_do_not_reach_the_page():
    ensemble = Ensemble([[HOSTILE], ["b"]])
    assert "script" not in ensemble._repr_html_()


def test_a_dendrogram_shows_when_clusters_appear_and_merge():
    tree = link(CoAssociation(Ensemble(LABELS[:, :2])))
    found = page(tree)
    assert f"{tree.n_leaves} leaves" in found.text
    assert f"{tree.heights[-1]:.3f}" in found.cells
    assert f"longest lifetime: {tree.lifetime()} clusters" in found.text
    assert page(link(CoAssociation(Ensemble([[0], [0]])))).tags.count("tr") == 1


def test_a_certainty_shows_the_least_sure_clusters_and_escapes_names():
    names = [HOSTILE, "b", "c"]
    sure = Certainty.of(Ensemble(LABELS[:, ::-1]), [0, 0, 1, 1, 2], names=names)
    found = page(sure)
    assert HOSTILE in found.text
    assert "5 objects in 3 clusters" in found.text
    assert "–" in found.cells  # the consensus of one object
    assert repr(sure).endswith(f"clustering {HOSTILE}")
    many = Certainty.of(Ensemble(np.zeros((40, 1), int)), np.arange(40) // 2)
    assert "and 8 more clusters" in page(many).text


@pytest.mark.filterwarnings("ignore:no number of clusters")  # stands out
def test_a_selection_shows_what_each_criterion_suggests():
    rng = np.random.default_rng(0)
    labels = np.where(
        rng.random((60, 5)) < 0.1,
        rng.integers(0, 4, (60, 5)),
        np.arange(60)[:, None] % 4,
    )
    found = ensclust.select_k(labels, range(2, 6), "kcc", random_state=0)
    shown = page(found)
    assert found.outcome in shown.text
    for name in found.scores:
        assert name in shown.cells
    assert "–" in shown.cells  # no lifetime without a tree
    assert HOSTILE in page(replace(found, method=HOSTILE)).text


def test_a_comparison_shows_the_methods():
    found = ensclust.compare(LABELS, 2, ["eac", "ecpcs-mc"], random_state=0)
    shown = page(found)
    assert "2 methods on 5 objects" in shown.text
    assert {"eac", "ecpcs-mc"} <= set(shown.cells)
    assert HOSTILE in page(replace(found, methods=(HOSTILE, "eac"))).text


def test_a_dataset_shows_its_classes():
    ecoli = ensclust.datasets.load("ecoli")
    assert "336 objects" in page(ecoli).text
    hostile = replace(
        ecoli,
        title=HOSTILE,
        licence=HOSTILE,
        class_names=(HOSTILE, *ecoli.class_names[1:]),
    )
    assert page(hostile).text.count(HOSTILE) == 3
