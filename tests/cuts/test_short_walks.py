"""Walks that are cut short beside dense powers: errors below 1e-4, or all steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ensclust._cuts import microclusters, short_walks
from ensclust._cuts.microclusters import TrajectorySimilarity


def literal(neighbors, sizes, steps):
    """Return PTS: the cosine of rows of P, P^2, ..., P^steps side by side."""
    weights = neighbors.toarray() * sizes
    total = weights.sum(axis=1, keepdims=True)
    P = weights / np.where(total > 0, total, 1)
    powers = [np.linalg.matrix_power(P, s) for s in range(1, steps + 1)]
    trajectories = np.hstack(powers)
    norms = np.linalg.norm(trajectories, axis=1, keepdims=True)
    trajectories /= np.where(norms > 0, norms, 1)
    similarity = trajectories @ trajectories.T
    np.fill_diagonal(similarity, 1)
    return similarity


def groups(rng, n, n_groups=4, *, within=0.3, between=0.01):
    """Return a graph of groups that are linked more within than between."""
    group = rng.integers(0, n_groups, n)
    chance = np.where(group[:, None] == group, within, between)
    linked = np.triu(rng.random((n, n)) < chance, 1) * rng.uniform(0.2, 1, (n, n))
    return sparse.csr_array(linked + linked.T)


def ring(n):
    """Return a cycle, whose walks spread slowly."""
    step = sparse.csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)))
    return sparse.csr_array(step + step.T)


def short(neighbors, sizes, steps, n_jobs=None):
    """Return PTS in float32, and the walks that it is made of."""
    similarity = TrajectorySimilarity(
        neighbors, sizes, steps, exact=False, n_jobs=n_jobs
    )
    n = neighbors.shape[0]
    return similarity.product(sparse.eye_array(n), n_jobs=n_jobs), similarity._parts


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 100),
    st.integers(1, 24),
    st.sampled_from([0.0, 0.02, 0.3]),
    st.sampled_from([1, 1000]),
)
def test_any_graph_is_within_the_tolerance(seed, n, steps, between, largest):
    rng = np.random.default_rng(seed)
    neighbors = groups(rng, n, between=between)
    sizes = np.rint(largest ** rng.random(n))
    with pytest.MonkeyPatch.context() as patch:
        # As many vectors as are iterated in larger graphs.
        patch.setattr(short_walks, "_SHARE", 4)
        patch.setattr(short_walks, "_WIDTHS", (1, 512))
        found, _ = short(neighbors, sizes, steps)
    assert found.dtype == np.float32
    expected = literal(neighbors, sizes, steps)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("largest", [1, 1000])
def test_walks_between_groups_are_cut_short(largest):
    rng = np.random.default_rng(0)
    neighbors = groups(rng, 600, 6)
    sizes = np.rint(largest ** rng.random(600))
    found, (part,) = short(neighbors, sizes, 20)
    assert part._leading is not None
    assert part._n_first < 12
    expected = literal(neighbors, sizes, 20)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_eigenvectors_are_those_of_the_graph():
    rng = np.random.default_rng(1)
    neighbors, sizes = groups(rng, 800, 5), rng.integers(1, 9, 800)
    _, (part,) = short(neighbors, sizes, 20)
    degree = neighbors @ sizes
    scale = np.sqrt(sizes / degree)
    N = neighbors.toarray() * scale * scale[:, None]
    values, vectors = np.linalg.eigh(N)
    order = np.argsort(-np.abs(values))
    leading = part._leading
    assert leading.eigenvalues[:5] == pytest.approx(values[order[:5]], abs=1e-6)
    inner = np.abs(np.sum(leading.vectors[:, :5] * vectors[:, order[:5]], axis=0))
    assert inner == pytest.approx(1, abs=1e-5)
    r = len(leading.eigenvalues)
    assert leading.rest >= abs(values[order[r]])
    weighted = (leading.vectors.T * (sizes * degree)) @ leading.vectors
    np.testing.assert_allclose(leading.inner, weighted, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize(("n", "steps"), [(500, 20), (100, 20), (500, 7)])
def test_slow_few_or_short_walks_are_walked_to_the_end(n, steps):
    rng = np.random.default_rng(2)
    neighbors = ring(n) if (n, steps) == (500, 20) else groups(rng, n)
    sizes = rng.integers(1, 5, n)
    found, parts = short(neighbors, sizes, steps)
    assert all(part._leading is None for part in parts)
    assert all(part._n_first == steps for part in parts)
    expected = literal(neighbors, sizes, steps)
    np.testing.assert_allclose(found, expected, atol=2e-6)


def test_walks_that_are_never_as_expected_are_walked_to_the_end(monkeypatch):
    rng = np.random.default_rng(3)
    neighbors, sizes = groups(rng, 500), rng.integers(1, 5, 500)
    expect = short_walks.ShortWalks._expect
    monkeypatch.setattr(
        short_walks.ShortWalks, "_expect", lambda *args: expect(*args) * 1.01
    )
    found, (part,) = short(neighbors, sizes, 20)
    assert part._leading is not None
    assert part._n_first == 20
    expected = literal(neighbors, sizes, 20)
    np.testing.assert_allclose(found, expected, atol=2e-6)


@pytest.mark.parametrize("rows", [1, 300, 10**6])
def test_components_and_microclusters_without_neighbours(rows, monkeypatch):
    monkeypatch.setattr(microclusters, "_ROWS", rows)
    rng = np.random.default_rng(4)
    parts = [groups(rng, 400), sparse.csr_array((3, 3)), groups(rng, 350, 2)]
    neighbors = sparse.csr_array(sparse.block_diag(parts))
    sizes = rng.integers(1, 9, neighbors.shape[0])
    found, _ = short(neighbors, sizes, 20)
    expected = literal(neighbors, sizes, 20)
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_array_equal(found[400:403], np.eye(753)[400:403])


def test_threads_do_not_change_a_digit():
    rng = np.random.default_rng(5)
    parts = [groups(rng, 700), groups(rng, 600)]
    neighbors = sparse.csr_array(sparse.block_diag(parts))
    sizes = rng.integers(1, 9, 1300)
    one, *others = (short(neighbors, sizes, 20, n_jobs)[0] for n_jobs in (1, 2, 5))
    for other in others:
        np.testing.assert_array_equal(one, other)
