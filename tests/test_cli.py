"""The command line: what goes to stdout, what to stderr, and how it ends."""

import inspect
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.datasets import make_blobs

import ensclust
from ensclust import _progress
from ensclust._methods import METHODS
from ensclust.cli import main

SCRIPT = Path(sys.executable).with_name("ensclust")
LABELS = "a,b,c\n0,0,0\n0,0,0\n0,0,1\n1,1,1\n1,1,1\n1,1,2\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command line in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_progress, "PATIENCE", 600.0)  # a slow machine adds no lines
    # click 8.1 mixes the two streams unless told; later versions cannot be told.
    known = inspect.signature(CliRunner).parameters
    runner = CliRunner(**({"mix_stderr": False} if "mix_stderr" in known else {}))
    return lambda *args, **more: runner.invoke(
        main, [str(arg) for arg in args], prog_name="ensclust", **more
    )


@pytest.fixture
def data(tmp_path):
    X, _ = make_blobs(60, n_features=3, centers=3, cluster_std=0.1, random_state=0)
    path = tmp_path / "data.csv"
    np.savetxt(path, X, delimiter=",", header="x,y,z", comments="")
    return path


@pytest.fixture
def labels(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(LABELS)
    return path


def assert_one_error(result, *parts):
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("ensclust: error: ")
    assert result.stderr.count("\n") == 1
    for part in parts:
        assert part in result.stderr


# --- the group


def test_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"ensclust, version {ensclust.__version__}\n"


@pytest.mark.parametrize("args", [[], ["-h"], ["--help"]])
def test_help_lists_the_commands(run, args):
    result = run(*args)
    assert result.exit_code == 0
    for command in ("cluster", "consensus", "methods", "demo"):
        assert f"\n  {command} " in result.stdout


def test_start_up_imports_nothing_heavy():
    code = (
        "import sys, ensclust.cli;"
        "print({'numpy', 'sklearn', 'numba', 'rich'} & set(sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout == "set()\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nosuch"], "No such command 'nosuch'"),
        (["--nosuch"], "No such option"),
        (["cluster", "data.csv"], "Missing option '-k'"),
        (["cluster", "-k", "3"], "Missing argument 'DATA'"),
        (["cluster", "data.csv", "-k", "x"], "'x' is not a valid integer"),
        (["cluster", "data.csv", "-k", "3", "--base-k", "a"], "such as 2,3,5"),
        (["cluster", "data.csv", "-k", "3", "--seed", "-1"], "-1"),
        (["cluster", "data.csv", "-k", "3", "-p", "steps"], "form name=value"),
        (["cluster", "data.csv", "-k", "3", "-p", "n_jobs=2"], "own option, --n-jobs"),
        (["cluster", "data.csv", "-k", "3", "-p", "base=x"], "base cannot be set"),
        (["consensus", "labels.csv", "-k", "2,x"], "'2,x' is not an integer or a list"),
        (["demo", "-o", "-"], "-o - is not possible here"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help(run, args, message):
    assert_one_error(run(*args), message, " --help'.")


# --- bad input


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-k", 0], "Got 0 instead"),
        (["-k", 61], "n_clusters=61 is larger than n_samples=60"),
        (["-k", 3, "-m", "foo"], "method='foo' is not known"),
        (["-k", 3, "-p", "foo=1"], "ecpcs-mc has no parameter 'foo'"),
        (["-k", 3, "-p", "steps=0"], "'steps' parameter"),
        (["-k", 3, "--base-k", "9,2"], "base_k=(9, 2)"),
        (["-k", 3, "--n-clusterings", 0], "'n_clusterings' parameter"),
        (["-k", 3, "--columns", "x,q"], "has no column 'q'"),
        (["-k", 3, "--id-column", "q"], "has no column 'q'"),
        (["-k", 3, "-o", "no/labels.csv"], "there is no directory no"),
        (["-k", 3, "-o", "labels.xyz"], "ends in '.xyz'"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(run, data, tmp_path, args, message):
    assert_one_error(run("cluster", data, *args), message)
    assert list(tmp_path.iterdir()) == [data]


def test_missing_file_is_one_line(run):
    assert_one_error(run("cluster", "nosuch.csv", "-k", 3), "nosuch.csv does not exist")


def test_output_is_checked_before_the_input_is_read(run):
    result = run("cluster", "nosuch.csv", "-k", 3, "-o", "no/labels.csv")
    assert_one_error(result, "no/labels.csv cannot be written")


def test_method_is_checked_before_the_input_is_read(run):
    assert_one_error(run("cluster", "nosuch.csv", "-k", 3, "-m", "foo"), "'foo'")


def test_bad_cell_is_named_by_file_line_and_column(run, tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,2\n3,oops\n")
    result = run("cluster", "data.csv", "-k", 2)
    assert_one_error(result, "data.csv, line 3, column 'y': 'oops'")


def test_old_output_survives_an_error(run, data, tmp_path):
    (tmp_path / "out.csv").write_text("old")
    assert run("cluster", data, "-k", 99, "-o", "out.csv").exit_code == 2
    assert (tmp_path / "out.csv").read_text() == "old"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("two\n  lines"), "ensclust: error: two lines\n"),
        (MemoryError(), "ensclust: error: MemoryError\n"),
        (ImportError("Install it"), "ensclust: error: Install it\n"),
    ],
)
def test_error_of_the_library_is_one_line(run, labels, monkeypatch, error, line):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("ensclust.base.consensus", fail)
    result = run("consensus", labels, "-k", 2)
    assert (result.exit_code, result.stderr) == (2, line)


def test_debug_adds_the_traceback(run):
    result = run("--debug", "cluster", "nosuch.csv", "-k", 3)
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("ensclust: error: nosuch.csv does not exist.\n")


def test_warning_of_the_library_is_one_line(run, tmp_path):
    (tmp_path / "labels.csv").write_text("a,b\n0,0\n0,0\n1,0\n1,0\n")
    result = run("consensus", "labels.csv", "-k", 4, "-m", "ecpcs-hc", "-q")
    assert result.exit_code == 0
    assert result.stderr.startswith("ensclust: warning: ECPCSHC found 2 clusters")
    assert result.stderr.count("\n") == 1


# --- cluster


def test_cluster_prints_csv_and_a_summary_apart(run, data):
    result = run("cluster", data, "-k", 3, "--seed", 7)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:2] == ["object,cluster", "0,0"]
    assert len(lines) == 61
    assert "60 objects" in result.stderr
    assert "seed 7" in result.stderr
    assert "k=3: 3 clusters of 20, 20, 20" in result.stderr


def test_cluster_writes_the_file_and_leaves_stdout_empty(run, data, tmp_path):
    result = run("cluster", data, "-k", 3, "-o", "out.tsv")
    assert result.stdout == ""
    assert "labels written to out.tsv" in result.stderr
    assert (tmp_path / "out.tsv").read_text().startswith("object\tcluster\n0\t0\n")


def test_cluster_finds_the_blobs(run, data, tmp_path):
    _, truth = make_blobs(60, n_features=3, centers=3, random_state=0)
    run("cluster", data, "-k", 3, "-o", "out.npy")
    found = np.load(tmp_path / "out.npy")
    assert found.shape == (60,)
    assert ensclust.metrics.ari(found, truth) == 1.0


def test_quiet_says_nothing(run, data):
    assert run("cluster", data, "-k", 3, "-q").stderr == ""


def test_json_is_all_of_stdout(run, data):
    result = run("cluster", data, "-k", 3, "--json", "--seed", 5)
    facts = json.loads(result.stdout)
    assert result.stderr == ""
    assert sorted(facts.pop("labels")) == [0] * 20 + [1] * 20 + [2] * 20
    assert facts.pop("seconds") > 0
    assert facts == {
        "method": "ecpcs-mc",
        "k": 3,
        "n_clusters": 3,
        "n_objects": 60,
        "sizes": [20, 20, 20],
        "seed": 5,
        "output": None,
    }


def test_json_with_a_file_has_its_path_instead_of_the_labels(run, data, tmp_path):
    facts = json.loads(run("cluster", data, "-k", 3, "--json", "-o", "o.csv").stdout)
    assert facts["output"] == "o.csv"
    assert "labels" not in facts
    assert (tmp_path / "o.csv").exists()


def test_ids_go_to_the_output(run, tmp_path):
    (tmp_path / "data.csv").write_text("x,name\n1,ann\n1.1,bob\n9,cy\n9.1,dan\n")
    result = run("cluster", "data.csv", "-k", 2, "--id-column", "name", "-q")
    assert result.stdout == "object,cluster\nann,0\nbob,0\ncy,1\ndan,1\n"


def test_columns_not_chosen_may_hold_anything(run, tmp_path):
    (tmp_path / "data.csv").write_text('"a,b",c,d\n1,x,0\n1,y,0\n9,x,1\n9,y,1\n')
    result = run("cluster", "data.csv", "-k", 2, "--columns", '"a,b",d', "--json")
    assert json.loads(result.stdout)["labels"] == [0, 0, 1, 1]


def test_standardize_makes_small_columns_count(run, tmp_path):
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=1000, size=40)
    group = np.repeat([0, 1], 20)
    np.save(tmp_path / "data.npy", np.column_stack([noise, group]))
    args = ["cluster", "data.npy", "-k", 2, "--base-k", 2, "--seed", 0, "--json"]
    plain = json.loads(run(*args).stdout)["labels"]
    scaled = json.loads(run(*args, "--standardize").stdout)["labels"]
    assert ensclust.metrics.ari(scaled, group) > 0.9
    assert ensclust.metrics.ari(plain, group) < 0.5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n=3", 3),
        ("n=0.5", 0.5),
        ("n=1e-3", 0.001),
        ("n=true", True),
        ("n=False", False),
        ("n=single", "single"),
        ("n=a=b", "a=b"),
    ],
)
def test_parameter_values_are_numbers_truths_or_text(text, value):
    from ensclust.cli import _parameter

    name, found = _parameter(text)
    assert (name, found, type(found)) == ("n", value, type(value))


