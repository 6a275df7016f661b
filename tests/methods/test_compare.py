"""compare() and describe(), and the commands that show what they find."""

import json
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from sklearn.metrics import normalized_mutual_info_score

import ensclust
from ensclust._ensemble.agreement import pairwise_nmi
from ensclust._methods import METHODS
from ensclust._methods.table import PAPER
from ensclust._quality.comparison import Comparison
from ensclust._support import progress
from ensclust.cli._info import _equal_columns, as_text, describe
from strategies import ensembles, label_tables, random_ensemble

# --- agreement


def literal_nmi(a, b):
    both = (a >= 0) & (b >= 0)
    if not both.any():
        return 0.0
    return normalized_mutual_info_score(a[both], b[both], average_method="geometric")


@given(ensembles())
def test_pairwise_nmi_is_that_of_scikit_learn_where_both_are_present(ensemble):
    found = pairwise_nmi(ensemble)
    labels = ensemble.labels.T
    expected = [[literal_nmi(a, b) for b in labels] for a in labels]
    np.fill_diagonal(expected := np.array(expected), 1.0)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_comparison_has_what_each_method_gives_best_first():
    ensemble = random_ensemble(60, 5, 3, seed=0, missing=0.1)
    names = ["kcc", "eac", "ecpcs-mc"]
    found = ensclust.compare(ensemble, 3, names, random_state=4)
    assert sorted(found.methods) == sorted(names)
    assert list(found.anmi) == sorted(found.anmi, reverse=True)
    for i, name in enumerate(found.methods):
        labels = ensclust.consensus(ensemble, 3, name, random_state=4)
        assert (found.labels[:, i] == labels).all()
        inputs = [literal_nmi(labels, column) for column in ensemble.labels.T]
        assert found.anmi[i] == pytest.approx(np.mean(inputs))
        for j, other in enumerate(found.labels.T):
            assert found.agreement[i, j] == pytest.approx(literal_nmi(labels, other))
    assert (found.seconds > 0).all()


def test_comparison_does_not_depend_on_n_jobs():
    ensemble = random_ensemble(80, 4, 3, seed=1)
    one, two = (
        ensclust.compare(ensemble, 3, ["ecpcs-mc", "sec"], random_state=0, n_jobs=n)
        for n in (1, 2)
    )
    assert one.methods == two.methods
    assert (one.labels == two.labels).all()


def test_method_that_is_not_installed_is_left_out_unless_it_is_named(monkeypatch):
    def fail(*_, **__):
        msg = "needs something"
        raise ImportError(msg)

    monkeypatch.setattr(METHODS.method("mcla"), "_solve", fail)
    ensemble = random_ensemble(30, 4, 2, seed=0)
    found = ensclust.compare(ensemble, 2, random_state=0)
    assert set(found.methods) == set(PAPER) - {"mcla"}
    assert found.left_out == {"mcla": "needs something"}
    assert "mcla      needs something\n" in str(found)
    with pytest.raises(ImportError, match="needs something"):
        ensclust.compare(ensemble, 2, ["mcla"])


def test_all_methods_are_compared_where_all_are_asked_for():
    ensemble = random_ensemble(30, 4, 2, seed=0)
    found = ensclust.compare(ensemble, 2, "all", random_state=0)
    assert {*found.methods, *found.left_out} == set(METHODS)
    assert set(PAPER) < set(METHODS)
    with pytest.raises(ValueError, match="methods='every'; expected a list"):
        ensclust.compare(ensemble, 2, "every")


def test_a_method_that_can_choose_its_number_is_compared_at_the_one_given():
    ensemble = random_ensemble(60, 8, 4, seed=0, noise=0.1)
    free = ensclust.consensus(ensemble, None, "communities", random_state=0)
    assert free.max() + 1 != 6
    found = ensclust.compare(ensemble, 6, ["communities", "eac"], random_state=0)
    assert found.n_clusters == [6, 6]


def test_objects_in_the_order_of_their_clusters_can_be_compared():
    # The first of them are in few base clusters, and all others are empty there.
    rng = np.random.default_rng(0)
    at = np.arange(2000)[:, None] + rng.integers(0, 50, (2000, 20))
    labels = at * (40 - np.arange(20) % 7) // 2050
    found = ensclust.compare(labels, 5, ["ecpcs-mc", "lwmc"], random_state=0)
    assert found.n_clusters == [5, 5]


