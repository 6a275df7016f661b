"""Numba loops: arrays in, arrays out, no policy.

Submodules load on first use, so that ``import ensclust`` does not import numba:
callers write ``from ensclust import _kernels``, ``_kernels.counting.count_pairs(...)``.
"""

import importlib

_MODULES = (
    "agreement",
    "assignment",
    "bipartite",
    "chain",
    "communities",
    "counting",
    "dip",
    "embedding",
    "kmeans",
    "labelspace",
    "lifting",
    "merging",
    "mixture",
    "nearest",
    "onehot",
    "pairing",
    "parts",
    "regions",
    "shares",
    "spectral",
    "square",
    "symmetric",
    "triples",
    "voting",
    "walks",
)


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"ensclust._kernels.{name}")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
