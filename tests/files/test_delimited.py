"""Text tables: delimiters, headers, quotes, labels, and what is refused."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust.io import read_features, read_labels


@pytest.fixture
def file(tmp_path):
    """Return a function that writes text or bytes to a file of that name."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


# --- delimiters, headers, quoting


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_of_csv_is_found(file, delimiter):
    text = "a,b,c\n1,2,3\n4,5,6\n".replace(",", delimiter)
    table = read_features(file("data.csv", text))
    assert table.columns == ("a", "b", "c")
    assert table.values.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_letters_are_no_delimiter(file):
    table = read_labels(file("labels.csv", "1X0\n2X0\n1X0\n"))
    assert table.values.tolist() == [[0], [1], [0]]


def test_tsv_is_split_at_tabs_only(file):
    table = read_labels(file("labels.tsv", "x;1\tb\nx;1\tc\ny;2\tb\n"))
    assert table.values.tolist() == [[0, 0], [0, 1], [1, 0]]


def test_spaces_between_numbers_are_a_delimiter(file):
    table = read_labels(file("labels.txt", "0 1 0\n 0  1 1 \n1 0 NA\n1 0 0\n"))
    assert table.values.tolist() == [[0, 1, 0], [0, 1, 1], [1, 0, -1], [1, 0, 0]]


def test_spaces_within_names_are_no_delimiter(file):
    table = read_labels(file("labels.txt", "T cell\nB cell\nT cell\n"))
    assert table.values.tolist() == [[1], [0], [1]]


def test_file_without_extension_is_csv(file):
    assert read_features(file("data", "1,2\n3,4\n")).values.shape == (2, 2)


def test_byte_order_mark_and_windows_line_ends_are_tolerated(file):
    table = read_features(file("data.csv", "\ufeffa,b\r\n1,2\r\n3,4\r\n"))
    assert table.columns == ("a", "b")
    assert table.values.tolist() == [[1, 2], [3, 4]]


def test_table_of_numbers_only_has_no_header(file):
    table = read_features(file("data.csv", "1,2\n3,4\n"))
    assert table.columns == ("1", "2")
    assert len(table.values) == 2


def test_one_name_above_numbers_makes_a_header(file):
    assert read_features(file("data.csv", "2019,x\n1,2\n3,4\n")).columns == (
        "2019",
        "x",
    )


def test_label_that_comes_again_below_is_no_header(file):
    table = read_labels(file("labels.csv", "a,x\nb,y\na,y\n"))
    assert table.values.tolist() == [[0, 0], [1, 1], [0, 1]]


def test_names_above_text_labels_are_a_header(file):
    table = read_labels(file("labels.csv", "leiden,types\na,x\nb,y\na,y\n"))
    assert table.columns == ("leiden", "types")
    assert len(table.values) == 3


def test_missing_label_in_the_first_line_is_no_header(file):
    table = read_labels(file("labels.csv", "NA,1\n1,1\n2,0\n2,0\n"))
    assert table.values[0].tolist() == [-1, 1]


def test_header_can_be_given_against_the_guess(file):
    path = file("data.csv", "1,2\n3,4\n5,6\n")
    table = read_features(path, header=True)
    assert table.columns == ("1", "2")
    assert len(table.values) == 2


def test_header_can_be_denied_against_the_guess(file):
    path = file("labels.csv", "a,x\nb,y\nb,y\n")
    assert read_labels(path, header=False).values.tolist() == [[0, 0], [1, 1], [1, 1]]


def test_quoted_cells_may_hold_delimiters_and_line_breaks(file):
    text = '"a, b","two\nlines",x\n"p\nq",u,1\n"r,s",u,2\n'
    table = read_labels(file("labels.csv", text))
    assert table.columns == ("a, b", "two\nlines", "x")
    assert table.values.tolist() == [[0, 0, 1], [1, 0, 2]]


def test_blank_lines_between_and_after_rows_are_skipped(file):
    assert len(read_features(file("data.csv", "a,b\n\n1,2\n\n3,4\n\n\n")).values) == 2


def test_blank_line_within_one_column_is_an_object_without_label(file):
    assert read_labels(file("labels.csv", "1\n\n2\n1\n\n")).values.tolist() == [
        [1],
        [-1],
        [2],
        [1],
    ]


def test_table_longer_than_one_block_is_read_whole(file):
    numbers = np.arange(20_000).reshape(-1, 2)
    text = "\n".join(f"{a},{b}" for a, b in numbers)
    assert (read_features(file("data.csv", "x,y\n" + text)).values == numbers).all()


# --- text that is refused


