"""Record the behaviour that users see and that must not change by accident.

``python -m tests.frozen`` rewrites tests/frozen.json; with names of cases, or prefixes
of them, only those. Everything uses the public names of the package and its command
line. Data are generated from integers, so that they are the same on all platforms;
labels are stored as hashes, matrices as a few sums, which are compared with a
tolerance. METIS differs between platforms: for MCLA with METIS, only the equality of
its results is recorded.
"""

import argparse
import hashlib
import inspect
import json
import re
import sys
import tempfile
import warnings
from contextlib import chdir, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from tests.record_hashes import noisy_copies, scramble

import ensclust
from ensclust import Blocks, consensus

FILE = Path(__file__).with_name("frozen.json")
SEED = 7
K = 3
METIS = "mcla metis"
VARIANTS = {
    **{name: (name, {}) for name in ensclust.methods()},
    "mcla": ("mcla", {"partitioner": "ncut"}),
    METIS: ("mcla", {}),
}
ONE_HOT = ("kcc", "ecc", "sec")
TREES = ("ecpcs-hc", "eac", "srs", "wct")
CASES = {}  # name -> function of an empty directory
SLOW = set()


def case(name, *args, slow=False):
    """Return a decorator that registers a function with arguments as a case."""

    def enter(function):
        CASES[name] = partial(function, *args)
        if slow:
            SLOW.add(name)
        return function

    return enter


def per_variant(group, variants=tuple(VARIANTS)):
    """Return a decorator that registers one case per method."""

    def enter(function):
        for variant in variants:
            case(f"{group}/{variant}", variant)(function)
        return function

    return enter


def compute(name, folder):
    """Return the result of a case, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", UserWarning)
        found = CASES[name](Path(folder))
    texts = sorted({str(one.message) for one in caught})
    return {"found": found, **({"warnings": texts} if texts else {})}


# --- how results are stored


def digest(labels):
    """Return the hash of labels and their number of clusters, for each column."""
    labels = np.asarray(labels)
    if labels.ndim == 2:
        return [digest(column) for column in labels.T]
    content = np.ascontiguousarray(labels, "<i8").tobytes()
    n_absent = int((labels < 0).sum())
    n_clusters = int(labels.max(initial=-1)) + 1
    return f"{hashlib.sha256(content).hexdigest()[:16]} k={n_clusters} -1={n_absent}"


def of(variant, labels):
    """Return the hash of labels unless they depend on the platform."""
    return "not kept" if variant == METIS else digest(labels)


def sketch(matrix):
    """Return the shape of a matrix, sums of its columns and two projections."""
    matrix = np.asarray(matrix, float)
    table = matrix.reshape(len(matrix), -1)
    known = np.nan_to_num(table)
    rows = (scramble(np.arange(len(table))) % np.uint64(1000)).astype(float) / 1000
    columns = 1 + np.arange(table.shape[1])
    return {
        "shape": list(matrix.shape),
        "n_nan": int(np.isnan(table).sum()),
        "sums": known.sum(axis=0).tolist(),
        "projected": (rows @ known).tolist(),
        "square": float((known**2 @ columns).sum()),
    }


def unequal(expected, others):
    """Return the names of those labels that differ from the expected ones."""
    expected = np.asarray(expected)
    return [name for name, one in others.items() if not np.array_equal(one, expected)]


def numbered(labels):
    """Return labels numbered by first appearance."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.ravel()]


# --- labels and models


def table(seed=11, missing=8):
    """Return base clusterings of three groups, with missing labels."""
    return noisy_copies([50, 40, 30], 9, moved=40, missing=missing, seed=seed)


def split():
    """Return rows to learn from, and new ones, some with unknown labels."""
    labels = table()
    is_new = np.arange(len(labels)) % 4 == 0
    new = labels[is_new].copy()
    new[3:9, 1:4] = 99
    new[9:12, :8] = 77
    new[12] = 55
    new[13] = -1
    return labels[~is_new], new


def texts(labels):
    """Return the labels as words, missing ones as None."""
    words = np.char.add("c", labels.astype(str)).astype(object)
    words[labels < 0] = None
    return words


def model_of(variant, k=K, **options):
    """Return an estimator for labels that exist."""
    method, own = VARIANTS[variant]
    names = {name.lower(): name for name in ensclust.__all__}
    cls = getattr(ensclust, names[method.replace("-", "")])
    options = {"base": "precomputed", "random_state": SEED, **own, **options}
    return cls(k, **options)


def combine(variant, labels, k=K, **options):
    """Return consensus labels."""
    method, own = VARIANTS[variant]
    return consensus(labels, k, method, random_state=SEED, **own, **options)


def attributes(model):
    """Return the names of what a fitted model offers."""
    names = [name for name in vars(model) if name.endswith("_") and name[0] != "_"]
    return dict.fromkeys(sorted(names), "there")


