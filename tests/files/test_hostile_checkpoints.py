"""Edited checkpoints: refused, or work resumes; never a crash or a loop."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bad_input import refused
from ensclust import Blocks, CoAssociation, consensus
from ensclust._trees import kept_merges
from ensclust._trees.linkage import LabelSpace, link
from strategies import random_ensemble

OPERATOR = CoAssociation(random_ensemble(300, 5, 4, 0))
NUMBERS = [-(2**63), -5, -1, 0, 1, 2, 7, 40, 299, 10**6, 2**62, 2**63 - 1]


@pytest.fixture(scope="module")
def merges(tmp_path_factory):
    """Return the arrays that a linkage saves when it is stopped half-way."""
    folder = tmp_path_factory.mktemp("merges")
    usual, rounds = LabelSpace.nearest, []

    def nearest(*args):
        rounds.append(1)
        if len(rounds) > 4:
            raise KeyboardInterrupt
        usual(*args)

    with pytest.MonkeyPatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(LabelSpace, "nearest", nearest)
        patch.setattr(kept_merges, "INTERVAL", 0.0)
        link(OPERATOR, max_memory=1, checkpoint=folder)
    with np.load(folder / "merges.npz") as kept:
        arrays = dict(kept)
    assert 10 < (~arrays["alive"]).sum() < len(arrays["alive"]) - 10
    return arrays


def go_on(folder, arrays):
    np.savez(folder / "merges.npz", **arrays)
    return link(OPERATOR, max_memory=1, checkpoint=folder)


def swapped(pairs):
    return pairs[::-1]


def late(pairs):
    """Let a region that is gone take part once more."""
    pairs[1, 0] = min(pairs[0])
    pairs[1, 1] = max(pairs[0])
    return pairs


def ring(near):
    near[:] = np.roll(np.arange(len(near)), 1)
    return near


EDITS = {
    "merged far": ("merged", lambda x: np.full_like(x, 10**9)),
    "merged below": ("merged", lambda x: np.full_like(x, -1)),
    "merged itself": ("merged", lambda x: x[:, [0, 0]]),
    "merged twice": ("merged", late),
    "merged backwards": ("merged", swapped),
    "near far": ("near", lambda x: x + 10**12),
    "near below": ("near", lambda x: x - 10**6),
    "near in a ring": ("near", ring),
    "asked never": ("asked", lambda x: x * 0 - 2),
    "asked later": ("asked", lambda x: x + 10**6),
    "born later": ("born", lambda x: x + 1),
    "nobody alive": ("alive", lambda x: x & False),
    "all alive": ("alive", lambda x: x | True),
    "best unknown": ("best", lambda x: x * np.nan),
    "similarity endless": ("similarity", lambda x: x * 0 + np.inf),
    "merged as floats": ("merged", lambda x: x.astype(float)),
    "alive as numbers": ("alive", lambda x: x.astype(np.int64)),
    "near as texts": ("near", lambda x: x.astype(str)),
}


@pytest.mark.parametrize("case", EDITS)
def test_merges_that_cannot_be_are_refused(tmp_path, merges, case):
    name, edit = EDITS[case]
    arrays = {**merges, name: edit(merges[name].copy())}
    refused(lambda: go_on(tmp_path, arrays), "is damaged, or holds no merges")


def test_a_chain_that_cycles_later_is_the_fault_of_the_file(tmp_path, merges):
    refused(
        lambda: go_on(tmp_path, {**merges, "best": merges["best"] * 0 + 1e300}),
        "is damaged, or holds no merges. Delete it",
    )


@given(data=st.data())
def test_any_edit_of_merges_is_refused_or_gone_on_with(tmp_path_factory, merges, data):
    arrays = {name: array.copy() for name, array in merges.items()}
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(sorted(set(arrays) - {"identity"})))
        flat = arrays[name].reshape(-1)
        at = data.draw(st.integers(0, len(flat) - 1))
        flat[at] = data.draw(st.sampled_from(NUMBERS))
    with suppress(ValueError):
        go_on(tmp_path_factory.mktemp("edited"), arrays)


@pytest.fixture(scope="module")
def stream(tmp_path_factory):
    """Return blocks of labels, and a directory with all that a run saves of them."""
    folder = tmp_path_factory.mktemp("stream")
    labels = random_ensemble(300, 5, 4, 0).labels.copy()
    labels[::7, 1] = -1
    np.save(folder / "labels.npy", labels)
    blocks = Blocks(folder / "labels.npy", rows=100)
    weights = [1, 1, 0, 1, 1]
    for more in ({}, {"weights": weights}):
        consensus(blocks, 3, "eac", random_state=0, checkpoint=folder / "kept", **more)
    kept = {path.stem: dict(np.load(path)) for path in (folder / "kept").glob("*")}
    return blocks, kept


def count_on(folder, blocks, stage, arrays):
    np.savez(folder / f"{stage}.npz", **arrays)
    weights = [1, 1, 0, 1, 1] if "(" in stage else None
    return np.asarray(
        consensus(blocks, 3, "eac", random_state=0, checkpoint=folder, weights=weights)
    )


def with_pair(x):
    x[0, 1] = x[1, 0] = 1
    return x


COUNTS = {
    "lengths far": ("lengths", lambda x: x + 10**15),
    "lengths short": ("lengths", lambda x: x - [0, 1]),
    "lengths as floats": ("lengths", lambda x: x.astype(float)),
    "lengths flat": ("lengths", lambda x: x.ravel()),
    "absent far": ("absent", lambda x: x + 10**6),
    "absent below": ("absent", lambda x: x - 1),
    "absent endless": ("absent", lambda x: x + np.inf),
    "overlap below": ("overlap", lambda x: x - 1),
    "overlap far": ("overlap", lambda x: x + 2**62),
    "overlap small": ("overlap", lambda x: x[1:, 1:]),
    "overlap flat": ("overlap", lambda x: x.ravel()),
    "overlap as floats": ("overlap", lambda x: x.astype(float)),
    "overlap one way": ("overlap", np.triu),
    "overlap of a clustering": ("overlap", with_pair),
    "values unsorted": ("values0", lambda x: x[::-1]),
    "values twice": ("values1", lambda x: x * 0),
    "values fewer": ("values0", lambda x: x[1:]),
    "values square": ("values0", lambda x: x.reshape(2, 2)),
    "values none": ("values0", lambda x: x.sum()),
    "values below": ("values0", lambda x: x - 5),
    "values as floats": ("values0", lambda x: x + 0.5),
    "values as dates": ("values0", lambda x: x.astype("M8[s]")),
    "values as complex": ("values0", lambda x: x.astype(complex)),
}


@pytest.mark.parametrize("case", COUNTS)
@pytest.mark.parametrize("stage", ["counts-missing", "counts-missing-(0, 1, 3, 4)"])
def test_counts_that_cannot_be_are_refused(tmp_path, stream, case, stage):
    blocks, kept = stream
    name, edit = COUNTS[case]
    arrays = {**kept[stage], name: edit(kept[stage][name].copy())}
    refused(
        lambda: count_on(tmp_path, blocks, stage, arrays),
        "is damaged, or holds no counts",
    )


def test_counts_of_other_base_clusters_are_refused(tmp_path, stream):
    blocks, kept = stream
    stage = "counts-missing-(0, 1, 3, 4)"
    arrays = {**kept[stage], "values0": kept[stage]["values0"] + 1}
    refused(
        lambda: count_on(tmp_path, blocks, stage, arrays),
        "is damaged, or holds no counts",
    )


ROWS = {
    "columns far": ("columns", lambda x: np.full_like(x, 200)),
    "columns wide": ("columns", lambda x: x.astype(np.uint16)),
    "columns backwards": ("columns", lambda x: x[:, ::-1]),
    "columns the same": ("columns", lambda x: x[:, [0] * x.shape[1]]),
    "columns fewer": ("columns", lambda x: x[1:]),
    "counts below": ("counts", lambda x: x - 1),
    "counts far": ("counts", lambda x: x + 2**60),
    "counts moved": ("counts", lambda x: np.roll(x, 1)),
    "counts as floats": ("counts", lambda x: x.astype(float)),
    "counts fewer": ("counts", lambda x: x[1:]),
    "first far": ("first", lambda x: x + 300),
    "first below": ("first", lambda x: x - 300),
    "first fewer": ("first", lambda x: x[1:]),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_that_cannot_be_are_refused(tmp_path, stream, case):
    blocks, kept = stream
    stage = next(name for name in kept if name.startswith("rows-missing-None"))
    name, edit = ROWS[case]
    arrays = {**kept[stage], name: edit(kept[stage][name].copy())}
    refused(
        lambda: count_on(tmp_path, blocks, stage, arrays),
        "is damaged, or holds no counts",
    )


def test_what_is_kept_is_taken_as_it_is(tmp_path, stream, merges):
    blocks, kept = stream
    for stage, arrays in kept.items():
        labels = count_on(tmp_path, blocks, stage, arrays)
        assert labels.max() == 2
    found = go_on(tmp_path, merges)
    assert np.array_equal(found.merges, link(OPERATOR, max_memory=1).merges)
