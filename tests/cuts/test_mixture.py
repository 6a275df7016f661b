"""Mixtures of label rows, against the literal definition, round by round."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ensclust import Ensemble, _kernels
from ensclust._cuts.mixture import (
    Mixture,
    Model,
    Posterior,
    climb,
    expect_rows,
    fit_mixture,
)
from ensclust._cuts.onehot_kmeans import Rows
from strategies import ensembles, random_ensemble


def model_of(ensemble, **options):
    return Model(Rows.of(ensemble), np.ones(ensemble.n_clusterings), **options)


def random_mixture(ensemble, k, seed):
    """Return random probabilities, as (Nc, k) and (k,), and the mixture of them."""
    rng = np.random.default_rng(seed)
    rows = Rows.of(ensemble)
    raw = rng.integers(1, 100, (ensemble.n_base_clusters, k)).astype(float)
    theta = raw / rows.per_clustering(raw)[rows.clustering]
    share = rng.dirichlet(np.ones(k))
    table = np.concatenate([np.log(theta), np.zeros((1, k))])
    return theta, share, Mixture(table, np.log(share))


# The literal definition: every object, one clustering at a time.


def joint(ensemble, theta, share):
    """Return the probability of each object together with each class, (N, k)."""
    p = np.tile(share, (ensemble.n_objects, 1))
    for i, m in zip(*np.nonzero(ensemble.labels >= 0), strict=True):
        p[i] *= theta[ensemble.offsets[m] + ensemble.labels[i, m]]
    return p


def sums(ensemble, r):
    """Return responsibilities per base cluster, (Nc, k), and per class, (k,)."""
    members = np.zeros((ensemble.n_base_clusters, r.shape[1]))
    for i, m in zip(*np.nonzero(ensemble.labels >= 0), strict=True):
        members[ensemble.offsets[m] + ensemble.labels[i, m]] += r[i]
    return members, r.sum(axis=0)


def maximised(ensemble, members, mass, smoothing=0.0):
    """Return the probabilities that follow; of all objects where a class has none."""
    theta = np.empty_like(members)
    for a, b in zip(ensemble.offsets[:-1], ensemble.offsets[1:], strict=True):
        for q in range(members.shape[1]):
            own = members[a:b, q] + smoothing
            if own.sum() == 0:
                own = ensemble.sizes[a:b]
            theta[a:b, q] = own / own.sum()
    return theta, mass / mass.sum()


@given(ensembles(), st.integers(1, 4), st.integers(0, 99))
def test_a_pass_adds_up_responsibilities_and_likelihoods(ensemble, k, seed):
    theta, share, mixture = random_mixture(ensemble, k, seed)
    p = joint(ensemble, theta, share)
    r = p / p.sum(axis=1, keepdims=True)
    ((members, mass, parts),) = expect_rows(Rows.of(ensemble), 1, [mixture])
    assert np.allclose(members, sums(ensemble, r)[0], atol=1e-12)
    assert np.allclose(mass, r.sum(axis=0), atol=1e-12)
    assert parts.sum() == pytest.approx(np.log(p.sum(axis=1)).sum(), abs=1e-10)
    labels = np.ascontiguousarray(ensemble.labels)
    found = _kernels.mixture.responsibilities(
        labels, ensemble.offsets, *mixture, 0, ensemble.n_objects
    )
    assert np.allclose(found, r, atol=1e-12)


@given(ensembles(), st.integers(1, 4), st.integers(0, 99), st.data())
def test_with_a_unit_sums_do_not_depend_on_the_order_of_blocks(ens, k, seed, data):
    unit = 2.0**-30
    _, _, mixture = random_mixture(ens, k, seed)
    cuts = sorted(data.draw(st.lists(st.integers(0, ens.n_objects), max_size=3)))
    edges = [0, *cuts, ens.n_objects]
    labels, ones = np.ascontiguousarray(ens.labels), np.ones(ens.n_objects, np.int64)

    def total(spans):
        parts = np.zeros((ens.n_base_clusters, k)), np.zeros(k), np.zeros(2)
        for span in spans:
            _kernels.mixture.expect(
                labels, ens.offsets, ones, *mixture, unit, *parts, *span
            )
        return parts

    whole = total([(0, ens.n_objects)])
    pieces = list(pairwise(edges))
    for one, other in zip(whole, total(pieces[::-1]), strict=True):
        assert np.array_equal(one, other)
    ((members, mass, parts),) = expect_rows(Rows.of(ens), 1, [mixture])
    assert np.allclose(whole[0], members, atol=1e-7)
    assert np.allclose(whole[1], mass, atol=1e-7)
    assert whole[2].sum() == pytest.approx(parts.sum(), abs=1e-7)


@given(ensembles(), st.integers(1, 4), st.integers(0, 99), st.sampled_from([0, 0.5, 2]))
def test_rounds_are_the_literal_ones(ensemble, k, seed, smoothing):
    assume(ensemble.n_base_clusters > ensemble.n_clusterings)  # else all is certain
    theta, share, mixture = random_mixture(ensemble, k, seed)
    rows, model = Rows.of(ensemble), model_of(ensemble, smoothing=smoothing)
    expect = partial(expect_rows, rows, 1)
    objectives = []
    for n in range(1, 5):
        (found,) = climb(model, [mixture], expect, max_iter=n, tol=-1)
        p = joint(ensemble, theta, share)
        log_likelihood = np.log(p.sum(axis=1)).sum()
        assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-9)
        assert found.n_iter == n
        assert np.allclose(np.exp(found.mixture.table[:-1]), theta, atol=1e-9)
        assert np.allclose(np.exp(found.mixture.log_share), share, atol=1e-9)
        objectives.append(found.objective)
        members, mass = sums(ensemble, p / p.sum(axis=1, keepdims=True))
        theta, share = maximised(ensemble, members, mass, smoothing)
    assert (np.diff(objectives) >= -1e-9).all()


def test_a_start_ends_when_it_gains_too_little():
    ensemble = random_ensemble(200, 6, 4, seed=1, noise=0.5)
    rows, model = Rows.of(ensemble), model_of(ensemble)
    starts = [random_mixture(ensemble, 4, seed)[2] for seed in range(3)]
    expect = partial(expect_rows, rows, 1)
    together = climb(model, starts, expect, max_iter=500, tol=1e-6)
    for start, found in zip(starts, together, strict=True):
        (alone,) = climb(model, [start], expect, max_iter=500, tol=1e-6)
        assert alone[1:4] == found[1:4]
        (before,) = climb(model, [start], expect, max_iter=alone.n_iter - 1, tol=-1)
        gain = alone.objective - before.objective
        assert gain <= 1e-6 * abs(alone.objective)
    assert len({found.n_iter for found in together}) > 1


def test_classes_start_near_their_rows():
    ensemble = Ensemble([[0, 0], [0, 0], [0, 1], [1, -1]])
    start = model_of(ensemble).near(np.array([[0, 1], [1, -1]]))
    expected = [[0.775, 0.675], [0.225, 0.325], [0.6, 2 / 3], [0.4, 1 / 3]]
    assert np.allclose(np.exp(start.table[:-1]), expected)
    assert np.allclose(np.exp(start.log_share), 0.5)


def test_more_classes_than_distinct_rows_are_not_used():
    ensemble = Ensemble([[0, 0], [0, 0], [0, 1], [1, 1]])
    found = fit_mixture(ensemble, 4)
    assert found.mixture.table.shape == (5, 3)


def test_weights_are_exponents_of_which_only_ratios_matter():
    ensemble = random_ensemble(60, 5, 3, seed=2, missing=0.1)
    plain = fit_mixture(ensemble, 3)
    same = fit_mixture(ensemble, 3, weights=np.full(5, 7.0))
    assert same.log_likelihood == pytest.approx(plain.log_likelihood)
    weights = np.array([2, 1, 1, 1, 1.0])
    heavy = fit_mixture(ensemble, 3, weights=weights)
    first = slice(ensemble.offsets[0], ensemble.offsets[1])
    chances = np.exp(heavy.mixture.table[first] / (2 / weights.mean()))
    assert np.allclose(chances.sum(axis=0), 1)


def test_rows_that_no_class_allows_go_where_fewest_labels_are_impossible():
    ensemble = Ensemble([[0, 0, 0, 0]] * 5 + [[1, 1, 1, 1]] * 6)
    members = np.tile([[5, 0], [0, 6]], (4, 1)).astype(float)
    mixture = model_of(ensemble).maximised(members, np.array([5.0, 6.0]))
    posterior = Posterior(mixture, ensemble.offsets, np.arange(2, dtype=np.int32))
    new = Ensemble([[0, 0, 0, 1], [1, 1, 1, 0], [0, 0, 1, 1], [1, 1, 0, -1], [-1] * 4])
    assert posterior.label(new).tolist() == [0, 1, 1, 1, -1]
    # Where two labels speak for each class, their shares decide.
    expected = [[1, 0], [0, 1], [5 / 11, 6 / 11], [0, 1], [0, 0]]
    assert np.allclose(posterior.memberships(new), expected)


def test_a_class_that_is_the_likeliest_of_nobody_is_left_out():
    table = np.log([[0.5, 0.9, 0.45], [0.5, 0.1, 0.55], [1, 1, 1]])
    mixture = Mixture(table, np.log([0.2, 0.4, 0.4]))
    full = Posterior(mixture, np.array([0, 2]), np.arange(3, dtype=np.int32))
    rows = Ensemble([[0], [1]])
    assert full.label(rows).tolist() == [1, 2]
    some = full.renumbered(np.array([-1, 0, 1], np.int32))
    assert some.label(rows).tolist() == [0, 1]
    shares = some.memberships(rows)
    assert np.allclose(shares, [[9 / 13.5, 4.5 / 13.5], [1 / 6.5, 5.5 / 6.5]])
    gap = full.renumbered(np.array([0, 3, 1], np.int32)).memberships(rows)
    assert gap.shape == (2, 4)
    assert (gap[:, 2] == 0).all()
