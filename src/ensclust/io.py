"""Tables of features or labels from files, and labels back to files."""

from ensclust._files.tables import (
    Table,
    check_output,
    read_features,
    read_labels,
    write_labels,
)

__all__ = ["Table", "check_output", "read_features", "read_labels", "write_labels"]
