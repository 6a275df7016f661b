"""The paper's tables with our figures."""

from ensclust import datasets
from ensclust.paper import _paper, _protocol, _scores
from ensclust.paper._layout import Table, entry
from ensclust.paper._paper import Score
from ensclust.paper._scores import Cell, Setting

NOT_AVAILABLE = "not available"


def dataset_table(missing: dict[str, str]) -> Table:
    """Return Table I: the datasets, with the range of k that follows for each."""
    table = Table(
        "Table I: datasets",
        ["dataset", "name", "objects", "classes", "dimension",
         "base k", "best-k of", "licence", "here"],
        note="Objects, classes and dimension are as published, and checked when "
        "loading.",
    )  # fmt: skip
    for name in _protocol.DATASETS:
        info, ks = datasets.info(name), _protocol.sweep(name)
        low, high = _protocol.base_k(info.n_objects, info.n_clusters)
        table.rows.append(
            [
                *(name, info.title, f"{info.n_objects:,}", str(info.n_clusters)),
                *(f"{info.n_features:,}", f"{low} to {high}", f"{ks[0]} to {ks[-1]}"),
                *(info.licence, NOT_AVAILABLE if name in missing else "yes"),
            ]
        )
    return table


def compare_table(
    averages: dict[Setting, Score], measure: str, missing: dict[str, str]
) -> Table:
    """Return Table II (NMI) or III (ARI)."""
    shown = [
        _compare_row(ours, measure, dataset, criterion)
        for dataset in _protocol.DATASETS
        for criterion in _protocol.CRITERIA
        if (ours := _scores.compared(averages, measure, dataset, criterion))
        or dataset in missing
    ]
    means = [
        _average_row(pairs, criterion, title)
        for title in ("average score", "average rank")
        for criterion in _protocol.CRITERIA
        if (pairs := _scores.rows(averages, measure, criterion))
    ]
    return Table(
        f"Table {'III' if measure == 'ari' else 'II'}: {_protocol.TITLES[measure]} "
        "(%) of the methods",
        ["dataset", "criterion", *_protocol.METHODS],
        [*shown, *means],
        note=f"Mean and standard deviation over {_runs(averages)}. Below each score: "
        "the published one, and the difference in "
        "published standard deviations. The best three of a row are bold, the best one "
        "in brackets. Averages, including the published ones, are over the datasets "
        "shown; places are among the methods shown, ties share the better place.",
    )


def _compare_row(
    ours: dict[str, Score], measure: str, dataset: str, criterion: str
) -> list[str]:
    places, row = _scores.ranks(ours), [dataset, criterion]
    most = max((score.n_runs for score in ours.values()), default=0)
    for method, theirs in _paper.compared(measure, dataset, criterion).items():
        published = f"{theirs.mean:.2f} ±{theirs.std:.2f}"
        if method not in ours:
            row.append(entry("" if ours else NOT_AVAILABLE, published))
            continue
        mean, std, n = ours[method]
        text = f"{mean:.2f} ±{std:.2f}{'' if n == most else f' ({n} runs)'}"
        deviations = Cell(
            Setting(measure, dataset, criterion, method), ours[method], theirs
        ).deviations
        row.append(entry(text, f"{published}, {deviations:+z.1f}", places[method]))
    return row


def _average_row(pairs: list[tuple], criterion: str, title: str) -> list[str]:
    is_rank = title == "average rank"
    average = _scores.mean_ranks if is_rank else _scores.mean_scores
    ours, theirs = (average([pair[side] for pair in pairs]) for side in (0, 1))
    # The largest score is best, but the smallest rank.
    order = sorted(ours.values(), reverse=not is_rank)
    return [
        title,
        criterion,
        *(
            entry(f"{ours[m]:.2f}", f"{theirs[m]:.2f}", 1 + order.index(ours[m]))
            if m in ours
            else ""
            for m in _protocol.METHODS
        ),
    ]


def steps_table(
    averages: dict[Setting, Score], measure: str, missing: dict[str, str]
) -> Table:
    """Return Table IV (NMI) or V (ARI): the methods that propagate, by step length."""
    columns = [(m, t) for m in _protocol.PROPAGATING for t in _protocol.STEP_VALUES]
    table = Table(
        f"Table {'V' if measure == 'ari' else 'IV'}: {_protocol.TITLES[measure]} "
        "(%) by step length t",
        ["dataset", "criterion", *(f"{m} t={t}" for m, t in columns)],
        note=f"Mean over {_runs(averages)}. Below each best-k score: the published "
        "one, which is best-k too, and the difference in points.",
    )
    for dataset in _protocol.DATASETS:
        found = {
            criterion: [
                averages.get(Setting(measure, dataset, criterion, m, steps=t))
                for m, t in columns
            ]
            for criterion in reversed(_protocol.CRITERIA)
        }
        is_here = any(map(any, found.values()))
        published = [_paper.by_steps(measure, dataset, m)[t] for m, t in columns]
        for criterion, ours in found.items() if is_here or dataset in missing else ():
            entries = [
                _step_entry(score, theirs, criterion, is_here=is_here)
                for score, theirs in zip(ours, published, strict=True)
            ]
            table.rows.append([dataset, criterion, *entries])
    return table


def _step_entry(
    score: Score | None, published: float, criterion: str, *, is_here: bool
) -> str:
    small = f"{published:.2f}" if criterion == "best-k" else ""
    if score is None:
        return entry("" if is_here else NOT_AVAILABLE, small)
    small += f", {score.mean - published:+z.2f}" if small else ""
    return entry(f"{score.mean:.2f}", small)


def _runs(averages: dict[Setting, Score]) -> str:
    n = max((score.n_runs for score in averages.values()), default=0)
    return f"{n} run{'s' * (n != 1)}"
