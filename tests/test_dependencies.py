"""Bounds of the dependencies, and the versions that continuous integration installs."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ensclust
from conftest import ROOT

WHOLE = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = WHOLE["project"]
EXTRAS = PROJECT["optional-dependencies"]
GROUPS = WHOLE["dependency-groups"]
# Every set of requirements by its name, "" being what every user gets.
SETS = {"": PROJECT["dependencies"], **EXTRAS, **GROUPS}


def constraints(name):
    lines = (ROOT / ".ci" / name).read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


PINS = constraints("constraints.txt")


def requirements(name):
    """Return what a set asks for, without the sets that it includes."""
    texts = [text for text in SETS[name] if isinstance(text, str)]
    return [Requirement(text) for text in texts if not text.startswith("ensclust[")]


def test_no_group_has_the_name_of_an_extra():
    assert not set(EXTRAS) & set(GROUPS)


@pytest.mark.parametrize("name", SETS)
def test_every_dependency_has_a_lower_bound(name):
    for found in requirements(name):
        assert ">=" in [bound.operator for bound in found.specifier], found


@pytest.mark.parametrize("name", ["", *EXTRAS, "test", "coverage", "lint", "docs"])
def test_the_versions_of_ci_are_within_the_bounds(name):
    pinned = {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in PINS
    }
    for found in requirements(name):
        package = canonicalize_name(found.name)
        assert package in pinned, f"{package} is not in .ci/constraints.txt"
        assert pinned[package] in found.specifier


def test_the_lowest_versions_are_the_lower_bounds():
    bounds = set()
    for found in [
        bound for name in ("", *EXTRAS, "test") for bound in requirements(name)
    ]:
        [bound] = found.specifier
        bounds.add(f"{canonicalize_name(found.name)}=={bound.version}")
    pins = {str(pin) for pin in constraints("lowest.txt") if "==" in str(pin)}
    assert pins == bounds


def test_a_pin_is_one_version_and_names_no_place():
    for pin in PINS:
        assert [bound.operator for bound in pin.specifier] == ["=="]
        assert pin.url is None


def test_the_version_is_in_one_place_and_cited():
    assert "version" in PROJECT["dynamic"]
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {ensclust.__version__}\n" in cited
    changes = (ROOT / "CHANGELOG.md").read_text()
    released = re.search(r"^## \[(\d.+?)\] - (\d{4}-\d\d-\d\d)$", changes, re.MULTILINE)
    assert released.group(1) == ensclust.__version__
    assert f"\ndate-released: {released.group(2)}\n" in cited


def test_the_addresses_are_empty_or_whole():
    for name, url in WHOLE["tool"]["hatch"]["metadata"]["hooks"]["custom"][
        "urls"
    ].items():
        assert not url or re.fullmatch(r"https://[\w.-]+(/[\w./-]*)?", url), name
