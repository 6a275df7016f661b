"""Edge cases of generation that some change to the source would break."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from ensclust import Blocks, EnsembleGenerator, consensus, generate
from ensclust._generate.objects import InMemory
from ensclust._generate.scaling import Scaling, exact_sum, standard_scaling

X = make_blobs(80, n_features=3, centers=4, random_state=0)[0]


def test_labels_of_a_base_clusterer_are_small_integers():
    generator = EnsembleGenerator(4, base_k=5, random_state=0).fit(X)
    labels = generator.models_[0].predict(X.astype(np.float32))
    assert labels.dtype == np.uint8
    assert set(labels.tolist()) <= set(range(5))


def test_a_model_of_a_file_whose_frame_has_other_features_is_refused():
    generator = EnsembleGenerator(4, base_k=5, random_state=0).fit(X + 1e4)
    assert len(generator.frame_.origin) == 3
    generator._check_loaded()
    generator.frame_ = generator.frame_._replace(origin=np.zeros(2))
    with pytest.raises(ValueError, match="origin"):
        generator._check_loaded()


def test_labels_of_sparse_features_are_not_written_in_blocks(tmp_path):
    with pytest.raises(ValueError, match="X is sparse"):
        generate(sparse.csr_array(X), 3, out=tmp_path / "runs.npy")


def test_sparse_features_are_scaled_as_dense_ones():
    scaling = standard_scaling(InMemory(X))
    scaled = scaling.of(sparse.csr_array(X))
    dense = Scaling.of(scaling, X)
    assert np.allclose(dense.std(axis=0), 1)
    assert np.allclose(scaled.toarray() - scaled.toarray()[0], dense - dense[0])


@pytest.mark.parametrize("values", [[0.1] * 10, [1e300, 1.0, -1e300], [], [2.0**-1000]])
def test_sums_are_exact(values):
    expected = sum(map(Fraction, values), Fraction(0))
    assert exact_sum(np.array(values)) == expected


def test_base_clusterers_that_stop_early_are_no_warning():
    runs = generate(X, 3, base=GaussianMixture(max_iter=1), base_k=4, random_state=0)
    assert runs.n_clusterings == 3
    assert generate(X, 3, base_k=4, random_state=0).n_clusterings == 3


def test_blocks_of_features_give_the_labels_of_all_together():
    stream = generate(Blocks(X, rows=30, content="features"), 3, random_state=0)
    whole = generate(X, 3, random_state=0)
    found = [np.asarray(consensus(runs, 2, random_state=0)) for runs in (stream, whole)]
    assert np.array_equal(*found)
