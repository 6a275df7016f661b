"""Support: threads, memory limits, progress, validation, encoding of one column."""
