import threading
import time

import pytest
import threadpoolctl

from ensclust._support import parallel


@pytest.mark.parametrize("n_jobs", [1, 2, 5, None, -1])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    def work(i):
        time.sleep(0.001 * (3 - i % 3))
        return i

    tasks = [(i,) for i in range(20)]
    assert parallel.run(work, tasks, n_jobs=n_jobs) == list(range(20))


def test_all_threads_share_the_tasks():
    both = threading.Barrier(2, timeout=30)

    def work(_):
        both.wait()  # passes only if two threads are at it, for every pair of tasks

    parallel.run(work, [(i,) for i in range(6)], n_jobs=2)


@pytest.mark.parametrize("bad", [0, 7])
def test_an_error_in_any_task_is_raised(bad):
    def work(i):
        if i == bad:
            msg = f"task {i}"
            raise ValueError(msg)

    with pytest.raises(ValueError, match=f"task {bad}"):
        parallel.run(work, [(i,) for i in range(8)], n_jobs=3)


@pytest.mark.parametrize(("n_items", "n_blocks"), [(10, 3), (2, 5), (0, 4), (7, 1)])
def test_blocks_cover_the_range_once(n_items, n_blocks):
    spans = parallel.blocks(n_items, n_blocks)
    covered = [i for a, b in spans for i in range(a, b)]
    assert covered == list(range(n_items))
    assert len(spans) <= n_blocks


def blas_threads():
    """Return the threads of each BLAS library."""
    found = threadpoolctl.threadpool_info()
    return [one["num_threads"] for one in found if one["user_api"] == "blas"]


@pytest.fixture
def many_blas_threads():
    """Set two threads of BLAS; machines with one core have only one."""
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        if set(blas_threads()) != {2}:
            pytest.skip("BLAS cannot use two threads")
        yield


@pytest.mark.usefixtures("many_blas_threads")
def test_the_limit_of_blas_ends_in_another_thread_than_it_began():
    entered, leave = threading.Event(), threading.Event()

    def stay():
        with parallel.one_blas_thread():
            entered.set()
            leave.wait(30)

    other = threading.Thread(target=stay)
    with parallel.one_blas_thread():
        other.start()
        assert entered.wait(30)
    assert set(blas_threads()) == {1}
    leave.set()
    other.join()
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("many_blas_threads")
def test_every_thread_can_limit_blas():
    found = []

    def look():
        with parallel.one_blas_thread():
            found.extend(blas_threads())

    look()
    other = threading.Thread(target=look)
    other.start()
    other.join()
    assert set(found) == {1}
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("many_blas_threads")
def test_a_limit_of_openmp_leaves_blas_alone():
    with parallel.one_blas_thread():
        limit = parallel.openmp().limit(limits=1)
    limit.restore_original_limits()
    assert set(blas_threads()) == {2}
