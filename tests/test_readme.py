"""What the README says is true: its links, its picture, its figures, its commands."""

import re

import numpy as np
import pytest
from docs import make_picture, make_readme
from sklearn.datasets import load_digits

from conftest import ROOT
from ensclust import generate
from ensclust.metrics import ari, nmi

README = make_readme.TARGET.read_text()


def test_every_link_leads_to_a_file():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", README) if ":" not in link]
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


def test_the_picture_is_the_one_that_the_script_draws():
    (picture,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert ROOT / picture == make_picture.TARGET
    assert make_picture.TARGET.stat().st_size < 200_000


def test_the_script_draws_the_picture(tmp_path):
    make_picture.draw(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_shows_runs_that_disagree_and_a_consensus_that_is_right():
    found = make_picture.clusterings()
    assert ari(found["truth"], found["consensus"]) > 0.98
    assert ari(found["truth"], found["k-means"]) < 0.7
    first, *others = found["runs"].T
    assert max(ari(first, other) for other in others) < 0.9


def test_the_lines_of_python_run_and_give_the_figures_beside_them(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    printed = float(capsys.readouterr().out)
    ours, single = map(
        float, re.search(r"# ([\d.]+);.*: ([\d.]+) on av", code).groups()
    )
    assert printed == pytest.approx(ours, abs=0.01)
    # The row of a single k-means in the demo.
    X, y = load_digits(return_X_y=True)
    runs = generate(X, 20, base_k=10, random_state=0)
    scores = [nmi(y, labels) for labels in runs.labels.T]
    assert np.mean(scores) == pytest.approx(single, abs=0.01)


def test_the_commands_of_the_readme_exist():
    from ensclust.cli import main

    lines = re.findall(r"^(?:make|ensclust) ([\w-]+)", README, re.MULTILINE)
    known = set(main.commands) | set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    )
    assert set(lines) <= known
