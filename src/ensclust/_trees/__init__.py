"""Trees: co-association of objects, and its linkage with or without a matrix."""
