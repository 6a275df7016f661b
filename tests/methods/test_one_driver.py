"""One driver: what memory, streams and Dask have in common, and what is left behind."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from ensclust import ECPCSHC, ECPCSMC, KCC, Blocks, EnsembleGenerator, consensus
from ensclust._methods import METHODS, make
from strategies import random_ensemble

LABELS = random_ensemble(300, 8, 5, seed=3, noise=0.1).labels
NEW = random_ensemble(80, 8, 5, seed=9, noise=0.5).labels
X = np.random.default_rng(0).normal(size=(300, 3))
every_method = pytest.mark.parametrize("method", METHODS)


def fitted(method, data=LABELS):
    model = make(method, n_clusters=4, base="precomputed", random_state=0)
    return model.fit(data)


@every_method
def test_predict_is_the_assignment_of_encoded_objects(method):
    model = fitted(method)
    expected = model.assignment_.label(model.ensemble_.recode(NEW))
    assert np.array_equal(model.predict(NEW), expected)
    assert np.array_equal(model.assignment_.label(model.ensemble_), model.labels_)


@every_method
def test_an_assignment_is_small_and_can_be_sent_elsewhere(method):
    model = fitted(method)
    sent = pickle.loads(pickle.dumps(model.assignment_))
    assert np.array_equal(sent.label(model.ensemble_), model.labels_)
    n_rows = len(model.ensemble_.fragments().counts)
    n_clusters = model.ensemble_.n_base_clusters
    most = 8 * (n_rows * (8 + 3) + n_clusters**2 + 3 * 4 * n_clusters)
    assert model.assignment_.nbytes <= most
    assert len(pickle.dumps(model.assignment_)) <= most + 4000


@every_method
def test_a_pickled_model_has_no_leftovers(method):
    """Twice as many objects of the same rows add their labels, and nothing else."""
    model, twice = fitted(method), fitted(method, np.repeat(LABELS, 2, axis=0))
    more = len(pickle.dumps(twice)) - len(pickle.dumps(model))
    own = 300 * (8 + 4)  # codes of one byte, and the label
    if hasattr(model, "dendrogram_"):
        own += 300 * 8  # the leaf of each object
    assert more <= own + 600
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(LABELS), model.labels_)


@every_method
def test_the_counts_of_a_stream_are_pickled_without_it(method):
    model = fitted(method, Blocks(LABELS, rows=70))
    again = pickle.loads(pickle.dumps(model.ensemble_))
    assert again.n_objects == 300
    with pytest.raises(TypeError, match="was not saved"):
        again.fold(None, None)


def test_kmeans_predicts_the_nearest_centre_in_every_engine():
    for method in ("kcc", "ecc", "sec", "kmodes"):
        memory, stream = fitted(method), fitted(method, Blocks(LABELS, rows=70))
        assert np.array_equal(memory.predict(NEW), stream.predict(NEW))
        table, slope = memory.assignment_.tables
        rows = memory.ensemble_.recode(NEW)
        place = np.where(
            rows.labels < 0, len(table) - 1, rows.labels + rows.offsets[:-1]
        )
        sizes = np.append(memory.ensemble_.sizes, 0)
        weight = sizes[place].sum(axis=1) if method == "sec" else np.ones(len(NEW))
        score = table[place].sum(axis=1)
        if len(slope):
            score += weight[:, None] * ((rows.labels >= 0) @ slope)
        nearest = memory.assignment_.names[score.argmin(axis=1)]
        assert np.mean(nearest == memory.predict(NEW)) == 1


def test_labels_of_a_stream_compare_and_add_up_as_arrays_do():
    found = consensus(Blocks(LABELS, rows=70), 4, random_state=0)
    labels = consensus(LABELS, 4, random_state=0)
    assert np.array_equal(found == 0, labels == 0)
    assert np.array_equal((found + 1) * 2, (labels + 1) * 2)
    assert np.array_equal(found[:5], labels[:5])
    assert np.array_equal(np.maximum(found, 1), np.maximum(labels, 1))


def test_blocks_of_a_function_are_there_though_nobody_knows_how_many():
    blocks = Blocks(lambda: iter([LABELS]))
    assert bool(blocks)
    with pytest.raises(TypeError, match="has no length: a function makes its blocks"):
        len(blocks)
    assert len(Blocks(LABELS, rows=100)) == 3


def test_a_generator_gives_the_labels_of_a_stream_as_a_stream():
    generator = EnsembleGenerator(3, base_k=4, random_state=0)
    labels = generator.fit_transform(Blocks(X, rows=120, content="features"))
    names = generator.get_feature_names_out().tolist()
    assert names == ["clustering0", "clustering1", "clustering2"]
    columns = [np.column_stack(block.load()) for block in labels]
    expected = np.column_stack(generator.label(X))
    assert np.array_equal(np.concatenate(columns), expected)


@pytest.mark.parametrize("cls", [ECPCSMC, ECPCSHC, KCC])
def test_a_model_of_a_stream_writes_a_report_of_a_sample(cls, tmp_path, monkeypatch):
    pytest.importorskip("plotly")
    monkeypatch.setattr("ensclust._methods.estimators._SHOWN", 50)
    model = cls(3, base="precomputed", random_state=0).fit(Blocks(LABELS, rows=70))
    truth, ids = LABELS[:, 0], [f"object {i}" for i in range(300)]
    model.report(tmp_path / "page.html", X, truth=truth, ids=ids)
    text = (tmp_path / "page.html").read_text()
    assert "A random sample of 50 of 300 objects is shown" in text
    shown = model._result().objects
    assert all((f'"object {i}"' in text) == (i in shown) for i in range(300))
    labels = np.asarray(model.labels_)[shown]
    assert np.array_equal(model._result().labels, labels)


def test_a_fit_that_fails_leaves_no_graph_behind(monkeypatch):
    def fail(*_, **__):
        msg = "no cut"
        raise RuntimeError(msg)

    monkeypatch.setattr("ensclust._cuts.voting.MetaClusters.cut", fail)
    for data in (LABELS, Blocks(LABELS, rows=70)):
        model = ECPCSMC(3, base="precomputed", random_state=0)
        with pytest.raises(RuntimeError, match="no cut"):
            model.fit(data)
        assert set(vars(model)) <= {*model.get_params(), "n_features_in_"}


def test_a_fit_does_not_change_parameters(tmp_path):
    np.save(tmp_path / "runs.npy", LABELS)
    model = ECPCSHC(3, base="precomputed", random_state=0)
    before = clone(model).get_params()
    blocks = Blocks(tmp_path / "runs.npy")
    consensus(blocks, 3, model, checkpoint=tmp_path / "kept")
    model.fit(blocks)
    assert model.get_params() == before


def test_models_of_version_0_1_fail_with_a_sentence():
    for gone in (
        b"ensclust.ensemble\nEnsemble",
        b"ensclust._methods.best\nBestConsensus",
    ):
        with pytest.raises(ModuleNotFoundError, match=r"pickled by ensclust 0\.1"):
            pickle.loads(b"c" + gone + b"\n.")
    with pytest.raises(ModuleNotFoundError, match=r"named 'ensclust\.nobody'"):
        __import__("ensclust.nobody")
