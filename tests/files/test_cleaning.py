"""Tables that are not all numbers: what is left out, filled in, joined or refused."""

import numpy as np
import pytest

from bad_input import refused, table
from ensclust.io import read_features

MESSY = """patient,age,colour,height,nothing
ann,31,red,1.75,
bob,44,blue,1.8,
cyd,,red,1.5,
dan,29,,?,
eve,62,red,1.5,
"""


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    return path


def test_all_columns_that_are_no_numbers_are_named_at_once(messy):
    with pytest.raises(ValueError, match=r"messy.csv: 4 of 5 columns have") as error:
        read_features(messy)
    for words in (
        "'age' (1 missing; first in line 4)",
        "'colour' (4 text, 1 missing; first 'red' in line 2)",
        "'height' (1 missing; first '?' in line 5)",
        "'nothing' (5 missing; first in line 2)",
        "--exclude",
        "numeric_only",
        'categorical="join"',
        'missing="drop" or missing="impute"',
    ):
        assert words in str(error.value)
    assert "'patient'" not in str(error.value)  # it names the objects


def test_a_cure_is_only_offered_where_it_helps(messy):
    with pytest.raises(ValueError, match="column 'age' is empty") as error:
        read_features(messy, exclude=["colour", "height", "nothing"])
    assert "--categorical" not in str(error.value)
    with pytest.raises(ValueError, match="'colour': 'red' is not") as error:
        read_features(messy, exclude=["age", "height", "nothing"])
    assert "--missing" not in str(error.value)


def test_missing_cells_are_filled_with_the_median(messy):
    found = read_features(messy, missing="impute", numeric_only=True)
    assert found.columns == ("age", "height")
    assert found.ids == ["ann", "bob", "cyd", "dan", "eve"]
    median = [[31, 1.75], [44, 1.8], [37.5, 1.5], [29, 1.625], [62, 1.5]]
    assert found.values.tolist() == median
    assert found.notes == (
        "column 'patient' is used as object names",
        "text columns left out: colour",
        "empty columns left out: nothing",
        "2 missing cells filled with medians: age (1), height (1)",
    )


def test_objects_with_missing_cells_are_left_out(messy):
    found = read_features(messy, missing="drop", categorical="drop")
    assert found.ids == ["ann", "bob", "eve"]
    assert found.values.tolist() == [[31, 1.75], [44, 1.8], [62, 1.5]]
    assert found.notes[-1] == "2 of 5 objects left out because of missing cells"
    unnamed = read_features(messy, missing="drop", columns=["age", "height"])
    assert unnamed.ids == [0, 1, 4]  # their rows


def test_texts_join_as_base_clusterings(messy):
    found = read_features(messy, missing="drop", categorical="join")
    joined = found.categories
    assert (joined.columns, joined.ids) == (("colour",), ["ann", "bob", "eve"])
    assert joined.values.tolist() == [[1], [0], [1]]
    filled = read_features(messy, missing="impute", categorical="join")
    assert filled.categories.values.ravel().tolist() == [1, 0, 1, -1, 1]
    assert read_features(messy, columns=["height"], missing="drop").categories is None


def test_numbers_among_texts_are_the_same_however_they_are_written(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("x,code\n" + "1,7\n" * 5000 + "2,7.0\n3,a\n4, 7\n5,a\n")
    found = read_features(path, categorical="join").categories.values.ravel()
    assert found.tolist() == [0] * 5001 + [1, 0, 1]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_every_format_is_cleaned(tmp_path, messy, kind):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(messy, na_values="?")
    path = tmp_path / f"table.{kind}"
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path)
    found = read_features(path, missing="impute", categorical="join")
    assert found.columns == ("age", "height")
    assert found.values[2].tolist() == [37.5, 1.5]
    assert found.categories.columns == ("colour",)
    wanted = pandas.read_csv(messy)["colour"].astype("category").cat.codes
    assert (found.categories.values[:, 0] == wanted).all()


def test_text_of_a_typed_file_is_no_number(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = {"x": [1.0, 2.0, 3.0, 4.0], "plate": ["1", "1", "2", "2"]}
    parquet.write_table(pyarrow.table(rows), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="row 1, column 'plate': '1' is not a finite"):
        read_features(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("id,x\n842302,1\n842517,2\n84300903,3\n", [842302, 842517, 84300903]),
        ("x,name\n1,a\n2,b\n3,c\n", ["a", "b", "c"]),
        ("key,x\na,1\n7,2\n007,3\n", ["a", "7", "007"]),
        ("who,x\na,1\nb,2\n007,3\n", ["a", "b", "007"]),
        ("citric acid,x\n1,1\n2,2\n3,3\n", None),
        ("index,x\n1.5,1\n2.5,2\n3.5,3\n", None),
        ("id,x\n1,1\n1,2\n3,3\n", None),
    ],
)
def test_names_of_objects_are_found_among_features(tmp_path, text, ids):
    (tmp_path / "t.csv").write_text(text)
    assert read_features(tmp_path / "t.csv").ids == ids


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1,5", "2,5", "3,5"], "'1,5' is not a finite number. Write numbers with"),
        (["0.25", "0.5", "oops"], "line 4, column 'x': 'oops' is not"),
        (["25", "50", "oops"], "line 4, column 'x': 'oops' is not"),
    ],
)
def test_numbers_with_a_slip_are_no_names(tmp_path, cells, words):
    rows = [f"{cell};{i % 2}\n" for i, cell in enumerate(cells)]
    (tmp_path / "t.csv").write_text("x;y\n" + "".join(rows))
    refused(lambda: read_features(tmp_path / "t.csv"), words)


@table(
    ({"missing": "fill"}, "missing='fill'; expected one of refuse, drop, impute"),
    ({"categorical": None}, "categorical=None; expected one of refuse, drop, join"),
    ({"numeric_only": True, "categorical": "join"}, "numeric_only leaves out the col"),
    ({"exclude": "age"}, "exclude='age'; expected a list of column names"),
    ({"exclude": ["z"]}, "messy.csv has no column 'z'"),
    ({"columns": ["age"], "exclude": ["age"]}, "no columns to use other than the ids"),
    ({"columns": ["colour"], "numeric_only": True}, "has no column of numbers"),
    ({"columns": ["age", "nothing"]}, "2 of 2 columns have cells that are not finite"),
)
def test_cleaning_that_cannot_be(tmp_path, call, words):
    path = tmp_path / "messy.csv"
    path.write_text(MESSY)
    refused(lambda: read_features(path, **call), words)


def test_what_nothing_can_be_made_of_is_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,\n,2\n")
    refused(lambda: read_features(path, missing="drop"), "each of the 2 objects has a")
    path.write_text("x,y\n1,\n1,inf\n")
    refused(lambda: read_features(path, missing="impute"), "1 infinite|'inf' is not")


def test_remarks_are_no_clusterings(tmp_path):
    rows = [f"{i},see {i % 9},{'ab'[i % 2]},same" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["x,note,c,d", *rows]))
    found = read_features(tmp_path / "t.csv", categorical="join")
    assert found.categories.columns == ("c",)
    assert found.notes[-1] == "text columns left out: note, d"


def test_infinity_is_not_missing(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[1, np.inf], [2, np.nan]]))
    refused(
        lambda: read_features(tmp_path / "t.npy", missing="impute"),
        "row 1, column '2': inf is not a finite number",
    )
