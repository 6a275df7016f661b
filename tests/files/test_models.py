"""Models in files: what is saved predicts the same, what is foreign is refused."""

import json
import re
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

import ensclust
from bad_input import refused
from conftest import cli_runner
from ensclust import ECPCSMC, KCC, CustomConsensus
from ensclust._files.models import _is_ours
from ensclust._methods import METHODS, make
from ensclust.cli import main
from ensclust.io import load_model, read_labels, save_model

skops = pytest.importorskip("skops.io", reason="needs the extra model")

X = np.random.default_rng(0).normal(size=(60, 3)) + np.arange(60)[:, None] % 3 * 4
LABELS = ensclust.generate(X, 5, random_state=0).labels


class Foreign(KMeans):
    """A clusterer of another package."""


@pytest.fixture
def saved(tmp_path):
    """Return the file of a model of features."""
    save_model(ECPCSMC(3, 5, random_state=0).fit(X), tmp_path / "m.skops")
    return tmp_path / "m.skops"


def write_archive(path, model, **about):
    """Write what save_model would refuse to write."""
    path.write_bytes(skops.dumps(model))
    with zipfile.ZipFile(path, "a") as archive:
        known = {"version": ensclust.__version__, "columns": None}
        archive.writestr("ensclust.json", json.dumps(known | about))


@pytest.mark.parametrize("method", [ECPCSMC, KCC, ensclust.EAC])
def test_a_loaded_model_predicts_as_the_saved_one(method, tmp_path):
    model = method(3, 5, random_state=0).fit(X)
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    assert type(again) is method
    assert (again.labels_ == model.labels_).all()
    assert (again.predict(X[::-1]) == model.labels_[::-1]).all()
    assert np.array_equal(again.memberships(X), model.memberships())


@pytest.mark.parametrize("kind", [int, str])
def test_a_model_of_labels_knows_them_again(kind, tmp_path):
    labels = pd.DataFrame(LABELS.astype(kind)).add_prefix("run")
    model = ECPCSMC(3, base="precomputed", random_state=0).fit(labels)
    save_model(model, tmp_path / "m.skops")
    assert (load_model(tmp_path / "m.skops").predict(labels) == model.labels_).all()


def test_clusterers_of_scikit_learn_are_saved_others_refused_by_name(tmp_path):
    path = tmp_path / "m.skops"
    model = ECPCSMC(3, 3, base=KMeans(4, n_init=1), random_state=0).fit(X)
    save_model(model, path)
    assert (load_model(path).predict(X) == model.labels_).all()
    before = path.read_bytes()
    for foreign, name in (
        (ECPCSMC(3, 3, base=Foreign(4)).fit(X), r"test_models\.Foreign"),
        (CustomConsensus(3, similarity=lambda e: np.eye(e.n_base_clusters)), "lambda"),
    ):
        foreign.fit(X)
        with pytest.raises(
            ValueError, match=f"outside ensclust, NumPy.*{name}.*joblib"
        ):
            save_model(foreign, path)
    assert path.read_bytes() == before


def test_a_file_with_foreign_types_is_refused_by_their_names(tmp_path):
    path = tmp_path / "m.skops"
    write_archive(path, ECPCSMC(3, 3, base=Foreign(4)).fit(X))
    with pytest.raises(ValueError, match=r"contains types.*test_models\.Foreign\. No"):
        load_model(path)


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("ensclust.ECPCSMC", True),
        ("ensclust._support.validation.import_optional", False),  # a function
        ("ensclust._files.tables.Path", False),  # a class that is only imported there
        ("ensclust._files.tables.Nothing", False),
        ("ensclust._files.nothing.Nothing", False),
        ("ensclust.__main__.main", False),  # which importing would run
        ("ensclust.cli._run.Run", False),
        ("ensclust_other._methods.Method", False),
        ("os.system", False),
    ],
)
def test_only_classes_of_ours_are_trusted(name, is_ours):
    assert _is_ours(name) == is_ours


