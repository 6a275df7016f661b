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


def test_clusters_are_numbered_by_size_in_anndata_only(adata):
    adata = adata[5:].copy()  # 15 of the first group, 20 of the second
    scverse.consensus(adata, KEYS, n_clusters=2)
    labels = adata.obs["consensus"]
    assert labels.tolist() == ["1"] * 15 + ["0"] * 20
    shares = adata.obsm["consensus_memberships"]
    assert shares.argmax(axis=1).tolist() == labels.cat.codes.tolist()
    columns = [adata.obs[key] for key in KEYS]
    runs = Ensemble.from_clusterings(columns)
    assert ensclust.consensus(runs, 2).tolist() == [0] * 15 + [1] * 20
    sure = ensclust.Certainty.of(runs, labels.cat.codes)
    found = adata.uns["consensus"]["cluster_consensus"]
    assert np.array_equal(found, sure.cluster_consensus)
    assert np.array_equal(adata.obs["consensus_certainty"], sure.item_consensus)


def test_the_number_of_clusters_is_found_and_kept(adata):
    scverse.consensus(adata, KEYS)
    found = adata.uns["consensus"]
    assert found["params"]["n_clusters"] == "auto"
    assert found["n_clusters"] == adata.obs["consensus"].nunique()
    runs = Ensemble.from_clusterings([adata.obs[key] for key in KEYS])
    labels = ensclust.consensus(runs, "auto", random_state=0)
    assert found["n_clusters"] == labels.max() + 1


@pytest.mark.parametrize("method", ["ecpcs-mc", "kcc"])
def test_texts_that_are_numbers_are_read_as_in_files(adata, tmp_path, method):
    rng = np.random.default_rng(0)
    for name in ("a", "b", "c"):  # with "10", and "-1" as HDBSCAN writes noise
        adata.obs[name] = pd.Categorical(rng.integers(-1, 12, 40).astype(str))
    adata.write_h5ad(tmp_path / "cells.h5ad")
    table = ensclust.io.read_labels(tmp_path / "cells.h5ad", columns=["a", "b", "c"])
    labels = ensclust.consensus(table.values, 4, method=method, random_state=0)
    scverse.consensus(adata, ["a", "b", "c"], n_clusters=4, method=method)
    assert ari(adata.obs["consensus"].cat.codes, labels) == 1


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


