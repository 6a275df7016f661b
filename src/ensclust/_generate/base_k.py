"""How many clusters each base clustering has."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ensclust._support import memory
from ensclust._support.validation import check_integer


def default_base_k(n_samples: int, lowest: int = 2) -> tuple[int, int]:
    """Return the range of k of the paper: ``lowest`` to ``min(sqrt(N), 100)``."""
    low = min(max(2, lowest), n_samples)
    return low, max(low, int(min(np.sqrt(n_samples), 100)))


def check_n_clusterings(n_clusterings: Any, n_samples: int) -> int:
    """Return M, or raise if it is no number or their labels take too much memory."""
    m = check_integer(n_clusterings, "n_clusterings")
    what = f"an ensemble of {m:,} clusterings of {n_samples:,} objects"
    memory.require(m * n_samples, what, "Lower n_clusterings.")
    return m


def draw_base_k(base_k, n_samples: int, n_clusterings: int, rng) -> list[int]:
    """Return M numbers of clusters as ``base_k`` asks (see :func:`generate`)."""
    if base_k is None:
        base_k = default_base_k(n_samples)
    if isinstance(base_k, numbers.Integral) and not isinstance(base_k, bool):
        ks = np.full(n_clusterings, base_k)
    elif isinstance(base_k, tuple) and len(base_k) == 2:
        low, high = (check_integer(k, "base_k") for k in base_k)
        if low > high:
            msg = f"base_k={base_k} has its lower end above its upper end."
            raise ValueError(msg)
        ks = rng.randint(low, high + 1, size=n_clusterings)
        _check_range(base_k, low, high, n_samples)
    elif isinstance(base_k, list | np.ndarray) and np.shape(base_k) == (n_clusterings,):
        ks = np.array([check_integer(k, "base_k") for k in base_k])
    else:
        msg = (
            f"base_k={base_k!r}; expected an integer, a pair (lo, hi), a list of "
            f"n_clusterings={n_clusterings} integers, or None."
        )
        raise ValueError(msg)
    _check_range(base_k, ks.min(), ks.max(), n_samples)
    return ks.tolist()


def _check_range(base_k: Any, low: int, high: int, n_samples: int) -> None:
    if low < 1 or high > n_samples:
        msg = (
            f"base_k={base_k!r} asks for {low} to {high} clusters of "
            f"n_samples={n_samples} objects. Use between 1 and {n_samples}."
        )
        raise ValueError(msg)
