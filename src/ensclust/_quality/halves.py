"""SplitHalf: how well the consensus of two halves of an ensemble agrees."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ensclust._support import notebook
from ensclust._support.plain import counted
from ensclust._support.validation import import_optional


@dataclass(frozen=True, eq=False, repr=False)
class SplitHalf:
    """What :func:`ensclust.split_half` returns: agreement of two halves, many times.

    Attributes
    ----------
    method : str
        The consensus method.
    n_clusterings : int
        Base clusterings that were split.
    nmi, ari, ecs : ndarray of shape (n,)
        Normalised mutual information, adjusted Rand index and element-centric
        similarity of the consensus of two halves, for each split, on the objects that
        are in a cluster of both; NaN if there are none.
    objects : ndarray of shape (N,)
        Mean element-centric similarity of each object over the splits: low if the
        halves disagree, NaN if they never both have it in a cluster.
    """

    method: str
    n_clusterings: int
    nmi: np.ndarray
    ari: np.ndarray
    ecs: np.ndarray
    objects: np.ndarray

    @property
    def mean(self) -> dict[str, float]:
        """Mean of "nmi", "ari" and "ecs" over the splits, NaN if none is known."""
        return {name: _mean(own) for name, own in self._measures().items()}

    @property
    def std(self) -> dict[str, float]:
        """Standard deviation of "nmi", "ari" and "ecs" over the splits."""
        measures = self._measures().items()
        return {name: _mean((own - _mean(own)) ** 2) ** 0.5 for name, own in measures}

    def to_pandas(self) -> Any:
        """Return the measures as a pandas DataFrame, one row per split."""
        pandas = import_optional("pandas", "SplitHalf.to_pandas", "pandas")
        return pandas.DataFrame(self._measures()).rename_axis("split")

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers for JSON; NaN becomes None."""
        return {
            "method": self.method,
            "n_clusterings": self.n_clusterings,
            **{
                name: {
                    "mean": _plain(self.mean[name]),
                    "std": _plain(self.std[name]),
                    "splits": _plain(own),
                }
                for name, own in self._measures().items()
            },
            "objects": _plain(self.objects),
        }

    def _measures(self) -> dict[str, np.ndarray]:
        return {"nmi": self.nmi, "ari": self.ari, "ecs": self.ecs}

    def _rows(self) -> list[tuple[str, float, float]]:
        std = self.std
        return [(name.upper(), mean, std[name]) for name, mean in self.mean.items()]

    def _title(self) -> str:
        return (
            f"Consensus of two halves of {self.n_clusterings} base clusterings, "
            f"{self.method}, {counted(len(self.ecs), 'split')}"
        )

    def _note(self) -> str:
        known = self.objects[np.isfinite(self.objects)]
        if not len(known):
            return "no object is in a cluster of both halves"
        return (
            f"{(known < 0.5).sum():,} of {len(self.objects):,} objects with an ECS "
            f"below 0.5, least {known.min():.2f}"
        )

    def __repr__(self) -> str:
        is_one = len(self.ecs) == 1  # has no deviation
        lines = [
            f"  {name}{mean:8.3f}" + (f"{'-':>8}" if is_one else f"{std:8.3f}")
            for name, mean, std in self._rows()
        ]
        head = f"  {'':3}{'mean':>8}{'SD':>8}"
        return "\n".join([self._title(), head, *lines, f"  {self._note()}"])

    def _repr_html_(self) -> str:
        rows = [(name, notebook.Share(mean), std) for name, mean, std in self._rows()]
        head = ("agreement of the halves", "mean", "SD")
        return notebook.table(self._title(), head, rows, self._note())


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


def _plain(values: Any) -> Any:
    """Return a float or floats, None for NaN."""
    if np.ndim(values):
        return [_plain(value) for value in values]
    return None if np.isnan(values) else float(values)
