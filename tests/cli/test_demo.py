"""The demo: what it compares, and what it leaves out."""

import json

import numpy as np
import pytest

from conftest import cli_runner
from ensclust._methods import METHODS
from ensclust.cli import main
from ensclust.cli._demo import as_text, run_demo

ROW = {"name": "a method", "nmi": 0.8, "ari": 0.75, "seconds": 0.123}


@pytest.mark.slow
def test_demo_beats_a_single_k_means_and_leaves_out_what_cannot_run(monkeypatch):
    def fail(*_, **__):
        msg = "needs something"
        raise ImportError(msg)

    monkeypatch.setattr(METHODS.method("ecpcs-hc"), "_solve", fail)
    labels, scores, left_out = run_demo(quiet=True)
    assert left_out == {"ecpcs-hc": "needs something"}
    assert "ecpcs-hc" not in labels
    nmi = {row["name"]: row["nmi"] for row in scores}
    assert "ecpcs-hc" not in nmi
    assert nmi["ecpcs-mc"] > nmi["a single k-means"] + 0.03


def test_scores_line_up_below_their_names():
    lines = as_text([ROW], {"mcla": "needs x"}).splitlines()
    assert "mcla                  needs x" in lines
    head, line = (next(x for x in lines if w in x) for w in ("NMI", "a method"))
    assert line.split()[2:] == ["80.0", "75.0", "0.123"]
    assert len(head) == len(line)


def test_the_table_explains_methods_that_score_below_their_inputs():
    inputs, good = {**ROW, "name": "a base clustering"}, {**ROW, "name": "eac"}
    low = [{**ROW, "name": name, "nmi": 0.7} for name in ("kcc", "ecc", "sec")]
    text = " ".join(as_text([inputs, good, *low], {}).split())
    assert "kcc, ecc and sec stay below these inputs" in text
    assert "because papers compare with them" in text
    text = " ".join(as_text([inputs, good, low[0]], {}).split())
    assert "kcc stays below these inputs" in text
    assert "below these inputs" not in as_text([inputs, good], {})


def test_demo_as_json(tmp_path, monkeypatch):
    found = {"truth": np.array([0, 1]), "a method": np.array([0, 0])}
    monkeypatch.setattr(
        "ensclust.cli._demo.run_demo", lambda *, quiet: (found, [ROW], {})
    )
    path = tmp_path / "labels.csv"
    result = cli_runner().invoke(main, ["demo", "--json", "-o", str(path)])
    assert json.loads(result.stdout) == {
        "dataset": "digits",
        "scores": [ROW],
        "left_out": {},
        "output": str(path),
    }
    assert path.read_text() == "object,truth,a method\n0,0,0\n1,1,0\n"
