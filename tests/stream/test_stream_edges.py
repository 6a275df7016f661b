"""Edge cases of streams that some change to the source would break."""

from functools import partial

import numpy as np
import pytest

from ensclust import Blocks, consensus
from ensclust._stream import blocks, counting, engines


def add(columns, number):
    return int(sum(column.sum() for column in columns)), [number]


def join(one, other):
    return one[0] + other[0], one[1] + other[1]


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=3, dashboard_address=None
    ) as client:
        yield client


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_adds_up_what_threads_do(client):
    table = np.arange(60).reshape(20, 3)
    found = engines.fold(Blocks(table, rows=4, engine="dask"), add, join)
    assert (found[0], sorted(found[1])) == (table.sum(), [0, 1, 2, 3, 4])
    assert engines._n_threads() == 3


def test_what_tasks_share_is_measured_at_any_depth():
    one, two = np.zeros(10), np.zeros(4, np.int8)
    work = partial(add, a=one, b=[two, (one, "text")], c=3)
    assert engines._nbytes(work) == 80 + 4 + 80


def test_blocks_may_come_as_lists_of_columns():
    seen = engines.call(lambda columns, n: (columns, n), [np.arange(3)] * 2, 7, "b")
    assert [column.tolist() for column in seen[0]] == [[0, 1, 2], [0, 1, 2]]
    assert seen[1] == 7


@pytest.mark.parametrize("name", ["columns", "id_column"])
def test_names_of_columns_are_for_files(name):
    with pytest.raises(ValueError, match=f"{name}='a' is for files; got ndarray"):
        Blocks(np.zeros((3, 2), int), **{name: "a"})


@pytest.mark.parametrize(
    ("n_columns", "piece", "expected"),
    [(2 * blocks.CELLS, 1, 1), (2 * blocks.CELLS, 7, 7), (1, 3, blocks.CELLS // 3 * 3)],
)
def test_a_block_has_whole_pieces_and_a_row_at_least(n_columns, piece, expected):
    assert blocks._step(None, n_columns, piece) == expected
    assert blocks._step(5, n_columns, piece) == 5


def test_what_was_kept_of_more_blocks_than_there_are_is_refused():
    pairs = np.array([[4, 40], [2, 20]])
    assert counting._renumbered(pairs, [0, 5]) == {0: 20, 5: 40}
    with pytest.raises(ValueError, match="zip"):
        counting._renumbered(pairs, [0])


def test_a_stream_may_have_one_clustering():
    table = np.array([[0], [0], [1], [1], [2], [2]])
    labels = consensus(Blocks(table, rows=4), 3, "ecpcs-mc", random_state=0)
    assert np.asarray(labels).tolist() == [0, 0, 1, 1, 2, 2]