def certainty_of(model):
    """Return sums of a fitted model's certainty."""
    found = {}
    for name, columns in model.certainty().to_dict().items():
        for key, values in columns.items():
            is_name = key == "name"
            found[f"{name} {key}"] = values if is_name else sketch(nan_for_none(values))
    return found


def nan_for_none(values):
    """Return an array of floats in which None is NaN."""
    return np.array([np.nan if v is None else v for v in values], float)


def without_hash(variant, found):
    """Return what does not depend on the platform."""
    if variant != METIS:
        return found
    return {name: v for name, v in found.items() if name in ("attributes", "equal")}


@per_variant("predict")
def predict(variant, _):
    """Labels of known and of new rows."""
    train, new = split()
    model = model_of(variant).fit(train)
    found = {
        "labels": digest(model.labels_),
        "dtype": str(model.labels_.dtype),
        "n_clusters": model.n_clusters_,
        "n_features_in": model.n_features_in_,
        "attributes": attributes(model),
        "equal": unequal(
            model.labels_,
            {
                "predict": model.predict(train),
                "again": model_of(variant).fit_predict(train),
                "consensus": combine(variant, train),
                "ensemble": combine(variant, ensclust.Ensemble(train)),
                "one thread": combine(variant, train, n_jobs=1),
            },
        ),
        "new": digest(model.predict(new)),
    }
    return without_hash(variant, found)


@per_variant("memberships")
def memberships(variant, _):
    """Shares of known and of new rows, and certainty."""
    train, new = split()
    model = model_of(variant).fit(train)
    known = model.memberships()
    found = {
        "known": sketch(known),
        "new": sketch(model.memberships(new)),
        "certainty": certainty_of(model),
        "equal": bool(np.array_equal(known, model.memberships(train))),
    }
    return without_hash(variant, found)


WEIGHTED = [
    name
    for name in VARIANTS
    if "weights" in inspect.signature(type(model_of(name))).parameters
]
WEIGHTS = {"zeros": [0, 1, 2, 1, 0, 0.5, 1, 3, 1], "agreement": "agreement"}


def weighted(variant, kind, _):
    """Weights: labels, weights, new rows, shares, certainty."""
    train, new = split()
    train = train.copy()
    train[5, 1:] = -1  # only in a clustering that may have no weight
    model = model_of(variant, weights=WEIGHTS[kind]).fit(train)
    blocks = model_of(variant, weights=WEIGHTS[kind]).fit(Blocks(train, rows=31))
    found = {
        "labels": digest(model.labels_),
        "weights": sketch(model.weights_),
        "memberships": sketch(model.memberships()),
        "new memberships": sketch(model.memberships(new)),
        "certainty": certainty_of(model),
        "equal": unequal(
            model.labels_,
            {"predict": model.predict(train), "blocks": np.asarray(blocks.labels_)},
        ),
        "new": digest(model.predict(new)),
    }
    return without_hash(variant, found)


for _variant in WEIGHTED:
    for _kind in WEIGHTS:
        case(f"weights {_kind}/{_variant}", _variant, _kind)(weighted)


@per_variant("absent")
def absent(variant, _):
    """Objects of no base clustering."""
    train, new = split()
    train = train.copy()
    nowhere = [0, 17, 60]
    train[nowhere] = -1
    model = model_of(variant).fit(train)
    shares = model.memberships()
    streamed = model_of(variant).fit(Blocks(train, rows=31))
    found = {
        "labels": of(variant, model.labels_),
        "own labels": model.labels_[nowhere].tolist(),
        "own shares": shares[nowhere].sum(axis=1).tolist(),
        "predicted": model.predict(train)[nowhere].tolist(),
        "blocks": of(variant, np.asarray(streamed.labels_)),
        "equal": unequal(
            np.asarray(streamed.labels_),
            {"memory": model.labels_, "stream predicts": streamed.predict(train)},
        ),
    }
    if variant == METIS:
        return found
    return {**found, "shares": sketch(shares), "new": sketch(model.memberships(new))}


@per_variant("all absent")
def all_absent(variant, _):
    """No object is in any base clustering."""
    nobody = np.full((12, 4), -1)
    model = model_of(variant).fit(nobody)
    return {
        "labels": digest(model.labels_),
        "n_clusters": model.n_clusters_,
        "memberships": list(model.memberships().shape),
        "new": model.predict([[0, 1, 2, 3], [-1, -1, -1, -1]]).tolist(),
        "several": digest(combine(variant, nobody, [2, 3])),
        "blocks": digest(np.asarray(combine(variant, Blocks(nobody, rows=5), 2))),
    }


# --- numbers of clusters