def test_parameters_reach_the_method(run, data, monkeypatch):
    made = []
    original = METHODS["ecpcs-hc"].fit
    monkeypatch.setattr(
        METHODS["ecpcs-hc"],
        "fit",
        lambda self, X: made.append(self) or original(self, X),
    )
    args = ["-m", "ecpcs-hc", "-p", "steps=7", "-p", "linkage=single", "--n-jobs", 1]
    result = run(
        "cluster", data, "-k", 3, "--base-k", "3,5", "--n-clusterings", 4, *args
    )
    assert result.exit_code == 0
    settings = made[0].get_params()
    assert settings["steps"] == 7
    assert settings["linkage"] == "single"
    assert settings["base_k"] == (3, 5)
    assert settings["n_clusterings"] == 4
    assert settings["n_jobs"] == 1


# --- consensus


@pytest.mark.parametrize("method", METHODS)
def test_consensus_runs_every_method(run, labels, method):
    result = run("consensus", labels, "-k", 2, "-m", method, "-q")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 7


@pytest.mark.parametrize("ks", [["-k", "2,3"], ["-k", "2", "-k", "3"], ["-k", "2,3,2"]])
def test_several_k_give_a_column_each(run, labels, ks):
    result = run("consensus", labels, *ks, "-m", "ecpcs-hc", "-q")
    lines = result.stdout.splitlines()
    assert lines[0] == "object,k2,k3"
    assert [line.split(",")[1] for line in lines[1:]] == list("000111")


