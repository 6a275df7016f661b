"""Files: readers and writers of tables in every format; columns, no ensembles."""