@per_variant("ks")
def several_k(variant, _):
    """Several numbers of clusters, and those that are found."""
    labels = table(seed=12)
    ks = [2, 3, 5]
    found = combine(variant, labels, ks)
    auto = combine(variant, labels, "auto")
    single = {k: combine(variant, labels, k) for k in ks}
    wrong = [k for i, k in enumerate(ks) if not np.array_equal(single[k], found[:, i])]
    both = combine(variant, labels, ["auto", 4])
    model = model_of(variant, "auto").fit(labels)
    return {
        "labels": of(variant, found),
        "shape": list(found.shape),
        "wrong": wrong,
        "auto": of(variant, auto),
        "auto k": model.n_clusters_,
        "suggested": model.selection_.suggested,
        "auto and four": of(variant, both),
        "equal": unequal(auto, {"list": both[:, 0], "model": model.labels_}),
    }


@case("ks/lifetime")
def lifetime(_):
    """The number of clusters that lasts longest."""
    labels = table(seed=12)
    model = model_of("eac", "lifetime").fit(labels)
    others = {"blocks": np.asarray(combine("eac", Blocks(labels, rows=50), "lifetime"))}
    return {
        "labels": digest(model.labels_),
        "n_clusters": model.n_clusters_,
        "list": digest(combine("eac", labels, ["lifetime", 2])),
        "equal": unequal(model.labels_, others),
    }


def select(method, options, _):
    """Criteria for each number of clusters."""
    found = ensclust.select_k(
        table(seed=13), method=method, random_state=SEED, **options
    )
    return {
        "method": found.method,
        "ks": list(found.ks),
        "suggested": found.suggested,
        "best_k": found.best_k,
        "decisive": found.decisive,
        "n_judged": found.n_judged,
        "scores": {
            name: [None if np.isnan(v) else v for v in values]
            for name, values in found.scores.items()
        },
        "columns": list(found.table[0]),
    }


for _method in ("ecpcs-hc", "ecpcs-mc", "eac", "kcc", "ptgp"):
    case(f"select_k/{_method}", _method, {})(select)
case("select_k/range", "ecpcs-hc", {"k_range": [6, 2, 4]})(select)
case("select_k/sample", "eac", {"n_sample": 60, "criteria": ["pac", "anmi"]})(select)


@case("compare")
def compare(_):
    """Several methods side by side."""
    names = [name for name in ensclust.methods()[:10] if name != "mcla"]
    found = ensclust.compare(table(seed=14), 4, names, random_state=SEED)
    return {
        "methods": list(found.methods),
        "labels": digest(found.labels),
        "anmi": found.anmi.tolist(),
        "agreement": found.agreement.tolist(),
        "n_seconds": len(found.seconds),
    }


# --- streams


def stream_table(variant, seed):
    """Return base clusterings that a method can combine block by block.

    SRS refuses those in which objects with equal rows need separate labels; cuts of
    MCLA into more parts than there are groups can depend on how a processor rounds.
    """
    return table(seed=12 if variant in ("srs", "mcla") else seed)


def dask_array(labels, chunks):
    """Return a Dask array."""
    import dask.array

    return dask.array.from_array(labels, chunks)


def write_parquet(path, columns):
    """Write columns to a Parquet file in several groups of rows."""
    import pyarrow
    from pyarrow import parquet

    named = {f"c{m}": column for m, column in enumerate(columns)}
    parquet.write_table(pyarrow.table(named), path, row_group_size=40)


@per_variant("streams")
def streams(variant, folder):
    """Blocks, files and Dask arrays, against memory."""
    labels = stream_table(variant, 15)
    np.save(folder / "labels.npy", labels)
    write_parquet(folder / "labels.parquet", labels.T)
    parts = [labels[:50], labels[50:51], labels[51:]]
    sources = {
        "one block": Blocks(labels),
        "list": Blocks(parts),
        "function": Blocks(lambda: iter(parts)),
        "npy": Blocks(folder / "labels.npy", rows=33),
        "parquet": Blocks(folder / "labels.parquet", rows=50),
        "npy by dask": Blocks(folder / "labels.npy", rows=33, engine="dask"),
        "dask array": dask_array(labels, (41, 4)),
    }
    several = [2, 3, 5]
    stream = combine(variant, Blocks(labels, rows=37))
    written = stream.write(folder / "out.npy")
    expected = np.asarray(stream)
    others = {name: np.asarray(combine(variant, s)) for name, s in sources.items()}
    model = model_of(variant).fit(Blocks(labels, rows=37))
    lazy = model_of(variant).fit(sources["dask array"])
    others |= {
        "written": np.load(folder / "out.npy"),
        "model": np.asarray(model.labels_),
        "model of dask": lazy.labels_.compute(),
        "predict": model.predict(labels),
        "predict of dask": lazy.predict(sources["dask array"]).compute(),
        "to_dask": stream.to_dask().compute(),
        "memory": combine(variant, labels),
    }
    columns = {
        name: np.asarray(combine(variant, sources[name], several))
        for name in ("one block", "npy", "dask array")
    }
    columns["memory"] = combine(variant, labels, several)
    found = np.asarray(combine(variant, Blocks(labels, rows=37), several))
    words = np.asarray(combine(variant, Blocks(texts(labels), rows=37)))
    in_memory = {"memory": combine(variant, texts(labels))}
    return {
        "labels": of(variant, expected),
        "sizes": "not kept" if variant == METIS else [s.tolist() for s in written],
        "shape": list(stream.shape),
        "dtype": str(stream.dtype),
        "kinds": [type(stream).__name__, type(lazy.labels_).__name__],
        "n_clusters": [model.n_clusters_, lazy.n_clusters_],
        "attributes": attributes(model),
        "several": of(variant, found),
        "words": of(variant, words),
        "equal": unequal(expected, others),
        "several equal": unequal(found, columns),
        "words equal": unequal(words, in_memory),
    }


