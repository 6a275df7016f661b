import json

import pytest
from benchmarks import scale, select_k
from docs import make_readme
from docs.make_methods import TARGET, render

from conftest import ROOT
from ensclust._methods import METHODS
from ensclust.criteria import CRITERIA
from ensclust.selection import DEFAULT_CRITERION


def test_the_page_of_methods_is_what_the_table_gives():
    assert TARGET.read_text() == render(), "run: python -m docs.make_methods"


def test_the_readme_names_every_method():
    readme = (ROOT / "README.md").read_text()
    for cls in METHODS.values():
        short = {"ECPCSHC": "ECPCS-HC", "ECPCSMC": "ECPCS-MC"}
        assert short.get(cls.__name__, cls.__name__) in readme


def test_the_readme_shows_the_figures_of_the_results():
    readme = make_readme.TARGET.read_text()
    assert readme == make_readme.render(readme), "run: python -m docs.make_readme"


def measured():
    path = select_k.RESULTS / "select_k.json"
    if not path.exists():
        pytest.skip("no measurements; run: python -m benchmarks.select_k")
    return json.loads(path.read_text())["rows"]


def test_the_page_on_choosing_k_shows_what_was_measured():
    page = select_k.PAGE.read_text()
    assert select_k.report(measured()) in page, "run: python -m benchmarks.select_k"
    for name in CRITERIA:
        assert f"| `{name}` |" in page


def test_the_page_on_scale_shows_what_was_measured():
    path = scale.RESULTS / "measurements.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert scale.report(lines) in scale.PAGE.read_text(), "run: benchmarks.scale"


def test_auto_goes_by_the_criterion_that_was_closest_without_knowing_k():
    rows = [row for row in measured() if row["kind"] == "blind"]
    best = select_k.table(rows).splitlines()[2]
    assert best.startswith(f"| **{DEFAULT_CRITERION}** |")
