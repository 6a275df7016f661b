"""The report: facts against their definitions, escaping, size, errors."""

import json
import re
import subprocess
import sys
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import Birch, KMeans
from sklearn.datasets import make_blobs

import ensclust
import reference
from ensclust import Certainty, Ensemble, write_report
from ensclust._ensemble.agreement import agreement, contingency, pairwise_nmi
from ensclust._methods import METHODS
from ensclust._quality.mean_coassociation import Histograms
from ensclust._view import consensus_blocks
from ensclust._view.report import again, scatter
from ensclust._view.report import facts as report_facts
from ensclust._view.report.facts import collect
from ensclust._view.report.page import render
from ensclust.cli import main
from ensclust.io import write_labels
from strategies import ensembles, random_ensemble

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">&amp;\u2028'
X, TRUTH = make_blobs(120, n_features=4, centers=3, random_state=0)
RUNS = ensclust.generate(X, 8, base_k=(2, 7), random_state=0)


@pytest.fixture(scope="module")
def model():
    return ensclust.ECPCSHC(3, n_clusterings=8, random_state=0).fit(X)


class Elements(HTMLParser):
    """What a browser would make of a page: elements, attributes, scripts."""

    def __init__(self, text):
        super().__init__()
        self.attributes, self.scripts, self._inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
        self._inside = tag == "script"

    def handle_endtag(self, _tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.scripts[-1] += data


def data_of(text):
    return json.loads(Elements(text).scripts[0])


# Facts.


@given(ensembles(max_objects=8), st.data())
def test_a_cell_of_the_matrix_is_the_mean_over_pairs_of_objects(ensemble, draw):
    n = ensemble.n_objects
    group = np.array(draw.draw(st.lists(st.integers(-1, 2), min_size=n, max_size=n)))
    weights = None
    if draw.draw(st.booleans()):
        weights = np.arange(1.0, ensemble.n_clusterings + 1)
    if group.max() < 0:
        return
    means = consensus_blocks._means(
        Histograms.of(ensemble, group), weights, with_itself=False
    )
    labels = ensemble.labels
    w = np.ones(labels.shape[1]) if weights is None else weights
    for a in range(len(means)):
        for b in range(len(means)):
            together = pairs = 0.0
            for i in np.flatnonzero(group == a):
                for j in np.flatnonzero(group == b):
                    both = (labels[i] >= 0) & (labels[j] >= 0) & (i != j)
                    together += w[both & (labels[i] == labels[j])].sum()
                    pairs += w[both].sum()
            alone = a == b and (group == a).sum() == 1
            expected = 1 if alone else together / pairs if pairs else 0
            assert means[a, b] == pytest.approx(expected)


def test_the_matrix_of_few_objects_is_the_coassociation_in_order():
    ensemble = random_ensemble(50, 6, 3, seed=0, missing=0.1)
    labels = ensclust.consensus(ensemble, 3, random_state=0)
    certainty = Certainty.of(ensemble, labels)
    found = report_facts._matrix(ensemble, certainty)
    assert found["sizes"] == [1] * 50
    assert found["cells"] == certainty.sizes.tolist()
    order = sorted(range(50), key=lambda i: (labels[i], -certainty.item_consensus[i]))
    dense = ensclust.CoAssociation(ensemble).dense()[np.ix_(order, order)]
    np.fill_diagonal(dense, 1)
    percent = np.frombuffer(b64decode(found["percent"]), np.uint8).reshape(50, 50)
    assert np.abs(percent / 100 - dense).max() <= 0.0051


def test_a_large_matrix_is_of_groups_within_clusters():
    ensemble = random_ensemble(5000, 5, 4, seed=1)
    labels = np.repeat([0, 1, 2, -1], [4000, 900, 1, 99])
    found = report_facts._matrix(ensemble, Certainty.of(ensemble, labels))
    assert len(found["sizes"]) == sum(found["cells"]) <= 240
    ends = np.cumsum(found["cells"])
    parts = np.split(found["sizes"], ends[:-1])
    assert [part.sum() for part in parts] == [4000, 900, 1]


def test_the_largest_of_very_many_clusters_are_shown():
    labels = np.append(np.arange(500), np.arange(450, 500))
    ensemble = random_ensemble(550, 3, 4, seed=1)
    found = report_facts._matrix(ensemble, Certainty.of(ensemble, labels))
    assert len(found["clusters"]) == 400
    assert found["clusters"][-50:] == list(range(450, 500))


@pytest.mark.parametrize("method", ["ecpcs-hc", "eac", "srs"])
def test_the_top_of_the_tree_cuts_as_the_tree_does(method):
    ensemble = random_ensemble(300, 6, 5, seed=2, noise=0.5)
    labels = ensemble.labels.copy()
    labels[:4] = -1
    with pytest.warns(UserWarning, match="in no base clustering"):
        model = METHODS[method](3, base="precomputed").fit(labels)
    facts = collect(model.ensemble_, model.labels_, result=model._result())
    tree, n = facts.tree, len(facts.tree["sizes"])
    assert n == 30 < tree["leaves"]
    assert sorted(tree["order"]) == list(range(n))
    assert facts.scatter["rows"] == list(range(4, 300))
    group = np.array(facts.scatter["group"])
    assert np.bincount(group).tolist() == tree["sizes"]
    for k in range(1, n + 1):
        root = list(range(2 * n - 1))
        for j in range(n - k - 1, -1, -1):
            for child in tree["merges"][j]:
                root[child] = root[n + j]
        expected = model.dendrogram_.cut(k)
        found = [root[branch] for branch in group]
        assert len(set(found)) == k
        assert len(set(zip(found, expected, strict=True))) == k
    heights = model.dendrogram_.heights[1 - n :]
    np.testing.assert_allclose(tree["merged"], heights, atol=1e-6)


def test_a_tree_of_one_leaf_has_one_branch():
    model = ensclust.EAC(1, base="precomputed").fit([[0, 0], [0, 0]])
    tree = collect(model.ensemble_, model.labels_, result=model._result()).tree
    assert (tree["sizes"], tree["merges"], tree["order"]) == ([2], [], [0])


def test_the_map_of_labels_is_that_of_the_centred_coassociation():
    ensemble = random_ensemble(60, 6, 4, seed=3, missing=0.2)
    rows = np.arange(60)
    components, share = scatter._components(scatter._one_hot(ensemble, rows))
    H = reference.membership(ensemble)
    unit = H / np.sqrt(H.sum(axis=1, keepdims=True))
    centred = unit - unit.mean(axis=0)
    values = np.sort(np.linalg.eigvalsh(centred @ centred.T))[::-1]
    np.testing.assert_allclose((components**2).sum(axis=0), values[:3])
    np.testing.assert_allclose(share, values[:3] / values.sum())


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_the_map_of_features_is_that_of_their_components(kind):
    facts = collect(RUNS, TRUTH, X=kind(X)).scatter
    shown = facts["maps"][0]
    centred = X - X.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False) ** 2
    np.testing.assert_allclose(shown["share"], (values / values.sum())[:3], atol=1e-4)
    assert shown["of"] == "features"
    assert facts["rows"] == list(range(120))