@case("streams/texts")
def text_files(folder):
    """Words and numbers as cells of a file, missing ones among them."""
    labels = table(seed=15)
    words = texts(labels)
    numbers = labels.astype(str).astype(object)
    numbers[labels < 0] = "NA"
    columns = [*words.T[:4], *numbers.T[4:]]
    path = folder / "words.parquet"
    write_parquet(path, [list(column) for column in columns])
    read = ensclust.io.read_labels(path)
    cells = zip(*columns, strict=True)
    rows = ["\t".join(f"{cell or ''}" for cell in row) for row in cells]
    header = "\t".join(read.columns)
    (folder / "words.tsv").write_text("\n".join([header, *rows]) + "\n")
    text = ensclust.io.read_labels(folder / "words.tsv")
    found = consensus(Blocks(path, rows=35), [2, 4], random_state=SEED)
    others = {
        "memory": consensus(read.values, [2, 4], random_state=SEED),
        "path": consensus(path, [2, 4], random_state=SEED),
        "text": consensus(folder / "words.tsv", [2, 4], random_state=SEED),
    }
    return {
        "labels": digest(np.asarray(found)),
        "read": digest(read.values),
        "read text": digest(text.values),
        "columns": list(read.columns),
        "names": found.names,
        "equal": unequal(np.asarray(found), others),
    }


@case("streams/own-cluster")
def noise(_):
    """Negative labels as separate clusters."""
    labels = table(seed=16, missing=20)
    options = {"noise": "own-cluster", "random_state": SEED}
    found = consensus(labels, [2, 3], **options)
    others = {
        "blocks": np.asarray(consensus(Blocks(labels, rows=37), [2, 3], **options)),
        "dask": np.asarray(consensus(dask_array(labels, (50, 9)), [2, 3], **options)),
    }
    return {"labels": digest(found), "equal": unequal(found, others)}


@contextmanager
def budget(model, n_bytes):
    """Limit the bytes that distinct label rows may take.

    Trees have a parameter for it. Other methods use a constant of the package, which
    no public name reaches: it is set wherever a loaded module of the package has it.
    """
    if "max_memory" in model.get_params():
        yield model.set_params(max_memory=n_bytes)
        return
    name = "DEFAULT_MEMORY"
    homes = [
        module
        for key, module in list(sys.modules.items())
        if key.split(".")[0] == "ensclust" and name in vars(module)
    ]
    before = [getattr(module, name) for module in homes]
    try:
        for module in homes:
            setattr(module, name, n_bytes)
        yield model
    finally:
        for module, value in zip(homes, before, strict=True):
            setattr(module, name, value)


def without_sizes(text):
    """Return a message about memory without its figures, which depend on the blocks."""
    text = re.sub(r"[\d.,]+(e-?\d+)? (GiB|MiB|KiB|bytes)\b", "# bytes", str(text))
    return re.sub(r"than [\d,]+ distinct", "than # distinct", text)


@per_variant("too many rows", [*ONE_HOT, *TREES, "ptgp", "ecpcs-mc", "mcla"])
def too_many_rows(variant, folder):
    """Distinct rows that do not fit: k-means over blocks, or a message."""
    labels = stream_table(variant, 17).copy()
    labels[[4, 70]] = -1
    np.save(folder / "labels.npy", labels)
    sources = {
        "labels": Blocks(labels, rows=37),
        "whole": Blocks(labels),
        "npy by dask": Blocks(folder / "labels.npy", rows=50, engine="dask"),
        "dask": dask_array(labels, (41, 4)),
    }
    found = {}
    model_of("kcc").fit(sources["whole"])  # so that all modules are loaded
    for name, source in sources.items():
        try:
            with budget(model_of(variant), 2000) as model:
                model.fit(source)
                result = {"labels": digest(np.asarray(model.labels_))}
        except MemoryError as error:
            result = {"error": without_sizes(error)}
        else:
            result["n_clusters"] = model.n_clusters_
            for fitted in ("inertia_", "n_iter_"):
                if hasattr(model, fitted):
                    result[fitted] = getattr(model, fitted)
        found[name] = result
    return found


