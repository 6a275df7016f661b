"""Bounds of the dependencies, and the versions that continuous integration installs."""

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def constraints(name):
    lines = (ROOT / ".ci" / name).read_text().splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


PINS = constraints("constraints.txt")


def requirements(texts):
    return [Requirement(text) for text in texts if not text.startswith("ensclust[")]


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_dependency_has_a_lower_bound(extra):
    for found in requirements(EXTRAS[extra] if extra else PROJECT["dependencies"]):
        assert ">=" in [bound.operator for bound in found.specifier], found


@pytest.mark.parametrize("extra", ["", "test", "coverage", "lint", "docs"])
def test_the_versions_of_ci_are_within_the_bounds(extra):
    pinned = {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in PINS
    }
    for found in requirements(EXTRAS[extra] if extra else PROJECT["dependencies"]):
        name = canonicalize_name(found.name)
        assert name in pinned, f"{name} is not in .ci/constraints.txt"
        assert pinned[name] in found.specifier


def lower_bounds(texts):
    """Return these requirements, those of the extras among them too, as pins."""
    pins = set()
    for found in map(Requirement, texts):
        if found.name == "ensclust":
            pins.update(*(lower_bounds(EXTRAS[extra]) for extra in found.extras))
        else:
            [bound] = found.specifier
            pins.add(f"{canonicalize_name(found.name)}=={bound.version}")
    return pins


def test_the_lowest_versions_are_the_lower_bounds():
    pins = {str(pin) for pin in constraints("lowest.txt") if "==" in str(pin)}
    assert pins == lower_bounds([*PROJECT["dependencies"], *EXTRAS["test"]])


def test_a_pin_is_one_version_and_names_no_place():
    for pin in PINS:
        assert [bound.operator for bound in pin.specifier] == ["=="]
        assert pin.url is None
