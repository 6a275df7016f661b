"""Peak memory of the linkage engines, above what the process needs anyway."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from ensclust import CoAssociation, Ensemble, similarity
from ensclust.linkage import link

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def enhanced(ens):
    return CoAssociation(ens, similarity.propagate(similarity.jaccard(ens)))

max_memory = int(sys.argv[1])
rng = np.random.default_rng(0)
link(enhanced(Ensemble(rng.integers(0, 9, (500, 4)))), max_memory=max_memory)
operator = enhanced(Ensemble(rng.integers(0, 30, (4000, 6))))
operator.ensemble.fragments()
before = peak()
tree = link(operator, max_memory=max_memory)
print(tree.n_leaves, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes there")
@pytest.mark.parametrize(("max_memory", "per_leaf_squared"), [(2**31, 4), (1, 0)])
def test_linkage_stays_within_its_bound(max_memory, per_leaf_squared):
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(max_memory)],
        capture_output=True,
        text=True,
        check=True,
    )
    n_leaves, used = map(int, result.stdout.split())
    assert n_leaves == 4000
    # One matrix, no second copy; label space: a few numbers per leaf and thread.
    assert used <= per_leaf_squared * n_leaves**2 + 1000 * n_leaves + 2**24