@per_variant("many clusters over blocks", ONE_HOT)
def many_clusters(variant, _):
    """Empty clusters are filled if there are too many rows, several k at a time."""
    labels = noisy_copies([70, 70, 60], 4, moved=50, seed=18)
    ks, once = [2, 5, 30], {"n_init": 1, "max_iter": 4}
    memory = np.asarray(combine(variant, Blocks(labels), ks, **once))
    runs, short = {}, {}
    with budget(model_of(variant), 100):
        for rows in (33, 200):
            blocks = Blocks(labels, rows=rows)
            runs[rows] = np.asarray(combine(variant, blocks, ks))
            short[rows] = np.asarray(combine(variant, blocks, ks, **once))
    return {
        "labels": digest(runs[33]),
        "equal": unequal(runs[33], runs),
        "one start": digest(short[33]),
        "one start equal": unequal(short[33], {**short, "other rows": memory}),
    }


@per_variant("inertia", ONE_HOT)
def inertia(variant, _):
    """Objectives, in memory and over blocks."""
    labels = table(seed=17)
    models = [model_of(variant).fit(x) for x in (labels, Blocks(labels, rows=37))]
    return [{"inertia": m.inertia_, "n_iter": m.n_iter_} for m in models]


@per_variant("checkpoint")
def checkpoint(variant, folder):
    """A directory of counts: runs resume from all of it, and from each part."""
    np.save(folder / "labels.npy", stream_table(variant, 19))
    kept = folder / "kept"

    def run(engine="blocks", where=kept):
        blocks = Blocks(folder / "labels.npy", rows=37, engine=engine)
        return np.asarray(combine(variant, blocks, [2, 3], checkpoint=where))

    expected = run(where=None)
    others = {"first": run(), "again": run(), "dask": run("dask")}
    is_there = any(kept.iterdir())
    for i, path in enumerate(sorted(kept.iterdir())):
        path.unlink()
        others[f"without file {i + 1}"] = run()
    return {
        "labels": of(variant, expected),
        "is_there": is_there,
        "equal": unequal(expected, others),
    }


@per_variant("merges", TREES)
def merges(variant, folder):
    """The file of a tree's merges is deleted when the tree is complete."""
    labels = table(seed=19)
    found = combine(variant, labels, checkpoint=folder, max_memory=1)
    return {
        "labels": digest(found),
        "is_there": (folder / "merges.npz").exists(),
        "equal": unequal(combine(variant, labels), {"checkpoint": found}),
    }


def refused(make, folder):
    """Return the messages about what a stream cannot do."""
    try:
        make(folder)
    except (TypeError, ValueError) as error:
        text = str(error).replace(str(folder), "")
        return f"{type(error).__name__}: " + re.sub(r"[\w/-]+\.npz", "#.npz", text)
    return "nothing"


def _damaged(folder):
    np.save(folder / "labels.npy", table())
    kept = folder / "kept"
    consensus(Blocks(folder / "labels.npy"), 2, random_state=0, checkpoint=kept)
    np.save(folder / "labels.npy", table()[:60])
    consensus(Blocks(folder / "labels.npy"), 2, random_state=0, checkpoint=kept)


for _name, _make in {
    "auto": lambda _: consensus(Blocks(table()), "auto"),
    "auto model": lambda _: model_of("eac", "auto").fit(Blocks(table())),
    "init": lambda _: consensus(Blocks(table()), 2, "kcc", init=[0, 1]),
    "checkpoint": lambda folder: consensus(
        Blocks(table()), 2, checkpoint=folder / "kept"
    ),
    "other input": _damaged,
    "generator": lambda _: consensus((x for x in [table()]), 2),
    "no objects": lambda _: consensus(lambda: iter(()), 2),
    "k": lambda _: consensus(Blocks(table(), rows=50), 121),
    "srs": lambda _: consensus(Blocks(table(seed=15)), 3, "srs", random_state=SEED),
    "parameter": lambda _: consensus(table(), 2, "kcc", steps=3),
    "predict": lambda _: model_of("eac").fit(table()).predict(Blocks(table())),
    "memberships": lambda _: model_of("eac").fit(Blocks(table())).memberships(),
    "certainty": lambda _: model_of("ecpcs-mc").fit(Blocks(table())).certainty(),
    "csv": lambda folder: consensus(Blocks(table()), 2).write(folder / "out.csv"),
    "widths": lambda _: consensus(Blocks([table(), table()[:, 1:]]), 2),
    "cell": lambda _: consensus(Blocks([table(), table()[:3] + 0.5]), 2),
}.items():
    case(f"refused/{_name}", _make)(refused)


# --- base clusterings of features


