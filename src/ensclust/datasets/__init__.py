"""The ten benchmark datasets of the ECPCS paper: one name in, checked arrays out.

``load(name)`` looks in a directory of yours (``data_home=`` or the environment
variable ``ENSCLUST_DATA``), then in what is installed (bundled files; scikit-learn for
wine), then at OpenML. Whatever the source, shape, class counts and content are checked
against ``registry.json``, which also holds licence, source and attribution.
"""

from ensclust.datasets._load import Dataset, DatasetUnavailable, load
from ensclust.datasets._registry import DatasetInfo, info, names

__all__ = ["Dataset", "DatasetInfo", "DatasetUnavailable", "info", "load", "names"]