def test_a_page_of_very_many_clusters_and_classes_is_small(tmp_path):
    labels = np.arange(3000) % 500
    path = tmp_path / "r.html"
    runs = random_ensemble(3000, 3, 5, seed=0)
    write_report(path, runs, labels, truth=labels[::-1])
    assert path.stat().st_size < 6e6


def test_a_sample_has_objects_of_every_cluster():
    labels = np.repeat([0, 1, 2, -1], [50000, 6, 30, 10])
    rows = scatter._sample(labels)
    assert len(rows) == len(set(rows)) == 5000
    counts = np.bincount(labels[rows])
    assert counts[1] == 6
    assert counts[2] >= 10
    assert (labels[rows] >= 0).all()


@pytest.mark.parametrize("name", ["ecpcs-mc", "mcla"])
def test_the_graph_is_of_base_clusters_with_their_strongest_edges(name):
    weights = np.array([1.0, 0, 2, 1, 1, 1, 1, 1])
    model = METHODS[name](3, base="precomputed", weights=weights, random_state=0)
    model.fit(RUNS)
    facts = collect(
        model.ensemble_, model.labels_, result=model._result(), names=list("abcdefgh")
    )
    graph, used = facts.graph, RUNS.select(weights > 0)
    assert graph["size"] == used.sizes.tolist()
    assert graph["meta"] == model.meta_labels_.tolist()
    assert (
        graph["clustering"] == np.repeat(list("acdefgh"), used.cluster_counts).tolist()
    )
    W = np.round(model.cluster_similarity_, 6) * (1 - np.eye(used.n_base_clusters))
    for i, row in enumerate(W):
        others = {b if a == i else a for a, b in graph["edges"] if i in (a, b)}
        best = sorted(row, reverse=True)[:3]
        assert sorted((row[list(others)]), reverse=True)[:3] == pytest.approx(
            [value for value in best if value > 0]
        )
    assert np.isfinite(graph["x"] + graph["y"]).all()


