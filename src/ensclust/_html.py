"""Small tables for notebooks: everything escaped, readable in light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHOWN = 12  # rows of a table
_TABLE = "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;white-space:nowrap"
_CAPTION += ";color:inherit;padding:.2em 0"
_LINE = "1px solid rgba(128,128,128,.5)"
_BAR = "rgba(68,119,170,.35)"  # seen on white and on black


class Share(float):
    """A number from 0 to 1 that is shown with a bar."""


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]], note: str = ""
) -> str:
    """Return an HTML table, the first column left and the others right.

    Parameters
    ----------
    caption, note : str
        Above and below it.
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Text, whole numbers, floats (three digits, a dash for NaN) or :class:`Share`.
    """
    names = "".join(_cell("th", name, i) for i, name in enumerate(head))
    lines = [
        "".join(_cell("td", value, i) for i, value in enumerate(row)) for row in rows
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    below = f'<div style="opacity:.7">{escape(note)}</div>' if note else ""
    return (
        f'<div><table style="{_TABLE}"><caption style="{_CAPTION}">{escape(caption)}'
        f"</caption><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
        f"{below}</div>"
    )


def _cell(tag: str, value: Any, column: int) -> str:
    style = f"text-align:{'right' if column else 'left'};padding:.15em .6em;border:0"
    style += f";border-bottom:{_LINE}" if tag == "th" else ""
    if isinstance(value, Share) and value == value:  # noqa: PLR0124  not NaN
        width = f"{100 * min(max(value, 0), 1):.0f}%"
        style += (
            f";background:linear-gradient(90deg,{_BAR} {width},transparent {width})"
        )
    return f'<{tag} style="{style}">{escape(_text(value))}</{tag}>'


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "–" if np.isnan(value) else f"{value:.3f}"
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return str(value)
