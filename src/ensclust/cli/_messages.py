"""Messages of the package in the words of the command line.

The package addresses callers from Python: ``n_jobs=0 is not supported``. On the command
line, this becomes ``--n-jobs 0 is not supported``.
"""

from __future__ import annotations

import re
import textwrap
from inspect import signature

_OPTIONS = {
    "n_clusters": "-k",
    "k_range": "-k",
    "method": "-m",
    "random_state": "--seed",
    "n_jobs": "--n-jobs",
    "n_clusterings": "--n-clusterings",
    "base": "--base",
    "base_k": "--base-k",
    "effort": "--effort",
    "scale": "--scale",
    "noise": "--noise",
    "min_certainty": "--min-certainty",
    "columns": "--columns",
    "exclude": "--exclude",
    "numeric_only": "--numeric-only",
    "categorical": "--categorical",
    "missing": "--missing",
    "id_column": "--id-column",
    "checkpoint": "--checkpoint",
    "truth": "--truth",
    "map_of": "--map-of",
    "sweep": "--sweep",
    "data_home": "--data-home",
}
_PHRASES = {
    # Of "id_column (--id-column)", only the option is kept.
    r"[^\s(]+ \((--[^()]+)\)": r"\1",
    r"\(Blocks\(path\), (--engine blocks)\)": r"(\1)",
    "scale=None": "--scale none",
    "overwrite=True": "--overwrite",
    r"n_samples=(\d+)( objects)?": r"the \1 objects",
    r"of n_clusters=(\d+) clusters": r"of \1 clusters",
    r"The '(\w+)' parameter of \w+": r"\1=",
    r"path=(?='.*' is not a valid file name)": "",
    "Use None or -1 for": "Use -1 for",
    "; pass X to test": "; to test them, use ensclust select-k with --data FILE",
    r"select_k\(sample\) or compare\(sample, k\)": "ensclust select-k or compare",
    r"compare\(labels, k\)": "ensclust compare",
    r"; a Dask, Zarr or NumPy array; .*; or leave the engine out": (
        ", or leave --engine out"
    ),
}
_VALUE = r"\"[^\"]*\"|'[^']*'|\([^()]*\)|\[[^\[\]]*\]|[\w.:+-]*\w|"
# A name with a value, or a name that can only be a parameter.
_NAMED = re.compile(rf"(?<![\w./'\"(-])(--)?(?:([a-z][\w-]*)=({_VALUE})|(\w+_\w+))")


def in_options(message: str) -> str:
    """Return a message with parameters replaced by options."""
    for pattern, words in _PHRASES.items():
        message = re.sub(pattern, words, message)
    return _NAMED.sub(_as_option, message)


def in_lines(message: str, start: str = "  ") -> str:
    """Return a message in lines of at most 80 characters."""
    return textwrap.fill(
        message,
        80,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _as_option(found: re.Match[str]) -> str:
    name, value = found[2] or found[4], found[3]
    if value and value[0] in "\"'([":
        value = value[1:-1].replace(", ", ",") or "''"
    if option := f"--{name}" if found[1] else _OPTIONS.get(name):
        return f"{option} {value}" if value else option
    if name in _parameters():
        return f"-p {name}={value}" if value else f"-p {name}"
    return found[0]


def _parameters() -> set[str]:
    """Return the parameters that -p accepts for any method."""
    from ensclust._methods import METHODS  # noqa: PLC0415  not needed without an error
    from ensclust._methods.base import Method  # noqa: PLC0415

    kinds = map(METHODS.method, METHODS)
    every = {name for kind in kinds for name in signature(kind).parameters}
    return every - signature(Method).parameters.keys()
