"""The ten benchmark datasets of the ECPCS paper: one name in, checked arrays out.

``load(name)`` looks in your own directory (``data_home=`` or the environment variable
``ENSCLUST_DATA``), then in the installation (bundled files; scikit-learn for wine),
then on OpenML. Whatever the source, shape, class counts and content are checked
against ``registry.json``, which also holds licence, source and attribution.
"""

from ensclust.datasets._load import Dataset, DatasetUnavailable, load
from ensclust.datasets._registry import DatasetInfo, info, names

__all__ = ["Dataset", "DatasetInfo", "DatasetUnavailable", "info", "load", "names"]
