"""Files: readers and writers of tables in every format, and models."""
