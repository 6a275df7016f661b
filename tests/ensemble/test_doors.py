"""One table through every door: codes, categories, missing cells and errors agree."""

import datetime
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

import ensclust
from ensclust import Blocks, Ensemble
from ensclust._ensemble.ensemble import encode_columns
from ensclust._stream.counting import Encoding, tally

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
da = pytest.importorskip("dask.array")
zarr = pytest.importorskip("zarr")
anndata = pytest.importorskip("anndata")

BIG, HUGE = 2**53, 2**63 + 5
WORDS = ["-1", "NULL", "N/A", "NA", "null", "nan", "", "<NA>", "None", "-2.5"]
DAYS = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 2


def case(cells, labels, values, kind=None, error=None, text=None):
    """Return a column, its codes and label values, and how a text file differs."""
    return SimpleNamespace(
        cells=cells, labels=labels, values=values, kind=kind, error=error, text=text
    )


def integers(kind):
    low = -1 if kind[0] == "i" else 3
    return case(
        [7, 0, low, 7],
        [1 + (low > 0), 0, 1 if low > 0 else -1, 1 + (low > 0)],
        [0, 7] if low < 0 else [0, 3, 7],
        kind,
    )


NAMES = case(["b", "a", "b", "c"], [1, 0, 1, 2], ["a", "b", "c"])
CASES = {
    **{kind: integers(kind) for kind in ("int8", "int16", "int32", "int64")},
    **{kind: integers(kind) for kind in ("uint8", "uint16", "uint32", "uint64")},
    "nullable int64": case([7, None, 0, -1], [1, -1, 0, -1], [0, 7], "int64"),
    "nullable uint8": case([7, None, 0, 7], [1, -1, 0, 1], [0, 7], "uint8"),
    "beyond 2^53": case(
        [BIG, BIG + 1, BIG + 2, BIG], [0, 1, 2, 0], [BIG, BIG + 1, BIG + 2], "int64"
    ),
    "nullable beyond 2^53": case(
        [BIG, BIG + 1, None, BIG], [0, 1, -1, 0], [BIG, BIG + 1], "int64"
    ),
    "beyond 2^63": case(
        [HUGE, 1, HUGE + 1, 1],
        [1, 0, 2, 0],
        [1, HUGE, HUGE + 1],
        "uint64",
        text="above 2**63 - 1",
    ),
    "whole floats": case([7.0, 0.0, 2.0, 7.0], [2, 0, 1, 2], [0, 2, 7], "float64"),
    "float16": case([7.0, 0.0, 2.0, 7.0], [2, 0, 1, 2], [0, 2, 7], "float16"),
    "floats with NaN": case(
        [7.0, float("nan"), -1.0, 0.0], [1, -1, -1, 0], [0, 7], "float64"
    ),
    "fractions": case([7.0, 0.5, 1.0, 7.0], None, None, "float64", "0.5"),
    "infinite": case([7.0, float("inf"), 1.0, 7.0], None, None, "float64", "inf"),
    "strings": NAMES,
    "strings with None": case(["b", None, "b", "a"], [1, -1, 1, 0], ["a", "b"]),
    "strings of numbers": case(["10", "9", "10", "-1"], [1, 0, 1, -1], [9, 10]),
    "strings of large numbers": case(
        [f"{BIG}.0", f"{BIG + 1}", f"{BIG}", "1e1"], [1, 2, 1, 0], [10, BIG, BIG + 1]
    ),
    "strings of fractions": case(["1.5", "2", "2", "1.5"], None, None, error="1.5"),
    "numbers among names": case(["7", "x", "7", "-1"], [0, 1, 0, -1], ["7", "x"]),
    **{
        f"missing word {word!r}": case(["b", "a", word, "b"], [1, 0, -1, 1], ["a", "b"])
        for word in WORDS
    },
    "the name ?": case(["b", "?", "b", "?"], [1, 0, 1, 0], ["?", "b"]),
    "all missing": case([None, "NA", "N/A", "b"], [-1, -1, -1, 0], ["b"]),
    "categories": case(["b", "a", None, "b"], [1, 0, -1, 1], ["a", "b"], "category"),
    "categories of integers": case(
        [BIG + 1, BIG, None, BIG], [1, 0, -1, 0], [BIG, BIG + 1], "category"
    ),
    "booleans": case(
        [True, False, True, True], [1, 0, 1, 1], [0, 1], "bool", text=["False", "True"]
    ),
    "nullable booleans": case(
        [True, None, False, True], [1, -1, 0, 1], [0, 1], "bool", text=["False", "True"]
    ),
    "decimals": case(
        [Decimal(BIG), Decimal(BIG + 1), Decimal("7.00"), Decimal(BIG)],
        [1, 2, 0, 1],
        [7, BIG, BIG + 1],
        "decimal",
    ),
    "decimals with None": case(
        [Decimal(7), None, Decimal(1), Decimal(-1)], [1, -1, 0, -1], [1, 7], "decimal"
    ),
    "decimals of fractions": case(
        [Decimal(7), Decimal("1.5"), Decimal(1), Decimal(7)],
        None,
        None,
        "decimal",
        "1.5",
    ),
    "dates": case(
        DAYS, None, None, "date", "datetime", text=["2020-01-01", "2020-01-02"]
    ),
    "mixed": case(
        [1, "a", 1, "a"], None, None, "object", "mixes int .*str", text=["1", "a"]
    ),
}
PLAIN = {"int", "uin", "flo", "boo"}


