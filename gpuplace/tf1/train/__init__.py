"""Rarely used optimizers, and loss scaling for half precision."""
