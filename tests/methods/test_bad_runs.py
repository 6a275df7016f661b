"""Wrong input to consensus, estimators, generators, streams: named in errors."""

import os

import numpy as np
import pytest
from sklearn.cluster import KMeans

from bad_input import HUGE, LABELS, RUNS, X, refused, table, with_cell
from ensclust import (
    ECPCSMC,
    Blocks,
    EnsembleGenerator,
    compare,
    consensus,
    generate,
    methods,
    select_k,
)
from ensclust._methods import METHODS

FITTED = ECPCSMC(2, base="precomputed", random_state=0).fit(RUNS)


@table(
    (lambda: consensus(None, 2), "labels is None"),
    (lambda: consensus(X, 2), r"labels\[0, 0\] = 0\.63"),
    (lambda: consensus(LABELS, None), "n_clusters=None leaves the number"),
    (lambda: consensus(LABELS, {2, 3}), "n_clusters={2, 3} is a set"),
    (lambda: consensus(LABELS, np.array([[2]])), "n_clusters=array.* is a ndarray"),
    (lambda: consensus(LABELS, []), r"n_clusters=\[\] is empty"),
    (lambda: consensus(LABELS, [2, "a"]), "n_clusters='a' is a str"),
    (lambda: consensus(LABELS, [2, 0]), "n_clusters=0 is less than 1"),
    (lambda: consensus(LABELS, "lifetime"), "n_clusters='lifetime' is a str"),
    (lambda: consensus(LABELS.T, 5), r"3 rows \(objects\) .*pass labels\.T"),
    (lambda: consensus(LABELS, 2, None), "method=None is not supported"),
    (lambda: consensus(LABELS, 2, ["eac"]), r"method=\['eac'\] is not supported"),
    (lambda: consensus(LABELS, 2, dict), "method=<class 'dict'> is not supported"),
    (lambda: consensus(LABELS, 2, "no.module:X"), "'no.module:X' cannot be loaded"),
    (lambda: consensus(LABELS, 2, "os:path"), "os has no class 'path' that derives"),
    (lambda: consensus(LABELS, 2, base="kmeans"), "base='kmeans' cannot be set"),
    (lambda: consensus(LABELS, 2, noise="x"), "noise='x' is not supported"),
    (lambda: consensus(LABELS, 2, random_state="a"), "'random_state' .*Got 'a'"),
    (lambda: consensus(LABELS, 2, random_state=-1), "'random_state' .*Got -1"),
    (lambda: consensus(LABELS, 2, n_jobs="a"), "'n_jobs' .*Got 'a'"),
    (lambda: consensus(LABELS, 2, checkpoint="x"), "no parameter 'checkpoint'"),
    (lambda: consensus(LABELS, 2, "eac", checkpoint=3), "'checkpoint' .*Got 3"),
    (
        lambda: consensus(LABELS, 2, "eac", checkpoint=__file__),
        "cannot be used as a directory",
    ),
    (lambda: consensus(LABELS, 2, "eac", max_memory="a"), "'max_memory' .*Got 'a'"),
    (lambda: consensus(LABELS, 2, "eac", max_regions=0), "'max_regions' .*Got 0"),
    (lambda: consensus(LABELS, 2, "srs", decay=2), "'decay' .*Got 2"),
    (lambda: consensus(LABELS, 2, "wct", decay="a"), "'decay' .*Got 'a'"),
    (lambda: consensus(LABELS, 2, "kcc", utility="x"), "'utility' .*Got 'x'"),
    (lambda: consensus(LABELS, 2, "ptgp", n_neighbors=0), "'n_neighbors' .*Got 0"),
    (lambda: consensus(LABELS, 2, "best"), "removed in 0.2.*ecpcs-mc.*compare"),
    (lambda: select_k(LABELS, [2], "best"), 'method="best" was removed in 0.2'),
    (lambda: consensus(LABELS, 2, weights="x"), "'weights' .*Got 'x'"),
    (lambda: consensus(LABELS, 2, weights={"a": 1}), "weights is {'a': 1} for 3"),
    (lambda: select_k(LABELS, [2.5]), r"n_clusters=2\.5 is a float"),
    (lambda: select_k(LABELS, [2], None), "method=None is not supported"),
    (lambda: select_k(LABELS, [2], criteria=3), "criteria=3; expected a list"),
    (lambda: select_k(LABELS, [2], criteria=[3]), "criteria=3 is not supported"),
    (lambda: select_k(LABELS, [2], n_sample="a"), "n_sample='a'; expected an int"),
    (lambda: select_k(LABELS, [2], random_state="a"), "random_state='a'; expected"),
    (lambda: select_k(LABELS, [2], base="kmeans"), "base='kmeans' cannot be set"),
    (lambda: select_k(RUNS.take([]), [2]), "none of the 0 objects"),
    (lambda: compare(None, 2), "labels is None"),
    (lambda: compare(LABELS, 0), "n_clusters=0 is less than 1"),
    (lambda: compare(LABELS, [2, 3]), r"n_clusters=\[2, 3\] is a list"),
    (lambda: compare(LABELS, 9), "n_clusters=9 is larger than n_samples=6"),
    (lambda: compare(LABELS, 2, "eac"), "methods='eac'; expected a list"),
    (lambda: compare(LABELS, 2, []), r"methods=\[\]; expected a list"),
    (lambda: compare(LABELS, 2, 3), "methods=3; expected a list"),
    (lambda: compare(LABELS, 2, ["eac"], random_state="a"), "random_state='a'; exp"),
    (lambda: compare(LABELS, 2, ["eac"], n_jobs=0), "n_jobs=0 is not supported"),
)
def test_functions(call, words):
    refused(call, words)


