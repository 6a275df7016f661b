from docs import make_readme
from docs.make_methods import TARGET, render

from conftest import ROOT
from ensclust._methods import METHODS


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
