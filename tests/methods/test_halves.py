"""The consensus of two halves of an ensemble."""

import json

import numpy as np
import pytest

import ensclust
from bad_input import refused
from conftest import cli_runner
from ensclust import Ensemble, split_half
from ensclust._methods.base import any_cut_is_fine
from ensclust.cli import main
from ensclust.metrics import ari, ecs, element_similarity, nmi
from strategies import random_ensemble

RUNS = random_ensemble(80, 7, 4, seed=3, noise=0.35)
FOURS = np.random.default_rng(0).integers(0, 4, (80, 2))


def by_hand(ensemble, k, method, n, seed):
    """Return the two consensus clusterings of every split."""
    pairs = []
    for own in np.random.RandomState(seed).randint(2**31 - 1, size=n).tolist():
        draw = np.random.default_rng(own)
        order = draw.permutation(ensemble.n_clusterings)
        middle = (len(order) + 1) // 2
        pair = []
        for half in (np.sort(order[:middle]), np.sort(order[middle:])):
            seed = int(draw.integers(2**31 - 1))
            rows = ensemble.labels[:, half]
            with any_cut_is_fine():
                pair.append(ensclust.consensus(rows, k, method, random_state=seed))
        pairs.append(pair)
    return pairs


@pytest.mark.parametrize("method", ["ecpcs-mc", "eac", "kcc"])
def test_measures_are_those_of_the_consensus_of_each_half(method):
    found = split_half(RUNS, 4, method, n=5, random_state=1)
    pairs = by_hand(RUNS, 4, method, 5, 1)
    assert found.nmi == pytest.approx([nmi(*pair) for pair in pairs])
    assert found.ari == pytest.approx([ari(*pair) for pair in pairs])
    assert found.ecs == pytest.approx([ecs(*pair) for pair in pairs])
    shares = np.mean([element_similarity(*pair) for pair in pairs], axis=0)
    assert found.objects == pytest.approx(shares)
    assert found.mean["ari"] == pytest.approx(found.ari.mean())
    assert found.std["ari"] == pytest.approx(found.ari.std())
    assert (found.method, found.n_clusterings) == (method, 7)


def test_the_result_depends_on_the_seed_and_not_on_threads():
    one = split_half(RUNS, 4, n=4, random_state=5, n_jobs=1)
    two = split_half(RUNS.labels, 4, n=4, random_state=5, n_jobs=3)
    other = split_half(RUNS, 4, n=4, random_state=6)
    assert np.array_equal(one.objects, two.objects)
    assert np.array_equal(one.ari, two.ari)
    assert not np.array_equal(one.ari, other.ari)


def test_equal_clusterings_agree_and_noise_does_not():
    same = Ensemble(np.tile(np.arange(60)[:, None] % 3, 6))
    found = split_half(same, 3, n=3, random_state=0)
    assert found.mean == {"nmi": 1.0, "ari": 1.0, "ecs": 1.0}
    assert found.std == {"nmi": 0.0, "ari": 0.0, "ecs": 0.0}
    assert (found.objects == 1).all()
    assert "0 of 60 objects with an ECS below 0.5, least 1.00" in repr(found)
    noise = np.random.default_rng(0).integers(0, 3, (60, 6))
    assert split_half(noise, 3, n=3, random_state=0).mean["ari"] < 0.3


def test_two_clusterings_are_two_halves():
    labels = FOURS
    found = split_half(labels, 4, n=2, random_state=0)
    assert found.ari == pytest.approx([ari(*labels.T)] * 2)


def test_objects_that_no_half_has_in_a_cluster():
    labels = FOURS.copy()
    labels[0] = -1
    labels[1, 0] = -1
    found = split_half(labels, 4, n=2, random_state=0)
    assert np.flatnonzero(np.isnan(found.objects)).tolist() == [0, 1]
    assert found.ari == pytest.approx([ari(*labels[2:].T)] * 2)
    apart = np.array([[0, -1], [0, -1], [-1, 1], [-1, 1]])
    nobody = split_half(apart, 1, n=2, random_state=0)
    assert np.isnan([*nobody.ecs, *nobody.mean.values(), *nobody.objects]).all()
    assert "no object is in a cluster of both halves" in repr(nobody)
    assert nobody.to_dict()["ecs"] == {"mean": None, "std": None, "splits": [None] * 2}


