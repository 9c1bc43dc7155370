"""Tensor arrays: ``TensorArray`` with a handle or as a tensor list, and their specs."""