@pytest.mark.parametrize("method", methods())
@pytest.mark.parametrize(
    ("k", "words"),
    [
        (0, "n_clusters=0 is less"),
        (-1, "n_clusters=-1 is less"),
        (2.5, r"n_clusters=2\.5 is a float"),
        ("a", "n_clusters='a' is a str"),
        (7, "n_clusters=7 is larger than n_samples=6"),
        (2**70, f"n_clusters={2**70} is larger"),
    ],
)
def test_every_method_refuses_a_number_of_clusters_that_cannot_be(method, k, words):
    refused(lambda: consensus(LABELS, k, method), words)


def cases(estimator):
    """Return an estimator's parameters with a value that none of them takes."""
    names = estimator().get_params()
    return [(estimator, name) for name in names if name != "random_state"]


@pytest.mark.parametrize(
    ("estimator", "name"),
    [case for estimator in METHODS.values() for case in cases(estimator)],
)
def test_every_parameter_of_every_method_is_checked(estimator, name):
    model = estimator(**{name: object()})
    refused(lambda: model.fit(X), f"'{name}' parameter of {estimator.__name__}")


@table(
    (lambda: generate(None), "X is not a table of numbers: Expected 2D array"),
    (lambda: generate("a.csv"), "X is the path 'a.csv'; expected numbers.*read_feat"),
    (lambda: generate(RUNS), "X is Ensemble.*; expected numbers.*precomputed"),
    (lambda: generate([]), "X is not a table of numbers: Expected 2D array"),
    (lambda: generate([["a", "b"]]), "X is not a table of numbers: could not convert"),
    (lambda: generate([[1, 2], [3]]), "X is not a table of numbers: setting an array"),
    (lambda: generate(X + 1j), "X is not a table of numbers: Complex data"),
    (lambda: generate(np.zeros((0, 2))), r"X is not a table .* 0 sample\(s\)"),
    (lambda: generate(np.zeros((3, 0))), r"X is not a table .* 0 feature\(s\)"),
    (lambda: generate(with_cell(np.nan)), "Input X contains NaN"),
    (lambda: generate(with_cell(np.inf)), "Input X contains infinity"),
    (lambda: generate(X, 2, base_k=True), "base_k=True; expected an integer, a pair"),
    (lambda: generate(X, 2, base_k=np.array(3)), r"base_k=array\(3\); expected"),
    (lambda: generate(X, 2, base_k={2}), r"base_k=\{2\}; expected"),
    (lambda: generate(X, 2, base=KMeans), r"base=<class .*is a class.*KMeans\(\)"),
    (lambda: generate(X, 2, base=["kmeans", KMeans]), r"is a class.*KMeans\(\)"),
    (lambda: generate(X, 2, base={"a": KMeans()}), "base={.*} is not supported"),
    (lambda: generate(X, 2, base="spectra"), "'spectra' is not supp.* \"spectral\""),
    (lambda: generate(X, 2, base=["spectral", "x"]), "base='x' is not supported"),
    (lambda: generate(X, 2, noise=3), "noise=3 is not supported"),
    (lambda: generate(X, 2, max_iter=0), "max_iter=0; expected an integer"),
    (lambda: generate(X, 2, random_state="a"), "random_state='a'; expected an int"),
    (lambda: generate(X, 2, random_state=-1), "random_state=-1; expected an int"),
    (lambda: generate(X, 2, random_state=2.5), r"random_state=2\.5; expected an int"),
    (lambda: generate(X, 2, n_jobs="a"), "n_jobs='a' is not supported"),
    (lambda: generate(X, 2, n_jobs=2.5), r"n_jobs=2\.5 is not supported"),
    (lambda: EnsembleGenerator().transform(X), "EnsembleGenerator .* not fitted"),
    (lambda: ECPCSMC(2).fit("a.csv"), "X is the path 'a.csv'; expected numbers"),
    (lambda: ECPCSMC(2).fit(RUNS), "X is Ensemble.*precomputed"),
    (lambda: ECPCSMC(2).fit(X[0]), "X is not a table of numbers: Expected 2D array"),
    (lambda: ECPCSMC(2).fit(X[:1]), "n_clusters=2 is larger than n_samples=1"),
    (lambda: ECPCSMC(2, base=KMeans).fit(X), "'base' parameter of ECPCSMC"),
    (lambda: ECPCSMC(2).fit(with_cell(np.nan)), "Input X contains NaN"),
    (lambda: FITTED.predict(X), r"labels\[0, 0\] = 0\.63"),
    (lambda: FITTED.predict(LABELS[0]), r"labels has shape \(3,\)"),
    (lambda: FITTED.predict(lambda: [LABELS]), "predict takes an array .*not a stream"),
    (lambda: FITTED.memberships(LABELS[:, :2]), "labels has 2 columns; the ensemble"),
    (lambda: ECPCSMC().memberships(), "ECPCSMC .* not fitted"),
    (lambda: ECPCSMC().certainty(), "ECPCSMC .* not fitted"),
    (lambda: ECPCSMC().report("a.html"), "ECPCSMC .* not fitted"),
)
def test_generators_and_estimators(call, words):
    refused(call, words)


