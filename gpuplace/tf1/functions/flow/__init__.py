"""Conditionals and loops that are calls of functions."""
