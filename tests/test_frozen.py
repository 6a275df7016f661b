"""What users see stays as tests/frozen.json has it; see tests/frozen.py."""

import json

import numpy as np
import pytest

import frozen

RECORD = json.loads(frozen.FILE.read_text())
HINT = "if this change is meant, say so in CHANGELOG.md and run: python -m tests.frozen"
NEEDS = {
    "streams/": ("dask.array", "pyarrow"),
    "too many rows/": ("dask.array",),
    "checkpoint/": ("dask.array",),
    "generate/": ("dask.array", "pyarrow"),
    "fit/": ("dask.array",),
    "command/": ("dask.array", "distributed", "pyarrow"),
    "wrong command/": ("dask.array", "distributed", "pyarrow"),
}
OPEN = ("attributes", "blocks attributes", "members")  # more may come
ROUGH = {"rough": 0.02}


def params():
    for name in RECORD:
        marks = [pytest.mark.slow] if name in frozen.SLOW else []
        yield pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", list(params()))
def test_what_users_see_stays_the_same(name, tmp_path):
    for start, modules in NEEDS.items():
        if name.startswith(start):
            for module in modules:
                pytest.importorskip(module)
    if frozen.METIS in name or name == "command/demo":
        pytest.importorskip("pymetis")
    found = json.loads(json.dumps(frozen.compute(name, tmp_path)))
    differences = list(compare(found, RECORD[name], name))
    assert not differences, "\n".join([*differences[:10], HINT])


def compare(found, known, where, tolerance=1e-9):
    """Yield what differs from the record, where mappings may be in another order."""
    if isinstance(known, dict) and isinstance(found, dict):
        is_open = where.rpartition(": ")[2] in OPEN
        for key in known.keys() | (set() if is_open else found.keys()):
            here, own = f"{where}: {key}", ROUGH.get(key, tolerance)
            if key not in found or key not in known:
                yield f"{here} is {'new' if key in found else 'gone'}"
            else:
                yield from compare(found[key], known[key], here, own)
    elif isinstance(known, list) and isinstance(found, list):
        if len(found) != len(known):
            yield f"{where}: {found!r}, was {known!r}"
        else:
            for i, pair in enumerate(zip(found, known, strict=True)):
                yield from compare(*pair, f"{where}[{i}]", tolerance)
    elif isinstance(known, float) and isinstance(found, float | int):
        if found != pytest.approx(known, rel=1e-7, abs=tolerance):
            yield f"{where}: {found!r}, was {known!r}"
    elif found != known or isinstance(found, bool) != isinstance(known, bool):
        yield f"{where}: {found!r}, was {known!r}"


def test_all_cases_are_recorded():
    recorded = {name for name in frozen.CASES if not name.startswith("signature/")}
    assert recorded <= RECORD.keys()


@pytest.mark.parametrize(("found", "known", "is_same"), [
    ({"a": [1.0, "x"]}, {"a": [1.0 + 1e-9, "x"]}, True),
    ({"a": [1.0, "x"]}, {"a": [1.0 + 1e-6, "x"]}, False),
    ({"a": 1, "b": 2}, {"a": 1}, False),
    ({"a": 1}, {"a": 1, "b": 2}, False),
    ({"members": {"a": 1, "b": 2}}, {"members": {"a": 1}}, True),
    ({"members": {"a": 1}}, {"members": {"a": 1, "b": 2}}, False),
    ({"rough": {"x": [0.51]}}, {"rough": {"x": [0.5]}}, True),
    ([1, 2], [1], False),
    (True, 1, False),
    (None, 0.5, False),
])  # fmt: skip
def test_differences_are_seen(found, known, is_same):
    assert (not list(compare(found, known, "case"))) == is_same


def test_hashes_see_one_label():
    labels = np.arange(20) % 3
    other = labels.copy()
    other[7] = 0
    assert frozen.digest(labels) == frozen.digest(labels.astype(np.int8))
    assert frozen.digest(labels) != frozen.digest(other)
