"""The paper's figures with our results, as PNG and SVG."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ensclust._support.validation import import_optional
from ensclust.paper import _paper, _protocol, _scores
from ensclust.paper._paper import Score

COLOURS = dict(
    zip(
        _protocol.METHODS,
        ["#7f7f7f", "#8c564b", "#e377c2", "#9467bd", "#bcbd22", "#17becf", "#2ca02c",
         "#ff7f0e", "#1f77b4", "#d62728"],
        strict=True,
    )
)  # fmt: skip
_MARKERS = dict(zip(_protocol.METHODS, "os^vD<>pPh", strict=True))
_PLACES = {"first": "ranked first", "top three": "ranked in the top three"}
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "ensclust",  # the same bytes for the same figure
    "svg.fonttype": "none",
}


def draw_ranks(ranked: dict[str, Any], root: Path) -> None:
    """Draw how often each method is first and in the top three (Figs. 3 and 4)."""
    for measure, found in ranked.items():
        with _figure(root / f"figure-ranks-{measure}", 1, 2, (9, 3.2)) as axes:
            for ax, place in zip(axes.flat, _PLACES, strict=True):
                methods = list(found[place])
                positions = range(len(methods))
                colours = [COLOURS[m] for m in methods]
                ax.bar(
                    [p - 0.2 for p in positions], found[place].values(), 0.4,
                    color=colours,
                )  # fmt: skip
                ax.bar(
                    [p + 0.2 for p in positions],
                    [found[f"paper {place}"][m] for m in methods],
                    0.4, color="none", edgecolor=colours,
                )  # fmt: skip
                ax.set_xticks(list(positions), methods, rotation=45, ha="right")
                ax.set(
                    title=f"{_protocol.TITLES[measure]}: times {_PLACES[place]}",
                    ylabel=f"of {found['comparisons']} comparisons",
                )
                ax.yaxis.get_major_locator().set_params(integer=True)
            ax.bar(0, 0, color="#7f7f7f", label="ours")
            ax.bar(0, 0, color="none", edgecolor="#7f7f7f", label="paper")
            ax.legend(frameon=False)


def draw_sizes(averages: dict[_scores.Setting, Score], root: Path) -> None:
    """Draw the scores against the number of base clusterings (Figs. 5 and 6)."""
    shown = [d for d in _protocol.DATASETS if _sizes(averages, "nmi", d, "best-k")]
    for measure in _protocol.MEASURES if shown else ():
        for criterion in _protocol.CRITERIA:
            name = root / f"figure-size-{measure}-{criterion}"
            n_rows = -(-len(shown) // 5)
            with _figure(name, n_rows, 5, (14, 3 * n_rows + 0.6)) as axes:
                for ax, dataset in zip(axes.flat, shown, strict=False):
                    published = _paper.compared(measure, dataset, criterion)
                    for method, points in _sizes(
                        averages, measure, dataset, criterion
                    ).items():
                        ax.plot(*zip(*points, strict=True), marker=_MARKERS[method],
                                markersize=4, label=method,
                                color=COLOURS[method])  # fmt: skip
                        ax.plot(_protocol.N_CLUSTERINGS, published[method].mean,
                                marker="x", color=COLOURS[method])  # fmt: skip
                    ax.set(
                        title=dataset,
                        xlabel="base clusterings M",
                        ylabel=f"{_protocol.TITLES[measure]} (%), {criterion}",
                    )
                for ax in axes.flat[len(shown) :]:
                    ax.set_axis_off()
                absent = [d for d in _protocol.DATASETS if d not in shown]
                axes.flat[0].figure.legend(
                    *axes.flat[0].get_legend_handles_labels(),
                    title=f"Means over {_n_runs(averages)} runs; x: published, over 20"
                    + f"; no results: {', '.join(absent)}" * bool(absent),
                    loc="outside lower center", ncols=10, frameon=False,
                )  # fmt: skip


def _sizes(
    averages: dict[_scores.Setting, Score], measure: str, dataset: str, criterion: str
) -> dict[str, list[tuple[int, float]]]:
    """Return points (M, mean) of each method that has several."""
    lines = {
        method: [
            (m, averages[setting].mean)
            for m in _protocol.SIZES
            if (setting := _scores.Setting(
                measure, dataset, criterion, method, m, _protocol.default_steps(method)
            )) in averages
        ]
        for method in _protocol.METHODS
    }  # fmt: skip
    return {method: points for method, points in lines.items() if len(points) > 1}


def _n_runs(averages: dict[_scores.Setting, Score]) -> str:
    """Return the number of runs of the scores for other than the usual M."""
    counts = {
        score.n_runs
        for setting, score in averages.items()
        if setting.n_clusterings != _protocol.N_CLUSTERINGS
    }
    return " to ".join(map(str, sorted({min(counts), max(counts)})))


def draw_times(times: list[dict[str, Any]], root: Path) -> None:
    """Draw the seconds of the consensus step against the number of objects (Fig. 7)."""
    published = _paper.facts()["seconds"]
    with _figure(root / "figure-time", 1, 1, (6.5, 4.2)) as axes:
        (ax,) = axes.flat
        for method in _protocol.METHODS:
            points = [(t["n"], t["seconds"]) for t in times if t["method"] == method]
            if points:
                ax.plot(*zip(*points, strict=True), marker=".", label=method,
                        color=COLOURS[method])  # fmt: skip
            if method in published:
                ax.plot(20_000, published[method], marker="x", linestyle="",
                        markersize=9, markeredgewidth=2, zorder=3,
                        color=COLOURS[method], label=f"{method}, paper")  # fmt: skip
        ax.set(
            yscale="log",
            xlabel=f"objects of {_protocol.TIME_DATASET}",
            ylabel="seconds of the consensus step, one thread",
        )
        ax.set_title("Base clusterings excluded", fontsize=9)
        ax.legend(frameon=False, fontsize=7, bbox_to_anchor=(1, 1), loc="upper left")


def draw_fragments(found: dict[str, Any], root: Path) -> None:
    """Draw the three panels of the introduction (Fig. 2)."""
    growth, intervals = found["growth"], found["intervals"]
    names = [
        f"{i['from']}-{i['to']}" if i["to"] else f"> {i['from'] - 1}" for i in intervals
    ]
    with _figure(root / "figure-fragments", 1, 3, (11, 3.2)) as axes:
        (first, second, third), sizes = axes.flat, [point["M"] for point in growth]
        first.axhline(found["objects"], color="#7f7f7f", label="objects")
        for what, colour in (("fragments", "#d62728"), ("clusters", "#1f77b4")):
            first.plot(sizes, [p[what] for p in growth], color=colour, label=what)
        first.set_title(f"Fragments of {found['dataset']}", fontsize=9)
        first.set(xlabel="base clusterings M", ylabel="number")
        first.legend(frameon=False, loc="center left", bbox_to_anchor=(0.5, 0.8))
        for ax, what, more in (second, "fragments", ""), (third, "objects", " in them"):
            ax.bar(names, [interval[what] for interval in intervals], color="#1f77b4")
            ax.set(
                xlabel=f"size of fragment (M = {_protocol.N_CLUSTERINGS})",
                ylabel=f"{what}{more}",
            )
        published = _paper.facts()["fragments"]
        second.set_title(
            f"Fragments of 1 or 2: {found['small_share']:.2f} %, paper over "
            f"{published['small_share']:.0f} %\nof more than 20: "
            f"{found['large_share']:.2f} %, paper {published['large_share']} %",
            fontsize=9,
        )
        third.set_title(
            f"Objects in fragments of more than 20:\n{found['large_objects']:.2f} %, "
            f"paper {published['large_objects']} %",
            fontsize=9,
        )


@contextmanager
def _figure(
    path: Path, n_rows: int, n_columns: int, inches: tuple[float, float]
) -> Iterator[Any]:
    """Yield axes to draw on, and save them as PNG and SVG afterwards."""
    mpl = import_optional("matplotlib", "drawing figures", "plot")
    from matplotlib.figure import Figure  # noqa: PLC0415

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=inches, layout="constrained")
        yield figure.subplots(n_rows, n_columns, squeeze=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(f"{path}.png", dpi=150, metadata={"Software": None})
        figure.savefig(f"{path}.svg", metadata={"Date": None})
