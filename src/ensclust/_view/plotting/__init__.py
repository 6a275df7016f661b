"""Display classes for notebooks, as scikit-learn has them: data first, then a picture.

Each has ``from_...`` class methods that compute and draw, ``plot(ax=None)`` that draws
(again), the numbers that are drawn as attributes, and after drawing ``ax_`` and
``figure_``. Matplotlib is imported when something is drawn.
"""

from ensclust._view.plotting._cluster_graph import ClusterGraphDisplay
from ensclust._view.plotting._consensus_matrix import ConsensusMatrixDisplay
from ensclust._view.plotting._dendrogram import DendrogramDisplay
from ensclust._view.plotting._select_k import SelectKDisplay
from ensclust._view.plotting._stability import StabilityDisplay

__all__ = [
    "ClusterGraphDisplay",
    "ConsensusMatrixDisplay",
    "DendrogramDisplay",
    "SelectKDisplay",
    "StabilityDisplay",
]
