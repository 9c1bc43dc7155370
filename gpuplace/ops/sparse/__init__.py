"""Sparse tensors: positions and values of the non-zero elements, and the ops on them."""