def test_json_of_several_k_has_a_list_entry_each(run, labels):
    result = run("consensus", labels, "-k", "2,3", "-m", "ecpcs-hc", "--json")
    facts = json.loads(result.stdout)
    assert facts["k"] == [2, 3]
    assert facts["n_clusters"] == [2, 3]
    assert facts["sizes"][0] == [3, 3]
    assert facts["labels"][0] == [0, 0, 0, 1, 1, 1]


def test_reported_seed_repeats_the_result(run, labels):
    first = json.loads(run("consensus", labels, "-k", 2, "--json").stdout)
    again = run("consensus", labels, "-k", 2, "--json", "--seed", first["seed"])
    assert json.loads(again.stdout)["labels"] == first["labels"]


def test_object_without_any_label_is_counted(run, tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS + "NA,,-1\n")
    result = run("consensus", "labels.csv", "-k", 2)
    assert "1 of 7 objects are in no base clustering" in result.stderr
    assert "; 1 not clustered" in result.stderr
    assert result.stdout.endswith("6,-1\n")


def test_dash_reads_stdin(run):
    result = run("consensus", "-", "-k", 2, "-q", input=LABELS)
    assert result.stdout.splitlines()[0] == "object,cluster"
    assert len(result.stdout.splitlines()) == 7


