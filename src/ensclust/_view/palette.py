"""The colours of clusters: the same for a number in every display and in the report."""

import re
from collections.abc import Sequence
from typing import Any

from ensclust._support.validation import import_optional

# The first six are Okabe and Ito's. Each of the others is as far as possible from all
# before it, by CIEDE2000 and in Oklab (the first ten also as colour-blind readers see
# them), and is visible on white paper and on the dark page of a report.
PALETTE = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"),
    *("#d55e00", "#883333", "#99cc88", "#775577", "#8877ff"),
    *("#556600", "#3300ff", "#ff0055", "#ffaa99", "#cc00cc"),
    *("#999900", "#006666", "#bbbbff", "#887755", "#bb0066"),
    *("#22aa00", "#cc1100", "#ff99ff", "#00ccbb", "#885511"),
    *("#bb8866", "#7755bb", "#448899", "#aacc00", "#882288"),
)
NEUTRAL = "#8a94a0"  # for objects without a cluster
LINE, MARK = PALETTE[0], PALETTE[5]  # a curve, and a highlighted point on it
_HEX = re.compile(r"#([0-9a-fA-F]{6})([0-9a-fA-F]{2})?")


def colour(cluster: int, colors: Sequence[str] | None = None) -> str:
    """Return the colour of a cluster; those beyond 30 repeat, -1 is neutral.

    ``colors`` are the caller's colours, which come before the palette.
    """
    if cluster < 0:
        return NEUTRAL
    if colors is not None and cluster < len(colors):
        return colors[cluster]
    return PALETTE[cluster % len(PALETTE)]


def check_colors(colors: Any, n_clusters: int) -> list[str] | None:
    """Return given colours as "#rrggbb", one per cluster, or raise; None stays None.

    Names and tuples need matplotlib, hexadecimal strings do not.
    """
    if colors is None:
        return None
    if isinstance(colors, str | dict) or not hasattr(colors, "__len__"):
        msg = f"colors={colors!r}; expected a list with one colour per cluster."
        raise TypeError(msg)
    if len(colors) < n_clusters:
        msg = (
            f"colors has {len(colors)} entries for {n_clusters} clusters. Pass one "
            "colour per cluster, in the order of the clusters."
        )
        raise ValueError(msg)
    return [_hexadecimal(value) for value in colors]


def _hexadecimal(value: Any) -> str:
    found = _HEX.fullmatch(value) if isinstance(value, str) else None
    if found is not None:
        return f"#{found[1].lower()}"
    convert = import_optional("matplotlib.colors", f"the colour {value!r}", "plot")
    try:
        return convert.to_hex(value)
    except ValueError:
        msg = (
            f"colors: {value!r} is not a colour. Use strings such as '#0072b2', names "
            "of matplotlib, or tuples of red, green and blue between 0 and 1."
        )
        raise ValueError(msg) from None
