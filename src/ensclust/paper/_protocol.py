"""The paper's experiments as data. Nothing here is tuned to a dataset."""

import math
import zlib
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ensclust import datasets

# In the order of the paper's tables.
METHODS = (
    "eac",
    "mcla",
    "srs",
    "wct",
    "kcc",
    "ptgp",
    "ecc",
    "sec",
    "ecpcs-mc",
    "ecpcs-hc",
)
DATASETS = (
    "bc",
    "ctg",
    "ecoli",
    "gisette",
    "lr",
    "ls",
    "mnist",
    "pd",
    "wine",
    "yeast",
)
# NMI as in the paper's equation, divided by the geometric mean of the entropies, and
# divided by the larger of them, as the published figures are (docs, Reproduction).
MEASURES = ("nmi", "ari", "nmi-max")
TITLES = {"nmi": "NMI", "ari": "ARI", "nmi-max": "NMI (max)"}
CRITERIA = ("true-k", "best-k")
PROPAGATING = ("ecpcs-hc", "ecpcs-mc")  # the methods with a step length

RUNS = 20
N_CLUSTERINGS = 20  # M
STEPS = 20  # t
STEP_VALUES = (1, 2, 4, 8, 16, 32, 64)  # Tables IV and V
SIZES = (10, 20, 30, 40, 50)  # M of the figures over the ensemble size
SIZE_RUNS = 5
TIME_DATASET = "lr"
TIME_OBJECTS = (1000, 2000, 5000, 10_000, 15_000, 20_000)
FRAGMENT_DATASET = "lr"
FRAGMENT_SIZES = tuple(range(51))
FRAGMENT_INTERVALS = ((1, 2), (3, 5), (6, 10), (11, 20), (21, None))

QUICK_RUNS = 3
QUICK_DATASETS = ("wine", "ecoli", "bc")

BLOCK = 10  # base clusterings that are generated and cached together


@dataclass(frozen=True)
class Protocol:
    """The choices that determine results; a results directory holds one protocol.

    Attributes
    ----------
    seed : int
        All seeds of the experiments are derived from it.
    init : str
        Initialisation of k-means. "k-means++" draws one candidate per centre, like the
        original and like MATLAB, which the authors used; "greedy-k-means++" is that of
        scikit-learn, the best of several candidates; "random" is what the paper states.
    max_iter : int
        Maximum number of iterations of a k-means run, which has a single start.
    standardized : tuple of str
        Datasets whose features get mean 0 and standard deviation 1.
    """

    seed: int = 20181
    init: str = "k-means++"
    max_iter: int = 100
    standardized: tuple[str, ...] = ("wine",)

    def as_dict(self) -> dict[str, Any]:
        """Return the choices as plain values for JSON."""
        return {**asdict(self), "standardized": sorted(self.standardized)}

    def ensemble_seed(self, dataset: str, run: int, block: int) -> int:
        """Return the seed of ten base clusterings."""
        return self._seed(dataset, run, 1 + block)

    def consensus_seed(self, dataset: str, run: int) -> int:
        """Return the random_state of every method in this run."""
        return self._seed(dataset, run, 0)

    def _seed(self, dataset: str, run: int, purpose: int) -> int:
        key = [self.seed, zlib.crc32(dataset.encode()), run, purpose]
        return int(np.random.SeedSequence(key).generate_state(1)[0] >> 1)


def base_k(n_objects: int, n_clusters: int) -> tuple[int, int]:
    """Return the range of k of the base clusterings: K to min(sqrt(N), 100).

    Examples
    --------
    >>> base_k(20_000, 26)
    (26, 100)
    """
    return n_clusters, max(n_clusters, min(math.isqrt(n_objects), 100))


def sweep(dataset: str) -> tuple[int, ...]:
    """Return the numbers of clusters from which best-k is chosen: 2 to 2 K.

    Examples
    --------
    >>> sweep("wine")
    (2, 3, 4, 5, 6)
    """
    return tuple(range(2, 2 * true_k(dataset) + 1))


def few_k(dataset: str) -> tuple[int, ...]:
    """Return up to ten of these numbers, spread evenly, and K among them.

    Examples
    --------
    >>> few_k("lr")
    (2, 8, 14, 20, 26, 27, 33, 39, 45, 52)
    """
    k = true_k(dataset)
    return tuple(sorted({k, *np.linspace(2, 2 * k, 9).astype(int).tolist()}))


def default_steps(method: str) -> int | None:
    """Return the step length of the comparison, None for methods without one."""
    return STEPS if method in PROPAGATING else None


def true_k(dataset: str) -> int:
    """Return K, the number of classes."""
    return datasets.info(dataset).n_clusters


def by_size(names) -> list[str]:
    """Return datasets with few objects first."""
    return sorted(names, key=lambda name: datasets.info(name).n_objects)
