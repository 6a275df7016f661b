"""The paper's tables with our figures, as Markdown and HTML."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ensclust import datasets
from ensclust.paper import paper, protocol, scores
from ensclust.paper.scores import Cell, Setting

if TYPE_CHECKING:
    from ensclust.paper.paper import Score

NOT_AVAILABLE = "not available"


@dataclass(frozen=True)
class Entry:
    """One place of a table: what we found and, in small print, what was published."""

    text: str
    small: str = ""
    place: int = 0  # 1 is the best of its row, up to 3 is bold; 0 is not ranked

    def as_markdown(self) -> str:
        """Return the entry; the best is in bold and brackets, the next two in bold."""
        text = f"[**{self.text}**]" if self.place == 1 else self.text
        text = f"**{text}**" if self.place in (2, 3) else text
        return f"{text}<br>{self.small}" if self.small else text

    def as_html(self) -> str:
        """Return the entry with the same marks."""
        text = html.escape(self.text)
        text = f"<b>{text}</b>" if 1 <= self.place <= 3 else text
        text = f"[{text}]" if self.place == 1 else text
        small = f"<br><small>{html.escape(self.small)}</small>" if self.small else ""
        return text + small


@dataclass(frozen=True)
class Table:
    """A title, a note, names of columns and rows of entries."""

    title: str
    note: str
    header: list[str]
    rows: list[list[Entry]] = field(default_factory=list)

    def as_markdown(self) -> str:
        """Return the table as Markdown."""
        rule = ["---"] * 2 + ["---:"] * (len(self.header) - 2)
        lines = [self.header, rule]
        lines += [[entry.as_markdown() for entry in row] for row in self.rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"# {self.title}\n\n{self.note}\n\n{body}\n"

    def as_html(self) -> str:
        """Return the table as a page of its own."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.header)
        body = "\n".join(
            "<tr>" + "".join(f"<td>{entry.as_html()}</td>" for entry in row) + "</tr>"
            for row in self.rows
        )
        title = html.escape(self.title)
        return (
            f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n<h1>{title}</h1>\n"
            f"<p>{html.escape(self.note)}</p>\n<table>\n<tr>{head}</tr>\n{body}\n"
            "</table>\n</html>\n"
        )


_STYLE = (
    "body{font-family:sans-serif;margin:2em;color:#222}"
    "table{border-collapse:collapse}"
    "td,th{border:1px solid #ccc;padding:.3em .5em;text-align:right}"
    "td:first-child,th:first-child{text-align:left}small{color:#666}"
)


def dataset_table(missing: dict[str, str]) -> Table:
    """Return Table I: the datasets, with the range of k that follows for each."""
    note = "Objects, classes and dimension are as published, and checked when loading."
    header = ["dataset", "name", "objects", "classes", "dimension"]
    header += ["base k", "best-k of", "licence", "here"]
    table = Table("Table I: datasets", note, header)
    for name in protocol.DATASETS:
        info = datasets.info(name)
        low, high = protocol.base_k(info.n_objects, info.n_clusters)
        ks = protocol.sweep(name)
        texts = [name, info.title, f"{info.n_objects:,}", str(info.n_clusters)]
        texts += [f"{info.n_features:,}", f"{low} to {high}", f"{ks[0]} to {ks[-1]}"]
        texts += [info.licence, NOT_AVAILABLE if name in missing else "yes"]
        table.rows.append([Entry(text) for text in texts])
    return table


def compare_table(
    averages: dict[Setting, Score], measure: str, missing: dict[str, str]
) -> Table:
    """Return Table II (NMI) or III (ARI)."""
    number = "III" if measure == "ari" else "II"
    table = Table(
        f"Table {number}: {protocol.TITLES[measure]} (%) of the methods",
        f"Mean and standard deviation over {_runs(averages)}. Below each score: "
        "the published one, and the difference in "
        "published standard deviations. The best three of a row are bold, the best one "
        "in brackets. Averages are over the datasets that are here, the published ones "
        "too; places are among the methods shown, ties share the better place.",
        ["dataset", "criterion", *protocol.METHODS],
    )
    for dataset in protocol.DATASETS:
        if dataset not in missing and not _has(averages, dataset):
            continue
        for criterion in protocol.CRITERIA:
            ours = scores.compared(averages, measure, dataset, criterion)
            if not ours and dataset not in missing:
                continue
            table.rows.append(_compare_row(ours, measure, dataset, criterion))
    for title in ("average score", "average rank"):
        for criterion in protocol.CRITERIA:
            if scores.rows(averages, measure, criterion):
                table.rows.append(_average_row(averages, measure, criterion, title))
    return table