def test_a_model_of_another_version_is_refused_by_name(saved, monkeypatch):
    monkeypatch.setattr("ensclust._files.models.__version__", "9.9")
    with pytest.raises(ValueError, match=r"saved by ensclust 0\.\S+; this is 9.9"):
        load_model(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: path.write_text("no archive"), "not a zip file"),
        (lambda path: path.write_bytes(path.read_bytes()[:-99]), "not a zip file"),
        (lambda path: skops.dump(KMeans(2), path), "no item named 'ensclust.json'"),
        (lambda path: write_archive(path, KMeans(2)), "model is of type KMeans"),
        (lambda path: write_archive(path, ECPCSMC(3)), "not fitted yet"),
        (lambda path: write_archive(path, ensclust.Ensemble(LABELS)), "type Ensemble"),
    ],
)
def test_what_is_no_model_is_refused_by_name(saved, change, words):
    change(saved)
    with pytest.raises(ValueError, match=f"m.skops cannot be read as a .*{words}"):
        load_model(saved)


def test_what_does_not_fit_into_memory_is_refused(saved, monkeypatch):
    monkeypatch.setattr("ensclust._support.memory.available", lambda: 1000)
    with pytest.raises(MemoryError, match=r"reading .*m.skops needs"):
        load_model(saved)


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        (KMeans(2), "m.skops", "type KMeans; expected a fitted consensus"),
        (ECPCSMC, "m.skops", "expected a fitted consensus"),
        (ECPCSMC(3), "m.skops", "not fitted"),
        (None, "m.pkl", "m.pkl does not end in .skops"),
        (None, "nowhere/m.skops", "does not exist"),
        (None, 3, "path is of type int"),
    ],
)
def test_what_cannot_be_saved_is_refused(model, name, words, tmp_path):
    path = name if isinstance(name, int) else tmp_path / name
    with pytest.raises((ValueError, TypeError, OSError), match=words):
        save_model(model, path)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no.skops does not exist"):
        load_model(tmp_path / "no.skops")


def test_without_skops_the_error_has_the_install_line(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r'pip install "ensclust\[model\]"'):
        load_model(saved)


# --- on the command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with a table, a model of it, and new objects in other columns."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.to_csv("X.csv", index=False)
    table.assign(name=[f"n{i}" for i in range(60)])[["c", "name", "b", "a"]].to_csv(
        "new.csv", index=False
    )
    done = run("cluster X.csv -k 3 --seed 0 --model m.skops -o labels.csv")
    assert "model written to m.skops" in done.stderr
    return tmp_path


def run(line, status=0):
    done = cli_runner().invoke(main, line.split())
    assert done.exit_code == status, done.output
    return done


def test_predict_finds_columns_by_name_and_repeats_the_labels(folder):
    done = run("predict m.skops new.csv --id-column name -o out.csv")
    assert "ecpcs-mc of m.skops: 60 objects" in done.stderr
    assert "3 clusters of sizes 20, 20, 20" in done.stderr
    labels, found = read_labels("labels.csv"), read_labels("out.csv")
    assert (found.values == labels.values).all()
    assert found.ids[:2] == ["n0", "n1"]
    facts = json.loads(run("predict m.skops new.csv --json").stdout)
    assert facts["labels"] == labels.values[:, 0].tolist()
    assert facts["sizes"] == [20, 20, 20]


def test_columns_that_are_called_otherwise_are_named(folder):
    np.save("X.npy", X)
    assert "no column 'a'" in run("predict m.skops X.npy", 2).stderr
    found = run("predict m.skops X.npy --columns 1,2,3 -o out.csv -q")
    assert not found.stderr
    assert (read_labels("out.csv").values == read_labels("labels.csv").values).all()
    few = run("predict m.skops X.npy --columns 1,2", 2).stderr
    assert "X has 2 features, but ECPCSMC is expecting 3" in few


@pytest.mark.parametrize(
    "choice", ["", " --columns c,name,b,a", " --exclude name", " --scale robust"]
)
def test_columns_that_were_left_out_are_not_asked_for(folder, choice):
    line = "cluster new.csv -k 3 --numeric-only --seed 0 --model n.skops -o new.npy"
    run(line + choice)
    run("predict n.skops X.csv -o again.npy")
    assert (np.load("again.npy") == np.load("new.npy")).all()