def test_ragged_line_is_named_with_both_counts(file):
    path = file("data.csv", 'a,b,c\n1,2,"3"\n4,5\n')
    with pytest.raises(
        ValueError, match=r"data.csv, line 3: found 2 fields, expected 3"
    ):
        read_features(path)


def test_line_number_counts_lines_inside_quotes(file):
    path = file("data.csv", '"a\nb",c\n1,2\n3\n')
    with pytest.raises(ValueError, match=r"line 4: found 1 field, expected 2"):
        read_features(path)


@pytest.mark.parametrize("value", ["foo", "nan", "inf", "-inf", "1_000", "1,5"])
def test_feature_that_is_no_finite_number_is_named(file, value):
    path = file("data.csv", f'id,x\n1,2\n3,"{value}"\n')
    with pytest.raises(ValueError, match="finite number") as error:
        read_features(path)
    assert f"data.csv, line 3, column 'x': {value!r}" in str(error.value)


def test_bad_feature_in_a_later_block_is_named_by_its_line(file):
    text = "x\n" + "1\n" * 5000 + "oops\n"
    with pytest.raises(ValueError, match=r"line 5002, column 'x': 'oops'"):
        read_features(file("data.csv", text))


@pytest.mark.parametrize("read", [read_features, read_labels])
@pytest.mark.parametrize("content", ["", "\n\n", "\ufeff"])
def test_empty_file_is_refused(file, read, content):
    with pytest.raises(ValueError, match=r"data.csv is empty"):
        read(file("data.csv", content))


def test_header_without_objects_is_refused(file):
    with pytest.raises(ValueError, match=r"header line \(a, b\) but no objects"):
        read_features(file("data.csv", "a,b\n"))


def test_text_that_is_not_utf8_is_refused(file):
    with pytest.raises(ValueError, match=r"data.csv is not UTF-8 text \(byte 0xff\)"):
        read_features(file("data.csv", b"\xff\xfea\x00"))


def test_blank_lines_have_an_end(file):
    text = "a,b\n0,1\n" + "\n" * (2**20 + 1)
    with pytest.raises(ValueError, match=r"data.csv has over 1,048,576 blank lines"):
        read_labels(file("data.csv", text))


@pytest.mark.parametrize("read", [read_features, read_labels])
def test_a_nul_byte_is_refused_by_its_line(file, read):
    for text, line in (
        ("a,b\n0,0\n0,\0\n1,1\n", 3),
        ("a\0,b\n0,0\n", 1),
        ("a,b\n" + "0,1\n" * 300_000 + "0,\0\n", 300_002),
    ):
        with pytest.raises(ValueError, match=f"data.csv, line {line}: a NUL byte"):
            read(file("data.csv", text))


def test_quote_that_never_ends_is_refused(file):
    with pytest.raises(ValueError, match=r"data.csv, record at line 2: unexpected end"):
        read_features(file("data.csv", 'a,b\n1,"2\n3,4\n'))


# --- labels


def test_whole_numbers_keep_their_value(file):
    table = read_labels(file("labels.csv", "k\n3\n 7 \n1.0\n1e1\n3\n"))
    assert table.values.ravel().tolist() == [3, 7, 1, 10, 3]


@pytest.mark.parametrize(
    "mark", ["", "NA", "NaN", "nan", "None", "null", "<NA>", "-1", "-3", "-1.0"]
)
@pytest.mark.parametrize("others", [["0", "1", "0"], ["a", "b", "a"]])
def test_missing_marks_and_negatives_are_not_clustered(file, mark, others):
    text = "\n".join(["run,other", *(f"{label},1" for label in [*others, mark])])
    values = read_labels(file("labels.csv", text)).values
    assert values[:, 0].tolist() == [0, 1, 0, -1]


def test_names_with_underscores_are_not_numbers(file):
    values = read_labels(file("labels.csv", "k\n1_2\n12\n1_2\n12\n")).values
    assert values.ravel().tolist() == [1, 0, 1, 0]


def test_fraction_is_no_label(file):
    path = file("labels.csv", "a,b\n1,1\n1,1.5\n2,1\n")
    with pytest.raises(ValueError, match=r"labels.csv, line 3, column 'b': '1.5' is"):
        read_labels(path)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("cell,k2\n10,0\n11,0\n12,1\n", ["10", "11", "12"]),
        ("what,k2\nann,0\nbob,0\ncyd,1\n", ["ann", "bob", "cyd"]),
        ("k2,Sample ID\n0,007\n0,8\n1,9\n", ["007", "8", "9"]),
        ("k2,customerId\n0,b\n0,a\n1,c\n", ["b", "a", "c"]),
    ],
)
def test_column_that_is_first_or_called_so_is_taken_for_ids(file, text, ids):
    table = read_labels(file("labels.csv", text))
    assert (table.columns, table.ids) == (("k2",), ids)
    assert table.values[:, 0].tolist() == [0, 0, 1]
    assert "is used as object names" in table.notes[0]


