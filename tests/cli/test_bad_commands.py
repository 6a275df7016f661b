"""Wrong command lines: one line on stderr, status 2, every file as it was."""

import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ensclust
from conftest import cli_runner
from ensclust._support import whole_files
from ensclust.cli import main

RUNS = "a,b,c\n0,0,x\n0,0,x\n1,1,y\n1,0,y\n1,1,y\n0,1,x\n"
FILES = {
    "runs.csv": RUNS,
    "X.csv": "p,q\n" + "".join(f"{i % 7}.5,{i % 5}\n" for i in range(30)),
    "found.csv": "object,cluster\n" + "".join(f"{i},{i % 2}\n" for i in range(6)),
    "two.csv": "k2,k3\n" + "0,1\n" * 6,
    "short.csv": "cluster\n0\n1\n",
    "huge.csv": f"cluster\n0\n{2**62}\n0\n1\n1\n0\n",
    "ragged.csv": "a,b\n1,2\n3\n",
    "empty.csv": "",
    "head.csv": "a,b\n",
    "escape.csv": "\x1b[2Ja,b\x1b[31m\n",
    "large.csv": "p,q\n" + "1e308,-1e308\n" * 30,
    "half.csv": "a,b\n1,1.5\n2,3\n",
    "nan.csv": "p,q\n1,nan\n2,3\n",
    "text.csv": "p,q\nfoo,2\nbar,3\nfoo,4\n",
    "x.xyz": "1,2\n",
    "bad.npy": "no array",
    "bad.npz": "PK\x03\x04",
    "bad.parquet": "PAR1....PAR1",
    "bad.h5ad": "no table",
    "old.csv": "old",
    "old.html": "old",
}