def features(n=240, n_features=3, seed=0):
    """Return whole numbers in eight groups, far from one another, and the groups."""
    group = np.arange(n) % 8
    draw = scramble(np.arange(n * n_features) + (seed << 32)) % np.uint64(61)
    spots = scramble(np.arange(8 * n_features) + (5 << 32)) % np.uint64(2000)
    centres = spots.reshape(8, n_features).astype(float)
    return centres[group] + draw.reshape(n, n_features).astype(float), group


GENERATED = {
    "default": {},
    "random": {"init": "random"},
    "classic": {"init": "classic-k-means++"},
    "samples": {"max_samples": 0.7},
    "features": {"max_features": 0.7},
    "projection": {"projection": 2},
}


def table_of(blocks):
    """Return the labels that Blocks hold."""
    return np.concatenate([np.column_stack(block.load()) for block in blocks])


def generated(options, _):
    """Base clusterings in memory, from a stream, with Dask."""
    X, _ = features()
    options = {"base_k": (2, 8), "random_state": 0, **options}
    runs = ensclust.generate(X, 6, **options)
    generator = ensclust.EnsembleGenerator(6, **options).fit(X)
    stream = table_of(ensclust.generate(Blocks(X, rows=77), 6, **options))
    lazy = ensclust.generate(dask_array(X, (100, 2)), 6, **options).compute()
    others = {
        "transform": generator.transform(X),
        "one thread": ensclust.generate(X, 6, n_jobs=1, **options).labels,
    }
    return {
        "labels": digest(runs.labels),
        "new": digest(generator.transform(features(40, seed=1)[0])),
        "stream": digest(stream),
        "attributes": attributes(generator),
        "equal": unequal(runs.labels, others),
        "stream equal": unequal(stream, {"dask": lazy}),
    }


for _name, _options in GENERATED.items():
    case(f"generate/{_name}", _options)(generated)


@case("generate/no options")
def generated_by_default(_):
    """All defaults: the numbers of clusters are drawn."""
    X, _ = features()
    runs = ensclust.generate(X, random_state=0)
    return {
        "n_clusterings": runs.n_clusterings,
        "counts": np.asarray(runs.cluster_counts).tolist(),
    }


@case("generate/sparse")
def generated_sparse(_):
    """A sparse matrix."""
    X, _ = features()
    X = np.where(X < 300, 0, X)
    options = {"base_k": (2, 8), "random_state": 0}
    runs = ensclust.generate(sparse.csr_matrix(X), 6, **options)
    model = ensclust.ECPCSMC(5, 6, **options).fit(sparse.csr_matrix(X))
    return {"labels": digest(runs.labels), "model": digest(model.labels_)}


@case("generate/clusterers")
def generated_by_others(_):
    """Clusterers of scikit-learn, some of which label no new objects."""
    from sklearn.cluster import AgglomerativeClustering, Birch

    X, group = features()
    base = [AgglomerativeClustering(), "kmeans", Birch()]
    runs = ensclust.generate(
        X, 4, base=base, base_k=[8, 2, 8, 8], max_samples=0.8, random_state=0
    )
    return {
        "missing": (runs.labels < 0).sum(axis=0).tolist(),
        "found": [
            bool(np.array_equal(numbered(c[c >= 0]), numbered(group[c >= 0])))
            for c in runs.labels.T
        ],
    }


@case("generate/out")
def generated_to_files(folder):
    """Labels that are written while they are computed."""
    X, _ = features()
    options = {"base_k": (2, 8), "random_state": 0}
    stream = table_of(ensclust.generate(Blocks(X), 6, **options))
    others = {
        name: table_of(ensclust.generate(X, 6, out=folder / name, **options))
        for name in ("runs.npy", "runs.parquet")
    }
    return {"labels": digest(stream), "equal": unequal(stream, others)}


@case("generate/many", slow=True)
def generated_from_a_sample(_):
    """So many objects that k-means starts with a sample."""
    X, _ = features(100_000, seed=2)
    options = {"base_k": (2, 8), "random_state": 0}
    runs = ensclust.generate(X, 4, **options)
    stream = table_of(ensclust.generate(Blocks(X, rows=30_000), 4, **options))
    model = ensclust.ECPCSMC(8, 4, **options).fit(X)
    return {
        "labels": digest(runs.labels),
        "model": digest(model.labels_),
        "equal": unequal(runs.labels, {"stream": ensclust.Ensemble(stream).labels}),
    }


