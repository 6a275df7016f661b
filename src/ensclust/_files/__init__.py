"""Files: readers and writers of tables in every format; models; no ensembles."""