def test_the_graph_names_clusters_whose_numbers_have_gaps():
    model = ensclust.ECPCSMC(3, base="precomputed", random_state=0)
    plain = model.fit(RUNS).meta_labels_
    model.fit(RUNS, reference=np.array([1, 4, 7])[model.labels_])
    assert np.unique(model.labels_).tolist() == [1, 4, 7]
    facts = collect(model.ensemble_, model.labels_, result=model._result())
    assert facts.clusters["names"] == ["1", "4", "7"]
    assert facts.graph["meta"] == plain.tolist()


def test_agreement_certainty_and_truth_are_what_the_library_says():
    labels = ensclust.consensus(RUNS, 3, random_state=0)
    classes = np.array(["x", "y", "z"])[TRUTH].astype(object)
    classes[:2] = None
    facts = collect(RUNS, labels, truth=classes)
    expected = agreement(RUNS, labels)
    np.testing.assert_allclose(facts.agreement["nmi"], expected.nmi, atol=1e-4)
    np.testing.assert_allclose(facts.agreement["ari"], expected.ari, atol=1e-4)
    np.testing.assert_allclose(facts.agreement["ecs"], expected.ecs, atol=1e-4)
    pairs = pairwise_nmi(RUNS)
    np.testing.assert_allclose(facts.agreement["pairs"], pairs, atol=1e-3)
    margin = Certainty.of(RUNS, labels).margin
    assert sorted(facts.objects["rows"]) == list(range(120))
    listed = margin[facts.objects["rows"]]
    assert (np.diff(listed) >= 0).all()
    np.testing.assert_allclose(facts.objects["margin"], listed, atol=1e-3)
    table = contingency(Ensemble(classes.reshape(-1, 1)), labels)
    order = ["xyz".index(name) for name in facts.truth["classes"]]
    assert facts.truth["table"] == table[:, order].tolist()
    assert (np.argmax(facts.truth["table"], axis=1) == np.arange(3)).all()
    shown = [
        facts.truth["classes"][i] if i >= 0 else None for i in facts.objects["truth"]
    ]
    assert shown == classes[facts.objects["rows"]].tolist()
    assert facts.truth["compared"] == 118
    assert facts.truth["nmi"] == pytest.approx(
        ensclust.metrics.nmi(labels[2:], TRUTH[2:]), abs=1e-4
    )
    assert facts.truth["ari"] == pytest.approx(
        ensclust.metrics.ari(labels[2:], TRUTH[2:]), abs=1e-4
    )
    assert facts.truth["ecs"] == pytest.approx(
        ensclust.metrics.ecs(labels[2:], TRUTH[2:]), abs=1e-4
    )


def test_a_margin_is_judged_before_it_is_rounded():
    runs = np.repeat([[0], [0], [1], [1]], 3001, axis=1)
    runs[1, 1501:] = 1  # in 1,501 with the first object, in 1,500 with the others
    objects = collect(Ensemble(runs), [0, 0, 1, 1]).objects
    assert objects["rows"][0] == 1
    assert objects["margin"][0] == 0
    assert objects["weak"] == [False] * 4
    objects = collect(Ensemble(runs), [0, 1, 1, 1]).objects
    assert objects["rows"] == [1, 2, 3, 0]
    assert objects["margin"][0] == 0
    assert objects["weak"] == [True, False, False, False]


