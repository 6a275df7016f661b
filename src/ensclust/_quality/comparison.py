"""Comparison: what several methods make of the same base clusterings."""

from dataclasses import dataclass

import numpy as np

from ensclust._support import notebook


@dataclass(frozen=True, eq=False)
class Comparison:
    """What several methods make of the same ensemble, the best agreement first.

    Attributes
    ----------
    methods : tuple of str
        Their names.
    labels : ndarray of shape (n_objects, n_methods)
        Their consensus clusterings, numbered like the first one, see
        :func:`ensclust.align`.
    anmi : ndarray of shape (n_methods,)
        Mean NMI of each with the base clusterings. It needs no truth, and it is no
        truth: it says how well a result sums up its inputs.
    agreement : ndarray of shape (n_methods, n_methods)
        NMI between their results.
    seconds : ndarray of shape (n_methods,)
        Time that each took.
    """

    methods: tuple[str, ...]
    labels: np.ndarray
    anmi: np.ndarray
    agreement: np.ndarray
    seconds: np.ndarray

    @property
    def n_clusters(self) -> list[int]:
        """Number of clusters of each."""
        return [len(np.unique(column[column >= 0])) for column in self.labels.T]

    def __str__(self) -> str:
        columns = (self.methods, self.n_clusters, self.anmi, self.seconds)
        lines = [
            f"{'':10}{'clusters':>9}{'ANMI':>8}{'seconds':>10}",
            *(
                f"{name:10}{n_clusters:9}{anmi:8.3f}{seconds:10.2f}"
                for name, n_clusters, anmi, seconds in zip(*columns, strict=True)
            ),
            "",
            "NMI between the results",
            " " * 10 + "".join(f"{name:>10}" for name in self.methods),
            *(
                f"{name:10}" + "".join(f"{value:10.3f}" for value in row)
                for name, row in zip(self.methods, self.agreement, strict=True)
            ),
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return notebook.table(
            f"{len(self.methods)} methods on {len(self.labels):,} objects",
            ("method", "clusters", "ANMI", f"NMI with {self.methods[0]}", "seconds"),
            [
                (
                    name,
                    self.n_clusters[i],
                    notebook.Share(self.anmi[i]),
                    notebook.Share(self.agreement[0, i]),
                    self.seconds[i],
                )
                for i, name in enumerate(self.methods)
            ],
        )
