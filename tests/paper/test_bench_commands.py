"""The commands ``reproduce`` and ``datasets``, and what they refuse."""

import gzip
import json
import os
import platform
import shutil
import subprocess
import sys

import numpy as np
import pytest

from conftest import ROOT, cli_runner
from ensclust import datasets
from ensclust._support.json_files import read_lines
from ensclust.cli._paper import datasets as datasets_command
from ensclust.cli._paper import reproduce
from ensclust.paper import _protocol, _records, _report
from ensclust.paper._store import Store

pytestmark = pytest.mark.usefixtures("no_other_data")
RESULTS = ROOT / "benchmarks" / "results"


def run(text, out):
    return cli_runner().invoke(
        reproduce, [*text.split(), "--out", str(out)], catch_exceptions=False
    )


def test_quick_run_writes_tables_and_summary(tmp_path, monkeypatch):
    def load(name, **_):
        if name == "gisette":
            msg = "no source has it"
            raise datasets.DatasetUnavailable(msg)
        return load_really(name)

    load_really = datasets.load
    monkeypatch.setattr(_report.datasets, "load", load)
    arguments = "table1 table2 table3 --quick --runs 1 --datasets wine,gisette -q"
    done = run(arguments + " --methods eac,ecpcs-hc --n-jobs 1", tmp_path)
    assert done.exit_code == 0
    *lines, last = done.stdout.splitlines()
    assert last == str(tmp_path / "summary.md")
    assert lines[0] == "Means over 1 run of wine;"
    head = "NMI true-k NMI best-k ARI true-k ARI best-k"
    assert " ".join(lines[3].split()) == head
    assert [line.split()[0] for line in lines[4:6]] == ["eac", "ecpcs-hc"]
    assert lines[4].split()[2] == "(86.34)"  # the paper's
    assert max(map(len, lines[:6])) <= 80  # then come paths
    text = (tmp_path / "table2.md").read_text()
    assert "| gisette | true-k | not available" in text
    assert "| gisette |" in (tmp_path / "table1.md").read_text()
    text = (tmp_path / "summary.md").read_text()
    assert "1 run, 1 dataset (wine), 2 methods; not available: gisette" in text
    assert (
        "    ensclust reproduce table1 table2 table3 --datasets wine,gisette "
        "--methods eac,ecpcs-hc --runs 1\n" in text
    )
    assert "\nData: wine from scikit-learn.\n" in text
    with gzip.open(tmp_path / _records.RESULTS, "rt") as file:
        lines = [json.loads(line) for line in file]
    assert [(line["method"], line["criterion"]) for line in lines] == [
        (method, criterion)
        for method in ("eac", "ecpcs-hc")
        for criterion in _protocol.CRITERIA
    ]
    assert {"consensus_seed", "ensemble_seeds", "versions"} <= set(lines[0])
    assert (tmp_path / "work" / ".gitignore").read_text() == "*\n"


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"iris.*wine"):
        run("table2 --datasets iris", tmp_path)


def test_datasets_are_listed():
    text = cli_runner().invoke(datasets_command).stdout
    assert "gisette" in text
    assert "20,000 objects" in text
    facts = json.loads(cli_runner().invoke(datasets_command, ["--json"]).stdout)
    assert facts["wine"]["n_clusters"] == 3


def test_ensembles_of_other_data_are_refused(store, monkeypatch):
    store.ensemble("wine", 0, 10)
    monkeypatch.setattr("ensclust.paper._store.fingerprint", lambda *_: "other")
    with pytest.raises(ValueError, match=r"came from other data called wine.*--out"):
        store.ensemble("wine", 0, 10)


def test_the_command_is_told_with_all_that_decides_results(tmp_path):
    text = "table2 --datasets wine --methods eac --runs 1 --true-k --seed 7"
    text += " --init random --standardize none"
    run(text + " -q --n-jobs 1", tmp_path)
    assert f"    ensclust reproduce {text}\n" in (tmp_path / "summary.md").read_text()