def test_objects_in_no_cluster_come_last():
    labels = np.where(np.arange(120) % 3, TRUTH, -1)
    facts = collect(RUNS, labels)
    assert facts.clusters["absent"] == 40
    assert facts.objects["cluster"][80:] == [-1] * 40
    assert min(facts.objects["cluster"][:80]) == 0


def test_one_cluster_has_no_next():
    facts = collect(RUNS, np.zeros(120, int))
    assert set(facts.objects["other"]) == set(facts.objects["margin"]) == {None}
    assert facts.objects["own"] == sorted(facts.objects["own"])
    assert facts.summary.endswith("% of the base clusterings.")


def test_very_many_clusterings_are_not_all_compared_with_each_other():
    facts = collect(random_ensemble(40, 300, 3, seed=0), np.arange(40) % 3)
    assert len(facts.agreement["names"]) == 300
    assert len(facts.agreement["pairs"]) == len(facts.agreement["compared"]) == 100


def test_a_clustering_of_single_objects_makes_nothing_square(monkeypatch):
    labels = np.column_stack([np.arange(9000), np.arange(9000) % 3])
    monkeypatch.setattr(report_facts, "_NUMBERS", 30 * 9003)
    facts = collect(Ensemble(labels), labels[:, 1])
    assert facts.agreement["compared"] == [1]
    assert sum(facts.matrix["cells"]) == 30


def test_the_summary_is_two_sentences_about_this_result(model):
    summary = collect(model.ensemble_, model.labels_, result=model._result()).summary
    assert summary.startswith("120 objects in 3 clusters, found by ecpcs-hc")
    assert len(re.findall(r"\.(?: |$)", summary)) == 2
    runs = [[0, 1], [0, 1], [1, -1], [1, 0]]
    assert collect(Ensemble(runs), [0, -1, 1, 1]).summary.startswith("3 of 4 objects")
    alone = collect(Ensemble(runs), [0, 1, 2, 3]).summary
    assert alone.endswith("Every cluster is a single object.")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_reports(method, tmp_path):
    from ensclust._methods import make

    path = tmp_path / "r.html"
    model = make(method, n_clusters=3, n_clusterings=4, random_state=0).fit(X)
    model.report(path, X, truth=TRUTH)
    data = data_of(path.read_text("utf-8"))
    assert data["clusters"]["sizes"] == np.bincount(model.labels_).tolist()
    assert ("tree" in data) == hasattr(model, "dendrogram_")
    assert ("graph" in data) == hasattr(model, "cluster_similarity_")


def test_the_choice_of_k_is_told_when_it_is_known():
    model = ensclust.EAC("auto", n_clusterings=8, random_state=0).fit(X)
    told = collect(model.ensemble_, model.labels_, result=model._result()).selection
    assert told["best"] == model.selection_.best_k
    found = ensclust.select_k(RUNS, range(2, 6), random_state=0)
    told = collect(RUNS, TRUTH, selection=found).selection
    assert told["ks"] == [2, 3, 4, 5]
    assert {c["name"]: c["suggested"] for c in told["criteria"]} == found.suggested


@pytest.mark.parametrize(
    ("runs", "labels"),
    [
        ([[0]], [7]),
        ([[0, 1], [1, 0], [2, 2]], ["a", "b", "c"]),
        ([[0, 0], [0, 0], [0, 0]], [0, 0, 0]),
        ([[0, -1], [-1, 1], [-1, -1]], [0, 1, 1]),
    ],
)
def test_small_and_degenerate_results_report(runs, labels, tmp_path):
    write_report(tmp_path / "r.html", runs, labels)


def test_labels_keep_their_names():
    facts = collect(RUNS, np.array(["b", "a", "c"])[TRUTH])
    assert facts.clusters["names"] == ["a", "b", "c"]
    assert facts.clusters["sizes"] == [40, 40, 40]


# The page.


