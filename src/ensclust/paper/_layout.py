"""Tables of text, as Markdown and HTML."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field


def grid(rows: Sequence[Sequence[str]], *, left: int = 1, gap: str = " ") -> str:
    """Return rows of text, the first of which is the header, as a Markdown table.

    Parameters
    ----------
    rows : sequence of sequences of str
        The header and the rows below it.
    left : int
        The number of columns aligned left; the others are aligned right.
    gap : str
        Padding of the dashes below the header.

    Examples
    --------
    >>> print(grid([["method", "seconds"], ["eac", "1.5"]]))
    | method | seconds |
    | --- | ---: |
    | eac | 1.5 |
    """
    head, *body = rows
    marks = [f"{gap}---{':' * (i >= left)}{gap}" for i in range(len(head))]
    return "\n".join(
        [
            f"| {' | '.join(head).lstrip()} |",
            f"|{'|'.join(marks)}|",
            *(f"| {' | '.join(row)} |" for row in body),
        ]
    )


def entry(text: str, small: str = "", place: int = 0) -> str:
    """Return a cell: what we found and, in small print, what was published.

    ``place`` is the rank in the row: the best is in bold and brackets, the next two are
    in bold; 0 means not ranked.
    """
    text = f"**{text}**" if 1 <= place <= 3 else text
    text = f"[{text}]" if place == 1 else text
    return f"{text}<br>{small}" if small else text


@dataclass(frozen=True)
class Table:
    """A title, names of columns, rows of cells and a note."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)
    note: str = ""

    def as_markdown(self) -> str:
        """Return the table as a page of Markdown."""
        return (
            f"# {self.title}\n\n{self.note}\n\n"
            f"{grid([self.columns, *self.rows], left=2)}\n"
        )

    def as_html(self) -> str:
        """Return the table as a page of HTML."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{_as_html(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows
        )
        title = html.escape(self.title)
        return (
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n<h1>{title}</h1>\n"
            f"<p>{html.escape(self.note)}</p>\n<table>\n<tr>{head}</tr>\n{body}\n"
            "</table>\n</html>\n"
        )


def _as_html(cell: str) -> str:
    """Return a cell with the markup of :func:`entry` as HTML."""
    text, _, small = map(html.escape, cell.partition("<br>"))
    text = re.sub(r"\*\*(.*)\*\*", r"<b>\1</b>", text)
    return f"{text}<br><small>{small}</small>" if small else text


_STYLE = (
    "body{font-family:sans-serif;margin:2em;color:#222}"
    "table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.3em .5em;text-align:right}"
    "td:first-child,th:first-child{text-align:left}small{color:#666}"
)
