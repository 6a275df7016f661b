"""The code on the pages of docs/ runs, and prints what the pages show."""

import doctest
import re
import shlex
import shutil
import subprocess
import sys
import textwrap

import pytest
from click.testing import CliRunner

from conftest import ROOT, pages
from ensclust.cli import main

BLOCK = re.compile(r"^```(\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
CODE = re.compile(r"^ *>>> |^```(python|console)", re.MULTILINE)
PAGES = [path for path in pages() if CODE.search(path.read_text())]


def run_python(code, names):
    """Run a block, keep its names, and return what went otherwise than shown."""
    test = doctest.DocTestParser().get_doctest(code, names, "page", None, 0)
    report = []
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=report.append, clear_globs=False)
    names.update(test.globs)
    return "".join(report)


def run_commands(block):
    """Run the commands of ours, and return those that print something else."""
    report = ""
    for given in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = given.partition("\n")
        program, *args = shlex.split(command)
        if program != "ensclust":
            continue
        found = CliRunner().invoke(main, args, prog_name="ensclust").output
        if timeless(expected).split() != timeless(found).split():
            report += f"$ {command}\nexpected:\n{expected}\ngot:\n{found}\n"
    return report


def timeless(output):
    """Return what a command printed without progress and seconds."""
    output = re.sub(r"^ensclust: (?!error|warning).*\n", "", output, flags=re.MULTILINE)
    return re.sub(r"\b\d+\.\d\d( s\b|$)", "", output, flags=re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_code_of_a_page_prints_what_the_page_shows(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names = {}
    for language, block in BLOCK.findall(path.read_text()):
        if language == "console":
            report = run_commands(block)
        elif language == "python" or ">>> " in block:
            assert ">>> " in block, f"this block is not run:\n{block}"
            report = run_python(textwrap.dedent(block), names)
        else:
            continue
        assert not report, report


def test_the_r_code_prints_what_the_page_shows(tmp_path):
    """Runs where R, reticulate and a NumPy that it knows are installed."""
    page = (ROOT / "docs" / "guide" / "from-r.md").read_text()
    blocks = [block for language, block in BLOCK.findall(page) if language == "r"]
    assert "virtualenv_create" in blocks.pop(0)
    code, setup = "\n".join(blocks), 'use_virtualenv("r-ensclust", required = TRUE)'
    assert setup in code
    here = f'use_python("{sys.executable}", required = TRUE)'
    trial = f"library(reticulate)\n{here}\nimport('numpy')$ones(2L) + 1"
    r = shutil.which("Rscript") or pytest.skip("needs R")
    if subprocess.run([r, "-e", trial], capture_output=True, check=False).returncode:
        pytest.skip("needs reticulate, and a NumPy that it knows")
    (tmp_path / "page.R").write_text(code.replace(setup, here))
    found = subprocess.run(
        [r, "page.R"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr
    shown = "\n".join(re.findall(r"^#> (.*)$", code, re.MULTILINE))
    assert found.stdout.split() == shown.split()


def test_there_are_pages_with_code():
    assert len(PAGES) > 5
