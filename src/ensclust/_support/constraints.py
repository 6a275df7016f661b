"""Constraints on parameters: which values are allowed, and how to describe them.

They work like those of scikit-learn, whose import takes a second. Constraints of
scikit-learn itself can be used as well: anything with ``is_satisfied_by``.
"""

import sys
from collections.abc import Callable, Set
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np


class InvalidParameterError(ValueError, TypeError):
    """A parameter has a value or a type that is not allowed."""


@dataclass(frozen=True)
class Interval:
    """Numbers of a kind between two bounds; None means unbounded."""

    kind: type
    left: float | None
    right: float | None
    closed: Literal["left", "right", "both", "neither"]

    def is_satisfied_by(self, value: Any) -> bool:
        """Whether a value is such a number; NaN is not."""
        if not isinstance(value, self.kind):
            return False
        left: Any = -np.inf if self.left is None else self.left
        right: Any = np.inf if self.right is None else self.right
        above = value >= left if self.closed in ("left", "both") else value > left
        below = value <= right if self.closed in ("right", "both") else value < right
        return bool(above and below)

    def __str__(self) -> str:
        whole = self.kind is Integral
        number: Callable = int if whole else float
        left = "-inf" if self.left is None else number(self.left)
        right = "inf" if self.right is None else number(self.right)
        opening = "[" if self.closed in ("left", "both") else "("
        closing = "]" if self.closed in ("right", "both") else ")"
        kind = "an int" if whole else "a float"
        return f"{kind} in the range {opening}{left}, {right}{closing}"


@dataclass(frozen=True)
class StrOptions:
    """One of several strings."""

    options: Set[str]

    def is_satisfied_by(self, value: Any) -> bool:
        """Whether a value is one of the strings."""
        return isinstance(value, str) and value in self.options

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, sorted(self.options)))}}}"


@dataclass(frozen=True)
class _Described:
    """Anything that passes a test."""

    is_satisfied_by: Callable[[Any], bool]
    words: str

    def __str__(self) -> str:
        return self.words


def check_parameters(
    constraints: dict[str, list], values: dict[str, Any], owner: str
) -> None:
    """Raise unless each value satisfies one of the constraints of its parameter."""
    for name, value in values.items():
        allowed = [_constraint(own) for own in constraints.get(name, [])]
        if not allowed or any(own.is_satisfied_by(value) for own in allowed):
            continue
        words = list(map(str, allowed))
        listed = " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
        msg = (
            f"The {name!r} parameter of {owner} must be {listed}. Got {value!r} "
            "instead."
        )
        raise InvalidParameterError(msg)


def _constraint(given: Any) -> Any:
    """Return a constraint as an object with a test and a description."""
    if hasattr(given, "is_satisfied_by"):
        return given
    if given is None:
        return _Described(lambda value: value is None, "None")
    if isinstance(given, type):
        return _Described(lambda value: isinstance(value, given), _instance(given))
    if given in _NAMED:
        return _NAMED[given]
    msg = (
        f"{given!r} is not a constraint. Use a type, None, an object with "
        "is_satisfied_by such as Interval or StrOptions, or one of "
        f"{', '.join(map(str, _NAMED))}."
    )
    raise TypeError(msg)


def _instance(kind: type) -> str:
    names: dict[type, str] = {Real: "float", Integral: "int"}
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"an instance of {names.get(kind, module + kind.__qualname__)!r}"


def _is_array(value: Any) -> bool:
    is_array = any(hasattr(value, name) for name in ("__len__", "shape", "__array__"))
    return is_array and not (np.isscalar(value) or hasattr(value, "tocsr"))


def _is_estimator(value: Any) -> bool:
    """Whether a value is a scikit-learn estimator, without importing scikit-learn."""
    base = sys.modules.get("sklearn.base")
    return base is not None and isinstance(value, base.BaseEstimator)


_seeds = Interval(Integral, 0, 2**32 - 1, closed="both")
_NAMED: dict[Any, _Described] = {
    "array-like": _Described(_is_array, "an array-like"),
    "boolean": _Described(
        lambda value: isinstance(value, bool | np.bool_),
        f"{_instance(bool)} or {_instance(np.bool_)}",
    ),
    "estimator": _Described(
        _is_estimator, "an instance of 'sklearn.base.BaseEstimator'"
    ),
    "random_state": _Described(
        lambda value: (
            value is None
            or isinstance(value, np.random.RandomState)
            or _seeds.is_satisfied_by(value)
        ),
        f"{_seeds}, {_instance(np.random.RandomState)} or None",
    ),
    callable: _Described(callable, "a callable"),
}
