"""Input pipelines: datasets, their iterators, and what computes them."""