def test_nothing_of_the_data_becomes_markup(tmp_path):
    frame = pd.DataFrame(RUNS.labels, columns=[f"{HOSTILE}{i}" for i in range(8)])
    path = tmp_path / "r.html"
    write_report(
        path,
        frame,
        [f"{HOSTILE}{i}" for i in TRUTH],
        truth=[f"{HOSTILE}{i}" for i in TRUTH],
        ids=pd.Series([f"{HOSTILE[:30]}{i}" for i in range(120)], index=TRUTH),
        title=HOSTILE,
    )
    text = path.read_text("utf-8")
    elements = Elements(text)
    assert len(elements.scripts) == 3
    assert not any(tag == "img" for tag, _ in elements.attributes)
    for _, attributes in elements.attributes:
        assert not any(name.startswith("on") for name in attributes)
        assert not any("//" in str(value) for value in attributes.values())
    raw = text[text.index('id="data">') + 10 :]
    assert not re.search("[<>&\u2028\u2029]", raw[: raw.index("</script>")])
    assert data_of(text)["objects"]["ids"][0].startswith(HOSTILE[:30])


def test_a_broken_surrogate_is_written_as_text(tmp_path):
    write_report(
        tmp_path / "r.html", [[0], [1]], [0, 1], ids=["\udc80", "b"], title="\udc80"
    )
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "\udc80" in data_of(text)["objects"]["ids"]


