"""Reports of AnnData: scanpy's colours and embeddings are kept."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

from ensclust import scverse
from ensclust._files import h5ad
from ensclust.cli import main

anndata = pytest.importorskip("anndata", reason="needs the extra scverse")
pandas = pytest.importorskip("pandas")


def data_in(path):
    found = re.search('id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    return json.loads(found[1])


@pytest.fixture
def adata():
    runs = pandas.DataFrame({"a": list("xxyyyz"), "b": list("ppqqqq")})
    adata = anndata.AnnData(
        np.ones((6, 1)), obs=runs.set_index(pandas.Index(list("uvwxyz")))
    )
    scverse.consensus(adata, ["a", "b"], n_clusters=2)
    adata.uns["consensus_colors"] = ["#112233", "#445566"]
    adata.obsm["X_umap"] = np.arange(12.0).reshape(6, 2)
    return adata


def test_a_report_keeps_scanpys_colours_and_embedding(adata, tmp_path):
    before = list(adata.uns["consensus_colors"])
    scverse.report(adata, tmp_path / "r.html", truth="a")
    data = data_in(tmp_path / "r.html")
    assert data["palette"][:2] == before == list(adata.uns["consensus_colors"])
    assert data["scatter"]["maps"][0]["names"] == ["umap 1", "umap 2"]
    assert data["sweep"]["names"] == ["b", "a"]
    assert data["clusters"]["names"] == ["0", "1"]
    adata.uns["consensus_colors"] = ["#112233"]  # of an earlier result
    scverse.report(adata, tmp_path / "r.html", keys=["a", "b"])
    assert "#112233" not in data_in(tmp_path / "r.html")["palette"]


def test_a_report_needs_no_embedding_and_names_those_there_are(adata, tmp_path):
    adata.obsm["X_pca"] = adata.obsm["X_umap"]
    said = r"basis='X_tsne' is not in adata.obsm. Its entries: .*, X_umap, X_pca\."
    with pytest.raises(ValueError, match=said):
        scverse.report(adata, tmp_path / "r.html", basis="X_tsne")
    del adata.obsm["X_umap"], adata.obsm["X_pca"]
    scverse.report(adata, tmp_path / "r.html")
    maps = data_in(tmp_path / "r.html")["scatter"]["maps"]
    assert "features" not in [one["of"] for one in maps]


def test_a_report_reads_a_file_that_stays_on_disk(adata, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    scverse.report(backed, tmp_path / "r.html")
    backed.file.close()
    assert data_in(tmp_path / "r.html")["clusters"]["names"] == ["0", "1"]


@pytest.mark.parametrize("column", ["a", "number", "gone"])
def test_colours_of_a_file_are_those_of_categories(adata, column, tmp_path):
    adata.obs["number"] = np.arange(6)
    adata.uns |= {f"{name}_colors": ["#112233"] * 3 for name in ("number", "gone")}
    adata.write_h5ad(tmp_path / "cells.h5ad")
    known = h5ad.colors(tmp_path / "cells.h5ad", "consensus")
    assert known == {"0": "#112233", "1": "#445566"}
    assert h5ad.colors(tmp_path / "cells.h5ad", column) is None


def test_the_command_line_keeps_them_too(adata, tmp_path):
    file, page = tmp_path / "cells.h5ad", tmp_path / "r.html"
    adata.write_h5ad(file)
    command = [
        *("report", file, file, "--columns", "a,b", "--cluster-column", "consensus"),
        *("--data", file, "--data-columns", "X_umap", "--map-of", "ensemble"),
        *("--sweep", file, "--sweep-columns", "b,a", "-o", page),
    ]
    done = CliRunner().invoke(main, list(map(str, command)))
    assert done.exit_code == 0, done.output
    data = data_in(page)
    assert data["palette"][:2] == ["#112233", "#445566"]
    assert [one["of"] for one in data["scatter"]["maps"]] == ["ensemble", "features"]
    assert data["scatter"]["maps"][1]["names"] == ["X_umap1", "X_umap2"]
    assert data["sweep"]["names"] == ["b", "a"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"key": "none"}, "there is nothing to combine"),
        ({"key": "none", "keys": ["a"]}, "'none' is not in adata.obs"),
        ({"key": "a", "keys": ["a"], "truth": "x"}, "'x' is not in adata.obs"),
        ({"key": "a", "keys": ["a"], "basis": "X_y"}, "basis='X_y' is not in"),
    ],
)
def test_a_report_says_what_anndata_lacks(adata, tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        scverse.report(adata, tmp_path / "r.html", **given)
