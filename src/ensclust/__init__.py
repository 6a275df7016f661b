"""Ensemble clustering: many clusterings of the same objects in, one better one out."""

import importlib

__version__ = "0.1.0"

# Where each public name lives; loaded on first use, so that importing is quick.
_HOMES = {
    "Blocks": "blocks",
    "LabelStream": "label_streams",
    "Ensemble": "ensemble",
    "CoAssociation": "coassociation",
    "Dendrogram": "dendrogram",
    "consensus": "combination",
    "compare": "comparison",
    "methods": "_methods",
    "select_k": "selection",
    "BestConsensus": "_methods.best",
    "Certainty": "certainty",
    "agreement_weights": "agreement",
    "generate": "generation",
    "EnsembleGenerator": "generation",
    "EAC": "_methods.eac",
    "ECC": "_methods.ecc",
    "ECPCSHC": "_methods.ecpcs",
    "ECPCSMC": "_methods.ecpcs",
    "KCC": "_methods.kcc",
    "MCLA": "_methods.mcla",
    "PTGP": "_methods.ptgp",
    "SEC": "_methods.sec",
    "SRS": "_methods.srs",
    "WCT": "_methods.wct",
    "ClusterGraphDisplay": "plotting",
    "ConsensusMatrixDisplay": "plotting",
    "DendrogramDisplay": "plotting",
    "SelectKDisplay": "plotting",
    "StabilityDisplay": "plotting",
    "write_report": "report.page",
}
_MODULES = ("datasets", "io", "metrics", "scverse", "similarity")

__all__ = ["__version__", *sorted(_HOMES), *_MODULES]  # noqa: PLE0604


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"ensclust.{name}")
    if name in _HOMES:
        module = importlib.import_module(f"ensclust.{_HOMES[name]}")
        return getattr(module, name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__():
    return __all__
