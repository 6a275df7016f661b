"""Consensus over real AnnData, with scanpy's own data and Leiden."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import ensclust
from ensclust import Ensemble, scverse
from ensclust.metrics import ari

anndata = pytest.importorskip("anndata", reason="needs the extra scverse")


@pytest.fixture
def adata():
    """Return 40 cells in two groups, three clusterings, one with missing labels."""
    truth = np.repeat(["T", "B"], 20)
    runs = pd.DataFrame({"truth": truth, "fine": truth, "number": np.arange(40)})
    runs["fine"] = pd.Categorical([f"{t}{i % 2}" for i, t in enumerate(truth)])
    runs["part"] = pd.Series(truth).where(np.arange(40) % 3 > 0).astype("category")
    runs["score"] = np.linspace(0, 1, 40)
    runs.index = [f"cell{i}" for i in range(40)]
    return anndata.AnnData(np.ones((40, 3), np.float32), obs=runs)


@pytest.fixture(scope="session")
def pbmc_file(tmp_path_factory):
    """Return scanpy's 700 cells as a file; they ship with scanpy."""
    scanpy = pytest.importorskip("scanpy", reason="needs the extra scverse")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own old file
        cells = scanpy.datasets.pbmc68k_reduced()
    path = tmp_path_factory.mktemp("pbmc") / "pbmc.h5ad"
    cells.write_h5ad(path)
    return path


@pytest.fixture
def pbmc(pbmc_file):
    return anndata.read_h5ad(pbmc_file)


KEYS = ["truth", "fine", "part"]


def test_the_result_is_where_scanpy_users_look(adata):
    assert scverse.consensus(adata, KEYS, n_clusters=2) is None
    labels = adata.obs["consensus"]
    assert labels.dtype == "category"
    assert labels.cat.categories.tolist() == ["0", "1"]
    assert ari(labels.cat.codes, adata.obs["truth"]) == 1
    shares = adata.obsm["consensus_memberships"]
    assert shares.shape == (40, 2)
    assert np.allclose(shares.sum(axis=1), 1)
    assert adata.obs["consensus_certainty"].between(0, 1).all()
    found = adata.uns["consensus"]
    assert found["params"]["method"] == "ecpcs-mc"
    assert found["params"]["keys"].tolist() == KEYS
    assert found["agreement"].index.tolist() == KEYS
    assert found["agreement"].loc["truth", "ari"] == 1
    assert len(found["cluster_consensus"]) == 2


def test_labels_are_those_of_the_library(adata):
    scverse.consensus(
        adata, KEYS, n_clusters=2, method="eac", key_added="tree", weights=[1, 2, 1]
    )
    columns = [adata.obs[key] for key in KEYS]
    labels = ensclust.consensus(
        Ensemble.from_clusterings(columns), 2, method="eac", weights=[1, 2, 1]
    )
    assert adata.obs["tree"].cat.codes.tolist() == labels.tolist()
    assert adata.uns["tree"]["agreement"]["weight"].tolist() == [1, 2, 1]


def test_a_copy_leaves_the_original_alone(adata):
    before = adata.copy()
    other = scverse.consensus(adata, KEYS, n_clusters=2, copy=True)
    assert "consensus" in other.obs
    assert list(adata.obs) == list(before.obs)
    assert not adata.uns
    assert not adata.obsm


def test_a_cell_in_no_clustering_is_missing(adata):
    adata.obs.loc["cell0", "part"] = None
    adata.obs["other"] = adata.obs["part"]
    with pytest.warns(UserWarning, match="14 of 40 objects"):
        scverse.consensus(adata, ["part", "other"], n_clusters=2)
    assert adata.obs["consensus"].isna().sum() == 14
    assert adata.obs.loc["cell0", ["consensus", "consensus_certainty"]].isna().all()