def test_new_cells_have_the_numbers_of_the_cells_of_training(folder):
    anndata = pytest.importorskip("anndata")
    few = [*range(0, 60, 3), *range(1, 30, 3), *range(2, 20, 3)]  # 20, 10 and 6
    for name, rows in (("train", few[::-1]), ("new", few[::-1][:20])):
        index = [f"c{i}" for i in rows]
        cells = anndata.AnnData(X[rows], obs=pd.DataFrame(index=index))
        cells.obsm["X_pca"] = X[rows]
        cells.write_h5ad(f"{name}.h5ad")
    run("cluster train.h5ad -k 3 --columns X_pca --model m.skops -o copy.h5ad --seed 0")
    run("predict m.skops new.h5ad -o labelled.h5ad")
    trained, found = (
        anndata.read_h5ad(f"{name}.h5ad").obs["consensus"]
        for name in ("copy", "labelled")
    )
    assert trained.value_counts(sort=False).tolist() == [20, 10, 6]
    assert found.tolist() == trained.tolist()[:20]
    assert found.cat.categories.tolist() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cluster X.csv -k 3 --model m.pkl", "m.pkl does not end in .skops"),
        ("cluster X.csv -k 3 --model no/m.skops", "directory no does not exist"),
        ("cluster X.csv -k 3 --model m.skops --missing impute", "--model does not"),
        ("cluster X.csv -k 3 --model m.skops --categorical join", "--model does not"),
        ("cluster X.csv -k 2,3 --model m.skops", "--model keeps one clustering"),
        (
            "cluster X.npy -k 3 --model m.skops --engine blocks -o o.npy",
            "engine memory",
        ),
        ("predict no.skops X.csv", "no.skops does not exist"),
        ("predict m.skops no.csv", "no.csv does not exist"),
        ("predict X.csv m.skops", "X.csv does not end in .skops"),
        ("predict m.skops X.csv -o X.csv", "X.csv is the input"),
        ("predict m.skops X.csv -o o.h5ad", "would be a copy of an h5ad input"),
        ("predict runs.skops X.csv", "runs.skops combines labels.*load_model"),
    ],
)
def test_commands_that_cannot_be_are_refused(folder, line, words):
    runs = ECPCSMC(3, base="precomputed", random_state=0).fit(LABELS)
    save_model(runs, "runs.skops")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    error = run(line, 2).stderr
    assert re.search(words, error), error
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_an_old_model_is_refused_on_the_command_line(folder):
    with (
        zipfile.ZipFile("m.skops") as ours,
        zipfile.ZipFile("old.skops", "w") as old,
    ):
        for member in ours.namelist():
            about = json.dumps({"version": "0.0.1", "columns": None}).encode()
            is_about = member == "ensclust.json"
            old.writestr(member, about if is_about else ours.read(member))
    assert "saved by ensclust 0.0.1" in run("predict old.skops X.csv", 2).stderr


GAPS = np.where(np.arange(LABELS.size).reshape(LABELS.shape) % 7, LABELS, -1)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("given", [X, GAPS], ids=["features", "labels"])
def test_every_method_is_loaded_as_it_was_saved(name, given, tmp_path):
    settings = {"n_clusterings": 5} if given is X else {"base": "precomputed"}
    model = make(name, n_clusters=3, random_state=0, **settings).fit(given)
    save_model(model, tmp_path / "m.skops")
    found = load_model(tmp_path / "m.skops").predict(given)
    assert np.array_equal(found, model.predict(given))


def forged(model, path, value):
    """Return a model with something in it changed: ``path`` is where."""
    *places, last = path.split(".")
    owner = model
    for place in places:
        owner = owner[int(place)] if place.isdecimal() else getattr(owner, place)
    object.__setattr__(owner, last, value(getattr(owner, last)))
    return model


def raised(array):
    """Return an array with one number far above what it may be."""
    array = array.copy()
    array.reshape(-1)[-1] = 120 if array.dtype == np.uint8 else 10**6
    return array


def lowered(array):
    array = array.copy()
    array.reshape(-1)[0] = -5
    return array


