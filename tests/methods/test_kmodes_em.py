"""K-modes and EM: the published results, their parameters, their edges."""

import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ensclust import EM, Blocks, Ensemble, KModes, consensus
from ensclust._cuts.mixture import Mixture, Model, Posterior, climb, expect_rows
from ensclust._cuts.onehot_kmeans import Rows
from ensclust._methods import driver
from ensclust._support.constraints import InvalidParameterError
from ensclust._support.encoding import first_places, ranks
from ensclust.metrics import ari
from golden_digest import difference
from strategies import ensembles, random_ensemble

SETS = ("tiny", "wine_z", "digits_raw")
every_set = pytest.mark.parametrize("data", SETS)


def numbered(labels):
    """Return labels numbered by first appearance."""
    return ranks(first_places(labels, labels.max() + 1))[0][labels]


def quietly(model, labels):
    """Fit, without the warning that there are fewer clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(labels)


# K-modes


@every_set
def test_modes_are_those_of_klar(golden, data):
    z = golden(f"kmodes_{data}")
    ensemble = Ensemble(z["labels"])
    for a, k in enumerate(z["ks"].tolist()):
        for s, init in enumerate(z[f"init_k{k}"].T):
            model = KModes(k, init=init, base="precomputed").fit(ensemble)
            expected = numbered(z["klar_labels"][:, a, s])
            assert model.labels_.tolist() == expected.tolist()
            assert model.inertia_ == z["klar_cost"][a, s]


def mode_of(column):
    """Return the commonest label, the smallest of several; -1 where there is none."""
    counts = np.bincount(column[column >= 0])
    return counts.argmax() if len(counts) else -1


def literal_modes(labels, modes):
    """Return labels and cost; None if a cluster has no object in a clustering."""
    while True:
        far = (labels[:, None] != modes) & (labels[:, None] >= 0)
        nearest = far.sum(axis=2).argmin(axis=1)
        own = [labels[nearest == j] for j in range(len(modes))]
        new = np.array([[mode_of(column) for column in rows.T] for rows in own])
        if (new < 0).any():
            return None
        if (new == modes).all():
            return nearest, far[np.arange(len(labels)), nearest].sum()
        modes = new


@given(ensembles(), st.data())
def test_modes_are_the_literal_ones(ensemble, data):
    labels = ensemble.labels
    complete = np.flatnonzero((labels >= 0).all(axis=1))
    _, first = np.unique(labels[complete], axis=0, return_index=True)
    assume(len(first))
    k = data.draw(st.integers(1, len(first)))
    init = complete[data.draw(st.permutations(first.tolist()))[:k]]
    expected = literal_modes(labels, labels[init])
    assume(expected is not None)
    model = KModes(k, init=init, base="precomputed").fit(ensemble)
    assert model.labels_.tolist() == numbered(expected[0]).tolist()
    assert model.inertia_ == expected[1]


def test_a_weight_is_what_a_differing_label_costs():
    ensemble = random_ensemble(150, 7, 4, seed=0, noise=0.4)
    weights = np.array([1, 2, 3, 1, 2, 3, 1])
    common = {"base": "precomputed", "init": [0, 1, 2, 3]}
    one = KModes(4, weights=weights, **common).fit(ensemble)
    many = KModes(4, **common).fit(np.repeat(ensemble.labels, weights, axis=1))
    assert one.labels_.tolist() == many.labels_.tolist()
    assert one.inertia_ == many.inertia_


def test_more_starts_of_modes_are_not_worse_and_k_clusters_come_out():
    ensemble = random_ensemble(120, 4, 5, seed=2, noise=0.6)
    one, ten = (
        KModes(30, n_init=n, base="precomputed", random_state=0).fit(ensemble)
        for n in (1, 10)
    )
    assert ten.inertia_ <= one.inertia_
    assert one.n_clusters_ == ten.n_clusters_ == 30


# EM


def start_of(z, k, s, rows):
    """Return the probabilities that poLCA started from."""
    raw = z[f"start_raw_k{k}"][:, :, s].T.astype(float)
    theta = raw / rows.per_clustering(raw)[rows.clustering]
    table = np.concatenate([np.log(theta), np.zeros((1, k))])
    return Mixture(table, np.full(k, -np.log(k)))


@every_set
def test_rounds_are_those_of_polca(golden, data):
    """Its labels and posteriors are those before the last round, so is ours here."""
    z = golden(f"em_{data}")
    ensemble = Ensemble(z["labels"])
    rows = Rows.of(ensemble)
    model = Model(rows, np.ones(ensemble.n_clusterings))
    run = partial(climb, model, expect=partial(expect_rows, rows, 1), tol=-1)
    for a, k in enumerate(z["ks"].tolist()):
        assert model.n_parameters(k) == z["n_parameters"][a]
        for s in range(10):
            start, n = start_of(z, k, s, rows), int(z["iterations"][a, s])
            (early,) = run([start], max_iter=2)
            stored = z["numpy_log_likelihood_after_round_1"][a, s]
            assert early.log_likelihood == pytest.approx(stored, abs=1e-8)
            (last,) = run([start], max_iter=n + 1)
            stored = z["log_likelihood"][a, s]
            assert last.log_likelihood == pytest.approx(stored, abs=1e-8)
            assert np.allclose(
                np.exp(last.mixture.log_share), z[f"class_shares_k{k}"][:, s]
            )
            (before,) = run([start], max_iter=n)
            posterior = Posterior(before.mixture, ensemble.offsets, np.arange(k))
            assert (posterior.label(ensemble) == z["em_labels"][:, a, s]).all()
            if f"posterior_k{k}_s{s + 1}" in z:
                shares = posterior.memberships(ensemble)
                assert difference(shares, z, f"posterior_k{k}_s{s + 1}") < 1e-9
                probabilities = np.exp(last.mixture.table[:-1]).T
                assert difference(probabilities, z, f"probs_k{k}_s{s + 1}") < 1e-9


@every_set
def test_the_likeliest_start_is_about_as_likely_as_those_of_polca(golden, data):
    z = golden(f"em_{data}")
    for a, k in enumerate(z["ks"].tolist()):
        model = quietly(EM(k, base="precomputed", random_state=0), z["labels"])
        best = z["log_likelihood"][a].max()
        assert model.log_likelihood_ > best - 0.02 * abs(best)
        n, n_parameters = len(z["labels"]), z["n_parameters"][a]
        expected = n_parameters * np.log(n) - 2 * model.log_likelihood_
        assert model.bic_ == pytest.approx(expected)


def test_memberships_are_probabilities_and_labels_the_likeliest():
    ensemble = random_ensemble(300, 10, 4, seed=1, missing=0.1, noise=0.3)
    model = EM(4, base="precomputed", random_state=0).fit(ensemble.labels)
    shares = model.memberships()
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == model.labels_).all()
    assert ((shares > 0.01) & (shares < 0.99)).any()
    assert ari(model.labels_, consensus(ensemble, 4, "ecpcs-hc")) > 0.9
    assert np.array_equal(model.predict_proba(ensemble.labels), shares)


@given(ensembles(), st.integers(1, 4), st.sampled_from([0.0, 0.5]))
def test_any_labels_have_classes(ensemble, k, smoothing):
    k = min(k, ensemble.n_objects)
    model = EM(k, smoothing=smoothing, base="precomputed", random_state=0)
    labels = quietly(model, ensemble.labels).labels_
    assert labels.min() >= 0
    assert labels.max() + 1 == model.n_clusters_ <= k
    assert np.isfinite(model.log_likelihood_)
    assert model.log_likelihood_ <= 1e-9
    shares = model.memberships()
    assert shares.shape == (ensemble.n_objects, model.n_clusters_)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (model.predict(ensemble.labels) == labels).all()


def test_one_class_has_the_shares_of_all_objects():
    ensemble = random_ensemble(80, 5, 3, seed=4, missing=0.2)
    model = EM(1, base="precomputed").fit(ensemble)
    present = (ensemble.labels >= 0).sum(axis=0)
    share = ensemble.sizes / np.repeat(present, ensemble.cluster_counts)
    assert model.log_likelihood_ == pytest.approx(ensemble.sizes @ np.log(share))


def test_with_smoothing_nothing_is_impossible():
    table = [[0, 0, 0, 0]] * 5 + [[1, 1, 1, 1]] * 6
    model = EM(2, smoothing=1, base="precomputed", random_state=0).fit(table)
    shares = model.memberships([[0, 0, 0, 1]])
    # (5 + 1) / (5 + 2) three times against (0 + 1) / (6 + 2), and once the reverse.
    odds = 5 / 6 * ((6 / 7) / (1 / 8)) ** 3 * (1 / 7) / (7 / 8)
    assert shares[0, 0] / shares[0, 1] == pytest.approx(odds, rel=0.02)


def test_bic_chooses_the_number_of_clusters():
    ensemble = random_ensemble(400, 12, 4, seed=5, missing=0.1, noise=0.2)
    model = EM("bic", base="precomputed", random_state=0).fit(ensemble)
    assert model.n_clusters_ == 4
    for k in (3, 5):
        other = quietly(EM(k, base="precomputed", random_state=0), ensemble)
        assert other.bic_ > model.bic_
    same = EM(4, base="precomputed", random_state=0).fit(ensemble)
    assert same.bic_ == model.bic_
    stream = consensus(Blocks(ensemble.labels, rows=70), "bic", "em", random_state=0)
    assert np.array_equal(stream, model.labels_)
    noise = np.random.default_rng(0).integers(0, 3, (100, 8))
    assert EM("bic", base="precomputed", random_state=0).fit(noise).n_clusters_ == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [("smoothing", -1), ("n_init", 0), ("max_iter", 0), ("n_clusters", "aic")],
)
def test_a_wrong_parameter_is_refused_by_name(name, value):
    model = EM(2, base="precomputed").set_params(**{name: value})
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter"):
        model.fit([[0, 1], [1, 0], [1, 1]])


def test_threads_change_nothing():
    ensemble = random_ensemble(500, 8, 5, seed=6, noise=0.5)
    one, two = (
        EM(5, base="precomputed", random_state=0, n_jobs=n).fit(ensemble)
        for n in (1, 2)
    )
    assert one.log_likelihood_ == two.log_likelihood_
    assert np.array_equal(one.memberships(), two.memberships())


def test_em_needs_no_list_of_distinct_rows(monkeypatch):
    ensemble = random_ensemble(400, 8, 4, seed=7, missing=0.1, noise=0.3)
    labels = ensemble.labels.copy()
    labels[7] = -1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        memory = EM(4, base="precomputed", random_state=0).fit(labels)
        monkeypatch.setattr(driver, "DEFAULT_MEMORY", 2000)
        runs = [
            EM(4, base="precomputed", random_state=0).fit(Blocks(labels, rows=rows))
            for rows in (33, 150, 400)
        ]
    for run in runs[1:]:
        assert run.log_likelihood_ == runs[0].log_likelihood_
        assert run.bic_ == runs[0].bic_
        assert np.array_equal(run.labels_, runs[0].labels_)
    assert runs[0].log_likelihood_ == pytest.approx(memory.log_likelihood_, rel=1e-3)
    assert (
        ari(
            np.array(runs[0].labels_)[labels[:, 0] >= 0],
            memory.labels_[labels[:, 0] >= 0],
        )
        > 0.95
    )