def test_the_policy_allows_exactly_the_scripts_of_the_page(model):
    from plotly.offline import get_plotlyjs

    text = render(collect(model.ensemble_, model.labels_, result=model._result()))
    elements = Elements(text)
    policy = next(
        attributes["content"]
        for _, attributes in elements.attributes
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    hashes = re.findall(r"'sha256-([^']+)'", policy)
    digests = [
        b64encode(sha256(script.encode()).digest()).decode()
        for script in (elements.scripts[2], get_plotlyjs())
    ]
    assert hashes == digests
    assert "unsafe" not in policy.replace("style-src 'unsafe-inline'", "")


def test_the_same_seed_gives_the_same_file(tmp_path):
    texts = []
    for n_jobs in (1, 2):
        path = tmp_path / f"{n_jobs}.html"
        model = ensclust.ECPCSMC(3, n_clusterings=5, random_state=0, n_jobs=n_jobs)
        model.fit(X).report(path, X, truth=TRUTH)
        texts.append(path.read_text("utf-8").replace(f"n_jobs={n_jobs}", ""))
    same = [re.sub(r"n_jobs</th><td>\d", "", text) for text in texts]
    assert same[0].replace("\n", "") == same[1].replace("\n", "")


def test_a_generator_as_seed_leaves_no_address_in_the_file():
    seed = np.random.RandomState(0)
    model = ensclust.KCC(2, n_clusterings=3, random_state=seed).fit(X)
    facts = collect(model.ensemble_, model.labels_, result=model._result())
    call = again.lines(model._result())
    assert "0x" not in facts.seed + call + str(facts.parameters)
    assert "a RandomState object, so it cannot be repeated exactly" in facts.seed
    assert "# random_state was a RandomState object, so this cannot" in call
    assert "model = KCC(n_clusters=2, n_clusterings=3).fit(X)" in call


def test_the_lines_that_do_it_again_run_and_give_the_same_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = [KMeans(n_init=2), Birch(threshold=np.float64(0.25))]
    sizes = np.arange(2, 6)
    model = ensclust.EAC(3, 4, base=base, base_k=sizes, random_state=0).fit(X)
    selection = ensclust.select_k(model.ensemble_, [2, 3], method="eac")
    ids, names = [f"o{i}" for i in range(120)], list("abcd")
    given = {"X": X, "truth": TRUTH, "ids": ids, "names": names, "selection": selection}
    model.report("first.html", title='178 "wines"', **given)
    call = again.lines(model._result(), title='178 "wines"', **given)
    assert "from sklearn.cluster import Birch\n" in call
    exec(call, dict(given))
    pages = [(tmp_path / f"{name}.html").read_text() for name in ("first", "report")]
    pages = [page[page.index("<h1") : page.index("How to reproduce")] for page in pages]
    assert pages[0] == pages[1]


def test_names_that_come_with_the_table_are_not_asked_for_again(tmp_path):
    frame = pd.DataFrame(RUNS.labels, columns=[f"run{i}" for i in range(8)])
    write_report(tmp_path / "r.html", frame, TRUTH, ids=range(120))
    text = (tmp_path / "r.html").read_text("utf-8")
    assert "write_report(&quot;report.html&quot;, runs, labels, ids=ids)" in text
    assert data_of(text)["agreement"]["names"][7] == "run7"


def test_the_file_stays_small_for_many_objects_and_long_names(tmp_path):
    n = 30000
    ensemble = random_ensemble(n, 6, 40, seed=0)
    labels = ensemble.labels[:, 0]
    ids = [f"{'<名>' * 50}{i}" for i in range(n)]
    path = tmp_path / "r.html"
    write_report(path, ensemble, labels, ids=ids)
    assert path.stat().st_size < 6e6
    data = data_of(path.read_text("utf-8"))
    assert len(data["scatter"]["rows"]) == 5000
    assert len(data["objects"]["rows"]) == 1000
    assert len(set(data["objects"]["ids"])) == 1000
    assert len(data["matrix"]["sizes"]) <= 280


# Errors.


def test_without_plotly_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(ImportError, match=r'pip install "ensclust\[report\]"'):
        write_report(tmp_path / "r.html", RUNS, TRUTH)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("r.txt", ValueError, r"r.txt does not end in .html"),
        ("no/r.html", FileNotFoundError, "does not exist"),
        ("folder.html", IsADirectoryError, "is a directory"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused_first(tmp_path, path, error, message):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(error, match=message):
        write_report(tmp_path / path, None, None)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"labels": TRUTH[:5]}, "labels has 5 entries; expected 120"),
        ({"labels": TRUTH.reshape(-1, 1)}, r"labels has shape \(120, 1\)"),
        ({"truth": TRUTH[:5]}, "truth has 5 entries; expected 120"),
        ({"X": X[:5]}, "X has 5 rows; expected 120"),
        ({"X": X[:, 0]}, r"X is of shape \(120,\); expected \(120, n_features\)"),
        ({"X": 5}, r"X is of type int \(5\)"),
        ({"X": np.full((120, 2), "a")}, "X cannot be drawn: .*Pass finite numbers"),
        ({"X": np.where(X > 3, np.nan, X)}, "X contains NaN"),
        ({"ids": ["a"]}, "ids has 1 entries; expected 120"),
        ({"names": ["a"]}, "names has 1 entries; expected 8"),
        ({"labels": np.full(120, -1)}, "labels has 0 distinct values"),
        ({"truth": np.full(120, -1)}, "truth has 0 distinct values"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, more, message):
    arguments = {"labels": TRUTH, **more}
    with pytest.raises(ValueError, match=message):
        write_report(tmp_path / "r.html", RUNS, **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"labels": None}, "labels is None; expected a list or an array"),
        ({"X": "x.csv"}, "X is the path 'x.csv'. Read the file first"),
        ({"ids": 5}, r"ids is of type int \(5\)"),
        ({"ids": (i for i in range(120))}, "ids is of type generator"),
        ({"names": 7}, r"names is of type int \(7\).*one name per base clustering"),
        ({"title": 5}, r"title is of type int \(5\); expected a string"),
        ({"selection": {}}, r"selection is of type dict; .*select_k\(\)"),
        ({"path": None}, "path is None. Pass the name of a file"),
        ({"path": sys.stdout}, "path is of type"),
    ],
)
def test_what_is_of_another_kind_is_refused(tmp_path, more, message):
    arguments = {"path": tmp_path / "r.html", "labels": TRUTH, **more}
    with pytest.raises(TypeError, match=message):
        write_report(runs=RUNS, **arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("unknown", ["foo", "call", "cluster_names"])
def test_a_model_reports_with_known_arguments_only(model, tmp_path, unknown):
    with pytest.raises(TypeError, match=rf"report\(\) got an unexpected .*{unknown}"):
        model.report(tmp_path / "r.html", **{unknown: "rm -rf /"})


def test_a_label_for_every_object_is_no_clustering_to_show():
    labels = np.arange(1500)
    with pytest.raises(ValueError, match="labels has 1,500 distinct values"):
        collect(Ensemble(labels.reshape(-1, 1) % 3), labels)


def test_importing_does_not_import_plotly():
    code = (
        "import sys, ensclust; ensclust.write_report; sys.exit('plotly' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# The command line.


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Go to a directory with features, runs, a consensus and classes as files."""
    monkeypatch.chdir(tmp_path)
    names = np.array(["red", "green", "blue"])[TRUTH]
    ids = [f"object {i}" for i in range(120)]
    pd.DataFrame(X, index=ids, columns=list("abcd")).to_csv("data.csv")
    write_labels("runs.csv", RUNS.labels, names=[f"run{i}" for i in range(8)], ids=ids)
    frame = pd.DataFrame({"kind": names, "noise": np.arange(120) % 7}, index=ids)
    frame.to_csv("classes.csv")
    return tmp_path


def call(*args, status=0):
    result = CliRunner().invoke(main, [*map(str, args)])
    assert result.exit_code == status, result.output
    return result


def test_commands_that_run_a_method_write_a_report(files):
    call("cluster", "data.csv", "-k", 3, "-o", "labels.csv", "--report", "r.html")
    text = (files / "r.html").read_text("utf-8")
    data = data_of(text)
    assert data["scatter"]["maps"][0]["of"] == "features"
    assert data["objects"]["ids"][0].startswith("object ")
    typed = "ensclust cluster data.csv -k 3 -o labels.csv --report r.html --seed "
    assert typed in text
    seed = re.search(r"--seed (\d+)", text)[1]
    assert f"Seed: {seed}." in text
    call(
        "consensus", "runs.csv", "-k", 4, "-m", "eac", "--report", "s.html", "--seed", 1
    )
    text = (files / "s.html").read_text("utf-8")
    data = data_of(text)
    assert data["tree"]["k"] == len(data["clusters"]["sizes"]) == 4
    assert data["agreement"]["names"] == [f"run{i}" for i in range(8)]
    assert re.search(r"n_clusters</th><td>4<", text)


def test_report_shows_a_clustering_from_files(files):
    chosen = ("classes.csv", "--cluster-column", "kind")
    truth = ("--truth", "classes.csv", "--truth-column", "noise")
    done = call("report", "runs.csv", *chosen, *truth, "--data", "data.csv")
    assert "report written to report.html" in done.output
    data = data_of((files / "report.html").read_text("utf-8"))
    assert data["clusters"]["names"] == ["blue", "green", "red"]
    assert sorted(data["truth"]["classes"]) == [str(i) for i in range(7)]
    assert data["scatter"]["maps"][0]["of"] == "features"
    assert data["objects"]["ids"][0].startswith("object ")


OTHERS = "turned.csv has object 'object 119' in row 1, where the clusterings have"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["consensus", "runs.csv", "-k", "2,3", "--report", "r.html"], "Use one k"),
        (["consensus", "runs.csv", "-k", "2", "--report", "r.csv"], "end in .html"),
        (
            ["cluster", "data.csv", "-k", "2", "--report", "no/r.html"],
            "directory no does not exist",
        ),
        (["report", "runs.csv", "classes.csv"], "--cluster-column"),
        (["report", "runs.csv", "few.csv", "--data-columns", "a"], "--data FILE"),
        (["report", "runs.csv", "few.csv"], "few.csv has 3 rows for 120 objects"),
        (["report", "runs.csv", "few.csv", "--truth-column", "a"], "--truth FILE"),
        (["report", "runs.csv", "turned.csv"], OTHERS),
        (
            [
                "report",
                "runs.csv",
                "runs.csv",
                "--cluster-column",
                "run0",
                "--truth",
                "turned.csv",
            ],
            OTHERS,
        ),
        (
            [
                "report",
                "runs.csv",
                "runs.csv",
                "--cluster-column",
                "run0",
                "--data",
                "turned.csv",
            ],
            OTHERS,
        ),
        (["certainty", "runs.csv", "turned.csv"], OTHERS),
    ],
)
def test_mistakes_are_told_in_one_line_and_write_nothing(files, args, message):
    (files / "few.csv").write_text("c\n0\n1\n1\n")
    ids = [f"object {i}" for i in range(119, -1, -1)]
    write_labels("turned.csv", RUNS.labels[::-1, :1], names=["c"], ids=ids)
    before = sorted(files.iterdir())
    result = call(*args, status=2)
    assert message in result.output.splitlines()[-1]
    assert sorted(files.iterdir()) == before
