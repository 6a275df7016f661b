"""What the commands show: options of reports, lines that fit, and plurals."""

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

import ensclust
from conftest import cli_runner
from ensclust.cli import main

pytest.importorskip("plotly")
X, _ = make_blobs(60, n_features=4, centers=3, random_state=0)
RUNS = ensclust.generate(X, 8, base_k=(2, 6), random_state=0)
LEVELS = ensclust.consensus(RUNS, [2, 3, 4], "ecpcs-hc", random_state=0)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return a function that runs a command in a directory with a few files."""
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(X, columns=[*"pqrs"]).to_csv("x.csv", index=False)
    pd.DataFrame(RUNS.labels, columns=[*"abcdefgh"]).to_csv("r.csv", index=False)
    pd.DataFrame(LEVELS, columns=["k2", "k3", "k4"]).to_csv("s.csv", index=False)

    def go(line):
        result = cli_runner().invoke(main, line.split())
        assert result.exit_code == 0, result.output
        return result

    return go


def shown(path="page.html"):
    """Return the data of a report."""
    page = Path(path).read_text("utf-8")
    begin = page.index('id="data">') + len('id="data">')
    return json.loads(page[begin : page.index("</script>", begin)])


@pytest.mark.parametrize(
    ("line", "maps"),
    [
        ("cluster x.csv -k 3 -q -o l.csv --map-of ensemble", ["ensemble", "features"]),
        ("cluster x.csv -k 3 -q -o l.csv", ["features", "ensemble"]),
        (
            "consensus r.csv -k 3 -q -o l.csv --map-of components",
            ["components", "ensemble"],
        ),
    ],
)
def test_a_report_begins_with_the_map_that_is_asked_for(run, line, maps):
    run(f"{line} --seed 0 --report page.html")
    assert [one["of"] for one in shown()["scatter"]["maps"]] == maps


@pytest.mark.parametrize("line", ["cluster x.csv", "consensus r.csv"])
def test_a_report_shows_clusterings_side_by_side(run, line):
    run(f"{line} -k 3 --seed 0 -q -o l.csv --report page.html --sweep s.csv")
    assert shown()["sweep"]["names"] == ["k2", "k3", "k4"]
    more = "--sweep s.csv --sweep-columns k4,k2"
    run(f"{line} -k 3 --seed 0 -q -o l.csv --report page.html {more}")
    assert shown()["sweep"]["names"] == ["k4", "k2"]


def test_the_sweep_has_the_same_objects(run):
    pd.DataFrame(LEVELS[:50]).to_csv("short.csv", index=False)
    line = "consensus r.csv -k 3 -q -o l.csv --report page.html --sweep short.csv"
    result = cli_runner().invoke(main, line.split())
    assert result.exit_code == 2
    assert "short.csv has 50 rows for 60 objects" in result.stderr


def test_halves_choose_k_themselves(run):
    found = ensclust.split_half(RUNS, "auto", n=2, random_state=0)
    told = json.loads(run("split-half r.csv -k auto -n 2 --seed 0 --json").stdout)
    assert told == found.to_dict() | {"k": "auto", "seed": 0, "n_objects": 60}
    free = run("split-half r.csv -m communities -n 2 --seed 0").stdout
    assert "communities, 2 splits" in free


def test_noise_of_halves_may_be_a_cluster(run):
    labels = RUNS.labels.copy()
    labels[:20] = -1
    pd.DataFrame(labels, columns=[*"abcdefgh"]).to_csv("n.csv", index=False)
    line = "split-half n.csv -k 3 -n 2 --seed 0 --json"
    for noise in ("missing", "own-cluster"):
        ensemble = ensclust.Ensemble(labels, noise=noise)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = ensclust.split_half(ensemble, 3, n=2, random_state=0)
        told = json.loads(run(f"{line} --noise {noise}").stdout)
        assert told["objects"] == expected.to_dict()["objects"]


def test_one_split_has_no_deviation(run):
    text = run("split-half r.csv -k 3 -n 1 --seed 0").stdout
    assert "ecpcs-mc, 1 split\n" in text
    assert re.search(r"NMI +\d\.\d{3} +-\n", text)


def test_weights_are_those_of_the_clusterings_kept(run):
    frame = pd.read_csv("r.csv")
    frame.insert(1, "again", frame["a"])
    frame.to_csv("twice.csv", index=False)
    weights = [5, 1, 2, 1, 1, 1, 3, 1, 1]
    kept = json.loads(run("consensus twice.csv -k 3 --distinct 1 --json").stdout)
    own = [
        w for name, w in zip(frame, weights, strict=True) if name in kept["clusterings"]
    ]
    assert len(own) < len(weights)
    line = "-k 3 --seed 0 --json -m eac -p weights="
    found = run(f"consensus twice.csv --distinct 1 {line}{','.join(map(str, weights))}")
    columns = ",".join(kept["clusterings"])
    same = run(
        f"consensus twice.csv --columns {columns} {line}{','.join(map(str, own))}"
    )
    assert json.loads(found.stdout)["labels"] == json.loads(same.stdout)["labels"]


def test_info_names_the_option_for_redundant_clusterings(run):
    pd.DataFrame({"a": RUNS.labels[:, 0], "b": RUNS.labels[:, 0]}).to_csv("two.csv")
    text = run("info two.csv").stdout
    assert "Identical clusterings, counted separately: a, b." in text
    assert "ensclust consensus --distinct 0.95" in " ".join(text.split())


def test_lines_of_summaries_fit_a_terminal(run):
    chosen = run("select-k r.csv --seed 0")
    texts = [
        run("info r.csv").stdout,
        run("consensus r.csv -k auto --seed 0 --min-certainty 0.9 -o l.csv").stderr,
        chosen.stdout,
        chosen.stderr,
        run("certainty r.csv l.csv").stdout,
        run("compare r.csv -k 3 --methods all --seed 0").stdout,
    ]
    lines = [line for text in texts for line in text.splitlines()]
    told = [line for line in lines if not line.startswith("ensclust: warning")]
    assert max(map(len, told)) <= 80
    joined = " ".join("\n".join(lines).split())
    assert "use ensclust select-k with --data FILE" in joined
    assert "* marks what each criterion suggests" in joined


def test_many_clusters_are_listed_in_several_lines():
    labels = np.arange(200) % 9
    found = str(ensclust.Certainty.of(np.column_stack([labels, labels]), labels))
    assert "in 9 clusters, from 2 base clusterings" in found
    assert max(map(len, found.splitlines())) <= 80
    one = str(ensclust.Certainty.of([[0], [0], [0]], [0, 0, 0]))
    assert "in 1 cluster, from 1 base clustering\n" in one


def test_one_is_not_a_plural(run):
    pd.DataFrame({"only": RUNS.labels[:, 0]}).to_csv("one.csv", index=False)
    assert "60 objects, 1 clustering, " in run("info one.csv").stdout
    alone = run("compare r.csv -k 3 --methods eac --seed 0").stdout
    assert "NMI between the results" not in alone


def test_a_warning_is_given_once(run):
    np.savetxt("numbers.csv", np.vstack([[0, 1], RUNS.labels[:, :2]]), "%d", ",")
    assert run("info numbers.csv").stderr.count("is used as column names") <= 1