def test_the_result_survives_a_file(adata, tmp_path):
    scverse.consensus(adata, KEYS, n_clusters=2, weights="agreement")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["consensus"].equals(adata.obs["consensus"])
    assert np.array_equal(
        again.obsm["consensus_memberships"], adata.obsm["consensus_memberships"]
    )
    one, other = again.uns["consensus"], adata.uns["consensus"]
    assert np.allclose(one["agreement"], other["agreement"])
    assert one["params"]["keys"].tolist() == KEYS
    assert one["params"]["weights"] == "agreement"


def test_backed_data_stay_on_disk(adata, tmp_path):
    path = tmp_path / "cells.h5ad"
    adata.write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r+")
    scverse.consensus(backed, KEYS, n_clusters=2)
    assert backed.isbacked
    assert backed.obs["consensus"].nunique() == 2
    with pytest.raises(ValueError, match=r"needs a second file.*to_memory"):
        scverse.consensus(backed, KEYS, n_clusters=2, copy=True)
    backed.file.close()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            ["truth", "leiden"],
            r"'leiden' is not in adata.obs. Its columns: truth",
        ),
        ("truth", r"keys='truth' is one name. Give a list"),
        ([], "nothing to combine.*Columns: truth, fine, number, part, score"),
        (None, "nothing to combine"),
        (["truth", "score"], r"keys=\['truth', 'score'\].*not all clusterings.*labels"),
    ],
)
def test_keys_that_cannot_be_are_refused_by_name(adata, keys, message):
    with pytest.raises(ValueError, match=message):
        scverse.consensus(adata, keys, n_clusters=2)
    assert "consensus" not in adata.obs


@pytest.mark.parametrize("resolution", [0, -1, "fine", np.nan])
def test_resolutions_that_cannot_be_are_refused(adata, resolution):
    with pytest.raises(ValueError, match=f"resolutions: {resolution!r}"):
        scverse.consensus(adata, resolutions=[1.0, resolution], n_clusters=2)


def test_resolutions_without_scanpy_name_the_install_line(adata, monkeypatch):
    monkeypatch.setitem(sys.modules, "scanpy", None)
    with pytest.raises(ImportError, match=r'pip install "ensclust\[scverse\]"'):
        scverse.consensus(adata, resolutions=[1.0], n_clusters=2)


def test_resolutions_need_a_graph(adata):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    pytest.importorskip("scanpy", reason="needs the extra scverse")
    with pytest.raises(ValueError, match=r"Run scanpy.pp.neighbors\(adata\) first"):
        scverse.consensus(adata, resolutions=[1.0], n_clusters=2)


def test_leiden_at_several_resolutions_on_real_cells(pbmc):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    resolutions = [0.3, 0.6, 1.0, 1.5]
    before = pbmc.uns.keys() - {"consensus"}
    scverse.consensus(pbmc, resolutions=resolutions, n_clusters=7)
    names = [f"consensus_leiden_{r:g}" for r in resolutions]
    assert pbmc.uns["consensus"]["agreement"].index.tolist() == names
    assert pbmc.obs[names[-1]].nunique() > pbmc.obs[names[0]].nunique()
    assert pbmc.obs["consensus"].nunique() == 7
    assert ari(pbmc.obs["consensus"], pbmc.obs["bulk_labels"]) > 0.3
    assert pbmc.uns.keys() - {"consensus"} == before
    again = pbmc.obs["consensus"].copy()
    scverse.consensus(pbmc, resolutions=resolutions, n_clusters=7)
    assert pbmc.obs["consensus"].equals(again)


def test_real_cells_backed_by_a_file_take_keys_and_resolutions(pbmc_file):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    backed = anndata.read_h5ad(pbmc_file, backed="r")
    scverse.consensus(backed, ["louvain"], resolutions=[0.5, 1.0], n_clusters=6)
    assert backed.isbacked
    table = backed.uns["consensus"]["agreement"]
    assert table.index[0] == "louvain"
    assert table["nmi"].min() > 0.5
    backed.file.close()
