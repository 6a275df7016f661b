"""Real files of every format: round trips, h5ad, Parquet, paths in place of labels."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ensclust
from ensclust._files import sources
from ensclust.cli._info import describe
from ensclust.io import check_output, read_features, read_labels, write_labels
from strategies import label_tables

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

FORMATS = (".csv", ".tsv", ".npz", ".parquet")
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)


@pytest.fixture
def adata(tmp_path):
    """Write an h5ad file of 30 cells, and return its path."""
    anndata = pytest.importorskip("anndata")
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 10)
    obs = pandas.DataFrame(
        {
            "leiden": pandas.Categorical(truth.astype(str)),
            "louvain": pandas.Categorical.from_codes(
                truth - (truth == 2) * 3, ["x", "y"]
            ),
            "n_counts": rng.random(30),
        },
        index=[f"cell{i}" for i in range(30)],
    )
    X = rng.poisson(1, (30, 4)).astype(np.float32)
    cells = anndata.AnnData(sparse.csr_matrix(X), obs=obs)
    cells.obsm["X_pca"] = np.column_stack([truth * 9.0, rng.random(30)])
    cells.layers["counts"] = X
    cells.uns["note"] = "kept"
    cells.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


# --- round trips


@given(label_tables(), st.sampled_from(FORMATS), st.data())
def test_labels_and_ids_come_back_from_every_format(
    tmp_path_factory, labels, kind, data
):
    n, m = labels.shape
    cells = st.lists(IDS, min_size=n, max_size=n)
    ids = [cell.strip() for cell in data.draw(cells)]
    if kind == ".npz":  # arrays of text end at NUL and NPY cannot tell "" from none
        ids = [f"{i}{cell}" for i, cell in enumerate(ids)]
    path = tmp_path_factory.getbasetemp() / f"round{kind}"
    names = [f"run {i}, of {m}" for i in range(m)]
    write_labels(path, labels, names=names, ids=ids)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a column may look like ids
        table = read_labels(path)
    assert table.columns == tuple(names)
    assert table.ids == ids
    assert (table.values == labels).all()
    assert table.values.dtype == np.int8


@given(
    st.lists(
        st.lists(
            st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2
        ),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([".csv", ".npy", ".npz", ".parquet"]),
)
def test_features_come_back_from_every_format(tmp_path_factory, rows, kind):
    X = np.array(rows)
    path = tmp_path_factory.getbasetemp() / f"features{kind}"
    if kind == ".csv":
        path.write_text("".join(f"{a!r};{b!r}\n" for a, b in rows))
    elif kind == ".npy":
        np.save(path, X)
    elif kind == ".npz":
        np.savez(path, X)
    else:
        parquet.write_table(pyarrow.table({"a": X[:, 0], "b": X[:, 1]}), path)
    values = read_features(path).values
    assert values.dtype == np.float64
    assert (values == X).all()


@given(st.lists(st.integers(-3, 2**63 - 1), min_size=1, max_size=12))
def test_integers_of_any_size_keep_their_value(tmp_path_factory, numbers):
    path = tmp_path_factory.getbasetemp() / "wide.parquet"
    column = [*numbers, *numbers]  # so that it does not look like one of ids
    parquet.write_table(pyarrow.table({"k": column}), path, row_group_size=3)
    assert read_labels(path).values.ravel().tolist() == [max(n, -1) for n in column]


@pytest.mark.parametrize("kind", [".csv", ".npy", ".parquet"])
def test_more_than_255_clusters_are_told_apart_across_blocks(
    tmp_path, monkeypatch, kind
):
    monkeypatch.setattr(sources, "_CELLS", 100)
    labels = np.repeat(np.arange(700)[::-1], 2)
    path = tmp_path / f"many{kind}"
    write_labels(path, labels)
    values = read_labels(path).values
    assert values.dtype == np.int16
    assert (values[:, 0] == labels).all()


def test_array_is_read_in_blocks_whatever_its_order(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_CELLS", 10)
    X = np.asfortranarray(np.random.default_rng(0).random((33, 3)))
    np.save(tmp_path / "X.npy", X)
    assert (read_features(tmp_path / "X.npy").values == X).all()


def test_column_called_object_first_is_the_ids(tmp_path):
    (tmp_path / "labels.csv").write_text("object,k2\n10,0\n11,0\n12,1\n")
    table = read_labels(tmp_path / "labels.csv")
    assert (table.columns, table.ids) == (("k2",), ["10", "11", "12"])


@pytest.mark.parametrize("kind", [".npy", ".parquet"])
def test_integers_that_are_all_different_are_ids(tmp_path, kind):
    labels = np.column_stack([np.arange(30)[::-1], np.arange(30) % 3])
    write_labels(tmp_path / f"labels{kind}", labels, names=["cell", "k"])
    if kind == ".parquet":
        parquet.write_table(
            pyarrow.table({"cell": labels[:, 0], "k": labels[:, 1]}),
            tmp_path / "labels.parquet",
        )
    table = read_labels(tmp_path / f"labels{kind}")
    assert table.ids == labels[:, 0].tolist()
    assert (table.values[:, 0] == labels[:, 1]).all()


# --- Parquet


def test_parquet_of_many_row_groups_is_one_table(tmp_path):
    labels = np.arange(50) % 7
    table = pyarrow.table({"a": labels, "b": [str(v) for v in labels]})
    parquet.write_table(table, tmp_path / "labels.parquet", row_group_size=8)
    values = read_labels(tmp_path / "labels.parquet").values
    assert (values == np.column_stack([labels, labels])).all()


def test_bad_parquet_cell_is_named_by_its_row_in_the_file(tmp_path):
    table = pyarrow.table({"a": [1.0] * 30 + [0.5] + [1.0] * 9})
    parquet.write_table(table, tmp_path / "labels.parquet", row_group_size=8)
    with pytest.raises(ValueError, match=r"parquet, row 31, column 'a': '0.5' is no"):
        read_labels(tmp_path / "labels.parquet")


def test_parquet_with_two_columns_of_one_name_is_refused(tmp_path):
    table = pyarrow.Table.from_arrays([pyarrow.array([1, 1])] * 2, names=["a", "a"])
    parquet.write_table(table, tmp_path / "labels.parquet")
    with pytest.raises(ValueError, match="has 2 columns 'a'"):
        read_labels(tmp_path / "labels.parquet")


def test_parquet_decimals_are_numbers(tmp_path):
    from decimal import Decimal

    table = pyarrow.table({"x": [Decimal("1.5"), Decimal("2.25")]})
    parquet.write_table(table, tmp_path / "data.parquet")
    assert read_features(tmp_path / "data.parquet").values.tolist() == [[1.5], [2.25]]


def test_parquet_dates_are_no_labels(tmp_path):
    table = pyarrow.table({"day": np.array(["2020-01-01", "2020-01-02"], "M8[s]")})
    parquet.write_table(table, tmp_path / "labels.parquet")
    with pytest.raises(TypeError, match="column 'day' has dtype datetime64"):
        read_labels(tmp_path / "labels.parquet")


# --- h5ad


def test_h5ad_labels_are_the_obs_columns_that_are_named(adata):
    table = read_labels(adata, columns=["leiden", "louvain"])
    truth = np.repeat([0, 1, 2], 10)
    assert table.ids[:2] == ["cell0", "cell1"]
    assert (
        table.values == np.column_stack([truth, np.where(truth == 2, -1, truth)])
    ).all()


def test_h5ad_labels_must_be_named(adata):
    message = r"has obs columns 'leiden', 'louvain', 'n_counts'. Name those to use"
    with pytest.raises(ValueError, match=message):
        read_labels(adata)
    with pytest.raises(
        ValueError, match=r"no column 'nosuch'. Its columns are 'leiden'"
    ):
        read_labels(adata, columns=["nosuch"])


def test_h5ad_features_are_x_an_embedding_or_genes(adata):
    cells = pytest.importorskip("anndata").read_h5ad(adata)
    whole = read_features(adata)
    assert (whole.values == cells.X.toarray()).all()
    assert whole.values.dtype == np.float32
    assert whole.ids == list(cells.obs_names)
    embedding = read_features(adata, columns=["X_pca"])
    assert embedding.columns == ("X_pca1", "X_pca2")
    assert (embedding.values == cells.obsm["X_pca"]).all()
    mixed = read_features(adata, columns=["3", "X_pca", "0"]).values
    X = cells.X.toarray()
    assert (mixed == np.column_stack([X[:, 3], cells.obsm["X_pca"], X[:, 0]])).all()


@pytest.mark.parametrize("form", ["csc_matrix", "csr_matrix", None])
def test_h5ad_matrix_may_be_dense_or_sparse_either_way(tmp_path, monkeypatch, form):
    anndata = pytest.importorskip("anndata")
    sparse = pytest.importorskip("scipy.sparse")
    monkeypatch.setattr(sources, "_CELLS", 20)
    X = np.random.default_rng(0).poisson(0.5, (17, 5)).astype(np.float64)
    anndata.AnnData(X if form is None else getattr(sparse, form)(X)).write_h5ad(
        tmp_path / "x.h5ad"
    )
    assert (read_features(tmp_path / "x.h5ad").values == X).all()


def test_sparse_matrix_too_large_when_dense_is_refused(adata, monkeypatch):
    monkeypatch.setattr("ensclust._files.h5ad._LARGEST", 100)
    with pytest.raises(
        ValueError, match=r"X is sparse.*Name an entry of obsm \('X_pca'"
    ):
        read_features(adata)


def test_info_proposes_what_looks_like_a_clustering_and_says_what_it_left_out(
    tmp_path,
):
    anndata = pytest.importorskip("anndata")
    codes = np.arange(90) % 3
    three = pandas.Categorical(codes.astype(str))
    obs = dict.fromkeys(("groups", "leiden_0.5", "cell_type", "consensus"), three)
    obs |= {"leiden_fine": pandas.Categorical([f"{i}x" for i in range(90)])}
    obs |= {"louvain": codes, "leiden_one": pandas.Categorical(["a"] * 90)}
    index = [f"cell{i}" for i in range(90)]
    cells = anndata.AnnData(obs=pandas.DataFrame(obs, index=index))
    cells.uns["groups"] = {"params": {"resolution": 1.0, "random_state": 0}}
    cells.uns["cell_type_colors"] = ["red", "green", "blue"]
    ensclust.scverse.consensus(cells, ["groups", "leiden_0.5"], n_clusters=3)
    cells.obsm["X_a"] = cells.obsm["X_pca"] = np.zeros((90, 2))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    facts = describe(tmp_path / "cells.h5ad")
    found = {column["name"]: column["left_out"] for column in facts["obs"]}
    assert found == {
        "groups": None,
        "leiden_0.5": None,
        "cell_type": "no clustering tool in uns or in the name",
        "leiden_fine": "more values than the square root of the number of objects",
        "louvain": "not categorical",
        "leiden_one": "fewer than two values",
        "consensus": "result of ensclust",
        "consensus_certainty": "not categorical",
    }
    *left, consensus, cluster = facts["suggestions"]
    assert "Left out, not categorical: louvain, consensus_certainty." in left
    assert "Left out, result of ensclust: consensus." in left
    assert consensus.endswith("-k K --columns groups,leiden_0.5")
    assert cluster.endswith("-k K --columns X_pca")


def test_info_says_where_there_are_too_few_clusterings(adata, tmp_path):
    anndata = pytest.importorskip("anndata")
    cells = anndata.read_h5ad(adata)
    for name, words in (("leiden", "Only louvain looks"), ("louvain", "No column of")):
        del cells.obs[name]
        cells.write_h5ad(tmp_path / "few.h5ad")
        hints = describe(tmp_path / "few.h5ad")["suggestions"]
        assert any(
            words in hint and "resolutions=[0.5, 1, 2]" in hint for hint in hints
        )


def test_h5ad_output_is_a_copy_with_categories_in_obs(adata, tmp_path):
    before = adata.read_bytes()
    labels = np.repeat([0, 1, -1], 10)
    write_labels(tmp_path / "out.h5ad", labels, names=["consensus"], source=adata)
    found = pytest.importorskip("anndata").read_h5ad(tmp_path / "out.h5ad")
    assert adata.read_bytes() == before
    assert list(found.obs["consensus"].cat.categories) == ["0", "1"]
    assert found.obs["consensus"].isna().sum() == 10
    assert list(found.obs.columns) == ["leiden", "louvain", "n_counts", "consensus"]
    assert found.uns["note"] == "kept"
    assert {*found.layers, *found.obsm} == {"counts", "X_pca"}
    again = read_labels(tmp_path / "out.h5ad", columns=["consensus"])
    assert (again.values[:, 0] == labels).all()


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "copy of an h5ad input, but there is none. Write a CSV file"),
        ("labels.csv", "the input is labels.csv"),
        ("out.h5ad", "out.h5ad is the input. Choose another"),
    ],
)
def test_h5ad_output_wants_another_h5ad_as_its_source(tmp_path, source, message):
    (tmp_path / "out.h5ad").write_text("old")
    if source == "out.h5ad":
        source = tmp_path / source
    with pytest.raises(ValueError, match=message):
        check_output(tmp_path / "out.h5ad", source=source)


def test_failed_h5ad_copy_leaves_the_old_file(adata, tmp_path):
    (tmp_path / "out.h5ad").write_text("old")
    with pytest.raises(ValueError, match="has 30 objects; got 2 labels"):
        write_labels(tmp_path / "out.h5ad", np.array([0, 1]), source=adata)
    assert (tmp_path / "out.h5ad").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"cells.h5ad", "out.h5ad"}


def test_broken_h5ad_is_refused_by_name(tmp_path):
    (tmp_path / "x.h5ad").write_bytes(b"no such format")
    with pytest.raises(ValueError, match=r"x.h5ad cannot be read as h5ad"):
        read_features(tmp_path / "x.h5ad")
    h5py = pytest.importorskip("h5py")
    h5py.File(tmp_path / "y.h5ad", "w").close()
    with pytest.raises(
        ValueError, match=r"y.h5ad cannot be read as h5ad: it has no obs"
    ):
        read_labels(tmp_path / "y.h5ad", columns=["a"])


def test_h5ad_without_anndata_gives_both_install_lines(adata, monkeypatch):
    monkeypatch.setitem(sys.modules, "anndata.io", None)
    message = r'pip install "ensclust\[anndata\]"  or, in a clone.*pip install ".\[ann'
    with pytest.raises(ImportError, match=message):
        read_labels(adata, columns=["leiden"])


# --- a path in place of labels


@pytest.mark.parametrize("as_path", [str, Path])
@pytest.mark.parametrize("kind", [".csv", ".npy", ".parquet"])
def test_consensus_and_estimators_take_a_path(tmp_path, digits_labels, as_path, kind):
    labels = digits_labels[0][:, :6]
    write_labels(tmp_path / f"l{kind}", labels, names=[f"r{i}" for i in range(6)])
    path = as_path(tmp_path / f"l{kind}")
    expected = ensclust.consensus(labels, 5, random_state=0)
    assert (ensclust.consensus(path, 5, random_state=0) == expected).all()
    model = ensclust.ECPCSMC(5, base="precomputed", random_state=0).fit(path)
    assert (model.labels_ == expected).all()
    assert (model.predict(path) == expected).all()
    assert ensclust.Ensemble(path) == ensclust.Ensemble(labels)


def test_path_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nosuch.csv does not exist"):
        ensclust.consensus(tmp_path / "nosuch.csv", 2)


# --- where warnings point


def _warned_at(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    assert caught
    return {warning.filename for warning in caught}


def test_warnings_point_at_the_line_of_the_caller(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("k1,k2\n7,0\n8,0\n9,1\n")
    few = [[0, 0], [0, 0], [1, 0], [-1, -1]]
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    model = ensclust.ECPCSHC(4, base_k=2, random_state=0)
    calls = [
        lambda: read_labels(path),
        lambda: ensclust.Ensemble(path),
        lambda: ensclust.consensus(path, 2, "eac"),
        lambda: ensclust.consensus(few, 3, "ecpcs-hc"),
        lambda: ensclust.ECPCSMC(2, base="precomputed", random_state=0).fit(few),
        lambda: model.fit_predict(X),
        lambda: make_pipeline(StandardScaler(), model).fit(X),
    ]
    for call in calls:
        assert _warned_at(call) == {__file__}


@pytest.mark.parametrize("index", [False, True])
@pytest.mark.parametrize("n_columns", [2, 5])
def test_pandas_default_names_of_columns_are_no_object(tmp_path, index, n_columns):
    X = np.random.default_rng(0).normal(size=(6, n_columns))
    pandas.DataFrame(X).to_csv(tmp_path / "X.csv", index=index)
    with pytest.warns(UserWarning, match=r"0, 1, ..., is used as column names"):
        assert np.allclose(ensclust.io.read_features(tmp_path / "X.csv").values, X)
    labels = np.random.default_rng(0).integers(0, 3, (6, 5))
    pandas.DataFrame(labels).to_csv(tmp_path / "labels.csv", index=index)
    with pytest.warns(UserWarning, match="--no-header"):
        found = ensclust.io.read_labels(tmp_path / "labels.csv").values
    assert np.array_equal(found, labels)


def test_two_columns_of_labels_may_begin_with_0_and_1(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("0,1\n0,0\n1,1\n")
    assert len(ensclust.io.read_labels(path).values) == 3


@pytest.mark.parametrize("suffix", [".csv", ".npy"])
def test_the_input_is_never_the_output(tmp_path, suffix):
    path = tmp_path / f"runs{suffix}"
    ensclust.io.write_labels(path, np.array([[0, 1], [1, 0]]), names=["a", "b"])
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"is the input. Choose another"):
        ensclust.io.write_labels(path, np.array([0, 1]), source=path)
    assert path.read_bytes() == before


def test_anndata_is_sent_to_its_own_function():
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(np.zeros((5, 2), np.float32))
    with pytest.raises(TypeError, match=r"ensclust.scverse.consensus"):
        ensclust.consensus(adata, 2)


def test_text_that_is_called_npy_is_not_called_a_pickle(tmp_path):
    path = tmp_path / "fake.npy"
    path.write_text("0,1\n1,0\n")
    with pytest.raises(ValueError, match="it is not an NPY or NPZ file"):
        ensclust.consensus(path, 2)


def test_one_label_is_no_clustering():
    with pytest.raises(ValueError, match="expected one label per object"):
        ensclust.Ensemble.from_clusterings(np.array([0, 1, 1]))


def test_weights_are_derived_from_a_plain_table():
    labels = np.array([[0, 0], [0, 0], [1, 1]])
    assert np.allclose(ensclust.agreement_weights(labels), 1)


@pytest.mark.parametrize("cells", [[[], []], [[1], [2, 3]]], ids=["empty", "full"])
def test_a_column_of_lists_is_text_to_features(tmp_path, cells):
    path = tmp_path / "nested.parquet"
    parquet.write_table(pyarrow.table({"a": cells, "b": [0.5, 1.5]}), path)
    with pytest.raises(ValueError, match=r"nested.parquet, row 1, column 'a': '\["):
        read_features(path)
