"""Bounds of the dependencies, and the versions that continuous integration installs."""

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = [
    Requirement(line)
    for line in (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
    if not line.startswith("#")
]


def requirements(texts):
    return [Requirement(text) for text in texts if not text.startswith("ensclust[")]


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_dependency_has_a_lower_bound(extra):
    for found in requirements(EXTRAS[extra] if extra else PROJECT["dependencies"]):
        assert [bound.operator for bound in found.specifier][:1] == [">="], found


@pytest.mark.parametrize("extra", ["", "test", "lint", "docs"])
def test_the_versions_of_ci_are_within_the_bounds(extra):
    pinned = {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in PINS
    }
    for found in requirements(EXTRAS[extra] if extra else PROJECT["dependencies"]):
        name = canonicalize_name(found.name)
        assert name in pinned, f"{name} is not in .ci/constraints.txt"
        assert pinned[name] in found.specifier


def test_a_pin_is_one_version_and_names_no_place():
    for pin in PINS:
        assert [bound.operator for bound in pin.specifier] == ["=="]
        assert pin.url is None