def test_labels_as_large_as_2_to_62_are_new_to_predict():
    assert (FITTED.predict(np.column_stack([HUGE] * 3))[2] == -1).all()


@table(
    (lambda: Blocks(None), "NoneType is not a stream of blocks"),
    (lambda: Blocks({"a": LABELS}), "dict is not a stream of blocks"),
    (lambda: Blocks(RUNS), "Ensemble is not a stream of blocks"),
    (lambda: Blocks(LABELS).concat(None), "NoneType is not a stream of blocks"),
    (lambda: Blocks(LABELS).concat(LABELS, RUNS), "Ensemble is not a stream of blocks"),
    (lambda: Blocks(LABELS).concat(lambda: [LABELS]), "a function makes its blocks"),
    (lambda: Blocks(np.zeros((0, 3))), r"got an array of shape \(0, 3\)"),
    (lambda: Blocks(LABELS, rows=0), "rows=0; expected an integer >= 1"),
    (lambda: Blocks(LABELS, rows="a"), "rows='a'; expected an integer"),
    (lambda: Blocks(LABELS, rows=2.5), r"rows=2\.5; expected an integer"),
    (lambda: Blocks(LABELS, engine=None), "engine=None is not supported"),
    (lambda: Blocks(LABELS, content="x"), "content='x' is not supported"),
    (lambda: Blocks(LABELS, columns=["a"]), r"columns=\['a'\] is for files; got nd"),
    (lambda: Blocks([LABELS], id_column="a"), "id_column='a' is for files; got list"),
    (lambda: Blocks(Blocks(LABELS), rows=2), "rows=2 is too late for Blocks"),
    (lambda: Blocks(lambda x: [LABELS]), "needs arguments .*missing a required arg"),
    (lambda: consensus(lambda: 3, 2), "returned int. Pass the path"),
    (lambda: consensus(lambda: [None], 2), "block 1: labels is None"),
    (lambda: consensus(lambda: [X], 2), r"block 1: labels\[0, 0\] = 0\.63"),
    (lambda: consensus(Blocks([LABELS, "no.csv"]), 2), r"block 2: no\.csv does not"),
    (lambda: consensus(Blocks([LABELS, X]), 2), r"block 2: labels\[0, 0\] = 0\.63"),
    (lambda: consensus(Blocks(LABELS), 9), "n_clusters=9 is larger"),
    (lambda: consensus(Blocks(LABELS), 2, checkpoint="c"), "needs files, whose ch"),
    (lambda: consensus(Blocks(LABELS), 2).write(3), "path is of type int"),
    (lambda: consensus(Blocks(LABELS), 2).write("a.csv"), r"a\.csv cannot be written"),
    (lambda: consensus(Blocks(LABELS), 2).write("no/a.npy"), "does not exist"),
    (lambda: generate(Blocks(X), 2, random_state="a"), "random_state='a'; expected"),
    (lambda: generate(Blocks([X, X[:, :2]]), 2), "block 2 has 2 columns"),
)
def test_streams(call, words):
    refused(call, words)


def test_a_file_in_the_place_of_a_checkpoint_is_told(tmp_path):
    np.save(tmp_path / "runs.npy", LABELS)
    (tmp_path / "old").write_text("old")
    blocks = Blocks(os.fspath(tmp_path / "runs.npy"))
    words = "checkpoint=.* cannot be used as a directory: File exists"
    refused(lambda: consensus(blocks, 2, checkpoint=tmp_path / "old"), words)
    assert (tmp_path / "old").read_text() == "old"