def fitted(name, k, _):
    """Models of features: arrays, blocks, Dask; new objects."""
    X, _ = features()
    new, _ = features(40, seed=1)
    cls = getattr(ensclust, name)
    options = {"base_k": (5, 8), "random_state": SEED}
    model = cls(k, 6, **options).fit(X)
    found = {
        "labels": digest(model.labels_),
        "n_clusters": model.n_clusters_,
        "n_features_in": model.n_features_in_,
        "memberships": sketch(model.memberships()),
        "ensemble": digest(model.ensemble_.labels),
        "attributes": attributes(model),
        "equal": unequal(model.labels_, {"predict": model.predict(X)}),
    }
    if name != "KCC":
        found["new"] = digest(model.predict(new))
        found["new memberships"] = sketch(model.memberships(new))
    if k == "auto":
        return found
    blocks = cls(k, 6, **options).fit(Blocks(X, rows=77, content="features"))
    lazy = cls(k, 6, **options).fit(dask_array(X, (100, 2)))
    streamed = np.asarray(blocks.labels_)
    others = {
        "dask": lazy.labels_.compute(),
        "predict": blocks.predict(X),
        "predict of dask": lazy.predict(dask_array(X, (99, 3))).compute(),
    }
    found["blocks"] = digest(streamed)
    found["blocks equal"] = unequal(streamed, others)
    found["blocks attributes"] = attributes(blocks)
    found["blocks n_features_in"] = blocks.n_features_in_
    return found


for _name in ("ECPCSMC", "ECPCSHC", "KCC"):
    case(f"fit/{_name}", _name, 6)(fitted)
case("fit/ECPCSMC auto", "ECPCSMC", "auto")(fitted)


# --- signatures


def signature(function):
    """Return the parameters of a function: kind and default of each."""
    return {
        name: [parameter.kind.name, repr(parameter.default)]
        for name, parameter in inspect.signature(function).parameters.items()
    }


def own_members(cls):
    """Return the public methods of a class that this package defines."""
    for name, value in inspect.getmembers(cls):
        home = getattr(inspect.unwrap(value), "__module__", None) or ""
        is_own = callable(value) and home.split(".")[0] == "ensclust"
        if name[0] != "_" and is_own and not inspect.isclass(value):
            yield name, value


def signatures(home, name, _):
    """The signature of a public name, and of its methods."""
    value = getattr(getattr(ensclust, home) if home else ensclust, name)
    if not inspect.isclass(value):
        return {"itself": signature(value)}
    members = {key: signature(member) for key, member in own_members(value)}
    if name == "LabelStream":  # only the package creates one
        return {"members": members}
    return {"itself": signature(value), "members": members}


def _is_error(value):
    return inspect.isclass(value) and issubclass(value, Exception)


def _enter_signatures():
    for name in ensclust.__all__:
        value = getattr(ensclust, name)
        if inspect.ismodule(value):
            named = getattr(value, "__all__", ())
            for key, member in sorted(vars(value).items()):
                is_own = getattr(member, "__module__", "") == value.__name__
                is_own |= key in named
                is_own &= callable(member) and not _is_error(member)
                if key[0] != "_" and is_own:
                    case(f"signature/{name}.{key}", name, key)(signatures)
        elif callable(value):
            case(f"signature/{name}", "", name)(signatures)


_enter_signatures()


# --- commands


def run(line, env=None):
    """Run a command line and return its result."""
    from tests.conftest import cli_runner

    from ensclust.cli import main

    env = {"ENSCLUST_DATA": None, **(env or {})}
    return cli_runner().invoke(main, line.split(), prog_name="ensclust", env=env)


