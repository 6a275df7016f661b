"""Objects that no cluster holds clearly are left out."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import ensclust
from bad_input import refused
from conftest import cli_runner
from ensclust import EAC, ECPCSHC, ECPCSMC, KCC, Blocks, consensus
from ensclust._methods import METHODS, driver, make
from ensclust._methods.anndata_entries import write_predicted
from ensclust._view.report.facts import collect
from ensclust.cli import main
from strategies import random_ensemble

X = load_iris().data
RUNS = ensclust.generate(X, base_k=(3, 8), random_state=0).labels
MISSING = random_ensemble(90, 8, 4, seed=1, noise=0.3, missing=0.2).labels


def number(method):
    return None if METHODS[method].info.free_k else 3


def masked(model, least):
    """Return the labels of a model without one, left out by their definition."""
    labels, shares = np.asarray(model.labels_), model.memberships()
    there = np.flatnonzero(labels >= 0)
    own = shares[there, labels[there]]
    labels = labels.copy()
    labels[there[own < least - 1e-9]] = -1
    return labels


def written(tmp_path, labels=RUNS):
    path = tmp_path / "runs.csv"
    pd.DataFrame(labels).add_prefix("run").to_csv(path, index=False)
    return path


@pytest.mark.filterwarnings("ignore:min_certainty=")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("labels", [RUNS, MISSING], ids=["whole", "missing"])
def test_objects_with_a_smaller_share_are_left_out(method, labels):
    least, own = 0.6, {"base": "precomputed", "random_state": 0}
    plain = make(method, n_clusters=number(method), **own).fit(labels)
    expected = masked(plain, least)
    model = make(method, n_clusters=number(method), min_certainty=least, **own)
    model.fit(labels)
    assert model.labels_.tolist() == expected.tolist()
    assert model.n_clusters_ == plain.n_clusters_
    assert np.array_equal(model.memberships(), plain.memberships())
    options = {"random_state": 0, "min_certainty": least}
    found = consensus(labels, number(method), method, **options)
    assert found.tolist() == expected.tolist()
    assert method == "srs" or model.predict(labels).tolist() == expected.tolist()
    stream = consensus(Blocks(labels, rows=31), number(method), method, **options)
    assert np.asarray(stream).tolist() == expected.tolist()


def test_dask_and_a_fit_to_a_stream_leave_out_the_same():
    array = pytest.importorskip("dask.array")
    own = {"base": "precomputed", "random_state": 0, "min_certainty": 0.7}
    labels = ECPCSMC(3, **own).fit(RUNS).labels_
    assert (labels < 0).any()
    lazy = array.from_array(RUNS, chunks=(40, -1))
    options = {"random_state": 0, "min_certainty": 0.7}
    assert consensus(lazy, 3, **options).compute().tolist() == labels.tolist()
    model = ECPCSMC(3, **own).fit(lazy)
    assert model.labels_.compute().tolist() == labels.tolist()
    assert model.predict(lazy).compute().tolist() == labels.tolist()


def test_features_and_new_objects():
    options = {"base_k": (3, 8), "random_state": 0}
    plain = ECPCSMC(3, **options).fit(X)
    model = ECPCSMC(3, min_certainty=0.7, **options).fit(X)
    assert model.labels_.tolist() == masked(plain, 0.7).tolist()
    assert model.predict(X).tolist() == model.labels_.tolist()
    new = X[::7] + 0.05
    shares, labels = plain.memberships(new), plain.predict(new)
    sure = shares[np.arange(len(new)), labels] >= 0.7 - 1e-9
    assert model.predict(new).tolist() == np.where(sure, labels, -1).tolist()
    again = pickle.loads(pickle.dumps(model))
    assert again.predict(X).tolist() == model.labels_.tolist()


def test_nothing_is_below_0_and_only_whole_shares_are_1():
    plain = consensus(RUNS, 3, random_state=0)
    found = consensus(RUNS, 3, random_state=0, min_certainty=0)
    assert found.tolist() == plain.tolist()
    whole = ECPCSMC(3, base="precomputed", random_state=0, min_certainty=1).fit(RUNS)
    sure = whole.memberships().max(axis=1) > 1 - 1e-9
    assert 0 < sure.sum() < len(sure)
    assert whole.labels_.tolist() == np.where(sure, plain, -1).tolist()


def test_a_share_of_exactly_the_least_is_enough():
    labels = np.array([[0] * 4] * 5 + [[1] * 4] * 5 + [[0, 0, 1, 1]])
    model = ECPCSMC(2, base="precomputed", random_state=0, min_certainty=0.5)
    assert model.fit(labels).memberships()[10].tolist() == [0.5, 0.5]
    assert (model.labels_ >= 0).all()
    model.set_params(min_certainty=0.51)
    assert model.fit(labels).labels_[10] == -1


def test_several_numbers_of_clusters():
    found = consensus(RUNS, [2, 3, 5], "eac", min_certainty=0.5)
    for column, k in zip(found.T, (2, 3, 5), strict=True):
        alone = EAC(k, base="precomputed").fit(RUNS)
        assert column.tolist() == masked(alone, 0.5).tolist()


@pytest.mark.parametrize("n_shares", [1, 100, 448])
def test_it_does_not_matter_how_many_rows_are_looked_at_together(monkeypatch, n_shares):
    expected = consensus(MISSING, 4, "eac", min_certainty=0.5)
    monkeypatch.setattr(driver, "_SHARES", n_shares)
    found = consensus(MISSING, 4, "eac", min_certainty=0.5)
    assert found.tolist() == expected.tolist()


def test_weights_sample_weights_and_references():
    weights = [0, 1, 2, 1, 0, 1, 1, 1]
    own = {"base": "precomputed", "random_state": 0, "weights": weights}
    plain = ECPCSMC(4, **own).fit(MISSING)
    model = ECPCSMC(4, min_certainty=0.6, **own).fit(MISSING)
    assert model.labels_.tolist() == masked(plain, 0.6).tolist()
    assert model.predict(MISSING).tolist() == model.labels_.tolist()
    times = np.arange(len(MISSING)) % 3
    plain = KCC(4, base="precomputed", random_state=0)
    plain.fit(MISSING, sample_weight=times)
    model = KCC(4, base="precomputed", random_state=0, min_certainty=0.5)
    model.fit(MISSING, sample_weight=times)
    assert model.labels_.tolist() == masked(plain, 0.5).tolist()
    reference = np.arange(len(MISSING)) % 6
    plain.fit(MISSING, reference=reference)
    model.fit(MISSING, reference=reference)
    assert model.labels_.tolist() == masked(plain, 0.5).tolist()


def test_a_cluster_without_objects_is_warned_of_and_others_keep_their_numbers():
    noise = np.random.default_rng(0).integers(0, 4, (60, 6))
    with pytest.warns(UserWarning, match=r"min_certainty=0\.9 leaves \d of 4 clusters"):
        found = consensus(noise, 4, "eac", min_certainty=0.9)
    plain = consensus(noise, 4, "eac")
    assert (found[found >= 0] == plain[found >= 0]).all()


@pytest.mark.parametrize("least", [-0.1, 1.1, np.nan, "0.5", [0.5]])
def test_wrong_values(least):
    refused(lambda: consensus(RUNS, 3, min_certainty=least), "'min_certainty' param")
    model = EAC(3, base="precomputed", min_certainty=least)
    refused(lambda: model.fit(RUNS), "'min_certainty' parameter of EAC")


def test_a_method_without_memberships_says_so(monkeypatch):
    lacks = {"memberships": "its clusters have no objects"}
    method = METHODS.method("eac")
    monkeypatch.setattr(method, "info", replace(method.info, lacks=lacks))
    words = "min_certainty=0.5 needs memberships, which EAC does not have: its clusters"
    refused(lambda: consensus(RUNS, 3, "eac", min_certainty=0.5), words)
    assert consensus(RUNS, 3, "eac").max() == 2


def test_certainty_and_displays_show_those_left_out():
    model = ECPCSHC(3, base="precomputed", min_certainty=0.6).fit(RUNS)
    out = model.labels_ < 0
    assert 0 < out.sum() < len(out)
    sure = model.certainty()
    assert np.isnan(sure.item_consensus[out]).all()
    assert (sure.next_cluster[out] >= 0).all()
    assert f"150 objects in 3 clusters, {out.sum()} in none, from 20" in repr(sure)
    pytest.importorskip("matplotlib").use("agg")
    shown = ensclust.ConsensusMatrixDisplay.from_estimator(model)
    assert (shown.rows < 0).sum() == out.sum()
    tree = ensclust.DendrogramDisplay.from_estimator(model)
    assert tree.dendrogram.n_objects == len(out)


@pytest.mark.parametrize("method", ["ecpcs-hc", "ecpcs-mc"])
def test_reports_show_those_left_out(tmp_path, method):
    pytest.importorskip("plotly")
    own = {"base": "precomputed", "random_state": 0, "min_certainty": 0.65}
    model = make(method, n_clusters=3, **own).fit(RUNS)
    model.report(tmp_path / "r.html")
    n = int((model.labels_ >= 0).sum())
    assert 0 < n < len(RUNS)
    assert f"{n} of 150 objects in 3 clusters" in (tmp_path / "r.html").read_text()


@pytest.mark.filterwarnings("ignore:min_certainty=")
def test_reports_of_clusters_of_which_some_have_no_object_left():
    own = {"base": "precomputed", "random_state": 0}
    runs = random_ensemble(90, 8, 4, seed=4, noise=0.6)
    plain = ECPCSMC(4, **own).fit(runs)
    shares = plain.memberships()[np.arange(90), plain.labels_]
    most = sorted(shares[plain.labels_ == j].max() for j in range(4))
    model = ECPCSMC(4, min_certainty=(most[0] + most[-1]) / 2, **own).fit(runs)
    kept = np.unique(model.labels_[model.labels_ >= 0])
    assert 0 < len(kept) < 4
    facts = collect(model.ensemble_, model.labels_, result=model._result())
    assert facts.clusters["names"] == [str(label) for label in kept]
    assert {*facts.graph["meta"]} == {-1, *range(len(kept))}


def test_a_report_of_nothing_is_refused(tmp_path):
    noise = np.random.default_rng(0).integers(0, 4, (60, 6))
    model = EAC(4, base="precomputed", min_certainty=1)
    with pytest.warns(UserWarning, match="min_certainty=1 leaves 4 of 4 clusters"):
        model.fit(noise)
    assert (model.labels_ == -1).all()
    refused(lambda: model.report(tmp_path / "r.html"), "labels has 0 distinct values")


def test_models_in_files_leave_out_the_same(tmp_path):
    pytest.importorskip("skops")
    model = ECPCSMC(3, base_k=(3, 8), random_state=0, min_certainty=0.7).fit(X)
    ensclust.io.save_model(model, tmp_path / "m.skops")
    again = ensclust.io.load_model(tmp_path / "m.skops")
    assert again.predict(X).tolist() == model.labels_.tolist()
    assert (model.labels_ < 0).any()


def test_anndata_has_no_category_for_those_left_out():
    anndata = pytest.importorskip("anndata")
    names = [f"run{m}" for m in range(8)]
    table = pd.DataFrame(RUNS[:, :8], columns=names).astype(str).astype("category")
    adata = anndata.AnnData(obs=table.set_index(table.index.astype(str)))
    options = {"n_clusters": 3, "method": "eac", "random_state": 0}
    ensclust.scverse.consensus(adata, names, min_certainty=0.8, **options)
    model = EAC(3, base="precomputed", min_certainty=0.8).fit(RUNS[:, :8])
    out = model.labels_ < 0
    assert out.any()
    assert adata.obs["consensus"].isna().tolist() == out.tolist()
    assert adata.obs["consensus_certainty"].isna().tolist() == out.tolist()
    assert adata.uns["consensus"]["params"]["min_certainty"] == 0.8


def test_a_copy_of_a_file_may_have_clusters_without_objects(tmp_path):
    anndata = pytest.importorskip("anndata")
    table = pd.DataFrame(RUNS[:, :3], columns=list("abc")).astype(str)
    cells = table.set_index(table.index.astype(str) + "x").astype("category")
    anndata.AnnData(RUNS[:, :1], obs=cells).write_h5ad(tmp_path / "cells.h5ad")
    labels, trained = np.full(150, -1), np.full(150, -1)
    labels[:3], trained[:9] = [2, 0, 1], [1] * 5 + [0] * 4  # none of cluster 2
    path = tmp_path / "copy.h5ad"
    write_predicted(path, tmp_path / "cells.h5ad", labels, trained)
    found = anndata.read_h5ad(path).obs["consensus"]
    assert found[:3].tolist() == ["2", "1", "0"]
    assert found[3:].isna().all()
    line = ["consensus", str(tmp_path / "cells.h5ad"), "-k", "5", "-m", "kcc", "-q"]
    line += ["--columns", "a,b,c", "--seed", "0", "--min-certainty", "1"]
    written = cli_runner().invoke(main, [*line, "-o", str(path)])
    assert written.exit_code == 0
    copied = anndata.read_h5ad(path)
    assert copied.obs["consensus"].isna().any()
    assert copied.obsm["consensus_memberships"].shape == (150, 5)
    assert copied.uns["consensus"]["params"]["min_certainty"] == 1


def test_the_command_line_says_how_many_were_left_out(tmp_path):
    run, path = cli_runner(), written(tmp_path)
    line = ["consensus", str(path), "-k", "3", "-m", "eac", "--seed", "0"]
    expected = consensus(RUNS, 3, "eac", random_state=0, min_certainty=0.6)
    n = int((expected < 0).sum())
    found = run.invoke(main, [*line, "--min-certainty", "0.6"])
    assert f"; {n} not clustered (certainty below 0.6)\n" in found.stderr
    lines = [f"{i},{label}" for i, label in enumerate(expected)]
    assert found.stdout.split()[1:] == lines
    told = run.invoke(main, [*line, "--min-certainty", "0.6", "--json"])
    facts = json.loads(told.stdout)
    assert facts["labels"] == expected.tolist()
    assert facts["n_left_out"] == n
    assert "n_left_out" not in json.loads(run.invoke(main, [*line, "--json"]).stdout)
    several = [*line[:2], "-k", "2,3", *line[4:], "--min-certainty", "0.6", "--json"]
    assert json.loads(run.invoke(main, several).stdout)["n_left_out"][1] == n


def test_objects_of_no_clustering_are_not_called_doubtful(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("a,b\n0,0\n0,0\n1,1\n1,1\n,\n")
    line = ["consensus", str(path), "-k", "2", "--min-certainty", "0.2"]
    told = cli_runner().invoke(main, line)
    assert "; 1 not clustered\n" in told.stderr
    found = cli_runner().invoke(main, [*line, "--json"])
    assert json.loads(found.stdout)["n_left_out"] == 0


def test_the_command_line_leaves_out_in_blocks_and_in_new_objects(tmp_path):
    run = cli_runner()
    np.save(tmp_path / "runs.npy", RUNS)
    line = ["consensus", str(tmp_path / "runs.npy"), "-k", "3", "--seed", "0"]
    line += ["--min-certainty", "0.7", "--engine", "blocks"]
    found = run.invoke(main, [*line, "-o", str(tmp_path / "o.npy")])
    expected = consensus(RUNS, 3, random_state=0, min_certainty=0.7)
    assert np.load(tmp_path / "o.npy").tolist() == expected.tolist()
    words = f"; {(expected < 0).sum()} not clustered (certainty below 0.7)\n"
    assert words in found.stderr
    pytest.importorskip("skops")
    np.savetxt(tmp_path / "X.csv", X, delimiter=",")
    model, data = str(tmp_path / "m.skops"), str(tmp_path / "X.csv")
    line = ["cluster", data, "-k", "3", "--seed", "0", "--min-certainty", "0.9"]
    first = run.invoke(main, [*line, "--model", model]).stdout
    again = run.invoke(main, ["predict", model, data]).stdout
    assert ",-1\n" in first
    assert again.split()[1:] == first.split()[1:]
