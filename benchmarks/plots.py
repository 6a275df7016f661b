"""Time and memory against N, M, t and the number of objects."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from benchmarks.results import collect
from ensclust._view.palette import colour
from ensclust.paper._figures import COLOURS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.table import Measurement

RIVALS = {  # dashed, grey; few methods have the colours of the reproduction
    "scipy linkage": "#b0b0b0",
    "fastcluster linkage": "#303030",
    "literal NumPy": "#303030",
    "literal loop": "#303030",
}
PANELS = (("seconds", "seconds"), ("peak_mb", "peak memory, MB"))


def draw(measurements: list[Measurement], lines: list[dict], folder: Path) -> list[str]:
    """Write one plot per axis; return the file names."""
    names = []
    for axis in dict.fromkeys(m.axis for m in measurements if m.axis):
        curves = {q: curves_of(measurements, lines, axis, q) for q, _ in PANELS}
        if any(len(points) > 1 for points in curves["seconds"].values()):
            names.append(f"against-{axis}.png")
            picture(axis, curves, folder / names[-1])
    return names


def curves_of(measurements, lines, axis: str, quantity: str) -> dict:
    """Return the points of each series, sorted by x; one value per x, the last."""
    results = collect(lines)
    curves: dict[str, dict[float, float]] = {}
    for m in measurements:
        for side in m.sides if m.axis == axis else ():
            result = results.get((m.name, side.name))
            if side.series is None or result is None:
                continue
            value = getattr(result, quantity)
            if not math.isnan(value):
                curves.setdefault(side.series, {})[side.x] = value
    return {series: sorted(points.items()) for series, points in curves.items()}


def colours(series: list[str]) -> dict[str, str]:
    """Return a colour for each series: no two alike as long as there are enough."""
    fixed = {**COLOURS, **RIVALS} if len(series) <= len(COLOURS) else RIVALS
    others = [name for name in series if name not in fixed]
    return fixed | {name: colour(i) for i, name in enumerate(others)}


def picture(axis: str, curves: dict, path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    hues = colours(list(curves["seconds"]))
    for panel, (quantity, title) in zip(panels, PANELS, strict=True):
        for series, points in curves[quantity].items():
            x, y = zip(*points, strict=True)
            style = "o--" if series in RIVALS else "o-"
            panel.plot(x, y, style, ms=4, color=hues[series], label=series)
        panel.set(xscale="log", xlabel=axis, ylabel=title)
        ticks = sorted({x for points in curves[quantity].values() for x, _ in points})
        names = [f"{x:,}" for x in ticks]
        panel.set_xticks(ticks, names, rotation=30, ha="right")
        panel.set_xticks([], minor=True)
        panel.grid(alpha=0.3)
    panels[0].set(yscale="log")
    panels[1].set(ylim=(0, None))
    handles, names = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        names,
        loc="outside right center",
        fontsize="small",
        frameon=False,
        ncols=1 + len(names) // 16,
    )
    figure.savefig(path, dpi=120)
    plt.close(figure)
