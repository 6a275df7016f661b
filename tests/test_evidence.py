"""The evidence benchmark: its datasets, its halves, its arithmetic."""

import hashlib
import json
import shutil
import subprocess

import numpy as np
import pytest
from benchmarks.evidence import __main__ as evidence
from benchmarks.evidence import questions, report, sets
from benchmarks.evidence.sets import HALVES, Dataset


def test_halves_are_parities_of_digests_of_names():
    for one in sets.made():
        number = int(hashlib.sha256(one.name.encode()).hexdigest(), 16)
        assert one.half == HALVES[number % 2]
    assert {one.half for one in sets.made()} == set(HALVES)


def test_there_are_at_least_twenty_made_sets_of_1_to_40_groups():
    found = {one.name: questions.n_classes(one.load(0)[1]) for one in sets.made()}
    assert len(found) >= 20
    assert {min(found.values()), max(found.values())} == {1, 40}


@pytest.mark.parametrize("one", sets.made(), ids=lambda one: one.name)
def test_made_sets_are_the_same_for_a_run_and_others_for_another(one):
    X, y = one.load(0)
    again, other = one.load(0)[0], one.load(1)[0]
    assert len(X) == len(y)
    np.testing.assert_array_equal(X, again)
    assert not np.array_equal(X, other)


@pytest.mark.parametrize("apart", [3, 4, 6])
def test_nearest_centres_of_blobs_are_as_far_apart_as_said(apart):
    X, y = sets.blobs(np.random.default_rng(0), 5, 3, apart, n=200_000)
    centres = np.array([X[y == j].mean(axis=0) for j in range(5)])
    gaps = np.linalg.norm(centres[:, None] - centres, axis=2)
    assert gaps[gaps > 0].min() == pytest.approx(apart, abs=0.05)


def test_of_many_objects_some_are_drawn_by_the_run(tmp_path):
    np.savez(tmp_path / "many.npz", X=np.arange(50.0)[:, None], y=np.arange(50))
    one = Dataset("many", "real", tmp_path / "many.npz")
    X, y = one.load(0, most=20)
    assert X.shape == (20, 1)
    np.testing.assert_array_equal(X[:, 0], y)
    assert not np.array_equal(X, one.load(1, most=20)[0])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="'wine'"):
        sets.datasets([tmp_path], HALVES[0])


def test_a_run_is_scored_at_the_number_of_classes_without_those_of_none():
    X, y = sets.strewn(np.random.default_rng(0), 4, 0.1)
    runs = questions.make(X, y, 0)
    nmi, ari, anmi = questions.score(runs, y, "ecpcs-mc", 0)
    assert nmi > 95
    assert ari > 95
    assert 0 < anmi < 100


def test_effective_numbers_of_equal_clusters_are_their_number():
    labels = np.column_stack([np.arange(60) % k for k in (2, 5, 12)])
    found = questions.weightings(questions.Ensemble(labels))
    np.testing.assert_allclose(found["effective"], [2, 5, 12])
    np.testing.assert_allclose(found["capped k"], [2, 5, np.sqrt(60)])


def _rows(scores):
    """Return lines of two runs of each dataset, the scores of one variant given."""
    return [
        {
            "set": name,
            "kind": "real",
            "run": run,
            "scores": {"a": [10, 1, 0], "b": [10 + gain + run, 2, 0]},
        }
        for name, gain in scores.items()
        for run in range(2)
    ]


def test_gains_are_paired_means_over_runs():
    found = report.Outcome(_rows({"x": 1.0, "y": 3.0, "z": -2.0}), "a")
    np.testing.assert_allclose(found.gains("b", report.NMI), [1.5, 3.5, -1.5])
    np.testing.assert_allclose(found.gains("b", report.ARI), 1)
    gains = np.array([1.5, 3.5, -1.5])
    error = gains.std(ddof=1) / np.sqrt(3)
    expected = f"{gains.mean():+.1f} ± {error:.1f} (2/1)"
    assert report.paired(gains) == expected


def test_best_takes_what_agrees_best_with_the_inputs_of_each_run():
    methods = [f"kmeans, {name}" for name in report.ASKED]
    scores = {name: [j, j, -j] for j, name in enumerate(methods)}
    scores[methods[2]] = [77, 78, 99]
    rows = [{"set": "x", "kind": "real", "run": 0, "scores": scores}]
    found = report.Outcome(rows, methods[0])
    np.testing.assert_array_equal(found.scores["kmeans, best of 4"], [[77, 78, 99]])


def test_confirming_needs_a_committed_choice_and_is_listed(tmp_path, monkeypatch):
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    choice, listed = tmp_path / "choice.json", tmp_path / "confirming.jsonl"
    for name, value in (("ROOT", tmp_path), ("CHOICE", choice), ("LISTED", listed)):
        monkeypatch.setattr(evidence, name, value)

    def do(*words):
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run([git, *who, *words], cwd=tmp_path, check=True)

    do("init", "-q")
    choice.write_text("{}")
    with pytest.raises(SystemExit, match="not committed"):
        evidence.enlist(["weights"])
    do("add", "choice.json")
    do("commit", "-qm", "choice")
    evidence.enlist(["weights"])
    evidence.enlist(["base"])
    rows = [json.loads(line) for line in listed.read_text().splitlines()]
    assert [row["questions"] for row in rows] == [["weights"], ["base"]]
    choice.write_text("{} ")
    with pytest.raises(SystemExit, match="not committed"):
        evidence.enlist(["weights"])


@pytest.mark.parametrize(("variant", "words"), [
    ("kmeans, K, 20, none, ecpcs-hc", "k-means, ECPCS-HC"),
    ("both, 2, 20, effective, ecpcs-mc",
     'k-means and spectral, from 2 clusters, `weights="size"`, ECPCS-MC'),
    ("none, ecpcs-mc", "no scaling, ECPCS-MC"),
    ("tested, eigengap", "tested, eigengap"),
    ("anmi", "anmi"),
])  # fmt: skip
def test_variants_are_spelt_out_on_the_page(variant, words):
    assert report.in_words(variant) == words