def test_runs_of_other_data_do_not_join(tmp_path):
    text = "table2 --datasets wine --methods eac --true-k -q --n-jobs 1 --runs"
    run(f"{text} 1", tmp_path / "out")
    before = (tmp_path / "out" / _records.RESULTS).read_bytes()
    wine = datasets.load("wine")
    np.savez(tmp_path / "wine.npz", X=wine.X[::-1], y=wine.y[::-1])
    with pytest.raises(ValueError, match=r"results in .*came from other data.*--out"):
        run(f"{text} 2 --data-home {tmp_path}", tmp_path / "out")
    with pytest.raises(ValueError, match=r"results in .*came from other data.*--out"):
        run(f"{text} 1 --data-home {tmp_path}", tmp_path / "out")
    assert (tmp_path / "out" / _records.RESULTS).read_bytes() == before
    run(f"{text} 1 --data-home {tmp_path}", tmp_path / "new")
    text = (tmp_path / "new" / "summary.md").read_text()
    assert "\nData: wine from files in --data-home.\n" in text


def test_other_data_are_fine_while_nothing_was_made_of_them(store, monkeypatch):
    store.settle("wine")
    monkeypatch.setattr("ensclust.paper._store.fingerprint", lambda *_: "other")
    store.settle("wine")
    store.ensemble("wine", 0, 10)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=r"results in .*\(from scikit-learn\) came"):
        store.settle("wine")
    (store.work / "data" / "wine.json").unlink()  # as older versions left it
    with pytest.raises(ValueError, match=r"run-00-0.npz came from other data"):
        store.settle("wine")


def test_only_what_is_used_is_settled(tmp_path, monkeypatch):
    monkeypatch.setattr(_protocol, "FRAGMENT_DATASET", "wine")
    monkeypatch.setattr(_report, "_USED_BY", {"fragments": "wine"})
    run("figure-fragments -q --datasets wine,ecoli", tmp_path)
    text = (tmp_path / "summary.md").read_text()
    assert "Data: wine from scikit-learn.\n" in text


@pytest.mark.slow
def test_committed_tables_are_those_of_the_committed_results(tmp_path, monkeypatch):
    for name in (_records.RESULTS, "time.jsonl.gz", "fragments.json", "summary.json"):
        shutil.copy(RESULTS / name, tmp_path)
    missing = dict.fromkeys(["ctg", "gisette"], "no source has it")
    monkeypatch.setattr(_report, "unavailable", lambda *_: missing)
    done = run("--report-only -q", tmp_path)
    assert done.exit_code == 0
    written = {path.name for path in tmp_path.iterdir()} - {"work"}
    assert {f"table{n}.md" for n in range(1, 6)} | {"figure-time.png"} <= written
    texts = [name for name in written if not name.endswith((".png", ".svg"))]
    for name in texts:
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes(), name


def setting(line):
    return tuple(line[name] for name in (*_records.SETTING, "criterion"))


def scores(line):
    return {measure: line[measure] for measure in _protocol.MEASURES}


# Read before a fixture hides it: the committed results are of these files, whose rows
# for bc are in another order than those of the package.
HOME = os.environ.get("ENSCLUST_DATA")


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"),
    reason="k-means rounds as the BLAS of the machine does",
)
def test_the_committed_scores_come_out_again(tmp_path):
    names, home = ("wine,bc", ["--data-home", HOME]) if HOME else ("wine", [])
    # The results were made with these kernels of OpenBLAS; with others, distances of
    # equal objects differ in the last digit, which moves objects of bc.
    done = subprocess.run(
        [sys.executable, "-m", "ensclust", "reproduce", "table2", "table3", "table4",
         "--true-k", "-q", "--datasets", names, "--runs", "2", "--out", tmp_path,
         *home],
        env={**os.environ, "OPENBLAS_CORETYPE": "Haswell"},
        check=False,
    )  # fmt: skip
    assert done.returncode == 0
    found = {setting(x): scores(x) for x in read_lines(tmp_path / _records.RESULTS)}
    kept = {setting(x): scores(x) for x in read_lines(RESULTS / _records.RESULTS)}
    assert {method for _, _, method, *_ in found} == set(_protocol.METHODS)
    assert found == {key: kept[key] for key in found}


def test_a_directory_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"file.out cannot be written: Not a .*--out\.$"):
        Store(tmp_path / "file" / "out", _protocol.Protocol()).open()
