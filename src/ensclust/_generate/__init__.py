"""Generation: base clusterings from features, in memory and in blocks."""
