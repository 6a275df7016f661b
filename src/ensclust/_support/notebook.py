"""Small tables for notebooks: everything escaped, readable in light and dark."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

SHOWN = 12  # rows of a table
_TABLE = (
    "border-collapse:collapse;margin:.3em 0;color:inherit"
    ";font-variant-numeric:tabular-nums"
)
_LINE = "1px solid rgba(128,128,128,.5)"
_BAR = "rgba(68,119,170,.35)"  # visible on white and on black


class Share(float):
    """A number from 0 to 1 that is shown with a bar."""


def table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]], note: str = ""
) -> str:
    """Return an HTML table, text aligned left and numbers right.

    Parameters
    ----------
    caption, note : str
        Text above and below the table.
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Text, whole numbers, floats (three digits, a dash for NaN) or :class:`Share`.
    """
    rows = list(rows)
    sides = ["left" if isinstance(v, str) else "right" for v in next(iter(rows), head)]
    lines = [_line("th", head, sides)] + [_line("td", row, sides) for row in rows]
    below = f'<div style="opacity:.7">{escape(note)}</div>' if note else ""
    return (
        f'<div><div style="font-weight:bold">{escape(caption)}</div>'
        f'<table style="{_TABLE}"><thead>{lines[0]}</thead>'
        f"<tbody>{''.join(lines[1:])}</tbody></table>{below}</div>"
    )


def _line(tag: str, values: Sequence[Any], sides: Sequence[str]) -> str:
    cells = [_cell(tag, v, side) for v, side in zip(values, sides, strict=True)]
    return f"<tr>{''.join(cells)}</tr>"


def _cell(tag: str, value: Any, side: str) -> str:
    style = f"text-align:{side};padding:.15em .6em;border:0;white-space:nowrap"
    style += f";border-bottom:{_LINE}" if tag == "th" else ""
    if isinstance(value, Share) and not np.isnan(value):
        width = f"{100 * min(max(value, 0), 1):.0f}%"
        style += (
            f";background:linear-gradient(90deg,{_BAR} {width},transparent {width})"
        )
    return f'<{tag} style="{style}">{escape(_text(value))}</{tag}>'


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "–" if np.isnan(value) else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int | np.integer) else str(value)