@pytest.mark.parametrize("weights", ["agreement", "size"])
def test_the_result_survives_a_file(adata, tmp_path, weights):
    scverse.consensus(adata, KEYS, n_clusters=2, weights=weights)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert again.obs["consensus"].equals(adata.obs["consensus"])
    assert np.array_equal(
        again.obsm["consensus_memberships"], adata.obsm["consensus_memberships"]
    )
    one, other = again.uns["consensus"], adata.uns["consensus"]
    assert np.allclose(one["agreement"], other["agreement"])
    assert one["params"]["keys"].tolist() == KEYS
    assert one["params"]["weights"] == weights


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
        ("truth", r"keys='truth' is one name. Pass a list"),
        ([], "nothing to combine.*Columns: truth, fine, number, part, score, half"),
        (None, "nothing to combine"),
        (["truth", "score"], r"keys=\['truth', 'score'\].*not all clusterings.*labels"),
        (["truth", "half"], "not all clusterings.*0.5"),
    ],
)
def test_keys_that_cannot_be_are_refused_by_name(adata, keys, message):
    adata.obs["half"] = pd.Categorical([0.5, 1.5] * 20)
    with pytest.raises(ValueError, match=message):
        scverse.consensus(adata, keys, n_clusters=2)
    assert "consensus" not in adata.obs


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"resolutions": 1.0}, r"resolutions=1.0 is not a list. Use \[1.0, ...\]"),
        ({"resolutions": [1, 2, 1.0]}, "resolutions holds 1 more than.*seeds=2 runs"),
        ({"resolutions": [1], "seeds": 0}, "seeds=0; expected a number of seeds"),
        ({"resolutions": [1], "seeds": True}, "seeds=True; expected a number"),
        ({"resolutions": [1], "seeds": 1.5}, "seeds=1.5; expected a number"),
        ({"resolutions": [1], "seeds": []}, r"seeds=\[\]; expected a number"),
        ({"resolutions": [1], "seeds": [-1]}, r"seeds=\[-1\]; expected.* >= 0"),
        ({"resolutions": [1], "seeds": [3, 3]}, "expected seeds that differ"),
        ({"resolutions": [1], "fraction": 0}, "fraction=0; expected a number above 0"),
        ({"resolutions": [1], "fraction": 1.1}, "fraction=1.1; expected .*at most 1"),
        ({"resolutions": [1], "fraction": "a"}, "fraction='a'; expected a number"),
        ({"resolutions": [1], "random_state": -1}, "random_state=-1; expected an int"),
        ({"keys": ["truth"], "seeds": 3}, "seeds=3 .*no resolutions to run it at"),
        ({"keys": ["truth"], "fraction": 0.5}, "fraction=0.5 are about runs of Leiden"),
        ({"keys": ["truth"], "n_clusters": "best"}, "n_clusters"),
    ],
)
def test_runs_that_cannot_be_are_refused(adata, given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        scverse.consensus(adata, **given)
    assert list(adata.obs) == ["truth", "fine", "number", "part", "score"]


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


def test_every_resolution_is_run_with_every_seed(pbmc):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    resolutions = np.arange(0.5, 1.2, 0.5)
    scverse.consensus(pbmc, resolutions=resolutions, seeds=[3, 8], n_clusters=6)
    names = [f"consensus_leiden_{r}_seed{s}" for r in ("0.5", "1") for s in (3, 8)]
    found = pbmc.uns["consensus"]
    assert found["params"]["keys"].tolist() == names
    assert found["params"]["seeds"].tolist() == [3, 8]
    assert found["params"]["resolutions"].tolist() == [0.5, 1]
    assert found["agreement"].index.tolist() == names
    assert not pbmc.obs[names[2]].equals(pbmc.obs[names[3]])
    # A run is the same whatever others there are; a number of seeds begins at
    # random_state.
    scverse.consensus(pbmc, resolutions=[1], seeds=2, random_state=7, key_added="b")
    assert (pbmc.obs["b_leiden_1_seed8"] == pbmc.obs[names[3]]).all()
    scverse.consensus(pbmc, resolutions=[1], random_state=8, key_added="c")
    assert (pbmc.obs["c_leiden_1"] == pbmc.obs[names[3]]).all()


def test_each_run_draws_its_own_cells(pbmc):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    with pytest.warns(UserWarning, match="5 of 700 objects are in no base"):
        scverse.consensus(pbmc, resolutions=[0.5, 1], seeds=2, fraction=0.7)
    runs = pbmc.obs.filter(regex="_leiden_")
    assert runs.notna().sum().tolist() == [490] * 4
    assert len(runs.notna().T.drop_duplicates()) == 4
    assert pbmc.obs["consensus"].notna().sum() == runs.notna().any(axis=1).sum()
    assert pbmc.uns["consensus"]["params"]["fraction"] == 0.7
    with pytest.warns(UserWarning, match="210 of 700 objects"):
        scverse.consensus(pbmc, resolutions=[1], fraction=0.7, random_state=1)
    assert pbmc.obs["consensus_leiden_1"].equals(runs["consensus_leiden_1_seed1"])


def test_cells_may_share_a_name(pbmc):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    asked = {"keys": ["louvain"], "resolutions": [0.5, 1], "seeds": 2, "n_clusters": 6}
    wanted = scverse.consensus(pbmc, **asked, copy=True).obs
    pbmc.obs.index = ["cell"] * 700  # as after joining datasets
    scverse.consensus(pbmc, **asked)
    assert pbmc.obs.reset_index(drop=True).equals(wanted.reset_index(drop=True))


def test_hundreds_of_runs_are_written_at_once(pbmc):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    scverse.consensus(pbmc, resolutions=[0.1], seeds=120, n_clusters=3)
    assert len(pbmc.obs.filter(regex="_leiden_").columns) == 120


def test_consensus_of_other_seeds_agrees_better_than_single_runs_do(pbmc):
    pytest.importorskip("igraph", reason="needs the extra scverse")
    asked = {"resolutions": np.arange(0.2, 2.01, 0.2), "n_clusters": 9}
    for key, seeds in (("a", range(5)), ("b", range(5, 10))):
        scverse.consensus(pbmc, seeds=seeds, key_added=key, **asked)
    one, other = (pbmc.obs.filter(regex=f"^{key}_leiden_") for key in "ab")
    single = [ari(one[x], other[y]) for x, y in zip(one, other, strict=True)]
    assert len(single) == 50
    assert np.mean(single) < 0.97
    assert ari(pbmc.obs["a"], pbmc.obs["b"]) > 0.99
