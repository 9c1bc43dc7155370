"""Signals, special functions, and functions of matrices."""
