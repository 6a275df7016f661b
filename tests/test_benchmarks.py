"""The benchmark program at tiny sizes: it runs, and says what it found."""

import json
import math
import sys

import numpy as np
import pytest
from benchmarks import (
    inputs,
    interleave,
    pce,
    relabelling,
    report,
    results,
    sources,
    walks,
    worker,
)
from benchmarks.__main__ import choose, main
from benchmarks.table import SIZES, Bar, Measurement, Side, measurements
from benchmarks.works import WORKS, scatter
from click.testing import CliRunner

from ensclust import Dendrogram, metrics
from ensclust._methods import METHODS
from ensclust._support.json_files import read_lines

TINY = {m.name: m for m in measurements("tiny")}
CHEAP = {"kind": "nearest", "spec": {"n": 60, "m": 3, "lo": 3, "hi": 5}}
FEATURES = {"n": 60, "m": 2, "lo": 3, "hi": 4, "k": 3, "kind": "KMeans"}
OTHER = {  # whose input is no label matrix
    "product": {"size": 8},
    "generate": FEATURES,
    "scikit-learn loop": FEATURES,
    "plain loop": FEATURES,
    "resampling": FEATURES,
    "consensusclustering": FEATURES,
    "pyckmeans": FEATURES,
    "kemlglearn": FEATURES,
    **dict.fromkeys(("fit", "assign", "products", "block pass"), FEATURES),
    **dict.fromkeys(("mapped products", "faiss", "intelex", "fastkmeans"), FEATURES),
}
PEERS = (
    *("fastcluster", "consensusclustering", "pyckmeans", "kemlglearn"),
    *("faiss", "sklearnex", "fastkmeans"),
)
PARAMS = {
    "agglomerative": {"k": 3},
    "propagate": {"steps": 3},
    "literal loop": {"steps": 3},
    "consensus": {"method": "ecpcs-hc", "n_clusters": 3},
    "coarse consensus": {"method": "ecpcs-hc", "n_clusters": 3, "max_regions": 10},
    "literal ecpcs-mc": {"k": 3},
    **{key: {"k": 3} for key in ("certainty", "memberships", "report")},
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(inputs.CACHE, str(tmp_path_factory.mktemp("inputs")))
        yield


@pytest.mark.parametrize("size", SIZES)
def test_the_table_refers_to_what_exists(size):
    table = measurements(size)
    sides = {(m.name, side.name) for m in table for side in m.sides}
    assert len({m.name for m in table}) == len(table)
    assert len(sides) == sum(len(m.sides) for m in table)
    for m in table:
        assert all(side.work in WORKS for side in m.sides)
        for bar in m.bars:
            name, _, side = (bar.against or bar.side).rpartition(":")
            assert (name or m.name, side) in sides
            assert (m.name, bar.side) in sides
            assert hasattr(results.Result(), bar.quantity)


def test_the_table_has_every_method():
    names = {side.name for side in TINY["methods"].sides}
    assert set(METHODS) <= names


@pytest.mark.parametrize(
    "name", [name for name, work in WORKS.items() if not work.is_self_timed]
)
def test_a_work_is_measured(name, cache):
    package = name.removesuffix(" linkage").replace("intelex", "sklearnex")
    if package in PEERS:
        pytest.importorskip(package, reason="not a dependency of the tests")
    params = OTHER.get(name) or {**CHEAP, **PARAMS.get(name, {})}
    job = {"work": name, "params": params, "touch": 2**16}
    found = worker.main({**job, "measure": "memory"})
    # Figures of memory mean something only in a process that does nothing else.
    assert np.isfinite([found["peak_mb"], found["work_mb"]]).all()
    timed = worker.main({**job, "measure": "time"})
    assert timed["seconds"] > 0
    if found["digest"] is not None:
        assert timed["digest"] == pytest.approx(found["digest"])


def test_the_scatter_of_clusterings_is_the_mean_squared_distance():
    X = inputs.features(50)
    labels = np.random.default_rng(0).integers(0, 4, (50, 3))
    expected = [
        ((X[column == c] - X[column == c].mean(axis=0)) ** 2).sum() / 50
        for column in labels.T
        for c in range(4)
    ]
    assert scatter((labels, X)) == pytest.approx(np.sum(expected) / 3)


def test_ours_and_theirs_have_the_same_result(cache):
    def digest(name, **params):
        job = {"work": name, "params": {**CHEAP, **params}, "measure": "memory"}
        return worker.main(job)["digest"]

    for ours, theirs, params in (
        ("propagate", "literal loop", {"steps": 5}),
        ("intersections", "sparse H^T H", {}),
    ):
        assert digest(ours, **params) == pytest.approx(digest(theirs, **params))


def test_the_program_writes_lines_and_a_report(tmp_path):
    arguments = ["propagate-20", "--size", "tiny", "--repeats", "1"]
    arguments += ["--out", str(tmp_path)]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    lines = read_lines(tmp_path / "measurements.jsonl")
    assert [line["measure"] for line in lines] == ["memory"] * 2 + ["time"] * 2
    for line in lines:
        assert "error" not in line
        assert {"versions", "cores", "load", "size"} <= set(line)
    text = (tmp_path / "report.md").read_text()
    assert "2.5x faster" in text
    assert "not judged" in text


def test_an_unknown_name_is_an_error():
    done = CliRunner().invoke(main, ["nonsense"])
    assert done.exit_code == 2
    assert "nonsense" in done.output
    assert "propagate-20" in done.output


def test_names_are_beginnings():
    assert [m.name for m in choose(list(TINY.values()), ["propagate"])] == [
        "propagate-20",
        "propagate-64",
    ]


def lines_of(**seconds):
    shared = {"measurement": "race", "size": "full", "load": 0.5, "cores": 2}
    shared |= {"processor": "one", "system": "some", "versions": {"numpy": "2"}}
    for side, times in seconds.items():
        yield {**shared, "side": side, "measure": "memory", "peak_mb": 10.0}
        for time in times:
            yield {**shared, "side": side, "measure": "time", "seconds": time}


@pytest.mark.parametrize(("limit", "verdict"), [(2, "yes"), (3, "NO")])
def test_medians_decide_whether_a_bar_is_met(limit, verdict):
    bars = (
        Bar("ours", limit, against="theirs"),
        Bar("ours", 11, "under", None, "peak_mb", "MB"),
    )
    race = Measurement("race", "a race", (Side("ours", ""), Side("theirs", "")), bars)
    lines = list(lines_of(ours=[1, 2, 90], theirs=[5, 5, 5]))
    found = report.tables([race], lines)[0]
    assert [row[-1] for row in found.rows] == [verdict, "yes"]
    assert found.rows[0][4] == "2.50"
    assert "| ours: a race |" in report.markdown(
        [found], report.notes([race], lines), []
    )


def test_a_failed_side_is_reported_and_judges_nothing():
    bars = (Bar("ours", 2, against="theirs"),)
    race = Measurement("race", "a race", (Side("ours", ""), Side("theirs", "")), bars)
    lines = list(lines_of(theirs=[1]))
    lines.append({**lines[0], "side": "ours", "error": "ValueError: no"})
    verdict = results.judge(race, results.collect(lines))[0]
    assert verdict.met is None
    assert math.isnan(verdict.value)
    assert any("ValueError: no" in note for note in report.notes([race], lines))


def turns_of(**sides):
    """Return lines of two works, the seconds of each side as given."""
    for source, seconds in sides.items():
        for second in seconds:
            line = {"source": source, "seconds": second, "peak_mb": 10.0}
            yield {"work": "race", **line}
    yield {"work": "other", "source": "old", "error": "ImportError: no"}


@pytest.mark.parametrize(
    ("new", "mark"), [([1.0, 1.1, 1.1], "time"), ([1.0, 1.1, 1.2], ""), ([0.5], "")]
)
def test_only_what_is_slower_beyond_the_spread_is_marked(new, mark):
    lines = list(turns_of(old=[1.0, 1.0, 1.0], new=new))
    *_, race, other = interleave.report(lines).splitlines()
    assert race.split(" | ")[-1] == f"{mark} |"
    assert "1.000 ±0.000" in race
    assert other.endswith("failed: ImportError: no |")


def test_two_checkouts_are_measured_in_turn(tmp_path):
    lines = tmp_path / "lines.jsonl"
    arguments = ["intersections", "--size", "tiny", "--repeats", "2"]
    arguments += ["--source", str(sources.ROOT), "--out", str(lines)]
    done = CliRunner().invoke(interleave.main, arguments)
    assert done.exit_code == 0, done.output
    assert "| intersections, ensclust |" in done.output
    found = read_lines(lines)
    assert [line["source"] for line in found] == ["old", "new", "new", "old"]
    assert not any("error" in line for line in found)


def test_what_is_no_checkout_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no src/ensclust"):
        sources.environment(tmp_path)


def test_walks_are_counted_and_compared(tmp_path, capsys):
    before = walks.ROOT / "benchmarks" / "results" / "walks" / "before.json"
    assert set(json.loads(before.read_text())["walks"]) == set(walks.WALKS)
    path = tmp_path / "after.json"
    walks.main(["ecpcs-mc", "--json", str(path), "--before", str(before)])
    found = json.loads(path.read_text())["walks"]
    assert set(found) == {"ecpcs-mc"}
    counts = found["ecpcs-mc"]
    for name in walks.COUNTS:
        assert 0 < counts["above support"][name] <= counts["all"][name]
    assert counts["all"]["modules"] == len(counts["modules"])
    text = capsys.readouterr().out
    assert "modules at most 70%, pairs at most 60%" in text
    assert max(map(len, text.splitlines())) <= 80


def test_callers_are_looked_for_below_what_is_not_ours(tmp_path, monkeypatch):
    package = tmp_path / "walked"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_html.py").write_text("def escape():\n    return 1\n")
    (package / "outer.py").write_text(
        "from functools import reduce\n"
        "def walk():\n"
        "    from walked import inner\n"
        "    return reduce(lambda a, b: inner.add(a, b), range(3))\n"
    )
    (package / "inner.py").write_text(
        "from walked._html import escape\n"
        "class Unseen:\n"
        "    value = escape()\n"
        "def add(a, b):\n"
        "    return a + b + escape()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from walked import outer

    counter = walks.Counter(package)
    profile = sys.getprofile()
    try:
        with counter.counting() as counts:
            outer.walk()
    finally:
        sys.setprofile(profile)
    assert counts.pairs == {("outer", "inner"), ("inner", "_html")}
    assert {name for _, name, _ in counts.functions} == {"walk", "add", "escape"}
    found = walks.figures(counts, walks.SUPPORT["flat"])
    assert found["above support"] == {"modules": 2, "functions": 2, "pairs": 1}


FAKE = """
import numpy as np

def lwea(BPs, nClusters, nBase, nRepeat, seed, theta=10):
    return [BPs[:, 0] % nClusters], [0.0]

def lwgp(BPs, nClusters, nBase, nRepeat, seed, theta=10):
    print("LWGP failed on repeat 0: no reason")
    return [np.zeros(len(BPs), int)], [0.0]
"""


@pytest.fixture
def peer(tmp_path, monkeypatch, cache):
    """Put a package pce that has two functions where it is found."""
    package = tmp_path / "peer" / "pce"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "consensus.py").write_text(FAKE)
    monkeypatch.syspath_prepend(package.parent)
    for name in ("pce", "pce.consensus"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield package.parent
    for name in ("pce", "pce.consensus"):
        sys.modules.pop(name, None)


def test_without_pce_nothing_is_measured(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pce, "PEER", "no_such_package")
    pce.main(["--out", str(tmp_path / "out")])
    assert "PYTHONPATH=" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


def test_a_function_that_is_not_compared_is_refused(capsys):
    with pytest.raises(SystemExit):
        pce.main(["--only", "lwea,hgpa"])
    assert "unknown hgpa; use lwea," in capsys.readouterr().err


def test_each_function_of_pce_has_a_method_and_a_reason():
    assert {case.function for case in pce.CASES} == set(pce.WHY)
    assert {case.method for case in pce.CASES} <= set(METHODS)


def test_pce_and_ours_are_compared(peer, tmp_path, monkeypatch):
    spec = {"n": 60, "m": 3, "lo": 3, "hi": 5}
    monkeypatch.setattr(pce, "INPUTS", [("nearest", spec, 3)])
    monkeypatch.setattr(pce, "spawn", pce.measure)
    pce.main(["--out", str(tmp_path), "--only", "lwea,lwgp"])
    rows = json.loads((tmp_path / "pce.json").read_text())["rows"]
    names = [(row["function"], row["setting"]) for row in rows]
    assert names == [(f, s) for f in ("lwea", "lwgp") for s in ("same", "defaults")]
    tree, _, cut, _ = rows
    assert tree["theirs"]["seconds"] > 0
    assert tree["theirs"]["n_clusters"] == 3
    assert -1 <= tree["ari"] <= 1
    assert tree["theirs"]["ari_of_seeds"] is None  # chance has no part in it
    assert cut["ours"]["ari_of_seeds"] is not None
    assert cut["ari"] is None
    assert "LWGP failed on repeat 0: no reason" in cut["theirs"]["error"]
    text = (tmp_path / "pce.md").read_text()
    assert pce.WHY["lwgp"] in text
    assert "LWGP failed on repeat 0: no reason" in text
    assert "kcc" not in text


def test_a_side_that_fails_or_takes_too_much_is_told(peer, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(peer))
    job = {"side": "pce", "name": "mcla", "options": {}, "n_seeds": 1, **CHEAP, "k": 3}
    found = pce.spawn({**job, "out": str(tmp_path / "labels.npy")})
    assert found == {"error": "not in this copy of pce: mcla"}
    monkeypatch.setattr(pce, "MOST_BYTES", 1)
    monkeypatch.setattr(pce, "spawn", pce.measure)
    comparison = pce.Comparison(CHEAP["kind"], CHEAP["spec"], 3, tmp_path)
    row = comparison.row(pce.Case("lwea", "lwea", squares=3))
    assert row["theirs"]["error"].startswith("not run: N x N")
    assert row["ours"]["n_clusters"] == 3


def tree(merges, heights):
    return Dendrogram(np.arange(len(heights) + 1), np.array(merges), np.array(heights))


@pytest.mark.parametrize(("height", "cause"), [
    (0.25, "tie"), (0.25 + 1e-9, "rounding"), (0.5, "neither"),
])  # fmt: skip
def test_trees_that_part_at_one_height_are_tied(height, cause):
    one = tree([(0, 1), (2, 4), (3, 5)], [0.1, 0.25, 0.9])
    other = tree([(0, 1), (3, 4), (2, 5)], [0.1, height, 0.9])
    assert relabelling.tree_cause(one, other) == cause
    assert relabelling.tree_cause(one, one) == "tie"  # cut otherwise at one height


def test_what_relabelling_changes_is_counted():
    labels, k, changed = relabelling.ensemble(0)
    assert not np.array_equal(changed["relabelled"], labels)
    for column, other in zip(labels.T, changed["relabelled"].T, strict=True):
        assert metrics.ari(column, other) == 1.0
    assert sorted(map(tuple, changed["reordered"].T)) == sorted(map(tuple, labels.T))
    assert relabelling.outcome("cvote", labels, k, changed) == []
    everything = {"relabelled": labels[::-1]}  # another ensemble: another partition
    assert relabelling.outcome("kcc", labels, k, everything)[-2] == "relabelled"


def test_walks_of_pce_are_given_where_they_differ_from_the_published():
    rows = np.stack(np.divmod(np.arange(42**2), 42), axis=1)
    assert pce.walks(rows[:-1]) == {}
    assert pce.walks(rows) == {"n_neighbors": 21, "steps": 21}


def test_the_report_beside_pce_is_that_of_its_figures():
    path = pce.RESULTS / "pce.json"
    if not path.exists():
        pytest.skip("no measurements; run: python -m benchmarks.pce")
    text = pce.report(json.loads(path.read_text()))
    again = "run: python -m benchmarks.pce --report-only"
    assert text in path.with_suffix(".md").read_text(), again
