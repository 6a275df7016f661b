"""The command line with real files of every format, first of all as a process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import ensclust
from conftest import cli_runner
from ensclust.cli import main
from ensclust.io import read_labels, write_labels

SCRIPT = Path(sys.executable).with_name("ensclust")
X, TRUTH = make_blobs(90, n_features=3, centers=3, cluster_std=0.1, random_state=0)
LABELS = np.column_stack([TRUTH, (TRUTH + 1) % 3, np.where(TRUTH == 2, -1, TRUTH)])
NAMES = ["a", "b", "c"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def call(*args, status=0):
        done = cli_runner().invoke(main, list(map(str, args)), prog_name="ensclust")
        assert done.exit_code == status, done.output
        return done

    return call


@pytest.fixture
def program(tmp_path):
    """Return a function that does so in a process of its own."""

    def call(*args, status=0, **more):
        command = [SCRIPT, *map(str, args)]
        options = {"cwd": tmp_path, "capture_output": True, "text": True, **more}
        done = subprocess.run(command, check=False, **options)
        assert done.returncode == status, done.stderr
        return done

    return call


def write_input(folder, kind):
    """Write the labels in one format; return the path and how to name its columns."""
    path = folder / f"runs{kind}"
    if kind == ".h5ad":
        anndata = pytest.importorskip("anndata")
        pandas = pytest.importorskip("pandas")
        obs = pandas.DataFrame(LABELS, columns=NAMES, index=map(str, range(90)))
        cells = anndata.AnnData(X, obs=obs)
        cells.obsm["X_blobs"] = X
        cells.write_h5ad(path)
        return path, ["--columns", "a,b,c"]
    write_labels(path, LABELS, names=NAMES)
    return path, []


@pytest.mark.parametrize("kind", [".csv", ".tsv", ".npy", ".npz", ".parquet", ".h5ad"])
def test_every_format_goes_in_and_comes_out(program, tmp_path, kind):
    path, columns = write_input(tmp_path, kind)
    out = tmp_path / f"out{kind}"
    program("consensus", path, *columns, "-k", 3, "--seed", 1, "-o", out)
    named = ["consensus"] if kind == ".h5ad" else None
    found = read_labels(out, columns=named).values[:, 0]
    assert (found == ensclust.consensus(LABELS, 3, random_state=1)).all()


def test_h5ad_embedding_is_clustered_into_a_copy(run, tmp_path):
    path, _ = write_input(tmp_path, ".h5ad")
    run("cluster", path, "--columns", "X_blobs", "-k", 3, "-o", "copy.h5ad")
    found = pytest.importorskip("anndata").read_h5ad(tmp_path / "copy.h5ad")
    assert ensclust.metrics.ari(found.obs["consensus"], TRUTH) == 1.0
    assert list(found.obs.columns) == [*NAMES, "consensus", "consensus_certainty"]
    assert found.obsm["consensus_memberships"].shape == (90, 3)
    assert found.uns["consensus"]["params"]["n_clusterings"] == 20
    assert len(found.uns["consensus"]["agreement"]) == 20


def test_h5ad_copy_tells_what_made_the_base_clusterings(run, tmp_path):
    path, _ = write_input(tmp_path, ".h5ad")
    both = ["--base", "kmeans,spectral", "-o", "copy.h5ad"]
    run("cluster", path, "--columns", "X_blobs", "-k", 3, *both)
    found = pytest.importorskip("anndata").read_h5ad(tmp_path / "copy.h5ad")
    assert list(found.uns["consensus"]["params"]["base"]) == ["kmeans", "spectral"]


def test_h5ad_copy_holds_what_python_writes_for_each_k(run, tmp_path):
    path, columns = write_input(tmp_path, ".h5ad")
    args = [
        "consensus",
        path,
        *columns,
        "--seed",
        1,
        "-p",
        "steps=5",
        "-o",
        "copy.h5ad",
    ]
    facts = json.loads(run(*args, "-k", 2, "--json").stdout)
    anndata = pytest.importorskip("anndata")
    found = anndata.read_h5ad(tmp_path / "copy.h5ad")
    wanted = anndata.read_h5ad(path)
    ensclust.scverse.consensus(
        wanted, NAMES, n_clusters=2, random_state=1, steps=5, key_added="consensus"
    )
    wanted.write_h5ad(tmp_path / "python.h5ad")
    wanted = anndata.read_h5ad(tmp_path / "python.h5ad")
    assert found.obs.equals(wanted.obs)
    assert facts["sizes"] == found.obs["consensus"].value_counts(sort=False).tolist()
    assert facts["sizes"] == [60, 30]
    memberships = "consensus_memberships"
    assert np.array_equal(found.obsm[memberships], wanted.obsm[memberships])
    one, other = found.uns["consensus"], wanted.uns["consensus"]
    assert one.keys() == other.keys()
    assert one["agreement"].equals(other["agreement"])
    assert one["params"].pop("keys").tolist() == other["params"].pop("keys").tolist()
    assert one["params"] == other["params"]
    run(*args, "-k", "2,3")
    found = anndata.read_h5ad(tmp_path / "copy.h5ad")
    assert [*found.uns] == ["consensus_k2", "consensus_k3"]
    assert found.obsm["consensus_k3_memberships"].shape == (90, 3)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["consensus", "runs.h5ad", "-k", 3], "Name those to use in --columns"),
        (["consensus", "runs.h5ad", "-k", 3, "--columns", "z"], "no column 'z'"),
        (["cluster", "runs.h5ad", "-k", 3, "-o", "runs.h5ad"], "is the input. Choose"),
        (["consensus", "no.csv", "-k", 3, "-o", "old.h5ad"], "the input is no.csv"),
        (
            ["compare", "no.csv", "-k", 3, "--methods", "x"],
            "--methods x is not supported",
        ),
        (["cluster", "runs.h5ad", "-k", "lifetime"], "-k lifetime needs -m eac"),
        (["info", "no.parquet"], "no.parquet does not exist"),
    ],
)
def test_error_is_one_line_and_leaves_every_file(program, tmp_path, args, words):
    path, _ = write_input(tmp_path, ".h5ad")
    (tmp_path / "old.h5ad").write_text("old")
    before = path.read_bytes()
    done = program(*args, status=2)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    slow = [line for line in lines if line.startswith("ensclust: reading ")]
    (error,) = (line for line in lines if line not in slow)
    assert error.startswith("ensclust: error: ")
    assert words in error
    assert path.read_bytes() == before
    assert (tmp_path / "old.h5ad").read_text() == "old"
    assert {entry.name for entry in tmp_path.iterdir()} == {"runs.h5ad", "old.h5ad"}


def test_commands_join_by_pipes(tmp_path):
    write_input(tmp_path, ".csv")
    line = f"'{SCRIPT}' consensus runs.csv -k 2,3 -q | '{SCRIPT}' info - --json"
    done = subprocess.run(
        ["/bin/sh", "-c", line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(done.stdout)
    assert [column["name"] for column in facts["columns"]] == ["k2", "k3"]
    assert (facts["n_objects"], facts["has_ids"]) == (90, True)


def test_lifetime_is_a_number_of_clusters_for_eac(run, tmp_path):
    path, _ = write_input(tmp_path, ".csv")
    done = run("consensus", path, "-k", "lifetime", "-m", "eac", "--json", "--seed", 0)
    facts = json.loads(done.stdout)
    assert (facts["k"], facts["n_clusters"]) == ("lifetime", 3)


def test_compare_shows_and_writes_every_method(run, tmp_path):
    path, _ = write_input(tmp_path, ".csv")
    args = ["compare", path, "-k", 3, "--methods", "eac,kcc", "--seed", 2]
    text = run(*args).stdout
    assert "clusters    ANMI   seconds" in text
    for name in ("eac", "kcc"):  # in the table, and in that of the agreement
        assert len(re.findall(rf"^( \d )?{name} ", text, re.MULTILINE)) == 2
    facts = json.loads(run(*args, "--json", "-o", "both.csv").stdout)
    names = [method["name"] for method in facts["methods"]]
    assert sorted(names) == ["eac", "kcc"]
    assert np.shape(facts["agreement"]) == (2, 2)
    assert facts["seed"] == 2
    table = read_labels(tmp_path / "both.csv")
    assert table.columns == tuple(names)
    assert len(table.ids) == 90


def test_compare_with_the_truth_in_a_column_or_a_file(run, tmp_path):
    path, _ = write_input(tmp_path, ".csv")
    args = ["compare", path, "-k", 3, "--methods", "eac,kcc", "--seed", 2, "--json"]
    names = read_labels(path).columns
    others = ["--columns", ",".join(names[1:])]
    inside = json.loads(run(*args, "--truth", names[0]).stdout)
    assert inside == json.loads(run(*args, "--truth", names[0], *others).stdout) | {
        "methods": inside["methods"]  # seconds
    }
    assert inside["n_clusterings"] == len(names) - 1
    file = ["--truth", path, "--truth-column", names[0]]
    outside = json.loads(run(*args, *file, *others).stdout)
    for one, other in zip(inside["methods"], outside["methods"], strict=True):
        assert {*one} == {"name", "n_clusters", "anmi", "nmi", "ari", "ecs", "seconds"}
        assert one | {"seconds": 0} == other | {"seconds": 0}
    without = run(*args[:-1], *others).stdout
    assert " ARI " not in without
    assert " ARI " in run(*args[:-1], *file, *others).stdout


def test_info_tells_labels_from_features(run, tmp_path):
    path, _ = write_input(tmp_path, ".parquet")
    assert "90 objects, 3 clusterings, 8 base clusters" in run("info", path).stdout
    np.save(tmp_path / "X.npy", X)
    assert "90 objects, 3 features" in run("info", "X.npy").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_given(program, shell):
    environment = {**os.environ, "_ENSCLUST_COMPLETE": f"{shell}_source"}
    assert "_ENSCLUST_COMPLETE" in program(env=environment).stdout


@pytest.mark.parametrize(
    ("words", "found"),
    [("ensclust con", "plain,consensus"), ("ensclust consensus -m ecpcs", "ecpcs-mc")],
)
def test_commands_and_methods_are_completed(program, words, found):
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = program(env={**os.environ, "_ENSCLUST_COMPLETE": "bash_complete", **asked})
    assert found in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="pseudo-terminals")
def test_terminal_gets_a_bar_with_the_time_left(tmp_path):
    import pty

    np.save(tmp_path / "X.npy", np.random.default_rng(0).random((40_000, 8)))
    command = [SCRIPT, "cluster", "X.npy", "-k", "5", "-o", "o.npy", "--n-jobs", "1"]
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120"}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": theirs, "cwd": tmp_path}
    with subprocess.Popen(command, env=environment, **pipes) as running:
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
        assert running.wait() == 0
    os.close(ours)
    text = shown.decode()
    assert "clustering 40,000 objects: first centres" in text
    assert " left" in text
    assert "labels written to o.npy" in text


def test_certainty_says_how_far_the_inputs_support_a_result(tmp_path):
    runs, found = tmp_path / "runs.csv", tmp_path / "found.csv"
    runs.write_text("a,b,c\n0,0,0\n0,0,1\n1,1,1\n1,1,1\n")
    found.write_text("object,cluster\n0,0\n1,0\n2,1\n3,1\n")
    result = cli_runner().invoke(main, ["certainty", str(runs), str(found), "--json"])
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    assert facts["clusters"]["consensus"] == pytest.approx([2 / 3, 1])
    assert facts["clusterings"]["name"] == ["a", "b", "c"]
    shown = cli_runner().invoke(main, ["certainty", str(runs), str(found)]).stdout
    assert shown.startswith("Certainty of 4 objects in 2 clusters, from 3 base")


def test_certainty_refuses_what_it_cannot_compare(tmp_path):
    runs, short, wide = (tmp_path / f"{name}.csv" for name in ("runs", "short", "wide"))
    runs.write_text("a,b\n0,0\n0,1\n1,1\n")
    short.write_text("cluster\n0\n1\n")
    wide.write_text("k2,k3\n0,0\n0,1\n1,2\n")
    for path, message in ((short, "has 2 rows"), (wide, "columns k2, k3")):
        result = cli_runner().invoke(main, ["certainty", str(runs), str(path)])
        assert result.exit_code == 2
        assert message in result.stderr
    picked = ["certainty", str(runs), str(wide), "--cluster-column", "k2"]
    assert cli_runner().invoke(main, picked).exit_code == 0


def test_noise_in_a_file_can_be_a_cluster_of_its_own(tmp_path):
    runs = tmp_path / "runs.csv"
    runs.write_text("a,b\n0,0\n0,0\n-1,-1\n-1,-1\n")
    args = ["consensus", str(runs), "-k", "2", "--seed", "0", "-q"]
    left_out = cli_runner().invoke(main, args).stdout
    assert left_out.split() == ["object,cluster", "0,0", "1,0", "2,-1", "3,-1"]
    kept = cli_runner().invoke(main, [*args, "--noise", "own-cluster"]).stdout
    assert kept.split() == ["object,cluster", "0,0", "1,0", "2,1", "3,1"]


def test_names_of_objects_are_found_and_kept(tmp_path):
    runs = tmp_path / "runs.csv"
    rows = [f"cell{i},{i // 5},{i // 5}" for i in range(15)]
    runs.write_text("\n".join(["cells,a,b", *rows]))
    done = cli_runner().invoke(main, ["consensus", str(runs), "-k", "3"])
    assert done.exit_code == 0, done.stderr
    assert done.stdout.split()[1:3] == ["cell0,0", "cell1,0"]
    assert "runs.csv: column 'cells' is used as object names" in done.stderr
    quiet = cli_runner().invoke(main, ["consensus", str(runs), "-k", "3", "-q"])
    assert quiet.stderr == ""


def test_row_numbers_are_no_names_of_objects(tmp_path):
    runs, labels = tmp_path / "runs.csv", tmp_path / "labels.csv"
    names = [f"cell{i}" for i in range(len(LABELS))]
    write_labels(runs, LABELS, names=NAMES, ids=names)
    write_labels(labels, TRUTH)  # with row numbers in place of names
    call = ["certainty", str(runs), str(labels), "--id-column", "object"]
    done = cli_runner().invoke(main, call)
    assert done.exit_code == 0, done.output
    write_labels(labels, TRUTH, ids=names[::-1])
    done = cli_runner().invoke(main, call)
    assert done.exit_code == 2
    assert "object 'cell89' in row 1, where the clusterings have 'cell0'" in done.stderr


def test_tables_fit_a_terminal(run, tmp_path):
    path, _ = write_input(tmp_path, ".csv")
    run("consensus", path, "-k", 3, "-o", "found.csv")
    for line in (
        f"compare {path} -k 3",
        f"select-k {path} -k 2-12",
        f"certainty {path} found.csv",
        "info found.csv",
        "methods",
        "datasets",
    ):
        lines = run(*line.split()).stdout.splitlines()
        assert max(map(len, lines)) <= 80, line


def messy_table(path):
    """Write blobs with names, colours, gaps and a column of nothing."""
    rows = [
        f"plant {i},{a},{'' if i == 4 else b},{'red' if t else 'blue'},{c},"
        for i, ((a, b, c), t) in enumerate(zip(X.tolist(), TRUTH, strict=True))
    ]
    path.write_text("\n".join(["plant,a,b,colour,c,note", *rows]))
    return str(path)


def test_messy_features_are_refused_with_all_their_columns(tmp_path):
    path = messy_table(tmp_path / "messy.csv")
    done = cli_runner().invoke(main, ["cluster", path, "-k", "3"])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    for words in (
        "3 of 6 columns",
        "'b' (1 missing",
        "'colour' (90 text;",
        "'note' (",
        "Leave out columns with --exclude.",
        "leave out with --numeric-only, or",
        "with --categorical join.",
        "--missing drop or --missing impute.",
    ):
        assert words in done.stderr


def test_messy_features_are_clustered_as_told(tmp_path):
    path = messy_table(tmp_path / "messy.csv")
    page = tmp_path / "page.html"
    call = ["cluster", path, "-k", "3", "--seed", "0"]
    call += ["-o", str(tmp_path / "labels.csv"), "--report", str(page)]
    call += ["--missing", "impute", "--categorical", "join"]
    done = cli_runner().invoke(main, call)
    assert done.exit_code == 0, done.stderr
    for words in (
        "'plant' is used as object names",
        "text columns used as base clusterings: colour",
        "1 missing cell filled with medians: b (1)",
        "empty columns left out: note",
    ):
        assert words in done.stderr
    found = read_labels(tmp_path / "labels.csv")
    assert found.ids[0] == "plant 0"
    assert ensclust.metrics.ari(found.values[:, 0], TRUTH) > 0.9  # all but plant 4
    assert page.stat().st_size > 10_000


def test_a_joined_column_is_one_more_base_clustering(tmp_path):
    path = tmp_path / "mixed.csv"
    kinds = np.array(["x", "y", "z"])[TRUTH]
    rows = [f"{a},{kind}" for a, kind in zip(X[:, 0], kinds, strict=True)]
    path.write_text("\n".join(["a,kind", *rows]))
    call = [
        "cluster",
        str(path),
        "-k",
        "3",
        "--seed",
        "0",
        "-q",
        "--n-clusterings",
        "3",
    ]
    done = cli_runner().invoke(main, [*call, "--categorical", "join"])
    assert done.exit_code == 0, done.stderr
    found = [int(line.split(",")[1]) for line in done.stdout.split()[1:]]
    model = ensclust.ECPCSMC(3, n_clusterings=3, random_state=0).fit(X[:, :1])
    labels = np.column_stack([model.ensemble_.labels, TRUTH])
    assert found == ensclust.consensus(labels, 3, random_state=0).tolist()


def test_objects_that_are_dropped_have_no_row(tmp_path):
    path = messy_table(tmp_path / "messy.csv")
    call = ["cluster", path, "-k", "3", "--missing", "drop", "--numeric-only"]
    lines = cli_runner().invoke(main, call).stdout.splitlines()
    assert len(lines) == 90
    assert not [line for line in lines if line.startswith("plant 4,")]
    assert [line for line in lines if line.startswith("plant 5,")]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--exclude", "z"], "has no column 'z'"),
        (["--numeric-only", "--categorical", "join"], "Pass only one of them"),
        (["--missing", "drop", "-o", "c.h5ad"], "do not fit into a copy"),
        (
            ["--missing", "drop", "--engine", "blocks", "-o", "l.npy"],
            "--missing need --engine memory",
        ),
        (["--exclude", "a", "--engine", "dask", "-o", "l.npy"], "need --engine memory"),
    ],
)
def test_cleaning_that_cannot_be_is_refused(tmp_path, options, words, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = messy_table(tmp_path / "messy.csv")
    done = cli_runner().invoke(main, ["cluster", path, "-k", "3", *options])
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr


def test_columns_of_labels_can_be_left_out(tmp_path):
    path, _ = write_input(tmp_path, ".csv")
    call = ["info", str(path), "--exclude", NAMES[0], "--json"]
    facts = json.loads(cli_runner().invoke(main, call).stdout)
    assert [column["name"] for column in facts["columns"]] == NAMES[1:]


def described(path, *options):
    done = cli_runner().invoke(main, ["info", str(path), "--json", *options])
    assert done.exit_code == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["content"] == "table"
    return facts


def test_info_describes_any_table(tmp_path):
    path = tmp_path / "messy.csv"
    messy_table(path)
    facts = described(path)
    assert (facts["n_objects"], facts["has_ids"]) == (90, True)
    columns = {column.pop("name"): column for column in facts["columns"]}
    assert {name: column["role"] for name, column in columns.items()} == {
        "plant": "id",
        "a": "feature",
        "b": "feature",
        "colour": "label",
        "c": "feature",
        "note": "empty",
    }
    assert columns["b"]["n_missing"] == 1
    assert columns["b"]["type"] == "number"
    assert columns["colour"] == {
        "type": "text",
        "n_missing": 0,
        "n_values": 2,
        "examples": ["blue", "red"],
        "role": "label",
    }
    command = next(s for s in facts["suggestions"] if s.startswith("ensclust cluster"))
    words = command.replace(" K ", " 3 ").split()[1:]
    assert cli_runner().invoke(main, words).exit_code == 0


@pytest.mark.parametrize(
    ("text", "roles"),
    [
        (
            "x,y,z\n" + "0.5,a,1\n" * 9 + "1.5,a,2\n",
            "feature,constant,label or feature",
        ),
        ("x,y\n" + "0.5,remark 1\n0.6,remark 2\n0.7,\n" * 2, "feature,label"),
        ("x,y\n0.5,see 1\n0.6,see 2\n0.7,3\n0.8,\n", "feature,text"),
        ("x,y\n0.5,inf\n0.6,2\n0.7,3\n0.8,4\n", "feature,feature"),
    ],
)
def test_info_says_what_columns_could_be(tmp_path, text, roles):
    (tmp_path / "t.csv").write_text(text)
    facts = described(tmp_path / "t.csv", "--as", "table")
    found = ",".join(column["role"] for column in facts["columns"])
    assert found == roles


def test_numbers_beside_texts_are_no_labels(tmp_path):
    rows = [f"{i * 7 % 60},{'ab'[i % 2]},{i % 3}" for i in range(80)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex,ward", *rows]))
    facts = described(tmp_path / "people.csv")
    roles = [column["role"] for column in facts["columns"]]
    assert roles == ["feature", "label", "label or feature"]


def test_info_fits_80_columns_and_keeps_long_tables_short(tmp_path):
    head = ",".join(f"a column with quite a long name, number {i}" for i in range(30))
    head = head.replace(", ", " ")
    rows = "\n".join(",".join(["some text"] * 29 + [f"0.{i}"]) for i in range(5))
    (tmp_path / "wide.csv").write_text(f"{head}\n{rows}\n")
    shown = cli_runner().invoke(main, ["info", str(tmp_path / "wide.csv")]).stdout
    lines = shown.splitlines()[1:]
    table = lines[: next(i for i, line in enumerate(lines) if line.startswith("  *"))]
    assert max(map(len, table)) < 80
    assert table[-1] == "  ... and 10 more"
    assert " ".join(table[0].split()) == (
        "name type missing distinct could be examples"
    )


def test_info_takes_any_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    days = pandas.date_range("2020-01-01", periods=12)
    frame = pandas.DataFrame({"x": np.arange(12) / 7, "day": days, "ok": [True] * 12})
    frame.to_parquet(tmp_path / "t.parquet")
    roles = [column["role"] for column in described(tmp_path / "t.parquet")["columns"]]
    assert roles == ["feature", "text", "constant"]


def test_info_of_labels_without_features_suggests_consensus(tmp_path):
    rows = [f"{'ab'[i % 2]},{'xyz'[i % 3]},{'1.5' if i else 'q'}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["u,v,w", *rows]))
    facts = described(tmp_path / "t.csv", "--as", "table")
    assert facts["suggestions"][-1].endswith("t.csv -k K --columns u,v,w")


def test_info_of_stdin_as_a_table(tmp_path):
    text = Path(messy_table(tmp_path / "messy.csv")).read_text()
    done = cli_runner().invoke(main, ["info", "-", "--as", "table"], input=text)
    assert "90 objects, 6 columns" in done.stdout
