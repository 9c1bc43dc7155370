"""Ops that compute: arithmetic, comparisons, reductions, matrices."""
