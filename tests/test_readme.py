"""What the README says is true: its links, its picture, its figures, its commands."""

import re

import numpy as np
import pytest
from docs import make_picture, make_readme
from sklearn.datasets import load_digits

from conftest import ROOT
from ensclust import generate, methods
from ensclust.metrics import ari, nmi

README = make_readme.TARGET.read_text()
EIGHT = 8
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_every_link_leads_to_a_file():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if ":" not in link]
    assert links
    for link in links:
        assert (ROOT / link.partition("#")[0]).exists(), link


def test_the_pictures_are_those_that_the_script_draws():
    shown = re.findall(r'src(?:set)?="([^"]+)"', README)
    assert [ROOT / path for path in shown] == [make_picture.DARK, make_picture.TARGET]
    for path in shown:
        assert (ROOT / path).stat().st_size < 200_000


@pytest.mark.parametrize("dark", [False, True])
def test_the_script_draws_the_picture(tmp_path, dark):
    make_picture.draw(tmp_path / "picture.png", dark=dark)
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_runs_that_disagree_and_a_consensus_that_is_right():
    found = make_picture.clusterings()
    assert ari(found["truth"], found["consensus"]) > 0.98
    assert ari(found["truth"], found["k-means"]) < 0.7
    first, *others = found["runs"].T
    assert max(ari(first, other) for other in others) < 0.9


def test_the_eight_lines_print_what_is_shown_below_them(capsys):
    blocks = BLOCK.findall(README)
    first, more = [code for language, code in blocks if language == "python"]
    assert len([line for line in first.splitlines() if line]) == EIGHT
    names = {}
    exec(compile(first, "README.md", "exec"), names)
    shown = blocks[blocks.index(("python", first)) + 1][1]
    figures = [re.findall(r"[\d.]+", text) for text in (capsys.readouterr().out, shown)]
    ours, theirs = (np.array(found, float) for found in figures)
    np.testing.assert_allclose(ours, theirs, atol=0.011)
    exec(compile(more, "README.md", "exec"), names)
    assert names["labels"].shape == (len(names["X"]),)


def test_a_single_run_is_no_unlucky_one():
    X, digits = load_digits(return_X_y=True)
    single, consensus = map(
        float,
        re.search(r"^k-means ([\d.]+), consensus ([\d.]+)$", README, re.M).groups(),
    )
    runs = generate(X, 20, base_k=10, random_state=0)
    scores = [nmi(digits, labels) for labels in runs.labels.T]
    assert np.mean(scores) == pytest.approx(single, abs=0.015)
    assert max(scores) < consensus


def test_the_number_of_methods_is_right():
    [count] = re.findall(r"^\| consensus methods \| (\d+),", README, re.MULTILINE)
    assert int(count) == len(methods())


def test_the_commands_of_the_readme_exist():
    from ensclust.cli import main

    lines = re.findall(r"^(?:make|ensclust) ([\w-]+)", README, re.MULTILINE)
    known = set(main.commands) | set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    assert set(lines) <= known
