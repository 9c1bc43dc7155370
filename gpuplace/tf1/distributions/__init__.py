"""Probability distributions: samples, probabilities and statistics as parts of the graph."""
