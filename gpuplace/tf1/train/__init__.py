"""Rarer optimizers, and losses that are scaled for numbers of 16 bits."""
