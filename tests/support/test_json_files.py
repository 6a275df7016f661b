"""JSON and JSON lines: what is written is read, and the same bytes come out again."""

import pytest

from ensclust._support.json_files import read_json, read_lines, write_json, write_lines


@pytest.mark.parametrize("name", ["lines.jsonl", "lines.jsonl.gz"])
def test_lines_are_read_as_written(tmp_path, name):
    path, lines = tmp_path / "folder" / name, [{"a": 1.5}, {"b": [None, "ü"]}]
    write_lines(path, lines)
    assert read_lines(path) == lines
    before = path.read_bytes()
    write_lines(path, iter(lines))
    assert path.read_bytes() == before
    assert [other.name for other in path.parent.iterdir()] == [name]


def test_a_file_that_is_not_there_is_the_default(tmp_path):
    assert read_json(tmp_path / "none.json") is None
    assert read_json(tmp_path / "none.json", {}) == {}
    write_json(tmp_path / "one.json", {"b": 1, "a": 2}, sort_keys=True)
    assert (tmp_path / "one.json").read_text() == '{"a": 2, "b": 1}\n'


def test_lines_that_cannot_be_written_leave_the_file(tmp_path):
    path = tmp_path / "lines.jsonl"
    write_lines(path, [{"a": 1}])
    with pytest.raises(TypeError):
        write_lines(path, [{"a": 2}, {"b": object()}])
    assert read_lines(path) == [{"a": 1}]
