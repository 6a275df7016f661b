"""Rows of two files belong to the same objects, columns to the same features."""

import numpy as np
import pytest

from conftest import cli_runner
from ensclust.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command beside some files."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    groups = np.arange(60) % 3
    length, weight = groups + rng.normal(0, 0.05, 60), rng.normal(0, 0.05, 60)
    rows = [f"{a:.4f},{b:.4f}" for a, b in zip(length, weight, strict=True)]
    (tmp_path / "X.csv").write_text("length,weight\n" + "\n".join(rows) + "\n")
    runs = [f"o{i},{g},{g},{(g + i) % 3}" for i, g in enumerate(groups)]
    (tmp_path / "runs.csv").write_text("id,a,b,c\n" + "\n".join(runs) + "\n")
    labels = [f"o{i},{g}" for i, g in enumerate(groups)]
    (tmp_path / "found.csv").write_text("object,cluster\n" + "\n".join(labels) + "\n")

    def invoke(*words):
        return cli_runner().invoke(main, words)

    return invoke


def test_predict_matches_the_names_of_the_model_in_any_order(run):
    pytest.importorskip("skops")
    fit = run("cluster", "X.csv", "-k", "3", "-o", "l.csv", "--model", "m.skops")
    assert fit.exit_code == 0, fit.stderr
    one = run("predict", "m.skops", "X.csv", "-q")
    other = run("predict", "m.skops", "X.csv", "--columns", "weight,length", "-q")
    assert one.exit_code == 0, one.stderr
    assert other.stdout == one.stdout


def test_rows_that_only_one_file_names_are_matched_by_position_with_a_warning(run):
    named = run("certainty", "runs.csv", "found.csv")
    assert "by position" not in named.stderr
    some = run("certainty", "runs.csv", "found.csv", "--columns", "a,b")
    assert some.exit_code == 0, some.stderr
    assert "rows of found.csv are matched by position, because" in " ".join(
        some.stderr.split()
    )
    again = run(
        *("certainty", "runs.csv", "found.csv", "--columns", "a,b"),
        *("--id-column", "id"),
    )
    assert "by position" not in again.stderr
