"""Ops that make, shape, index, join and rearrange tensors."""
