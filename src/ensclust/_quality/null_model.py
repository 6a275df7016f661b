"""Null models: data without clusters that otherwise resembles given data.

Noise has many shapes, and what is unusual for one is usual for another. So there are
five kinds, and structure is what none of them explains.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, ndtri

NULL_KINDS = ("axes", "features", "radius", "box", "simplex")
_MODES = 15  # positions that are tried for the mode of a distribution
_NOTHING = 1e-9  # share of the largest spread that an axis must have


class NullModel:
    """Draws of objects without clusters that have the covariance of the given ones.

    Three kinds fit unimodal distributions, each the closest one to what it replaces,
    see :func:`unimodal`:

    - "axes": scores on the principal axes, independent of each other;
    - "features": the features themselves, with the correlation of their ranks (a
      Gaussian copula). A feature with few distinct values keeps them, and is
      independent of the others;
    - "radius": the distance from the mean, in units of the principal axes' standard
      deviations; directions are uniform, and the density falls with the distance.

    Two are uniform in convex bodies, which k-means divides most evenly:

    - "box": a box along the principal axes;
    - "simplex": a simplex in a random orientation, stretched along the principal axes.

    Normal, uniform, skewed, heavy-tailed and discrete features, balls, lines and
    corners are thus reproduced by at least one of them.

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
        self._of_features = [
            (unimodal_values if _is_discrete(own) else unimodal)(own) for own in X.T
        ]
        radii = np.linalg.norm(scores / self._spread, axis=1)
        self._of_radii = _central(radii, len(self._axes))
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
        elif kind == "radius":
            scores = rng.standard_normal((n, len(self._axes)))
            scores /= np.linalg.norm(scores, axis=1, keepdims=True)
            scores *= self._of_radii(rng.random(n))[:, None] * self._spread
        elif kind == "box":
            scores = (rng.random((n, len(self._axes))) - 0.5) * 12**0.5 * self._spread
        else:
            scores = _simplex(n, len(self._axes), rng) * self._spread
        return self._mean + scores @ self._axes


def _simplex(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Return objects uniform in a simplex of d dimensions, mean 0 and covariance 1."""
    shares = rng.standard_exponential((n, d + 1))
    shares /= shares.sum(axis=1, keepdims=True)
    turned = np.column_stack([np.ones(d + 1), rng.standard_normal((d + 1, d))])
    return shares @ np.linalg.qr(turned)[0][:, 1:] * ((d + 1) * (d + 2)) ** 0.5


def _central(radii: np.ndarray, d: int) -> Callable[[Any], np.ndarray]:
    """Return the quantile function of distances whose density in d dimensions falls.

    The power d of a distance is uniform where the density is constant, so its own
    density falls, too: it is that of the least concave majorant of the sample's
    distribution (Grenander). The mean square stays that of the sample.
    """
    largest = radii.max(initial=0.0)
    if not largest:
        return lambda u: np.zeros(np.shape(u))
    points, counts = np.unique((radii / largest) ** d, return_counts=True)
    reached = np.cumsum(counts)[points > 0] / len(radii)
    points = points[points > 0]
    width = np.diff(points, prepend=0.0)
    rate = np.diff(reached, prepend=0.0) / width
    rate = isotonic_regression(rate, weights=width, increasing=False).x
    cdf, points = np.append(0.0, np.cumsum(rate * width)), np.append(0.0, points)
    places = (np.arange(len(radii)) + 0.5) / len(radii)
    own = np.interp(places, cdf, points) ** (1 / d)
    stretch = np.sqrt((radii**2).mean() / (own**2).mean())
    return lambda u: stretch * np.interp(u, cdf, points) ** (1 / d)


def unimodal(values: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Return the quantile function of the unimodal distribution closest to a sample.

    The density between neighbouring values is made to rise up to a mode and to fall
    from there, by isotonic regression; of 15 modes, the one is kept whose distribution
    is nearest to that of the sample, by the largest difference, as in the dip test. It
    is then stretched to the standard deviation of the sample.
    """
    points, counts = np.unique(values, return_counts=True)
    if len(points) < 2:
        return lambda u: np.full(np.shape(u), points[0])
    reached = (np.cumsum(counts) - counts / 2) / len(values)
    width = np.diff(points)
    mass = _single_peak(np.diff(reached) / width, width) * width
    cdf = reached[0] + np.append(0.0, np.cumsum(mass))
    n, mean = len(values), values.mean()
    own = np.interp((np.arange(n) + 0.5) / n, cdf, points)
    stretch = values.std() / own.std()
    return lambda u: mean + (np.interp(u, cdf, points) - own.mean()) * stretch


def unimodal_values(values: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Like :func:`unimodal`, for the frequencies of values; draws only these values."""
    points, counts = np.unique(values, return_counts=True)
    share = _single_peak(counts / len(values), np.ones(len(points)))
    steps = np.cumsum(share)[:-1]
    return lambda u: points[np.searchsorted(steps, u, side="right")]


def _is_discrete(values: np.ndarray) -> bool:
    """Whether a sample has less than half as many distinct values as values."""
    n_distinct = len(np.unique(values))
    return n_distinct < 3 or n_distinct < len(values) / 2


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
    """Return the matrix that gives normal numbers the rank correlation of X.

    Features with few values stay independent, because dependent cells of a table would
    be groups.
    """
    from scipy.stats import rankdata  # noqa: PLC0415  slow to import

    normal = ndtri((rankdata(X, axis=0) - 0.5) / len(X))
    normal = (normal - normal.mean(axis=0)) / np.maximum(normal.std(axis=0), _NOTHING)
    correlation = normal.T @ normal / len(X)
    few = np.array([_is_discrete(own) for own in X.T])
    alone = (few[:, None] | few) & ~np.eye(len(few), dtype=bool)
    size, axes = np.linalg.eigh(np.where(alone, 0.0, correlation))
    mixing = np.sqrt(size.clip(0))[:, None] * axes.T
    # A constant feature has no normal scores; any will do.
    spread = np.linalg.norm(mixing, axis=0)
    return mixing / np.where(spread > 0, spread, 1.0)
