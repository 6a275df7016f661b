"""Draw the picture of start.md with its code: ``python -m docs.make_start``.

GitHub shows the page as it is in the repository, so the picture is a file beside it.
"""

from __future__ import annotations

from doctest import DocTestParser
from pathlib import Path
from typing import Any

import matplotlib as mpl

from ensclust._support.whole_files import replacing

PAGE = Path(__file__).parent / "start.md"
TARGET = PAGE.with_suffix(".png")


def draw(path: Path = TARGET) -> None:
    """Run the code above the picture, and write the figure that it draws as PNG."""
    above, _, _ = PAGE.read_text().partition("![")
    names: dict[str, Any] = {}
    with mpl.rc_context({"backend": "agg"}):
        for example in DocTestParser().get_examples(above):
            exec(example.source, names)
        with replacing(path) as handle:
            names["fig"].savefig(
                handle, format="png", dpi=120, metadata={"Software": None}
            )
        names["plt"].close(names["fig"])


if __name__ == "__main__":
    draw()
