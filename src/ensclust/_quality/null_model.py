"""Null model: data without clusters that resembles given data in all else.

Noise has many shapes, and what is unusual for one is usual for another. So there are
three kinds, and structure is what none of them explains.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

NULL_KINDS = ("axes", "features", "radius")
_MODES = 15  # places that are tried for the mode of a distribution
_NOTHING = 1e-9  # share of the largest spread that an axis must have


class NullModel:
    """Draws of objects without clusters, as many and as spread as those given.

    Every kind draws from unimodal distributions, each the closest one to what it
    replaces, see :func:`unimodal`:

    - "axes": scores on the principal axes, independent of each other;
    - "features": the features themselves, dependent as their ranks are (a Gaussian
      copula). A feature of few distinct values keeps them, and is independent;
    - "radius": the distance from the mean, in units of the principal axes' standard
      deviations; directions are uniform.

    Normal, uniform, skewed, heavy-tailed and discrete features, balls and lines are
    thus drawn again as they are by one of them at least.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The data, finite. Memory 3 n d numbers.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> NullModel(X).draw("axes", np.random.default_rng(1)).shape
    (50, 2)
    """

    def __init__(self, X: np.ndarray):
        self._shape = X.shape
        self._mean = X.mean(axis=0)
        left, size, axes = np.linalg.svd(X - self._mean, full_matrices=False)
        used = size > _NOTHING * size.max(initial=0.0)
        self._axes = axes[used]
        scores = left[:, used] * size[used]
        self._spread = scores.std(axis=0)
        self._of_scores = [unimodal(own) for own in scores.T]
        self._of_features = [unimodal(own) for own in X.T]
        self._of_radii = unimodal(np.linalg.norm(scores / self._spread, axis=1))
        self._mixing = _copula(X)

    def draw(self, kind: str, rng: np.random.Generator) -> np.ndarray:
        """Return n objects of d features without clusters, of one of ``NULL_KINDS``."""
        n, d = self._shape
        if kind == "features":
            shares = ndtr(rng.standard_normal((n, d)) @ self._mixing)
            drawn = zip(self._of_features, shares.T, strict=True)
            return np.column_stack([own(share) for own, share in drawn])
        if kind == "axes":
            drawn = zip(self._of_scores, rng.random((len(self._axes), n)), strict=True)
            scores = np.array([own(share) for own, share in drawn]).reshape(-1, n).T
        else:
            scores = rng.standard_normal((n, len(self._axes)))
            scores /= np.linalg.norm(scores, axis=1, keepdims=True)
            scores *= self._of_radii(rng.random(n))[:, None] * self._spread
        return self._mean + scores @ self._axes


def unimodal(values: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Return the quantile function of the unimodal distribution closest to a sample.

    The density between neighbouring values is made to rise up to a mode and to fall
    from there, by isotonic regression; of 15 modes the one is kept whose distribution
    is nearest to that of the sample, by the largest difference, as in the dip test. It
    is then stretched to the standard deviation of the sample. Where more than half of
    the values are equal to others, the same is done with the frequencies of the
    distinct values, which are all that is drawn.
    """
    points, counts = np.unique(values, return_counts=True)
    if _is_discrete(points, values):
        share = _single_peak(counts / len(values), np.ones(len(points)))
        steps = np.cumsum(share)[:-1]
        return lambda u: points[np.searchsorted(steps, u, side="right")]
    reached = (np.cumsum(counts) - counts / 2) / len(values)
    width = np.diff(points)
    mass = _single_peak(np.diff(reached) / width, width) * width
    cdf = reached[0] + np.append(0.0, np.cumsum(mass))
    n, mean = len(values), values.mean()
    own = np.interp((np.arange(n) + 0.5) / n, cdf, points)
    stretch = values.std() / own.std()
    return lambda u: mean + (np.interp(u, cdf, points) - own.mean()) * stretch


def _is_discrete(points: np.ndarray, values: np.ndarray) -> bool:
    """Whether a sample has few distinct values, ``points``."""
    return len(points) < 3 or len(points) < len(values) / 2


def _single_peak(density: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return the density that rises, then falls, with the closest distribution."""
    mass = np.cumsum(density * width)
    found, least = density, np.inf
    at = np.searchsorted(mass, np.linspace(0, mass[-1], _MODES))
    for mode in np.unique(at.clip(0, len(density))):
        rising, falling = density[:mode], density[mode:]
        tried = np.empty_like(density)
        if len(rising):
            weights = width[:mode]
            tried[:mode] = isotonic_regression(rising, weights=weights).x
        if len(falling):
            weights = width[mode:]
            tried[mode:] = isotonic_regression(
                falling, weights=weights, increasing=False
            ).x
        farthest = np.abs(np.cumsum(tried * width) - mass).max()
        if farthest < least:
            found, least = tried, farthest
    return found


def _copula(X: np.ndarray) -> np.ndarray:
    """Return what makes independent normal numbers correlated as the ranks of X are.

    But for features of few values: cells of a table that depend on each other are
    groups.
    """
    normal = ndtri((rankdata(X, axis=0) - 0.5) / len(X))
    normal = (normal - normal.mean(axis=0)) / np.maximum(normal.std(axis=0), _NOTHING)
    correlation = normal.T @ normal / len(X)
    few = np.array([_is_discrete(np.unique(own), own) for own in X.T])
    alone = (few[:, None] | few) & ~np.eye(len(few), dtype=bool)
    size, axes = np.linalg.eigh(np.where(alone, 0.0, correlation))
    mixing = np.sqrt(size.clip(0))[:, None] * axes.T
    # A feature that is constant has no normal scores, and any will do.
    spread = np.linalg.norm(mixing, axis=0)
    return mixing / np.where(spread > 0, spread, 1.0)
