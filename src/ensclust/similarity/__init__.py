"""Similarities of base clusters, (Nc, Nc) matrices, and their weights."""

from ensclust.similarity._cluster_weights import eci
from ensclust.similarity._measures import (
    connected_triples,
    jaccard,
    propagate,
    propagations,
    simrank,
    trajectories,
)

__all__ = [
    "connected_triples",
    "eci",
    "jaccard",
    "propagate",
    "propagations",
    "simrank",
    "trajectories",
]
