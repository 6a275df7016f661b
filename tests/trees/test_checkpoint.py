"""An interrupted linkage resumes from its checkpoint and gives the same tree."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust import (
    ECPCSHC,
    CoAssociation,
    Ensemble,
    similarity,
)
from ensclust._trees import kept_merges, linkage, routes
from ensclust._trees.linkage import LabelSpace, link
from ensclust._trees.routes import Matrix
from strategies import ensembles, random_ensemble

KINDS = {
    "eac": CoAssociation,
    "enhanced": lambda ens: CoAssociation(
        ens, similarity.propagate(similarity.jaccard(ens))
    ),
    "simrank": lambda ens: CoAssociation(
        ens, similarity.simrank(ens), pairs="all", decay=0.8
    ),
}


class KilledError(Exception):
    """Stands for a kill: nothing is caught, nothing is tidied up."""


def stopped(monkeypatch, operator, path, n_rounds, max_memory=1, kind=LabelSpace):
    """Link with a writing each round, and stop after some; return whether it did."""
    usual, rounds = kind.nearest, []

    def nearest(*args):
        rounds.append(1)
        if len(rounds) > n_rounds:
            raise KilledError
        usual(*args)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "nearest", nearest)
        patch.setattr(kept_merges, "INTERVAL", 0.0)
        try:
            link(operator, max_memory=max_memory, checkpoint=path.parent)
        except KilledError:
            return True
    return False


def same(one, other):
    return np.array_equal(one.merges, other.merges) and np.array_equal(
        one.heights, other.heights
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_a_stopped_linkage_goes_on_where_it_was(tmp_path, monkeypatch, kind, missing):
    labels = random_ensemble(300, 5, 4, 0).labels.copy()
    labels[np.random.default_rng(1).random(labels.shape) < missing] = -1
    labels[:, 0] = np.maximum(labels[:, 0], 0)
    operator, path = KINDS[kind](Ensemble(labels)), tmp_path / "merges.npz"
    whole = link(operator, max_memory=1)
    for n_rounds in (1, 2, 5):
        assert stopped(monkeypatch, operator, path, n_rounds)
        assert path.exists() == (n_rounds > 1 or not missing)
    assert same(link(operator, max_memory=1, checkpoint=path.parent), whole)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.1, 0.4, 0.99])
def test_a_linkage_stopped_before_or_after_a_matrix_gives_the_same_tree(
    tmp_path, monkeypatch, kind, share
):
    operator, path = KINDS[kind](random_ensemble(300, 5, 4, 0)), tmp_path / "merges.npz"
    max_memory = 4 * int(share * len(operator.leaves.counts)) ** 2
    whole = link(operator, max_memory=max_memory)
    for route, n_rounds in ((LabelSpace, 1), (LabelSpace, 2), (Matrix, 0), (Matrix, 3)):
        stopped(monkeypatch, operator, path, n_rounds, max_memory, route)
        assert path.exists() or route is LabelSpace
    again = link(operator, max_memory=max_memory, checkpoint=path.parent)
    assert same(again, whole)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_after_the_change_to_a_matrix_names_what_was_kept(tmp_path, monkeypatch):
    operator = KINDS["enhanced"](random_ensemble(300, 5, 4, 0))
    n_regions = len(operator.leaves.counts) // 3
    options = {"max_memory": 4 * n_regions**2, "checkpoint": tmp_path}
    whole = link(operator, **options)
    pressed = []
    usual = Matrix.nearest

    def nearest(*args):
        pressed.append(True)
        usual(*args)

    monkeypatch.setattr(Matrix, "nearest", nearest)
    held = nullcontext(lambda: bool(pressed))
    monkeypatch.setattr(linkage, "held_interrupts", lambda: held)
    with pytest.raises(KeyboardInterrupt, match="the merges so far are in"):
        link(operator, **options)
    monkeypatch.undo()
    assert same(link(operator, **options), whole)


@given(ensembles(), st.integers(1, 3))
def test_any_ensemble_can_be_stopped(tmp_path_factory, ens, n_rounds):
    path = tmp_path_factory.mktemp("stop") / "merges.npz"
    operator = CoAssociation(ens)
    with pytest.MonkeyPatch.context() as patch:
        stopped(patch, operator, path, n_rounds)
    assert same(link(operator, max_memory=1, checkpoint=path.parent), link(operator))


def test_what_was_merged_is_not_looked_at_again(tmp_path, monkeypatch):
    operator = CoAssociation(random_ensemble(300, 5, 4, 0))
    path = tmp_path / "merges.npz"
    assert stopped(monkeypatch, operator, path, 5)
    monkeypatch.setattr(LabelSpace, "survey", None)
    link(operator, max_memory=1, checkpoint=path.parent)


def test_a_checkpoint_of_other_labels_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "merges.npz"
    assert stopped(monkeypatch, CoAssociation(random_ensemble(300, 5, 4, 0)), path, 3)
    kept = path.read_bytes()
    with pytest.raises(
        ValueError, match="holds merges of other clusterings or parameters"
    ):
        link(
            CoAssociation(random_ensemble(300, 5, 4, 1)),
            max_memory=1,
            checkpoint=path.parent,
        )
    assert path.read_bytes() == kept


def damaged(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    return bytes(data)


@pytest.mark.parametrize(
    "spoil",
    [
        damaged,
        lambda path: path.read_bytes()[:-100],
        lambda _: b"",
        lambda _: b"not a checkpoint",
    ],
)
def test_a_damaged_file_is_never_taken_for_good(tmp_path, monkeypatch, spoil):
    operator, path = (
        CoAssociation(random_ensemble(300, 5, 4, 0)),
        tmp_path / "merges.npz",
    )
    assert stopped(monkeypatch, operator, path, 3)
    path.write_bytes(spoil(path))
    with pytest.raises(ValueError, match="is damaged, or holds no merges"):
        link(operator, max_memory=1, checkpoint=path.parent)


@pytest.mark.parametrize("size", [None, 3])
def test_a_missing_or_misshapen_array_is_refused(tmp_path, monkeypatch, size):
    operator, path = (
        CoAssociation(random_ensemble(300, 5, 4, 0)),
        tmp_path / "merges.npz",
    )
    assert stopped(monkeypatch, operator, path, 3)
    with np.load(path) as kept:
        arrays = dict(kept)
    name = next(name for name in arrays if name != "identity")
    array = arrays.pop(name)
    if size is not None:
        arrays[name] = np.resize(array, size)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="is damaged, or holds no merges"):
        link(operator, max_memory=1, checkpoint=path.parent)


def test_an_array_file_is_no_checkpoint(tmp_path):
    path = tmp_path / "merges.npz"
    with path.open("wb") as file:
        np.save(file, np.arange(3))
    operator = CoAssociation(random_ensemble(50, 5, 4, 0))
    with pytest.raises(ValueError, match="is damaged, or holds no merges"):
        link(operator, max_memory=1, checkpoint=path.parent)


def test_a_place_that_cannot_be_written_is_found_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr(LabelSpace, "survey", None)
    operator = CoAssociation(random_ensemble(50, 5, 4, 0))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OSError, match="cannot be used as a directory: File exists"):
        link(operator, max_memory=1, checkpoint=tmp_path / "file")


def test_estimators_hand_it_on(tmp_path):
    labels = random_ensemble(200, 5, 4, 0).labels
    path = tmp_path / "merges.npz"
    path.write_bytes(b"not a checkpoint")
    model = ECPCSHC(3, base="precomputed", max_memory=1, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="is damaged, or holds no merges"):
        model.fit(labels)
    path.unlink()
    usual = ECPCSHC(3, base="precomputed").fit_predict(labels)
    assert np.array_equal(model.fit_predict(labels), usual)


LABELS = np.random.default_rng(0).integers(0, 6, (2000, 8))
PROGRAM = """
import sys, time, numpy as np
from ensclust import CoAssociation, Ensemble
from ensclust._trees import kept_merges, linkage
from ensclust._trees.linkage import LabelSpace, link
usual = LabelSpace.nearest
def nearest(*args):
    print("merging", flush=True)
    time.sleep(0.1)
    usual(*args)
