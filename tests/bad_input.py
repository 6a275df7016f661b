"""Requirements on errors about wrong input, and wrong inputs shared by many tests."""

import re
from pathlib import Path

import numpy as np
import pytest

import ensclust

KINDS = (ValueError, TypeError, IndexError, OSError, MemoryError)

LABELS = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0], [1, 1, 2], [0, 1, 2]])
RUNS = ensclust.Ensemble(LABELS)
FOUND = np.array([0, 0, 1, 1, 1, 0])
HUGE = np.array([0, 0, 2**62, 1, 1, 0])
X = np.random.default_rng(0).random((30, 3))


def with_cell(value):
    """Return features with one cell changed."""
    table = X.copy()
    table[4, 1] = value
    return table


class Unhashable:
    __hash__ = None


def refused(call, words):
    """Assert that a call raises one of our errors, or one of scikit-learn's checks.

    The line that raises must say ``raise``: an error from deep inside NumPy or Python
    does not count.
    """
    with pytest.raises(KINDS, match=words) as caught:
        call()
    last = caught.traceback[-1]
    ours = Path(ensclust.__file__).parent
    checks = ("sklearn/utils", "sklearn/base")
    place = Path(last.path)
    assert place.is_relative_to(ours) or any(c in place.as_posix() for c in checks)
    assert re.match(r"raise\b", str(last.statement).strip()), last


def table(*rows):
    """Mark rows (call, words) as parameters, named by their words."""
    return pytest.mark.parametrize(
        ("call", "words"), rows, ids=[words[:50] for _, words in rows]
    )