def test_progress_of_a_comparison_names_the_method(monkeypatch, capsys):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    with progress.progress("comparing"):
        ensclust.compare(random_ensemble(30, 4, 2, seed=0), 2, ["eac", "kcc"])
    lines = [line.split(", ")[0] for line in capsys.readouterr().err.splitlines()]
    assert list(dict.fromkeys(lines)) == [
        "ensclust: comparing: loading eac",
        "ensclust: comparing: eac (1 of 2)",
        "ensclust: comparing: loading kcc",
        "ensclust: comparing: kcc (2 of 2)",
    ]


def test_without_pymetis_a_comparison_marks_mcla_and_goes_on(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    ensemble = random_ensemble(30, 4, 2, seed=0)
    found = ensclust.compare(ensemble, 2, ["mcla", "eac"], random_state=0)
    assert found.methods == ("eac",)
    assert str(found).endswith("\nmcla  needs pymetis: pip install pymetis")
    assert "mcla needs pymetis: pip install pymetis" in found._repr_html_()


def test_comparison_with_the_truth():
    ensemble = random_ensemble(60, 5, 3, seed=0, missing=0.1)
    truth = np.random.default_rng(0).choice(["a", "b", "c"], 60).astype(object)
    truth[::7] = None
    known = truth != None  # noqa: E711  of each entry
    found = ensclust.compare(ensemble, 3, ["eac", "kcc"], truth=truth, random_state=0)
    scores = zip(found.nmi, found.ari, found.ecs, strict=True)
    for labels, (nmi, ari, ecs) in zip(found.labels.T, scores, strict=True):
        both = known & (labels >= 0)
        pair = labels[both], truth[both].astype(str)
        assert nmi == pytest.approx(ensclust.metrics.nmi(*pair))
        assert ari == pytest.approx(ensclust.metrics.ari(*pair))
        assert ecs == pytest.approx(ensclust.metrics.ecs(*pair))
    table = found.to_pandas()
    assert list(table.columns) == ["n_clusters", "anmi", "nmi", "ari", "ecs", "seconds"]
    assert tuple(table.index) == found.methods
    assert table["ari"].tolist() == found.ari.tolist()
    without = ensclust.compare(ensemble, 3, ["eac"], random_state=0)
    assert without.nmi is without.ari is without.ecs is None
    assert list(without.to_pandas().columns) == ["n_clusters", "anmi", "seconds"]


@pytest.mark.parametrize(
    ("truth", "words"),
    [
        ([0, 1], "truth has 2 entries, 2 of them known, for 30 objects"),
        (np.full(30, -1), "truth has 30 entries, 0 of them known, for 30"),
        (np.full(30, 0.5), r"truth cannot be read: labels\[0, 0\] = 0.5"),
        (np.zeros((30, 2)), r"truth cannot be read: .* shape \(30, 2\)"),
        (7, "truth cannot be read: "),
    ],
)
def test_a_truth_that_is_none_is_refused(truth, words):
    with pytest.raises(ValueError, match=words):
        ensclust.compare(random_ensemble(30, 4, 2, seed=0), 2, ["eac"], truth=truth)


def comparison(names):
    n = len(names)
    shape = np.arange(n * n).reshape(n, n) / (n * n)
    labels = np.tile(np.arange(3)[:, None], n)
    values = [np.full(n, value) for value in (0.5, 12.0, 0.25, 0.125, 0.75)]
    return Comparison(tuple(names), labels, values[0], shape, *values[1:])


def test_clusters_are_counted_where_numbers_are_left_out():
    found = comparison(["a", "b"])
    found.labels[:, 1] = [-1, 0, 7]
    assert found.n_clusters == [3, 2]
    assert [row["n_clusters"] for row in found.table] == [3, 2]


@pytest.mark.parametrize("n", [2, 10, 25])
def test_a_comparison_shows_a_table_that_fits_a_terminal(n):
    names = [f"method-{i}" for i in range(n)]
    lines = repr(comparison(names)).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["clusters", "ANMI", "NMI", "ARI", "ECS", "seconds"]
    scores = ["0.500", "0.250", "0.125", "0.750"]
    assert lines[1].split() == ["method-0", "3", *scores, "12.00"]
    # every pair is shown once, also where the columns come in parts
    assert sum(line.count("0.") for line in lines[n + 3 :]) == n * n
    last = f"{(n * n - 1) / (n * n):.3f}"
    assert lines[-1].split()[:2] == [str(n), names[-1]]
    assert lines[-1].endswith(last)


def test_unknown_method_is_refused_with_the_list():
    with pytest.raises(ValueError, match=r"methods=.foo. is not supported. Use one of"):
        ensclust.compare([[0, 0], [1, 1]], 2, ["foo"])


# --- what a file holds


@pytest.mark.filterwarnings("ignore:.*its own label")
@given(label_tables())
def test_facts_about_labels_are_those_of_the_table(tmp_path_factory, labels):
    path = tmp_path_factory.getbasetemp() / "facts.npy"
    np.save(path, labels)
    facts = describe(path, content="labels")
    assert (facts["n_objects"], facts["n_clusterings"]) == labels.shape
    clusters = [len(set(column[column >= 0])) for column in labels.T]
    assert [column["n_clusters"] for column in facts["columns"]] == clusters
    assert facts["n_missing"] == (labels < 0).sum()
    assert facts["n_absent"] == (labels < 0).all(axis=1).sum()
    assert facts["n_distinct_rows"] == len({tuple(row) for row in labels.tolist()})
    assert as_text(json.loads(json.dumps(facts)))


def test_suggestions_about_labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("a,b,c,d\n0,x,1,0\n0,x,1,0\n1,y,1,1\n1,y,1,1\n,,NA,-1\n")
    text = as_text(describe(path))
    assert "5 objects, 4 clusterings, 7 base clusters" in text
    assert "Only one cluster, no effect: c." in text
    assert "Identical clusterings, counted separately: a, b, d." in text
    assert "1 object will get the consensus label -1" in text
    assert text.endswith(f"ensclust consensus {path} -k K")


def repeated_runs(path):
    """Write four seeds of 6 clusters, one run of 2, its copy, 150 pairs, no split."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(6), 50)
    seeds = [np.where(rng.random(300) < 0.003, 5, truth) for _ in range(4)]
    runs = [*seeds, truth // 3, truth // 3, np.arange(300) % 150, np.zeros(300, int)]
    ensclust.io.write_labels(path, np.column_stack(runs), names=list("abcdefgh"))
    return path


def test_clusterings_that_say_nearly_the_same_are_named(tmp_path):
    path = repeated_runs(tmp_path / "runs.csv")
    text = as_text(describe(path, content="labels"))
    assert "4 of 8 clusterings are nearly identical (NMI at least 0.95): a," in text
    assert text.count("nearly identical") == 1
    assert "--distinct 0.95" in text
    assert "Identical clusterings, counted separately: e, f." in text


def test_clusterings_that_differ_are_not_said_to_be_alike(tmp_path):
    path = tmp_path / "runs.csv"
    ensclust.io.write_labels(
        path, random_ensemble(80, 6, 4, seed=0).labels, names=[*"abcdef"]
    )
    assert "nearly identical" not in as_text(describe(path))


def test_many_clusters_take_no_table_of_all_codes():
    one = np.maximum(np.arange(70_000), 1)
    ensemble = ensclust.Ensemble(np.column_stack([one, one[::-1], one % 7, 10 + one]))
    tracemalloc.start()
    groups = _equal_columns(ensemble, "abcd")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert groups == [["a", "d"]]
    assert most < 2**24


def test_fractions_make_it_features(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("name,x,y,z\na,0.1,100,1\nb,0.2,200,1\nc,0.3,300,1\n")
    assert "column 'name' is used as object names" in as_text(describe(path))
    text = as_text(describe(path, id_column="name"))
    assert "3 objects, 3 features" in text
    assert "Constant, no effect: z." in text
    assert "few columns dominate" in " ".join(text.split())
    assert "--scale" in text
    assert text.endswith(f"ensclust cluster {path} -k K --id-column name")


def test_whole_numbers_can_be_read_as_features(tmp_path):
    np.save(tmp_path / "data.npy", np.arange(300).reshape(100, 3) * 7 % 61)
    facts = describe(tmp_path / "data.npy")
    assert any("If these are features" in text for text in facts["suggestions"])
    facts = describe(tmp_path / "data.npy", content="features")
    assert (facts["content"], facts["n_features"]) == ("features", 3)


def test_long_tables_are_cut_short(tmp_path):
    np.save(tmp_path / "data.npy", np.tile([0, 1, 0, 1], (30, 1)).T)
    assert "  ... and 10 more" in as_text(describe(tmp_path / "data.npy"))


def test_h5ad_is_looked_at(tmp_path):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"leiden": pandas.Categorical(["a", "b", None])})
    obs.index = obs.index.astype(str)
    cells = anndata.AnnData(np.ones((3, 2)), obs=obs)
    cells.obsm["X_pca"] = np.ones((3, 2))
    path = tmp_path / "cells.h5ad"
    cells.write_h5ad(path)
    facts = describe(path)
    leiden = {"name": "leiden", "kind": "category", "n_values": 2, "n_missing": 1}
    assert facts["obs"] == [leiden | {"left_out": None}]
    assert f"ensclust consensus {path} -k K --columns leiden" in as_text(facts)
    assert f"ensclust cluster {path} -k K --columns X_pca" in as_text(facts)
