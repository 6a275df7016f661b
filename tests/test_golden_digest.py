"""The digest of the published outputs: true to them, and enough to check by."""

import numpy as np
import pytest

from conftest import SHARED
from ensclust import Ensemble, similarity
from golden_digest import PATH, Digest, difference, digest, names, projections


def equal(ours, theirs):
    if theirs.dtype.kind in "iubU":
        return np.array_equal(ours, theirs)
    return np.allclose(ours, theirs, rtol=0, atol=1e-9, equal_nan=True)


@pytest.mark.skipif(
    not (SHARED / "golden").exists(), reason="published outputs are not available"
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


def test_a_matrix_that_is_projected_is_compared_so():
    kept = Digest("ecpcs_wine_z")  # "tiny" is kept whole
    assert "jaccard projected" in set(kept)
    W = similarity.jaccard(Ensemble(kept["labels"]))
    assert difference(W, kept, "jaccard") < 1e-9
    assert difference(W + 1e-6, kept, "jaccard") > 1e-9
    tiny = Digest("ecpcs_tiny")
    assert difference(tiny["jaccard"] + 1e-6, tiny, "jaccard") > 1e-9


def test_it_is_small():
    assert PATH.stat().st_size < 400_000


def test_a_changed_entry_changes_the_projections():
    W = np.random.default_rng(0).random((200, 200))
    other = W.copy()
    other[17, 42] += 1e-4
    assert np.abs(projections(other) - projections(W)).max() > 1e-8
