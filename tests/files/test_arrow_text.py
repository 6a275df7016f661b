"""PyArrow's reader and our own: the same tables, the same errors."""

import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ensclust._files import arrow_text, tables, text
from ensclust.io import read_features, read_labels

pytest.importorskip("pyarrow")

CELLS = ["0", "1", "2.5", " 3", "4 ", "+5", "-6", "1e3", ".5", "7.", "007", "-0.0"]
ODD = ["", "NA", "nan", "NaN", "?", " ", "inf", "1e400", "1_0", "1,5", "0x1A", "1d2"]
ODD += ["a", "b c", "é", "\u2028", "\x0b", "x\x00y", '"', '"q"', ' "q"', '"q" ', 'q"r']
ODD += [
    '"a,b"',
    '"a""b"',
    '"a\nb"',
    "'s'",
    "#",
    "\\N",
    "true",
    "2020-01-01",
    "infinity",
]
ODD += ["9" * 30, "1" * 400, "0.1234567890123456789", "nan(1)", "١"]


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Let Arrow read from the fifth line on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_SAMPLE", 3)
        patch.setattr(tables, "_ROWS", 4)
        yield


@st.composite
def documents(draw):
    n_columns = draw(st.integers(1, 4))
    likely = st.sampled_from(CELLS)
    cells = st.one_of(likely, likely, likely, st.sampled_from(ODD))
    row = st.lists(cells, min_size=n_columns, max_size=n_columns)
    rows = draw(st.lists(row, min_size=4, max_size=12))
    delimiter = draw(st.sampled_from([",", ";", "\t", "|", " "]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    lines = [delimiter.join(row) for row in rows]
    strange = st.sampled_from(["", " ", "1", "1,2"])
    places = st.lists(st.tuples(st.integers(0, 12), strange), max_size=1)
    for place, line in draw(places):
        lines.insert(place, line)
    head = draw(st.sampled_from([[], [delimiter.join("uvwx"[:n_columns])]]))
    last = draw(st.sampled_from([end, ""]))
    return end.join([*head, *lines]) + last


def outcome(read, path, **options):
    """Return what comes of reading a file: all that a table holds, or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = read(path, **options)
        except (ValueError, TypeError) as error:
            return type(error), str(error)
    joined = table.categories
    return (
        *(table.columns, table.ids, table.notes, table.values.dtype),
        table.values.tobytes(),
        None if table.empty is None else table.empty.tolist(),
        None if joined is None else (joined.columns, joined.values.tolist()),
    )


OPTIONS = [
    (read_labels, {}),
    (read_labels, {"columns": ["2", "1"]}),
    (read_labels, {"id_column": "2"}),
    (read_features, {}),
    (read_features, {"id_column": "1", "exclude": ["2"]}),
    (read_features, {"missing": "impute", "categorical": "join"}),
    (read_features, {"missing": "drop", "numeric_only": True}),
]


@pytest.mark.parametrize(("read", "options"), OPTIONS)
@given(content=documents())
def test_both_readers_agree(tmp_path_factory, read, options, content):
    path = tmp_path_factory.getbasetemp() / "table.csv"
    path.write_bytes(content.encode())
    found = outcome(read, path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_text, "parse", lambda *_: None)
        assert found == outcome(read, path, **options)


def parsed(monkeypatch):
    """Count the rows that Arrow parses."""
    counted = []
    parse = arrow_text.parse

    def counting(*args):
        columns = parse(*args)
        counted.append(0 if columns is None else len(next(iter(columns.values()))))
        return columns

    monkeypatch.setattr(arrow_text, "parse", counting)
    return counted


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("read", [read_labels, read_features])
def test_arrow_reads_plain_tables(tmp_path, monkeypatch, read, quote):
    counted = parsed(monkeypatch)
    rows = [f"{quote}n{i}{quote},{i % 3},{i % 2}" for i in range(1000)]
    (tmp_path / "runs.csv").write_text("\n".join([f"{quote}id{quote},a,b", *rows]))
    table = read(tmp_path / "runs.csv", id_column="id")
    assert sum(counted) == 997
    assert table.ids[-2:] == ["n998", "n999"]
    assert (table.values == np.c_[np.arange(1000) % 3, np.arange(1000) % 2]).all()


def test_arrow_goes_on_after_a_strange_line(tmp_path, monkeypatch):
    counted = parsed(monkeypatch)
    rows = [f"{i % 3},{i % 2}" for i in range(100)]
    rows[10] = '" 1","1\n"'
    (tmp_path / "runs.csv").write_text("\n".join(["a,b", *rows]))
    assert len(read_labels(tmp_path / "runs.csv").values) == 100
    assert sum(counted) > 80


def test_without_pyarrow_the_own_reader_reads(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "X.csv").write_text("a,b\n" + "1,2\n" * 50)
    assert (read_features(tmp_path / "X.csv").values == [1, 2]).all()
