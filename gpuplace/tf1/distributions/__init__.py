"""Probability distributions: parameters in, and samples, probabilities and statistics out, as parts of the graph."""