FORGED = [
    ("ecpcs-mc", "assignment_.meta_labels", raised, "meta_labels has numbers from"),
    ("ecpcs-mc", "assignment_.meta_labels", lowered, "meta_labels has numbers from"),
    ("ecpcs-mc", "assignment_.meta_labels", lambda x: x[1:], "meta_labels has shape"),
    ("ecpcs-mc", "assignment_.meta_labels", list, "meta_labels is of type list"),
    ("ecpcs-mc", "assignment_.seed", lambda _: -1, "seed has numbers from -1"),
    ("ecpcs-mc", "assignment_.weights", lambda _: np.ones(2), "weights has shape"),
    ("ecpcs-mc", "ensemble_.columns", raised, "ensemble_ has codes beyond its"),
    ("ecpcs-mc", "ensemble_.columns", lambda x: x[:-1], "argument 2 is longer"),
    ("ecpcs-mc", "ensemble_.places", lambda _: np.array([99]), "places has numbers"),
    ("ecpcs-mc", "labels_", raised, "labels_ has numbers from"),
    ("ecpcs-mc", "labels_", lambda x: x[1:], "labels_ has shape"),
    ("ecpcs-mc", "n_clusters_", lambda _: 10**9, "n_clusters_ has numbers from"),
    ("eac", "assignment_.rows", raised, "rows hold labels that the base"),
    ("eac", "assignment_.rows", lowered, "rows has numbers from -5"),
    ("eac", "assignment_.labels", raised, "labels has numbers from"),
    ("eac", "assignment_.labels", lowered, "labels has numbers from -5"),
    ("eac", "assignment_.counts", lambda x: x[1:], "counts has shape"),
    ("eac", "assignment_.affinity.offsets", raised, "offsets belong to other"),
    ("ecpcs-hc", "assignment_.affinity.similarity", lambda x: x[1:], "similarity has"),
    ("ecpcs-hc", "coassociation_.similarity", lambda x: x[1:], "similarity has shape"),
    ("eac", "coassociation_.ensemble.columns", raised, "ensemble_ has codes"),
    ("eac", "dendrogram_.merges", raised, "merges must join each of"),
    ("eac", "dendrogram_.leaf_of_object", raised, "leaf_of_object must hold a leaf"),
    ("kcc", "assignment_.names", raised, "names has numbers from"),
    ("kcc", "assignment_.members", lambda x: x[1:], "members has shape"),
    ("kcc", "assignment_.sizes", lambda x: x[1:], "sizes has shape"),
    ("kcc", "assignment_.tables", lambda x: (x[0][1:], x[1]), "tables has shape"),
    ("sec", "assignment_.tables", lambda x: (x[0], x[1][1:]), "tables has shape"),
    ("kcc", "generator_.models_.0.centres", lambda x: x[:, 1:], "centres has shape"),
    ("kcc", "generator_.models_.0.half_norms", lambda x: x[1:], "centres has shape"),
    ("kcc", "generator_.models_", lambda x: x[1:], "there are 4 models for 5"),
    ("kcc", "generator_.ensemble_.columns", raised, "ensemble_ has codes"),
]


@pytest.mark.parametrize(("name", "path", "value", "words"), FORGED)
def test_arrays_of_a_forged_model_never_reach_a_kernel(
    tmp_path, name, path, value, words
):
    model = make(name, n_clusters=3, n_clusterings=5, random_state=0).fit(X)
    write_archive(tmp_path / "m.skops", forged(model, path, value))
    refused(
        lambda: load_model(tmp_path / "m.skops"),
        f"m.skops cannot be read as a model saved by ensclust: .*{words}",
    )


def test_selected_clusterings_are_checked(tmp_path):
    weights = [1, 0, 1, 1, 1]
    model = ECPCSMC(3, base="precomputed", weights=weights, random_state=0).fit(LABELS)
    save_model(model, tmp_path / "m.skops")
    assert (load_model(tmp_path / "m.skops").predict(LABELS) == model.labels_).all()
    for place, value, words in (
        ("assignment_.clusterings", lambda x: ~x, "meta_labels has shape"),
        ("assignment_.clusterings", lambda _: np.arange(5), "of type int64"),
    ):
        other = ECPCSMC(3, base="precomputed", weights=weights).fit(LABELS)
        write_archive(tmp_path / "m.skops", forged(other, place, value))
        refused(lambda: load_model(tmp_path / "m.skops"), words)


def test_a_model_that_unpacks_without_a_limit_is_refused(saved, tmp_path):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "b.skops", "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    refused(lambda: load_model(tmp_path / "b.skops"), "uses compression method 12")
