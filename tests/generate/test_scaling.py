"""Scaled features: exact sums, whatever the blocks; what generate makes of them."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import Birch
from sklearn.preprocessing import RobustScaler, StandardScaler

from ensclust import ECPCSMC, Blocks, Ensemble, EnsembleGenerator, generate
from ensclust._generate import base_kmeans
from ensclust._generate.objects import InBlocks, InMemory, survey
from ensclust._generate.scaling import exact_sum, robust_scaling, standard_scaling

X = np.random.default_rng(0).normal(size=(500, 4)) * [1, 1e6, 1e-6, 3] + [0, 7, 1e-4, 1]


def standardized(X):
    """Return features, in memory or in Blocks, scaled."""
    given = (X, survey(X)) if isinstance(X, Blocks) else (X,)
    make = InBlocks if isinstance(X, Blocks) else InMemory
    objects = make(*given, standard_scaling(make(*given)))
    return objects.take(np.arange(objects.n_objects))


def rows_of(blocks):
    return np.concatenate([np.column_stack(block.load()) for block in blocks])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e140])
def test_sums_are_exact(scale):
    rng = np.random.default_rng(1)
    values = rng.normal(size=99) * 10.0 ** rng.integers(-30, 10, 99) * scale
    assert exact_sum(values) == sum(map(Fraction, values.tolist()))
    assert exact_sum(np.zeros(3)) == exact_sum(np.empty(0)) == 0


def test_columns_are_those_of_the_standard_scaler():
    expected = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(standardized(X), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [1, 7, 123, 500])
@pytest.mark.parametrize("engine", ["blocks", "dask"])
def test_blocks_change_no_bit(rows, engine):
    pytest.importorskip("dask")
    blocks = Blocks(X, rows=rows, engine=engine)
    np.testing.assert_array_equal(standardized(blocks), standardized(X))
    turned = Blocks(X[::-1], rows=rows, engine=engine)
    np.testing.assert_array_equal(standardized(turned)[::-1], standardized(X))


def test_a_far_row_costs_no_digits():
    table = np.random.default_rng(2).normal(size=(1000, 1)) + 1e6
    table[3] = 1e13
    by_hand = (table - table.mean()) / table.std()
    np.testing.assert_allclose(standardized(table), by_hand, rtol=1e-9)


def test_constant_columns_become_0_and_float32_stays():
    table = np.full((30, 2), 0.1, np.float32)
    table[:15, 1] = 2
    found = standardized(table)
    assert found.dtype == np.float32
    assert (found[:, 0] == 0).all()
    np.testing.assert_allclose(found.std(axis=0), [0, 1], rtol=1e-6)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_named_by_block(value):
    table = X.copy()
    table[130, 1] = value
    with pytest.raises(ValueError, match=r"rows 101 to 200: X\[30, 1\] = "):
        standardized(Blocks(table, rows=100))


def test_blocks_of_other_widths_are_refused():
    with pytest.raises(ValueError, match="block 2 has 3 columns, block 1 has 4"):
        standardized(Blocks([X, X[:, :3]]))


def test_robust_scaling_is_that_of_the_robust_scaler():
    expected = RobustScaler().fit_transform(X)
    np.testing.assert_allclose(robust_scaling(X).of(X), expected, rtol=1e-9, atol=1e-9)
    mostly_one = np.array([[1.0]] * 9 + [[5.0]])
    assert np.abs(robust_scaling(mostly_one).of(mostly_one)).max() < 4


@pytest.mark.parametrize(
    ("scale", "scaler"), [("standard", StandardScaler), ("robust", RobustScaler)]
)
@pytest.mark.parametrize("base", ["kmeans", ["kmeans", Birch(threshold=0.2)]])
def test_generate_scales_first_and_new_objects_alike(scale, scaler, base):
    options = {"base": base, "base_k": (2, 9), "random_state": 0}
    expected = generate(scaler().fit_transform(X), 6, **options)
    generator = EnsembleGenerator(6, scale=scale, **options).fit(X)
    assert generator.ensemble_ == expected
    assert np.array_equal(generator.transform(X), expected.labels)
    blocks = generate(Blocks(X, rows=77), 6, scale=scale, **options)
    assert np.array_equal(Ensemble(rows_of(blocks)).labels, expected.labels)


@pytest.mark.parametrize("scale", ["standard", "robust"])
@pytest.mark.parametrize("make", [Blocks, lambda X, rows: lambda: np.split(X, 5)])
def test_passes_over_all_rows_see_them_scaled(scale, make, monkeypatch):
    monkeypatch.setattr(base_kmeans, "SAMPLE", 60)
    options = {"base_k": 6, "random_state": 0, "scale": scale}
    expected = generate(X, 6, **options)
    blocks = generate(make(X, rows=77), 6, **options)
    assert np.array_equal(Ensemble(rows_of(blocks)).labels, expected.labels)


def test_sparse_features_are_scaled_and_stay_sparse():
    rare = sparse.random(400, 20, 0.3, random_state=0, format="csr")
    rare = rare @ sparse.diags_array(np.logspace(0, 5, 20))
    scaled = StandardScaler(with_mean=False).fit_transform(sparse.csr_matrix(rare))
    options = {"base_k": 5, "random_state": 0}
    found = generate(sparse.csr_matrix(rare), 5, scale="standard", **options)
    assert found == generate(scaled, 5, **options)


def test_columns_that_decide_alone_are_told_once():
    with pytest.warns(UserWarning, match=r"times the median: .*scale=\"standard\""):
        ECPCSMC(3, 3, random_state=0).fit(X)
    ECPCSMC(3, 3, scale="standard", random_state=0).fit(X)
    generate(StandardScaler().fit_transform(X) * [1, 2, 3, 9], 3, random_state=0)


@pytest.mark.parametrize("scale", ["max", 1, True])
def test_an_unknown_scale_is_refused(scale):
    with pytest.raises(ValueError, match=r"scale=.*'auto', 'standard', 'robust', None"):
        generate(X, 3, scale=scale)


def test_auto_scales_where_few_columns_decide_alone_and_only_there():
    options = {"base_k": 4, "random_state": 0}
    with pytest.warns(UserWarning, match=r"All are scaled; scale=None turns this off"):
        found = generate(X, 4, scale="auto", **options)
    assert found == generate(X, 4, scale="standard", **options)
    even = StandardScaler().fit_transform(X)
    assert generate(even, 4, scale="auto", **options) == generate(even, 4, **options)


def test_auto_leaves_columns_that_a_few_objects_make_large():
    far = StandardScaler().fit_transform(X)
    far[3, 1] = 1e4
    generator = EnsembleGenerator(3, scale="auto", random_state=0)
    with pytest.warns(UserWarning, match="a few outliers"):
        assert generator.fit(far).scaling_ is None
