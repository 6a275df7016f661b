"""METHODS: the table that the CLI, the tests, the docs and the benchmark read."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ensclust._methods.best import BestConsensus
from ensclust._methods.eac import EAC
from ensclust._methods.ecc import ECC
from ensclust._methods.ecpcs import ECPCSHC, ECPCSMC
from ensclust._methods.kcc import KCC
from ensclust._methods.mcla import MCLA
from ensclust._methods.ptgp import PTGP
from ensclust._methods.sec import SEC
from ensclust._methods.srs import SRS
from ensclust._methods.wct import WCT
from ensclust._support.validation import check_choice

if TYPE_CHECKING:
    from ensclust._methods.base import BaseConsensus

METHODS: dict[str, type[BaseConsensus]] = {
    "ecpcs-hc": ECPCSHC,
    "ecpcs-mc": ECPCSMC,
    "eac": EAC,
    "mcla": MCLA,
    "srs": SRS,
    "wct": WCT,
    "kcc": KCC,
    "ptgp": PTGP,
    "ecc": ECC,
    "sec": SEC,
}

# What ``make`` knows: the methods, and what chooses among them.
_ESTIMATORS = {**METHODS, "best": BestConsensus}


def methods() -> list[str]:
    """Return the names of the consensus methods.

    Examples
    --------
    >>> "ecpcs-mc" in methods()
    True
    """
    return list(METHODS)


def make(
    method: str, settled: dict[str, Any] | None = None, /, **params
) -> BaseConsensus:
    """Return an unfitted estimator by the name of its method, or "best".

    ``settled`` are parameters that the caller decides, which ``params`` may not.
    """
    cls = _ESTIMATORS[check_choice(method, "method", tuple(_ESTIMATORS))]
    known = list(inspect.signature(cls).parameters)
    for name, value in params.items():
        if name in (settled or {}):
            msg = (
                f"{name}={value!r} cannot be given here, where clusterings are "
                f"combined that exist. Use {cls.__name__}({name}=...).fit(X)."
            )
            raise TypeError(msg)
        if name not in known:
            msg = (
                f"{method} has no parameter {name!r}. Its parameters are "
                f"{', '.join(known)}.{_who_has(name)}"
            )
            raise TypeError(msg)
    return cls(**(settled or {}), **params)


def _who_has(parameter: str) -> str:
    """Return a sentence with the methods that have a parameter, if any."""
    having = [
        name
        for name, cls in METHODS.items()
        if parameter in inspect.signature(cls).parameters
    ]
    return f" Methods with {parameter!r}: {', '.join(having)}." if having else ""
