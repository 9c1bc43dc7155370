"""Kernels: which op runs on which device for which types, and the functions that compute it."""
