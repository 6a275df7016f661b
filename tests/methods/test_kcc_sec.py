"""KCC, ECC and SEC: the published labels, their parameters, their edges."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from ensclust import ECC, KCC, SEC, Ensemble, consensus
from ensclust._methods.kcc import UTILITIES
from ensclust._support.constraints import InvalidParameterError
from ensclust._support.encoding import first_places, ranks
from ensclust.metrics import ari
from strategies import random_ensemble

SETS = ("tiny", "wine_z", "digits_raw")
ESTIMATORS = {
    "uc": KCC(utility="u_c"),
    "uh": ECC(),
    "nuc": KCC(utility="nu_c"),
    "nuh": KCC(),
    "ucos": KCC(utility="u_cos"),
    "ulp5": KCC(utility="u_lp", p=5),
    "sec": SEC(),
}
every_class = pytest.mark.parametrize("cls", [KCC, ECC, SEC])


def numbered(labels):
    """Return labels numbered by first appearance."""
    return ranks(first_places(labels, labels.max() + 1))[0][labels]


def quietly(model, labels):
    """Fit, without the warning that there are fewer clusters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(labels)


@pytest.mark.slow
@pytest.mark.parametrize("data", SETS)
@pytest.mark.parametrize("prefix", ESTIMATORS)
def test_labels_are_the_published_ones(golden, data, prefix):
    """Where no row was drawn and no exact tie was broken by rounding (recheck_ok).

    The published code weights distances in one matrix product, whose rounding breaks
    ties between centroids of the normalised utilities.
    """
    z = golden(f"kcc_sec_{data}")
    ensemble = Ensemble(z["labels"])
    compared = 0
    for k in z["ks"].tolist():
        stored = f"{prefix}_k{k}_"
        drawn = z[stored + "redraws"] if stored + "redraws" in z else np.zeros(99)
        for t, init in enumerate(z[f"init_k{k}"].T):
            if drawn[t] or not z[stored + "recheck_ok"][t]:
                continue
            model = clone(ESTIMATORS[prefix])
            model.set_params(n_clusters=k, init=init, base="precomputed")
            labels = quietly(model, ensemble).labels_
            assert labels.tolist() == numbered(z[stored + "labels"][:, t]).tolist()
            if prefix != "sec":
                assert model.inertia_ == pytest.approx(z[stored + "obj"][t], abs=1e-6)
            compared += 1
    assert compared >= 4


def test_ecc_is_kcc_with_entropy():
    ensemble = random_ensemble(100, 8, 4, seed=0, missing=0.1, noise=0.5)
    ecc = ECC(4, base="precomputed", random_state=5).fit(ensemble)
    kcc = KCC(4, utility="u_h", base="precomputed", random_state=5).fit(ensemble)
    assert (ecc.labels_ == kcc.labels_).all()
    assert ecc.inertia_ == kcc.inertia_


@pytest.mark.parametrize("utility", UTILITIES)
def test_every_utility_finds_clear_clusters(utility):
    ensemble = random_ensemble(200, 12, 4, seed=1, missing=0.1, noise=0.1)
    truth = consensus(ensemble, 4, "ecpcs-hc")
    labels = consensus(ensemble, 4, "kcc", utility=utility, random_state=0)
    assert ari(labels, truth) > 0.9


@every_class
def test_more_starts_are_not_worse_and_fit_says_how_good(cls):
    ensemble = random_ensemble(120, 6, 5, seed=2, noise=0.6)
    one, ten = (
        cls(5, n_init=n, base="precomputed", random_state=0).fit(ensemble)
        for n in (1, 10)
    )
    assert ten.inertia_ <= one.inertia_
    assert 1 <= ten.n_iter_ <= ten.max_iter


@every_class
def test_given_rows_are_objects_of_x_also_where_some_are_in_no_clustering(cls):
    table = random_ensemble(40, 6, 3, seed=3, noise=0.4).labels.copy()
    init = [[3, 17, 30], [8, 25, 39]]
    expected = cls(3, init=init, base="precomputed").fit(table).labels_
    padded = np.insert(table, [5, 20], -1, axis=0)
    moved = np.array(init) + (np.array(init) >= 5) + (np.array(init) >= 20)
    with pytest.warns(UserWarning, match="2 of 42 objects"):
        labels = cls(3, init=moved, base="precomputed").fit(padded).labels_
    assert labels[labels >= 0].tolist() == expected.tolist()
    with (
        pytest.warns(UserWarning, match="2 of 42 objects"),
        pytest.raises(ValueError, match="init contains 5, an object that no base"),
    ):
        cls(3, init=[0, 5, 9], base="precomputed").fit(padded)


@every_class
def test_wrong_rows_are_refused(cls):
    table = random_ensemble(40, 6, 3, seed=3).labels
    with pytest.raises(ValueError, match=r"init has shape \(2,\).*\(3,\)"):
        cls(3, init=[0, 1], base="precomputed").fit(table)
    with pytest.raises(ValueError, match="init contains 40; use objects 0 to 39"):
        cls(3, init=[0, 1, 40], base="precomputed").fit(table)


@pytest.mark.parametrize(
    ("cls", "name", "value"),
    [
        (KCC, "utility", "u_x"),
        (KCC, "p", 1),
        (KCC, "n_init", 0),
        (ECC, "max_iter", 0),
        (SEC, "init", "k-means++"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(cls, name, value):
    model = cls(2, base="precomputed").set_params(**{name: value})
    with pytest.raises(InvalidParameterError, match=f"'{name}' parameter"):
        model.fit([[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("method", ["kcc", "ecc", "sec"])
def test_a_clustering_with_one_cluster_and_one_without_objects_change_nothing(method):
    table = random_ensemble(60, 6, 3, seed=4, noise=0.3).labels
    expected = consensus(table, 3, method, random_state=0)
    silent = np.column_stack([table, np.full(60, -1)])
    assert (consensus(silent, 3, method, random_state=0) == expected).all()
    if method != "sec":  # the sizes of clusters, so of this one, are SEC's weights
        flat = np.column_stack([table, np.zeros(60, int)])
        assert (consensus(flat, 3, method, random_state=0) == expected).all()


@pytest.mark.parametrize("method", ["kcc", "ecc", "sec"])
def test_clusters_that_lost_their_objects_do_no_harm(method):
    ensemble = random_ensemble(80, 5, 6, seed=5, missing=0.3).take(np.arange(0, 80, 9))
    assert (ensemble.sizes == 0).any()
    labels = consensus(ensemble, 3, method, random_state=0)
    again = consensus(ensemble.labels, 3, method, random_state=0)
    assert labels.max() == 2
    assert len(labels) == len(again)


def test_an_exact_duplicate_of_every_object_changes_nothing():
    table = random_ensemble(50, 7, 4, seed=6, noise=0.4).labels
    init = [0, 10, 20, 30]
    for cls in (KCC, ECC, SEC):
        one = cls(4, init=init, base="precomputed").fit(table)
        two = cls(4, init=init, base="precomputed").fit(np.vstack([table, table]))
        assert two.labels_.tolist() == one.labels_.tolist() * 2
