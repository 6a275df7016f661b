"""The Python lines that reproduce a report, as far as they can be written."""

from importlib import import_module
from inspect import signature
from math import isfinite
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ensclust._quality.result import Result


def lines(result: Result | None, **given: Any) -> str:
    """Return imports and calls; ``given`` are the arguments of the report.

    Data is called by the names of the arguments. What cannot be written as Python, such
    as the state of a generator, is left out, and a comment says so.
    """
    more = "".join(
        f", {name}={value!r}" if isinstance(value, str) else f", {name}={name}"
        for name, value in given.items()
        if value is not None
    )
    if result is None:
        return (
            "from ensclust import write_report\n"
            f'write_report("report.html", runs, labels{more})'
        )
    source = _Source()
    made = source.of(result.estimator, "model")
    return "\n".join(
        [
            *sorted(source.imports),
            *source.remarks,
            f"model = {made}.fit({'runs' if result.is_precomputed else 'X'})",
            f'model.report("report.html"{more})',
        ]
    )


class _Source:
    """Python source of values, with the imports and comments that it needs."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.remarks: list[str] = []

    def of(self, value: Any, name: str) -> str | None:
        """Return the source of a value; None, with a comment, if there is none."""
        if isinstance(value, BaseEstimator):
            return self._estimator(value)
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.tolist()
        if isinstance(value, (list, tuple)):
            parts = [self.of(part, name) for part in value]
            if None in parts:
                return None
            inside = ", ".join(map(str, parts))
            comma = "," * (len(parts) == 1)
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{comma})"
        if isinstance(value, float) and not isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, (str, bool, int, float)):
            return repr(value)
        kind = type(value).__name__
        self.remarks.append(
            f"# {name} was a {kind} object, so this cannot be repeated exactly."
            if name == "random_state"
            else f"# {name} was a {kind} object, which cannot be written here: add it."
        )
        return None

    def _estimator(self, estimator: BaseEstimator) -> str:
        """Return the call that makes an estimator, without default values."""
        kind = type(estimator)
        self._import(kind)
        order = signature(kind).parameters
        values = estimator.get_params(deep=False)
        arguments = []
        for name in filter(values.__contains__, order):
            value, default = values[name], order[name].default
            is_plain = type(value) is type(default) and not isinstance(
                value, np.ndarray
            )
            is_default = value is default or (is_plain and value == default)
            if not is_default and (source := self.of(value, name)) is not None:
                arguments.append(f"{name}={source}")
        return f"{kind.__name__}({', '.join(arguments)})"

    def _import(self, kind: type) -> None:
        """Import a class from the public module that exports it, if there is one."""
        module, name = kind.__module__, kind.__name__
        if module == "__main__":
            self.remarks.append(f"# {name} is your own class.")
            return
        parts = module.split(".")
        private = [i for i, part in enumerate(parts) if part.startswith("_")]
        for end in [*private[:1], 1]:
            public = ".".join(parts[:end])
            if public and getattr(import_module(public), name, None) is kind:
                module = public
                break
        self.imports.add(f"from {module} import {name}")
