"""METHODS: the table that the CLI, the tests, the docs and the benchmark read."""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from ensclust._methods.base import Method
from ensclust._support.documentation import FAMILIES
from ensclust._support.validation import check_choice, unexpected

GROUP = "ensclust.methods"  # entry points by which other packages add methods


class MethodTable(Mapping):
    """The estimators of methods by name, loaded on first use.

    :meth:`method` gives the method alone, without scikit-learn. Other packages add
    theirs with entry points in the group ``ensclust.methods``.
    """

    def __init__(self, homes: dict[str, str]):
        self._homes = homes

    def __getitem__(self, name: str) -> type[Any]:
        return _estimator_of(self.method(name))

    def method(self, name: str) -> type[Method]:
        """Return the class that solves, which is not yet an estimator."""
        home = self._homes.get(name) or self.added()[name]
        return home.load() if hasattr(home, "load") else load(home)

    def __iter__(self) -> Iterator[str]:
        yield from self._homes
        yield from self.added()

    def __len__(self) -> int:
        return len(self._homes) + len(self.added())

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self.added()

    def added(self) -> dict[str, Any]:
        """Return the entry points by which other packages add methods."""
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
        "lwea": "ensclust._methods.lwea:LWEA",
        "weac": "ensclust._methods.weac:WEAC",
        "pta": "ensclust._methods.pta:PTA",
        "cspa": "ensclust._methods.cspa:CSPA",
        "hbgf": "ensclust._methods.hbgf:HBGF",
        "lwmc": "ensclust._methods.lwmc:LWMC",
        "communities": "ensclust._methods.communities:Communities",
        "usenc": "ensclust._methods.usenc:USENC",
        "lwgp": "ensclust._methods.lwgp:LWGP",
        "lce-bg": "ensclust._methods.lce_bg:LCEBG",
        "ecpcs-bg": "ensclust._methods.ecpcs_bg:ECPCSBG",
        "gp-mgla": "ensclust._methods.gp_mgla:GPMGLA",
        "voting": "ensclust._methods.voting:Voting",
        "cvote": "ensclust._methods.cvote:CVote",
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
)  # what the ECPCS paper compares


def methods(
    *,
    level: str | None = None,
    family: str | None = None,
    soft: bool | None = None,
    weights: bool | None = None,
    free_k: bool | None = None,
) -> list[str]:
    """Return the names of the consensus methods, all or a selection.

    Parameters
    ----------
    level : "object", "cluster" or None
        What is grouped.
    family : str or None
        "tree", "cluster graph", "bipartite graph", "object graph" or "label rows".
    soft : bool or None
        Whether the method computes memberships itself, not from mean similarities.
    weights : bool or None
        Whether base clusterings can have weights.
    free_k : bool or None
        Whether ``n_clusters=None`` leaves the number of clusters to the method.

    Returns
    -------
    list of str
        Names for ``method`` in :func:`ensclust.consensus`.

    Examples
    --------
    >>> "ecpcs-mc" in methods(level="cluster", soft=True)
    True
    >>> methods(free_k=True)
    ['communities']
    """
    texts = {"level": level, "family": family}
    flags = {"soft": soft, "weights": weights, "free_k": free_k}
    known = {"level": ("object", "cluster"), "family": tuple(FAMILIES)}
    for name, value in texts.items():
        if value is not None:
            check_choice(value, name, known[name], or_none=True)
    for name, flag in flags.items():
        if not (flag is None or isinstance(flag, bool)):
            raise unexpected(flag, name, "True, False or None")
    asked = {n: own for n, own in (texts | flags).items() if own is not None}
    if not asked:
        return list(METHODS)  # without loading any
    return [name for name in METHODS if asked.items() <= _facts(name).items()]


def usual_methods() -> list[str]:
    """Return what is compared by default: the paper's methods, and added ones."""
    return [*PAPER, *METHODS.added()]


def load(home: str) -> type[Method]:
    """Return the class that "package.module:Class" names, or raise."""
    module, _, name = home.partition(":")
    try:
        found = getattr(import_module(module), name, None)
    except Exception as error:
        msg = f"method={home!r} cannot be loaded: {type(error).__name__}: {error}."
        raise ValueError(msg) from error
    if not (inspect.isclass(found) and issubclass(found, Method)):
        msg = (
            f"method={home!r} is not a consensus method: {module} has no class "
            f"{name!r} that derives from ensclust.BaseConsensus."
        )
        raise TypeError(msg)
    return found


def find(method: Any) -> type[Method]:
    """Return the class of a method: by name, "module:Class", class or instance."""
    if isinstance(method, Method):
        return type(method)
    if inspect.isclass(method) and issubclass(method, Method):
        return method
    if isinstance(method, str) and ":" in method:
        return load(method)
    if isinstance(method, str) and method == "best" and method not in METHODS:
        msg = (
            'method="best" was removed in 0.2: it was not reliably better than '
            '"ecpcs-mc". Use that, or compare several methods with '
            "compare(labels, k)."
        )
        raise ValueError(msg)
    return METHODS.method(check_choice(method, "method", tuple(METHODS)))


def make(method: Any, settled: dict[str, Any] | None = None, /, **params) -> Any:
    """Return an unfitted estimator of a method; else as :func:`settle`."""
    return _made(_estimator_of(find(method)), method, settled or {}, params)


def settle(method: Any, settled: dict[str, Any] | None = None, /, **params) -> Method:
    """Return a method with its parameters, ready to solve; no estimator is needed.

    ``settled`` are parameters that the caller sets, which ``params`` may not contain.
    An instance keeps its other parameters.
    """
    return _made(find(method), method, settled or {}, params)


def _made(
    cls: type[Method], method: Any, settled: dict[str, Any], params: dict[str, Any]
) -> Any:
    known = inspect.signature(cls).parameters
    for name, value in params.items():
        if name in settled:
            msg = (
                f"{name}={value!r} cannot be set here, where existing "
                f"clusterings are combined. Use {cls.__name__}({name}=...).fit(X)."
            )
            raise TypeError(msg)
        if name not in known:
            msg = (
                f"{name_of(method)} has no parameter {name!r}. Its parameters are "
                f"{', '.join(known)}.{_who_has(name)}"
            )
            raise TypeError(msg)
    if isinstance(method, cls):
        from sklearn.base import clone  # noqa: PLC0415  an estimator has imported it

        told = {n: v for n, v in settled.items() if v != known[n].default}
        return clone(method).set_params(**told, **params)
    return cls(**settled, **params)


def _estimator_of(method: type[Method]) -> type[Any]:
    from ensclust._methods.estimators import estimator_of  # noqa: PLC0415  scikit-learn

    return estimator_of(method)


def has_parameter(method: Any, name: str) -> bool:
    """Whether a method has a parameter of this name."""
    return name in inspect.signature(find(method)).parameters


def name_of(method: Any) -> str:
    """Return what a method is called: its name, or that of its class."""
    return method if isinstance(method, str) else find(method).__name__


def _facts(name: str) -> dict[str, Any]:
    """Return what :func:`methods` can select by."""
    info = METHODS.method(name).info
    return {
        "level": info.level,
        "family": info.family,
        "soft": info.is_soft,
        "weights": has_parameter(name, "weights"),
        "free_k": info.free_k,
    }


def _who_has(parameter: str) -> str:
    """Return a sentence with the methods that have a parameter, if any."""
    having = [name for name in METHODS if has_parameter(name, parameter)]
    return f" Methods with {parameter!r}: {', '.join(having)}." if having else ""
