"""Evidence for the defaults: paired experiments, confirmed on unseen datasets."""