def test_weights_are_split_with_the_clusterings():
    weights = [1, 0, 2, 1, 0, 1, 1]
    some = RUNS.select(np.array(weights) > 0)
    found = split_half(RUNS, 4, "eac", n=3, random_state=0, weights=weights)
    same = split_half(some, 4, "eac", n=3, random_state=0, weights=[1, 2, 1, 1, 1])
    assert found.n_clusterings == 5
    assert np.array_equal(found.objects, same.objects)
    equal = split_half(some, 4, "eac", n=3, random_state=0)
    assert not np.array_equal(found.objects, equal.objects)
    agreed = split_half(RUNS, 4, n=2, random_state=0, weights="agreement")
    assert agreed.n_clusterings == 7


def test_tables():
    found = split_half(RUNS, 4, n=3, random_state=0)
    table = found.to_pandas()
    assert list(table.columns) == ["nmi", "ari", "ecs"]
    assert table["ecs"].tolist() == found.ecs.tolist()
    assert repr(found).splitlines()[0] == (
        "Consensus of two halves of 7 base clusterings, ecpcs-mc, 3 splits"
    )
    assert max(map(len, repr(found).splitlines())) <= 80
    assert ">ECS<" in found._repr_html_()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: split_half(RUNS.labels[:, :1], 2),
            "labels has 1 base clustering, whi",
        ),
        (
            lambda: split_half(RUNS, 2, weights=[1, 0, 0, 0, 0, 0, 0]),
            "labels has 1 base clustering of a weight above 0, which",
        ),
        (lambda: split_half(RUNS, 2, weights=[1, 2]), r"weights is \(2,\) for 7 base"),
        (lambda: split_half(RUNS, 2, n=0), "n=0; expected an integer >= 1"),
        (lambda: split_half(RUNS, 2, n=1.5), r"n=1\.5; expected an integer"),
        (lambda: split_half(RUNS, 81), "n_clusters=81 is larger than n_samples=80"),
        (lambda: split_half(RUNS, 2, "nosuch"), "method='nosuch' is not supported"),
        (lambda: split_half(RUNS, 2, random_state="x"), "random_state='x'; expected"),
        (lambda: split_half(RUNS, 2, foo=1), "ecpcs-mc has no parameter 'foo'"),
        (lambda: split_half(None, 2), "labels is None"),
    ],
)
def test_wrong_input(call, words):
    refused(call, words)


def test_several_numbers_of_clusters_are_refused():
    refused(lambda: split_half(RUNS, [2, 3]), r"n_clusters=\[2, 3\]; expected one")


def test_the_command(tmp_path):
    path = tmp_path / "runs.csv"
    np.savetxt(path, RUNS.labels, "%d", ",", header=",".join("abcdefg"), comments="")
    line = ["split-half", str(path), "-k", "4", "-n", "3", "--seed", "2"]
    found = split_half(RUNS, 4, n=3, random_state=2)
    shown = cli_runner().invoke(main, [*line, "-m", "ecpcs-mc"])
    assert shown.exit_code == 0
    assert shown.stdout == f"{found}\nseed 2\n"
    told = json.loads(cli_runner().invoke(main, [*line, "--json"]).stdout)
    assert told == found.to_dict() | {"k": 4, "seed": 2, "n_objects": 80}
    alone = cli_runner().invoke(main, [*line, "--columns", "a"])
    assert alone.exit_code == 2
    assert "labels has 1 base clustering, which" in alone.stderr


def test_weights_of_an_estimator_are_split_as_those_of_the_call():
    weights = np.arange(7.0)
    called = split_half(RUNS, 4, "eac", n=3, random_state=0, weights=weights)
    held = split_half(RUNS, 4, ensclust.EAC(weights=weights), n=3, random_state=0)
    np.testing.assert_array_equal(called.ari, held.ari)
    assert held.n_clusterings == 6


def test_an_array_of_weights_of_base_clusters_is_refused():
    weights = np.full(RUNS.n_base_clusters, 0.5)
    with pytest.raises(ValueError, match="cluster_weights cannot be split"):
        split_half(RUNS, 4, n=2, cluster_weights=weights)
