"""Comparison: the results of several methods on the same base clusterings."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ensclust._support import notebook
from ensclust._support.validation import import_optional

_WIDTH = 80  # columns of a terminal
_CELL = 6  # of them for a number
_TRUTH = ("nmi", "ari", "ecs")  # measures of agreement with the truth


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The results of several methods on the same ensemble, best agreement first.

    Attributes
    ----------
    methods : tuple of str
        Their names.
    labels : ndarray of shape (n_objects, n_methods)
        Their consensus clusterings, numbered like the first one, see
        :func:`ensclust.align`.
    anmi : ndarray of shape (n_methods,)
        Mean NMI of each with the base clusterings. It needs no true classes, and says
        nothing about them: it is how well a result summarises its inputs.
    agreement : ndarray of shape (n_methods, n_methods)
        NMI between their results.
    seconds : ndarray of shape (n_methods,)
        Time that each took, without compilation, which happens once.
    nmi, ari, ecs : ndarray of shape (n_methods,) or None
        Normalised mutual information, adjusted Rand index and element-centric
        similarity of each with the truth, on the objects whose class is known; None if
        no truth was given.
    left_out : dict of str to str
        Methods that could not run, and what each needs.
    """

    methods: tuple[str, ...]
    labels: np.ndarray
    anmi: np.ndarray
    agreement: np.ndarray
    seconds: np.ndarray
    nmi: np.ndarray | None = None
    ari: np.ndarray | None = None
    ecs: np.ndarray | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def n_clusters(self) -> list[int]:
        """Number of clusters of each."""
        return [len(np.unique(column[column >= 0])) for column in self.labels.T]

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict per method: "method", "n_clusters", "anmi", ..., "seconds"."""
        columns: dict[str, Any] = {
            "method": self.methods,
            "n_clusters": self.n_clusters,
            "anmi": self.anmi.tolist(),
        }
        scores = {name: getattr(self, name) for name in _TRUTH}
        columns |= {name: s.tolist() for name, s in scores.items() if s is not None}
        columns["seconds"] = self.seconds.tolist()
        return [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]

    def to_pandas(self):
        """Return the table as a pandas DataFrame, indexed by method."""
        pandas = import_optional("pandas", "Comparison.to_pandas", "pandas")
        return pandas.DataFrame(self.table).set_index("method")

    def __repr__(self) -> str:
        width = max(map(len, [*self.methods, *self.left_out])) + 2
        rows = self.table
        scores = [name for name in ("anmi", *_TRUTH) if name in rows[0]]
        return "\n".join(
            [
                f"{'':{width}}clusters"
                + "".join(f"{name.upper():>8}" for name in scores)
                + f"{'seconds':>10}",
                *(
                    f"{row['method']:{width}}{row['n_clusters']:8}"
                    + "".join(f"{row[name]:8.3f}" for name in scores)
                    + f"{row['seconds']:10.2f}"
                    for row in rows
                ),
                *(f"{name:{width}}{why}" for name, why in self.left_out.items()),
                *self._matrix(),
            ]
        )

    def _matrix(self) -> list[str]:
        """Return the agreement as lines, the columns in parts that fit a terminal."""
        if len(self.methods) == 1:
            return []
        names = [f"{i:2} {name}" for i, name in enumerate(self.methods, 1)]
        width = max(map(len, names)) + 1
        n_shown = max(1, (_WIDTH - width) // _CELL)
        lines = ["", "NMI between the results"]
        for first in range(0, len(names), n_shown):
            part = range(first, min(first + n_shown, len(names)))
            lines.append(" " * width + "".join(f"{i + 1:{_CELL}}" for i in part))
            lines += [
                f"{name:{width}}" + "".join(f"{row[i]:{_CELL}.3f}" for i in part)
                for name, row in zip(names, self.agreement, strict=True)
            ]
        return lines

    def _repr_html_(self) -> str:
        rows = self.table
        truth = [name for name in _TRUTH if name in rows[0]]
        return notebook.table(
            f"{len(self.methods)} methods on {len(self.labels):,} objects",
            (
                "method",
                "clusters",
                "ANMI",
                *(f"{name.upper()} with the truth" for name in truth),
                f"NMI with {self.methods[0]}",
                "seconds",
            ),
            [
                (
                    row["method"],
                    row["n_clusters"],
                    notebook.Share(row["anmi"]),
                    *(notebook.Share(row[name]) for name in truth),
                    notebook.Share(agreement),
                    row["seconds"],
                )
                for row, agreement in zip(rows, self.agreement[0], strict=True)
            ],
            "; ".join(f"{name} {why}" for name, why in self.left_out.items()),
        )