def as_numpy(one):
    """Return the column as NumPy has it: with None as objects."""
    if one.kind == "date":
        return np.array(one.cells, "M8[D]")
    is_plain = one.kind and one.kind[:3] in PLAIN and None not in one.cells
    return np.array(one.cells, one.kind if is_plain else object)


def as_arrow(one):
    kinds = {"float64": pa.float64(), "float16": pa.float16(), "bool": pa.bool_()}
    kinds |= {"decimal": pa.decimal128(20, 2), "date": pa.date32()}
    if one.kind == "category":
        return pa.array(one.cells).dictionary_encode()
    cells = one.cells
    if one.kind == "float16":
        cells = [np.float16(cell) for cell in cells]
    if one.kind and "int" in one.kind:
        kinds[one.kind] = getattr(pa, one.kind)()
    return pa.array(cells, kinds.get(one.kind))


def as_pandas(one):
    if one.kind == "category":
        return pd.Categorical(one.cells)
    if one.kind == "date":
        return pd.to_datetime(pd.Series(one.cells))
    if one.kind and "int" in one.kind:
        return pd.array(one.cells, one.kind.replace("i", "I").replace("uI", "UI"))
    if one.kind == "bool":
        return pd.array(one.cells, "boolean")
    is_float = one.kind in ("float64", "float16")
    return np.array(one.cells, one.kind if is_float else object)


def as_polars(one):
    if one.kind == "category":
        texts = isinstance(one.cells[0], str)
        return pl.Series("x", one.cells, dtype=pl.Categorical if texts else pl.Int64)
    kind = getattr(pl, (one.kind or "-").title().replace("Ui", "UI"), None)
    if one.kind == "float16":
        kind = pl.Float32
    # Not strict: the lowest version builds decimals of one scale only.
    return pl.Series("x", one.cells, dtype=kind, strict=one.kind != "decimal")


