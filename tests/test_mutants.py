"""The changes that ``python -m tests.mutants`` tries, and the page about them."""

import re
from dataclasses import replace

import pytest
from tests.mutants import page, running
from tests.mutants.changes import ROOMS, SOURCE, changes, is_another_program, sample
from tests.mutants.reasons import reason

from conftest import ROOT


def changed(source):
    """Return the sources that one change makes of another."""
    source = source.encode()
    return [change.apply(source).decode() for change in changes(source, "a.py")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b <= c", ["x = a <= b <= c", "x = a < b < c"]),
        ("x = a not in b", ["x = a in b"]),
        ("x = a is b", ["x = a is not b"]),
        ("x = (a) // (b)", ["x = (a) / (b)"]),
        ("x = a and b or c", ["x = a and b and c", "x = a or b or c"]),
        ("x = not a", ["x = a"]),
        ("x = -a", ["x = a"]),
        ("x = 3", ["x = 4"]),
        ("x = True", ["x = False"]),
        ("x = 'é', 0.5", ["x = 'éXX', 0.5", "x = 'é', 1.5"]),
        ("x = f(a, b=c)", ["x = f(None, b=c)", "x = f(a, )"]),
        ("x = f(b=c, **d)", ["x = f( **d)"]),
        ("x = a if b else c", ["x = a if True else c", "x = a if False else c"]),
        ("x = [a for a in b if c]", ["x = [a for a in b if True]"]),
        ("x[a] = b", ["pass"]),
        ("x += y", ["pass", "x -= y"]),
        ("f()", ["pass"]),
        ("raise a", ["pass"]),
        ("del a", ["pass"]),
        ("while a: break", ["while a: continue"]),
        ("def f(): return a", ["def f(): return None"]),
        ("def f(a=1): b", ["def f(a=2): b"]),
        ("@f(1)\ndef g(): b", ["@f(None)\ndef g(): b", "@f(2)\ndef g(): b"]),
        ("if a: b", ["if True: b", "if False: b"]),
    ],
)
def test_one_place_is_changed_at_a_time(source, expected):
    assert changed(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Words."""',
        "def f(a: 'int' = None) -> 'str':\n    '''Words.'''",
        "x: 'int | None'",
        "msg = 'no' + 1",
        "x = 'two words'",
        "x = f'{a + 1}'",
        "def __repr__(self): return 1",
        "__all__ = ['a']",
        "if TYPE_CHECKING: import a",
        "x = ValueError('no', 1)",
        "info = MethodInfo(doi='10/1')",
        "x = f(help='no')",
    ],
)
def test_words_for_people_are_left_alone(source):
    assert changed(source) == []


def test_a_change_knows_which_lines_a_test_must_reach():
    source = b"a = 1\ndef f(b=2):\n    if (b <\n        3):\n        return 4\n"
    found = [
        (change.text, change.where, change.lines) for change in changes(source, "a")
    ]
    assert found == [
        ("2", "", (0, 0)),
        ("3", "f", (3, 5)),
        ("True", "f", (3, 4)),
        ("False", "f", (3, 4)),
        ("<=", "f", (3, 4)),
        ("4", "f", (3, 4)),
        ("return None", "f", (5, 5)),
        ("5", "f", (5, 5)),
    ]


def test_changes_of_the_source_are_other_programs():
    name = "_support/parallel.py"
    source = (ROOT / SOURCE / name).read_bytes()
    found = changes(source, name)
    assert len({change.id for change in found}) == len(found) > 50
    assert all(is_another_program(change, source) for change in found)
    blank = replace(found[0], start=0, end=0, text="\n")
    assert not is_another_program(blank, source)


def test_a_sample_is_fixed_by_its_seed_and_has_all_rooms():
    few = sample(0, 70, least=5)
    ids = [change.id for change in few]
    assert [change.id for change in sample(0, 70, least=5)] == ids
    assert {change.room for change in few} == set(ROOMS)
    assert set(ids) < {change.id for change in sample(0, 120, least=5)}
    assert set(ids) != {change.id for change in sample(1, 70, least=5)}


def test_tests_of_a_change_reach_its_lines_and_are_few():
    (change, *_) = changes(b"def f():\n    return 1\n", "_trees/a.py")
    tests = {
        "tests/cuts/test_a.py::far": (0.1, {"_trees/a.py": [2]}),
        "tests/trees/test_a.py::near": (1, {"_trees/a.py": [1, 2]}),
        "tests/trees/test_a.py::slow": (9, {"_trees/a.py": [2]}),
        "tests/trees/test_a.py::elsewhere": (0.1, {"_trees/a.py": [1]}),
    }
    found = running.Reach({"all": tests}, most=5).tests(change)
    assert [test.split("::")[1] for test in found] == ["near", "far"]


def test_the_page_shows_the_results():
    records = list(page.results().values())
    text = page.PAGE.read_text()
    sizes = re.findall(r"^\| (\w+) \| ([\d,]+) \|", text, re.MULTILINE)
    sizes = {room: int(size.replace(",", "")) for room, size in sizes if room != "all"}
    left = re.search(r"(\d+) of the [\d,]+ in the sample have not been tried", text)
    n_drawn = len(records) + (int(left[1]) if left else 0)
    assert text == page.page(records, sizes, n_drawn, seed=0)


def test_every_room_is_tried_and_all_together_are_above_the_goal():
    percents = page.noticed(page.results().values())
    assert set(percents) == {*ROOMS, "all"}
    assert percents["all"] >= page.GOAL


def test_a_reason_fits_the_change_and_no_other():
    assert reason("_trees/linkage.link", "run(f, n_jobs=n_jobs)", "run(f, )")
    assert not reason("_trees/linkage.link", "a < b", "a <= b")
