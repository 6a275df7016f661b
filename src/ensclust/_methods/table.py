"""METHODS: the table that the CLI, the tests, the docs and the benchmark read."""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from sklearn.base import clone

from ensclust._methods.base import BaseConsensus
from ensclust._support.validation import check_choice

GROUP = "ensclust.methods"  # entry points by which other packages add methods


class MethodTable(Mapping):
    """Classes of methods by name, loaded when they are asked for.

    Other packages add theirs by entry points of the group ``ensclust.methods``.
    """

    def __init__(self, homes: dict[str, str]):
        self._homes = homes

    def __getitem__(self, name: str) -> type[BaseConsensus]:
        home = self._homes.get(name) or self._added()[name]
        return home.load() if hasattr(home, "load") else load(home)

    def __iter__(self) -> Iterator[str]:
        yield from self._homes
        yield from self._added()

    def __len__(self) -> int:
        return len(self._homes) + len(self._added())

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._added()

    def _added(self) -> dict[str, Any]:
        return {n: own for n, own in _entry_points().items() if n not in self._homes}


@cache
def _entry_points() -> dict[str, Any]:
    """Return what other packages add; looking it up takes milliseconds."""
    return {own.name: own for own in entry_points(group=GROUP)}


METHODS = MethodTable(
    {
        "ecpcs-hc": "ensclust._methods.ecpcs:ECPCSHC",
        "ecpcs-mc": "ensclust._methods.ecpcs:ECPCSMC",
        "eac": "ensclust._methods.eac:EAC",
        "mcla": "ensclust._methods.mcla:MCLA",
        "srs": "ensclust._methods.srs:SRS",
        "wct": "ensclust._methods.wct:WCT",
        "kcc": "ensclust._methods.kcc:KCC",
        "ptgp": "ensclust._methods.ptgp:PTGP",
        "ecc": "ensclust._methods.ecc:ECC",
        "sec": "ensclust._methods.sec:SEC",
        "kmodes": "ensclust._methods.kmodes:KModes",
        "em": "ensclust._methods.em:EM",
    }
)
PAPER = (
    "ecpcs-hc",
    "ecpcs-mc",
    "eac",
    "mcla",
    "srs",
    "wct",
    "kcc",
    "ptgp",
    "ecc",
    "sec",
)  # what is compared unless methods are named
_BEST = {"best": "ensclust._methods.best:BestConsensus"}


def methods() -> list[str]:
    """Return the names of the consensus methods.

    Examples
    --------
    >>> "ecpcs-mc" in methods()
    True
    """
    return list(METHODS)


def load(home: str) -> type[BaseConsensus]:
    """Return the class that "package.module:Class" names, or raise."""
    from ensclust._methods.base import BaseConsensus  # noqa: PLC0415  its methods load

    module, _, name = home.partition(":")
    try:
        found = getattr(import_module(module), name, None)
    except Exception as error:
        msg = f"method={home!r} cannot be loaded: {type(error).__name__}: {error}."
        raise ValueError(msg) from error
    if not (inspect.isclass(found) and issubclass(found, BaseConsensus)):
        msg = (
            f"method={home!r} is no consensus method: {module} has no class {name!r} "
            "that derives from ensclust.BaseConsensus."
        )
        raise TypeError(msg)
    return found


def find(method: Any) -> type[BaseConsensus]:
    """Return the class of a method: by name, "module:Class", class or instance."""
    from ensclust._methods.base import BaseConsensus  # noqa: PLC0415  its methods load

    if isinstance(method, BaseConsensus):
        return type(method)
    if inspect.isclass(method) and issubclass(method, BaseConsensus):
        return method
    if isinstance(method, str) and ":" in method:
        return load(method)
    check_choice(method, "method", (*METHODS, *_BEST))
    return load(_BEST[method]) if method in _BEST else METHODS[method]


def make(
    method: Any, settled: dict[str, Any] | None = None, /, **params
) -> BaseConsensus:
    """Return an unfitted estimator of a method.

    ``settled`` are parameters that the caller decides, which ``params`` may not. An
    instance keeps its own parameters where they do not say otherwise.
    """
    cls, settled = find(method), settled or {}
    known = inspect.signature(cls).parameters
    for name, value in params.items():
        if name in settled:
            msg = (
                f"{name}={value!r} cannot be given here, where clusterings are "
                f"combined that exist. Use {cls.__name__}({name}=...).fit(X)."
            )
            raise TypeError(msg)
        if name not in known:
            msg = (
                f"{name_of(method)} has no parameter {name!r}. Its parameters are "
                f"{', '.join(known)}.{_who_has(name)}"
            )
            raise TypeError(msg)
    if isinstance(method, cls):
        told = {n: v for n, v in settled.items() if v != known[n].default}
        return clone(method).set_params(**told, **params)
    return cls(**settled, **params)


def has_parameter(method: Any, name: str) -> bool:
    """Whether a method has a parameter of this name."""
    return name in inspect.signature(find(method)).parameters


def name_of(method: Any) -> str:
    """Return what a method is called: its name, or that of its class."""
    return method if isinstance(method, str) else find(method).__name__


def _who_has(parameter: str) -> str:
    """Return a sentence with the methods that have a parameter, if any."""
    having = [
        name
        for name, cls in METHODS.items()
        if parameter in inspect.signature(cls).parameters
    ]
    return f" Methods with {parameter!r}: {', '.join(having)}." if having else ""
