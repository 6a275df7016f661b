"""Read tables of features or labels, write labels, and save and load models."""

from ensclust._files.models import load_model, save_model
from ensclust._files.tables import (
    Table,
    check_output,
    read_features,
    read_labels,
    write_labels,
)

__all__ = [
    "Table",
    "check_output",
    "load_model",
    "read_features",
    "read_labels",
    "save_model",
    "write_labels",
]
