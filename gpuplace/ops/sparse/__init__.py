"""Sparse tensors: positions and values of what is not zero, and the ops that take them."""