def test_output_of_one_run_is_input_of_the_next(run, labels):
    run("consensus", labels, "-k", "2,3", "-m", "ecpcs-hc", "-o", "two.csv")
    args = ["--id-column", "object", "-m", "ecpcs-hc", "-q"]
    result = run("consensus", "two.csv", "-k", 2, *args)
    assert [line[-1] for line in result.stdout.splitlines()[1:]] == list("000111")
    assert result.stderr == ""


def test_header_can_be_denied(run, tmp_path):
    (tmp_path / "labels.csv").write_text("a\nb\nb\nb\n")
    result = run("consensus", "labels.csv", "-k", 2, "--no-header", "-q")
    assert len(result.stdout.splitlines()) == 5


# --- methods


def test_methods_shows_every_method_with_its_doi(run):
    result = run("methods")
    for name, method in METHODS.items():
        line = next(x for x in result.stdout.splitlines() if x.split()[:1] == [name])
        assert method.info.title in line
        assert method.info.doi in line


def test_methods_as_json(run):
    facts = json.loads(run("methods", "--json").stdout)
    assert list(facts) == list(METHODS)
    assert set(facts["ecpcs-mc"]) == {"title", "doi", "level", "time", "memory"}


# --- demo


def test_demo_shows_a_table_and_says_where_the_labels_are(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.stderr
    first_words = [
        line.split()[0] for line in result.stdout.splitlines() if line.split()
    ]
    assert set(METHODS) <= set(first_words)
    assert "a single k-means" in result.stdout
    assert "Labels written to ensclust-demo-labels.csv" in result.stdout
    text = (tmp_path / "ensclust-demo-labels.csv").read_text()
    assert text.splitlines()[0] == "object,truth," + ",".join(METHODS)
    assert len(text.splitlines()) == 1798


def test_demo_beats_a_single_k_means_and_leaves_out_what_cannot_run(run, monkeypatch):
    def fail(*_, **__):
        msg = "needs something"
        raise ImportError(msg)

    monkeypatch.setattr(METHODS["ecpcs-hc"], "_fit_all", fail)
    result = run("demo", "--json", "-o", "labels.csv")
    assert "warning: ecpcs-hc is left out: needs something" in result.stderr
    scores = {row["name"]: row for row in json.loads(result.stdout)["scores"]}
    assert "ecpcs-hc" not in scores
    assert scores["ecpcs-mc"]["nmi"] > scores["a single k-means"]["nmi"] + 0.03


# --- progress


def test_work_that_takes_long_gets_a_plain_line(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with _progress.progress("working") as begin:
        begin("part one")
    assert "ensclust: working: part one\n" in capsys.readouterr().err


def test_work_that_is_short_gets_no_line(capsys):
    with _progress.progress("working") as begin:
        begin("part one")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("total", [None, 2])
def test_terminal_gets_a_moving_line(monkeypatch, total):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal)
    with _progress.progress("reading a[1].csv", total=total) as begin:
        begin("part one")
    assert "reading a[1].csv: part one" in terminal.getvalue()


# --- as a process


def test_script_clusters_a_file(data, tmp_path):
    done = subprocess.run(
        [SCRIPT, "cluster", data, "-k", "3", "-o", tmp_path / "o.csv", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 61


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_interrupt_is_one_line_and_130():
    with subprocess.Popen(
        [SCRIPT, "cluster", "-", "-k", "3"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline() == "ensclust: reading -\n"  # it waits for data
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == "ensclust: interrupted\n"
        assert process.wait(timeout=60) == 130


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_reader_that_leaves_early_causes_no_complaint(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(LABELS.splitlines()[0] + "\n" + "0,0,1\n1,1,0\n" * 50_000)
    line = f"'{SCRIPT}' consensus '{path}' -k 2 -q | head -n 1"
    done = subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, check=False
    )
    assert done.stdout == "object,cluster\n"
    assert done.stderr == ""
