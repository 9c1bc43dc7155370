"""Functional conditionals and loops."""
