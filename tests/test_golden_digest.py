"""The digest of the published outputs: true to them, and enough to check by."""

import numpy as np
import pytest

from conftest import SHARED
from ensclust import CoAssociation, Ensemble, similarity
from golden_digest import Digest, digest, names, projections


def equal(ours, theirs):
    if theirs.dtype.kind in "iubU":
        return np.array_equal(ours, theirs)
    return np.allclose(ours, theirs, rtol=0, atol=1e-9, equal_nan=True)


@pytest.mark.skipif(
    not (SHARED / "golden").exists(), reason="published outputs are not at hand"
)
def test_it_is_that_of_the_outputs():
    assert names() == sorted(path.stem for path in (SHARED / "golden").glob("*.npz"))
    for name in names():
        with np.load(SHARED / "golden" / f"{name}.npz") as outputs:
            truth = digest(outputs)
        kept = Digest(name)
        assert set(kept) == set(truth)
        wrong = [key for key in truth if not equal(kept[key], truth[key])]
        assert not wrong, name


@pytest.mark.parametrize("name", ["wine_z", "digits_raw"])  # "tiny" is kept whole
def test_similarities_have_the_projections_of_the_authors(name):
    z = Digest(f"ecpcs_{name}")
    ensemble = Ensemble(z["labels"])
    W = similarity.jaccard(ensemble)
    ours = {f"Z_t{steps}": similarity.propagate(W, steps) for steps in (1, 5, 20)}
    ours |= {"jaccard": W, "ECA": CoAssociation(ensemble, ours["Z_t20"]).dense()}
    found = [key for key in ours if f"{key} projected" in set(z)]
    assert {"jaccard", "Z_t20"} <= set(found)
    for key in found:
        tolerance = 1e-6 if key == "ECA" else 1e-9
        error = np.abs(projections(ours[key]) - z[f"{key} projected"]).max()
        assert error < tolerance, key


def test_a_changed_entry_changes_the_projections():
    W = np.random.default_rng(0).random((200, 200))
    other = W.copy()
    other[17, 42] += 1e-4
    assert np.abs(projections(other) - projections(W)).max() > 1e-8
