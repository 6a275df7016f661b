"""Rules for all dataclasses of the package: what is made is not changed afterwards."""

import importlib
import pkgutil
from dataclasses import fields, is_dataclass

import pytest

import ensclust
from ensclust import BaseConsensus
from ensclust._quality.result import Result

# Filled step by step where they are made, or, like estimators, set by their users.
MUTABLE = {"Cleaned", "Odd", "_Column", "Spectral", "Model", "View", "Regions"}


def dataclasses():
    found = set()
    for module in pkgutil.walk_packages(ensclust.__path__, "ensclust."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            is_ours = getattr(value, "__module__", "") == module.name
            if is_ours and isinstance(value, type) and is_dataclass(value):
                found.add(value)
    return sorted(found, key=lambda cls: (cls.__module__, cls.__name__))


ALL = [
    cls for cls in dataclasses() if "__dataclass_params__" in vars(cls)
]  # of others, a base is one
PARTS = [cls for cls in ALL if not cls.__module__.startswith("ensclust._methods.")]
FIXED = [cls for cls in PARTS if cls.__name__ not in MUTABLE]


def test_there_are_as_many_as_we_know():
    assert len(FIXED) > 45


@pytest.mark.parametrize(
    "cls", FIXED, ids=lambda cls: f"{cls.__module__}.{cls.__name__}"
)
def test_what_is_made_is_not_changed(cls):
    assert cls.__dataclass_params__.frozen


def holds_arrays(cls):
    return issubclass(cls, Result) or any(
        "ndarray" in str(field.type) or "csr_array" in str(field.type)
        for field in fields(cls)
    )


@pytest.mark.parametrize(
    "cls",
    [cls for cls in FIXED if holds_arrays(cls)],
    ids=lambda cls: f"{cls.__module__}.{cls.__name__}",
)
def test_what_holds_arrays_is_equal_to_itself_alone(cls):
    """NumPy compares arrays entry by entry, so ``==`` of two results would raise."""
    assert cls.__eq__ is object.__eq__
    assert cls.__hash__ is object.__hash__


def test_estimators_can_be_set():
    assert not BaseConsensus.__dataclass_params__.frozen