def _compare_row(
    ours: dict[str, Score], measure: str, dataset: str, criterion: str
) -> list[Entry]:
    theirs = paper.compared(measure, dataset, criterion)
    places = scores.ranks(ours)
    entries = []
    for method in protocol.METHODS:
        published = f"{theirs[method].mean:.2f} ±{theirs[method].std:.2f}"
        if method not in ours:
            entries.append(Entry(NOT_AVAILABLE if not ours else "", published))
            continue
        setting = Setting(measure, dataset, criterion, method)
        cell = Cell(setting, ours[method], theirs[method])
        few = "" if cell.ours.n_runs == _most(ours) else f" ({cell.ours.n_runs} runs)"
        text = f"{cell.ours.mean:.2f} ±{cell.ours.std:.2f}{few}"
        small = f"{published}, {cell.deviations:+z.1f}"
        entries.append(Entry(text, small, places[method]))
    return [Entry(dataset), Entry(criterion), *entries]


def _average_row(
    averages: dict[Setting, Score], measure: str, criterion: str, title: str
) -> list[Entry]:
    is_rank = title == "average rank"
    pairs = scores.rows(averages, measure, criterion)
    average = scores.mean_ranks if is_rank else scores.mean_scores
    ours, theirs = (average([pair[side] for pair in pairs]) for side in (0, 1))
    # Of scores the largest is the best, of ranks the smallest.
    order = sorted(ours.values(), reverse=not is_rank)
    entries = [
        Entry(f"{ours[m]:.2f}", f"{theirs[m]:.2f}", 1 + order.index(ours[m]))
        if m in ours
        else Entry("")
        for m in protocol.METHODS
    ]
    return [Entry(title), Entry(criterion), *entries]


def steps_table(
    averages: dict[Setting, Score], measure: str, missing: dict[str, str]
) -> Table:
    """Return Table IV (NMI) or V (ARI): the methods that propagate, by step length."""
    number = "V" if measure == "ari" else "IV"
    table = Table(
        f"Table {number}: {protocol.TITLES[measure]} (%) by step length t",
        f"Mean over {_runs(averages)}. Below each best-k score: the published "
        "one, which is best-k too, and the difference in points.",
        [
            "dataset",
            "criterion",
            *(f"{m} t={t}" for m in protocol.PROPAGATING for t in protocol.STEP_VALUES),
        ],
    )
    for dataset in protocol.DATASETS:
        found = {
            (criterion, method, t): averages[setting]
            for criterion in protocol.CRITERIA
            for method in protocol.PROPAGATING
            for t in protocol.STEP_VALUES
            if (setting := Setting(measure, dataset, criterion, method, steps=t))
            in averages
        }
        if not found and dataset not in missing:
            continue
        for criterion in reversed(protocol.CRITERIA):
            row = [Entry(dataset), Entry(criterion)]
            for method in protocol.PROPAGATING:
                for t, published in paper.by_steps(measure, dataset, method).items():
                    score = found.get((criterion, method, t))
                    row.append(_step_entry(score, published, criterion, bool(found)))
            table.rows.append(row)
    return table


def _step_entry(score, published: float, criterion: str, is_here: bool) -> Entry:  # noqa: FBT001
    small = f"{published:.2f}" if criterion == "best-k" else ""
    if score is None:
        return Entry("" if is_here else NOT_AVAILABLE, small)
    if small:
        small += f", {score.mean - published:+z.2f}"
    return Entry(f"{score.mean:.2f}", small)


def _has(averages: dict[Setting, Score], dataset: str) -> bool:
    return bool(scores.compared(averages, "nmi", dataset, "true-k"))


def _most(ours: dict[str, Score]) -> int:
    return max(score.n_runs for score in ours.values())


def _runs(averages: dict[Setting, Score]) -> str:
    n = max((score.n_runs for score in averages.values()), default=0)
    return f"{n} run{'s' * (n != 1)}"
