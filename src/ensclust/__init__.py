"""Ensemble clustering: many clusterings of the same objects in, one better one out."""

import importlib

from ensclust._support.old_pickles import refuse_old_pickles

__version__ = "0.2.0"

# Where each public name lives; loaded on first use, so that importing is fast.
_HOMES = {
    "Blocks": "_stream.blocks",
    "LabelStream": "_stream.label_stream",
    "Ensemble": "_ensemble.ensemble",
    "CoAssociation": "_trees.coassociation",
    "Dendrogram": "_trees.dendrogram",
    "consensus": "_methods.consensus",
    "compare": "_methods.compare",
    "methods": "_methods",
    "select_k": "_methods.selection",
    "split_half": "_methods.halves",
    "SplitHalf": "_quality.halves",
    "BaseConsensus": "_methods.estimators",
    "Agglomeration": "_methods.estimators",
    "MetaClustering": "_methods.estimators",
    "BipartiteCut": "_methods.estimators",
    "OneHotMethod": "_methods.estimators",
    "CustomConsensus": "_methods.custom",
    "CVote": "_methods.cvote",
    "Voting": "_methods.voting",
    "parameter": "_methods.parameters",
    "Certainty": "_quality.certainty",
    "align": "_ensemble.alignment",
    "Agreement": "_ensemble.agreement",
    "Comparison": "_quality.comparison",
    "Fragments": "_ensemble.ensemble",
    "KSelection": "_quality.k_selection",
    "agreement_weights": "_ensemble.agreement",
    "size_weights": "_ensemble.weights",
    "generate": "_generate.generate",
    "EnsembleGenerator": "_generate.generation",
    "CSPA": "_methods.cspa",
    "Communities": "_methods.communities",
    "EAC": "_methods.eac",
    "ECC": "_methods.ecc",
    "ECPCSHC": "_methods.ecpcs",
    "ECPCSMC": "_methods.ecpcs",
    "HBGF": "_methods.hbgf",
    "KCC": "_methods.kcc",
    "LWEA": "_methods.lwea",
    "LWMC": "_methods.lwmc",
    "EM": "_methods.em",
    "KModes": "_methods.kmodes",
    "MCLA": "_methods.mcla",
    "PTA": "_methods.pta",
    "PTGP": "_methods.ptgp",
    "SEC": "_methods.sec",
    "SRS": "_methods.srs",
    "WCT": "_methods.wct",
    "WEAC": "_methods.weac",
    "USENC": "_methods.usenc",
    "LWGP": "_methods.lwgp",
    "LCEBG": "_methods.lce_bg",
    "ECPCSBG": "_methods.ecpcs_bg",
    "GPMGLA": "_methods.gp_mgla",
    "ClusterGraphDisplay": "_view.displays.cluster_graph",
    "ClusteringTreeDisplay": "_view.displays.clustering_tree",
    "ConsensusByKDisplay": "_view.displays.consensus_by_k",
    "ConsensusMatrixDisplay": "_view.displays.consensus_matrix",
    "DendrogramDisplay": "_view.displays.dendrogram",
    "ClusterStability": "_quality.stability",
    "stability": "_quality.stability",
    "SelectKDisplay": "_view.displays.select_k",
    "StabilityDisplay": "_view.displays.stability",
    "write_report": "_view.report.page",
}
_MODULES = ("datasets", "io", "metrics", "scverse", "similarity")

__all__ = ["__version__", *sorted(_HOMES), *_MODULES]  # noqa: PLE0604


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"ensclust.{name}")
    if name in _HOMES:
        home = _HOMES[name]
        found = getattr(importlib.import_module(f"ensclust.{home}"), name)
        if home.startswith("_methods.") and isinstance(found, type):
            estimators = importlib.import_module("ensclust._methods.estimators")
            return estimators.estimator_of(found)
        return found
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__():
    return __all__


refuse_old_pickles()
