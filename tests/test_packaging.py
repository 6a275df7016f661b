"""The README of a package index, and the links of estimators to the site."""

import runpy
import sys
from types import SimpleNamespace

import pytest

from conftest import ROOT
from ensclust import ECPCSMC, EnsembleGenerator
from ensclust._support import site

PAGE = """\
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="docs/dark.png">
  <img alt="Words" src="docs/light.png">
</picture>

See [the guide](docs/guide.md), [a paper](https://doi.org/10.1/x), [below](#more).
<!-- speed: generated -->
`[x](y)`

```python
a = labels[0](b)
```
"""
ELSEWHERE = "https://git.example/us/it"


@pytest.fixture
def portable(monkeypatch):
    """Return the function of the build hook, which is there without hatchling too."""
    interface = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    return runpy.run_path(str(ROOT / "hatch_build.py"))["portable"]


def test_links_and_pictures_become_absolute(portable):
    text = portable(PAGE, ELSEWHERE)
    assert f"![Words]({ELSEWHERE}/raw/HEAD/docs/light.png)" in text
    assert f"[the guide]({ELSEWHERE}/blob/HEAD/docs/guide.md)" in text
    assert "[a paper](https://doi.org/10.1/x), [below](#more)." in text
    assert "`[x](y)`" in text
    assert "labels[0](b)" in text
    assert "generated" not in text


def test_without_an_address_links_become_words(portable):
    text = portable(PAGE)
    assert "See the guide, [a paper](https://doi.org/10.1/x)" in text
    assert "Words" not in text
    assert "docs/" not in text


def test_no_relative_link_of_the_readme_is_left(portable):
    readme = (ROOT / "README.md").read_text()
    for address in ("", ELSEWHERE):
        text = portable(readme, address)
        assert "](docs/" not in text
        assert "<picture>" not in text
    assert text.count(f"({ELSEWHERE}/") > 5


@pytest.mark.parametrize("cls", [ECPCSMC, EnsembleGenerator])
def test_estimators_link_to_their_page_of_the_site(cls, monkeypatch):
    monkeypatch.setattr(site, "documentation_url", lambda: "https://docs.example/it")
    page = f"https://docs.example/it/reference/generated/ensclust.{cls.__name__}.html"
    assert cls()._get_doc_link() == page
    assert page in cls()._repr_html_()


@pytest.mark.parametrize("cls", [ECPCSMC, EnsembleGenerator])
def test_without_a_site_estimators_link_nowhere(cls, monkeypatch):
    monkeypatch.setattr(site, "documentation_url", lambda: "")
    assert cls()._get_doc_link() == ""
    assert f"Documentation for {cls.__name__}" not in cls()._repr_html_()


def test_the_address_of_the_site_is_that_of_the_metadata(monkeypatch):
    class Metadata:
        def get_all(self, name):
            assert name == "Project-URL"
            return [
                "Repository, https://x.example",
                "Documentation, https://y.example/",
            ]

    monkeypatch.setattr("importlib.metadata.metadata", lambda name: Metadata())
    assert site.documentation_url.__wrapped__() == "https://y.example"