LabelSpace.nearest = nearest
labels = np.random.default_rng(0).integers(0, 6, (2000, 8))
link(CoAssociation(Ensemble(labels)), max_memory=1, checkpoint=sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_ctrl_c_keeps_the_merges_and_says_where(tmp_path):
    path = tmp_path / "merges.npz"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout.readline() == "merging\n"
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=120)[1]
    assert f"KeyboardInterrupt: the merges so far are in {path}" in errors
    operator = CoAssociation(Ensemble(LABELS))
    with np.load(path) as kept:
        assert 0 < (~kept["alive"]).sum() < len(operator.codes) - 1
    again = link(operator, max_memory=1, checkpoint=path.parent)
    assert same(again, link(operator, max_memory=1))
    assert not path.exists()


def test_ctrl_c_is_held_only_where_merges_are_kept(tmp_path, monkeypatch):
    held = mock.Mock(side_effect=kept_merges.held_interrupts)
    monkeypatch.setattr(linkage, "held_interrupts", held)
    operator = CoAssociation(random_ensemble(60, 6, 4, 0))
    link(operator, max_memory=1)
    assert not held.called
    link(operator, max_memory=1, checkpoint=tmp_path)
    held.assert_called_once()


def test_merges_are_written_at_once_when_ctrl_c_is_pressed(tmp_path, monkeypatch):
    operator, path = (
        CoAssociation(random_ensemble(300, 5, 4, 0)),
        tmp_path / "merges.npz",
    )
    answers = iter([False, False, False, False])  # two rounds; each asks twice
    pressed = nullcontext(lambda: next(answers, True))
    monkeypatch.setattr(linkage, "held_interrupts", lambda: pressed)
    monkeypatch.setattr(kept_merges, "INTERVAL", 3600)
    with pytest.raises(KeyboardInterrupt, match=f"the merges so far are in {path}"):
        link(operator, max_memory=1, checkpoint=path.parent)
    monkeypatch.undo()
    monkeypatch.setattr(LabelSpace, "survey", None)  # not asked again
    again = link(operator, max_memory=1, checkpoint=path.parent)
    monkeypatch.undo()
    assert same(again, link(operator, max_memory=1))


def test_ctrl_c_is_held_and_given_back():
    before = signal.getsignal(signal.SIGINT)
    with kept_merges.held_interrupts() as is_pressed:
        assert not is_pressed()
        os.kill(os.getpid(), signal.SIGINT)
        assert is_pressed()
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_hold_nothing():
    found = []

    def work():
        with kept_merges.held_interrupts() as is_pressed:
            found.append(is_pressed())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False]


def test_the_first_neighbours_do_not_depend_on_the_spans(monkeypatch):
    operator = CoAssociation(random_ensemble(500, 6, 3, 0))
    entries = operator.contributions()[0]
    near, best = routes.closest(operator, entries)
    monkeypatch.setattr(routes, "_MAX_LOOKUPS", 10_000)
    for n_jobs in (1, 2, 3):
        other = routes.closest(operator, entries, n_jobs=n_jobs)
        assert np.array_equal(other[0], near)
        assert np.array_equal(other[1], best)
