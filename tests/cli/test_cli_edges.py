"""Edge cases of commands that some change to the source would break."""

import json
import signal
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import cli_runner
from ensclust._support import progress
from ensclust.cli import _demo, _engines, _info, _options, main

ROWS = "".join(f"{i // 3},{i // 3},{i % 3}\n" for i in range(9))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command line next to some files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "PATIENCE", 600.0)
    X = np.repeat([[0.0, 0], [5, 5]], 6, axis=0) + np.arange(12)[:, None] / 100
    (tmp_path / "runs.csv").write_text(f"a,truth,b\n{ROWS}")
    np.savetxt("X.csv", X, delimiter=",", header="x,y", comments="")
    lines = [f"{x},{y},{'red' if x > 2 else 'blue'}\n" for x, y in X]
    (tmp_path / "mixed.csv").write_text("x,y,colour\n" + "".join(lines))

    def call(command):
        return cli_runner().invoke(main, command.split(), prog_name="ensclust")

    return call


def test_the_truth_may_be_a_column_of_the_labels(run):
    done = run("compare runs.csv -k 3 --methods eac --truth truth --json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["n_clusterings"] == 2


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_has_two_names(run, option):
    done = run(option)
    assert (done.exit_code, done.stdout.split()[0]) == (0, "Usage:")


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("", 0),
        ("--n-clusterings 1", 0),
        ("--n-clusterings 0", 2),
        ("--seed 4294967295", 0),
        ("--seed 4294967296", 2),
        ("--exclude y", 0),
    ],
)
def test_numbers_are_taken_up_to_their_limits(run, more, status):
    done = run(f"cluster X.csv -k 2 --seed 0 -q {more}")
    assert done.exit_code == status, done.stderr
    assert len(done.stdout.splitlines()) == 13 * (status == 0)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ("", 2),
        ("--numeric-only", 0),
        ("--categorical join", 0),
        ("--exclude colour", 0),
    ],
)
def test_columns_of_text_are_refused_unless_it_is_said_what_to_do(run, more, status):
    done = run(f"cluster mixed.csv -k 2 --seed 0 -q {more}")
    assert done.exit_code == status, done.stderr


def test_missing_cells_are_refused_unless_it_is_said_what_to_do(run, tmp_path):
    text = (tmp_path / "X.csv").read_text().splitlines()
    text[3] = text[3].partition(",")[0] + ","
    (tmp_path / "X.csv").write_text("\n".join(text))
    assert run("cluster X.csv -k 2 --seed 0 -q").exit_code == 2
    assert run("cluster X.csv -k 2 --seed 0 -q --missing impute").exit_code == 0
    done = run("cluster X.csv -k 2 --seed 0 -q --missing drop")
    assert len(done.stdout.splitlines()) == 12


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("--model m.skops --categorical join", "--model does not save"),
        ("--model m.skops --missing impute", "--model does not save"),
        ("--engine blocks --exclude y", "need --engine memory"),
        ("--engine blocks --numeric-only", "need --engine memory"),
        ("--engine blocks --missing drop", "need --engine memory"),
        ("--engine blocks --categorical join", "need --engine memory"),
        ("--scheduler threads", "needs --engine dask"),
    ],
)
def test_options_that_do_not_go_together_are_refused(run, more, words):
    done = run(f"cluster X.csv -k 2 --seed 0 {more}")
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_model_labels_objects_into_a_file_and_tells(run, tmp_path):
    pytest.importorskip("skops")
    done = run("cluster X.csv -k 2 --seed 0 -q -o found.csv --model m.skops")
    assert done.exit_code == 0, done.stderr
    done = run("predict m.skops X.csv -o new.csv --json")
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["output"], facts.get("labels")) == ("new.csv", None)
    assert (tmp_path / "new.csv").exists()
    facts = json.loads(run("predict m.skops X.csv --json").stdout)
    assert (facts["output"], len(facts["labels"])) == (None, 12)


