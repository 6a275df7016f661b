"""Write the reference pages: every public name, grouped, for autosummary to describe.

The build of the site calls :func:`write`; a new name needs no change here.
"""

from __future__ import annotations

import inspect
import shutil
from typing import TYPE_CHECKING

import ensclust
from ensclust._methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import ModuleType

INTRODUCTIONS = {
    "Estimators": "One class per method. ``fit(X)`` takes features, or labels with "
    '``base="precomputed"``.',
    "Functions": "A whole step in one call.",
    "Objects": "What passes between the steps, and what results hold.",
    "Plotting": "Displays for notebooks; they need ``ensclust[plot]``.",
}
COMMANDS = """\
Command line
============

Data goes to stdout; progress, summaries and errors to stderr. An error is one line and
exit code 2.

.. click:: ensclust.cli:main
   :prog: ensclust
   :nested: full
"""


def write(folder: Path) -> None:
    """Write an index, one page per group and one for the command line."""
    shutil.rmtree(folder, ignore_errors=True)  # no pages of names that are gone
    folder.mkdir()
    pages = {name.lower(): page(name, *group) for name, group in groups().items()}
    pages["commands"] = COMMANDS
    pages["index"] = index()
    for name, text in pages.items():
        (folder / f"{name}.rst").write_text(text)


def groups() -> dict[str, tuple[str, str, list[str]]]:
    """Return for each group what it is, the module its names are in, and the names."""
    found = {name: [] for name in INTRODUCTIONS}
    for name, home in ensclust._HOMES.items():
        if home.startswith("_methods.") and inspect.isclass(getattr(ensclust, name)):
            found["Estimators"].append(name)
        elif home.startswith("_view.displays."):
            found["Plotting"].append(name)
        elif inspect.isfunction(getattr(ensclust, name)):
            found["Functions"].append(name)
        else:
            found["Objects"].append(name)
    rank = {cls.__name__: place for place, cls in enumerate(METHODS.values())}
    found["Estimators"].sort(key=lambda name: rank.get(name, len(rank)))
    groups = {
        name: (INTRODUCTIONS[name], "ensclust", names)
        for name, names in found.items()
        if names
    }
    for name in ensclust._MODULES:
        module = getattr(ensclust, name)
        names = public(module)
        if names := [x for x in names if not is_top_level(getattr(module, x), x)]:
            groups[name] = (inspect.getdoc(module), module.__name__, names)
    return groups


def public(module: ModuleType) -> list[str]:
    """Return the names that a module offers."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
    ]


def is_top_level(value: object, name: str) -> bool:
    """Return whether the package itself offers a name of a module too."""
    return name in ensclust._HOMES and getattr(ensclust, name) is value


def page(title: str, introduction: str, module: str, names: list[str]) -> str:
    """Return the page of a group."""
    title = title if module == "ensclust" else module
    return (
        f"{title}\n{'=' * len(title)}\n\n"
        f".. currentmodule:: {module}\n\n{introduction}\n\n"
        f".. autosummary::\n   :toctree: generated\n\n{indented(names)}\n"
    )


def index() -> str:
    """Return the page that shows all names and leads to the others."""
    text = (
        "Reference\n=========\n\nEvery public name, from its docstring, and the "
        ":doc:`command line <commands>`. Sizes are written as in the :doc:`glossary "
        "</guide/glossary>`: N objects, M base clusterings, Nc base clusters in all, F "
        "distinct label rows, k consensus clusters.\n\n.. toctree::\n   :hidden:\n\n"
        f"{indented([*map(str.lower, groups()), 'commands'])}\n"
    )
    for name, (_, module, names) in groups().items():
        title = name if module == "ensclust" else module
        text += (
            f"\n{title}\n{'-' * len(title)}\n\n.. currentmodule:: {module}\n\n"
            f".. autosummary::\n   :nosignatures:\n\n{indented(names)}\n"
        )
    return text


def indented(lines: Iterable[str]) -> str:
    """Return the content of a directive."""
    return "\n".join(f"   {line}" for line in lines)