def plain(value):
    """Return parsed JSON without times."""
    if isinstance(value, dict):
        return {k: "any" if k == "seconds" else plain(v) for k, v in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


def write_inputs():
    """Write tables of labels and of features to the current directory."""
    labels = noisy_copies([20, 15, 10], 6, moved=30, missing=5, seed=20)
    np.save("labels.npy", labels)
    write_parquet("labels.parquet", labels.T)
    words = texts(labels)
    lines = ["name,a,b,c,d,e,f"]
    for i, (row, word) in enumerate(zip(labels, words, strict=True)):
        cells = [*(word[:3]), *row[3:]]
        cells = ["" if cell is None else str(cell) for cell in cells]
        lines.append(",".join([f"o{i}", *cells]))
    Path("labels.csv").write_text("\n".join(lines) + "\n")
    X, _ = features(160)
    np.save("data.npy", X)
    np.savetxt("data.csv", X, "%d", ",", header="x,y,z", comments="")
    consensus_labels = consensus(labels, 3, random_state=0)
    ensclust.io.write_labels("found.csv", consensus_labels)


COMMANDS = {
    "consensus csv": "consensus labels.csv -k 3 --id-column name --seed 3 --json",
    "consensus npy": "consensus labels.npy -k 2,3,5 --seed 3 --json",
    "consensus out": "consensus labels.npy -k 2,3 --seed 3 --json -o out.npy",
    "consensus eac": "consensus labels.npy -k lifetime -m eac --seed 3 --json",
    "consensus kcc": "consensus labels.npy -k 3 -m kcc -p utility=u_c --seed 3 --json",
    "consensus auto": "consensus labels.npy -k auto -m ptgp --seed 3 --json",
    "consensus noise": "consensus labels.npy -k 3 --noise own-cluster --seed 3 --json",
    "consensus columns": "consensus labels.csv -k 2 --columns a,d,f --seed 3 --json",
    "consensus weights": "consensus labels.npy -k 3 -p weights=0,1,1,2,1,0 "
    "--seed 3 --json",
    "consensus blocks": "consensus labels.npy -k 3 --seed 3 --engine blocks --json "
    "-o out.npy",
    "consensus blocks ks": "consensus labels.parquet -k 2,3 -m sec --seed 3 --json "
    "--engine blocks -o out.npy --checkpoint kept",
    "consensus dask": "consensus labels.npy -k 2,3 -m ecpcs-hc --seed 3 --json "
    "--engine dask -o out.npy",
    "consensus dask parquet": "consensus labels.parquet -k 3 --seed 3 --json "
    "--engine dask -o out.npy --scheduler threads",
    "cluster csv": "cluster data.csv -k 6 --n-clusterings 6 --base-k 5,8 --seed 3 "
    "--json",
    "cluster hc": "cluster data.npy -k 5 -m ecpcs-hc --n-clusterings 6 --base-k 5,8 "
    "--seed 3 --json -o out.npy",
    "cluster standardize": "cluster data.csv -k 6 --n-clusterings 6 --base-k 5,8 "
    "--seed 3 --json --standardize",
    "cluster blocks": "cluster data.npy -k 6 --n-clusterings 6 --base-k 5,8 --seed 3 "
    "--json --engine blocks -o out.npy",
    "cluster dask": "cluster data.npy -k 6 --n-clusterings 6 --base-k 5,8 --seed 3 "
    "--json --engine dask -o out.npy",
    "cluster standardize blocks": "cluster data.npy -k 6 --n-clusterings 6 "
    "--base-k 5,8 --seed 3 --json --standardize --engine blocks -o out.npy",
    "consensus report dask": "consensus labels.npy -k 3 --seed 3 --json --engine dask "
    "-o out.npy --report r.html",
    "select-k": "select-k labels.npy --seed 3 --json",
    "select-k range": "select-k labels.npy -k 2-5 -m kcc --seed 3 --json",
    "compare": "compare labels.npy -k 3 --methods ecpcs-mc,kcc,eac,ptgp --seed 3 "
    "--json -o out.npy",
    "certainty": "certainty labels.npy found.csv --json",
    "info labels": "info labels.csv --id-column name --json",
    "info npy": "info labels.npy --json",
    "info features": "info data.csv --json",
    "methods": "methods --json",
    "datasets": "datasets --json",
}
WRONG = {
    "stdout of blocks": "consensus labels.npy -k 3 --engine blocks",
    "auto of blocks": "consensus labels.npy -k auto --engine blocks -o out.npy",
    "csv by blocks": "consensus labels.csv -k 3 --engine blocks -o out.npy",
    "checkpoint": "consensus labels.npy -k 3 --checkpoint kept",
    "scheduler": "consensus labels.npy -k 3 --scheduler threads",
    "memory": "consensus labels.npy -k 3 -m eac -p max_memory=9 --engine blocks "
    "-o out.npy",
    "k": "consensus labels.npy -k 99",
    "parameter": "consensus labels.npy -k 3 -p steps=0",
}


def command(line, folder):
    """What a command prints, and what it writes."""
    with chdir(folder):
        write_inputs()
        result = run(line)
        found = {"code": result.exit_code, "stderr": without_sizes(result.stderr)}
        if result.exit_code == 0:
            found["stdout"] = plain(json.loads(result.stdout))
        if Path("out.npy").exists():
            found["written"] = digest(np.load("out.npy"))
    return found


for _name, _line in COMMANDS.items():
    case(f"command/{_name}", _line)(command)
for _name, _line in WRONG.items():
    case(f"wrong command/{_name}", _line)(command)


@case("command/demo", slow=True)
def demo(folder):
    """The demo; its figures depend a little on the platform, those of METIS more."""
    with chdir(folder):
        result = run("demo --json -o demo.csv")
        header = Path("demo.csv").read_text().partition("\n")[0]
    facts = plain(json.loads(result.stdout))
    rough = {row["name"]: [row["nmi"], row["ari"]] for row in facts["scores"]}
    del rough["mcla"]
    return {
        "keys": [list(facts), list(facts["scores"][0])],
        "names": [row["name"] for row in facts["scores"]],
        "rough": rough,
        "header": header,
        "stderr": result.stderr,
    }


def main():
    """Write the file, or update some of its cases."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="cases, or how their names begin")
    chosen = tuple(parser.parse_args().names)
    kept = json.loads(FILE.read_text()) if chosen else {}
    for name in CASES:
        if not chosen or name.startswith(chosen):
            with tempfile.TemporaryDirectory() as folder:
                kept[name] = compute(name, folder)
    ordered = {name: kept[name] for name in CASES if name in kept}
    lines = [f"{json.dumps(name)}: {json.dumps(v)}" for name, v in ordered.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