# A command line, and words of its error.
LINES = {
    "cluster X.csv": "Missing option '-k'",
    "cluster X.csv -k": "Option '-k' requires an argument",
    "cluster X.csv -k 2.5": "'2.5' is not a positive integer",
    "consensus runs.csv -k 2 --distinct 0": "'0' is not a number above 0 and at most",
    "consensus runs.csv -k 2 --distinct 1.1": "'1.1' is not a number above 0",
    "consensus runs.csv -k 2 --distinct nan": "'nan' is not a number above 0",
    "consensus runs.csv -k 2 --distinct x": "'x' is not a number above 0",
    "consensus runs.npy -k 2 --distinct 1 --engine blocks -o o.npy": (
        "--distinct needs --engine memory"
    ),
    "cluster X.csv -k 2,x": "'2,x' is not a positive integer, a list such as 2,3,5",
    "cluster X.csv -k 2,3,2": "'2,3,2' contains 2 more than once",
    "cluster X.csv -k 2,99": "-k 99 is larger than the 30 objects",
    "cluster X.csv -k 99 -o old.csv": "-k 99 is larger than the 30 objects",
    "cluster X.csv -k 2 -p steps=a": "-p steps must be",
    "cluster X.csv -k 2 -p steps": "'steps' is not of the form name=value",
    "cluster X.csv -k 2 -p steps=2 -p steps=3": "steps is set to 2 and 3. Set it once",
    "cluster X.csv -k 2 -p weights=1,2 -q -o old.csv": "weights is (2,) for 20",
    "cluster X.csv -k 2 -q --n-clusterings 99999999999": (
        "an ensemble of 99,999,999,999 clusterings of 30 objects needs"
    ),
    "cluster large.csv -k 2 -q": "X holds numbers as large as 1e+308",
    "cluster large.csv -k 2 -q --standardize": "X holds numbers as large as 1e+308",
    "cluster large.npy -k 2 -q --engine blocks -o o.npy": "rows 1 to 30: X holds",
    "cluster X.csv -k 2 --standardize --scale robust": (
        "--standardize and --scale robust differ. Use one of them"
    ),
    "cluster X.csv -k 2 -o ''": "'' is not a valid file name",
    "cluster X.csv -k 2 --n-clusterings a": "'a' is not a valid integer",
    "cluster X.csv -k 2 --base dbscan": "'dbscan' is not kmeans, spectral or a list",
    "cluster X.csv -k 2 --base kmeans,": "'kmeans,' is not kmeans, spectral or a list",
    "cluster X.csv -k 2 --base-k 0": "'0' is not a positive integer or a pair",
    "cluster X.csv -k 2 --base-k 1,2,3": "'1,2,3' is not a positive integer or",
    "cluster X.csv -k 2 --base-k 9,2 -q": "--base-k 9,2 has a lower end",
    "cluster X.csv -k 2 --base-k 99 -q": "--base-k 99 asks for 99 to 99 clusters",
    "cluster X.csv -k 2 --seed 99999999999": "99999999999 is not in the range",
    "cluster X.csv -k 2 --n-jobs 0 -q": "--n-jobs 0 is not supported",
    "cluster X.csv -k 2 --n-jobs a": "'a' is not a valid integer",
    "cluster X.csv -k 2 --columns z": "X.csv has no column 'z'",
    "cluster X.csv -k 2 --columns ''": "X.csv has no columns to use",
    "cluster X.csv -k 2 --id-column z": "X.csv has no column 'z'",
    "cluster X.csv -k 2 -o old.xyz": "old.xyz ends in '.xyz'",
    "cluster X.csv -k 2 -o dir": "dir is a directory; the output must be",
    "cluster X.csv -k 2 -o old.csv/x.csv": "directory old.csv does not exist",
    "cluster X.csv -k 2 -o o.h5ad": "would be a copy of an h5ad input",
    "cluster X.csv -k 2 --report r.txt": "r.txt does not end in .html",
    "cluster X.csv -k 2 --report no/r.html": "directory no does not exist",
    "cluster X.csv -k 2 --engine x": "'x' is not one of 'memory', 'blocks'",
    "cluster X.csv -k 2 --engine blocks -o o.npy": "X.csv cannot be read in blocks",
    "cluster X.npy -k 2 --engine blocks": "- cannot be written in blocks",
    "cluster X.npy -k 2 --engine blocks -o o.csv": "o.csv cannot be written in blocks",
    "cluster X.npy -k 2 --engine blocks -o X.npy": "X.npy is the input",
    "cluster X.npy -k 99 -q --engine blocks -o o.npy": "-k 99 is larger",
    "cluster X.npy -k 2 --engine blocks -o o.npy -m x": "-m x is not supported",
    "cluster X.npy -k 2 --engine blocks -o o.npy -p x=3": "no parameter 'x'",
    "cluster X.npy -k 2 --scheduler threads": "--scheduler needs --engine dask",
    "cluster X.npy -k 2 --engine dask --scheduler x -o o.npy": "--scheduler x is not",
    "cluster bad.npy -k 2 --engine blocks -o o.npy": "bad.npy cannot be read as an",
    "cluster bad.parquet -k 2 --engine blocks -o o.npy": "bad.parquet cannot be read",
    "cluster dir -k 2 --engine blocks -o o.npy": "directory without .parquet files",
    "cluster empty.csv -k 2": "empty.csv is empty",
    "cluster head.csv -k 2": "head.csv has a header line (a, b) but no objects",
    "cluster ragged.csv -k 2": "ragged.csv, line 3: found 1 field, expected 2",
    "cluster nan.csv -k 2": "nan.csv, line 2, column 'q': 'nan' is not a finite",
    "cluster text.csv -k 2": "text.csv, line 2, column 'p': 'foo' is not a finite",
    "cluster dir -k 2": "dir is a directory; expected a file. With --engine",
    "cluster x.xyz -k 2": "x.xyz ends in '.xyz'",
    "cluster bad.npz -k 2": "bad.npz cannot be read as an array",
    "cluster bad.h5ad -k 2": "bad.h5ad cannot be read as h5ad",
    "cluster - -k 2": "<stdin> is empty",
    "consensus runs.csv -k ,": "',' is not a positive integer",
    "consensus runs.csv -k ''": "'' is not a positive integer",
    "consensus runs.csv -k 2,2": "'2,2' contains 2 more than once",
    "consensus runs.csv -k 2,99 -q": "-k 99 is larger than the 6 objects",
    "consensus runs.csv -k 2 --noise x": "'x' is not one of 'missing', 'own-cl",
    "consensus runs.csv -k 2 --min-certainty 2": "2.0 is not in the range 0<=x<=1",
    "cluster X.csv -k 2 --min-certainty x": "'x' is not a valid number",
    "consensus runs.csv -k 2 -p min_certainty=1": "no parameter 'min_certainty' for",
    "split-half runs.csv": "Missing option '-k'",
    "split-half runs.csv -k 2 -n 0": "0 is not in the range x>=1",
    "split-half runs.csv -k 99 -q": "-k 99 is larger than the 6 objects",
    "split-half runs.csv -k 2 -m x": "-m x is not supported",
    "split-half runs.csv -k 2,3": "split-half tests one clustering; -k asks for 2. Use",
    "split-half runs.csv -k x": "'x' is not a positive integer",
    "consensus runs.csv -k 2 --map-of ensemble": "Add --report FILE",
    "cluster X.csv -k 2 --sweep runs.csv": "Add --report FILE",
    "consensus runs.csv -k 2 --report r.html --sweep-columns a": "Add --sweep FILE",
    "consensus runs.csv -k 2 --report r.html --map-of features": (
        "--map-of features needs features: ensclust cluster has them"
    ),
    "cluster X.csv -k 2 --report r.html --map-of components": (
        "--map-of components is for clusterings without features"
    ),
    "report runs.csv old.csv --map-of features": "needs features",
    "consensus runs.npy -k 2 --engine blocks -o o.npy --report r.html --sweep s.csv": (
        "--sweep needs --engine memory"
    ),
    "consensus runs.csv -k 2 --distinct 1 -p weights=1": "weights",
    "consensus runs.csv -k 2 --distinct 1 -p weights=1,2,3,4,5,6,7 -q": (
        "-p weights has 7 numbers for"
    ),
    "consensus runs.csv -k 2 --distinct 1 -p cluster_weights=1,2": (
        "does not fit the clusterings that --distinct keeps"
    ),
    "consensus runs.csv -k 2,3 --report r.html": "--report shows one clustering",
    "consensus runs.csv -k x": "a list such as 2,3,5, lifetime, bic or auto. See",
    "cluster X.csv -k lifetime -m kcc": "lifetime needs -m eac; kcc accepts a number",
    "consensus runs.csv -k 2 --checkpoint c": (
        "--checkpoint needs --engine blocks or dask, or -m ecpcs-hc, eac, srs, wct, "
    ),
    "cluster X.npy -k 2 --checkpoint c --engine blocks -o o.npy": (
        "--checkpoint needs -m ecpcs-hc, eac, srs, wct, lwea or weac. See"
    ),
    "consensus runs.csv -k 2 -m eac --checkpoint c -p checkpoint=d": (
        "checkpoint is set to d and c. Set it once."
    ),
    "consensus runs.csv -k 2 -m eac -q --checkpoint old.csv": (
        "--checkpoint old.csv cannot be used as a directory: File exists"
    ),
    "consensus runs.csv -k 2 -m no.module:Class": "-m no.module:Class cannot be",
    "consensus runs.csv -k 2 -m json:dumps": "-m json:dumps is not a consensus m",
    "consensus runs.npy -k 2 -q --checkpoint old.csv --engine blocks -o o.npy": (
        "--checkpoint old.csv cannot be used as a directory: File exists"
    ),
    "consensus runs.csv -k 2 -q -m eac -p max_memory=a": "-p max_memory must be",
    "consensus runs.csv -k 2 -q -m eac -p checkpoint=old.csv": "cannot be used",
    "consensus runs.csv -k 2 -q -p weights=0,0,0": "weights are all 0",
    "consensus runs.csv -k 2 -q -p weights=1,1e308,1": "as large as 1e+308. Divide",
    "consensus runs.csv -k 2 -q -p base=kmeans": "no parameter 'base' for -p",
    "consensus runs.csv -k 2 -q -m best": (
        '-m best was removed in 0.2: it was not reliably better than "ecpcs-mc". Use '
        "that, or compare several methods with ensclust compare."
    ),
    "consensus half.csv -k 2": "half.csv, line 2, column 'b': '1.5' is not a label",
    "consensus runs.npy -k 2 --columns 7": "runs.npy has no column '7'",
    "consensus runs.npy -k 9 -q --engine blocks -o o.npy": "-k 9 is larger",
    "cluster large.npy -k 2 -q --engine blocks -o o.npy --standardize": (
        "large.npy, rows 1 to 30: X holds numbers as large as 1e+308"
    ),
    "consensus X.npy -k 2 -q --engine blocks -o o.npy": "X.npy, rows 1 to 30: labels[0",
    "select-k runs.csv -k 5-2": "'5-2' is not a range",
    "select-k runs.csv -k 2-99 -q": "-k 7 is larger than the 6 objects",
    "select-k runs.csv -k 2-99999999999": "contains more than 10,000 numbers",
    "select-k runs.csv -m x": "-m x is not supported",
    "select-k half.csv": "half.csv, line 2, column 'b': '1.5' is not a label",
    "compare runs.csv": "Missing option '-k'",
    "compare runs.csv -k 99 -q": "-k 99 is larger than the 6 objects",
    "compare runs.csv -k 2 -q --methods ''": "--methods ''; expected a list",
    "compare runs.csv -k 2 -o dir": "dir is a directory",
    "compare runs.csv -k 2 --truth z": "--truth z is neither a file nor one of",
    "compare runs.csv -k 2 --truth z --columns a": "has no column 'z'",
    "compare runs.csv -k 2 --truth-column z": "--truth-column z needs --truth FILE",
    "compare runs.csv -k 2 --truth ragged.csv": "ragged.csv, line 3",
    "compare runs.csv -k 2 -o runs.csv": "runs.csv is the input",
    "compare ragged.csv -k 2": "ragged.csv, line 3",
    "certainty runs.csv": "Missing argument 'CONSENSUS'",
    "certainty runs.csv none.csv": "none.csv does not exist",
    "certainty runs.csv huge.csv": f"huge.csv: labels holds the number {2**62}",
    "certainty runs.csv two.csv --cluster-column z": "two.csv has no column 'z'",
    "report runs.csv found.csv -o r.txt": "r.txt does not end in .html",
    "report runs.csv found.csv -o no/r.html": "directory no does not exist",
    "report runs.csv short.csv -o old.html": "short.csv has 2 rows for 6 objects",
    "report runs.csv found.csv --truth short.csv -o old.html": "short.csv has 2 rows",
    "report runs.csv found.csv --truth-column z": "Add --truth FILE",
    "report runs.csv found.csv --data-columns z": "Add --data FILE",
    "report runs.csv found.csv --data X.csv -o old.html": "X.csv has 30 rows for 6",
    "report runs.csv found.csv --data nan.csv -o old.html": "nan.csv, line 2, column",
    "info": "Missing argument 'FILE'",
    "info dir": "dir is a directory",
    "info escape.csv": r"a header line (\x1b[2Ja, b\x1b[31m) but no objects",
    "info ragged.csv": "ragged.csv, line 3",
    "info bad.parquet": "bad.parquet cannot be read as Parquet",
    "info half.csv --as labels": "half.csv, line 2, column 'b': '1.5' is not a label",
    "info text.csv --as features": "text.csv, line 2, column 'p': 'foo' is not",
    "info runs.csv --as x": "'x' is not one of 'labels', 'features'",
    "info runs.csv --columns z": "runs.csv has no column 'z'",
    "methods x": "unexpected extra argument",
    "datasets --x": "No such option",
    "demo -o dir": "dir is a directory",
    "demo -o -": "-o - is not supported here",
    "reproduce x": "'x' is not one of 'table1'",
    "reproduce --methods x": "--methods x is not supported",
    "reproduce --methods '' --out o": "--methods ''; expected a list",
    "reproduce --datasets '' --out o": "--datasets ''; expected a list",
    "reproduce --report-only --out o": "o contains no results. Leave out --report-only",
    "reproduce --runs 0": "0 is not in the range",
    "reproduce --out old.csv": "'old.csv' is a file",
    "reproduce --init x": "'x' is not one of 'k-means++'",
    "reproduce --standardize x --out o": "--standardize x is not supported",
    "reproduce table2 --quick --data-home no --out o": "--data-home no is not a dir",
    "reproduce table2 --quick --n-jobs 0 --out o": "--n-jobs 0 is not supported",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make all input files once, because the commands must not change them."""
    path = tmp_path_factory.mktemp("commands")
    for name, text in FILES.items():
        (path / name).write_text(text)
    (path / "dir").mkdir()
    np.save(
        path / "runs.npy", np.array([[0, 0], [0, 0], [1, 1], [1, 0], [1, 1], [0, 1]])
    )
    np.save(path / "X.npy", np.random.default_rng(0).random((30, 2)))
    np.save(path / "large.npy", np.full((30, 2), 1e308))
    return path


def contents(folder):
    found = sorted(folder.rglob("*"))
    return {path: path.read_bytes() if path.is_file() else None for path in found}


@pytest.mark.parametrize("line", LINES)
def test_line(folder, monkeypatch, line):
    monkeypatch.chdir(folder)
    before = contents(folder)
    result = cli_runner().invoke(main, shlex.split(line))
    assert isinstance(result.exception, SystemExit), result.exc_info
    assert (result.exit_code, result.stdout) == (2, "")
    (error,) = result.stderr.splitlines()
    assert error.startswith("ensclust: error: ")
    assert LINES[line] in error
    assert contents(folder) == before


RUN = f"{shlex.quote(sys.executable)} -m ensclust"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("--help >/dev/full", "standard output could not be written: No space left"),
        ("--version >/dev/full", "standard output could not be written: No space left"),
        ("consensus --help >/dev/full", "No space left on device"),
        (
            "consensus runs.csv -k 2 -q >/dev/full",
            "standard output could not be written: No space left",
        ),
        ("consensus - -k 2 <&-", "standard input is closed. Name a file, or pipe"),
        ("consensus runs.csv -k 2 >&-", "standard output is closed. Open it, or name"),
        ("--help >&-", "standard output is closed. Open it, or name an output"),
        ("methods >&-", "standard output is closed. Open it, or name an output"),
    ],
)
def test_streams_that_are_full_or_closed_are_one_line(tmp_path, command, words):
    (tmp_path / "runs.csv").write_text("a,b\n0,0\n0,0\n1,1\n1,1\n")
    shell = ["bash", "-c", f"{RUN} {command}"]
    done = subprocess.run(
        shell, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    said = [line for line in done.stderr.splitlines() if "reading" not in line]
    assert len(said) == 1
    assert words in said[0]


def test_a_closed_stdout_does_not_matter_to_a_file(tmp_path):
    (tmp_path / "runs.csv").write_text("a,b\n0,0\n0,0\n1,1\n1,1\n")
    shell = ["bash", "-c", f"{RUN} consensus runs.csv -k 2 -q -o out.csv >&-"]
    done = subprocess.run(shell, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "out.csv").read_text().startswith("object,cluster\n0,0\n")


def test_a_closed_stdout_is_found_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match="standard output is closed"):
        ensclust.io.check_output("-")


PRINTING = {
    "select-k": ["select-k", "runs.csv"],
    "compare": ["compare", "runs.csv", "-k", "2"],
    "split-half": ["split-half", "runs.csv", "-k", "2"],
    "info": ["info", "runs.csv"],
    "certainty": ["certainty", "runs.csv", "runs.csv"],
    "demo": ["demo", "-o", "o.csv"],
    "consensus --json": ["consensus", "runs.csv", "-k", "2", "-o", "o.csv", "--json"],
}


@pytest.mark.parametrize("case", PRINTING)
def test_what_cannot_be_printed_is_not_begun(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ensclust._support.whole_files.check_stdout", raising_closed)
    result = cli_runner().invoke(main, PRINTING[case])
    assert result.exit_code == 2
    assert "standard output is closed" in result.stderr
    assert list(tmp_path.iterdir()) == []  # runs.csv is not even looked for


def raising_closed():
    whole_files.ClosedOutput().write("")
