"""Objects whose values are in checkpoints by their attributes: what depends on what, and what is to be restored yet."""
