"""The command line: what goes to stdout, what to stderr, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import ensclust
from conftest import cli_runner
from ensclust._methods import METHODS
from ensclust._methods.table import PAPER
from ensclust._support import progress
from ensclust._support.documentation import FAMILIES
from ensclust.cli import main

SCRIPT = Path(sys.executable).with_name("ensclust")
LABELS = "a,b,c\n0,0,0\n0,0,0\n0,0,1\n1,1,1\n1,1,1\n1,1,2\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command line in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "PATIENCE", 600.0)  # a slow machine adds no lines
    return lambda *args, **more: cli_runner().invoke(
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


def process(*args):
    return subprocess.run(args, capture_output=True, text=True, check=False)


# --- the group


def test_version_is_that_of_the_package(run):
    assert run("--version").stdout == f"ensclust, version {ensclust.__version__}\n"


@pytest.mark.parametrize("args", [[], ["-h"], ["--help"]])
def test_help_lists_the_commands(run, args):
    result = run(*args)
    assert result.exit_code == 0
    commands = (
        "cluster",
        "consensus",
        "select-k",
        "compare",
        "split-half",
        "info",
        "methods",
        "demo",
    )
    for command in commands:
        assert f"\n  {command} " in result.stdout


def test_start_up_imports_nothing_heavy():
    heavy = "{'numpy', 'sklearn', 'numba', 'rich'}"
    code = f"import sys, ensclust.cli; print({heavy} & set(sys.modules))"
    assert process(sys.executable, "-c", code).stdout == "set()\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nosuch", "No such command 'nosuch'"),
        ("--nosuch", "No such option"),
        ("cluster data.csv", "Missing option '-k'"),
        ("cluster -k 3", "Missing argument 'DATA'"),
        ("cluster data.csv -k x", "'x' is not a positive integer, a list such as"),
        ("cluster data.csv -k 0", "a list such as 2,3,5, lifetime, bic or auto."),
        ("select-k labels.csv -k 5-2", "'5-2' is not a range such as 2-20"),
        ("cluster data.csv -k 3 extra", "extra argument (extra). See"),
        ("cluster data.csv -k 3 --n-clusterings 0", "0 is not in the range x>=1"),
        ("cluster data.csv -k 3 --base-k a", "such as 5,20"),
        ("cluster data.csv -k 3 --seed -1", "-1 is not in the range 0<=x"),
        ("cluster data.csv -k 3 -p steps", "form name=value"),
        ("cluster data.csv -k 3 -p foo=1", "ecpcs-mc has no parameter 'foo' for -p"),
        (
            "cluster data.csv -k 3 -p n_jobs=2",
            "Its parameters are 'cluster_weights', 'exact', 'steps', 'weights'.",
        ),
        ("consensus labels.csv -k 2,x", "'2,x' is not a positive integer"),
        ("consensus labels.csv -k 3,3", "'3,3' contains 3 more than once"),
        ("compare labels.csv -k 2 -o -", "-o - is not supported here"),
        ("info labels.csv --as text", "'text' is not one of 'labels', 'features'"),
        ("demo -o -", "-o - is not supported here"),
    ],
)
def test_wrong_usage_is_one_line_that_names_the_help(run, line, message):
    assert_one_error(run(*line.split()), message, " --help'.")


# --- bad input


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-k", 61], "-k 61 is larger than the 60 objects"),
        (["-k", 3, "--base-k", "9,2"], "--base-k 9,2"),
        (["-k", 3, "--columns", "x,q"], "has no column 'q'"),
        (["-k", 3, "--id-column", "q"], "has no column 'q'"),
        (["-k", 3, "-o", "no/labels.csv"], "directory no does not exist"),
        (["-k", 3, "-o", "labels.xyz"], "ends in '.xyz'"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(run, data, tmp_path, args, message):
    assert_one_error(run("cluster", data, *args), message)
    assert list(tmp_path.iterdir()) == [data]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "nosuch.csv does not exist"),
        (["-o", "no/labels.csv"], "no/labels.csv cannot be written"),
        (["-m", "foo"], "-m foo is not supported"),
        (["-p", "steps=0"], "-p steps must"),
    ],
)
def test_options_are_checked_before_the_input_is_read(run, args, message):
    assert_one_error(run("cluster", "nosuch.csv", "-k", 3, *args), message)


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

    monkeypatch.setattr("ensclust._methods.driver.solve", fail)
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
    assert result.stderr.startswith("ensclust: warning: ECPCSHC formed 2 of 4 clusters")
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
    assert "k=3: 3 clusters of sizes 20, 20, 20" in result.stderr


def test_cluster_of_several_k_has_a_column_each_and_one_ensemble(run, data):
    args = ["cluster", data, "--seed", 7, "-q", "-k"]
    columns = {}
    for k in ("3", "3,4", "4,3"):
        head, *lines = run(*args, k).stdout.splitlines()
        rows = zip(*(line.split(",") for line in lines), strict=True)
        columns[k] = dict(zip(head.split(","), rows, strict=True))
    assert list(columns["3,4"]) == ["object", "k3", "k4"]
    assert columns["3,4"]["k3"] == columns["4,3"]["k3"] == columns["3"]["cluster"]
    assert columns["3,4"]["k4"] == columns["4,3"]["k4"]
    assert len(set(columns["4,3"]["k4"])) == 4


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


def test_output_is_byte_equal_for_any_number_of_threads(run, tmp_path):
    np.save(tmp_path / "noise.npy", np.random.default_rng(0).random((120, 4)))
    args = ["cluster", "noise.npy", "-k", 5, "-q", "--seed"]
    one, two = (run(*args, 3, "--n-jobs", n_jobs) for n_jobs in (1, 2))
    assert one.exit_code == 0
    assert one.stdout_bytes == two.stdout_bytes
    assert one.stdout_bytes != run(*args, 4).stdout_bytes  # it could have differed


def test_quiet_says_nothing(run, data):
    assert run("cluster", data, "-k", 3, "-q").stderr == ""


def test_json_is_all_of_stdout(run, data):
    result = run("cluster", data, "-k", 3, "--json", "--seed", 5)
    facts = json.loads(result.stdout)
    assert result.stderr == ""
    assert sorted(facts.pop("labels")) == [0] * 20 + [1] * 20 + [2] * 20
    assert facts.pop("seconds") > 0
    found = {"k": 3, "n_clusters": 3, "n_objects": 60, "sizes": [20, 20, 20]}
    assert facts == {**found, "method": "ecpcs-mc", "seed": 5, "output": None}


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
    plain = run(*args, "--scale", "none")
    scaled = json.loads(run(*args, "--standardize").stdout)["labels"]
    assert ensclust.metrics.ari(scaled, group) > 0.9
    assert ensclust.metrics.ari(json.loads(plain.stdout)["labels"], group) < 0.5
    assert "--scale standard gives all the same influence" in plain.stderr
    usual = run(*args)
    assert json.loads(usual.stdout)["labels"] == scaled
    assert "All are scaled; --scale none turns this off" in usual.stderr


def test_parameters_reach_the_method(run, data, monkeypatch):
    method, made = METHODS["ecpcs-hc"], []
    check = method._validate_params
    monkeypatch.setattr(
        method, "_validate_params", lambda self: made.append(self) or check(self)
    )
    args = ["-m", "ecpcs-hc", "-p", "steps=7", "-p", "linkage=single", "--n-jobs", 1]
    args += ["--base-k", "3,5", "--n-clusterings", 4]
    assert run("cluster", data, "-k", 3, *args).exit_code == 0
    expected = {"steps": 7, "linkage": "single", "base_k": (3, 5), "n_clusterings": 4}
    assert made[0].get_params().items() >= {**expected, "n_jobs": 1}.items()


# --- consensus


@pytest.mark.parametrize("method", METHODS)
def test_consensus_runs_every_method(run, labels, method):
    result = run("consensus", labels, "-k", 2, "-m", method, "-q")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 7


def test_several_k_give_a_column_each(run, labels):
    result = run("consensus", labels, "-k", "2,3", "-m", "ecpcs-hc", "-q")
    lines = result.stdout.splitlines()
    assert lines[0] == "object,k2,k3"
    assert [line.split(",")[1] for line in lines[1:]] == list("000111")


def test_distinct_keeps_one_of_each_group(run, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("a,b,c,d\n0,x,0,1\n0,x,1,1\n1,y,0,0\n1,y,1,0\n0,x,1,\n")
    call = ["consensus", path, "-k", "2", "--seed", "0", "--distinct"]
    done = run(*call, "1")
    assert f"{path}: 1 of 4 clusterings left out, each similar to a kept one: b\n" in (
        done.stderr
    )
    expected = run("consensus", path, "-k", "2", "--seed", "0", "--columns", "a,c,d")
    assert done.stdout == expected.stdout
    assert json.loads(run(*call, "1", "--json").stdout)["clusterings"] == [*"acd"]
    assert json.loads(run(*call, "0.8", "--json").stdout)["clusterings"] == [*"ac"]
    usual = run(*call, "0.95", "--json").stdout
    assert json.loads(usual)["clusterings"] == [*"acd"]
    bare = json.loads(run(*call, "--json").stdout)  # no number: 0.95
    assert bare["clusterings"] == [*"acd"]
    nothing = run("consensus", path, "--columns", "a,c", *call[2:], "1")
    assert "0 of 2 clusterings left out, each similar to a kept one\n" in nothing.stderr


def test_distinct_keeps_ids_noise_and_names(run, tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("id,a,b,c\np,0,5,-1\nq,0,5,-1\nr,1,3,2\ns,-1,-1,2\n")
    call = ["consensus", path, "-k", "3", "--seed", "0", "--noise", "own-cluster"]
    done = run(*call, "--distinct", "1")
    assert "1 of 3 clusterings left out" in done.stderr
    assert done.stdout == run(*call, "--exclude", "b").stdout
    assert done.stdout.startswith("object,cluster\np,")


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
    args = ["-m", "ecpcs-hc", "-q"]  # the column "object" is known for what it is
    result = run("consensus", "two.csv", "-k", 2, *args)
    assert [line[-1] for line in result.stdout.splitlines()[1:]] == list("000111")
    assert result.stderr == ""


def test_header_can_be_denied(run, tmp_path):
    (tmp_path / "labels.csv").write_text("a\nb\nb\nb\n")
    result = run("consensus", "labels.csv", "-k", 2, "--no-header", "-q")
    assert len(result.stdout.splitlines()) == 5


# --- the number of clusters


@pytest.mark.parametrize("args", [["cluster", "data.csv"], ["consensus", "runs.csv"]])
def test_auto_finds_the_number_of_clusters(run, data, tmp_path, args):
    runs = np.column_stack([np.repeat(np.arange(k), 60 // k) for k in (3, 6, 12, 15)])
    np.savetxt(tmp_path / "runs.csv", runs, "%d", ",", header="a,b,c,d", comments="")
    result = run(*args, "-k", "auto", "--seed", 0, "--json")
    facts = json.loads(result.stdout)
    assert (facts["k"], facts["n_clusters"]) == ("auto", 3)
    result = run(*args, "-k", "auto", "--seed", 0, "-o", "out.csv")
    assert "k=auto: 3 clusters of sizes 20, 20, 20" in result.stderr


def test_select_k_shows_a_table_with_stars(run, labels):
    result = run("select-k", labels, "-k", "1-3", "--seed", 0)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["k", "anmi"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2", "3"]
    assert result.stdout.count("*") == 6
    assert result.stderr.startswith("ecpcs-hc: k = 2; 6 objects evaluated, ")


def test_select_k_as_json(run, labels):
    result = run("select-k", labels, "-m", "kcc", "-k", "2,3", "--json", "--seed", 7)
    facts = json.loads(result.stdout)
    assert (facts["method"], facts["seed"], facts["best_k"]) == ("kcc", 7, 2)
    assert [row["k"] for row in facts["table"]] == [2, 3]
    assert facts["table"][0]["lifetime"] is None
    assert "lifetime" not in facts["suggested"]


def test_select_k_refuses_more_clusters_than_objects(run, labels):
    assert_one_error(run("select-k", labels, "-k", "2-9"), "-k 7 is larger")


# --- methods and demo


def test_methods_shows_every_method_with_its_doi_under_its_family(run):
    lines = run("methods").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for name, method in METHODS.items():
        at = next(i for i, line in enumerate(lines) if line.split()[:1] == [name])
        about = " ".join(" ".join(lines[at : at + 3]).split())
        assert about.startswith(f"{name} {method.info.title}")
        assert f"time {method.info.time}; doi:{method.info.doi}" in about
        family = next(line for line in lines[at::-1] if not line.startswith(" "))
        assert family == FAMILIES[method.info.family]
    assert sum(line in FAMILIES.values() for line in lines) == len(
        {method.info.family for method in METHODS.values()}
    )


def test_methods_of_no_family_come_last(run, monkeypatch):
    own = replace(METHODS["kcc"].info, family="", doi="", title="Mine")
    monkeypatch.setattr(METHODS.method("kcc"), "info", own)
    *_, title, entry, about = run("methods").stdout.split("\n\n")[0].splitlines()
    assert title == "Others"
    assert entry.split() == ["kcc", "Mine"]
    assert about.strip() == "time F M k per round"


def test_methods_marks_what_is_not_installed(run, monkeypatch):
    line = "  needs pymetis: pip install pymetis\n"
    pytest.importorskip("pymetis")
    assert line not in run("methods").stdout
    monkeypatch.setitem(sys.modules, "pymetis", None)
    n_lacking = sum(method.info.needs == "pymetis" for method in METHODS.values())
    assert run("methods").stdout.count(line) == n_lacking


def test_without_pymetis_the_error_names_both_ways_out(run, labels, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    error = run("consensus", labels, "-k", 2, "-m", "mcla").stderr
    assert "-p partitioner=metis needs pymetis" in error
    assert 'pip install "ensclust[metis]"' in error
    assert "or use -p partitioner=ncut" in error


def test_methods_as_json(run):
    facts = json.loads(run("methods", "--json").stdout)
    assert list(facts) == list(METHODS)
    assert set(facts["ecpcs-mc"]) == {
        "title",
        "doi",
        "level",
        "time",
        "memory",
        "needs",
        "family",
        "is_soft",
        "lacks",
        "free_k",
    }


def test_demo_shows_a_table_and_says_where_the_labels_are(run, tmp_path):
    result = run("demo")
    assert result.exit_code == 0, result.stderr
    assert {*PAPER, "a single k-means"} <= {
        line[:20].strip() for line in result.stdout.splitlines()
    }
    assert "Labels written to ensclust-demo-labels.csv" in result.stdout
    text = (tmp_path / "ensclust-demo-labels.csv").read_text()
    assert text.splitlines()[0] == "object,truth," + ",".join(PAPER)
    assert len(text.splitlines()) == 1798


# --- as a process


@pytest.mark.slow
def test_script_clusters_a_file(data, tmp_path):
    done = process(SCRIPT, "cluster", data, "-k", "3", "-o", tmp_path / "o.csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 61


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_interrupt_is_one_line_and_130():
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([SCRIPT, "cluster", "-", "-k", "3"], **pipes) as running:
        assert running.stderr.readline() == "ensclust: reading standard input\n"
        running.send_signal(signal.SIGINT)
        assert running.stderr.read() == "ensclust: interrupted\n"
        assert running.wait(timeout=60) == 130


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_reader_that_leaves_early_causes_no_complaint(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(LABELS.splitlines()[0] + "\n" + "0,0,1\n1,1,0\n" * 50_000)
    line = f"'{SCRIPT}' consensus '{path}' -k 2 -q | head -n 1"
    done = process("/bin/sh", "-c", line)
    assert done.stdout == "object,cluster\n"
    assert done.stderr == ""
