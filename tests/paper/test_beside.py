"""All methods on the paper's runs, in addition to its own tables."""

import json

import numpy as np
import pytest

from conftest import cli_runner
from ensclust import consensus, metrics
from ensclust._methods.table import PAPER
from ensclust._support.json_files import read_lines
from ensclust.cli._paper import reproduce
from ensclust.paper import _beside, _protocol, _store
from ensclust.paper._store import Store

pytestmark = pytest.mark.usefixtures("no_other_data")


def run(text, out):
    arguments = [*text.split(), "--n-jobs", "1", "-q", "--out", str(out)]
    return cli_runner().invoke(reproduce, arguments)


def line(dataset, run, method, nmi, best=None):
    scores = {"true-k": {"nmi": nmi, "ari": nmi / 2}}
    if best is not None:
        scores["best of ten"] = {"nmi": best, "ari": best / 2}
    return {"dataset": dataset, "run": run, "method": method, **scores}


def test_ten_numbers_of_clusters_are_part_of_the_sweep_and_have_the_classes():
    for name in _protocol.DATASETS:
        few = _protocol.few_k(name)
        assert set(few) <= set(_protocol.sweep(name))
        assert _protocol.true_k(name) in few
        assert len(few) == min(10, len(_protocol.sweep(name)))


def test_means_ranks_and_errors_by_hand():
    lines = [
        *(line("wine", r, "ecpcs-hc", x) for r, x in enumerate((80, 90))),
        *(line("wine", r, "kcc", x) for r, x in enumerate((70, 76))),
        line("ecoli", 0, "ecpcs-hc", 60),
        line("ecoli", 0, "kcc", 64),
        line("ecoli", 1, "kcc", 99),  # ecpcs-hc does not have this run
    ]
    nmi, ari = _beside.summarize(lines)
    assert (nmi["measure"], nmi["criterion"], nmi["n_runs"]) == ("nmi", "true-k", 1)
    assert nmi["datasets"] == ["ecoli", "wine"]
    kcc = nmi["methods"]["kcc"]
    assert kcc["score"] == pytest.approx((73 + 64) / 2)
    assert kcc["difference"] == pytest.approx((-12 + 4) / 2)
    assert kcc["difference error"] == pytest.approx(8, abs=1e-3)  # sd of -12, 4: 8 √2
    assert (kcc["rank"], kcc["rank error"]) == (1.5, 0.5)
    assert ari["methods"]["kcc"]["score"] == pytest.approx((73 + 64) / 4, abs=1e-3)


def test_best_of_ten_is_told_of_those_that_have_it():
    lines = [line("wine", 0, "ecpcs-hc", 80, 85), line("wine", 0, "kcc", 70)]
    criteria = [table["criterion"] for table in _beside.summarize(lines)]
    assert criteria == ["true-k", "true-k", "best of ten", "best of ten"]
    assert [*_beside.summarize(lines)[2]["methods"]] == ["ecpcs-hc"]


def test_the_command_compares_all_methods_and_leaves_the_papers_tables(tmp_path):
    arguments = "methods --methods kcc,ecpcs-hc --datasets wine --runs 2"
    done = run(arguments, tmp_path)
    assert done.exit_code == 0, done.output
    assert "NMI true-k" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:6])) <= 80
    assert not (tmp_path / "table2.md").exists()
    assert read_lines(tmp_path / "results.jsonl.gz") == []
    lines = read_lines(tmp_path / "methods.jsonl.gz")
    assert [(own["method"], own["run"]) for own in lines] == [
        ("ecpcs-hc", 0), ("kcc", 0), ("ecpcs-hc", 1), ("kcc", 1)
    ]  # fmt: skip
    text = (tmp_path / "methods.md").read_text()
    assert "## ARI, best of ten" in text
    assert "2 runs of wine." in text
    # What it says is what the method makes of the run's base clusterings.
    store = Store(tmp_path, _protocol.Protocol())
    y = _store.features(store, "wine")[1]
    seed = store.protocol.consensus_seed("wine", 1)
    found = consensus(
        store.ensemble("wine", 1, 20), [2, 3, 4, 5, 6], "kcc", random_state=seed
    )
    scores = [100 * metrics.nmi(y, labels) for labels in found.T]
    assert lines[3]["true-k"]["nmi"] == pytest.approx(scores[1])
    assert lines[3]["best of ten"]["nmi"] == pytest.approx(np.max(scores))


def test_a_report_without_work_keeps_the_comparison(tmp_path):
    run("methods --methods kcc,ecpcs-hc --datasets wine --runs 1", tmp_path)
    before = json.loads((tmp_path / "methods.json").read_text())
    for path in sorted((tmp_path / "work").rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    (tmp_path / "methods.json").unlink()
    assert run("methods --report-only", tmp_path).exit_code == 0
    assert json.loads((tmp_path / "methods.json").read_text()) == before


def test_an_unknown_method_is_refused_with_what_there_is(tmp_path):
    done = run("table2 --methods leiden", tmp_path)
    assert done.exit_code != 0
    assert "--methods" in str(done.exception or done.output)


def test_the_papers_methods_are_one_list():
    assert set(PAPER) == set(_protocol.METHODS)