def write_csv(one, path):
    cells = ["" if cell is None else str(cell) for cell in one.cells]
    path.write_text("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    return path


def write_parquet(one, path):
    table = pa.table({"x": as_arrow(one), "y": [1] * len(one.cells)})
    parquet.write_table(table, path, row_group_size=2)
    return path


def write_npy(one, path):
    array = as_numpy(one)
    array = np.array(one.cells) if array.dtype == object else array
    np.save(path, array.reshape(-1, 1))
    return path


def write_h5ad(one, path):
    cells = as_pandas(one)
    if cells.dtype == object and None in one.cells:
        cells = pd.Categorical(cells)
    obs = pd.DataFrame({"x": cells, "y": [1] * len(one.cells)})
    obs.index = [f"cell {i}" for i in range(len(obs))]
    anndata.AnnData(np.zeros((len(obs), 1), np.float32), obs=obs).write_h5ad(path)
    return path


def counted(blocks):
    """Return the labels and label values of a stream, and its counts' categories."""
    counts = tally(blocks, Encoding())
    rows = counts.take(np.arange(counts.n_objects))
    return SimpleNamespace(labels=rows.labels, categories=counts.categories)


def in_parts(table):
    return [table[:2], table[2:]]


def from_path(path):
    """Read the column of a file, which a name of it asks for, as labels."""
    table = ensclust.io.read_labels(path, columns=["x"])
    return Ensemble.from_codes(
        *encode_columns(table.label_columns("missing"), "missing")
    )


def write_zarr(one, path):
    zarr.save_array(path, as_numpy(one).reshape(-1, 1))
    return path


def is_array(one):
    """Whether NumPy has an array of the column that is not one of objects."""
    is_text = one.kind is None and None not in one.cells
    return is_text or as_numpy(one).dtype.kind in "biuf"


DOORS = {
    "NumPy": lambda one, tmp: Ensemble(as_numpy(one).reshape(-1, 1)),
    "nested lists": lambda one, tmp: Ensemble([[cell] for cell in one.cells]),
    "a list of vectors": lambda one, tmp: Ensemble.from_clusterings([one.cells]),
    "pandas": lambda one, tmp: Ensemble(pd.DataFrame({"x": as_pandas(one)})),
    "pandas, of Arrow": lambda one, tmp: Ensemble(
        pa.table({"x": as_arrow(one)}).to_pandas(types_mapper=pd.ArrowDtype)
    ),
    "Series": lambda one, tmp: Ensemble.from_clusterings([pd.Series(as_pandas(one))]),
    "polars": lambda one, tmp: Ensemble(pl.DataFrame({"x": as_polars(one)})),
    "polars Series": lambda one, tmp: Ensemble.from_clusterings([as_polars(one)]),
    "Arrow": lambda one, tmp: Ensemble(pa.table({"x": as_arrow(one)})),
    "Arrow array": lambda one, tmp: Ensemble.from_clusterings([as_arrow(one)]),
    "CSV": lambda one, tmp: Ensemble(write_csv(one, tmp / "x.csv")),
    "Parquet": lambda one, tmp: Ensemble(write_parquet(one, tmp / "x.parquet")),
    "NPY": lambda one, tmp: Ensemble(write_npy(one, tmp / "x.npy")),
    "h5ad": lambda one, tmp: from_path(write_h5ad(one, tmp / "x.h5ad")),
    "Blocks of Parquet": lambda one, tmp: counted(
        Blocks(write_parquet(one, tmp / "x.parquet"), rows=2, columns=["x"])
    ),
    "Blocks of NPY": lambda one, tmp: counted(
        Blocks(write_npy(one, tmp / "x.npy"), rows=2)
    ),
    "Blocks of h5ad": lambda one, tmp: counted(
        Blocks(write_h5ad(one, tmp / "x.h5ad"), rows=2, columns=["x"])
    ),
    "Blocks of arrays": lambda one, tmp: counted(
        Blocks(in_parts(as_numpy(one).reshape(-1, 1)))
    ),
    "Blocks of frames": lambda one, tmp: counted(
        Blocks(in_parts(pd.DataFrame({"x": as_pandas(one)})))
    ),
    "a generator": lambda one, tmp: counted(
        Blocks(lambda: iter(in_parts(pl.DataFrame({"x": as_polars(one)}))))
    ),
    "Dask": lambda one, tmp: counted(
        Blocks(da.from_array(as_numpy(one).reshape(-1, 1), chunks=(2, 1)))
    ),
    "Zarr": lambda one, tmp: counted(Blocks(write_zarr(one, tmp / "x.zarr"), rows=2)),
}
TEXT = ("CSV",)  # where nothing has a type
WHOLE = ("CSV", "Parquet", "NPY", "h5ad")  # tables of signed integers


LACKS = {  # what a format or library cannot hold
    "Arrow": {"mixed"},
    "pandas, of Arrow": {"mixed"},
    "polars": {"mixed"},
    "generator": {"mixed"},
    "Parquet": {"mixed"},
    "h5ad": {"mixed", "dates", "float16", *(k for k in CASES if "decimal" in k)},
    "NPY": {k for k, one in CASES.items() if not is_array(one)} - {"dates"},
    "Zarr": {k for k, one in CASES.items() if not is_array(one) or not one.kind},
}
PAIRS = [
    (kind, door)
    for door in DOORS
    for kind in CASES
    if not any(name in door and kind in lacks for name, lacks in LACKS.items())
]


@pytest.mark.filterwarnings("ignore")  # of writers, about types that they store
@pytest.mark.parametrize(("kind", "door"), PAIRS)
def test_a_table_is_the_same_through_every_door(kind, door, tmp_path):
    one = CASES[kind]
    values, error = one.values, one.error
    if kind == "beyond 2^63":
        error = one.text.replace("*", r"\*") if door in WHOLE else None
    elif one.text and door in TEXT:  # words, which are names
        values, error = one.text, None
    if error is not None:
        with pytest.raises((ValueError, TypeError), match=error):
            DOORS[door](one, tmp_path)
        return
    found = DOORS[door](one, tmp_path)
    labels = one.labels or [values.index(str(cell)) for cell in one.cells]
    assert found.labels[:, 0].tolist() == labels
    assert found.categories[0].tolist() == values


def test_the_words_for_missing_are_those_of_pandas():
    from io import StringIO

    from ensclust._support.label_texts import NOT_CLUSTERED

    words = sorted({*NOT_CLUSTERED, "?", "NAN", "none", "-", "Null"})
    table = pd.read_csv(StringIO("\n".join(["x,y", *(f"{word},1" for word in words)])))
    assert {w for w, lost in zip(words, table.x.isna(), strict=True) if lost} == set(
        NOT_CLUSTERED
    )


@pytest.mark.parametrize("cells", [["a", "-1", None, "-3"], ["7", "-1", "NA", "-3"]])
def test_negative_texts_may_be_a_cluster_of_their_own(cells, tmp_path):
    one = case(cells, None, None)
    doors = [
        lambda: Ensemble([[cell] for cell in cells], noise="own-cluster"),
        lambda: Ensemble(pd.DataFrame({"x": cells}), noise="own-cluster"),
        lambda: Ensemble(write_csv(one, tmp_path / "x.csv"), noise="own-cluster"),
        lambda: Ensemble(write_csv(one, tmp_path / "x.csv"), noise="own-cluster"),
        lambda: tally(
            Blocks(in_parts(pd.DataFrame({"x": cells}))), Encoding("own-cluster")
        ).take(np.arange(4)),
    ]
    for door in doors:
        assert door().labels[:, 0].tolist() == [1, 0, -1, 0]


def test_ids_are_never_floats(tmp_path):
    table = pa.table({"id": pa.array([BIG, BIG + 1, None]), "run": [0, 1, 1]})
    parquet.write_table(table, tmp_path / "x.parquet")
    read = ensclust.io.read_labels(tmp_path / "x.parquet", id_column="id")
    assert read.ids == [BIG, BIG + 1, None]


def test_blocks_may_mix_signed_and_unsigned_integers():
    parts = [np.array([[1], [2]]), np.array([[HUGE], [1]], np.uint64)]
    assert counted(Blocks(parts)).categories[0].tolist() == [1, 2, HUGE]
    assert counted(Blocks(parts[::-1])).labels[:, 0].tolist() == [2, 0, 0, 1]


@pytest.mark.parametrize("power", [64, 1_000, 100_000])
def test_an_integer_of_too_many_digits_is_told_by_its_size(power):
    value = 2**power
    said = f"labels.0, 0. = an integer of {value.bit_length()} bits"
    for labels in ([[value], [1]], np.array([[value], [1]], object)):
        with pytest.raises(ValueError, match=said):
            Ensemble(labels)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["float16", "float32", "longdouble"])
def test_narrow_and_wide_floats_are_taken_without_a_warning(kind):
    labels = np.array([[0], [2], [np.nan], [-1]], kind)
    for given in (labels, labels.astype(object)):
        assert Ensemble(given).labels[:, 0].tolist() == [0, 1, -1, -1]


def test_arrow_integers_that_are_encoded_by_runs_stay_exact():
    compute = pytest.importorskip("pyarrow.compute")
    runs = compute.run_end_encode(pa.array([2**53, 2**53 + 1, None, None]))
    found = Ensemble(pa.table({"x": runs, "y": [0, 0, 1, 1]}))
    assert found.labels[:, 0].tolist() == [0, 1, -1, -1]
    assert found.categories[0].tolist() == [2**53, 2**53 + 1]