@pytest.mark.parametrize("first", ["object", "k1"])
def test_column_of_ids_elsewhere_is_refused(file, first):
    rows = "".join(f"{i % 4},{i % 3},flower {i}\n" for i in range(40))
    path = file("labels.csv", f"{first},k2,plant\n{rows}0,0,flower 0\n")
    with pytest.raises(ValueError, match=r"'plant' has 40 values for 41 .*id_column;"):
        read_labels(path)
    assert read_labels(path, id_column="plant").ids[40] == "flower 0"
    assert read_labels(path, columns=["k2"]).values.shape == (41, 1)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n0,0\n1,0\n2,1\n",  # three numbers differ by chance
        "a\nx\ny\nz\n",  # there is no other column
        "id,b\n0,0\n-1,0\n2,1\n",  # one is not clustered
        "id,b\nx,0\nx,0\nz,1\n",
    ],
)
def test_what_may_be_a_clustering_is_not_taken_for_ids(file, text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read_labels(file("labels.csv", text))
    assert (table.ids, table.notes) == (None, ())


def test_named_column_with_a_label_per_object_is_warned_about(file):
    path = file("labels.csv", "cell,k2\n10,0\n11,0\n12,1\n13,1\n")
    with pytest.warns(UserWarning, match="column 'cell' gives each of the 4 objects"):
        read_labels(path, columns=["cell", "k2"])


@given(st.lists(st.text("ab01_ ", max_size=3), min_size=1, max_size=20))
def test_text_labels_are_equal_where_their_trimmed_texts_are(tmp_path_factory, texts):
    texts = texts * 2  # so that no column looks like one of ids
    path = tmp_path_factory.getbasetemp() / "labels.csv"
    path.write_text("text\n" + "".join(f'"{text}"\n' for text in texts))
    values = read_labels(path, header=True).values[:, 0].tolist()
    texts = [text.strip() for text in texts]
    if not all(text.isdigit() for text in texts if text):  # else "01" is 1
        assert len(set(values)) == len(set(texts))
    assert [value == -1 for value in values] == [text == "" for text in texts]
    assert all(
        value == values[texts.index(text)]
        for text, value in zip(texts, values, strict=True)
    )


# --- what a message suggests


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_are_refused_with_the_cure(file, delimiter):
    path = file("data.csv", f"x{delimiter}y\n1,5{delimiter}2,5\n0,5{delimiter}3,0\n")
    for read in (read_features, read_labels):
        with pytest.raises(ValueError, match=r"line 2, column 'x'.*1.5, not 1,5"):
            read(path)


def test_commas_that_split_numbers_are_suspected(file):
    with pytest.raises(ValueError, match=r"found 2 fields.*use points instead"):
        read_features(file("data.csv", "x\n1,5\n2,5\n"))


def test_names_with_commas_are_labels(file):
    values = read_labels(file("labels.csv", "k;m\n1,a;0\n1,b;0\n1,a;1\n")).values
    assert values[:, 0].tolist() == [0, 1, 0]


@pytest.mark.parametrize("number", [str(2**70), str(2**63), "1e30"])
def test_number_too_large_for_a_label_is_refused_as_such(file, number):
    path = file("labels.csv", f"k\n1\n{number}\n1\n")
    with pytest.raises(
        ValueError, match=r"line 3, column 'k'.*above 2\*\*63 - 1.*id_col"
    ):
        read_labels(path)


def test_names_among_features_hint_at_the_id_column(file):
    path = file("data.csv", "name,x\nann,1\nbob,2\n")
    with pytest.raises(ValueError, match=r"'ann' is not.*pass it as id_column\."):
        read_features(path)


def test_row_numbers_among_features_are_warned_about(file):
    rows = "".join(f"{i},{i % 3}\n" for i in range(12))
    shuffled = "".join(f"{1000 + (5 * i) % 12},{i % 3}\n" for i in range(12))
    for cells in (rows, shuffled):
        with pytest.warns(UserWarning, match="column 'nr' numbers the objects.*id_co"):
            read_features(file("data.csv", "nr,x\n" + cells))
    table = read_features(file("data.csv", "id,x\n" + rows))
    assert (table.columns, table.ids) == (("x",), list(range(12)))


def test_empty_feature_is_called_empty(file):
    with pytest.raises(
        ValueError, match=r"line 3, column 'y' is empty; expected a fin"
    ):
        read_features(file("data.csv", "x,y\n1,2\n3,\n"))
