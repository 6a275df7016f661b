"""Methods, one short file each; their estimators, their table and the one driver."""

from ensclust._methods.table import METHODS, make, methods

__all__ = ["METHODS", "make", "methods"]