@pytest.mark.parametrize("more", ["-q", "--json"])
def test_silence_is_kept_however_long_it_takes(run, monkeypatch, more):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    done = run(f"compare runs.csv -k 3 --methods eac,ecpcs-mc {more}")
    assert (done.exit_code, done.stderr) == (0, "")


def test_methods_are_completed_by_their_first_letters():
    assert _options._complete_method(None, None, "ecpcs-m") == ["ecpcs-mc"]


def test_a_table_is_described_with_examples_and_what_has_no_effect(run, tmp_path):
    path = tmp_path / "mixed.csv"
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([f"{head},one", *(f"{line},7" for line in lines)]))
    done = run("info mixed.csv")
    assert "blue, red" in done.stdout
    assert "Constant, no effect: one." in done.stdout


@pytest.mark.parametrize(("n_values", "expected"), [(4, True), (5, False)])
def test_many_numbers_beside_texts_are_no_labels(n_values, expected):
    columns = [
        {"role": "feature", "type": "integer", "n_values": n_values},
        {"role": "text", "type": "text", "n_values": 3},
    ]
    facts = {"columns": columns, "n_objects": 9}
    assert _info._may_be_labels(facts) is expected


@pytest.mark.parametrize("name", ["X.csv", "runs.csv"])
def test_what_a_file_holds_is_told_by_its_cells(run, name):
    facts = json.loads(run(f"info {name} --json").stdout)
    assert facts["content"] == {"X.csv": "features", "runs.csv": "labels"}[name]


def test_a_line_is_between_the_base_clusterings_and_the_methods_of_the_demo():
    scores = [
        {"name": f"m{i}", "nmi": 0.5, "ari": 0.25, "seconds": 1} for i in range(4)
    ]
    lines = _demo.as_text(scores, {}).splitlines()[3:8]
    assert [line[:2] for line in lines] == ["m0", "m1", "", "m2", "m3"]
    assert lines[0].split() == ["m0", "50.0", "25.0", "1.000"]


def test_starting_workers_leaves_the_handler_of_interrupts_as_it_was():
    seen = []

    def cluster(**_):
        seen.append(signal.getsignal(signal.SIGINT))
        return nullcontext()

    distributed = SimpleNamespace(LocalCluster=cluster, Client=lambda _: nullcontext())
    before = signal.getsignal(signal.SIGINT)
    with _engines._processes(distributed):
        assert signal.getsignal(signal.SIGINT) is before
    assert seen == [signal.SIG_IGN]


def test_a_report_has_the_names_of_columns_and_of_its_source(run, tmp_path):
    pytest.importorskip("plotly")
    done = run("consensus runs.csv -k 3 --seed 0 -q -o found.csv")
    assert done.exit_code == 0, done.stderr
    (tmp_path / "zoo.csv").write_text(f"a,zebra,b\n{ROWS}")
    done = run("report zoo.csv found.csv -q -o page.html")
    assert done.exit_code == 0, done.stderr
    assert '"zebra"' in (tmp_path / "page.html").read_text()
    command = "consensus - -k 3 --seed 0 -q -o found.csv --report page.html"
    done = cli_runner().invoke(main, command.split(), input=f"a,truth,b\n{ROWS}")
    assert done.exit_code == 0, done.stderr
    assert "<title>Standard input" in (tmp_path / "page.html").read_text()


def test_columns_of_anndata_are_not_replaced_by_a_comparison(run):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    runs = pandas.DataFrame({name: list("xxyy") for name in ("a", "b", "eac")})
    adata = anndata.AnnData(np.ones((4, 2), np.float32), obs=runs.rename(index=str))
    adata.write_h5ad("cells.h5ad")
    done = run("compare cells.h5ad --columns a,b -k 2 --methods eac -o new.h5ad")
    assert done.exit_code == 2
    assert "eac" in done.stderr
