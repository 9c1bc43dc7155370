"""Advice on the steps of graphs: what may run where, the search, what TensorFlow makes of it, and what it says."""
